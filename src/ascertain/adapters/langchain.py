"""A door for LangChain's agents, as a middleware.

::

    door = Door(app, scope=thread_scope(app, principal=lambda request: user_of(request)))
    agent = create_agent(
        model, [open_case], middleware=[AscertainMiddleware(door, own=["create_ticket"])]
    )

It brings the own tools and the tool ``ascertain`` along. Put it last: the last middleware is the
innermost, and owns the send. One outside of it that repeats calls meets the facts that are stored.
See :mod:`ascertain.adapters.langgraph` for ids, turns and pauses.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest

from ascertain.adapters.door import Door
from ascertain.adapters.langgraph import Answer, Guard, thread_scope

__all__ = ["AscertainMiddleware", "thread_scope"]


class AscertainMiddleware(AgentMiddleware[Any, Any, Any]):
    """Every tool call of the agent goes through the door."""

    def __init__(
        self,
        door: Door,
        *,
        own: Sequence[str] = (),
        guests: Sequence[BaseTool] = (),
        pauses: bool = False,
        strict: bool = False,
    ) -> None:
        """Say what goes through; see :class:`~ascertain.adapters.langgraph.Guard`."""
        self._guard = Guard(door, own=own, guests=guests, pauses=pauses, strict=strict)
        self.tools = self._guard.tools

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]
    ) -> Answer:
        return self._guard.wrap_tool_call(request, handler)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        return await self._guard.awrap_tool_call(request, handler)
