"""What may happen to an action, as data.

`state` says what is known; it never says what comes next (that is a decision). From this one tuple
derive :func:`step`, the rule table by which the database itself refuses an illegal move, the
diagram in the documentation and the exhaustive tests.

The arrow to look at is ``sent --lose--> unknown``: where a job queue turns an expired lease into
another run, here it becomes a lost answer.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """What is known about an action."""

    PREPARED = "prepared"
    SENT = "sent"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    UNKNOWN = "unknown"
    COMPENSATED = "compensated"


class Event(StrEnum):
    """What happened to an action."""

    PREPARE = "prepare"
    SEND = "send"
    WITHDRAW = "withdraw"
    CONFIRM = "confirm"
    REJECT = "reject"
    UNSEND = "unsend"
    LOSE = "lose"
    COMPENSATE = "compensate"
    NOTE = "note"


class By(StrEnum):
    """Who may cause an event."""

    CALL = "call"
    WORKER = "worker"
    LOOKUP = "lookup"
    WEBHOOK = "webhook"
    PERSON = "person"


class Rule(NamedTuple):
    """One row of the table. ``final`` restricts the row to actions that are (not) final."""

    start: State | None
    event: Event
    end: State
    by: tuple[By, ...]
    why: str
    unless_final: bool = False

    @property
    def name(self) -> str:
        """The row as people say it: ``sent --lose--> unknown``."""
        return f"{self.start or 'nothing'} --{self.event}--> {self.end}"


def _rule(start: State | None, event: Event, end: State, *by: By, why: str) -> Rule:
    return Rule(
        start=start, event=event, end=end, by=by, why=why, unless_final=start is State.REJECTED
    )


RULES: tuple[Rule, ...] = (
    _rule(None, Event.PREPARE, State.PREPARED, By.CALL, why="the intent is stored with its key"),
    _rule(
        State.PREPARED, Event.SEND, State.SENT, By.CALL, By.WORKER,
        why="the attempt is durable; the wire is next",
    ),
    _rule(
        State.PREPARED, Event.WITHDRAW, State.REJECTED, By.CALL, By.PERSON, By.WORKER,
        why="nothing was sent and nobody waits for it any more",
    ),
    _rule(
        State.SENT, Event.CONFIRM, State.CONFIRMED, By.CALL,
        why="the provider gave a definite answer",
    ),
    _rule(
        State.SENT, Event.REJECT, State.REJECTED, By.CALL,
        why="the provider refused, and no earlier attempt is in doubt",
    ),
    _rule(
        State.SENT, Event.UNSEND, State.PREPARED, By.CALL, By.WORKER,
        why="nothing of this attempt left, and no earlier attempt is in doubt",
    ),
    _rule(
        State.SENT, Event.LOSE, State.UNKNOWN, By.CALL, By.WORKER,
        why="no definite answer: timeout, crash, expired lease",
    ),
    _rule(
        State.UNKNOWN, Event.CONFIRM, State.CONFIRMED, By.LOOKUP, By.WEBHOOK, By.PERSON, By.CALL,
        why="evidence that it happened",
    ),
    _rule(
        State.UNKNOWN, Event.REJECT, State.REJECTED, By.LOOKUP, By.WEBHOOK, By.PERSON, By.CALL,
        why="evidence that it did not happen and will not",
    ),
    _rule(
        State.UNKNOWN, Event.SEND, State.SENT, By.CALL, By.WORKER,
        why="same key, same stored arguments, inside lifetime and budget",
    ),
    _rule(
        State.UNKNOWN, Event.COMPENSATE, State.COMPENSATED, By.WORKER,
        why="reversed by our key, whether or not it had happened",
    ),
    _rule(
        State.REJECTED, Event.SEND, State.SENT, By.CALL, By.WORKER,
        why="a temporary refusal; the same key again",
    ),
    _rule(
        State.REJECTED, Event.WITHDRAW, State.REJECTED, By.PERSON, By.WORKER,
        why="a temporary refusal, and nobody waits for it any more",
    ),
    _rule(
        State.CONFIRMED, Event.COMPENSATE, State.COMPENSATED, By.WORKER, By.PERSON,
        why="its compensating action is confirmed, or a person reversed it by hand",
    ),
)  # fmt: skip

NOTES: tuple[Rule, ...] = tuple(
    Rule(start=state, event=Event.NOTE, end=state, by=tuple(By), why="evidence that moves nothing")
    for state in State
)

_MOVES: dict[tuple[State | None, Event], Rule] = {
    (rule.start, rule.event): rule for rule in RULES + NOTES
}


def step(start: State | None, event: Event, *, final: bool = False) -> State | None:
    """The state after ``event``, or None where the table has no such move."""
    rule = _MOVES.get((start, event))
    if rule is None or (rule.unless_final and final and event is not Event.NOTE):
        return None
    return rule.end


def rule_of(start: State | None, event: Event) -> Rule:
    """The row behind a move; raises KeyError for a move that the table does not have."""
    return _MOVES[(start, event)]


def terminal(state: State, *, final: bool) -> bool:
    """Whether the action can never be rewritten (a confirmed one can only be compensated)."""
    return state in (State.CONFIRMED, State.COMPENSATED) or (state is State.REJECTED and final)
