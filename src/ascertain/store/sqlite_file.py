"""The file of an SQLite ledger: its connections, its schema, and what a fork does to them.

SQLite must not see a fork: a child that inherits an open database believes in locks that it does
not hold. So all connections are closed just before a fork; whoever needs one opens it again.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from ascertain.errors import LedgerClosed, LedgerCorrupt, LedgerError, LedgerLocked, LedgerNewer
from ascertain.store import secret as secrets
from ascertain.store.rule_rows import are_ours
from ascertain.store.sqlite_errors import ledger_error, typed
from ascertain.store.sqlite_queries import run
from ascertain.store.sqlite_schema import migrate, newest, schema_of

MAX_READERS = 8
_CACHED_STATEMENTS = 512
_CHECKPOINT_PAGES = 4000
_WAL_BYTES_KEPT = 64 * 1024 * 1024
_FIRST_PAUSE_S = 0.0002
_LONGEST_PAUSE_S = 0.004


class LedgerFile:
    """The connections to one file in this process: one that writes, a few that read."""

    def __init__(self, path: Path, *, secret: bytes | None, busy_timeout_s: float) -> None:
        self.path = path
        self._given_secret = secret
        self._busy_timeout_s = busy_timeout_s
        self._closed = False
        self._forked_open = False
        self._begin_anew()
        _all_files.add(self)

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()
        self._pool = threading.Condition()
        self._writer: sqlite3.Connection | None = None
        self._idle: list[sqlite3.Connection] = []
        self._lent = 0
        self._secret: bytes | None = None
        self.known_contracts: set[str] = set()

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """The connection that writes, for this thread alone; opens the ledger if need be."""
        with self._lock:
            yield self._open()

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """A connection that reads, for this thread alone."""
        if self._writer is None:
            with self._lock:
                self._open()
        db = self._borrow()
        try:
            with typed(self.path):
                yield db
        finally:
            with self._pool:
                self._lent -= 1
                self._idle.append(db)
                self._pool.notify()

    def secret(self) -> bytes:
        """The ledger's secret; opens the ledger if need be."""
        if self._secret is None:
            with self._lock:
                self._open()
        assert self._secret is not None
        return self._secret

    def begin(self, db: sqlite3.Connection, meanwhile: Callable[[], None] | None = None) -> None:
        """Begin a transaction that writes.

        Waits by itself: SQLite's own waiting soon sleeps for 0.1 s at a time, and a process that
        writes all the time would starve the others.

        :param meanwhile: called before each time that it waits.
        :raises LedgerLocked: somebody else held the file for the whole of the timeout.
        """
        if db.in_transaction:  # left by an interrupt that struck between two statements
            db.execute("ROLLBACK")
        give_up_at = time.monotonic() + self._busy_timeout_s
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                db.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                typed_error = ledger_error(error, self.path)
                if not isinstance(typed_error, LedgerLocked) or time.monotonic() >= give_up_at:
                    raise typed_error from error
            if meanwhile is not None:
                meanwhile()
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """A transaction of its own, for what does not come in batches."""
        with self.writing() as db, typed(self.path):
            self.begin(db)
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close all connections; idempotent. Readers at work finish first."""
        with self._lock, self._pool:
            self._closed = True
            self._pool.wait_for(lambda: self._lent == 0)
            self._close_all()

    # ------------------------------------------------------------------------------------ opening

    def _open(self) -> sqlite3.Connection:
        if self._closed:
            raise LedgerClosed(f"The ledger {self.path} has been closed.")
        if self._forked_open:
            raise LedgerError(
                f"This process was forked while the ledger {self.path} was at work.",
                next_step="Fork first, then use the ledger; or start processes by spawn.",
            )
        if self._writer is None:
            with typed(self.path):
                db = self._connect()
                try:
                    self._secret = self._prepare(db)
                except BaseException:
                    db.close()
                    raise
                self._writer = db
        return self._writer

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            self.path, timeout=self._busy_timeout_s, isolation_level=None,
            check_same_thread=False, cached_statements=_CACHED_STATEMENTS,
        )  # fmt: skip
        try:
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA temp_store = MEMORY")
            db.execute("PRAGMA secure_delete = OFF")
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: sqlite3.Connection) -> bytes:
        current = self._is_current(db)  # first of all: a foreign file is left as it is
        self._use_wal(db)
        if not current:
            self.begin(db)
            try:
                self._migrate(db)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        is_newer = schema_of(db, self.path) > newest()
        if not are_ours(run(db, "rules").fetchall(), is_newer=is_newer):
            raise LedgerCorrupt(
                f"The transition table in the ledger {self.path} is not the one of this release.",
                next_step="Use the release that wrote it; the table changes only by a migration.",
            )
        db.execute("PRAGMA busy_timeout = 0")  # from here on begin() waits
        return self._check_secret(db)

    def _use_wal(self, db: sqlite3.Connection) -> None:
        give_up_at = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            except sqlite3.OperationalError as error:
                # Several processes that begin a ledger together meet here; SQLite does not wait.
                busy = isinstance(ledger_error(error, self.path), LedgerLocked)
                if not busy or time.monotonic() >= give_up_at:
                    raise
                time.sleep(_LONGEST_PAUSE_S)
                continue
            if mode != "wal":
                raise LedgerError(
                    f"The file system of {self.path} cannot keep a write-ahead log (mode {mode}).",
                    next_step="Put the ledger on a local disk.",
                )
            break
        db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        db.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES_KEPT}")

    def _is_current(self, db: sqlite3.Connection) -> bool:
        schema, latest = schema_of(db, self.path), newest()
        if schema > latest:
            oldest = run(db, "get_meta", "oldest_writer").fetchone()
            if oldest is None or int(oldest[0]) > latest:
                raise LedgerNewer(
                    f"The ledger {self.path} has schema {schema}; this release knows up to "
                    f"{latest}."
                )
        return schema >= latest

    def _migrate(self, db: sqlite3.Connection) -> None:
        if self._is_current(db):  # somebody else was quicker
            return
        schema = schema_of(db, self.path)
        migrate(db, since=schema)
        if schema == 0:
            secret = self._given_secret or secrets.make_secret_file(self.path)
            run(db, "put_meta", "secret_id", secrets.secret_id(secret))

    def _check_secret(self, db: sqlite3.Connection) -> bytes:
        row = run(db, "get_meta", "secret_id").fetchone()
        if row is None:
            raise LedgerCorrupt(f"The ledger {self.path} does not say which secret it needs.")
        secret = self._given_secret or secrets.read_secret_file(self.path)
        secrets.check_secret(secret, row[0], self.path)
        return secret

    # ------------------------------------------------------------------------------------ readers

    def _borrow(self) -> sqlite3.Connection:
        with self._pool:
            self._pool.wait_for(lambda: self._lent < MAX_READERS)
            if self._closed:
                raise LedgerClosed(f"The ledger {self.path} has been closed.")
            self._lent += 1
            if self._idle:
                return self._idle.pop()
        try:
            with typed(self.path):
                db = self._connect()
                db.execute("PRAGMA query_only = ON")
                return db
        except BaseException:
            with self._pool:
                self._lent -= 1
                self._pool.notify()
            raise

    def _close_all(self) -> None:
        for db in (*self._idle, *((self._writer,) if self._writer else ())):
            db.close()
        self._idle, self._writer = [], None

    # --------------------------------------------------------------------------------------- fork

    def before_fork(self) -> Callable[[], None]:
        """Close everything and hold all locks over a fork; returns what lets them go."""
        has_lock = self._lock.acquire(timeout=self._busy_timeout_s + 1)
        has_pool = self._pool.acquire(timeout=self._busy_timeout_s + 1)
        if has_lock and has_pool and self._pool.wait_for(lambda: self._lent == 0, timeout=1):
            self._close_all()

        def release() -> None:
            if has_pool:
                self._pool.release()
            if has_lock:
                self._lock.release()

        return release

    def after_fork_in_child(self) -> None:
        """Begin anew. What could not be closed before the fork is never touched again."""
        inherited = [self._writer, *self._idle]
        if self._writer is not None or self._lent:
            self._forked_open = True
            _never_touched.extend(db for db in inherited if db is not None)
        self._begin_anew()


# ------------------------------------------------------------------------------------------- fork

_all_files: weakref.WeakSet[LedgerFile] = weakref.WeakSet()
_never_touched: list[sqlite3.Connection] = []
_releases: list[Callable[[], None]] = []


def _before_fork() -> None:
    _releases.extend(file.before_fork() for file in list(_all_files))


def _after_fork_in_parent() -> None:
    while _releases:
        _releases.pop()()


def _after_fork_in_child() -> None:
    _releases.clear()
    for file in list(_all_files):
        file.after_fork_in_child()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
