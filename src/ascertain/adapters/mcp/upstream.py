"""The connection to the server: opened when it is needed, and opened anew when it is gone.

Each request is sent once. What was asked when a connection broke has no answer; only a connection
that could not be opened proves that nothing was sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Final, Self, cast

import mcp_types as types
from mcp import Client
from mcp.client._transport import TransportStreams
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.shared._stream_protocols import ReadStream
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, ValidationError

from ascertain.adapters.mcp.answers import ErrorResult
from ascertain.adapters.mcp.exchange import Exchange, NobodyToAsk
from ascertain.errors import AscertainError
from ascertain.model.words import NotSent, Refused

Raw = dict[str, Any]
"""A result as it came over the wire."""
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

MOST_ROUNDS: Final = 10
_UNREADABLE: Final = "unreadable_result"
_INPUT_REQUIRED: Final = "input_required"


class ServerUnreachable(AscertainError):
    """The MCP server cannot be reached."""

    code = "mcp_server_unreachable"
    next_step = "Start it by hand to see what it says; check the command or the URL."


class _Any(BaseModel):
    """A result kept as it is."""

    model_config = ConfigDict(extra="allow")

    @property
    def raw(self) -> Raw:
        return dict(self.model_extra or {})


class Upstream:
    """One connection at a time, in a task of its own.

    :param connect: opens a transport.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._opening = asyncio.Lock()
        self._link: _Link | None = None
        self._busy: set[Exchange] = set()
        self.on_tools_changed: Callable[[], Awaitable[None]] | None = None

    async def client(self) -> Client:
        """A connected client.

        :raises ServerUnreachable: none can be had; nothing was sent.
        """
        async with self._opening:
            link = self._link
            if link is None or link.gone:
                if link is not None:
                    await link.close()
                self._link = link = _Link(self._connect, self._elicited, self._heard)
                await link.open()
            return link.client

    async def tools(self) -> list[types.Tool]:
        """All tools that the server offers.

        :raises ServerUnreachable: it gave no list.
        """
        client = await self.client()
        found: list[types.Tool] = []
        cursor: str | None = None
        try:
            while True:
                page = await client.list_tools(cursor=cursor)
                found += page.tools
                cursor = page.next_cursor
                if not cursor:
                    return found
        except (MCPError, ValidationError) as error:
            raise ServerUnreachable(
                f"The MCP server gave no list of its tools: {error}."
            ) from error

    async def call(
        self, name: str, arguments: Mapping[str, Any], meta: Mapping[str, Any],
        exchange: Exchange | None,
    ) -> Raw:  # fmt: skip
        """Call a tool, once; rounds in which the server asks back belong to it.

        :raises NotSent: there was no connection, or the server had ended the session.
        :raises Refused: the server has no such method.
        :raises MCPError: an error, or no answer.
        :raises ErrorResult: an answer that cannot be read, or a question that nobody can be asked.
        """
        try:
            client = await self.client()
        except ServerUnreachable as error:
            raise NotSent("never_connected") from error
        link = self._link
        if exchange is not None:
            self._busy.add(exchange)
        try:
            return await self._rounds(client, name, arguments, meta, exchange)
        except MCPError as error:
            # Of a session that has ended only those calls were not run that were told so. What was
            # under way in it has lost its answer.
            said = (error.code, error.message)
            if link is not None and (SESSION_ENDED, said) in link.seen:
                raise NotSent(SESSION_ENDED) from error
            bare = link is not None and any(what == BARE_404 for what, _ in link.seen)
            if error.code == types.METHOD_NOT_FOUND and not bare:
                raise Refused(str(error.code), kind="invalid") from error
            raise
        finally:
            if exchange is not None:
                self._busy.discard(exchange)

    async def close(self) -> None:
        """Close the connection, and end the server where it is our process."""
        async with self._opening:
            if self._link is not None:
                await self._link.close()
                self._link = None

    async def _rounds(
        self, client: Client, name: str, arguments: Mapping[str, Any], meta: Mapping[str, Any],
        exchange: Exchange | None,
    ) -> Raw:  # fmt: skip
        params: Raw = {"name": name, "arguments": dict(arguments), "_meta": dict(meta)}
        for _ in range(MOST_ROUNDS):
            raw = await self._once(client, params, exchange)
            if raw.get("resultType") != _INPUT_REQUIRED:
                return raw
            params.pop("inputResponses", None)
            params["requestState"] = raw.get("requestState")
            if requests := raw.get("inputRequests"):
                if exchange is None:
                    raise ErrorResult(_INPUT_REQUIRED)
                try:
                    params["inputResponses"] = await exchange.ask(requests)
                except NobodyToAsk as error:
                    raise ErrorResult(_INPUT_REQUIRED) from error
            else:
                await asyncio.sleep(0.1)
        raise ErrorResult(_INPUT_REQUIRED)

    async def _once(self, client: Client, params: Raw, exchange: Exchange | None) -> Raw:
        """One round. A server that refuses its headers has not run it: the list is read anew."""
        try:
            return await _sent(client, params, exchange)
        except MCPError as error:
            modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
            if error.code != types.HEADER_MISMATCH or not modern:
                raise
        await self.tools()
        return await _sent(client, params, exchange)

    async def _elicited(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """A server of the 2025 revisions asks; it does not say for which call."""
        if len(self._busy) != 1:
            return types.ErrorData(
                code=types.INVALID_REQUEST, message="It cannot be told which call this is for."
            )
        request = types.ElicitRequest(params=params)
        asked = request.model_dump(by_alias=True, mode="json", exclude_none=True)
        try:
            answers = await next(iter(self._busy)).ask({"elicitation": asked})
            return types.ElicitResult.model_validate(answers["elicitation"])
        except (NobodyToAsk, MCPError, ValidationError, KeyError):
            return types.ErrorData(code=types.INVALID_REQUEST, message="Nobody can be asked.")

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification) and self.on_tools_changed:
            await self.on_tools_changed()


async def _sent(client: Client, params: Raw, exchange: Exchange | None) -> Raw:
    try:
        request = types.CallToolRequest(
            params=types.CallToolRequestParams.model_validate(params, by_name=False)
        )
        answer = await client.session.send_request(
            request, _Any, progress_callback=None if exchange is None else exchange.progress
        )
    except ValidationError as error:
        raise ErrorResult(_UNREADABLE) from error
    return answer.raw


class _Link:
    """One connection: opened, used and closed in one task, as its transport wants it."""

    def __init__(self, connect: Connect, elicited: Any, heard: Any) -> None:
        self._connect = connect
        self._elicited = elicited
        self._heard = heard
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

    async def close(self) -> None:
        self._ended.set()
        if self._task is not None:
            await asyncio.wait((self._task,))
            if not self._task.cancelled():
                self._task.exception()  # a connection that ended with an error has ended

    def _notice(self, what: str, said: Said) -> None:
        self.seen |= {(what, said)}

    async def _own(self) -> None:
        async with Client(
            self._tapped(), elicitation_callback=self._elicited, message_handler=self._heard,
            cache=None,
        ) as client:  # fmt: skip
            self._ready.set_result(client)
            await self._ended.wait()

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
