"""What a conversation remembers, as data: its state machine, its context, and what may come beside.

A *key* of the context (``order_id``) has a state of its own; the session's state is the projection
of its keys' states. What is remembered says which action wrote it and at which version, so that a
call that needs it can be refused when it has read something stale.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ascertain.model.operations import Beside
from ascertain.model.tables import State


class SessionState(StrEnum):
    """What a session is doing."""

    IDLE = "idle"
    TOOL_EXECUTING = "tool_executing"
    TOOL_RESULT_PENDING = "tool_result_pending"
    CONTEXT_READY = "context_ready"


class KeyState(StrEnum):
    """What is known of one key of the context.

    ``pending``: the answer that provides it is in hand and not committed yet. ``in_doubt``: nobody
    knows what became of the action that provides it. ``expired``: the value is too old to be used.
    """

    MISSING = "missing"
    EXECUTING = "executing"
    PENDING = "pending"
    READY = "ready"
    IN_DOUBT = "in_doubt"
    EXPIRED = "expired"


class KeyEvent(StrEnum):
    """What happens to a key."""

    BEGIN = "begin"
    ANSWER = "answer"
    COMMIT = "commit"
    REFUSE = "refuse"
    LOSE = "lose"
    EXPIRE = "expire"
    REVERSE = "reverse"


class KeyRule(NamedTuple):
    """One row of the table of keys."""

    start: KeyState
    event: KeyEvent
    end: KeyState
    why: str

    @property
    def name(self) -> str:
        """The row as people say it: ``pending --commit--> ready``."""
        return f"{self.start} --{self.event}--> {self.end}"


def _rule(start: KeyState, event: KeyEvent, end: KeyState, why: str) -> KeyRule:
    return KeyRule(start=start, event=event, end=end, why=why)


_K, _E = KeyState, KeyEvent
KEY_RULES: tuple[KeyRule, ...] = (
    *(
        _rule(start, _E.BEGIN, _K.EXECUTING, "a tool that provides it has begun")
        for start in (_K.MISSING, _K.READY, _K.EXPIRED, _K.IN_DOUBT)
    ),
    _rule(_K.EXECUTING, _E.ANSWER, _K.PENDING, "its answer is in hand"),
    _rule(_K.PENDING, _E.COMMIT, _K.READY, "the value is in the ledger"),
    _rule(_K.PENDING, _E.REFUSE, _K.MISSING, "the answer holds no value for it"),
    _rule(_K.EXECUTING, _E.COMMIT, _K.READY, "another process has written it"),
    _rule(_K.EXECUTING, _E.REFUSE, _K.MISSING, "the tool was refused, and nothing stood before"),
    _rule(_K.EXECUTING, _E.REFUSE, _K.READY, "the tool was refused; what stood before stands"),
    _rule(_K.EXECUTING, _E.REFUSE, _K.EXPIRED, "the tool was refused; what stood before is old"),
    _rule(_K.EXECUTING, _E.REFUSE, _K.IN_DOUBT, "the tool was refused; an earlier one is in doubt"),
    _rule(_K.EXECUTING, _E.LOSE, _K.IN_DOUBT, "nobody knows what became of the tool"),
    _rule(_K.PENDING, _E.LOSE, _K.IN_DOUBT, "its answer could not be recorded"),
    _rule(_K.IN_DOUBT, _E.COMMIT, _K.READY, "evidence brought the value"),
    _rule(_K.IN_DOUBT, _E.REFUSE, _K.MISSING, "evidence: it did not happen, nor holds a value"),
    _rule(_K.IN_DOUBT, _E.REFUSE, _K.READY, "it did not happen; what stood before stands"),
    _rule(_K.READY, _E.EXPIRE, _K.EXPIRED, "it is older than its use allows"),
    _rule(_K.READY, _E.REVERSE, _K.MISSING, "the action that wrote it was undone"),
    _rule(_K.EXPIRED, _E.REVERSE, _K.MISSING, "the action that wrote it was undone"),
)  # fmt: skip


def key_ends(start: KeyState, event: KeyEvent) -> frozenset[KeyState]:
    """The states in which a key may be after ``event``; empty where the table has no such move."""
    return frozenset(rule.end for rule in KEY_RULES if rule.start is start and rule.event is event)


class Pledge(NamedTuple):
    """An action of the ledger that will provide a key, or would have.

    :param base: the session's version when it was stored.
    """

    key: str
    action_id: str
    base: int
    state: State
    final: int


class Remembered(NamedTuple):
    """One value of one key, as the ledger holds it.

    :param value: JSON; None where the answer held none that could be kept.
    :param why: why there is none (``too_large``, ``no_value``), else empty.
    :param writer: the action that wrote it; empty: the application did.
    :param superseded: it came after a newer one had been written, and was not taken.
    :param began_at: when its provider was asked, of which its freshness is counted.
    :param at: when it was written. :param reversed: its writer was undone since.
    :param tool: of the writer.
    """

    key: str
    version: int
    value: str | None
    why: str
    writer: str
    chain: str
    superseded: int
    began_at: float
    at: float
    reversed: int = 0
    tool: str = ""


class SessionRecord(NamedTuple):
    """A session as the ledger holds it.

    :param version: grows with every value that is written.
    :param epoch: begins anew when the session is made anew; orders before ``version``.
    """

    tenant: str
    id: str
    principal: str
    version: int
    epoch: str
    opened_at: float
    seen_at: float
    expires_at: float


class Memory(NamedTuple):
    """What the ledger knows of a session at one moment, for some keys.

    :param session: None where it has nothing to remember yet.
    :param values: the current ones. :param pledges: of the actions that are still open.
    :param undone: the writers that were undone since, where the values are not given.
    """

    session: SessionRecord | None
    values: tuple[Remembered, ...] = ()
    pledges: tuple[Pledge, ...] = ()
    undone: frozenset[str] = frozenset()


class Needs(Beside):
    """The session that an action needs: its principal's, alive, and as the gate has seen it.

    :param read: key and version of everything that was filled in.
    :param pledges: the keys that this action will provide.
    :param epoch: for a session that is made now.
    :param opens: whether it may have to be made, or its life to be prolonged; False: the gate has
        seen it, and that it was used just now.
    """

    now: float
    expires_at: float
    epoch: str
    read: tuple[tuple[str, int], ...] = ()
    pledges: tuple[str, ...] = ()
    opens: bool = True


class StillNeeds(Beside):
    """What was read when the action was stored is still so; for a first send that comes late."""

    now: float


class Kept(NamedTuple):
    """A value that an outcome brings: JSON, or why there is none."""

    key: str
    value: str | None
    why: str = ""


class Provides(Beside):
    """What an outcome brings to its session; never a reason not to write the outcome.

    :param base: the session's version when the provider was asked; None: what the action's pledges
        say. :param limit_bytes: how much the current values of a session may hold together.
    """

    values: tuple[Kept, ...]
    now: float
    began_at: float
    limit_bytes: int
    base: int | None = None
