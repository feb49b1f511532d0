"""The part of an app that has open actions taken up: by a worker, an engine, or here and now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ascertain.rules.plan import plan_from_json

if TYPE_CHECKING:
    import asyncio

    from ascertain.model.chain import ChainRecord
    from ascertain.runtime.calls import Calls
    from ascertain.runtime.desk import Desk
    from ascertain.runtime.hands import Hands
    from ascertain.runtime.plan import PlannedChain
    from ascertain.runtime.recovery import Recovery
    from ascertain.runtime.worker import Worker


class Works(Protocol):
    """What recovers open actions until it is told to stop."""

    @property
    def recovered(self) -> int:
        """How many actions it has taken up."""
        ...

    async def run(self) -> None:
        """Work until stopped. What is in hand is finished before it returns."""
        ...

    async def drain(self) -> int:
        """Recover everything that is due now, once; returns how many actions were taken."""
        ...

    def stop(self) -> None:
        """Finish what is in hand and stop; called from any thread, or from a signal."""
        ...


class Engine(Protocol):
    """A durable engine that says when open actions are taken up, instead of the ledger's worker.

    :ivar embedded: whether a worker of it runs in the process that makes the calls.
    """

    embedded: bool

    def works(self, app: Recovers, concurrency: int) -> Works:
        """A worker with the app's tools, of which ``concurrency`` run at once."""
        ...


class Recovers:
    """Recovery."""

    url: str
    hands: Hands
    _calls: Calls
    _desk: Desk
    _engine: Engine | None
    _loop: asyncio.AbstractEventLoop | None
    _worker: Works | None

    def make_worker(self, *, concurrency: int = 64) -> Works:
        """A worker with this app's tools; the engine's, where the app has one."""
        engine = self._engine
        if engine is None:
            self._worker = self.own_worker(concurrency)
        else:
            self._worker = engine.works(self, concurrency)
        return self._worker

    def own_worker(self, concurrency: int = 64) -> Worker:
        """A worker that needs nothing but the ledger."""
        from ascertain.runtime.worker import Worker

        return Worker(
            self.hands, self._calls.bodies, concurrency=concurrency, loop_of=self._home,
            resume=self._resume,
        )  # fmt: skip

    def recovery(self) -> Recovery:
        """What takes up one action at a time, for whoever says when."""
        from ascertain.runtime.recovery import Recovery

        return Recovery(self.hands, self._calls.bodies, loop_of=self._home)

    def resumed(self, record: ChainRecord) -> PlannedChain:
        """A stored chain with declared steps, to go on with."""
        from ascertain.runtime.plan import PlannedChain
        from ascertain.runtime.session import Session

        session = Session(
            self._desk, record.session, principal=record.principal, tenant=record.tenant,
            consents=frozenset(plan_from_json(record.plan).consents),
        )  # fmt: skip
        return PlannedChain(session, self._calls, record)

    async def _resume(self, record: ChainRecord) -> None:
        await self.resumed(record).run_async()

    def _home(self) -> asyncio.AbstractEventLoop | None:
        """The loop on which async tools live, while it runs."""
        return self._loop if self._loop and self._loop.is_running() else None

    def recover(self) -> int:
        """Recover everything that is due now, in this thread; returns how many were taken."""
        import asyncio

        return asyncio.run(self.own_worker().drain())
