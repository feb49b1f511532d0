"""Questions of many async calls, answered together: one hop to a thread for all that wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import asyncio

Q = TypeVar("Q")
A = TypeVar("A")


class _Line(Generic[Q, A]):
    """Who waits on one event loop. Only the loop's own thread starts and ends the work."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[Q, asyncio.Future[A]]] = deque()
        self.working = False


class Gathered(Generic[Q, A]):
    """Asks ``answer`` in a thread, for everybody who waits by then."""

    def __init__(self, answer: Callable[[Q], A]) -> None:
        self._answer = answer
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line[Q, A]]
        self._lines = WeakKeyDictionary()

    async def ask(self, question: Q) -> A:
        """The answer; the running loop is not blocked.

        :raises Exception: whatever ``answer`` raised for this question.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        line = self._lines.get(loop)
        if line is None:
            line = self._lines[loop] = _Line()
        future: asyncio.Future[A] = loop.create_future()
        line.waiting.append((question, future))
        if not line.working:
            line.working = True
            loop.run_in_executor(None, self._work, loop, line)
        return await future

    def _work(self, loop: asyncio.AbstractEventLoop, line: _Line[Q, A]) -> None:
        answered: list[tuple[asyncio.Future[A], A | None, BaseException | None]] = []
        for _ in range(len(line.waiting)):
            question, future = line.waiting.popleft()
            try:
                answered.append((future, self._answer(question), None))
            except Exception as error:
                answered.append((future, None, error))
        loop.call_soon_threadsafe(self._deliver, loop, line, answered)

    def _deliver(
        self, loop: asyncio.AbstractEventLoop, line: _Line[Q, A], answered: list[Any]
    ) -> None:
        for future, answer, error in answered:
            if future.done():
                continue  # its caller was cancelled
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(answer)
        line.working = bool(line.waiting)
        if line.working:
            loop.run_in_executor(None, self._work, loop, line)
