"""The :class:`~ascertain.store.access.Access` to the file of an SQLite ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from ascertain.store.access import Run
from ascertain.store.sqlite_file import LedgerFile
from ascertain.store.sqlite_queries import run


def asking(db: sqlite3.Connection) -> Run:
    """All rows of named queries, on this connection."""

    def ask(name: str, *values: object) -> list[tuple[Any, ...]]:
        return run(db, name, *values).fetchall()

    return ask


class SqliteAccess:
    """By named queries; SQLite lets one writer in at a time, whatever it names."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    @contextmanager
    def asking(self) -> Generator[Run]:
        """Queries that read."""
        with self._file.reading() as db:
            yield asking(db)

    @contextmanager
    def one_moment(self) -> Generator[Run]:
        """The same, where all that is read must be of one moment."""
        with self._file.reading() as db:
            db.execute("BEGIN")
            try:
                yield asking(db)
            finally:
                if db.in_transaction:
                    db.execute("COMMIT")

    @contextmanager
    def changing(self, *names: str) -> Generator[Run]:
        """A transaction of its own."""
        del names
        with self._file.transaction() as db:
            yield asking(db)

    @contextmanager
    def erasing(self) -> Generator[Run]:
        """The same, where what is deleted must be gone from the file's pages too."""
        with self._file.transaction() as db:
            db.execute("PRAGMA secure_delete = ON")
            try:
                yield asking(db)
            finally:
                db.execute("PRAGMA secure_delete = OFF")
