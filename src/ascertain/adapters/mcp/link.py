"""One connection to the server: opened, used and closed in one task, as its transport wants it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Final, Self, cast

import mcp_types as types
from mcp import Client
from mcp.client._transport import TransportStreams
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared._stream_protocols import ReadStream
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.shared.subscriptions import ServerEvent
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ascertain.errors import AscertainError

log = logging.getLogger("ascertain")

SESSION_ENDED: Final = "session_ended"
BARE_404: Final = "bare_404"
Said = tuple[int, str]
"""Code and message of an error."""
TERMINATED: Final[Said] = (types.INVALID_REQUEST, "Session terminated")
"""What the SDK makes of a session that is not known, where the server gives no error of its own."""
Notice = Callable[[str, Said], None]
"""Told what a transport over HTTP sees and its errors do not say, with the error that came of it.

``session_ended``: the server itself said that it does not know the session, which it does before it
runs anything. ``bare_404``: somebody on the way said "not found", of which the SDK makes a -32601.
"""
Connect = Callable[[Notice], AbstractAsyncContextManager[TransportStreams]]
OnChange = Callable[[ServerEvent], Awaitable[None]]
OnMissed = Callable[[], None]

HEARD_WITHIN_S: Final = 2.0
"""A server that is slow to open its stream is used without it, and looked at once there is one."""


class ServerUnreachable(AscertainError):
    """The MCP server cannot be reached."""

    code = "mcp_server_unreachable"
    next_step = "Start it by hand to see what it says; check the command or the URL."


class Link:
    """One connection.

    :param callbacks: what the server may ask and who hears it, as :class:`mcp.Client` takes it.
    :param missed: hears that the server may have changed without saying so.
    """

    def __init__(self, connect: Connect, callbacks: dict[str, Any], missed: OnMissed) -> None:
        self._connect = connect
        self._callbacks = callbacks
        self._missed = missed
        self._heard = asyncio.Event()
        self._works = asyncio.Event()
        self._ended = asyncio.Event()
        self.seen: frozenset[tuple[str, Said]] = frozenset()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    @property
    def gone(self) -> bool:
        """Whether nothing more can be sent on it."""
        if self._ended.is_set() or self._task is None or self._task.done():
            return True
        return any(what == SESSION_ENDED for what, _ in self.seen)

    @property
    def client(self) -> Client:
        return self._ready.result()

    async def open(self) -> None:
        """:raises ServerUnreachable: it cannot be opened."""
        self._task = asyncio.create_task(self._own(), name="ascertain-mcp-link")
        await asyncio.wait((self._task, self._ready), return_when=asyncio.FIRST_COMPLETED)
        if not self._ready.done() or self._ready.cancelled():
            error = None if self._task.cancelled() else self._task.exception()
            raise ServerUnreachable(
                f"The MCP server cannot be reached: {_words(error)}."
            ) from error

    def works(self) -> None:
        """Something was answered just now."""
        self._works.set()

    async def close(self) -> None:
        self._ended.set()
        if self._task is not None:
            await asyncio.wait((self._task,))
            if not self._task.cancelled():
                self._task.exception()  # a connection that ended with an error has ended

    def _notice(self, what: str, said: Said) -> None:
        self.seen |= {(what, said)}

    async def _own(self) -> None:
        async with Client(self._tapped(), cache=None, **self._callbacks) as client:
            listening = asyncio.create_task(self._listen(client), name="ascertain-mcp-listen")
            try:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._heard.wait(), HEARD_WITHIN_S)
                self._heard.set()
                self._ready.set_result(client)
                await self._ended.wait()
            finally:
                listening.cancel()
                await asyncio.wait((listening,))

    async def _listen(self, client: Client) -> None:
        """Keep a stream open on which a server of 2026-07-28 says that something has changed.

        What comes on it comes to the handler of messages too, which is the one that looks. A stream
        that broke is opened anew once something else was answered: a try of its own that nobody
        answers would end the connection for all calls that are under way on it.
        """
        said = client.server_capabilities
        tools, prompts, resources = (
            one is not None and bool(one.list_changed)
            for one in (said.tools, said.prompts, said.resources)
        )
        modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        while modern and (tools or prompts or resources):
            try:
                async with client.listen(
                    tools_list_changed=tools,
                    prompts_list_changed=prompts,
                    resources_list_changed=resources,
                ) as events:
                    if self._heard.is_set():
                        self._missed()
                    self._heard.set()
                    async for _ in events:
                        pass
                return  # the server has ended it by itself
            except SubscriptionLost:
                self._heard.set()
                self._works.clear()
                self._missed()
                await self._works.wait()
            except (MCPError, TimeoutError) as error:
                log.info("the MCP server tells nothing of changes: %s", error)
                break
        self._heard.set()

    @asynccontextmanager
    async def _tapped(self) -> AsyncGenerator[TransportStreams]:
        async with self._connect(self._notice) as (reading, writing):
            yield _Tap(reading, self._ended), writing


class _Tap:
    """A stream that says when it has ended."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], ended: asyncio.Event) -> None:
        self._inner = inner
        self._ended = ended

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self._inner.receive()
        except BaseException:
            self._ended.set()
            raise

    async def aclose(self) -> None:
        self._ended.set()
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self._inner.__anext__()
        except BaseException:
            self._ended.set()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


def _words(error: BaseException | None) -> str:
    """The innermost of grouped errors, in a few words."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return "it ended at once" if error is None else f"{type(error).__name__}: {error}"[:300]
