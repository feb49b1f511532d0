"""The part of an app that compares what is told, what is recorded, and what providers hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascertain.rules.recount import Row
    from ascertain.runtime.calls import Calls
    from ascertain.runtime.hands import Hands
    from ascertain.runtime.recount import Recount


class Counts:
    """Recount."""

    hands: Hands
    _calls: Calls

    def recount(
        self,
        *,
        tool: str | None = None,
        since: str | float = "7d",
        limit: int = 1000,
        rate: float = 20.0,
        concurrency: int = 8,
    ) -> Recount:
        """Ask every provider for its own record of recent actions, and compare; nothing is sent.

        Not from a running loop: there it is ``await app.recount_async(...)``.

        :param tool: only its actions. :param since: how far back (seconds, or ``24h``, ``7d``).
        :param limit: at most so many actions, the newest. :param rate: look-ups per second.
        :param concurrency: how many look-ups may wait for an answer at once.
        :raises UnknownTool: there is no such tool. :raises ContractError: a senseless bound.
        """
        import asyncio

        return asyncio.run(
            self.recount_async(
                tool=tool, since=since, limit=limit, rate=rate, concurrency=concurrency
            )
        )

    async def recount_async(
        self,
        *,
        tool: str | None = None,
        since: str | float = "7d",
        limit: int = 1000,
        rate: float = 20.0,
        concurrency: int = 8,
        tell: Callable[[Row], None] | None = None,
    ) -> Recount:
        """The same on the running loop, for sync and async tools alike.

        :param tell: is told each row as it comes in.
        """
        from ascertain.runtime.recount import bounds_of, recount

        bounds = bounds_of(tool=tool, since=since, limit=limit, rate=rate, concurrency=concurrency)
        return await recount(self.hands, self._calls.bodies, bounds, tell)
