"""How SQLite writes the rows of a batch."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ascertain.model.action import ActionRecord
from ascertain.store.batch import Batch
from ascertain.store.rows import RowStatement, Values, plain
from ascertain.store.seal import EventRow
from ascertain.store.sqlite_access import asking
from ascertain.store.sqlite_queries import QUERIES, insert_many

_INSERT = RowStatement(QUERIES["insert_action"])
_ADVANCE = RowStatement(QUERIES["advance"], "before_n", "before_fence")

Statement = tuple[str, Values]


class SqliteForms:
    """Statements whose text says where the values are NULL."""

    def insert(self, record: ActionRecord) -> Statement:
        """A row to insert."""
        return _INSERT.bind(plain(record))

    def advance(self, before: ActionRecord, record: ActionRecord) -> Statement:
        """A row to change, if it still stands as it did before."""
        values = plain(record)
        values += (before.n, before.fence)
        return _ADVANCE.bind(values, final_changes=before.final != record.final)


class SqliteBatch(Batch):
    """Statement by statement: there is no way between us and the database."""

    def __init__(
        self, db: sqlite3.Connection, known_contracts: set[str], *, may_start: bool
    ) -> None:
        super().__init__(asking(db), known_contracts, may_start=may_start)
        self._db = db

    def _insert(self, statement: Statement) -> bool:
        return bool(self._db.execute(*statement).rowcount)

    _change = _insert

    def _lease(self, leases: Sequence[Values]) -> None:
        for lease in leases:
            self._run("lease", *lease)

    def _put_events(self, rows: Sequence[EventRow]) -> None:
        insert_many(self._db, "insert_event", rows)

    def _put_payloads(self, rows: Sequence[Values]) -> None:
        insert_many(self._db, "put_payload", rows)
