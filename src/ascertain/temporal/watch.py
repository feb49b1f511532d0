"""Sees in the ledger what is open, and has a workflow for each of it.

It reads; it leases nothing and decides nothing. Any number may look at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

from ascertain.model.action import ActionRecord
from ascertain.model.chain import ChainRecord
from ascertain.runtime.plans import Plans
from ascertain.runtime.recovering import Recovers
from ascertain.runtime.recovery import apart
from ascertain.runtime.upkeep import Upkeep
from ascertain.store.ledger import Filter
from ascertain.temporal.starting import Starter

SWEEP_S = 5.0
AGAIN_S = 10.0
FORGET_S = 300.0
PAGE = 1000
AT_ONCE = 16


class Watch:
    """Looks again and again; what it remembers only spares it from saying the same thing twice."""

    def __init__(self, app: Recovers, starter: Starter) -> None:
        self._hands = app.hands
        self._starter = starter
        self._upkeep = Upkeep(app.hands)
        self._plans = Plans(app.hands, lambda: None, self._drive_chain)
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._started: dict[str, float] = {}  # id: when, by the monotonic clock
        self._poked: dict[str, tuple[float | None, float]] = {}  # id: what was due, when
        self._sweep_at = 0.0

    async def look(self) -> None:
        """Look once: what is due is poked, what is open gets a workflow.

        :raises LedgerError: the ledger could not be read. :raises RPCError: Temporal is not there.
        """
        now, clock = self._hands.clock(), time.monotonic()
        await apart(self._upkeep.look, now)
        due = await apart(self._hands.ledger.due, now)
        await self._start((record for record in due if self._is_news(record, clock)), poke=True)
        if clock >= self._sweep_at:
            await self._sweep(now, clock)
            self._sweep_at = clock + SWEEP_S
        for task in await self._plans.begin():
            await task

    async def rest_s(self, most_s: float) -> float:
        """How long nothing falls due, at most so long. What is due already has been told."""
        due_at = await apart(self._hands.ledger.next_due_at)
        left_s = most_s if due_at is None else due_at - self._hands.clock()
        return left_s if 0 < left_s < most_s else most_s

    async def _sweep(self, now: float, clock: float) -> None:
        """All that is open, due or not: an action that waits for a person has a workflow too."""
        waiting = {record.id: record for record in await apart(self._open)}
        new = [
            record
            for record in waiting.values()
            if record.id not in self._started and not self._in_hand(record, now)
        ]
        await self._start(new, poke=False)
        for action, at in list(self._started.items()):
            if clock - at > FORGET_S:
                del self._started[action]
            elif action not in waiting and action not in self._poked:
                del self._started[action]
                await self._starter.look(action)  # it was settled by somebody else
        self._poked = {
            name: seen for name, seen in self._poked.items() if clock - seen[1] < AGAIN_S
        }

    def _open(self) -> list[ActionRecord]:
        found: list[ActionRecord] = []
        for query in (Filter(open_only=True, limit=PAGE), Filter(review_only=True, limit=PAGE)):
            page = self._hands.ledger.find(query)
            found += page
            while len(page) == PAGE:
                page = self._hands.ledger.find(query._replace(before_id=page[-1].id))
                found += page
        return found

    def _in_hand(self, record: ActionRecord, now: float) -> bool:
        """Its caller, or a worker, is at it."""
        owner = record.lease_owner
        if owner is None or (record.lease_until or 0.0) <= now:
            return False
        return not self._hands.inquire((owner,))

    def _is_news(self, record: ActionRecord, clock: float) -> bool:
        due_at, at = self._poked.get(record.id, (None, 0.0))
        return due_at != record.due_at or clock - at >= AGAIN_S

    async def _start(self, records: Iterable[ActionRecord], *, poke: bool) -> None:
        await asyncio.gather(*(self._start_one(record, poke=poke) for record in records))

    async def _start_one(self, record: ActionRecord, *, poke: bool) -> None:
        async with self._gate:
            await self._starter.reconcile(record, poke=poke)
        clock = time.monotonic()
        self._started[record.id] = clock
        if poke:
            self._poked[record.id] = (record.due_at, clock)

    async def _drive_chain(self, record: ChainRecord) -> None:
        await self._starter.chain(record)
