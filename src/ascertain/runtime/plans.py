"""The worker's look at chains whose steps are declared: it goes on with what is left to start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ascertain.errors import LedgerClosed, LedgerError
from ascertain.model.chain import ChainRecord, TakeChains
from ascertain.model.operations import Told
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
