"""Bodies that run beside the flow that waits for them: tasks, and threads for sync code.

A task can be told to stop; a thread cannot. Either may be given up while it still runs, and then
its result lands on its own action when it ends.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ascertain.runtime.hands import log

Land = Callable[["asyncio.Future[Any] | Future[Any]"], None]


class TaskBody:
    """An async body, in a task of its own."""

    __slots__ = ("future",)

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self.future: asyncio.Future[Any] = task

    async def stop(self, grace_s: float | None) -> None:
        """Tell it to stop, and give it a moment to do so."""
        self.future.cancel()
        await asyncio.wait((self.future,), timeout=grace_s)

    def give_up(self) -> None:
        """Nobody waits for it any more, and its result is of no use."""
        self.future.cancel()


class ThreadBody:
    """A sync body, in a thread of the pool. ``future`` is how the loop waits for it."""

    __slots__ = ("future", "source")

    def __init__(self, source: Future[Any]) -> None:
        self.source = source
        self.future: asyncio.Future[Any] = asyncio.wrap_future(source)

    async def stop(self, grace_s: float | None) -> None:
        """A thread cannot be stopped: without a grace it is waited for, else left alone."""
        if grace_s is None:
            await asyncio.wait((self.future,))

    def give_up(self) -> None:
        """Nobody waits for it any more."""


class Bodies:
    """What still runs, and a bounded pool of threads: beyond the bound nothing is queued."""

    def __init__(self, *, threads: int = 32) -> None:
        self._bound = threads
        self._busy = 0
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self.tasks: set[asyncio.Future[Any]] = set()

    def room_beside(self, mine: int) -> int:
        """How many threads there are for somebody with ``mine`` pieces of work in hand.

        Each of these may need one at any moment, whether it has one just now or not.
        """
        return max(0, self._bound - max(mine, self._busy))

    def start(self, work: Callable[[], Any]) -> ThreadBody | None:
        """Run sync work in a thread; None when all are taken."""
        with self._lock:
            if self._busy >= self._bound:
                return None
            self._busy += 1
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._bound, thread_name_prefix="ascertain-body")
        source = self._pool.submit(work)
        source.add_done_callback(self._freed)
        return ThreadBody(source)

    def let_end(self, body: TaskBody | ThreadBody, land: Land, deadline_s: float) -> None:
        """Let a body that was given up end; a task gets at most ``deadline_s`` more."""
        if isinstance(body, ThreadBody):
            # lands from its own thread: the loop may be gone by then
            body.source.add_done_callback(lambda ended: _landed(land, ended))
            return
        loop = asyncio.get_running_loop()
        task = body.future
        stop = loop.call_later(deadline_s, task.cancel) if deadline_s < float("inf") else None
        self.tasks.add(task)

        def ended(_: object) -> None:
            if stop is not None:
                stop.cancel()
            self.tasks.discard(task)
            work = loop.run_in_executor(None, _landed, land, task)
            self.tasks.add(work)
            work.add_done_callback(self.tasks.discard)

        task.add_done_callback(ended)

    def _freed(self, _: object) -> None:
        with self._lock:
            self._busy -= 1


def _landed(land: Land, ended: asyncio.Future[Any] | Future[Any]) -> None:
    try:
        land(ended)
    except Exception:
        # the lease and the suspect tell: the action is asked for, or goes to a person
        log.exception("a late result could not be recorded")


async def collected(stream: Any) -> list[Any]:
    """All that an async body yields."""
    return [item async for item in stream]
