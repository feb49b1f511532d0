"""Give a person's case to somebody."""

from __future__ import annotations

from ascertain.errors import ActionNotFound, ContractError, NotAllowed
from ascertain.model.action import ActionRecord
from ascertain.rules import cases as rules
from ascertain.rules.texts import clean
from ascertain.runtime.hands import Hands
from ascertain.runtime.verdict import write

_LONGEST = 200


def assign(
    hands: Hands, action_id: str, *, owner: str, within_s: float | None = None
) -> ActionRecord:
    """Write down who has a case, and by when it is to be decided.

    :param within_s: seconds from now; None: the deadline that it has.
    :raises ActionNotFound: there is no such action.
    :raises ContractError: no name, or no time in which anybody could decide.
    :raises NotAllowed: there is no case, or somebody was quicker.
    """
    name = clean(owner.strip(), _LONGEST)
    if not name:
        raise ContractError("A case is given to somebody: who?", next_step="--assign NAME")
    if within_s is not None and within_s <= 0:
        raise ContractError("A case needs time.", next_step="--within 4h")
    record = hands.ledger.get(action_id)
    if record is None:
        raise ActionNotFound(f"There is no action {action_id!r} in {hands.ledger.url}.")
    if not rules.in_review(record):
        raise NotAllowed(
            f"Action {record.id} is no case: nobody has to decide about it.",
            next_step="`ascertain review` lists the cases.",
        )
    now = hands.clock()
    by_at = rules.handed(record, hands.ledger.events(record.id)).by_at
    if within_s is not None:
        by_at = now + within_s
    return write(hands, record, rules.assign(record, owner=name, by_at=by_at, now=now))
