"""The ledger in one SQLite file, shared by any number of threads and processes of one host."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from ascertain.store.access import Run
from ascertain.store.batch import Batch
from ascertain.store.ledger import Reply, Vitals
from ascertain.store.place import path_of
from ascertain.store.secret import given_secret
from ascertain.store.sql_ledger import Meanwhile, SqlLedger
from ascertain.store.sqlite_access import SqliteAccess, asking
from ascertain.store.sqlite_batch import SqliteBatch, SqliteForms
from ascertain.store.sqlite_errors import free_bytes, ledger_error
from ascertain.store.sqlite_file import LedgerFile
from ascertain.store.sqlite_vitals import vitals

FREE_SPACE_FLOOR_BYTES = 16 * 1024 * 1024
_LOOK_AT_SPACE_EVERY_S = 1.0


class SqliteLedger(SqlLedger[sqlite3.Connection]):
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
        self._file = LedgerFile(
            self.path, secret=given_secret(secret), busy_timeout_s=busy_timeout_s
        )
        super().__init__(f"sqlite:///{self.path}", SqliteAccess(self._file), SqliteForms())
        self._floor_bytes = free_space_floor_bytes
        self._space_known_until = 0.0
        self._has_room = True

    def secret(self) -> bytes:
        """The key of intents and of the chain; lies outside the database."""
        return self._file.secret()

    def now(self) -> None:
        """All who use the file are on its host, and share that host's clock."""

    def vitals(self) -> Vitals:
        """How it stands, for operators. Changes nothing, and reads no action."""
        return vitals(self._file)

    def _close(self) -> None:
        """Close all handles of this process; idempotent."""
        self._file.close()

    def _writing(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._file.writing()

    def _begin(self, db: sqlite3.Connection, meanwhile: Meanwhile = None) -> None:
        self._file.begin(db, meanwhile)

    def _commit(self, db: sqlite3.Connection) -> None:
        db.execute("COMMIT")

    def _roll_back(self, db: sqlite3.Connection) -> None:
        if db.in_transaction:
            db.execute("ROLLBACK")

    def _batch(self, db: sqlite3.Connection) -> SqliteBatch:
        return SqliteBatch(db, self._file.known_contracts, may_start=self._room())

    def _asking(self, db: sqlite3.Connection) -> Run:
        return asking(db)

    def _wrote(self, batch: Batch, replies: Sequence[Reply | None]) -> None:
        del replies
        self._file.known_contracts.update(batch.new_contracts)

    def _make_room(self, db: sqlite3.Connection) -> None:
        """Give the space of the write-ahead log back to the disk, if nobody reads from it now."""
        with contextlib.suppress(sqlite3.Error):  # it was full before, and is still
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

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
