"""The ledger in a database that speaks SQL, whichever it is: what the backends have in common.

A backend says how it connects, how it writes the rows of a batch, and what its errors mean.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Generic, TypeVar

from ascertain.errors import LedgerError, LedgerFull
from ascertain.model.action import ActionRecord, EventRecord
from ascertain.model.epoch import ONLY, Epoch
from ascertain.rules.mac import Mac
from ascertain.rules.tally import KEPT_S
from ascertain.store.access import Access, Run, first
from ascertain.store.batch import Batch, Forms, Work, prepare_all
from ascertain.store.breakers import LedgerBreakers
from ascertain.store.chain_reads import LedgerChains
from ascertain.store.contexts import LedgerContexts
from ascertain.store.doubt import is_written
from ascertain.store.filed import Keep
from ascertain.store.fleet import LedgerFleet
from ascertain.store.ledger import (
    Breakers,
    Burial,
    Chains,
    Contexts,
    Filter,
    Fleet,
    Operation,
    Reply,
    Retained,
)
from ascertain.store.retaining import old, retain
from ascertain.store.rows import to_record
from ascertain.store.seal import chain_mac
from ascertain.store.tally import Tally, put
from ascertain.store.upkeep import verify

_BEATS_KEPT_S = 24 * 3600.0
_AFTER_ALL_IDS = "~"
_OPEN_STATES = frozenset({"prepared", "sent", "unknown"})

D = TypeVar("D")
"""The connection that writes."""

Meanwhile = Callable[[], None] | None


class SqlLedger(ABC, Generic[D]):
    """The :class:`~ascertain.store.ledger.Ledger` by named queries."""

    def __init__(self, url: str, access: Access, forms: Forms) -> None:
        self.url = url
        self._access = access
        self._forms = forms
        self._chain_mac: Mac | None = None
        self.breakers: Breakers = LedgerBreakers(access)
        self.chains: Chains = LedgerChains(access)
        self.contexts: Contexts = LedgerContexts(access)
        self.fleet: Fleet = LedgerFleet(access)
        self._tally = Tally()

    # -------------------------------------------------------------- what a backend does its own way

    @abstractmethod
    def secret(self) -> bytes:
        """The key of intents and of the chain; lies outside the database."""

    @abstractmethod
    def _close(self) -> None:
        """Close all handles of this process; idempotent."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[D]:
        """The connection that writes, for this thread alone."""

    @abstractmethod
    def _begin(self, db: D, meanwhile: Meanwhile = None) -> None:
        """Begin a transaction that writes.

        :param meanwhile: called before it waits for somebody else.
        :raises LedgerError: it cannot be begun, and nothing was written.
        """

    @abstractmethod
    def _commit(self, db: D) -> None: ...
    @abstractmethod
    def _roll_back(self, db: D) -> None:
        """Undo what is not committed, if a transaction is open at all; never raises."""

    @abstractmethod
    def _batch(self, db: D) -> Batch:
        """What writes the operations of one transaction."""

    @abstractmethod
    def _asking(self, db: D) -> Run:
        """Queries on this connection, in its transaction or outside of one."""

    @abstractmethod
    def _wrote(self, batch: Batch, replies: Sequence[Reply | None]) -> None:
        """This has been committed."""

    @abstractmethod
    def _make_room(self, db: D) -> None:
        """The disk was full: give back what can be given back. Outside of a transaction."""

    @abstractmethod
    def _typed(self, error: Exception) -> Exception:
        """An error of the database as an error of the ledger; any other one as it is."""

    def _is_passing(self, error: Exception) -> bool:
        """Whether the same, done again at once, may well go through."""
        del error
        return False

    # ------------------------------------------------------------------------------------ writing

    def submit(
        self, operations: Sequence[Operation], *, meanwhile: Meanwhile = None
    ) -> list[Reply]:
        """Write all in one durable transaction; an operation's own failure is its reply.

        :param meanwhile: called as soon as there is nothing left but to wait, for the disk or for
            another process, and then perhaps again; it must not raise.
        :raises LedgerError: when nothing could be written at all (and nothing was).
        """
        mac = self._mac()
        replies: list[Reply | None] = [None] * len(operations)
        work = prepare_all(mac, self._forms, operations, replies)
        if work:
            with self._writing() as db:
                self._write(db, work, replies, meanwhile)
        return [_answered(reply) for reply in replies]

    def _write(self, db: D, work: Work, replies: list[Reply | None], meanwhile: Meanwhile) -> None:
        self._begin(db, meanwhile)
        error = self._transact(db, work, replies, meanwhile)
        if error is None:
            self._write_rest(db, work, replies, meanwhile)
            return
        if isinstance(error, LedgerFull):
            self._make_room(db)
            work = sorted(work, key=lambda item: item[1].starts)  # outcomes first
        elif len(work) == 1 and not self._is_passing(error):
            replies[work[0][0]] = error
            return
        for done, item in enumerate(work):
            try:
                self._begin(db)
            except LedgerError as outage:
                if not done:
                    raise
                for place, _ in work[done:]:
                    replies[place] = outage
                return
            by_itself = (item[0], item[1]._replace(alone=True))
            replies[item[0]] = self._transact(db, [by_itself], replies) or replies[item[0]]

    def _write_rest(
        self, db: D, work: Work, replies: list[Reply | None], meanwhile: Meanwhile
    ) -> None:
        """Write by themselves those that were not written among others."""
        rest = [
            (place, prepared._replace(alone=True))
            for place, prepared in work
            if replies[place] is None
        ]
        if not rest:
            return
        try:
            self._write(db, rest, replies, meanwhile)
        except LedgerError as outage:
            for place, _ in rest:
                replies[place] = outage

    def _transact(
        self, db: D, work: Work, replies: list[Reply | None], meanwhile: Meanwhile = None
    ) -> Exception | None:
        """Write these in the transaction that has begun; on an error nothing of it is written."""
        batch = self._batch(db)
        batch.tally = self._tally
        try:
            batch.write_all(work, replies)
        except Exception as error:
            self._roll_back(db)
            if not (batch.in_doubt and self._settles(db, work, replies)):
                return self._typed(error)
        except BaseException:
            self._roll_back(db)
            raise
        if meanwhile is not None:
            meanwhile()
        try:
            self._commit(db)
        except Exception as error:
            self._roll_back(db)
            if not self._is_written(db, work, replies):
                return self._typed(error)
        self._wrote(batch, replies)
        self._tally.written(batch.counts, batch.counts_written)
        return None

    def _settles(self, db: D, work: Work, replies: list[Reply | None]) -> bool:
        """Whether a transaction was committed; those that it did not write lose their replies."""
        found = [self._is_written(db, [item], replies) for item in work]
        if any(found):
            for (place, _), written in zip(work, found, strict=True):
                replies[place] = replies[place] if written else None
        return any(found)

    def _is_written(self, db: D, work: Work, replies: Sequence[Reply | None]) -> bool:
        try:
            return is_written(self._asking(db), work, replies)
        except Exception as error:
            typed = self._typed(error)
            if typed is error:
                raise
            raise typed from error

    # ------------------------------------------------------------------------------------ reading

    def get(self, action_id: str) -> ActionRecord | None:
        """The action as it stands, or None."""
        with self._access.asking() as run:
            row = first(run("by_id", action_id))
        return to_record(row) if row else None

    def find(self, query: Filter) -> list[ActionRecord]:
        """The actions that fit, newest first.

        Cost: by session, what is in the session; open or review only, what is open; else the pages
        from the newest to the last one that fits.
        """
        select = [query.tenant, query.session, query.turn, query.chain, query.tool, query.state]
        page = [query.before_id or _AFTER_ALL_IDS, query.limit]
        if query.session is not None:
            name = "find_session"
            flags = [int(query.open_only), int(query.review_only)]
        elif query.open_only or query.state in _OPEN_STATES:
            name, flags = "find_open", [int(query.review_only)]
        else:
            name, flags = "find_review" if query.review_only else "find_all", []
        with self._access.asking() as run:
            rows = run(name, *select, *flags, *page)
        return [to_record(row) for row in rows]

    def events(self, action_id: str) -> list[EventRecord]:
        """What happened to the action, oldest first; empty for a tombstone."""
        with self._access.asking() as run:
            rows = run("events_of", action_id)
        return [EventRecord(row[0], row[1], row[2] or None, *row[3:12]) for row in rows]

    def arguments(self, action_id: str) -> str | None:
        """The stored arguments (JSON); None when there are none any more."""
        return self._payload(action_id, "args")

    def result(self, action_id: str) -> str | None:
        """The stored result (JSON); None when there is none."""
        return self._payload(action_id, "result")

    def contract(self, digest: str) -> str | None:
        """The contract (JSON) that was in force under this digest."""
        json: str | None = self._one("contract_of", digest)
        return json

    def next_due_at(self) -> float | None:
        """When the next action is due; None when none is."""
        at: float | None = self._one("next_due")
        return at

    def due(self, now: float, *, limit: int = 1000) -> list[ActionRecord]:
        """What is due and leased to nobody, longest due first; nothing is leased by looking."""
        with self._access.asking() as run:
            return [to_record(row) for row in run("seen_due", now, limit)]

    def holders(self, now: float) -> list[str]:
        """Whose leases hold right now."""
        with self._access.asking() as run:
            return [owner for (owner,) in run("holders", now)]

    def counts(self) -> dict[str, int]:
        """Open actions by state, plus ``review`` and ``disputed``; cost grows with what is open."""
        with self._access.asking() as run:
            counts: dict[str, int] = dict(run("count_open"))
            ((review, disputed),) = run("count_review")
        return {**counts, "review": review, "disputed": disputed}

    def bell(self, action_id: str, ring: Callable[[], None]) -> Callable[[], None] | None:
        """Ring when somebody else moves the action; None: nobody rings here."""
        del action_id, ring
        return None

    @property
    def epoch(self) -> Epoch:
        """In which epoch of the ledger this process works."""
        return ONLY

    def epochs(self, limit: int = 10) -> list[Epoch]:
        """Its epochs, the newest first; empty where the store has none."""
        del limit
        return []

    def settle_epoch(self, epoch_id: str, by: str, now: float) -> bool:
        """Vouch that nothing was lost before an epoch; False: there is nothing to vouch for."""
        del epoch_id, by, now
        return False

    def last_heartbeat(self) -> float | None:
        """When a worker was last seen; None: never, or not for a day."""
        at: float | None = self._one("last_beat")
        return at

    # --------------------------------------------------------------------------------- upkeep

    def verify(self, action_id: str | None = None) -> Iterator[str]:
        """Check the hash chains; yields one sentence per thing that does not hold."""
        return verify(self._access, self._mac(), action_id)

    def bury(self, *, closed_before: float, limit: int = 1000) -> int:
        """Reduce closed actions to tombstones (identity, state, reference); returns how many.

        What does not verify is left as it is, and so is what is disputed or under review.
        """
        batches = self.retain(closed_before=closed_before, keep=None, at=None, limit=limit)
        return sum(len(batch.removed) for batch in batches)

    def old(self, *, closed_before: float) -> Iterator[list[ActionRecord]]:
        """The actions that :meth:`retain` would remove, oldest first, in pages."""
        return old(self._access, closed_before)

    def retain(
        self, *, closed_before: float, keep: Keep | None, at: float | None, limit: int | None = None
    ) -> Iterator[Retained]:
        """Keep closed actions elsewhere, then reduce them to tombstones; batch by batch.

        :param keep: where to, such as an :class:`~ascertain.store.archive.Archive`.
        :param at: the time on the ledger's clock; the tombstones say it.
        """
        return retain(
            self._access, self._mac(), closed_before=closed_before, keep=keep, at=at, limit=limit
        )

    def burial(self, action_id: str) -> Burial | None:
        """How the action was removed; None: it was not."""
        with self._access.asking() as run:
            row = first(run("tombstone_of", action_id))
        return Burial(row[4], row[5]) if row else None

    def heartbeat(self, owner: str, now: float) -> None:
        """A worker says that it is alive."""
        with self._access.changing() as run:
            run("beat", owner, now)
            run("forget_beats", now - _BEATS_KEPT_S)
            run("forget_tallies", int(now - KEPT_S))

    def close(self) -> None:
        """Close all handles of this process; idempotent."""
        rest = self._tally.rest()
        if rest:
            with suppress(LedgerError):  # for people who watch: nothing rests on it
                with self._access.changing() as run:
                    put(run, rest)
                rest.clear()
        self._close()

    def _payload(self, action_id: str, what: str) -> str | None:
        body: str | None = self._one("payload_of", action_id, what)
        return body

    def _one(self, name: str, *values: object) -> Any:
        with self._access.asking() as run:
            row = first(run(name, *values))
        return row[0] if row else None

    def _mac(self) -> Mac:
        if self._chain_mac is None:
            self._chain_mac = chain_mac(self.secret())
        return self._chain_mac


def _answered(reply: Reply | None) -> Reply:
    assert reply is not None
    return reply
