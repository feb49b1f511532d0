"""The worker takes due actions by lease and drives the recovery flow; it has no own rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ascertain.errors import LedgerClosed, LedgerError
from ascertain.model.action import ActionRecord
from ascertain.model.chain import ChainRecord
from ascertain.model.operations import Take, Taken
from ascertain.runtime import sender
from ascertain.runtime.aio_commit import commit_async
from ascertain.runtime.bodies import Bodies
from ascertain.runtime.hands import Hands, log
from ascertain.runtime.plans import Plans
from ascertain.runtime.recovery import Recovery
from ascertain.runtime.upkeep import Upkeep

IDLE_S = 1.0
LOOK_S = 0.5
BUSY_S = 0.05


class Worker:
    """Recovers open actions until it is told to stop.

    :param concurrency: how many actions are worked on at once.
    :param loop_of: the event loop on which async tools live, while it runs.
    :param resume: goes on with a chain whose steps are declared.
    """

    def __init__(
        self,
        hands: Hands,
        bodies: Bodies,
        *,
        concurrency: int = 64,
        loop_of: Callable[[], asyncio.AbstractEventLoop | None] = lambda: None,
        resume: Callable[[ChainRecord], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        self._hands = hands
        self._concurrency = concurrency
        self._recovery = Recovery(hands, bodies, loop_of=loop_of)
        self._plans = None if resume is None else Plans(hands, loop_of, resume)
        self._wake: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = False
        self._upkeep = Upkeep(hands)
        self._look_at = 0.0
        self._gone: frozenset[str] = frozenset()
        self._next_wake_at = float("inf")
        self.recovered = 0

    def poke(self, due_at: float) -> None:
        """Something falls due; called from any thread."""
        loop, wake = self._loop, self._wake
        if loop is None or wake is None or due_at >= self._next_wake_at:
            return
        try:
            loop.call_soon_threadsafe(wake.set)
        except RuntimeError:
            return  # it has just stopped; the next worker finds what is due by index

    def stop(self) -> None:
        """Finish the actions in hand and stop; called from any thread, or from a signal."""
        self._stopping = True
        self.poke(0.0)

    async def run(self) -> None:
        """Work until stopped. What is in hand is finished before it returns."""
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._hands.poke = self.poke
        running: set[asyncio.Task[None]] = set()
        try:
            while not self._stopping:
                room = self._recovery.room(len(running), self._concurrency)
                taken = await self._take(room)
                running |= {asyncio.create_task(self._recover(record)) for record in taken}
                if self._plans is not None and room:
                    running |= await self._plans.begin()
                if running and (taken or not room):
                    _, running = await asyncio.wait(
                        running, return_when=asyncio.FIRST_COMPLETED, timeout=IDLE_S
                    )
                    continue
                running = {task for task in running if not task.done()}
                await (self._sleep(bool(running)) if room else asyncio.sleep(BUSY_S))
        finally:
            if running:
                await asyncio.wait(running)
            self._loop = None

    async def drain(self) -> int:
        """Recover everything that is due now, once; returns how many actions were taken."""
        count = 0
        while True:
            taken = await self._take(max(1, self._recovery.room(0, self._concurrency)))
            await asyncio.gather(*(self._recover(record) for record in taken))
            plans = set[asyncio.Task[None]]()
            if self._plans is not None:
                plans = await self._plans.begin()
            if plans:
                await asyncio.wait(plans)
            if not taken and not plans:
                return count
            count += len(taken)

    async def _take(self, room: int) -> tuple[ActionRecord, ...]:
        if room <= 0:
            return ()
        now = self._hands.clock()
        until = now + self._recovery.lease_s()
        try:
            gone = await self._offload(self._look_around, now)
            take = Take(owner=sender.me(), now=now, lease_until=until, limit=room, gone=gone)
            reply = await commit_async(self._hands.committer, take)
        except LedgerClosed:
            self._stopping = True
            return ()
        except LedgerError:
            log.exception("due actions could not be read; trying again")
            return ()
        assert isinstance(reply, Taken)
        return reply.records

    def _look_around(self, now: float) -> frozenset[str]:
        """Say that somebody is here, and see whose leases nobody will ever use again."""
        if now < self._look_at:
            return self._gone
        self._look_at = now + LOOK_S
        self._upkeep.look(now)
        self._gone = self._hands.inquire(self._hands.ledger.holders(now))
        return self._gone

    async def _recover(self, record: ActionRecord) -> None:
        try:
            await self._recovery.drive(record)
        except Exception:
            # the lease runs out and the action is taken again: nothing is lost, and it is seen
            log.exception("%s: recovery of action %s broke", record.tool, record.id)
        else:
            self.recovered += 1

    async def _sleep(self, busy: bool) -> None:
        """Wait until something is due, somebody pokes, or a moment has passed."""
        assert self._wake is not None
        try:
            next_due = await self._offload(self._next_due_at)
        except LedgerClosed:
            self._stopping = True
            return
        wait_s = IDLE_S if not busy else BUSY_S
        if next_due is not None:
            wait_s = min(wait_s, max(0.0, next_due - self._hands.clock()))
        if wait_s <= 0:
            return
        self._next_wake_at = self._hands.clock() + wait_s
        try:
            await asyncio.wait_for(self._wake.wait(), wait_s)
        except TimeoutError:
            return
        finally:
            self._wake.clear()
            self._next_wake_at = float("inf")

    def _next_due_at(self) -> float | None:
        ledger = self._hands.ledger
        due = [at for at in (ledger.next_due_at(), ledger.chains.next_due_at()) if at is not None]
        return min(due, default=None)

    @staticmethod
    async def _offload(function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, function, *args)
