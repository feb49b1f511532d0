"""Group commit: one transaction for everything that is waiting.

One committer per process and ledger. Threads and tasks put operations in one queue; whoever holds
the ledger takes all that is queued, writes it durably in one transaction and wakes all callers. A
lone caller on an idle committer commits at once in its own thread. A cancelled caller cannot
cancel a commit. The queue is bounded: beyond it :class:`LedgerBusy`, before anything is sent.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import NamedTuple

from ascertain.errors import LedgerBusy, LedgerClosed
from ascertain.model.operations import Operation, Reply
from ascertain.store.ledger import Ledger

BATCH = 512


class Committer:
    """Writes operations of any number of callers, in batches, in order of arrival."""

    def __init__(self, ledger: Ledger, *, queue_bound: int = 10_000) -> None:
        self._ledger = ledger
        self._bound = queue_bound
        self._forget()

    def _forget(self) -> None:
        """Start afresh: at first, and in a forked child, which inherits no thread."""
        self._pid = os.getpid()
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closed = False

    def commit(self, operation: Operation) -> Reply:
        """Write one operation and wait for it, in the calling thread.

        :raises LedgerError: nothing was written.
        """
        self._check()
        if self._queue.empty() and self._writing.acquire(blocking=False):
            try:
                return _raised(self._ledger.submit((operation,))[0])
            finally:
                self._writing.release()
        waiter = _ThreadWaiter()
        self._enqueue(operation, waiter)
        waiter.done.acquire()
        return _raised(waiter.reply)

    async def commit_async(self, operation: Operation) -> Reply:
        """Write one operation without blocking the loop. A cancellation waits for the commit.

        :raises LedgerError: nothing was written.
        """
        self._check()
        loop = asyncio.get_running_loop()
        future = _Uncancellable(loop=loop)
        self._enqueue(operation, _TaskWaiter(loop, future))
        try:
            return _raised(await future)
        except asyncio.CancelledError as cancelled:
            # the future cannot be cancelled, so the commit has ended before we are told
            raise CommittedThenCancelled(_raised(future.result())) from cancelled

    def close(self) -> None:
        """Finish what is queued and stop."""
        self._closed = True
        thread = self._thread
        if thread is not None and self._pid == os.getpid():
            self._queue.put(None)
            thread.join()

    def _check(self) -> None:
        if self._pid != os.getpid():
            self._forget()
        if self._closed:
            raise LedgerClosed
        if self._queue.qsize() >= self._bound:
            raise LedgerBusy(
                f"{self._queue.qsize()} operations wait for the ledger (bound {self._bound})."
            )

    def _enqueue(self, operation: Operation, waiter: _Waiter) -> None:
        self._queue.put((operation, waiter))
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="ascertain-committer", daemon=True)
                self._thread = thread
                thread.start()

    def _run(self) -> None:
        stop = False
        while not stop:
            first = self._queue.get()
            if first is None:
                return
            with self._writing:
                batch, stop = self._all_waiting(first)
                try:
                    replies = self._ledger.submit([operation for operation, _ in batch])
                except Exception as error:
                    replies = [error] * len(batch)
            _deliver(batch, replies)

    def _all_waiting(self, first: _Waiting) -> tuple[list[_Waiting], bool]:
        """Everything that is queued by now; True when the last of all has been said."""
        batch = [first]
        while len(batch) < BATCH:
            try:
                waiting = self._queue.get_nowait()
            except Empty:
                break
            if waiting is None:
                return batch, True
            batch.append(waiting)
        return batch, False


class CommittedThenCancelled(asyncio.CancelledError):
    """The caller was cancelled while its commit was written; the commit stands."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class _ThreadWaiter:
    __slots__ = ("done", "reply")

    def __init__(self) -> None:
        self.done = threading.Lock()
        self.done.acquire()
        self.reply: Reply = LedgerClosed()


class _Uncancellable(asyncio.Future[Reply]):
    """A task that waits for this is cancelled only after the commit has ended."""

    def cancel(self, msg: object = None) -> bool:
        return False


class _TaskWaiter(NamedTuple):
    loop: asyncio.AbstractEventLoop
    future: _Uncancellable


_Waiter = _ThreadWaiter | _TaskWaiter
_Waiting = tuple[Operation, _Waiter]


def _deliver(batch: Sequence[_Waiting], replies: Sequence[Reply]) -> None:
    """Wake everybody; one call into each event loop, whatever the number of tasks."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Uncancellable, Reply]]] = {}
    for (_, waiter), reply in zip(batch, replies, strict=True):
        if isinstance(waiter, _ThreadWaiter):
            waiter.reply = reply
            waiter.done.release()
        else:
            by_loop.setdefault(waiter.loop, []).append((waiter.future, reply))
    for loop, results in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, results)
        except RuntimeError:
            # that loop is closed: nobody is left to hear it, and the ledger has it
            continue


def _resolve(results: list[tuple[_Uncancellable, Reply]]) -> None:
    for future, reply in results:
        if not future.done():
            future.set_result(reply)


def _raised(reply: Reply) -> Reply:
    if isinstance(reply, Exception):
        raise reply
    return reply
