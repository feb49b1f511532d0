"""Chains as an SQLite ledger shows them."""

from __future__ import annotations

import sqlite3
from typing import Any

from ascertain.model.chain import Around, ChainRecord
from ascertain.store.chains import around_of, chain_of, to_chain
from ascertain.store.sqlite_file import LedgerFile, run


class SqliteChains:
    """The :class:`~ascertain.store.ledger.Chains` of an SQLite file."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    def get(self, chain: str) -> ChainRecord | None:
        """The chain as it stands, or None."""
        with self._file.reading() as db:
            return chain_of(_asking(db), chain)

    def around(self, chain: str) -> Around | None:
        """The chain with its members and their actions; cost: what is in it."""
        with self._file.reading() as db:
            return around_of(_asking(db), chain)

    def of_session(self, session: str, tenant: str) -> list[ChainRecord]:
        """The chains of a session, oldest first."""
        with self._file.reading() as db:
            return [to_chain(row) for row in run(db, "chains_of_session", session, tenant)]

    def recent(self, *, before: float, limit: int = 100) -> list[ChainRecord]:
        """Chains opened before a moment, newest first."""
        with self._file.reading() as db:
            return [to_chain(row) for row in run(db, "chains_before", before, limit)]

    def owners(self) -> list[str]:
        """Who works on plans that have something left to start."""
        with self._file.reading() as db:
            return [owner for (owner,) in run(db, "chain_owners")]

    def next_due_at(self) -> float | None:
        """When the plan of a chain is looked at next; None: no plan has anything left to start."""
        with self._file.reading() as db:
            at: float | None = run(db, "next_chain_due").fetchone()[0]
        return at


def _asking(db: sqlite3.Connection) -> Any:
    def ask(name: str, *values: object) -> list[tuple[Any, ...]]:
        return run(db, name, *values).fetchall()

    return ask
