"""The door for Strands Agents: a middleware puts it in the place of every tool of an agent.

::

    door = Door(
        app,
        scope=lambda ctx: app.session(
            ctx.invocation_state["chat"], principal=ctx.invocation_state["user"]
        ),
    )
    agent = guard(Agent(model, tools=[open_ticket]), door, own=["create_ticket"])
    agent("...", invocation_state={"chat": "chat-42", "user": "u7"})

It is inside of all that wraps a call: a middleware that calls the next one twice, and a hook that
asks for a retry (``AfterToolCallEvent.retry``), meet the fact that is stored.

The turn is the last message of a person, by the id that the SDK keeps with it in a session; the
replay key is the model's message and the id of the call. A message that was cut off by its length
has none of its calls made: the SDK itself ends such a run.

Needs the extra: ``pip install 'ascertain[strands]'``.
"""

# The SDK needs another version of `mcp` than other doors: it is in an environment of its own.
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar, cast

from strands.interrupt import InterruptException
from strands.middleware import ExecuteToolStage, InvokeModelStage, ToolResultEvent
from strands.tools import PythonAgentTool
from strands.types._events import ToolInterruptEvent
from strands.types.tools import AgentTool

from ascertain.adapters import told
from ascertain.adapters.calling import ToolCall
from ascertain.adapters.door import DESCRIPTION, Door
from ascertain.adapters.pausing import waits
from ascertain.adapters.taking import NEXT
from ascertain.adapters.told import Fact

AgentT = TypeVar("AgentT")
Events = AsyncGenerator[Any, None]

MISTAKE: Final = "ascertain.mistake"
NO_EFFECT: Final = ("structured_output", "agent")
"""Types of tools that do nothing themselves: the form of an answer, and agents, whose own tools do.
"""


def guard(
    agent: AgentT,
    door: Door,
    *,
    own: Sequence[str] = (),
    turn: Callable[[Any], str] | None = None,
    pauses: bool = False,
) -> AgentT:
    """Let every tool call of this agent go through the door; gives back the agent.

    :param own: names of tools of the app that the agent may call.
    :param turn: the id of the message that is being answered, from the SDK's
        ``ExecuteToolContext``; by default that of the last message of a person (:func:`turn_of`).
    :param pauses: whether a call that waits for a person interrupts the agent. It is in the ledger
        by then, and the verdict is given there: what the agent is resumed with is not believed.
    """
    made = _Guard(door, turn or turn_of, pauses=pauses)
    registry: Any = cast("Any", agent).tool_registry
    for name in own:
        registry.register_tool(_shown(name, *door.own(name)))
    registry.register_tool(_shown(NEXT, DESCRIPTION, door.next_schema()))
    cast("Any", agent).add_middleware(InvokeModelStage.Input, made.shown)
    cast("Any", agent).add_middleware(ExecuteToolStage.Input, made.guarded)
    return agent


class _Guard:
    def __init__(self, door: Door, turn: Callable[[Any], str], *, pauses: bool) -> None:
        self.door, self._turn, self._pauses = door, turn, pauses

    def shown(self, context: Any) -> Any:
        """Hear of the agent's tools; what the program fills is not shown to its model.

        The SDK makes a result for the model of whatever a tool raises. What the program does wrong
        is raised here, before the model is asked again.
        """
        mistake = context.invocation_state.pop(MISTAKE, None)
        if mistake is not None:
            raise mistake
        return context.replace(tool_specs=[self._spec(spec) for spec in context.tool_specs])

    def guarded(self, context: Any) -> Any:
        """Put the door in the place of the tool, inside of all that wraps its calls."""
        tool = context.tool
        if tool is None or tool.tool_type in NO_EFFECT or self.door.passes(tool.tool_name):
            return context
        if tool.tool_name != NEXT:
            self.door.learn(tool.tool_name, _json_schema(tool.tool_spec))
        return context.replace(tool=_Behind(self, context))

    def call(self, context: Any, use: Mapping[str, Any]) -> ToolCall:
        """The call with its ids. Others of the chain may have changed its arguments."""
        return ToolCall(
            use["name"], use["input"], use["toolUseId"], turn=self._turn(context),
            message_id=_message_id(context), host=context,
        )  # fmt: skip

    async def pause(self, context: Any, fact: Fact) -> None:
        """Interrupt the agent where a person is waited for; nothing once it was resumed."""
        if not (self._pauses and fact.needs_person):
            return
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(None, waits, self.door.app, fact)
        if found is not None:
            context.interrupt(f"ascertain:{fact.action}", reason={**told.told(fact), **found})

    def _spec(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        name = spec["name"]
        if name == NEXT or self.door.passes(name):
            return dict(spec)
        self.door.learn(name, _json_schema(spec))
        schema = self.door.shown(name, _json_schema(spec))
        return {**spec, "inputSchema": {"json": dict(schema)}}


class _Behind(AgentTool):  # type: ignore[misc]
    """A tool behind the door, for one call: the agent meets it in the tool's place."""

    def __init__(self, guard: _Guard, context: Any) -> None:
        super().__init__()
        self._guard, self._context = guard, context
        self._tool = context.tool

    @property
    def tool_name(self) -> str:
        return str(self._tool.tool_name)

    @property
    def tool_spec(self) -> Any:
        return self._tool.tool_spec

    @property
    def tool_type(self) -> str:
        return str(self._tool.tool_type)

    async def stream(self, tool_use: Any, invocation_state: dict[str, Any], **more: Any) -> Events:
        """Make the call; the tool's own stream is the body of a guest."""
        context = self._context
        body = _Body(self._tool, tool_use, partial(self._streamed, invocation_state, more))
        call = self._guard.call(context, tool_use)
        making = asyncio.ensure_future(self._guard.door.answer_async(call, body))
        async for event in body.until(making):
            yield event
        try:
            fact = making.result()
        except Exception as mistake:
            context.invocation_state[MISTAKE] = mistake
            raise
        if isinstance(body.pause, Exception):
            raise body.pause
        if body.pause is not None:
            yield body.pause
            return
        await self._guard.pause(context, fact)
        yield ToolResultEvent(told.strands(fact, tool_use["toolUseId"]))

    def _streamed(self, state: dict[str, Any], more: dict[str, Any], use: Any) -> Events:
        stream: Events = self._tool.stream(use, state, **more)
        return stream


class _Body:
    """The tool's own stream, as the body of a guest; its events go to the agent at once.

    It goes on where the agent is cancelled, so that a late answer is heard.

    :ivar pause: what interrupts the agent, if the tool asked for that in the middle of its work.
    """

    def __init__(self, tool: Any, use: Mapping[str, Any], stream: Callable[[Any], Events]) -> None:
        self._tool, self._use, self._stream = tool, use, stream
        self._events: asyncio.Queue[Any] = asyncio.Queue()
        self.pause: Any = None

    async def __call__(self, arguments: dict[str, Any]) -> Any:
        self.pause = None
        last: Any = None
        try:
            async for event in self._stream({**self._use, "input": arguments}):
                last = event
                if isinstance(event, ToolResultEvent):
                    break
                if isinstance(event, ToolInterruptEvent):
                    self.pause = event
                    raise ToolSaidError
                self._events.put_nowait(event)
        except InterruptException as asked:
            self.pause = asked
            raise
        return _answer(last)

    async def until(self, making: asyncio.Future[Fact]) -> Events:
        """The events of the tool, until the call was made. Who is cancelled cancels the call."""
        making.add_done_callback(lambda _: self._events.put_nowait(making))
        try:
            while (event := await self._events.get()) is not making:
                yield event
        finally:
            if not making.done():
                making.cancel()
                await asyncio.wait([making])


class ToolSaidError(Exception):
    """A tool ended with the status "error", or in a pause: what it had done by then, nobody knows.

    It is told as unknown; a look-up says what is true.
    """


def turn_of(context: Any) -> str:
    """The last message of a person: its id, or its place among them where it has none."""
    asked = [
        message
        for message in context.agent.messages
        if message["role"] == "user" and not any("toolResult" in one for one in message["content"])
    ]
    return str((asked and asked[-1].get("tracking_id")) or len(asked))


def _message_id(context: Any) -> str:
    """The model's message that holds the call, by the id that is kept with it."""
    use_id = context.tool_use["toolUseId"]
    for message in reversed(context.agent.messages):
        uses = [one["toolUse"] for one in message["content"] if "toolUse" in one]
        if any(use["toolUseId"] == use_id for use in uses):
            return str(message.get("tracking_id") or "")
    return ""


def _answer(event: Any) -> Any:
    """What a tool answered, as JSON or text. Its exception says most of what became of the call."""
    exception = getattr(event, "exception", None)
    if exception is not None:
        raise exception
    result = getattr(event, "tool_result", event)  # a tool of any make ends with the bare result
    if not isinstance(result, Mapping) or result.get("status") != "success":
        raise ToolSaidError
    blocks = [_plain(one) for one in cast("Mapping[str, Any]", result)["content"]]
    return blocks[0] if len(blocks) == 1 else blocks


def _plain(block: Any) -> Any:
    for kind in ("json", "text"):
        if kind in block:
            return block[kind]
    return _without_bytes(block)


def _without_bytes(value: Any) -> Any:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            members = cast("dict[str, Any]", value)
            return {name: _without_bytes(one) for name, one in members.items()}
        case list():
            return [_without_bytes(one) for one in value]
        case _:
            return value


def _json_schema(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = spec["inputSchema"]
    return cast("Mapping[str, Any]", schema.get("json", schema))


def _shown(name: str, description: str, schema: Mapping[str, Any]) -> Any:
    """A tool as the model sees it; its calls are made by the door."""
    spec = {"name": name, "description": description, "inputSchema": {"json": dict(schema)}}
    return PythonAgentTool(name, cast("Any", spec), _answered_by_the_door)


def _answered_by_the_door(*_arguments: Any, **_more: Any) -> Any:
    raise AssertionError("this tool is answered by the door")
