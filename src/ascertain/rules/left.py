"""A chain whose code did not come to its end: when that is so, and what is done about it.

While the block of a chain is open its row has a time at which somebody looks, and the process that
is at work on it. Code that comes to its end clears it; a process that dies, or a block that is left
by an exception, does not. The code may be run again; when nobody does, a person decides.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ascertain.model.action import ActionRecord
from ascertain.model.chain import LEFT, Around, ChainRecord
from ascertain.model.tables import By, State
from ascertain.rules.cases import REVIEW_WITHIN_S, Verdict, in_review
from ascertain.rules.chain import uncorrected
from ascertain.rules.moves import FREE, Move, note

LEFT_S = 600.0
LONGEST_S = 86_400.0
"""Of a process that may still be alive: so long without a step, and it counts as left."""
CASE = "chain_left"


class LeftWhat(StrEnum):
    """What becomes of a chain that is due."""

    WAIT = "wait"
    END = "end"
    TURN = "turn"
    CASE = "case"


class Left(NamedTuple):
    """``until``: of waiting. ``reason``: of turning. ``record``: whose case it is."""

    what: LeftWhat
    until: float = 0.0
    reason: str = ""
    record: ActionRecord | None = None


def at_work(chain: ChainRecord) -> bool:
    """Whether its code may still come to its end, or be run again."""
    free_form = not chain.plan and chain.due_at is not None
    return free_form and not chain.backward and chain.stopped_at is None


def judge_left(around: Around, now: float, *, gone: bool, left_s: float = LEFT_S) -> Left:
    """Say what is done about a chain whose code has not come to its end.

    What still moves comes first. An essential refusal that nobody corrected turns it, as leaving
    the block would have. What is confirmed then is for a person; where nothing is, nothing is left
    to decide.

    :param gone: nobody is at work on it, for certain. :param left_s: how long it may be run again.
    """
    if not at_work(around.chain):
        return Left(LeftWhat.END)
    records = [record for _, record in around.members]
    latest = max((record.updated_at for record in records), default=around.chain.created_at)
    quiet_until = latest + (left_s if gone else LONGEST_S)
    if now < quiet_until:
        return Left(LeftWhat.WAIT, until=min(quiet_until, now + left_s))
    if any(record.due_at is not None or in_review(record) for record in records):
        return Left(LeftWhat.WAIT, until=now + left_s)
    why = uncorrected(around)
    if why:
        return Left(LeftWhat.TURN, reason=why)
    made = [record for _, record in around.steps().values() if _stands(record)]
    if not made:
        return Left(LeftWhat.END)
    return Left(LeftWhat.CASE, record=made[-1])


def left_case(record: ActionRecord, around: Around, *, now: float) -> Move:
    """A person gets what happened: which steps there are, and how each of them stands."""
    steps = {name: str(one.state) for name, (_, one) in around.steps().items()}
    detail = {
        "steps": steps,
        "was_at_work": around.chain.owner or None,
        "verdicts": [Verdict.TURN_BACK, Verdict.KEPT],
        "review_by": now + REVIEW_WITHIN_S,
    }
    opened = record.changed(review=CASE, review_at=now, due_at=None, **FREE)
    return note(opened, By.WORKER, f"review:{CASE}", now, detail)


def decided(record: ActionRecord, verdict: Verdict, *, evidence: str, now: float) -> Move:
    """A person has seen that it was left, and decided."""
    closed = record.changed(review=None, review_at=None)
    return note(closed, By.PERSON, f"verdict_{verdict.value}", now, {"evidence": evidence})


def ended_after_all(record: ActionRecord, now: float) -> Move:
    """The code was run again, and came to its end: nobody needs to decide any more."""
    closed = record.changed(review=None, review_at=None)
    return note(closed, By.CALL, "chain_ended", now, {})


def was_left(around: Around) -> bool:
    """Whether what it has come to is said with that: its code never came to its end."""
    return around.chain.reason == LEFT and not around.chain.backward


def _stands(record: ActionRecord) -> bool:
    done = record.state is State.CONFIRMED and not record.overruled
    return done and record.mode != "read"
