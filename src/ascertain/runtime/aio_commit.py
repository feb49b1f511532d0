"""Committing from an event loop. A cancelled caller cannot cancel a commit."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from ascertain.model.operations import Operation, Reply
from ascertain.runtime.committer import Committer, raised


class CommittedThenCancelled(asyncio.CancelledError):
    """The caller was cancelled during its commit, which went on: the reply (or error) is here."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


async def commit_async(committer: Committer, operation: Operation) -> Reply:
    """Write one operation without blocking the loop. A cancellation waits for the commit.

    :raises LedgerError: nothing was written.
    :raises CommittedThenCancelled: the caller has been cancelled; the reply comes with it.
    """
    waiter = _TaskWaiter(asyncio.get_running_loop())
    committer.enqueue(operation, waiter)
    try:
        return raised(await waiter.future)
    except asyncio.CancelledError as cancelled:
        raise CommittedThenCancelled(await waiter.after_all()) from cancelled


class _Uncancellable(asyncio.Future[Reply]):
    """A task that waits for this is cancelled only after the commit has ended.

    Only for who was cancelled already: a plain future is quicker to make and to wake from.
    """

    def cancel(self, msg: object = None) -> bool:
        return False


class _TaskWaiter:
    __slots__ = ("future", "loop", "reply")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.future: asyncio.Future[Reply] = loop.create_future()
        self.reply: Reply | None = None

    def deliver(self, reply: Reply) -> None:
        self.reply = reply
        if not self.future.done():
            self.future.set_result(reply)

    async def after_all(self) -> Reply:
        """The reply, for a task that was cancelled while it waited, once or more often."""
        if self.reply is None:
            self.future = _Uncancellable(loop=self.loop)
            with suppress(asyncio.CancelledError):
                await self.future
        assert self.reply is not None
        return self.reply
