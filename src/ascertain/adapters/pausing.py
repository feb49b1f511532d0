"""When a framework's own pause is asked for: a call that a person has to speak of first.

The pause only ends the run, so that it can be woken up. Whether anything is sent is decided by the
ledger, before it and after it.
"""

from __future__ import annotations

from typing import Any

from ascertain.adapters.told import Fact
from ascertain.model.tables import State
from ascertain.runtime.app import Ascertain

APPROVAL = "approval"
REVIEW = "review"


def waits(app: Ascertain, fact: Fact) -> dict[str, Any] | None:
    """What a person is told of a call that waits for one; None: it does not.

    ``action`` is its id, ``waits_for`` an ``approval`` or a ``review`` of what became of it. With
    an approval comes ``digest``, the name of this exact call (:meth:`~ascertain.Ascertain.approve`
    takes it). Reads the ledger.
    """
    if not fact.action:
        return None
    record = app.action(fact.action).record
    if record.review is None or record.terminal:
        return None
    if record.state is not State.PREPARED:
        return {"action": record.id, "waits_for": REVIEW}
    return {
        "action": record.id, "waits_for": APPROVAL, "digest": app.approval_digest(record.id),
    }  # fmt: skip
