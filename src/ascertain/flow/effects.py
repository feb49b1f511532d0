"""What a flow may ask of the world.

A flow yields one of these frozen records and is resumed with the reply. Every driver (sync, async,
worker, crash test) performs the same list, so the protocol is written once. No transaction lives
across a yield. The typed helpers below keep flows checkable: ``report = yield from invoke(...)``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple, TypeVar

from ascertain.model.action import ActionRecord
from ascertain.model.booking import Book, GiveBack
from ascertain.model.chain import Around
from ascertain.model.contract import Contract
from ascertain.model.epoch import Epoch, only
from ascertain.model.operations import (
    Advance,
    Advanced,
    Beside,
    Blocked,
    Contested,
    Lost,
    MustReplace,
    Reserve,
    Reserved,
    Take,
    Taken,
    Told,
)
from ascertain.model.outcome import Report
from ascertain.model.session import Memory, Remembered
from ascertain.rules.chain import advance_of
from ascertain.rules.decide import Held
from ascertain.rules.moves import Move


class Invoke(NamedTuple):
    """Run the tool's body for an attempt that is durable; reply: :class:`Report`."""

    record: ActionRecord
    deadline_s: float


class Ask(NamedTuple):
    """Run the tool's look-up; reply: :class:`Report`."""

    record: ActionRecord
    deadline_s: float


class Pause(NamedTuple):
    """Wait; reply: whether the whole time passed (False: the caller was interrupted)."""

    seconds: float


class Await(NamedTuple):
    """Wait until somebody else moves the action, or ``seconds`` pass.

    Reply: the action now, or None when the caller was interrupted.
    """

    record: ActionRecord
    seconds: float


class Inquire(NamedTuple):
    """Which of these senders are proven gone; reply: frozenset of their names."""

    senders: tuple[str, ...]


class Permit(NamedTuple):
    """May it (still) be sent? reply: ``yes``, ``no``, or ``unknown`` when it cannot be checked.

    Where sends of this tool wait for more than permission, :class:`Cleared` or :class:`Withheld`.
    """

    record: ActionRecord


class Cleared(NamedTuple):
    """It may be sent, by this approval (the number of its event)."""

    approval: int


class Withheld(NamedTuple):
    """It is permitted, and yet nothing may be sent now.

    :param held: what holds it back. :param why: a stable code.
    :param until: when to come back. :param ask: the provider may be asked whether it answers.
    """

    held: Held
    why: str
    until: float
    ask: bool = False


Permission = str | Cleared | Withheld


class Relate(NamedTuple):
    """Does the record that a refusal names belong to this principal; reply: bool."""

    record: ActionRecord
    related_ref: str


class Survey(NamedTuple):
    """How does the action's chain stand; reply: :class:`Around`, None: there is none."""

    record: ActionRecord


class Undo(NamedTuple):
    """Make the guarded call of the tool that reverses the action.

    A flow of its own: it is driven like any call. Reply: the reversing action as it stands then;
    None where it cannot be begun just now, for its permission cannot be checked.
    Raises UnknownTool where this process does not know how.
    """

    record: ActionRecord
    around: Around


class Picture(NamedTuple):
    """Read what the provider shows now of what the action changed; reply: :class:`Report`.

    None where the tool has no such read.
    """

    record: ActionRecord
    deadline_s: float


class Alike(NamedTuple):
    """Which other actions have the same identity, and may be what a look-up by fields found?

    Reply: a tuple of them; None: its own arguments are stored no more, so nobody can say.
    """

    record: ActionRecord


class Tell(NamedTuple):
    """Write one line to the operator's log, because the ledger does not take it; no reply.

    ``said`` goes with the action's id, tool, key and attempt: codes and references only.
    """

    record: ActionRecord
    event: str
    said: Mapping[str, str]


class Look(NamedTuple):
    """What does this session remember, and what is under way? reply: :class:`Looked`.

    :param history: whether everything that was shown is wanted too.
    :param call_id: and the action of this call, if it was made before.
    """

    tenant: str
    session: str
    keys: tuple[str, ...]
    history: bool = False
    call_id: str = ""


class Looked(NamedTuple):
    """``active``: for each key, how many calls of this process will provide it, and how many of
    those have their answer in hand.

    :param called: the action of the call that was asked for. :param called_with: its arguments as
        they are stored; None: they are no more.
    """

    memory: Memory
    active: Mapping[str, tuple[int, int]]
    history: tuple[Remembered, ...] = ()
    called: ActionRecord | None = None
    called_with: str | None = None


class Settle(NamedTuple):
    """Wait until something is new about a key, or ``seconds`` pass; reply: seconds waited."""

    look: Look
    key: str
    looked: Looked
    seconds: float


class Fetch(NamedTuple):
    """Run a read that provides what is missing; reply: whether it brought an answer.

    :param like: the action whose arguments it takes; empty: it needs none of a caller.
    """

    tool: str
    like: str = ""


class Vet(NamedTuple):
    """These are the arguments; reply: why they must not be sent (kind and reason), why the call
    waits for a person (a ``Hold``), or None.
    """

    values: dict[str, Any]


class Admit(NamedTuple):
    """Take this call in as a step of the chain that it is made in; reply: the wanted action.

    Where what it depends on is under way, the reply says how to :class:`Attend` to that, unless
    this is the ``last`` time that it is asked.
    """

    wanted: Any
    seat: Any
    last: bool


class Attend(NamedTuple):
    """Wait until what a step depends on may have ended, or ``seconds`` pass; no reply."""

    coming: Any
    seconds: float


Effect = (
    Reserve | Advance | Take | Invoke | Ask | Pause | Await | Inquire | Permit | Relate | Tell
    | Survey | Undo | Picture | Look | Settle | Fetch | Vet | Admit | Attend | Alike
    | Book | GiveBack
)  # fmt: skip

T = TypeVar("T")
Flow = Generator[Effect, Any, T]


class Setting(NamedTuple):
    """What a flow needs to know of where it runs.

    :param sender: who sends: host, boot, process (see ``runtime.sender``).
    :param clock: the ledger's clock, seconds. :param dice: uniform in [0, 1), for jitter.
    :param lease_s: how long a lease lasts beyond the deadline of what it covers.
    :param context_limit_bytes: how much a session may remember.
    :param epoch: in which epoch the ledger is, as far as this process knows.
    """

    contract: Contract
    sender: str
    clock: Callable[[], float]
    dice: Callable[[], float]
    lease_s: float
    context_limit_bytes: int = 65_536
    epoch: Callable[[], Epoch] = only


def reserve(operation: Reserve) -> Flow[Reserved | MustReplace | Blocked]:
    reply: Reserved | MustReplace | Blocked = yield operation
    return reply


def advance(
    before: ActionRecord,
    move: Move,
    result: str | None = None,
    *,
    beside: tuple[Beside, ...] = (),
    epoch: str | None = None,
) -> Flow[Advanced | Lost | Contested]:
    """Write a move, if nobody was quicker and nobody contests the reference that it claims."""
    reply: Advanced | Lost | Contested = yield advance_of(before, move, result, beside, epoch)
    return reply


def take(operation: Take) -> Flow[Taken]:
    reply: Taken = yield operation
    return reply


def write_alone(operation: Book | GiveBack) -> Flow[Any]:
    """Write what stands beside no action; returns what its kind says."""
    reply: Told = yield operation
    return reply.value


def invoke(record: ActionRecord, deadline_s: float) -> Flow[Report]:
    reply: Report = yield Invoke(record, deadline_s)
    return reply


def ask(record: ActionRecord, deadline_s: float) -> Flow[Report]:
    reply: Report = yield Ask(record, deadline_s)
    return reply


def pause(seconds: float) -> Flow[bool]:
    reply: bool = yield Pause(seconds)
    return reply


def await_other(record: ActionRecord, seconds: float) -> Flow[ActionRecord | None]:
    reply: ActionRecord | None = yield Await(record, seconds)
    return reply


def inquire(senders: tuple[str, ...]) -> Flow[frozenset[str]]:
    reply: frozenset[str] = yield Inquire(senders)
    return reply


def permit(record: ActionRecord) -> Flow[Permission]:
    reply: Permission = yield Permit(record)
    return reply


def relate(record: ActionRecord, related_ref: str) -> Flow[bool]:
    reply: bool = yield Relate(record, related_ref)
    return reply


def survey(record: ActionRecord) -> Flow[Around | None]:
    """See the action's chain; nothing is asked for an action that is in none."""
    if not record.chain:
        return None
    reply: Around | None = yield Survey(record)
    return reply


def undo(record: ActionRecord, around: Around) -> Flow[ActionRecord | None]:
    reply: ActionRecord | None = yield Undo(record, around)
    return reply


def picture(record: ActionRecord, deadline_s: float) -> Flow[Report | None]:
    reply: Report | None = yield Picture(record, deadline_s)
    return reply


def alike(record: ActionRecord) -> Flow[tuple[ActionRecord, ...] | None]:
    reply: tuple[ActionRecord, ...] | None = yield Alike(record)
    return reply


def admit(wanted: Any, seat: Any, *, last: bool) -> Flow[Any]:
    reply = yield Admit(wanted, seat, last)
    return reply


def attend(coming: Any, seconds: float) -> Flow[None]:
    yield Attend(coming, seconds)


def look(operation: Look) -> Flow[Looked]:
    reply: Looked = yield operation
    return reply


def settle(operation: Settle) -> Flow[float]:
    reply: float = yield operation
    return reply


def fetch(tool: str, like: str) -> Flow[bool]:
    reply: bool = yield Fetch(tool, like)
    return reply


def vet(values: dict[str, Any]) -> Flow[Any]:
    reply = yield Vet(values)
    return reply


def tell(record: ActionRecord, event: str, said: Mapping[str, str]) -> Flow[None]:
    yield Tell(record, event, said)
