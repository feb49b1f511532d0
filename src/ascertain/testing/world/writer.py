"""One thread writes: whatever is queued becomes durable in one transaction, then all are told."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ascertain.testing.world.schema import open_for_writing

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    step: Callable[[sqlite3.Connection], Any]
    done: asyncio.Future[Any]


class Writer:
    """Runs steps against the file, many in one commit. A step sees all earlier ones."""

    def __init__(self, path: Path) -> None:
        """Open the file and start the thread; call from the loop that will await the steps."""
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._connection = open_for_writing(path)
        self._thread = threading.Thread(target=self._run, name="world-writer", daemon=True)
        self._thread.start()

    async def run(self, step: Callable[[sqlite3.Connection], T]) -> T:
        """Run one step and return its value once it is durable. Cancelling does not undo it."""
        done: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(_Work(step=step, done=done))
        return await asyncio.shield(done)

    def close(self) -> None:
        """Finish what is queued and close the file."""
        self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        ended = False
        while not ended:
            batch = [self._queue.get()]
            while not self._queue.empty():
                batch.append(self._queue.get())
            ended = None in batch
            self._commit([work for work in batch if work is not None])

    def _commit(self, batch: list[_Work]) -> None:
        if not batch:
            return
        outcomes: list[tuple[_Work, Any, Exception | None]] = []
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            outcomes.extend((work, *self._step(work)) for work in batch)
            self._connection.execute("COMMIT")
        except sqlite3.Error as broken:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            outcomes = [(work, None, broken) for work in batch]
        self._loop.call_soon_threadsafe(_tell, outcomes)

    def _step(self, work: _Work) -> tuple[Any, Exception | None]:
        self._connection.execute("SAVEPOINT step")
        try:
            value = work.step(self._connection)
        except Exception as broken:
            self._connection.execute("ROLLBACK TO step")
            self._connection.execute("RELEASE step")
            return None, broken
        self._connection.execute("RELEASE step")
        return value, None


def _tell(outcomes: list[tuple[_Work, Any, Exception | None]]) -> None:
    for work, value, broken in outcomes:
        if work.done.done():
            continue
        if broken is None:
            work.done.set_result(value)
        else:
            work.done.set_exception(broken)
