"""The connection to the server: opened when it is needed, and opened anew when it is gone.

Each request is sent once. What was asked when a connection broke has no answer; only a connection
that could not be opened proves that nothing was sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import mcp_types as types
from mcp import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, ValidationError

from ascertain.adapters.mcp.answers import ErrorResult
from ascertain.adapters.mcp.exchange import Exchange, NobodyToAsk
from ascertain.adapters.mcp.link import (
    BARE_404,
    SESSION_ENDED,
    Connect,
    Link,
    OnChange,
    OnMissed,
    ServerUnreachable,
)
from ascertain.model.words import NotSent, Refused

M = TypeVar("M", bound=BaseModel)

Raw = dict[str, Any]
"""A result as it came over the wire."""
OnLog = Callable[[types.LoggingMessageNotificationParams], Awaitable[None]]
AskHost = Callable[[Mapping[str, Any]], Awaitable[Raw]]

MOST_ROUNDS: Final = 10
_ASKED: Final = "asked"
_EVENTS: Final[Mapping[type[Any], Callable[[], ServerEvent]]] = {
    types.ToolListChangedNotification: ToolsListChanged,
    types.PromptListChangedNotification: PromptsListChanged,
    types.ResourceListChangedNotification: ResourcesListChanged,
}
_UNREADABLE: Final = "unreadable_result"
_INPUT_REQUIRED: Final = "input_required"


class _Any(BaseModel):
    """A result kept as it is."""

    model_config = ConfigDict(extra="allow")

    @property
    def raw(self) -> Raw:
        return dict(self.model_extra or {})


class Upstream:
    """One connection at a time, in a task of its own.

    :param connect: opens a transport.
    :ivar host_offers: what the one host declares, where it was heard before the connection was
        opened: the server is offered that. None: it is only told that it may ask a person.
    :ivar on_change: hears that something which the server lists has changed; of its tools also
        when a connection was opened anew.
    :ivar on_missed: hears that it may have changed without saying so.
    :ivar on_log: hears what the server logs outside of the calls of hosts of 2026-07-28.
    :ivar ask_host: asks the host what the server asks outside of any call.
    :ivar log_level: from which on a host of 2025 wants to hear what the server logs.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._opening = asyncio.Lock()
        self._link: Link | None = None
        self._busy: set[Exchange] = set()
        self._opened = 0
        self.host_offers: types.ClientCapabilities | None = None
        self.on_change: OnChange = _nobody
        self.on_missed: OnMissed | None = None
        self.on_log: OnLog = _nobody
        self.ask_host: AskHost | None = None
        self.log_level: types.LoggingLevel | None = None

    async def client(self) -> Client:
        """A connected client.

        :raises ServerUnreachable: none can be had; nothing was sent.
        """
        async with self._opening:
            link = self._link
            if link is None or link.gone:
                if link is not None:
                    await link.close()
                self._link = link = Link(self._connect, self._callbacks(), self._missed)
                await link.open()
                self._opened += 1
                if self.log_level is not None:
                    await _says_level(link.client, self.log_level)
                if self._opened > 1:
                    await self.on_change(ToolsListChanged())  # it may be another server by now
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
                    break
        except (MCPError, ValidationError) as error:
            raise ServerUnreachable(
                f"The MCP server gave no list of its tools: {error}."
            ) from error
        if self._link is not None:
            self._link.works()
        return found

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

    async def set_log_level(self, level: types.LoggingLevel) -> None:
        """Say from which level on the server logs; said again on each new connection.

        :raises ServerUnreachable: nobody is there to be told; it is told later.
        """
        self.log_level = level
        await _says_level(await self.client(), level)

    async def roots_changed(self) -> None:
        """The host's roots have changed; a server that was not offered any is told nothing."""
        link, said = self._link, self.host_offers
        if link is None or link.gone or said is None or said.roots is None:
            return
        if not _modern(link.client):
            await link.client.session.send_notification(types.RootsListChangedNotification())

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
        level = self.log_level if exchange is None else exchange.log_level or self.log_level
        told = {types.LOG_LEVEL_META_KEY: level} if level is not None and _modern(client) else {}
        params: Raw = {"name": name, "arguments": dict(arguments), "_meta": {**meta, **told}}
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
            if error.code != types.HEADER_MISMATCH or not _modern(client):
                raise
        await self.tools()
        return await _sent(client, params, exchange)

    def _missed(self) -> None:
        if self.on_missed is not None:
            self.on_missed()

    def _callbacks(self) -> dict[str, Any]:
        """What the server may ask, and hears that it may: what the host has declared."""
        said = self.host_offers
        found: dict[str, Any] = {"message_handler": self._heard}
        if said is None or said.elicitation is not None:
            found["elicitation_callback"] = self._elicited
        if said is not None and said.sampling is not None:
            found |= {"sampling_callback": self._sampled, "sampling_capabilities": said.sampling}
        if said is not None and said.roots is not None:
            found["list_roots_callback"] = self._rooted
        return found

    async def _elicited(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        return await self._asked(types.ElicitRequest(params=params), types.ElicitResult)

    async def _sampled(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResultWithTools | types.ErrorData:
        asked = types.CreateMessageRequest(params=params)
        return await self._asked(asked, types.CreateMessageResultWithTools)

    async def _rooted(
        self, context: ClientRequestContext
    ) -> types.ListRootsResult | types.ErrorData:
        return await self._asked(types.ListRootsRequest(), types.ListRootsResult)

    async def _asked(self, request: BaseModel, answer: type[M]) -> M | types.ErrorData:
        """A server of the 2025 revisions asks; it does not say for which call."""
        asked = request.model_dump(by_alias=True, mode="json", exclude_none=True)
        try:
            if len(self._busy) == 1:
                answers = await next(iter(self._busy)).ask({_ASKED: asked})
                return answer.model_validate(answers[_ASKED], by_name=False)
            if self.ask_host is None:
                raise NobodyToAsk("it cannot be told which call this is for")
            return answer.model_validate(await self.ask_host(asked), by_name=False)
        except (NobodyToAsk, MCPError, ValidationError, KeyError):
            return types.ErrorData(code=types.INVALID_REQUEST, message="Nobody can be asked.")

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, types.LoggingMessageNotification):
            await self._logged(message.params)
        kind = _EVENTS.get(type(message))
        if kind is not None:
            await self.on_change(kind())

    async def _logged(self, said: types.LoggingMessageNotificationParams) -> None:
        """To whom it belongs is not said: with one call under way it is that one's."""
        if len(self._busy) == 1 and next(iter(self._busy)).modern:
            await next(iter(self._busy)).log(said)
        else:
            await self.on_log(said)


async def _says_level(client: Client, level: types.LoggingLevel) -> None:
    """Servers of 2026-07-28 are told with each call, others once; those that do not log, not."""
    if client.server_capabilities.logging is None:
        return
    if not _modern(client):
        asked = types.SetLevelRequest(params=types.SetLevelRequestParams(level=level))
        await client.session.send_request(asked, types.EmptyResult)


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


def _modern(client: Client) -> bool:
    return client.protocol_version in MODERN_PROTOCOL_VERSIONS


async def _nobody(_: object) -> None:
    """Nobody listens."""
