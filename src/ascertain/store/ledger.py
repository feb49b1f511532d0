"""The narrow waist between the protocol and a database.

A ledger does four verbs, each an immutable *operation*. :meth:`Ledger.submit` takes any number of
them and writes them in **one** durable transaction, in order, giving one reply each: that is what
makes group commit possible. An expected loss (somebody else moved the action, or has the reference)
is a reply, never an exception. If one operation fails unexpectedly, the others are not harmed.

Time is an argument. JSON is opaque. No operation reads a clock or holds a transaction open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ascertain.model.action import ActionRecord, EventRecord
from ascertain.model.breaker import BreakerRecord
from ascertain.model.chain import Around, ChainRecord
from ascertain.model.epoch import Epoch
from ascertain.model.fleet import Beat, Happened, OldUnknown, RateUse, ToolQueue
from ascertain.model.operations import (
    Advance,
    Advanced,
    Alone,
    Beside,
    Blocked,
    Claim,
    ClaimBy,
    Contested,
    Lookalike,
    Lost,
    MustReplace,
    Operation,
    Reply,
    Reserve,
    Reserved,
    Take,
    Taken,
    Told,
)
from ascertain.model.session import Kept, Memory, Remembered, SessionRecord

if TYPE_CHECKING:
    from ascertain.store.filed import Keep

__all__ = [
    "Advance",
    "Advanced",
    "Alone",
    "Beside",
    "Blocked",
    "Breakers",
    "Burial",
    "Chains",
    "Claim",
    "ClaimBy",
    "Contested",
    "Contexts",
    "Filter",
    "Fleet",
    "Ledger",
    "Lookalike",
    "Lost",
    "MustReplace",
    "Operation",
    "Reply",
    "Reserve",
    "Reserved",
    "Retained",
    "Take",
    "Taken",
    "Told",
    "Vitals",
]


class Filter(NamedTuple):
    """Which actions to list; None means any. Newest first."""

    tenant: str | None = None
    session: str | None = None
    turn: str | None = None
    chain: str | None = None
    tool: str | None = None
    state: str | None = None
    open_only: bool = False
    review_only: bool = False
    before_id: str | None = None
    limit: int = 100


class Burial(NamedTuple):
    """How an action was removed.

    :param at: when, on the ledger's clock; None: that is not known.
    :param archive: where it is kept, as whoever removed it named the file; None: nowhere.
    """

    at: float | None
    archive: str | None


class Retained(NamedTuple):
    """What became of one batch of old actions.

    :param removed: those that are tombstones now, as they were before.
    :param damaged: one sentence for each thing that does not hold; these actions are left alone.
    :param undoable: how many were left because they may still be undone.
    """

    removed: tuple[ActionRecord, ...]
    damaged: tuple[str, ...]
    undoable: int


class Contexts(Protocol):
    """What sessions remember. Values are written beside the actions that bring them."""

    def session(self, tenant: str, session: str) -> SessionRecord | None:
        """Whose it is, at which version; None: nothing is remembered of it."""
        ...

    def sessions(self, places: Sequence[tuple[str, str]]) -> list[SessionRecord | None]:
        """The same of many, by tenant and session."""
        ...

    def memory(self, tenant: str, session: str) -> Memory:
        """What is known now; one moment for all of it."""
        ...

    def outline(self, tenant: str, session: str) -> Memory:
        """The same without the values: whose, at which version, and what is under way."""
        ...

    def history(self, tenant: str, session: str) -> list[Remembered]:
        """Every value that is kept, oldest first, those that came late among them."""
        ...

    def called(
        self, tenant: str, session: str, call_id: str
    ) -> tuple[ActionRecord | None, str | None]:
        """The action of a call of this session, by the framework's id of it; None: there is none.

        And its arguments as they are stored; None: they are no more.
        """
        ...

    def say(
        self, session: SessionRecord, values: Sequence[Kept], *, now: float, limit_bytes: int
    ) -> str:
        """Write what the application itself knows, all or nothing; returns why not, or ''."""
        ...

    def renew(self, session: SessionRecord, *, now: float) -> bool:
        """Begin an expired session anew, with nothing remembered; False: it is somebody else's."""
        ...

    def clear_expired(self, *, before: float, now: float, limit: int = 100) -> int:
        """Forget what sessions that ended before then remember; returns how many were cleared."""
        ...


class Breakers(Protocol):
    """The circuit breakers that have ever opened; everybody who uses the ledger shares them."""

    def all(self) -> list[BreakerRecord]:
        """All of them, by name."""
        ...

    def turn(self, before: BreakerRecord, after: BreakerRecord) -> BreakerRecord:
        """Write ``after`` if nobody has turned it since ``before``; returns how it stands then."""
        ...


class Fleet(Protocol):
    """What can be seen of all who work on the ledger. What is closed costs nothing here."""

    def workers(self) -> list[Beat]:
        """The last sign of life of each worker that was seen within a day, newest first."""
        ...

    def leases(self, now: float) -> dict[str, int]:
        """How many actions each owner is at work on; workers and callers alike."""
        ...

    def queues(self, now: float) -> list[ToolQueue]:
        """What waits, by tool.

        Counted exactly as far as 50,000 actions of a tenant and tool; where there are more, what is
        told is a bound, and is said to be one.
        """
        ...

    def oldest_unknown(self) -> OldUnknown | None:
        """The action that has been unknown for longest, counted from its first send."""
        ...

    def happened(self, since: float) -> list[Happened]:
        """What happened from that second on, by tool; each process tells of itself every second."""
        ...

    def rates(self, now: float) -> list[RateUse]:
        """Every provider's rate that was ever used, by name."""
        ...

    def end(self, owner: str, now: float) -> None:
        """A worker says that it ends."""
        ...


class Vitals(NamedTuple):
    """What a store knows of its own health: as it stands, and not as it was meant to be.

    :param schema: number of its last migration. :param newest_schema: of this release.
    :param journal: how changes are kept before they are in their place (``wal``).
    :param synchronous: how a commit is forced to the disk (``full``).
    :param durable: whether, with these settings, what was committed survives a loss of power.
    :param pages: how large it is, in pages of ``page_bytes`` each.
    :param free_pages: how many of them are empty, and used again first.
    :param journal_bytes: what the journal takes on the disk.
    :param free_bytes: free space where it lies; None: the system does not tell.
    :param sync_s: seconds that forcing a small write to this disk took just now; None: it could
        not be tried.
    """

    schema: int
    newest_schema: int
    journal: str
    synchronous: str
    durable: bool
    pages: int
    page_bytes: int
    free_pages: int
    journal_bytes: int
    free_bytes: int | None
    sync_s: float | None


class Chains(Protocol):
    """How a store shows its chains; they are written beside actions and by ``submit``."""

    def get(self, chain: str) -> ChainRecord | None: ...
    def around(self, chain: str) -> Around | None:
        """The chain with its members and their actions; cost: what is in it."""
        ...

    def of_session(self, session: str, tenant: str) -> list[ChainRecord]: ...
    def recent(self, *, before: float, limit: int = 100) -> list[ChainRecord]: ...
    def owners(self) -> list[str]: ...
    def next_due_at(self) -> float | None: ...


class Ledger(Protocol):
    """What every store does. Opened lazily; safe to use from any thread; safe after fork."""

    url: str
    breakers: Breakers

    @property
    def chains(self) -> Chains:
        """The chains, and who is in them."""
        ...

    @property
    def fleet(self) -> Fleet:
        """Who works on it, and what waits."""
        ...

    @property
    def contexts(self) -> Contexts:
        """What sessions remember."""
        ...

    def submit(
        self, operations: Sequence[Operation], *, meanwhile: Callable[[], None] | None = None
    ) -> list[Reply]:
        """Write all in one durable transaction; an operation's own failure is its reply.

        :param meanwhile: called as soon as there is nothing left but to wait, for the disk or for
            another process, and then perhaps again; it must not raise.
        :raises LedgerError: when nothing could be written at all (and nothing was).
        """
        ...

    def get(self, action_id: str) -> ActionRecord | None: ...
    def find(self, query: Filter) -> list[ActionRecord]: ...
    def events(self, action_id: str) -> list[EventRecord]: ...
    def arguments(self, action_id: str) -> str | None: ...
    def result(self, action_id: str) -> str | None: ...
    def contract(self, digest: str) -> str | None: ...
    def next_due_at(self) -> float | None: ...
    def due(self, now: float, *, limit: int = 1000) -> list[ActionRecord]:
        """What is due and leased to nobody, longest due first; nothing is leased by looking."""
        ...

    def holders(self, now: float) -> list[str]:
        """Whose leases hold right now; cost grows with what is open."""
        ...

    def counts(self) -> dict[str, int]:
        """Open actions by state, plus ``review`` and ``disputed``; cost grows with what is open."""
        ...

    def verify(self, action_id: str | None = None) -> Iterator[str]:
        """Check the hash chains; yields one sentence per thing that does not hold."""
        ...

    def bury(self, *, closed_before: float, limit: int = 1000) -> int:
        """Reduce closed actions to tombstones (identity, state, reference); returns how many."""
        ...

    def old(self, *, closed_before: float) -> Iterator[list[ActionRecord]]:
        """The actions that :meth:`retain` would remove, oldest first, in pages."""
        ...

    def retain(
        self, *, closed_before: float, keep: Keep | None, at: float | None, limit: int | None = None
    ) -> Iterator[Retained]:
        """Keep closed actions elsewhere, then reduce them to tombstones; batch by batch.

        Only what has ended before then altogether: the action, its chain, its session, the time
        within which it may be undone. Each batch is kept before anything of it is removed.

        :raises LedgerError: it could not be kept, or not be removed; the rest is as it was.
        """
        ...

    def burial(self, action_id: str) -> Burial | None:
        """How the action was removed; None: it was not."""
        ...

    def secret(self) -> bytes:
        """The key of intents and of the chain; lives outside the database."""
        ...

    def now(self) -> float | None:
        """The time that all who use the ledger share (seconds since 1970), as its server has it.

        None: they are on one host, whose own clock they share.
        """
        ...

    def vitals(self) -> Vitals:
        """How it stands, for operators. Changes nothing, and reads no action."""
        ...

    def bell(self, action_id: str, ring: Callable[[], None]) -> Callable[[], None] | None:
        """Ring, in any thread, when somebody else moves the action; returns what ends that.

        None: nobody rings, and whoever waits has to look. A ring is a hint and no promise: look now
        and then all the same, and once after this.
        """
        ...

    @property
    def epoch(self) -> Epoch:
        """In which epoch of the ledger this process works; known without asking, once opened."""
        ...

    def epochs(self, limit: int = 10) -> list[Epoch]:
        """Its epochs, the newest first; empty where the store has none."""
        ...

    def settle_epoch(self, epoch_id: str, by: str, now: float) -> bool:
        """Vouch that nothing was lost before an epoch; False: there is nothing to vouch for."""
        ...

    def heartbeat(self, owner: str, now: float) -> None: ...
    def last_heartbeat(self) -> float | None: ...
    def close(self) -> None: ...
