"""What can be seen in a ledger of all who work on it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from ascertain.model.fleet import Beat, Happened, OldUnknown, RateUse, ToolQueue
from ascertain.model.rate import Shared
from ascertain.rules.rate import pruned
from ascertain.store.access import Access
from ascertain.store.rates import usage_of

COUNTED = 50_000
"""Of what waits so many of a tenant and tool are counted, and no more are read."""


class LedgerFleet:
    """The :class:`~ascertain.store.ledger.Fleet` of a ledger."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def workers(self) -> list[Beat]:
        """The last sign of life of each worker that was seen within a day, newest first."""
        return [Beat(*row) for row in self._rows("beats")]

    def leases(self, now: float) -> dict[str, int]:
        """How many actions each owner is at work on."""
        return dict(self._rows("leases_of", now))

    def queues(self, now: float) -> list[ToolQueue]:
        """What waits, by tool."""
        sums: dict[str, _Sum] = defaultdict(_Sum)
        for tool, due_at, due, later in self._rows("queue_due", now, COUNTED):
            sums[tool].add_due(due_at, *map(int, due.split()))
            sums[tool].add_later(*map(int, later.split()))
        for tool, n in self._rows("queue_waiting", COUNTED):
            sums[tool].add("waiting", n, n)
        for tool, n in self._rows("queue_review", COUNTED):
            sums[tool].add("review", n, n)
        return [sums[tool].queue(tool) for tool in sorted(sums)]

    def oldest_unknown(self) -> OldUnknown | None:
        """The action that has been unknown for longest."""
        rows = self._rows("oldest_unknown")
        return OldUnknown(*rows[0]) if rows else None

    def happened(self, since: float) -> list[Happened]:
        """What happened from that second on, by tool."""
        return [Happened(*row) for row in self._rows("tallies", int(since))]

    def rates(self, now: float) -> list[RateUse]:
        """Every provider's rate that was ever used, by name."""
        return [
            RateUse(Shared(name, most, window_s), pruned(usage_of(usage), now))
            for name, most, window_s, usage in self._rows("rates")
        ]

    def end(self, owner: str, now: float) -> None:
        """A worker says that it ends."""
        with self._access.changing() as run:
            run("end_beat", owner, now)

    def _rows(self, name: str, *values: object) -> Sequence[Any]:
        with self._access.asking() as run:
            return run(name, *values)


class _Sum:
    """What waits of one tool, of all tenants together."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._at_least = set[str]()
        self._due_at: float | None = None

    def add_due(self, due_at: float | None, read: int, leased: int) -> None:
        if due_at is not None:
            self._due_at = due_at if self._due_at is None else min(self._due_at, due_at)
        self.add("due", read - leased, read)
        self.add("leased", leased, read)

    def add_later(self, read: int, leased: int, counts: int) -> None:
        self.add("leased", leased, read)
        self.add("counts", counts, read)
        self.add("later", read - leased - counts, read)

    def add(self, what: str, n: int, read: int) -> None:
        """So many, where so many were read for it."""
        self._counts[what] += n
        if read >= COUNTED:
            self._at_least.add(what)

    def queue(self, tool: str) -> ToolQueue:
        at_least = tuple(sorted(self._at_least))
        return ToolQueue(tool, due_at=self._due_at, at_least=at_least, **self._counts)
