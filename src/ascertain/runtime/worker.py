"""The worker takes due actions by lease and drives the recovery flow; it has no own rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
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
from ascertain.runtime.recovery import InHand, Recovery
from ascertain.runtime.upkeep import HEARTBEAT_S, Upkeep
from ascertain.runtime.waking import Waking

IDLE_S = 1.0
LOOK_S = 0.5
BUSY_S = 0.05
HELD_S = 0.25
LEAST_S = 0.02
SOON_S = 0.002


class Freed:
    """How those who wait for room hear of it: when there is enough, or soon after there is any."""

    def __init__(self) -> None:
        self._event: asyncio.Event | None = None
        self._n = self._enough = 0

    async def wait(self, enough: int) -> None:
        """Wait until so many places are free, or some are and a moment has passed."""
        self._event, self._n, self._enough = asyncio.Event(), 0, max(1, enough)
        try:
            await asyncio.wait_for(self._event.wait(), IDLE_S)
        except TimeoutError:
            return
        finally:
            self._event = None

    def one(self) -> None:
        """One more place is free."""
        event = self._event
        if event is None:
            return
        self._n += 1
        if self._n >= self._enough:
            event.set()
        elif self._n == 1:
            asyncio.get_running_loop().call_later(SOON_S, event.set)

    def all(self) -> None:
        """Whoever waits need not wait any more."""
        if self._event is not None:
            self._event.set()


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
        self._waking = Waking()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = False
        self._upkeep = Upkeep(hands)
        self._look_at = 0.0
        self._gone: frozenset[str] = frozenset()
        self._after = ("", "")  # the tenant and tool that were served last
        self._held_until: float | None = None  # something is due, and its provider's rate used up
        self._running: set[asyncio.Task[None]] = set()
        self._freed = Freed()
        self.recovered = 0

    def poke(self, due_at: float) -> None:
        """Something falls due; called from any thread."""
        self._waking.poke(due_at)

    def stop(self) -> None:
        """Finish the actions in hand and stop; called from any thread, or from a signal."""
        self._stopping = True
        self.poke(0.0)
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # it has just stopped
                loop.call_soon_threadsafe(self._freed.all)

    async def run(self) -> None:
        """Work until stopped. What is in hand is finished before it returns."""
        self._loop = asyncio.get_running_loop()
        self._waking.begin()
        self._hands.poke = self.poke
        try:
            while not self._stopping:
                room = self._recovery.room(len(self._running), self._concurrency)
                taken = await self._take(room)
                for one in taken:
                    self._begin(asyncio.create_task(self._recover(one)))
                if self._plans is not None and room:
                    for task in await self._plans.begin():
                        self._begin(task)
                if len(taken) < room or not self._running:
                    await (self._sleep(bool(self._running)) if room else asyncio.sleep(BUSY_S))
                elif not self._stopping:
                    await self._freed.wait(self._concurrency // 4)
        finally:
            await self._finish()
            self._loop = None
            self._waking.end()

    async def _finish(self) -> None:
        """Let what is in hand end, and say that we do."""
        while self._running:
            await asyncio.wait(self._running, timeout=HEARTBEAT_S)
            await self._say(self._hands.ledger.heartbeat)
        await self._say(self._hands.ledger.fleet.end)

    async def _say(self, what: Callable[[str, float], None]) -> None:
        try:
            await self._offload(what, sender.me(), self._hands.clock())
        except LedgerClosed:
            return
        except LedgerError:
            log.exception("the worker could not say how it is")

    async def drain(self) -> int:
        """Recover everything that is due now, once; returns how many actions were taken.

        What has to wait for its provider's rate is waited for.
        """
        count = 0
        while True:
            taken = await self._take(max(1, self._recovery.room(0, self._concurrency)))
            await asyncio.gather(*(self._recover(one) for one in taken))
            plans = set[asyncio.Task[None]]()
            if self._plans is not None:
                plans = await self._plans.begin()
            if plans:
                await asyncio.wait(plans)
            if not taken and not plans and self._held_until is None:
                await self._finish()
                return count
            if not taken and self._held_until is not None:
                await asyncio.sleep(self._held_s())
            count += len(taken)

    def _begin(self, task: asyncio.Task[None]) -> None:
        self._running.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._freed.one()

    def _held_s(self) -> float:
        """How long nothing can be begun that is due, because a rate is used up."""
        until = self._held_until
        return 0.0 if until is None else min(HELD_S, max(LEAST_S, until - self._hands.clock()))

    async def _take(self, room: int) -> list[InHand]:
        if room <= 0:
            return []
        now = self._hands.clock()
        until = now + self._recovery.lease_s()
        try:
            gone = await self._offload(self._look_around, now)
            take = Take(
                owner=sender.me(), now=now, lease_until=until, limit=room, gone=gone,
                after=self._after, rates=self._hands.registry.rates,
            )  # fmt: skip
            reply = await commit_async(self._hands.committer, take)
        except LedgerClosed:
            self._stopping = True
            return []
        except LedgerError:
            log.exception("due actions could not be read; trying again")
            return []
        assert isinstance(reply, Taken)
        self._held_until = reply.again_at
        if not reply.records:
            return []
        self._after = (reply.records[-1].tenant, reply.records[-1].tool)
        found: list[InHand] = await self._offload(self._all_in_hand, reply.records)
        return found

    def _all_in_hand(self, records: tuple[ActionRecord, ...]) -> list[InHand]:
        """What is needed of the ledger to go on with these; read apart from the loop, at once."""
        return [self._recovery.in_hand(record, booked=True) for record in records]

    def _look_around(self, now: float) -> frozenset[str]:
        """Say that somebody is here, and see whose leases nobody will ever use again."""
        if now < self._look_at:
            return self._gone
        self._look_at = now + LOOK_S
        self._upkeep.look(now)
        self._gone = self._hands.inquire(self._hands.ledger.holders(now))
        return self._gone

    async def _recover(self, one: InHand) -> None:
        record = one.record
        try:
            await self._recovery.go_on(one)
        except Exception:
            # the lease runs out and the action is taken again: nothing is lost, and it is seen
            log.exception("%s: recovery of action %s broke", record.tool, record.id)
        else:
            self.recovered += 1

    async def _sleep(self, busy: bool) -> None:
        """Wait until something is due, somebody pokes, or a moment has passed."""
        try:
            next_due = await self._offload(self._next_due_at)
        except LedgerClosed:
            self._stopping = True
            return
        wait_s = IDLE_S if not busy else BUSY_S
        if self._held_until is not None:
            wait_s = self._held_s()
        elif next_due is not None:
            wait_s = min(wait_s, max(0.0, next_due - self._hands.clock()))
        if wait_s <= 0:
            return
        await self._waking.rest(self._hands.clock(), wait_s)
        self._waking.hear_all()

    def _next_due_at(self) -> float | None:
        ledger = self._hands.ledger
        due = [at for at in (ledger.next_due_at(), ledger.chains.next_due_at()) if at is not None]
        return min(due, default=None)

    @staticmethod
    async def _offload(function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, function, *args)
