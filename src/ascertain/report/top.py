"""How a ledger stands at this moment: its queue, what became of calls, and who works on it.

Read from what is open and from the counts of the last minute; what is closed costs nothing. The
oldest unknown, leases and times are exact; what waits is counted up to a bound (see
:class:`~ascertain.store.ledger.Fleet`), and is marked where there is more.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from ascertain.model.breaker import BreakerRecord, Circuit
from ascertain.model.fleet import OldUnknown, RateUse, ToolQueue
from ascertain.model.rate import Speaker
from ascertain.report.words import iso
from ascertain.report.workers import Seen, workers
from ascertain.store.ledger import Ledger

LAST_S = 60.0
WHAT = ("confirmed", "rejected", "unknown", "recovered")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One tool: what waits, and what happened within the last minute."""

    queue: ToolQueue
    last: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        values = self.queue._asdict()
        values["due_at"] = iso(self.queue.due_at)
        return {**values, "last_minute": {what: self.last.get(what, 0) for what in WHAT}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """The whole page.

    :param others: leases of those who are no workers: callers in the middle of a call.
    """

    at: float
    url: str
    tools: tuple[Row, ...]
    oldest: OldUnknown | None
    rates: tuple[RateUse, ...]
    breakers: tuple[BreakerRecord, ...]
    workers: tuple[Seen, ...]
    others: int

    def total(self, what: str) -> int:
        """Of all tools together; a bound where it :meth:`is_bound`."""
        return sum(getattr(row.queue, what) for row in self.tools)

    def is_bound(self, what: str) -> bool:
        """Whether there may be more of it than is told."""
        return any(what in row.queue.at_least for row in self.tools)

    @property
    def due_at(self) -> float | None:
        """Since when the oldest of all that is due has been so."""
        return min((r.queue.due_at for r in self.tools if r.queue.due_at is not None), default=None)

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        counted = ("due", "leased", "later", "counts", "waiting", "review")
        oldest = self.oldest
        return {
            "at": iso(self.at),
            "ledger": self.url,
            "queue": {what: self.total(what) for what in counted} | {
                "due_at": iso(self.due_at),
                "at_least": [what for what in counted if self.is_bound(what)],
            },
            "oldest_unknown": None if oldest is None else {
                "action": oldest.action_id, "tool": oldest.tool, "sent_at": iso(oldest.sent_at),
                "age_s": round(self.at - oldest.sent_at, 3), "review": oldest.review,
            },
            "tools": [row.as_dict() for row in self.tools],
            "rates": [_rate(one) for one in self.rates],
            "breakers": [
                {"name": one.name, "circuit": str(one.circuit), "why": one.why}
                for one in self.breakers
            ],
            "workers": [one.as_dict() for one in self.workers],
            "leased_by_callers": self.others,
        }  # fmt: skip


def look(ledger: Ledger, now: float) -> Top:
    """Look at a ledger.

    :raises LedgerError: it cannot be read.
    """
    fleet = ledger.fleet
    last: dict[str, dict[str, int]] = defaultdict(dict)
    for one in fleet.happened(now - LAST_S):
        last[one.tool][one.what] = one.n
    queues = {queue.tool: queue for queue in fleet.queues(now)}
    tools = sorted({*queues, *last})
    leases = fleet.leases(now)
    seen = workers(fleet.workers(), leases, now)
    return Top(
        at=now,
        url=ledger.url,
        tools=tuple(Row(queue=queues.get(t) or ToolQueue(t), last=last[t]) for t in tools),
        oldest=fleet.oldest_unknown(),
        rates=tuple(fleet.rates(now)),
        breakers=tuple(b for b in ledger.breakers.all() if b.circuit is not Circuit.CLOSED),
        workers=seen,
        others=sum(leases.values()) - sum(one.leases for one in seen),
    )


def used(one: RateUse, by: Speaker) -> int:
    """How many turns of a rate are taken by callers, or by workers."""
    held = sum(o.n for o in one.usage.open if o.ticket.by is by)
    return held + sum(c.n for c in one.usage.cooling if c.by is by)


def _rate(one: RateUse) -> dict[str, Any]:
    return {
        "name": one.rate.name, "limit": one.rate.limit, "window_s": one.rate.window_s,
        "used_by_callers": used(one, Speaker.CALLER), "used_by_workers": used(one, Speaker.WORKER),
    }  # fmt: skip
