"""FastMCP: a middleware that guards the tools of a server, its own or those that it proxies.

::

    server = FastMCP("shop")
    server.add_middleware(AscertainMiddleware(Door(app, scope=session_of, config="ascertain.toml")))

The host's ids come from ``_meta``, as with the proxy; ``scope`` is asked with FastMCP's context.
It has to be the innermost middleware that repeats or times out: add ``RetryMiddleware`` before it,
so that a repeat comes in with the same wish and finds what is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import mcp_types as types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import Tool, ToolResult
from pydantic import TypeAdapter

from ascertain.adapters.calling import ToolCall
from ascertain.adapters.door import DESCRIPTION, Door
from ascertain.adapters.mcp import render
from ascertain.adapters.mcp.answers import ErrorResult
from ascertain.adapters.mcp.guard import ERROR_CODE
from ascertain.adapters.mcp.words import said_by_host
from ascertain.adapters.taking import NEXT
from ascertain.adapters.told import NOTHING
from ascertain.errors import ContractError

Call = types.CallToolRequestParams
_CONTENT: Final[TypeAdapter[list[types.ContentBlock]]] = TypeAdapter(list[types.ContentBlock])


class _Next(Tool):
    """The tool that models get from us; the middleware answers for it."""

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        raise ContractError("The middleware answers for this tool; it is called past it.")


class AscertainMiddleware(Middleware):
    """Every call of a tool that writes ends in a known truth.

    :param door: whose wish it is, and what the tools promise.
    :param trust_annotations: let a tool that nobody declared through untouched where it says
        ``readOnlyHint``; only for tools that you trust.
    """

    def __init__(self, door: Door, *, trust_annotations: bool = False) -> None:
        self._door = door
        self._trust = trust_annotations

    async def on_list_tools(
        self,
        context: MiddlewareContext[types.ListToolsRequest],
        call_next: CallNext[types.ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        """The tools as a model is shown them, and one of ours."""
        shown = [self._shown(tool) for tool in await call_next(context)]
        own = _Next(name=NEXT, description=DESCRIPTION, parameters=self._door.next_schema())
        return [*shown, own]

    async def on_call_tool(
        self, context: MiddlewareContext[Call], call_next: CallNext[Call, ToolResult]
    ) -> ToolResult:
        """One call: the door's, unless it is none of ours."""
        name, host = context.message.name, context.fastmcp_context
        if host is None:
            raise ContractError("FastMCP gave no context with this call; nothing was sent.")
        if name != NEXT:
            tool = await host.fastmcp.get_tool(name)
            if tool is None:
                return await call_next(context)  # the server says that there is none
            self._learn(tool)
            if self._door.passes(name):
                return await call_next(context)
        request = host.request_context
        said = said_by_host(None if request is None else request.meta)
        call = ToolCall(
            name, context.message.arguments or {}, call_id=said.call_id or None, turn=said.turn,
            host=host, unique=True,
        )  # fmt: skip
        texts: list[str] = []

        async def run(arguments: dict[str, Any]) -> dict[str, Any]:
            message = context.message.model_copy(update={"arguments": arguments})
            return _raw(await call_next(context.copy(message=message)), texts)

        fact = await self._door.answer_async(call, run)
        if name == NEXT:
            return _result(render.of_fact(fact._replace(data=NOTHING)))
        return _result(render.of_write(fact, "\n".join(texts)))

    def _learn(self, tool: Tool) -> None:
        hints = tool.annotations
        if (
            self._trust
            and hints is not None
            and hints.read_only_hint
            and not self._door.declared(tool.name)
        ):
            self._door.declare(tool.name, access="pass")
        self._door.learn(tool.name, tool.parameters)

    def _shown(self, tool: Tool) -> Tool:
        self._learn(tool)
        if self._door.passes(tool.name):
            return tool
        return tool.model_copy(
            update={
                "parameters": self._door.shown(tool.name, tool.parameters),
                "output_schema": render.output_schema(tool.output_schema),
            }
        )


def _raw(result: ToolResult, texts: list[str]) -> dict[str, Any]:
    """A result as it is stored.

    :raises ErrorResult: it is an error, which proves nothing about the effect.
    """
    content = _CONTENT.dump_python(result.content, by_alias=True, mode="json", exclude_none=True)
    if result.is_error:
        blocks = cast("list[Mapping[str, Any]]", content)
        texts += [str(block["text"]) for block in blocks if block.get("type") == "text"]
        raise ErrorResult(ERROR_CODE)
    raw = {"content": content, "structuredContent": result.structured_content, "_meta": result.meta}
    return {name: value for name, value in raw.items() if value is not None}


def _result(answer: Mapping[str, Any]) -> ToolResult:
    return ToolResult(
        content=_CONTENT.validate_python(answer["content"]),
        structured_content=answer.get("structuredContent"),
        meta=answer.get("_meta"),
        is_error=bool(answer.get("isError")),
    )
