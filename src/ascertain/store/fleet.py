"""What can be seen in a ledger of all who work on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascertain.model.fleet import Beat, Happened, OldUnknown, RateUse, ToolQueue
from ascertain.model.rate import Shared
from ascertain.rules.rate import pruned
from ascertain.store.access import Access
from ascertain.store.rates import usage_of


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
        open_ = {
            tool: ToolQueue(tool, due, leased, later, counts, due_at=due_at)
            for tool, due, leased, later, counts, due_at in self._rows("queue_due", now)
        }
        for tool, n in self._rows("queue_waiting"):
            open_[tool] = open_.get(tool, ToolQueue(tool))._replace(waiting=n)
        for tool, n in self._rows("queue_review"):
            open_[tool] = open_.get(tool, ToolQueue(tool))._replace(review=n)
        return [open_[tool] for tool in sorted(open_)]

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
