"""A chain: the actions of one wish, with order and weight, and the direction that it goes.

What a chain has come to is never stored: it is derived from its actions
(:mod:`ascertain.rules.project`). Stored are its steps, and the one thing that every send depends
on: whether it still goes forward.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ascertain.model.action import ActionRecord
from ascertain.model.operations import Alone, Beside


class Direction(StrEnum):
    """Where a chain goes. Once backward, it never sends forward again."""

    FORWARD = "forward"
    BACKWARD = "backward"


TURNS: tuple[tuple[Direction, str, Direction], ...] = (
    (Direction.FORWARD, "turn", Direction.BACKWARD),
)


LEFT = "left"
"""The reason of a chain whose code did not come to its end, once a person has to decide."""


class Weight(StrEnum):
    """Whether the wish is worth anything without the step."""

    ESSENTIAL = "essential"
    BEST_EFFORT = "best_effort"


class Course(StrEnum):
    """What its chain means for one action; what :func:`~ascertain.rules.decide.decide` sees of it.

    * ``forward``: nothing; the action is in no chain, or its chain goes forward.
    * ``stopped``: the chain sends nothing more, and nothing is undone.
    * ``waits``: the chain goes back; what depends on the action comes first.
    * ``undo``: it may be undone now. ``undo_by_key``: whether or not it happened.
    * ``stuck``: its undo was refused, or is with a person.
    * ``irreversible``: nothing undoes it. ``too_late``: the time for undoing it has passed.
    * ``kept``: a person decided that it stays.
    """

    FORWARD = "forward"
    STOPPED = "stopped"
    WAITS = "waits"
    UNDO = "undo"
    UNDO_BY_KEY = "undo_by_key"
    STUCK = "stuck"
    IRREVERSIBLE = "irreversible"
    TOO_LATE = "too_late"
    KEPT = "kept"


class ChainRecord(NamedTuple):
    """A chain as the ledger holds it; the field order is the column order.

    :param reason: why it was turned, stopped or left.
    :param plan: JSON of the declared steps; '' where the code is the plan.
    :param due_at: when somebody looks at it again; None: nothing is left to start, or the code came
        to its end.
    :param owner: who works on it (see ``runtime.sender``); '': nobody.
    """

    id: str
    tenant: str
    principal: str
    session: str
    name: str
    ordinal: str
    wish: str
    wish_zh: str
    plan: str
    created_at: float
    direction: Direction = Direction.FORWARD
    reason: str = ""
    turned_at: float | None = None
    stopped_at: float | None = None
    due_at: float | None = None
    owner: str = ""

    @property
    def backward(self) -> bool:
        return self.direction is Direction.BACKWARD


class Member(NamedTuple):
    """An action's place in its chain.

    :param step: its name there. :param position: counted from 1, in order of the calls.
    :param after: the steps it depends on.
    :param undoes: id of the action that this one reverses; '' for a step.
    :param kept: a person decided that it is not undone.
    """

    chain: str
    action_id: str
    step: str
    position: int
    weight: Weight = Weight.ESSENTIAL
    after: tuple[str, ...] = ()
    undoes: str = ""
    kept: int = 0


class Around(NamedTuple):
    """A chain with all its members and their actions, oldest first."""

    chain: ChainRecord
    members: tuple[tuple[Member, ActionRecord], ...] = ()

    def member(self, action_id: str) -> Member | None:
        """The place of an action in it."""
        for member, _ in self.members:
            if member.action_id == action_id:
                return member
        return None

    def undo_of(self, action_id: str) -> ActionRecord | None:
        """The latest action that reverses this one."""
        found = [record for member, record in self.members if member.undoes == action_id]
        return found[-1] if found else None

    def steps(self) -> dict[str, tuple[Member, ActionRecord]]:
        """The latest action of each step, in order: what was corrected counts no more."""
        found: dict[str, tuple[Member, ActionRecord]] = {}
        for member, record in self.members:
            if not member.undoes:
                found[member.step] = (member, record)
        return found


# --------------------------------------------------------------------- beside an action's own write


class Joins(Beside):
    """The action is stored as a member of the chain, whose row is written with the first one.

    Blocks what would be sent while the chain goes back or is stopped (``chain_turned_back``,
    ``chain_stopped``), unless it undoes something.
    """

    chain: ChainRecord
    member: Member


class Steers(Beside):
    """An event of an action in a chain.

    Blocks a send forward as :class:`Joins` does. An essential refusal turns the chain; whatever can
    go on now falls due.
    """

    chain: str
    sends: bool = False


class Keeps(Beside):
    """A person decided that a step stays as it is: the chain is undone around it."""

    chain: str


class Leaves(Beside):
    """A case over a chain whose code did not come to its end.

    Blocks where somebody has looked, run it again or ended it since (``not_left``).

    :param due_at: as it was when that was decided.
    """

    chain: str
    due_at: float


class Turns(Beside):
    """A person decided that what is confirmed is undone: the chain turns back."""

    chain: str
    reason: str


# ------------------------------------------------------------------------------ of the chain itself


class OpenChain(Alone):
    """Store a chain with its plan, unless it is stored already; reply: the chain as stored."""

    chain: ChainRecord


class TurnChain(Alone):
    """Turn a chain backward, once; reply: the chain, None where there is none."""

    chain: str
    reason: str
    now: float


class StopChain(Alone):
    """Nothing more is sent in this chain, forward or back; reply: the chain or None."""

    chain: str
    reason: str
    now: float


class ScheduleChain(Alone):
    """Say when somebody looks at the plan again (None: never); reply: the chain or None."""

    chain: str
    due_at: float | None


class EndChain(Alone):
    """The code of a chain came to its end; or was left before (``due_at``: when somebody looks).

    Reply: the chain as it was, or None.
    """

    chain: str
    due_at: float | None = None


class TakeChains(Alone):
    """Take chains that are due, or whose plan's owner is one of ``gone``; reply: a tuple of them.

    Who takes one with a plan owns it from now on; one without keeps the owner that it had.
    """

    owner: str
    now: float
    until: float
    gone: frozenset[str] = frozenset()
    limit: int = 20
