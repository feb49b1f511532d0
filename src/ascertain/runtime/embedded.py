"""A worker inside the process that makes the calls."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascertain.runtime.recovering import Works


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
