"""A call that comes back after a pause, and the action that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascertain.errors import InvalidArguments
from ascertain.model.action import ActionRecord
from ascertain.rules.budget import Turn
from ascertain.rules.identity import same_intent
from ascertain.runtime import wanting
from ascertain.runtime.app import Ascertain
from ascertain.runtime.registry import Entry
from ascertain.runtime.session import Session
from ascertain.runtime.wanting import Options


def came_back(
    app: Ascertain, entry: Entry, session: Session, arguments: Mapping[str, Any], ordinal: str,
    action_id: str,
) -> ActionRecord | None:  # fmt: skip
    """The action that a call says it is about, if it is the same wish of the same conversation.

    A person may take longer than a turn lasts. Without this the call would be a new wish by then,
    and what was settled meanwhile would be done once more. Reads the ledger.
    """
    record = app.ledger.get(action_id)
    scope = session.scope
    if record is None or record.mode != wanting.GUARD:
        return None
    if (record.tenant, record.principal, record.session) != (
        scope.tenant, scope.principal, scope.session
    ):  # fmt: skip
        return None
    try:
        bound = entry.signature.bind((), arguments)
    except InvalidArguments:
        return None
    wish = wanting.wanted(
        app.hands, entry, bound, scope, Options(ordinal=ordinal), Turn(0, 0.0)
    ).record
    return record if same_intent(wish, record) and wish.exact == record.exact else None
