"""Circuit breakers in a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascertain.errors import LedgerCorrupt
from ascertain.model.breaker import BreakerRecord, Circuit
from ascertain.store.access import Access


class LedgerBreakers:
    """The :class:`~ascertain.store.ledger.Breakers` of a ledger."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def all(self) -> list[BreakerRecord]:
        """Every breaker that has ever opened, by name."""
        with self._access.asking() as run:
            return [_record(row) for row in run("breakers")]

    def turn(self, before: BreakerRecord, after: BreakerRecord) -> BreakerRecord:
        """Write ``after`` if nobody has turned it since ``before``; returns how it stands then."""
        with self._access.changing() as run:
            values = [*after[:1], str(after.circuit), *after[2:]]
            if run("turn_breaker", *values, before.n):
                return after
            rows = [_record(row) for row in run("breakers")]
        return next(row for row in rows if row.name == after.name)


def _record(row: Sequence[Any]) -> BreakerRecord:
    try:
        return BreakerRecord(row[0], Circuit(row[1]), *row[2:])
    except ValueError:
        raise LedgerCorrupt(f"The breaker {row[0]} is {row[1]!r}, which is no word.") from None
