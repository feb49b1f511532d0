"""The door for Google's ADK: a plugin that puts it in the place of the tools of an app's agents.

::

    door = Door(app, scope=user_scope(app))
    guard = AscertainPlugin(door, own=["create_ticket"])
    agent = Agent(name="desk", model="gemini-2.5-flash", tools=[open_ticket, *guard.tools])
    runner = Runner(app=App(name="shop", root_agent=agent, plugins=[guard]), session_service=...)

When a run begins, the tools of the agent and of those below it are put behind the door, toolsets
too. So all callbacks, other plugins and confirmations of the ADK stand outside of it, and whatever
repeats a call (``ReflectAndRetryToolPlugin``, an invocation that is resumed) meets the fact that is
stored. A tool that a run would reach past the door ends the run: nothing is sent.

The session is ``app/user/session``, the turn is the invocation, the replay key is the event that
holds the call and the id of the call: all are the same where an invocation is resumed.

Needs the extra: ``pip install 'ascertain[google-adk]'``.
"""

# It brings a hundred packages along, so it is in an environment of its own.
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUntypedBaseClass=false

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from pydantic_core import to_jsonable_python

from ascertain.adapters import told
from ascertain.adapters.calling import ToolCall
from ascertain.adapters.door import DESCRIPTION, Door
from ascertain.adapters.pausing import waits
from ascertain.adapters.taking import NEXT
from ascertain.adapters.told import Fact
from ascertain.errors import ContractError
from ascertain.model.words import Accepted
from ascertain.runtime.app import Ascertain
from ascertain.runtime.session import Session

NO_EFFECT: Final = frozenset(
    {"transfer_to_agent", "set_model_response", "exit_loop", "finish_task", "get_user_choice",
     "load_memory", "preload_memory", "load_artifacts"}
)  # fmt: skip
"""Tools of the ADK itself that steer its runs or read what it keeps."""
# Of a message that has ended so, every call has been written to its end.
WHOLE: Final = (None, types.FinishReason.STOP, types.FinishReason.FINISH_REASON_UNSPECIFIED)


class AscertainPlugin(BasePlugin):  # type: ignore[misc]
    """Guards the tools of every agent of an app.

    :ivar tools: the own tools, and the tool ``ascertain``, for the agents that may call them. An
        agent with tools behind the door gets the latter in any case.
    """

    def __init__(
        self,
        door: Door,
        *,
        own: Sequence[str] = (),
        turn: Callable[[Any], str] | None = None,
        pauses: bool = False,
        name: str = "ascertain",
    ) -> None:
        """Say what goes through.

        :param own: names of tools of the app that agents may call.
        :param turn: the id of the message that is being answered, from the ADK's ``ToolContext``;
            by default that of the invocation.
        :param pauses: whether a call that waits for a person asks for the ADK's confirmation. It is
            in the ledger by then, and the verdict is given there: what the ADK calls confirmed is
            sent only if the ledger knows of an approval.
        """
        super().__init__(name=name)
        self.door, self._turn, self._pauses = door, turn, pauses
        mine = [Guarded(self, _Shown(one, *door.own(one))) for one in own]
        self._next = Guarded(self, _Shown(NEXT, DESCRIPTION, door.next_schema()))
        self.tools: list[Any] = [*mine, self._next]

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        """Put the tools of the agents behind the door; a second time there is nothing to do."""
        root = invocation_context.agent
        self._guard(getattr(root, "root_agent", root))

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> None:
        """Let nothing past the door.

        :raises ContractError: the tool is not behind it; nothing was sent.
        """
        if self._is_guarded(tool) or type(tool) is BaseTool or self._passes(tool):
            return
        raise ContractError(
            f"{tool.name} is not behind the door; nothing was sent.",
            next_step="Give it to an agent of the app as a tool or a toolset, or declare it with "
            "access='pass'.",
        )

    def behind(self, tool: Any) -> Any:
        """A tool behind the door, or as it is where it has no effect of its own."""
        tool = FunctionTool(tool) if _is_function(tool) else tool
        if isinstance(tool, BaseToolset):
            return tool if isinstance(tool, GuardedToolset) else GuardedToolset(self, tool)
        if not isinstance(tool, BaseTool) or self._is_guarded(tool) or self._passes(tool):
            return tool
        # What is declared to nobody runs at the provider: no door stands before it.
        return tool if _declared(tool) is None else Guarded(self, tool)

    async def answer(self, tool: Any, args: dict[str, Any], context: Any) -> dict[str, Any]:
        """Make one call; the tool's own ``run_async`` is the body of a guest."""
        fact = await self.door.answer_async(self._call(tool, args, context), _Body(tool, context))
        if self._pauses and context.tool_confirmation is None:
            await self._pause(context, fact)
        return told.google_adk(fact)

    def _call(self, tool: Any, args: dict[str, Any], context: Any) -> ToolCall:
        event = _event(context)
        turn = context.invocation_id if self._turn is None else self._turn(context)
        return ToolCall(
            tool.name, args, context.function_call_id, turn=turn,
            message_id="" if event is None else event.id, unique=event is not None,
            host=context, whole=event is None or event.finish_reason in WHOLE,
        )  # fmt: skip

    async def _pause(self, context: Any, fact: Fact) -> None:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(None, waits, self.door.app, fact)
        if found is not None:
            hint = str(fact.facts["say"]["en"])
            context.request_confirmation(hint=hint, payload={**told.told(fact), **found})
            context.actions.skip_summarization = True  # the model is not asked in between

    def _guard(self, agent: Any) -> None:
        tools: list[Any] | None = getattr(agent, "tools", None)
        if tools:
            tools[:] = [self.behind(tool) for tool in tools]
            guarded = any(isinstance(one, Guarded | GuardedToolset) for one in tools)
            if guarded and self._next not in tools:
                tools.append(self._next)
        for below in getattr(agent, "sub_agents", ()):
            self._guard(below)

    def _is_guarded(self, tool: Any) -> bool:
        return isinstance(tool, Guarded) and tool.plugin is self

    def _passes(self, tool: Any) -> bool:
        if isinstance(tool, AgentTool):
            return True  # its own tools have the effects, in a run of their own
        made_by = getattr(tool, "func", None) or type(tool)
        own = str(getattr(made_by, "__module__", "")).startswith("google.adk.")
        return (own and tool.name in NO_EFFECT) or self.door.passes(tool.name)


class Guarded(BaseTool):  # type: ignore[misc]
    """A tool behind the door; the ADK meets it in the tool's place."""

    def __init__(self, plugin: AscertainPlugin, tool: Any) -> None:
        super().__init__(
            name=tool.name, description=tool.description, is_long_running=tool.is_long_running,
            custom_metadata=tool.custom_metadata,
        )  # fmt: skip
        self.plugin, self.tool = plugin, tool

    def _get_declaration(self) -> Any:
        """What a model is shown: without what the program fills."""
        said = _declared(self.tool)
        if isinstance(self.tool, _Shown):
            return said
        self.plugin.door.learn(self.name, _schema(said))
        filled = self.plugin.door.filled(self.name)
        return _without(said, filled) if filled else said

    async def check_require_confirmation(self, args: dict[str, Any], tool_context: Any) -> bool:
        return bool(await self.tool.check_require_confirmation(args, tool_context))

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> dict[str, Any]:
        if not isinstance(self.tool, _Shown):
            self.plugin.door.learn(self.name, _schema(_declared(self.tool)))
        return await self.plugin.answer(self.tool, args, tool_context)


class GuardedToolset(BaseToolset):  # type: ignore[misc]
    """A toolset whose tools are behind the door, each as it is listed."""

    def __init__(self, plugin: AscertainPlugin, toolset: Any) -> None:
        super().__init__()
        self._plugin, self._toolset = plugin, toolset

    async def get_tools(self, readonly_context: Any = None) -> list[Any]:
        listed = await self._toolset.get_tools_with_prefix(readonly_context)
        return [self._plugin.behind(tool) for tool in listed]

    async def close(self) -> None:
        await self._toolset.close()


class _Body:
    """The tool's own ``run_async``, as the body of a guest."""

    def __init__(self, tool: Any, context: Any) -> None:
        self._tool, self._context = tool, context

    async def __call__(self, arguments: dict[str, Any]) -> Any:
        said = await self._tool.run_async(args=arguments, tool_context=self._context)
        answer = to_jsonable_python(said, fallback=str)
        if isinstance(answer, dict) and (answer.get("error") or answer.get("isError")):
            raise ToolSaidError
        # Its answer comes later, past the ADK: what there is of it until then is a handle.
        return Accepted(self._context.function_call_id) if self._tool.is_long_running else answer


class ToolSaidError(Exception):
    """A tool answered with an error: what it had done by then, nobody knows."""


class _Shown(BaseTool):  # type: ignore[misc]
    """An own tool, as the model sees it; its calls are made by the door."""

    def __init__(self, name: str, description: str, schema: Mapping[str, Any]) -> None:
        super().__init__(name=name, description=description)
        self._schema = dict(schema)

    def _get_declaration(self) -> Any:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._schema
        )


def user_scope(
    app: Ascertain,
    *,
    principal: Callable[[Any], str] | None = None,
    tenant: Callable[[Any], str] | None = None,
    consents: Sequence[str] = (),
) -> Callable[[Any], Session]:
    """A scope by the ADK's own words: its app, its user and its session.

    :param principal: whose wish it is, from the ``ToolContext``; by default the ``user_id`` that
        the program gave the runner, which it has authenticated.
    """

    def session(context: Any) -> Session:
        of = context.session
        return app.session(
            f"{of.app_name}/{of.user_id}/{of.id}",
            principal=of.user_id if principal is None else principal(context),
            tenant=None if tenant is None else tenant(context), consents=consents,
        )  # fmt: skip

    return session


def _event(context: Any) -> Any:
    """The model's message that holds the call, as the session keeps it."""
    for event in reversed(context.session.events):
        if any(one.id == context.function_call_id for one in event.get_function_calls()):
            return event
    return None


def _is_function(tool: Any) -> bool:
    return callable(tool) and not isinstance(tool, BaseTool | BaseToolset | type)


def _declared(tool: Any) -> Any:
    """What the ADK shows a model of it; it has every tool override this."""
    return tool._get_declaration()  # noqa: SLF001


def _schema(declaration: Any) -> Mapping[str, Any]:
    """The JSON schema of what a model may say."""
    if declaration.parameters_json_schema is not None:
        return cast("Mapping[str, Any]", declaration.parameters_json_schema)
    if declaration.parameters is None:
        return {"type": "object", "properties": {}}
    shown: dict[str, Any] = declaration.parameters.json_schema.model_dump(
        mode="json", by_alias=True, exclude_none=True
    )
    return shown


def _without(declaration: Any, filled: frozenset[str]) -> Any:
    """A copy of it in the same form, without these parameters."""
    made = declaration.model_copy(deep=True)
    if made.parameters_json_schema is not None:
        schema = made.parameters_json_schema
        for name in filled:
            schema.get("properties", {}).pop(name, None)
        schema["required"] = [one for one in schema.get("required", ()) if one not in filled]
    elif made.parameters is not None:
        for name in filled:
            (made.parameters.properties or {}).pop(name, None)
        required = made.parameters.required or ()
        made.parameters.required = [one for one in required if one not in filled] or None
    return made
