"""The worker's look at chains: it goes on with declared steps that are left to start.

Where the code is the plan nobody else can go on: what was left by its code, and is not run again,
becomes a person's case.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, assert_never

from ascertain.errors import LedgerClosed, LedgerError
from ascertain.model.chain import (
    Around,
    ChainRecord,
    EndChain,
    Leaves,
    ScheduleChain,
    TakeChains,
    TurnChain,
)
from ascertain.model.operations import Operation, Told
from ascertain.rules.chain import advance_of
from ascertain.rules.left import LeftWhat, judge_left, left_case
from ascertain.runtime import sender
from ascertain.runtime.aio_commit import commit_async
from ascertain.runtime.hands import Hands, log

Resume = Callable[[ChainRecord], Coroutine[Any, Any, None]]


class Plans:
    """Takes chains that are due, or whose runner is gone, and goes on with them."""

    def __init__(
        self, hands: Hands, loop_of: Callable[[], asyncio.AbstractEventLoop | None], resume: Resume
    ) -> None:
        self._hands = hands
        self._loop_of = loop_of
        self._resume = resume

    async def begin(self) -> set[asyncio.Task[None]]:
        """Begin with all that are due now; nothing is written where none is."""
        try:
            take = await asyncio.get_running_loop().run_in_executor(None, self._due)
            reply = None if take is None else await commit_async(self._hands.committer, take)
        except LedgerClosed:
            return set()
        except LedgerError:
            log.exception("chains that are due could not be read; trying again")
            return set()
        if reply is None:
            return set()
        assert isinstance(reply, Told)
        return {asyncio.create_task(self._go_on(record)) for record in reply.value}

    def _due(self) -> TakeChains | None:
        chains, now = self._hands.ledger.chains, self._hands.clock()
        at = chains.next_due_at()
        if at is None:
            return None
        gone = self._hands.inquire(chains.owners()) if at > now else frozenset[str]()
        if at > now and not gone:
            return None
        longest = max((e.contract.budget.turn_s for e in self._hands.registry), default=8.0)
        until = now + longest + self._hands.lease_s
        return TakeChains(owner=sender.me(), now=now, until=until, gone=gone)

    async def _go_on(self, record: ChainRecord) -> None:
        if not record.plan:
            await self._look(record)
            return
        home = self._loop_of()
        try:
            if home is None or home is asyncio.get_running_loop() or home.is_closed():
                await self._resume(record)
                return
            future = asyncio.run_coroutine_threadsafe(self._resume(record), home)
            await asyncio.wrap_future(future)
        except Exception:
            # it falls due again: nothing is lost, and it is seen
            log.exception("the chain %s (%s) could not be gone on with", record.id, record.name)

    async def _look(self, record: ChainRecord) -> None:
        """A chain whose code has not come to its end: wait, end it as it would have, or ask."""
        try:
            loop = asyncio.get_running_loop()
            operation = await loop.run_in_executor(None, self._left, record)
            await commit_async(self._hands.committer, operation)
        except LedgerClosed:
            return
        except LedgerError:
            log.exception("the chain %s (%s) could not be looked at", record.id, record.name)

    def _left(self, record: ChainRecord) -> Operation:
        hands, now = self._hands, self._hands.clock()
        around = hands.ledger.chains.around(record.id) or Around(record)
        gone = not record.owner or bool(hands.inquire((record.owner,)))
        found = judge_left(around, now, gone=gone, left_s=hands.chain_left_s)
        match found.what:
            case LeftWhat.WAIT:
                return ScheduleChain(chain=record.id, due_at=found.until)
            case LeftWhat.END:
                return EndChain(chain=record.id)
            case LeftWhat.TURN:
                return TurnChain(chain=record.id, reason=found.reason, now=now)
            case LeftWhat.CASE:
                assert found.record is not None
                leaves = (Leaves(chain=record.id, due_at=record.due_at or 0.0),)
                move = left_case(found.record, around, now=now)
                return advance_of(found.record, move, None, leaves)
            case _:
                assert_never(found.what)
