"""The proxy: a server to the host, a client of the server, and the ledger in between."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ascertain.adapters.calling import ToolCall
from ascertain.adapters.door import DESCRIPTION, NEXT, Door
from ascertain.adapters.mcp import passing, render
from ascertain.adapters.mcp.config import ProxyConfig
from ascertain.adapters.mcp.conversations import Conversations
from ascertain.adapters.mcp.exchange import Context, Exchange, current
from ascertain.adapters.mcp.guard import Guard
from ascertain.adapters.mcp.pins import Pins, ServerPins, Tool
from ascertain.adapters.mcp.signature import without
from ascertain.adapters.mcp.upstream import ServerUnreachable, Upstream
from ascertain.adapters.mcp.words import Said, said_by_host
from ascertain.adapters.told import Fact
from ascertain.adapters.unmade import TOLD, refused
from ascertain.errors import AscertainError, ContractError, ToolChanged
from ascertain.model.words import NotSent
from ascertain.runtime.app import Ascertain
from ascertain.runtime.registry import Entry
from ascertain.runtime.session import Session
from ascertain.runtime.wanting import NONE

log = logging.getLogger("ascertain")

MOST_PARKED: Final = 1000
Answer = dict[str, Any]


class _Host(NamedTuple):
    """Whose call it is, for the door."""

    session: Session
    ordinal: str


def _session_of(host: _Host) -> Session:
    return host.session


def _ordinal_of(call: ToolCall) -> str | None:
    return call.host.ordinal or None


class Proxy:
    """Stands in front of one MCP server.

    :param shared: several hosts may use it at once.
    """

    def __init__(
        self, app: Ascertain, config: ProxyConfig, upstream: Upstream, *, shared: bool = False
    ) -> None:
        self.app = app
        self.config = config
        self.upstream = upstream
        self._pins = Pins(config.pins)
        self._guard = Guard(app, config, self._send)
        self._conversations = Conversations(app, config, shared=shared)
        self._tools: dict[str, Tool] = {}
        self._entries: dict[str, Entry] = {}
        self._seen = ServerPins()
        self._door = Door(app)
        self._stale = True
        self._parked: dict[str, Exchange] = {}
        self._calls: set[asyncio.Task[Any]] = set()
        upstream.on_tools_changed = self._changed

    async def open(self) -> Server[Any]:
        """Connect, declare the tools, and return the server that hosts talk to.

        :raises ServerUnreachable: there is no server.
        :raises ContractError: what is configured of its tools cannot be kept.
        """
        await self._look()
        strange = sorted(set(self.config.tools) - set(self._tools))
        if strange:
            raise ContractError(
                f"The server has no tool {strange[0]!r} (it has {', '.join(sorted(self._tools))}).",
                next_step="Correct its name in ascertain.toml.",
            )
        client = await self.upstream.client()
        info = client.server_info
        server: Server[Any] = Server(
            info.name if info is not None else self.config.name,
            version=(info.version if info is not None else "") or "0",
            instructions=client.instructions,
            on_list_tools=self.list_tools,
        )
        # A result goes on as it is, which a model of it would not let it.
        server.add_request_handler("tools/call", types.CallToolRequestParams, self.call_tool)
        passing.attach(server, self.upstream, client.server_capabilities)
        return server

    async def close(self) -> None:
        """Let what is under way come to its end, and close the connection."""
        if self._calls:
            await asyncio.wait(self._calls, timeout=10.0)
        for task in self._calls:
            task.cancel()
        await self.upstream.close()

    # -- tools/list ------------------------------------------------------------------------------

    async def list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """The tools of the server that are what they were, and one of our own."""
        if self._stale:
            try:
                await self._look()
            except ServerUnreachable as error:
                raise MCPError(types.INTERNAL_ERROR, error.message) from error
        shown = [self._shown(tool) for name, tool in self._tools.items() if name in self._entries]
        tools = [types.Tool.model_validate(tool, by_name=False) for tool in shown]
        return types.ListToolsResult(
            tools=[*tools, self._own_tool()], ttl_ms=0, cache_scope="private"
        )

    def _shown(self, tool: Tool) -> Answer:
        entry = self._entries[str(tool["name"])]
        shown = dict(tool)
        if entry.contract.is_read:
            return shown
        said = self._guard.said(tool)
        if said.key.hides:
            shown["inputSchema"] = without(tool["inputSchema"], [said.key.argument])
        schema = render.output_schema(shown.pop("outputSchema", None))
        return shown if schema is None else {**shown, "outputSchema": schema}

    def _own_tool(self) -> types.Tool:
        return types.Tool(
            name=self.config.model_tool,
            title="What became of earlier calls",
            description=DESCRIPTION,
            input_schema=self._door.next_schema(),
            annotations=types.ToolAnnotations(read_only_hint=True),
        )

    async def _look(self) -> None:
        """Read the server's list anew; what is not what it was is not used."""
        listed = await self.upstream.tools()
        tools = [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in listed]
        if any(tool["name"] == self.config.model_tool for tool in tools):
            raise ContractError(
                f"The server has a tool {self.config.model_tool!r} itself.",
                next_step="Give ours another name: model_tool = in [mcp] of ascertain.toml.",
            )
        self._seen = self._pins.see(self.config.name, tools)
        for name in self._seen.quarantined:
            log.warning("%s of %s is quarantined: %s", name, self.config.name, self._seen.why(name))
        self._tools = {str(tool["name"]): tool for tool in tools}
        good = [tool for name, tool in self._tools.items() if name not in self._seen.quarantined]
        for tool in good:
            name = str(tool["name"])
            if self.app.registry.find(name) is None:
                self._guard.declare(tool)
        self._entries = {
            name: self.app.registry.get(name) for name in (str(tool["name"]) for tool in good)
        }
        writes = [name for name, entry in self._entries.items() if not entry.contract.is_read]
        # Its results go on to the host, so the door has to hand them over.
        self._door = Door(self.app, scope=_session_of, ordinal=_ordinal_of, show=writes)
        self._stale = False

    async def _changed(self) -> None:
        self._stale = True

    # -- tools/call ------------------------------------------------------------------------------

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> Answer:
        """A host's call. What is refused before anything is sent is an error result."""
        meta: Mapping[str, Any] = context.meta or {}
        try:
            if self._stale:
                await self._look()
            answer = await self._called(context, params, meta)
        except AscertainError as error:
            answer = render.of_error(error)
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return render.for_legacy(answer)
        return {"resultType": "complete", **answer}

    async def _called(
        self, context: Context, params: types.CallToolRequestParams, meta: Mapping[str, Any]
    ) -> Answer:
        name, arguments = params.name, params.arguments or {}
        said = said_by_host(meta)
        if name == self.config.model_tool:
            call = await self._call(NEXT, arguments, said)
            return render.of_fact(await self._door.answer_async(call))
        if name not in self._tools:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}")
        if name in self._seen.quarantined:
            error = ToolChanged(
                f"{name} is not what was pinned ({self._seen.why(name)}); nothing was sent.",
                fields=self._seen.why(name).split(", "),
            )
            return render.of_fact(refused(name, error))
        entry = self._entries[name]
        parked = self._parked.pop(params.request_state or "", None)
        if parked is not None and (parked.tool, parked.arguments) == (name, arguments):
            responses = params.model_dump(by_alias=True, mode="json", exclude_none=True)
            parked.resume(context, responses.get("inputResponses") or {})
            return await self._awaited(entry, parked)
        exchange = Exchange(context, name, arguments, meta)
        token = current.set(exchange)
        try:
            made = (
                self._read(entry, arguments)
                if entry.contract.is_read
                else self._write(name, arguments, said)
            )
            exchange.task = asyncio.create_task(made, name=f"ascertain-mcp-{name}")
        finally:
            current.reset(token)
        self._calls.add(exchange.task)
        exchange.task.add_done_callback(self._calls.discard)
        return await self._awaited(entry, exchange)

    async def _read(self, entry: Entry, arguments: Mapping[str, Any]) -> Answer:
        """A read is the server's own result, errors included; the facts where there is none."""
        try:
            with self._conversations.anybody().acting():
                action = await self.app.guarded_async(entry, (), dict(arguments), NONE)
        except TOLD as error:
            return render.of_fact(refused(entry.name, error))
        result: Answer | None = action.result
        if result is not None:
            return dict(result)
        return render.of_fact(Fact(entry.name, action.facts(), confirmed=False))

    async def _write(self, name: str, arguments: Mapping[str, Any], said: Said) -> Answer:
        fact = await self._door.answer_async(await self._call(name, arguments, said))
        exchange = current.get()
        return render.of_write(fact, "" if exchange is None else exchange.error_text)

    async def _call(self, tool: str, arguments: Mapping[str, Any], said: Said) -> ToolCall:
        """The call as all doors make it. A host's own id of it is unique, or none is given."""
        session = await self._conversations.session(said)
        host = _Host(session, said.ordinal)
        return ToolCall(tool, arguments, call_id=said.call_id or None, host=host, unique=True)

    async def _awaited(self, entry: Entry, exchange: Exchange) -> Answer:
        """Wait for the action's end or for a question; a host that leaves does not end a write."""
        task = exchange.task
        assert task is not None
        try:
            await asyncio.wait((task, exchange.question), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            exchange.left()
            if entry.contract.is_read:
                task.cancel()
            raise
        if not task.done():
            return self._park(exchange)
        answer: Answer = task.result()
        return answer

    def _park(self, exchange: Exchange) -> Answer:
        token, requests = exchange.park()
        while len(self._parked) >= MOST_PARKED:
            self._parked.pop(next(iter(self._parked)))
        self._parked[token] = exchange
        return {
            "resultType": "input_required",
            "inputRequests": dict(requests),
            "requestState": token,
        }

    async def _send(
        self, name: str, arguments: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        if name in self._seen.quarantined:
            raise NotSent("tool_changed", retryable=False)
        return await self.upstream.call(name, arguments, meta, current.get())
