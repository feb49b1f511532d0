"""The ledger in one SQLite file, shared by any number of threads and processes of one host."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ascertain.errors import LedgerError, LedgerFull
from ascertain.model.action import ActionRecord, EventRecord
from ascertain.rules.mac import Mac
from ascertain.store.breakers import LedgerBreakers
from ascertain.store.chain_reads import LedgerChains
from ascertain.store.contexts import LedgerContexts
from ascertain.store.ledger import (
    Advanced,
    Breakers,
    Filter,
    Operation,
    Reply,
    Reserved,
    Taken,
    Vitals,
)
from ascertain.store.place import path_of
from ascertain.store.rows import to_record
from ascertain.store.seal import chain_mac
from ascertain.store.secret import given_secret
from ascertain.store.sqlite_access import SqliteAccess
from ascertain.store.sqlite_batch import Batch, Prepared, prepare_all
from ascertain.store.sqlite_errors import free_bytes, ledger_error, typed
from ascertain.store.sqlite_file import LedgerFile, run
from ascertain.store.sqlite_vitals import vitals
from ascertain.store.upkeep import bury, verify

FREE_SPACE_FLOOR_BYTES = 16 * 1024 * 1024
_LOOK_AT_SPACE_EVERY_S = 1.0
_BEATS_KEPT_S = 24 * 3600.0
_AFTER_ALL_IDS = "~"
_OPEN_STATES = frozenset({"prepared", "sent", "unknown"})

Work = list[tuple[int, Prepared]]


class SqliteLedger:
    """The :class:`~ascertain.store.ledger.Ledger` in an SQLite file (WAL, ``synchronous=FULL``).

    Opened when it is first used. Safe to use from any thread, and by parent and child after a fork.

    :param url_or_path: ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or a path.
    :param secret: 16 bytes or more; else ``ASCERTAIN_SECRET``, else the file ``<ledger>.secret``.
    :param busy_timeout_s: how long to wait for another process that writes.
    :param free_space_floor_bytes: with less free space nothing new is begun, while outcomes are
        still written; 0: no floor.
    :raises WeakKey: the secret is too short.
    """

    def __init__(
        self,
        url_or_path: str | Path,
        *,
        secret: bytes | None = None,
        busy_timeout_s: float = 5.0,
        free_space_floor_bytes: int = FREE_SPACE_FLOOR_BYTES,
    ) -> None:
        self.path = path_of(url_or_path).absolute()  # wherever this process goes later
        self.url = f"sqlite:///{self.path}"
        self._file = LedgerFile(
            self.path, secret=given_secret(secret), busy_timeout_s=busy_timeout_s
        )
        self._access = SqliteAccess(self._file)
        self.breakers: Breakers = LedgerBreakers(self._access)
        self._floor_bytes = free_space_floor_bytes
        self._space_known_until = 0.0
        self._has_room = True
        self._chain_mac: Mac | None = None
        self.chains = LedgerChains(self._access)
        self.contexts = LedgerContexts(self._access)

    # ------------------------------------------------------------------------------------ writing

    def submit(self, operations: Sequence[Operation]) -> list[Reply]:
        """Write all in one durable transaction; an operation's own failure is its reply.

        :raises LedgerError: when nothing could be written at all (and nothing was).
        """
        mac = self._mac()
        replies: list[Reply | None] = [None] * len(operations)
        work = prepare_all(mac, operations, replies)
        if work:
            with self._file.writing() as db:
                self._write(db, work, replies)
        return [_answered(reply) for reply in replies]

    def _write(self, db: sqlite3.Connection, work: Work, replies: list[Reply | None]) -> None:
        self._file.begin(db)
        error = self._transact(db, work, replies)
        if error is None:
            return
        if isinstance(error, LedgerFull):
            _make_room(db)
            work = sorted(work, key=lambda item: item[1].starts)  # outcomes first
        elif len(work) == 1:
            replies[work[0][0]] = error
            return
        for done, item in enumerate(work):
            try:
                self._file.begin(db)
            except LedgerError as outage:
                if not done:
                    raise
                for place, _ in work[done:]:
                    replies[place] = outage
                return
            replies[item[0]] = self._transact(db, [item], replies) or replies[item[0]]

    def _transact(
        self, db: sqlite3.Connection, work: Work, replies: list[Reply | None]
    ) -> Exception | None:
        """Write these in the transaction that has begun; on an error nothing of it is written."""
        batch = Batch(db, self._file.known_contracts, may_start=self._room())
        try:
            batch.look(work)
            for place, prepared in work:
                replies[place] = batch.write(prepared)
            batch.flush()
        except Exception as error:
            _roll_back(db)
            return self._typed(error)
        except BaseException:
            _roll_back(db)
            raise
        try:
            self._commit(db)
        except sqlite3.Error as error:
            _roll_back(db)
            with typed(self.path):
                if not _is_written(db, work, replies):
                    return self._typed(error)
        self._file.known_contracts.update(batch.new_contracts)
        return None

    def _commit(self, db: sqlite3.Connection) -> None:
        db.execute("COMMIT")

    def _typed(self, error: Exception) -> Exception:
        return ledger_error(error, self.path) if isinstance(error, sqlite3.Error) else error

    def _room(self) -> bool:
        """Whether anything new may be begun; looks at the disk once a second at most."""
        now = time.monotonic()
        if now >= self._space_known_until:
            free = free_bytes(self.path)
            self._has_room = free is None or free >= self._floor_bytes
            self._space_known_until = now + _LOOK_AT_SPACE_EVERY_S
        return self._has_room

    # ------------------------------------------------------------------------------------ reading

    def get(self, action_id: str) -> ActionRecord | None:
        """The action as it stands, or None."""
        with self._file.reading() as db:
            row = run(db, "by_id", action_id).fetchone()
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
        with self._file.reading() as db:
            rows = run(db, name, *select, *flags, *page).fetchall()
        return [to_record(row) for row in rows]

    def events(self, action_id: str) -> list[EventRecord]:
        """What happened to the action, oldest first; empty for a tombstone."""
        with self._file.reading() as db:
            rows = run(db, "events_of", action_id).fetchall()
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

    def holders(self, now: float) -> list[str]:
        """Whose leases hold right now."""
        with self._file.reading() as db:
            return [owner for (owner,) in run(db, "holders", now)]

    def counts(self) -> dict[str, int]:
        """Open actions by state, plus ``review`` and ``disputed``; cost grows with what is open."""
        with self._file.reading() as db:
            counts: dict[str, int] = dict(run(db, "count_open").fetchall())
            review, disputed = run(db, "count_review").fetchone()
        return {**counts, "review": review, "disputed": disputed}

    def last_heartbeat(self) -> float | None:
        """When a worker was last seen; None: never, or not for a day."""
        at: float | None = self._one("last_beat")
        return at

    def secret(self) -> bytes:
        """The key of intents and of the chain; lies outside the database."""
        return self._file.secret()

    # --------------------------------------------------------------------------------- upkeep

    def verify(self, action_id: str | None = None) -> Iterator[str]:
        """Check the hash chains; yields one sentence per thing that does not hold."""
        return verify(self._access, self._mac(), action_id)

    def bury(self, *, closed_before: float, limit: int = 1000) -> int:
        """Reduce closed actions to tombstones (identity, state, reference); returns how many.

        What does not verify is left as it is, and so is what is disputed or under review.
        """
        return bury(self._access, self._mac(), closed_before, limit)

    def vitals(self) -> Vitals:
        """How it stands, for operators. Changes nothing, and reads no action."""
        return vitals(self._file)

    def heartbeat(self, owner: str, now: float) -> None:
        """A worker says that it is alive."""
        with self._file.transaction() as db:
            run(db, "beat", owner, now)
            run(db, "forget_beats", now - _BEATS_KEPT_S)

    def close(self) -> None:
        """Close all handles of this process; idempotent."""
        self._file.close()

    def _payload(self, action_id: str, what: str) -> str | None:
        body: str | None = self._one("payload_of", action_id, what)
        return body

    def _one(self, name: str, *values: object) -> Any:
        with self._file.reading() as db:
            row = run(db, name, *values).fetchone()
        return row[0] if row else None

    def _mac(self) -> Mac:
        if self._chain_mac is None:
            self._chain_mac = chain_mac(self._file.secret())
        return self._chain_mac


def _roll_back(db: sqlite3.Connection) -> None:
    if db.in_transaction:
        db.execute("ROLLBACK")


def _make_room(db: sqlite3.Connection) -> None:
    """Give the space of the write-ahead log back to the disk, if nobody reads from it just now."""
    with contextlib.suppress(sqlite3.Error):  # it was full before, and is still
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _is_written(db: sqlite3.Connection, work: Work, replies: Sequence[Reply | None]) -> bool:
    """Whether a transaction whose COMMIT gave an error is in the ledger all the same.

    Events tell by their hash. Leases and schedules have none: the row tells, if nobody has changed
    it since.
    """
    for place, prepared in reversed(work):
        reply = replies[place]
        if isinstance(reply, Taken) and reply.records:
            record = reply.records[-1]
        elif isinstance(reply, Advanced) or (isinstance(reply, Reserved) and reply.via == "new"):
            record = reply.record
        else:
            continue
        if prepared.events:
            found = run(db, "has_event", record.id, record.n, record.head).fetchone()
            return found is not None
        row = run(db, "by_id", record.id).fetchone()
        return row is not None and to_record(row) == record
    return False


def _answered(reply: Reply | None) -> Reply:
    assert reply is not None
    return reply
