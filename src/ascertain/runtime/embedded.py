"""A worker inside the process that makes the calls."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ascertain.runtime.app import Ascertain


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

    def works(self, app: Ascertain, concurrency: int) -> Works:
        """A worker with the app's tools, of which ``concurrency`` run at once."""
        ...


class EmbeddedWorker:
    """A worker in a daemon thread of its own, started at the first write."""

    def __init__(self, make: Callable[[], Works]) -> None:
        self._make = make
        self._pid = 0
        self._thread: threading.Thread | None = None
        self._worker: Works | None = None
        self._lock = threading.Lock()

    def ensure(self) -> None:
        """Start it, unless it runs in this process already."""
        if self._pid == os.getpid():
            return
        with self._lock:
            if self._pid == os.getpid():
                return
            worker = self._make()
            thread = threading.Thread(
                target=_run, args=(worker,), name="ascertain-worker", daemon=True
            )
            self._worker, self._thread, self._pid = worker, thread, os.getpid()
            thread.start()

    def close(self) -> None:
        """Let it finish what it has in hand, and stop it."""
        if self._worker is not None and self._thread is not None and self._pid == os.getpid():
            self._worker.stop()
            self._thread.join(timeout=30.0)
        self._pid = 0


def _run(worker: Works) -> None:
    import asyncio

    asyncio.run(worker.run())
