"""A door for LangGraph's ``ToolNode``, and what LangChain's agents share with it.

::

    guard = Guard(Door(app, scope=thread_scope(app, principal=lambda request: user_of(request))))
    node = ToolNode(
        [*guard.tools, open_case],
        wrap_tool_call=guard.wrap_tool_call,
        awrap_tool_call=guard.awrap_tool_call,
    )

The replay key is the id of the model's message and of the call, the turn is the id of the last
message of a person: both are the same after crash and resume, and in a replay from a checkpoint.
Checkpoint and task ids are new there, and part of nothing.

The model's plain text is never read. A message that was cut off (by its length) has none of its
calls made, also where the framework has put half an argument together.

A tool that calls ``interrupt()`` in its own body has begun, and nobody knows what it has done: its
action is unknown until the look-up says. Let what pauses stand before the call, such as
``approval=`` or a ``HumanInTheLoopMiddleware``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, interrupt
from pydantic import BaseModel, ValidationError

from ascertain.adapters import told
from ascertain.adapters.calling import ToolCall
from ascertain.adapters.door import DESCRIPTION, Door
from ascertain.adapters.taking import NEXT
from ascertain.adapters.told import Fact
from ascertain.adapters.unmade import refused
from ascertain.errors import ContractError, InvalidArguments, NoScope
from ascertain.runtime.app import Ascertain
from ascertain.runtime.session import Session

Answer = ToolMessage | Command[Any]

# What providers say of a message that they broke off.
CUT = frozenset(
    {"length", "max_tokens", "max_output_tokens", "incomplete", "content_filter",
     "model_context_window_exceeded"}
)  # fmt: skip


class Guard:
    """Wraps the calls of a ``ToolNode``; the tools stay as they are.

    :ivar tools: the own tools, and the tool ``ascertain``: give them to the node and to the model.
    """

    def __init__(
        self,
        door: Door,
        *,
        own: Sequence[str] = (),
        guests: Sequence[BaseTool] = (),
        pauses: bool = False,
        strict: bool = False,
    ) -> None:
        """Make the wrappers.

        :param own: names of own tools that the agent may call.
        :param guests: the framework's tools, where a worker has to know them; in a run each is
            learned when it is first called.
        :param pauses: a call that waits for a person interrupts the graph, after it was written to
            the ledger. The verdict is given there, as ever, before the graph is resumed.
        :param strict: a message that does not say why it ended has none of its calls made. Where a
            stream just breaks off, LangChain makes whole calls of what it has got; say so where
            your model always gives a reason (``finish_reason``, ``stop_reason``).
        :raises ContractError: a guest whose declaration cannot be kept.
        """
        self.door = door
        self.pauses = pauses
        self.strict = strict
        for tool in guests:
            door.learn(tool.name, _schema(tool))
        mine = [_shown(name, *door.own(name)) for name in own]
        self.tools: list[BaseTool] = [*mine, _shown(NEXT, DESCRIPTION, door.next_schema())]

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]
    ) -> Answer:
        """Make one call in this thread; ``handler`` is its body where the tool is a guest."""
        way = Way(self.door, request, strict=self.strict)
        if way.passes:
            return handler(request)
        if way.misfit is not None:
            return way.message(way.misfit)
        run = way.run(handler)
        fact = self.door.answer(way.call, run)
        if self._waits(way, fact):
            fact = self.door.answer(way.call, run)
        return way.message(fact)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        """The same on the running loop."""
        way = Way(self.door, request, strict=self.strict)
        if way.passes:
            return await handler(request)
        if way.misfit is not None:
            return way.message(way.misfit)
        run = way.run_async(handler)
        fact = await self.door.answer_async(way.call, run)
        if self._waits(way, fact):
            fact = await self.door.answer_async(way.call, run)
        return way.message(fact)

    def _waits(self, way: Way, fact: Fact) -> bool:
        """Pause the graph where a person has to decide; True once it was resumed."""
        way.raise_pause()
        if not (self.pauses and fact.needs_person):
            return False
        interrupt({"action": fact.action, **told.told(fact)})
        return True


class Way:
    """One call: from the framework's request to its message."""

    def __init__(self, door: Door, request: ToolCallRequest, *, strict: bool) -> None:
        self._request = request
        call = request.tool_call
        name = call["name"]
        self.passes = door.passes(name)
        self.call = _tool_call(request, strict=strict)
        self.misfit: Fact | None = None
        self._answer: Answer | None = None
        self._pause: BaseException | None = None
        if request.tool is not None and not self.passes and name != NEXT:
            door.learn(name, _schema(request.tool))
            self.misfit = _misfit(name, request.tool, self.call, door.filled(name))

    def run(self, handler: Callable[[ToolCallRequest], Answer]) -> Callable[[dict[str, Any]], Any]:
        """The framework's handler as the body of the call."""

        def body(arguments: dict[str, Any]) -> Any:
            self._pause = None
            try:
                return self._kept(handler(self._with(arguments)))
            except Exception as error:
                self._keep_pause(error)
                raise

        return body

    def run_async(
        self, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Callable[[dict[str, Any]], Any]:
        """The same for async code."""

        async def body(arguments: dict[str, Any]) -> Any:
            self._pause = None
            try:
                return self._kept(await handler(self._with(arguments)))
            except Exception as error:
                self._keep_pause(error)
                raise

        return body

    def message(self, fact: Fact) -> Answer:
        """What the graph gets. A command of a tool that was run now goes on unchanged."""
        if isinstance(self._answer, Command) and fact.confirmed:
            return self._answer
        said = told.langchain(fact, self._request.tool_call["id"] or "")
        artifact = getattr(self._answer, "artifact", None)
        if artifact is not None and fact.confirmed:
            said["artifact"] = {**said["artifact"], "tool_artifact": artifact}
        return ToolMessage(**said)

    def raise_pause(self) -> None:
        """A tool that interrupted the graph in its body goes on doing so, once it is recorded."""
        if self._pause is not None:
            raise self._pause

    def _with(self, arguments: dict[str, Any]) -> ToolCallRequest:
        return self._request.override(tool_call={**self._request.tool_call, "args": arguments})

    def _kept(self, answer: Answer) -> Any:
        """The answer of the tool; one that says "error" does not say that nothing happened."""
        self._answer = answer
        if not isinstance(answer, ToolMessage):
            return None
        if answer.status == "error":
            raise ToolSaidError
        return answer.content

    def _keep_pause(self, error: Exception) -> None:
        from langgraph.errors import GraphBubbleUp

        if isinstance(error, GraphBubbleUp):
            self._pause = error


class ToolSaidError(Exception):
    """A tool's message has the status "error": what it did before that, nobody knows."""


def thread_scope(
    app: Ascertain,
    *,
    principal: Callable[[ToolCallRequest], str] | None = None,
    tenant: Callable[[ToolCallRequest], str] | None = None,
    consents: Sequence[str] = (),
) -> Callable[[Any], Session]:
    """A scope by LangGraph's own words: the session is the thread.

    :param principal: whose wish it is, from what the program has authenticated (the runtime's
        context, the configuration); by default the user of a LangGraph server.
    """

    def session(request: Any) -> Session:
        info = request.runtime.execution_info
        if info is None or info.thread_id is None:
            raise NoScope(
                "This graph has no thread.",
                next_step="Compile it with a checkpointer and give a thread_id, or say scope=.",
            )
        who = _user(request) if principal is None else principal(request)
        return app.session(
            info.thread_id, principal=who, consents=consents,
            tenant=None if tenant is None else tenant(request),
        )  # fmt: skip

    return session


def _user(request: Any) -> str:
    server = request.runtime.server_info
    if server is None or server.user is None:
        raise NoScope("Nobody is authenticated here.", next_step="Say principal=.")
    who: str = server.user.identity
    return who


def _tool_call(request: ToolCallRequest, *, strict: bool) -> ToolCall:
    """The call with its ids, and whether the model wrote it to its end."""
    call = request.tool_call
    messages = _messages(request.state)
    holds = next((one for one in reversed(messages) if _holds(one, call["id"])), None)
    asks = next((one for one in reversed(messages) if isinstance(one, HumanMessage)), None)
    arguments: Mapping[str, Any] | str = call["args"]
    for piece in getattr(holds, "tool_call_chunks", ()) or ():
        if piece.get("id") == call["id"] and piece.get("args"):
            arguments = piece["args"]  # as it was written, not as it was put together
    return ToolCall(
        call["name"], arguments, call["id"],
        turn=(asks.id or "") if asks is not None else "",
        message_id=(holds.id or "") if holds is not None else "",
        host=request, whole=holds is None or _whole(holds, strict=strict),
    )  # fmt: skip


def _messages(state: Any) -> Sequence[Any]:
    if isinstance(state, Mapping):
        return cast("Sequence[Any]", cast("Mapping[str, Any]", state).get("messages") or ())
    if isinstance(state, list):
        return state  # pyright: ignore[reportUnknownVariableType]
    return getattr(state, "messages", None) or ()


def _holds(message: Any, call_id: str | None) -> bool:
    return isinstance(message, AIMessage) and any(
        one["id"] == call_id for one in message.tool_calls
    )


def _whole(message: AIMessage, *, strict: bool) -> bool:
    said: Mapping[str, Any] = message.response_metadata
    reasons = [said.get(name) for name in ("finish_reason", "stop_reason", "done_reason", "status")]
    given = [one.lower() for one in reasons if isinstance(one, str)]
    return not CUT.intersection(given) and (bool(given) or not strict)


def _schema(tool: BaseTool) -> Mapping[str, Any]:
    """The JSON schema of what a model may say; injected arguments are not among it."""
    form: Any = tool.tool_call_schema
    if isinstance(form, dict):
        return cast("dict[str, Any]", form)
    schema: dict[str, Any] = form.model_json_schema()
    return schema


def _misfit(name: str, tool: BaseTool, call: ToolCall, filled: frozenset[str]) -> Fact | None:
    """What the tool's own model of its arguments says against them, before anything is stored."""
    form: Any = tool.tool_call_schema
    if isinstance(form, dict) or not issubclass(form, BaseModel) or not call.whole:
        return None
    try:
        form.model_validate(call.parsed())
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        for one in found:
            if one["loc"][:1] and one["loc"][0] in filled:
                continue  # the program says it, later
            where = ".".join(str(part) for part in one["loc"])
            said = InvalidArguments(f"{name}: {where} does not fit ({one['type']}).")
            return refused(name, said)
    except InvalidArguments as error:
        return refused(name, error)
    return None


def _shown(name: str, description: str, schema: Mapping[str, Any]) -> BaseTool:
    """A tool as the model sees it; its calls are made by the door."""

    def unguarded(**_arguments: Any) -> Any:
        raise ContractError(
            f"{name} was called past its door; nothing was sent.",
            next_step="Give the node wrap_tool_call=guard.wrap_tool_call (and awrap_tool_call).",
        )

    return StructuredTool.from_function(
        func=unguarded, name=name, description=description, args_schema=dict(schema),
        infer_schema=False,
    )  # fmt: skip
