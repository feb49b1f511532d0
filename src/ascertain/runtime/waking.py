"""How a worker that rests is woken: by time, or by whoever knows that something falls due."""

from __future__ import annotations

import asyncio

NEVER = float("inf")


class Waking:
    """The rest of one worker. All but :meth:`poke` belong to its event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken: asyncio.Event | None = None
        self._until = NEVER

    def begin(self) -> None:
        """From now on it can be woken."""
        self._woken = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def end(self) -> None:
        """It does not rest any more."""
        self._loop = None

    def poke(self, due_at: float) -> None:
        """Something falls due; called from any thread. Heard where it is before the rest ends."""
        loop, woken = self._loop, self._woken
        if loop is None or woken is None or due_at >= self._until:
            return
        try:
            loop.call_soon_threadsafe(woken.set)
        except RuntimeError:
            return  # it has just stopped; the next worker finds what is due by index

    def hear_all(self) -> None:
        """Until it rests again, whatever falls due is heard."""
        self._until = NEVER

    async def rest(self, now: float, most_s: float) -> None:
        """Wait so long, or until somebody pokes."""
        assert self._woken is not None
        self._until = now + most_s
        try:
            await asyncio.wait_for(self._woken.wait(), most_s)
        except TimeoutError:
            return
        finally:
            self._woken.clear()
