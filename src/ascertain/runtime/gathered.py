"""Questions of many async calls, answered together: one hop to a thread for all that wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakKeyDictionary, ref

if TYPE_CHECKING:
    import asyncio

Q = TypeVar("Q")
A = TypeVar("A")


def _no_loop() -> None:
    """Nobody has asked yet."""


class _Line(Generic[Q, A]):
    """Who waits on one event loop. Only the loop's own thread starts and ends the work."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[Q, asyncio.Future[A]]] = deque()
        self.working = False


class Gathered(Generic[Q, A]):
    """Asks ``answer`` in a thread, for everybody who waits by then.

    :param answer: gives each question its answer, or the error that it met.
    """

    def __init__(self, answer: Callable[[Sequence[Q]], Sequence[A | Exception]]) -> None:
        self._answer = answer
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line[Q, A]]
        self._lines = WeakKeyDictionary()
        self._latest: tuple[Callable[[], object], _Line[Q, A]] = (_no_loop, _Line())

    async def ask(self, question: Q) -> A:
        """The answer; the running loop is not blocked.

        :raises Exception: whatever ``answer`` raised for this question.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        of, line = self._latest
        if of() is not loop:
            line = self._lines.setdefault(loop, _Line())
            self._latest = (ref(loop), line)  # most processes have one
        future: asyncio.Future[A] = loop.create_future()
        line.waiting.append((question, future))
        if not line.working:
            line.working = True
            loop.run_in_executor(None, self._work, loop, line)
        return await future

    def _work(self, loop: asyncio.AbstractEventLoop, line: _Line[Q, A]) -> None:
        asked = [line.waiting.popleft() for _ in range(len(line.waiting))]
        answers: Sequence[A | Exception]
        try:
            answers = self._answer([question for question, _ in asked])
        except Exception as error:
            answers = [error] * len(asked)
        answered = list(zip([future for _, future in asked], answers, strict=True))
        loop.call_soon_threadsafe(self._deliver, loop, line, answered)

    def _deliver(
        self,
        loop: asyncio.AbstractEventLoop,
        line: _Line[Q, A],
        answered: list[tuple[asyncio.Future[A], A | Exception]],
    ) -> None:
        for future, answer in answered:
            if future.done():
                continue  # its caller was cancelled
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        line.working = bool(line.waiting)
        if line.working:
            loop.run_in_executor(None, self._work, loop, line)
