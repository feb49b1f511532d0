"""The door for the OpenAI Agents SDK: tools of an agent, guarded one by one.

::

    door = Door(app, scope=lambda ctx: app.session(ctx.context.chat, principal=ctx.context.user))
    agent = Agent(name="desk", tools=guarded(door, "create_ticket", send_mail))

The SDK knows no conversation, so the program says whose wish a call is (``scope=``), and which
message is being answered (``turn=``). It has no flag for errors either: the facts say it. Its own
words for an error, "Please try again.", never reach a model.

Needs the extra: ``pip install 'ascertain[openai-agents]'``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import Any

from agents import FunctionTool, RunContextWrapper
from agents.mcp import MCPServer, MCPUtil
from agents.tool import set_function_tool_failure_error_function
from agents.tool_context import ToolContext
from pydantic_core import to_jsonable_python

from ascertain.adapters import told
from ascertain.adapters.calling import ToolCall
from ascertain.adapters.door import DESCRIPTION, Door, ScopeOf
from ascertain.adapters.guests import Run
from ascertain.adapters.pausing import waits
from ascertain.adapters.taking import NEXT
from ascertain.errors import ContractError, NoScope
from ascertain.model.contract import Approval
from ascertain.runtime.attempt import current_attempt
from ascertain.runtime.deadline import deadline
from ascertain.runtime.session import Session

Context = ToolContext[Any]
Bodied = Callable[[Context], Run]
KEY = "ascertain.dev/idempotency-key"


def guarded(
    door: Door,
    *tools: FunctionTool | str,
    scope: ScopeOf | None = None,
    turn: Callable[[Context], str] | None = None,
    pauses: bool = False,
) -> list[FunctionTool]:
    """All these tools behind the door, and the one that takes what ``next_allowed`` offers.

    :raises ContractError: one that cannot be guarded. :raises NoScope: as for :func:`guard`.
    """
    made = [guard(tool, door, scope=scope, turn=turn, pauses=pauses) for tool in tools]
    following = _shown(NEXT, DESCRIPTION, door.next_schema())
    return [*made, _behind(following, door, None, scope, turn)]


def guard(
    tool: FunctionTool | str,
    door: Door,
    *,
    scope: ScopeOf | None = None,
    turn: Callable[[Context], str] | None = None,
    pauses: bool = False,
) -> FunctionTool:
    """A tool behind the door; the tool that was given stays as it is.

    Its ``timeout_seconds`` bounds the guarded call: the SDK's own would tell a model that it is
    over while it goes on.

    :param tool: the SDK's, or the name of a tool of the app.
    :param scope: whose wish a call is, where the door does not say: a session, or a function of the
        SDK's ``ToolContext`` that returns one.
    :param turn: the id of the message that is being answered; without it the whole session is one
        turn, in which the same intent is one action.
    :param pauses: whether a call that needs an approval by its contract interrupts the run. It is
        in the ledger by then; what the SDK calls approved is sent only if the ledger knows of it.
    :raises ContractError: it runs at the provider, or is an agent: guard that agent's tools.
    :raises NoScope: ``scope`` is neither a session nor a function.
    """
    if isinstance(tool, str):
        return _behind(_shown(tool, *door.own(tool)), door, None, scope, turn, pauses=pauses)
    if not isinstance(tool, FunctionTool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ContractError(
            f"{type(tool).__name__} runs at the provider; no door stands before it."
        )
    if getattr(tool, "_is_agent_tool", False):
        raise ContractError(
            f"{tool.name} is an agent.", next_step="Guard the tools of that agent instead."
        )
    if door.passes(tool.name):
        return tool
    door.learn(tool.name, tool.params_json_schema)
    inner = set_function_tool_failure_error_function(copy(tool), None)

    def body_of(ctx: Context) -> Run:
        async def body(values: dict[str, Any]) -> Any:
            said = await inner.on_invoke_tool(ctx, json.dumps(values))
            return to_jsonable_python(said, fallback=str)

        return body

    return _behind(tool, door, body_of, scope, turn, pauses=pauses)


async def guarded_server(
    door: Door,
    server: MCPServer,
    *,
    scope: ScopeOf | None = None,
    turn: Callable[[Context], str] | None = None,
    pauses: bool = False,
) -> list[FunctionTool]:
    """The tools of a connected MCP server behind the door: for ``tools=``, not ``mcp_servers=``.

    The server's ``max_retry_attempts`` become 0: it would send a call again after any error, a
    timeout too. The idempotency key goes along in ``_meta``.

    :raises NoScope: as for :func:`guard`.
    """
    if getattr(server, "max_retry_attempts", 0):
        server.max_retry_attempts = 0  # type: ignore[attr-defined]
    made: list[FunctionTool] = []
    for listed in await server.list_tools():
        shown = MCPUtil.to_function_tool(listed, server, convert_schemas_to_strict=False)
        if not door.passes(shown.name):
            door.learn(shown.name, shown.params_json_schema)
            shown = _behind(shown, door, _sent_to(server, listed.name), scope, turn, pauses=pauses)
        made.append(shown)
    return made


def _sent_to(server: MCPServer, name: str) -> Bodied:
    async def body(values: dict[str, Any]) -> Any:
        key = current_attempt().key
        reply: Any = await server.call_tool(name, values, meta={KEY: key} if key else None)
        answer = reply.model_dump(mode="json", by_alias=True, exclude_none=True)
        if answer.get("isError"):
            raise RuntimeError(f"{name} answered with an error")  # which is not "did not happen"
        parts: list[dict[str, Any]] = answer.get("content", [])
        if answer.get("structuredContent"):
            return answer["structuredContent"]
        return parts[0]["text"] if len(parts) == 1 and "text" in parts[0] else parts

    return lambda _ctx: body


def _behind(
    tool: FunctionTool,
    door: Door,
    body_of: Bodied | None,
    scope: ScopeOf | None,
    turn: Callable[[Context], str] | None,
    *,
    pauses: bool = False,
) -> FunctionTool:
    if scope is not None and not (isinstance(scope, Session) or callable(scope)):
        raise NoScope(f"scope= is {type(scope).__name__}, neither a session nor a function.")
    timeout_s, asks = tool.timeout_seconds, tool.needs_approval

    async def answer(ctx: Context, arguments: str) -> told.Fact:
        call = ToolCall(
            tool.name, arguments, ctx.tool_call_id, turn=turn(ctx) if turn else "", host=ctx,
            whole=getattr(ctx.tool_call, "status", None) != "incomplete",
        )  # fmt: skip
        with _within(scope, ctx), nullcontext() if timeout_s is None else deadline(timeout_s):
            return await door.answer_async(call, body_of(ctx) if body_of else None)

    async def invoke(ctx: Context, arguments: str) -> str:
        return told.openai_agents(await answer(ctx, arguments))

    async def held(ctx: RunContextWrapper[Any], given: dict[str, Any], call_id: str) -> bool:
        """Whether it waits for an approval; then it is stored, and nothing of it is sent."""
        if asks is True or (callable(asks) and await asks(ctx, given, call_id)):
            return True
        arguments = json.dumps(given)
        context = Context.from_agent_context(
            ctx, call_id, tool_name=tool.name, tool_arguments=arguments
        )
        fact = await answer(context, arguments)
        found = await asyncio.get_running_loop().run_in_executor(None, waits, door.app, fact)
        return found is not None

    made = set_function_tool_failure_error_function(copy(tool), None)
    made.on_invoke_tool = invoke
    made.params_json_schema = dict(door.shown(tool.name, tool.params_json_schema))
    vars(made).update({"timeout_seconds": None, "output_json_schema": None})
    entry = door.app.registry.find(tool.name)
    needs = entry is not None and entry.contract.approval is Approval.ALWAYS
    if pauses and needs and not tool.tool_input_guardrails:
        made.needs_approval = held
    return made


def _within(scope: ScopeOf | None, ctx: Context) -> AbstractContextManager[Any]:
    if scope is None:
        return nullcontext()
    found: object = scope if isinstance(scope, Session) else scope(ctx)
    if not isinstance(found, Session):
        raise NoScope(f"scope= gave {type(found).__name__}, which is no session.")
    return found.acting()


def _shown(name: str, description: str, schema: Mapping[str, Any]) -> FunctionTool:
    """A tool as the model sees it; its calls are made by the door."""
    return FunctionTool(name, description, dict(schema), _unbound, strict_json_schema=False)


def _unbound(_ctx: Context, _arguments: str) -> Awaitable[Any]:
    raise AssertionError("this tool is answered by the door")
