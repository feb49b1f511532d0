"""Group commit: one transaction for everything that is waiting.

One committer per process and ledger. Threads and tasks put operations in one queue; whoever holds
the ledger takes all that is queued, writes it durably in one transaction and wakes all callers. A
lone caller on an idle committer commits at once in its own thread. The queue is bounded: beyond it
:class:`LedgerBusy`, before anything is sent.

Many callers are written in two halves, turn and turn about: those of one half go on while the other
half is being forced to the disk, instead of all of them waiting for the disk and it for them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from ascertain.errors import LedgerBusy, LedgerClosed
from ascertain.model.operations import Operation, Reply
from ascertain.store.ledger import Ledger

BATCH = 512
FEW = 16
"""Fewer than these are written together: two commits would cost more than they let overlap."""


class Waiter(Protocol):
    """Somebody who waits for a reply. Waiters of one ``loop`` are woken together."""

    loop: Any

    def deliver(self, reply: Reply) -> None:
        """Take the reply; called in the waiter's loop, or in the committer's thread without one."""
        ...


Waiting = tuple[Operation, Waiter]
Written = tuple[list[Waiting], list[Reply]]


class Committer:
    """Writes operations of any number of callers, in batches, in order of arrival."""

    def __init__(self, ledger: Ledger, *, queue_bound: int = 10_000) -> None:
        self._ledger = ledger
        self._bound = queue_bound
        self._forget()

    def _forget(self) -> None:
        """Start afresh: at first, and in a forked child, which inherits no thread."""
        self._pid = os.getpid()
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._written: Written | None = None
        self._closed = False

    def commit(self, operation: Operation) -> Reply:
        """Write one operation and wait for it, in the calling thread.

        :raises LedgerError: nothing was written.
        """
        self._check()
        if self._queue.empty() and self._writing.acquire(blocking=False):
            try:
                return raised(self._ledger.submit((operation,))[0])
            finally:
                self._writing.release()
        waiter = _ThreadWaiter()
        self._put(operation, waiter)
        waiter.done.acquire()
        return raised(waiter.reply)

    def enqueue(self, operation: Operation, waiter: Waiter) -> None:
        """Have an operation written with the next batch; its reply goes to ``waiter``.

        :raises LedgerBusy: more waits than the bound allows. :raises LedgerClosed: after close.
        """
        self._check()
        self._put(operation, waiter)

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

    def _put(self, operation: Operation, waiter: Waiter) -> None:
        self._queue.put((operation, waiter))
        if self._thread is None:
            self._start()
        if self._closed:
            self._refuse_rest()  # closed meanwhile: nobody may be left to take it

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="ascertain-committer", daemon=True)
                self._thread = thread
                thread.start()

    def _run(self) -> None:
        stop = False
        while not stop:
            if self._queue.empty():
                self._tell()
            first = self._queue.get()
            if first is None:
                break
            if not self._writing.acquire(blocking=False):
                self._tell()
                self._writing.acquire()
            try:
                batch, stop = self._next(first)
                replies = self._submit([operation for operation, _ in batch])
            finally:
                self._writing.release()
            self._tell()  # where it was not done meanwhile
            self._written = batch, replies
        self._tell()
        self._refuse_rest()

    def _submit(self, operations: list[Operation]) -> list[Reply]:
        try:
            return self._ledger.submit(operations, meanwhile=self._tell)
        except Exception as error:
            return [error] * len(operations)

    def _tell(self) -> None:
        """Wake those of the batch before, who have not been told yet."""
        written, self._written = self._written, None
        if written is not None:
            _deliver(*written)

    def _next(self, first: Waiting) -> tuple[list[Waiting], bool]:
        """What is written next; True when the last of all has been said."""
        batch = [first]
        told = 0 if self._written is None else len(self._written[0])
        callers = 1 + self._queue.qsize() + told
        most = BATCH if callers < FEW else min(BATCH, (callers + 1) // 2)
        while len(batch) < most:
            try:
                waiting = self._queue.get_nowait()
            except Empty:
                break
            if waiting is None:
                return batch, True
            batch.append(waiting)
        return batch, False

    def _refuse_rest(self) -> None:
        while True:
            try:
                waiting = self._queue.get_nowait()
            except Empty:
                return
            if waiting is not None:
                _deliver([waiting], [LedgerClosed()])


def raised(reply: Reply) -> Reply:
    """The reply, or the error that it is."""
    if isinstance(reply, Exception):
        raise reply
    return reply


class _ThreadWaiter:
    __slots__ = ("done", "loop", "reply")

    def __init__(self) -> None:
        self.loop = None
        self.done = threading.Lock()
        self.done.acquire()
        self.reply: Reply = LedgerClosed()

    def deliver(self, reply: Reply) -> None:
        self.reply = reply
        self.done.release()


def _deliver(batch: Sequence[Waiting], replies: Sequence[Reply]) -> None:
    """Wake everybody; one call into each event loop, whatever the number of tasks."""
    by_loop: dict[Any, list[tuple[Waiter, Reply]]] = {}
    for (_, waiter), reply in zip(batch, replies, strict=True):
        if waiter.loop is None:
            waiter.deliver(reply)
        else:
            by_loop.setdefault(waiter.loop, []).append((waiter, reply))
    for loop, results in by_loop.items():
        try:
            loop.call_soon_threadsafe(_deliver_all, results)
        except RuntimeError:
            # that loop is closed: nobody is left to hear it, and the ledger has it
            continue


def _deliver_all(results: list[tuple[Waiter, Reply]]) -> None:
    for waiter, reply in results:
        waiter.deliver(reply)
