"""Layers of frameworks that call a tool again, recognised without importing the framework.

Each row says how one of them is recognised (top-level package and class, found among the bases) and
how its own settings are read. A layer above a guarded tool repeats the call, not the send: the same
intent finds the same action. But it spends the turn, and tells the model to try again.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from ascertain.report.reach import reach
from ascertain.report.retries import decorator_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Something above tools that calls them again.

    :param tools: the names of those it concerns; None: it does not say.
    :param of_model: it repeats what the model is asked, and by that perhaps a call in other words.
    """

    kind: str
    what: str
    fix: str
    tools: frozenset[str] | None = None
    of_model: bool = False


_DOORS: Final = "ascertain.adapters"
Reader = Callable[[str, Any], Iterator[Layer]]


def layers_of(thing: Any, guarded: dict[int, str]) -> Iterator[Layer]:
    """What this object repeats, if it is one that is known.

    :param guarded: the guarded tools by the ids of what they can be called by.
    """
    if isinstance(thing, types.FunctionType):
        yield from _decorator(thing, guarded)
        return
    for base in type(thing).__mro__:
        root = str(base.__module__).partition(".")[0]
        row = _KINDS.get((root, base.__qualname__))
        if row is not None:
            yield from row(f"{root}.{type(thing).__qualname__}", thing)
            return


def is_behind_a_door(thing: Any) -> bool:
    """Whether a door has taken over the timeouts and errors of what this holds."""
    if isinstance(thing, types.FunctionType):
        return str(thing.__module__).startswith(_DOORS)
    root = type(thing).__module__.partition(".")[0]
    if (root, type(thing).__qualname__) != ("pydantic_ai", "Agent"):
        return False
    inside = getattr(getattr(thing, "root_capability", None), "capabilities", ())
    return any(type(one).__module__.startswith(_DOORS) for one in inside)


def _decorator(function: types.FunctionType, guarded: dict[int, str]) -> Iterator[Layer]:
    """A retry decorator on a function by which a guarded tool is called."""
    inner = function.__dict__.get("__wrapped__")
    hidden = decorator_of(function)
    if hidden is None or inner is None:
        return
    called = [inner, *(reached.thing for reached in reach(inner).things.values())]
    names = frozenset(guarded[id(thing)] for thing in called if id(thing) in guarded)
    if names:
        root = str(function.__globals__.get("__name__", "")).partition(".")[0]
        yield Layer(
            kind=f"{root} on {function.__qualname__}",
            what="it calls what calls the tool again",
            fix="take the decorator off; read .facts() of what came back instead",
            tools=names,
        )


def _tool_retry(kind: str, thing: Any) -> Iterator[Layer]:
    own = _own(thing)
    if not _number(own.get("max_retries")):
        return
    only = own.get("_tool_filter")
    yield Layer(
        kind=kind,
        what=f"it calls a tool up to {own['max_retries']} times more after any exception, "
        "a timeout too, and then tells the model to try again",
        fix="name the tools that only read in tools=[...], or leave the middleware out",
        tools=None if only is None else frozenset(map(str, cast("list[Any]", only))),
    )


def _model_retry(kind: str, thing: Any) -> Iterator[Layer]:
    tries = _number(_own(thing).get("max_retries"))
    if tries:
        yield Layer(
            kind=kind,
            what=f"it asks the model up to {tries} times more, on top of the client's own retries; "
            "each answer may carry the same call with a new id and in other words",
            fix="declare identity= on the tools, so that a call in other words is the same intent",
            of_model=True,
        )


def _fastmcp_retry(kind: str, thing: Any) -> Iterator[Layer]:
    own = _own(thing)
    tries = _number(own.get("max_retries"))
    if tries:
        after = ", ".join(getattr(each, "__name__", "?") for each in own["retry_exceptions"])
        yield Layer(
            kind=kind,
            what=f"it handles a request up to {tries} times more after {after}",
            fix="leave the middleware out, or keep such exceptions inside the tool",
        )


def _pregel(kind: str, thing: Any) -> Iterator[Layer]:
    own = _own(thing)
    for name, node in cast("dict[str, Any]", own.get("nodes") or {}).items():
        policy: Any = getattr(node, "retry_policy", None) or own.get("retry_policy") or ()
        each: list[Any] = [policy] if hasattr(policy, "max_attempts") else list(policy)
        tries = max((_number(getattr(one, "max_attempts", 0)) for one in each), default=0)
        if tries > 1 and not name.startswith("__"):
            yield Layer(
                kind=f"{kind}, node {name}",
                what=f"its retry policy runs the whole node up to {tries} times, calls that were "
                "confirmed too",
                fix="leave retry_policy= off the node in which tools are called",
                tools=_names_in(getattr(node, "bound", None)),
            )


def _names_in(bound: Any) -> frozenset[str] | None:
    """The names of the tools of a tool node; None: what a node calls is not known."""
    tools: Any = _own(bound).get("_tools_by_name")
    return None if tools is None else frozenset(map(str, tools))


def _agents_mcp(kind: str, thing: Any) -> Iterator[Layer]:
    tries = _number(_own(thing).get("max_retry_attempts"))
    if tries:
        times = "for ever" if tries < 0 else f"up to {tries} times more"
        yield Layer(
            kind=kind,
            what=f"it sends a tool call {times} after any exception, a timeout too",
            fix="max_retry_attempts=0",
        )


def _agents_tool(kind: str, thing: Any) -> Iterator[Layer]:
    own = _own(thing)
    yield from _timeout(
        kind, own.get("timeout_seconds"), frozenset({str(own.get("name"))}),
        "the model is told that it timed out",
    )  # fmt: skip


def _pydantic_tool(kind: str, thing: Any) -> Iterator[Layer]:
    own = _own(thing)
    yield from _timeout(
        kind, own.get("timeout"), frozenset({str(own.get("name"))}), "the model is asked to retry"
    )


def _pydantic_toolset(kind: str, thing: Any) -> Iterator[Layer]:
    own = _own(thing)
    names = frozenset(map(str, cast("dict[Any, Any]", own.get("tools") or {})))
    yield from _timeout(kind, own.get("timeout"), names, "the model is asked to retry")


def _timeout(kind: str, after_s: Any, tools: frozenset[str], then: str) -> Iterator[Layer]:
    if isinstance(after_s, int | float):
        yield Layer(
            kind=kind,
            what=f"after {after_s:g} s it gives the call up, and {then}, while the tool goes on",
            fix="leave the timeout off; the tool's own budget ends its turn and says what is known",
            tools=tools,
        )


def _pydantic_mcp(kind: str, thing: Any) -> Iterator[Layer]:
    if _own(thing).get("tool_error_behavior") == "retry":
        yield Layer(
            kind=kind,
            what="where the server answers with an error, it asks the model to call again",
            fix="Agent(..., capabilities=[Guard(door)]), or tool_error_behavior='failed'",
        )


def _adk_retry(kind: str, thing: Any) -> Iterator[Layer]:
    tries = _number(_own(thing).get("max_retries"))
    if tries:
        yield Layer(
            kind=kind,
            what=f"it asks the model up to {tries} times to call a tool again that gave an error",
            fix="leave the plugin out where tools write",
        )


_KINDS: Final[dict[tuple[str, str], Reader]] = {
    ("langchain", "ToolRetryMiddleware"): _tool_retry,
    ("langchain", "ModelRetryMiddleware"): _model_retry,
    ("langgraph", "Pregel"): _pregel,
    ("fastmcp", "RetryMiddleware"): _fastmcp_retry,
    ("agents", "_MCPServerWithClientSession"): _agents_mcp,
    ("agents", "FunctionTool"): _agents_tool,
    ("pydantic_ai", "Tool"): _pydantic_tool,
    ("pydantic_ai", "FunctionToolset"): _pydantic_toolset,
    ("pydantic_ai", "MCPToolset"): _pydantic_mcp,
    ("google", "ReflectAndRetryToolPlugin"): _adk_retry,
}


def _own(thing: Any) -> dict[str, Any]:
    found: Any = getattr(thing, "__dict__", None)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
