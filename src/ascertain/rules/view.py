"""From an action to what a decision depends on."""

from __future__ import annotations

from ascertain.model.action import ActionRecord
from ascertain.model.chain import Around
from ascertain.model.contract import Contract
from ascertain.model.outcome import Evidence
from ascertain.model.tables import State
from ascertain.rules import budget
from ascertain.rules.approval import CASES as FOR_APPROVAL
from ascertain.rules.breaker import WAITS as FOR_CIRCUIT
from ascertain.rules.budget import Turn
from ascertain.rules.chain import course
from ascertain.rules.decide import Held, Lookup, View

_HELD = {**dict.fromkeys(FOR_APPROVAL, Held.APPROVAL), FOR_CIRCUIT: Held.CIRCUIT}


def view_of(
    record: ActionRecord,
    contract: Contract,
    now: float,
    turn: Turn | None,
    around: Around | None = None,
    *,
    held: Held = Held.NO,
) -> View:
    """See the action as :func:`~ascertain.rules.decide.decide` needs it.

    :param turn: the caller's turn; None for the worker, whose turn is never spent.
    :param around: its chain, as it stands; None: it is in none.
    :param held: what was found to hold a send back just before it; a prepared action whose case
        says so is held anyway.
    """
    in_turn = turn is None or (turn.sends_left > 0 and now < turn.until)
    beyond_turn = turn is not None and record.send_by_at > turn.until
    lookup = _lookup(record, contract, now)
    return View(
        state=record.state,
        final=bool(record.final),
        wanted=now < record.send_by_at and (in_turn or beyond_turn),
        evidence=record.evidence,
        lookup=lookup,
        repeat=budget.repeatable(contract),
        sends_left=budget.sends_left(record, contract, now)
        and not _key_is_dead(record, contract)
        and not _is_its_callers(record, contract, turn),
        turn=in_turn,
        refused=bool(record.refused) and not _is_settled_by_repeat(record, contract, lookup),
        leave=contract.best_effort,
        disputed=bool(record.disputed),
        course=course(record, contract, around, now),
        held=_held(record) if held is Held.NO else held,
    )


def _is_its_callers(record: ActionRecord, contract: Contract, turn: Turn | None) -> bool:
    """Whether no worker may send it any more: its body is in the run that made the call.

    What was never sent is left to that run for as long as it is wanted.
    """
    return contract.caller_sends and turn is None and record.state is not State.PREPARED


def _held(record: ActionRecord) -> Held:
    """What an open case holds back that was never sent, or of which nothing left."""
    if record.state is not State.PREPARED or record.review is None:
        return Held.NO
    return _HELD.get(record.review, Held.NO)


def _is_settled_by_repeat(record: ActionRecord, contract: Contract, lookup: Lookup) -> bool:
    """Whether the refusal in hand is asked for once more by the same key: nobody else is to ask."""
    asked = lookup is Lookup.OPEN or record.evidence is Evidence.ABSENT_FINAL
    open_ = record.state is State.UNKNOWN and not asked
    return open_ and budget.repeat_settles(record, contract)


def _key_is_dead(record: ActionRecord, contract: Contract) -> bool:
    """Whether a fencing look-up has put an end to the key itself."""
    promise = contract.lookup
    return (
        record.evidence is Evidence.ABSENT_FINAL and promise is not None and promise.fences == "key"
    )


def _lookup(record: ActionRecord, contract: Contract, now: float) -> Lookup:
    if contract.lookup is None:
        return Lookup.NONE
    if record.state is State.CONFIRMED and contract.recount_s is None:
        return Lookup.NONE
    return Lookup.OPEN if budget.may_ask(record, contract, now) else Lookup.SPENT
