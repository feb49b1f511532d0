"""The proxy: a server to the host, a client of the server, and the ledger in between."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ServerEvent, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ascertain.adapters import pausing
from ascertain.adapters.calling import ToolCall
from ascertain.adapters.door import DESCRIPTION, Door
from ascertain.adapters.mcp import passing, pause, render
from ascertain.adapters.mcp.again import came_back
from ascertain.adapters.mcp.catalogue import Catalogue
from ascertain.adapters.mcp.config import ProxyConfig
from ascertain.adapters.mcp.conversations import Conversations
from ascertain.adapters.mcp.exchange import Context, Exchange, NobodyToAsk, current
from ascertain.adapters.mcp.guard import Guard
from ascertain.adapters.mcp.hosts import Front, Hosts
from ascertain.adapters.mcp.link import ServerUnreachable
from ascertain.adapters.mcp.upstream import Upstream
from ascertain.adapters.mcp.words import Said, said_by_host
from ascertain.adapters.taking import NEXT
from ascertain.adapters.told import Fact
from ascertain.adapters.unmade import TOLD, refused
from ascertain.errors import AscertainError, ToolChanged
from ascertain.model.words import NotSent
from ascertain.runtime.app import Ascertain
from ascertain.runtime.registry import Entry
from ascertain.runtime.session import Session
from ascertain.runtime.wanting import NONE

log = logging.getLogger("ascertain")

R = TypeVar("R")

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
        self._catalogue = Catalogue(app, config, upstream, Guard(app, config, self._send))
        self._conversations = Conversations(app, config, shared=shared)
        # Results go on to the host, so the door hands them over.
        self._door = Door(app, scope=_session_of, ordinal=_ordinal_of, show=True)
        self._shared = shared
        self._hosts = Hosts(shared=shared)
        self._parked: dict[str, Exchange] = {}
        self._calls: set[asyncio.Task[Any]] = set()
        upstream.on_change, upstream.on_log = self._changed, self._hosts.logs
        upstream.on_missed = self._catalogue.changed
        upstream.ask_host = None if shared else self._hosts.ask

    async def open(self) -> Server[Any]:
        """Connect, declare the tools, and return the server that hosts talk to.

        :raises ServerUnreachable: there is no server.
        :raises ContractError: what is configured of its tools cannot be kept.
        """
        await self._catalogue.current()
        self._catalogue.check_names()
        client = await self.upstream.client()
        info = client.server_info
        offered = client.server_capabilities
        server = Front(
            info.name if info is not None else self.config.name,
            version=(info.version if info is not None else "") or "0",
            instructions=client.instructions,
            on_list_tools=self.list_tools,
            offered=offered,
        )
        # A result goes on as it is, which a model of it would not let it.
        server.add_request_handler("tools/call", types.CallToolRequestParams, self.call_tool)
        self._hosts.attach(server)
        passing.attach(server, self.upstream, offered)
        if not self._shared:
            passing.attach_one(server, self.upstream, offered)
        return server

    async def close(self) -> None:
        """Let what is under way come to its end, and close the connection."""
        self._hosts.close()
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
        try:
            await self._catalogue.current()
        except AscertainError as error:
            raise MCPError(types.INTERNAL_ERROR, error.message) from error
        return types.ListToolsResult(
            tools=[*self._catalogue.shown(), self._own_tool()], ttl_ms=0, cache_scope="private"
        )

    def _own_tool(self) -> types.Tool:
        schema = self._door.next_schema()
        undoes = "provider_ref" in schema["properties"]
        return types.Tool(
            name=self.config.model_tool,
            title="What became of earlier calls",
            description=DESCRIPTION,
            input_schema=schema,
            annotations=types.ToolAnnotations(read_only_hint=not undoes),
        )

    async def _changed(self, event: ServerEvent) -> None:
        """The server lists something else. From now on its tools are looked at before a call."""
        if isinstance(event, ToolsListChanged):
            self._catalogue.changed()
        self._kept(asyncio.create_task(self._tell(event), name="ascertain-mcp-changed"))

    async def _tell(self, event: ServerEvent) -> None:
        """What differs is quarantined before a host hears that it should look."""
        try:
            await self._catalogue.current()
        except AscertainError as error:
            log.warning("%s: its tools have changed, and %s", self.config.name, error.message)
        await self._hosts.changed(event)

    # -- tools/call ------------------------------------------------------------------------------

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> Answer:
        """A host's call. What is refused before anything is sent is an error result."""
        meta: Mapping[str, Any] = context.meta or {}
        try:
            await self._catalogue.current()
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
        if name not in self._catalogue.tools:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}")
        entry = self._catalogue.entries.get(name)
        if entry is None:
            why = self._catalogue.pins.why(name) or "released"
            error = ToolChanged(
                f"{name} is not what was pinned ({why}); nothing was sent.", fields=why.split(", ")
            )
            return render.of_fact(refused(name, error))
        parked = self._parked.pop(params.request_state or "", None)
        if parked is not None and (parked.tool, parked.arguments) == (name, arguments):
            responses = params.model_dump(by_alias=True, mode="json", exclude_none=True)
            parked.resume(context, responses.get("inputResponses") or {})
            return await self._ended(entry, parked, said)
        exchange = Exchange(context, name, arguments, meta)
        if entry.contract.is_read:
            self._start(exchange, self._read(entry, arguments))
            return await self._awaited(entry, exchange)
        about = pause.action_in(params.request_state)
        self._start(exchange, self._write(entry, exchange, said, about))
        return await self._ended(entry, exchange, said, asked=bool(about))

    def _start(self, exchange: Exchange, made: Coroutine[Any, Any, Answer]) -> None:
        """Begin what goes on when the host leaves."""
        token = current.set(exchange)
        try:
            exchange.task = asyncio.create_task(made, name=f"ascertain-mcp-{exchange.tool}")
        finally:
            current.reset(token)
        self._kept(exchange.task)

    def _kept(self, task: asyncio.Task[Any]) -> None:
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

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

    async def _write(self, entry: Entry, exchange: Exchange, said: Said, about: str) -> Answer:
        """A write, or what has become of it.

        :param about: the action that a call which comes back says it is about. What is settled is
            told; else it is the same wish, however long a person took.
        """
        exchange.fact, record = None, None
        if about:
            session = await self._conversations.session(said)
            record = await _apart(
                came_back, self.app, entry, session, exchange.arguments, said.ordinal, about
            )
        if record is not None and record.terminal:
            action = self.app.action(record.id)
            fact = await _apart(self._door.fact_of, entry.name, action)
        else:
            said = said if record is None else said._replace(turn=record.turn)
            call = await self._call(entry.name, exchange.arguments, said)
            fact = await self._door.answer_async(call)
        exchange.fact = fact
        return render.of_write(fact, exchange.error_text)

    async def _ended(
        self, entry: Entry, exchange: Exchange, said: Said, *, asked: bool = False
    ) -> Answer:
        """The call's end; one that waits for a person is left with the host, once.

        :param asked: it was left there already.
        """
        answer = await self._awaited(entry, exchange)
        fact = exchange.fact
        if asked or not self.config.pauses or fact is None or not fact.needs_person:
            return answer
        waits = await _apart(pausing.waits, self.app, fact)
        if waits is None:
            return answer
        paused = pause.pause_of(entry.name, waits)
        left_s = exchange.began_at + entry.contract.budget.turn_s - time.monotonic()
        if not exchange.can_be_asked(paused.requests[pause.ASKED]) or left_s < pause.LEAST_S:
            return answer
        if exchange.modern:
            return _input_required(paused.requests, paused.state)
        try:
            async with asyncio.timeout(left_s):
                await exchange.ask(paused.requests)
        except (NobodyToAsk, TimeoutError):
            return answer
        about = pause.action_in(paused.state)
        self._start(exchange, self._write(entry, exchange, said, about))
        return await self._awaited(entry, exchange)

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
        return _input_required(requests, token)

    async def _send(
        self, name: str, arguments: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Call a tool of the server, if it is what was pinned on the connection that is used."""
        try:
            await self.upstream.client()
            await self._catalogue.current()
        except ServerUnreachable as error:
            raise NotSent("never_connected") from error
        except AscertainError as error:
            raise NotSent("tool_changed", retryable=False) from error
        if name in self._catalogue.pins.quarantined:
            raise NotSent("tool_changed", retryable=False)
        return await self.upstream.call(name, arguments, meta, current.get())


def _input_required(requests: Mapping[str, Any], state: str) -> Answer:
    """An interim result: the host asks its person, and calls again with the answers."""
    return {
        "resultType": "input_required",
        "inputRequests": dict(requests),
        "requestState": state,
    }


async def _apart(function: Callable[..., R], *args: Any) -> R:
    """Read the ledger without blocking the loop."""
    return await asyncio.get_running_loop().run_in_executor(None, function, *args)
