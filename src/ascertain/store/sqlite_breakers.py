"""Circuit breakers in an SQLite ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascertain.errors import LedgerCorrupt
from ascertain.model.breaker import BreakerRecord, Circuit
from ascertain.store.sqlite_file import LedgerFile, run


class SqliteBreakers:
    """The :class:`~ascertain.store.ledger.Breakers` of an SQLite ledger."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    def all(self) -> list[BreakerRecord]:
        """Every breaker that has ever opened, by name."""
        with self._file.reading() as db:
            return [_record(row) for row in run(db, "breakers")]

    def turn(self, before: BreakerRecord, after: BreakerRecord) -> BreakerRecord:
        """Write ``after`` if nobody has turned it since ``before``; returns how it stands then."""
        with self._file.transaction() as db:
            values = [*after[:1], str(after.circuit), *after[2:]]
            if run(db, "turn_breaker", *values, before.n).rowcount:
                return after
            rows = [_record(row) for row in run(db, "breakers")]
        return next(row for row in rows if row.name == after.name)


def _record(row: Sequence[Any]) -> BreakerRecord:
    try:
        return BreakerRecord(row[0], Circuit(row[1]), *row[2:])
    except ValueError:
        raise LedgerCorrupt(f"The breaker {row[0]} is {row[1]!r}, which is no word.") from None
