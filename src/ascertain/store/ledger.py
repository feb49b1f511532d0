"""The narrow waist between the protocol and a database.

A ledger does four verbs, each an immutable *operation*. :meth:`Ledger.submit` takes any number of
them and writes them in **one** durable transaction, in order, giving one reply each: that is what
makes group commit possible. An expected loss (somebody else moved the action) is a reply, never an
exception. If one operation fails unexpectedly, the others are not harmed.

Time is an argument. JSON is opaque. No operation reads a clock or holds a transaction open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ascertain.model.action import ActionRecord, Draft, EventRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """Store an intent, unless it is stored already.

    In one statement of truth: the call id seen before in this session, else a live action of the
    same intent, else a final rejection that still binds, is returned instead (see
    ``rules.identity.match``). When an earlier final rejection does not bind, the new action must
    name it: if ``record.replaces`` does not, nothing is written and the reply says which.

    :param record: as it shall stand after ``drafts``, without ``n`` and ``head``.
    :param drafts: the events that lead there (``prepare``, and ``send`` if it is sent at once).
    :param arguments: canonical JSON of all arguments.
    :param contract_json: stored once per digest (``record.contract``).
    """

    record: ActionRecord
    drafts: tuple[Draft, ...]
    arguments: str
    contract_json: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """``via`` is ``new``, ``call_id``, ``intent`` or ``bound`` (a final rejection that binds)."""

    record: ActionRecord
    via: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MustReplace:
    """Nothing was written: the new action has to name ``previous`` as the one it replaces."""

    previous: ActionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """Move an action, if ``before.n`` and ``before.fence`` are still what the ledger holds.

    :param after: as it shall stand after ``drafts``, without ``n`` and ``head``.
    :param drafts: may be empty: leases and schedules change without an event.
    :param result: JSON of the result to keep with it; None: leave as it is.
    """

    before: ActionRecord
    after: ActionRecord
    drafts: tuple[Draft, ...]
    result: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advanced:
    """Written; ``record`` carries the new ``n`` and ``head``."""

    record: ActionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Nothing was written: somebody else moved it. ``record`` is how it stands now."""

    record: ActionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """Lease due actions: ``due_at <= now`` and no lease that still holds, oldest first.

    Each taken one gets ``fence + 1``, ``lease_owner``, ``lease_until`` and ``due_at = lease_until``.
    The *previous* owner of an expired lease on a ``sent`` action is returned in ``taken_from``.
    """

    owner: str
    now: float
    lease_until: float
    limit: int = 100
    tools: frozenset[str] | None = None
    action_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """``records`` under the new lease; ``previous`` as they stood before, same order."""

    records: tuple[ActionRecord, ...]
    previous: tuple[ActionRecord, ...] = field(default=())


Operation = Reserve | Advance | Take
Reply = Reserved | MustReplace | Advanced | Lost | Taken | Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
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


class Ledger(Protocol):
    """What every store does. Opened lazily; safe to use from any thread; safe after fork."""

    url: str

    def submit(self, operations: Sequence[Operation]) -> list[Reply]:
        """Write all in one durable transaction; an operation's own failure is its reply.

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
    def counts(self) -> dict[str, int]:
        """Open actions by state, plus ``review`` and ``disputed``; cost grows with what is open."""
        ...

    def verify(self, action_id: str | None = None) -> Iterator[str]:
        """Check the hash chains; yields one sentence per thing that does not hold."""
        ...

    def bury(self, *, closed_before: float, limit: int = 1000) -> int:
        """Reduce closed actions to tombstones (identity, state, reference); returns how many."""
        ...

    def secret(self) -> bytes:
        """The key of intents and of the chain; lives outside the database."""
        ...

    def heartbeat(self, owner: str, now: float) -> None: ...
    def last_heartbeat(self) -> float | None: ...
    def close(self) -> None: ...
