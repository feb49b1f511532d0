"""The door for the Claude Agent SDK: tools in your process, as one MCP server behind the door.

::

    door = Door(app, scope=lambda call: app.session(call.session_id, principal="u7"))
    desk = GuardedServer("desk", door, tools=[open_ticket], own=["create_ticket"])
    options = ClaudeAgentOptions(
        mcp_servers={"desk": desk.server}, hooks=desk.hooks, allowed_tools=desk.allowed
    )

It takes the place of ``create_sdk_mcp_server``: the tools made by ``@tool`` stay as they are. The
agent runs in a process of its own, which says the id of each call in ``_meta``; the hook hears
which prompt and session it belongs to. Without the hook the whole session is one turn.

Tools that run in the agent's own process (``Bash``, ``Write``) or in other MCP servers do not pass
here: no hook of the SDK can answer for a tool. Servers can stand behind ``ascertain mcp``.

Needs the extra: ``pip install 'ascertain[claude-agent]'``.
"""

# It brings a program of 400 MB along, so it is in an environment of its own.
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import mcp_types as types
from claude_agent_sdk import HookMatcher, McpSdkServerConfig, SdkMcpTool, create_sdk_mcp_server
from mcp import Client
from mcp.server import Server

from ascertain.adapters import told
from ascertain.adapters.calling import ToolCall
from ascertain.adapters.door import DESCRIPTION, Door
from ascertain.adapters.taking import NEXT
from ascertain.adapters.unmade import no_answer

CALL_ID: Final = "claudecode/toolUseId"
MOST_HEARD: Final = 1000
"""Calls that a hook told of and that never came, such as those that a person refused."""


class ClaudeCall(NamedTuple):
    """What the SDK says of a call, for a ``scope`` that is a function.

    :ivar session_id: of the SDK's session; the same where it is resumed. Empty without the hook,
        as are the others. :ivar prompt_id: of the message that is being answered.
    :ivar tool_use_id: the id of the call. :ivar agent_id: of the agent below that makes it.
    """

    tool: str
    tool_use_id: str = ""
    session_id: str = ""
    prompt_id: str = ""
    agent_id: str = ""


class GuardedServer:
    """An MCP server in this process, whose tools are behind the door.

    :ivar server: for ``mcp_servers``, under the same name.
    :ivar hooks: for ``hooks``: it hears of the calls of this server, and decides nothing.
    :ivar allowed: the names of all its tools, for ``allowed_tools``.
    """

    def __init__(
        self,
        name: str,
        door: Door,
        *,
        tools: Sequence[SdkMcpTool[Any]] = (),
        own: Sequence[str] = (),
        turn: Callable[[ClaudeCall], str] | None = None,
    ) -> None:
        """Make the server.

        :param tools: made by the SDK's ``@tool``.
        :param own: names of tools of the app that the agent may call.
        :param turn: the id of the message that is being answered; by default that of the prompt.
        """
        self._door, self._turn = door, turn
        self._tools = {tool.name: tool for tool in tools}
        self._bare = create_sdk_mcp_server(name, tools=list(tools))["instance"]
        self._listed: list[types.Tool] = []
        self._heard: dict[str, Mapping[str, Any]] = {}
        self._own = [*own, NEXT]
        made = Server(name, on_list_tools=self._list, on_call_tool=self._call)
        self.server = McpSdkServerConfig(type="sdk", name=name, instance=made)
        matches = f"mcp__{name}__.*"
        self.hooks: dict[Any, list[HookMatcher]] = {
            "PreToolUse": [HookMatcher(matcher=matches, hooks=[self._hear])]
        }
        self.allowed = [f"mcp__{name}__{one}" for one in [*self._tools, *self._own]]

    async def _hear(self, said: Any, tool_use_id: str | None, _context: Any) -> Any:
        """Remember what the SDK says of a call, until it comes."""
        if tool_use_id:
            while len(self._heard) >= MOST_HEARD:
                del self._heard[next(iter(self._heard))]
            self._heard[tool_use_id] = cast("Mapping[str, Any]", said)
        return {}

    async def _list(self, _context: Any, _params: Any) -> types.ListToolsResult:
        if not self._listed:
            self._listed = [await self._shown(tool) for tool in await self._of_the_sdk()]
            self._listed += [self._mine(name) for name in self._own]
        return types.ListToolsResult(tools=self._listed)

    async def _call(self, context: Any, params: types.CallToolRequestParams) -> Any:
        await self._list(context, None)
        tool = self._tools.get(params.name)
        given = params.arguments or {}
        if tool is not None and self._door.passes(tool.name):
            return await self._passed(tool, given)
        call = self._known(params)
        body = None if tool is None else _Body(tool)
        fact = await self._door.answer_async(
            ToolCall(
                params.name, given, call.tool_use_id or None, host=call,
                turn=call.prompt_id if self._turn is None else self._turn(call),
            ),
            body,
        )  # fmt: skip
        return types.CallToolResult.model_validate(told.claude_agent(fact))

    def _known(self, params: types.CallToolRequestParams) -> ClaudeCall:
        meta = cast("Mapping[str, Any]", params.meta or {})
        use_id = str(meta.get(CALL_ID) or "")
        said = self._heard.pop(use_id, {})
        return ClaudeCall(
            params.name, use_id, *(str(said.get(name) or "") for name in ClaudeCall._fields[2:])
        )

    async def _passed(self, tool: SdkMcpTool[Any], given: dict[str, Any]) -> Any:
        """A tool that is none of ours, as the SDK would have called it."""
        try:
            said = await tool.handler(given)
        except Exception as error:
            fact = no_answer(tool.name, error)
            return types.CallToolResult.model_validate(told.claude_agent(fact))
        shown = {"content": said.get("content", []), "isError": bool(said.get("is_error"))}
        return types.CallToolResult.model_validate(shown)

    async def _of_the_sdk(self) -> list[types.Tool]:
        """The tools as the SDK's own server lists them."""
        if not self._tools:
            return []
        async with Client(self._bare) as client:
            return (await client.list_tools()).tools

    async def _shown(self, tool: types.Tool) -> types.Tool:
        if self._door.passes(tool.name):
            return tool
        self._door.learn(tool.name, tool.input_schema)
        schema = dict(self._door.shown(tool.name, tool.input_schema))
        return tool.model_copy(update={"input_schema": schema})

    def _mine(self, name: str) -> types.Tool:
        if name == NEXT:
            description, schema = DESCRIPTION, self._door.next_schema()
        else:
            description, schema = self._door.own(name)
        return types.Tool(name=name, description=description, input_schema=schema)


class _Body:
    """The handler of a tool, as the body of a guest."""

    def __init__(self, tool: SdkMcpTool[Any]) -> None:
        self._tool = tool

    async def __call__(self, arguments: dict[str, Any]) -> Any:
        said = await self._tool.handler(arguments)
        if said.get("is_error"):
            raise ToolSaidError
        parts: list[dict[str, Any]] = said.get("content", [])
        return parts[0]["text"] if len(parts) == 1 and "text" in parts[0] else _plain(parts)


class ToolSaidError(Exception):
    """A tool's answer has ``is_error``: what it had done by then, nobody knows."""


def _plain(parts: list[dict[str, Any]]) -> Any:
    return json.loads(json.dumps(parts, default=str))
