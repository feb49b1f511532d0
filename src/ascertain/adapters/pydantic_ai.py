"""The door for Pydantic AI: a capability through which every tool call of an agent goes.

::

    door = Door(app, scope=lambda ctx: app.session(ctx.conversation_id, principal=ctx.deps.user))
    agent = Agent(model, tools=[send_mail], capabilities=[Guard(door, own=["create_ticket"])])

A confirmed call returns the facts. Any other is a ``ToolFailed`` with the facts: the framework's
retry prompt, which asks a model to call once more, is never what a lost answer turns into.

Needs the extra: ``pip install 'ascertain[pydantic-ai]'``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pydantic_ai import ApprovalRequired, CallDeferred, ModelRetry, RunContext, Tool, ToolFailed
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturn,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset
from pydantic_core import ValidationError, to_json, to_jsonable_python

from ascertain.adapters import told, unmade
from ascertain.adapters.calling import ToolCall
from ascertain.adapters.door import DESCRIPTION, Door
from ascertain.adapters.pausing import waits
from ascertain.adapters.taking import NEXT
from ascertain.adapters.told import Fact
from ascertain.errors import InvalidArguments
from ascertain.model.words import Accepted, NotSent
from ascertain.runtime.deadline import deadline

Handler = Callable[[dict[str, Any]], Awaitable[Any]]

WAITS = "waits_for_approval"
CUT = ("length", "content_filter", "error")


@dataclass
class Guard(AbstractCapability[Any]):
    """Guards the tools of an agent, and shows it the app's own.

    :param door: which tools promise what, and whose wish a call is.
    :param own: names of tools of the app that the agent may call.
    :param turn: the id of the message that is being answered; by default the id of the run that
        brought the last user prompt, which is the same when a history is resumed.
    :param pauses: whether a call that waits for a person ends the run with ``DeferredToolRequests``
        (which must then be among the agent's output types). Resumed, it finds its action: what the
        framework calls approved is sent only if the ledger knows of an approval.
    """

    door: Door
    own: Sequence[str] = ()
    turn: Callable[[RunContext[Any]], str] | None = None
    pauses: bool = False
    _timeouts: dict[str, float] = field(default_factory=dict[str, float], init=False, repr=False)

    def get_ordering(self) -> CapabilityOrdering:
        """Innermost: what repeats a call outside finds the action that it has made."""
        return CapabilityOrdering(position="innermost")

    def get_toolset(self) -> FunctionToolset[Any]:
        """The app's own tools, and the one that takes what ``next_allowed`` offers."""
        shown = [(NEXT, DESCRIPTION, self.door.next_schema())]
        shown += [(name, *self.door.own(name)) for name in self.own]
        return FunctionToolset(
            [Tool[Any].from_schema(_answered_by_the_door, *one) for one in shown], id=NEXT
        )

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """Hear of the agent's tools; what the program fills is not shown, their timeouts are ours.

        The framework's own timeout asks the model to call again, while the first call goes on.
        """
        guests = [one for one in tool_defs if one.name != NEXT and one.kind != "external"]
        for one in guests:
            self.door.learn(one.name, one.parameters_json_schema)
        return [self._shown(one) for one in tool_defs]

    async def before_tool_validate(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: str | dict[str, Any],
    ) -> str | dict[str, Any]:
        """Stand in for what the program fills, of which the framework checks that it is there."""
        filled = self.door.filled(call.tool_name)
        if not filled:
            return args
        return {**call.args_as_dict(), **dict.fromkeys(filled, "")}

    async def on_tool_validate_error(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: Any,
        error: ValidationError | ModelRetry,
    ) -> Any:
        """Tell what needs correcting; nothing was sent."""
        if self._passes(tool_def):
            raise error
        raise ToolFailed(told.text(unmade.refused(call.tool_name, _misfit(error))))

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Handler,
    ) -> Any:
        """Make the call by the door; the framework's own handler is the body of a guest."""
        if self._passes(tool_def):
            return await handler(args)
        run = _Run(ctx, call, args, handler)
        own = call.tool_name == NEXT or call.tool_name in self.own
        with self._bounded(call.tool_name):
            fact = await self.door.answer_async(self._call(ctx, call, run), None if own else run)
        if run.deferred is not None:
            raise run.deferred
        if fact.confirmed:
            return told.pydantic_ai(fact)
        if self.pauses:
            await self._pause(fact)
        raise ToolFailed(told.text(fact))

    # -- what the framework knows ---------------------------------------------------------------

    def _call(self, ctx: RunContext[Any], call: ToolCallPart, run: _Run) -> ToolCall:
        response = _response(ctx, call)
        return ToolCall(
            call.tool_name,
            run.stored,
            f"{call.tool_call_id}/approved" if ctx.tool_call_approved else call.tool_call_id,
            turn=(self.turn or turn_of)(ctx),
            message_id="" if response is None else response.provider_response_id or "",
            host=ctx,
            whole=response is None or response.finish_reason not in CUT,
        )

    def _passes(self, tool: ToolDefinition) -> bool:
        return tool.kind == "external" or self.door.passes(tool.name)

    def _shown(self, tool: ToolDefinition) -> ToolDefinition:
        if tool.name == NEXT:
            return replace(tool, parameters_json_schema=self.door.next_schema())
        if self._passes(tool):
            return tool
        if tool.timeout is not None:
            self._timeouts[tool.name] = tool.timeout
        schema = dict(self.door.shown(tool.name, tool.parameters_json_schema))
        return replace(tool, parameters_json_schema=schema, timeout=None)

    def _bounded(self, tool: str) -> AbstractContextManager[Any]:
        timeout_s = self._timeouts.get(tool)
        return nullcontext() if timeout_s is None else deadline(timeout_s)

    async def _pause(self, fact: Fact) -> None:
        """End the run where a person is waited for: everything is in the ledger by now."""
        found = await asyncio.get_running_loop().run_in_executor(None, waits, self.door.app, fact)
        if found is not None:
            raise ApprovalRequired(metadata={**told.told(fact), **found})


class _Run:
    """The framework's handler, as the body of a guest.

    :ivar stored: the arguments as JSON, after the framework has checked them.
    :ivar deferred: what the tool itself asked for instead of doing it.
    """

    def __init__(
        self, ctx: RunContext[Any], call: ToolCallPart, args: dict[str, Any], handler: Handler
    ) -> None:
        self._ctx, self._call, self._args, self._handler = ctx, call, args, handler
        self.stored: dict[str, Any] = to_jsonable_python(args)
        self.deferred: ApprovalRequired | CallDeferred | None = None

    async def __call__(self, values: dict[str, Any]) -> Any:
        args = self._args if values == self.stored else self._checked(values)
        try:
            value = await self._handler(args)
        except ApprovalRequired as asked:
            self.deferred = asked
            raise NotSent(WAITS, retryable=False) from None
        except CallDeferred as handed_over:
            self.deferred = handed_over
            return Accepted(self._call.tool_call_id)
        value = cast("Any", value).return_value if isinstance(value, ToolReturn) else value
        return to_jsonable_python(value, fallback=str)

    def _checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What was stored by an earlier call, or filled by the program, as the tool takes it."""
        tools = self._ctx.tool_manager.tools if self._ctx.tool_manager is not None else None
        if tools is None or self._call.tool_name not in tools:
            return dict(values)
        checked: dict[str, Any] = tools[self._call.tool_name].args_validator.validate_json(
            to_json(values), context=self._ctx.validation_context
        )
        return checked


def turn_of(ctx: RunContext[Any]) -> str:
    """The id of the run that brought the last user prompt: the same when a history is resumed."""
    for message in reversed(ctx.messages):
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, UserPromptPart):
                    return message.run_id or part.timestamp.isoformat()
    return ctx.run_id or ""


def _response(ctx: RunContext[Any], call: ToolCallPart) -> ModelResponse | None:
    """The model's message that holds the call."""
    for message in reversed(ctx.messages):
        if isinstance(message, ModelResponse) and any(
            isinstance(part, ToolCallPart) and part.tool_call_id == call.tool_call_id
            for part in message.parts
        ):
            return message
    return None


def _misfit(error: ValidationError | ModelRetry) -> InvalidArguments:
    if isinstance(error, ModelRetry):
        return InvalidArguments(error.message)
    found = error.errors(include_url=False, include_context=False, include_input=False)
    said = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found]
    return InvalidArguments("; ".join(said))


def _answered_by_the_door(**_arguments: Any) -> Any:
    raise AssertionError("this tool is answered by the door")
