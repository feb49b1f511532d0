"""What agent frameworks around the tools repeat by themselves, found without importing them.

Looked at is what stands beside the tools in their own modules: agents, their tools, toolsets and
servers. A door in front of them owns these repeats; then there is nothing to say.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from ascertain.report.findings import Finding, Severity
from ascertain.report.reach import is_project_module
from ascertain.report.retries import Hidden
from ascertain.runtime.registry import Registry

T = TypeVar("T")
Named = tuple[str, Any]
DOOR: Final = "ascertain.adapters"


def framework_findings(registry: Registry) -> Iterator[Finding]:
    """One finding for each framework's object that calls a tool again by itself."""
    seen: set[int] = set()
    waiting = list(_beside(registry))
    while waiting:
        path, thing = waiting.pop(0)
        if isinstance(thing, type) or id(thing) in seen:
            continue
        seen.add(id(thing))
        inside = _row(_INSIDE, thing)
        waiting += [(f"{path}.{name}", one) for name, one in inside(thing)] if inside else []
        repeats = _row(_REPEATS, thing)
        hidden = repeats(thing) if repeats else None
        if hidden is not None:
            yield Finding(
                rule="framework-retry",
                severity=Severity.WARN,
                tool="",
                sentence=f"{path} repeats by itself: {hidden.what}.",
                next_step=f"Let a door own it: {hidden.fix}.",
            )


def _beside(registry: Registry) -> Iterator[Named]:
    """The module-level objects beside the bodies and look-ups of the tools."""
    modules: dict[int, dict[str, Any]] = {}
    for entry in registry:
        for function in (entry.body, entry.lookup):
            names = getattr(inspect.unwrap(function), "__globals__", None) if function else None
            if names is not None and is_project_module(str(names.get("__name__", ""))):
                modules[id(names)] = names
    for names in modules.values():
        yield from list(names.items())


def _row(table: Mapping[tuple[str, str], T], thing: Any) -> T | None:
    for base in type(thing).__mro__:
        row = table.get((base.__module__.partition(".")[0], base.__qualname__))
        if row is not None:
            return row
    return None


# ------------------------------------------------------------------------------ OpenAI Agents SDK


def _openai_agent(agent: Any) -> Iterator[Named]:
    for tool in agent.tools:
        yield str(getattr(tool, "name", "tools")), tool
    for server in agent.mcp_servers:
        yield "mcp_servers", server


def _openai_tool(tool: Any) -> Hidden | None:
    timeout_s = tool.timeout_seconds
    if timeout_s is None:
        return None
    return Hidden(
        what=f"after {timeout_s:g} s it tells the model that it timed out, and may go on",
        fix="guard(tool, door), which bounds the call by the same time",
    )


def _openai_server(server: Any) -> Hidden | None:
    tries = getattr(server, "max_retry_attempts", 0)
    if not tries:
        return None
    times = "without end" if tries < 0 else f"up to {tries} times"
    return Hidden(
        what=f"it sends a call again {times}, after any error, a timeout too",
        fix="tools=await guarded_server(door, server), or max_retry_attempts=0",
    )


# ------------------------------------------------------------------------------------ Pydantic AI


def _pydantic_agent(agent: Any) -> Iterator[Named]:
    capabilities: Sequence[Any] = getattr(agent.root_capability, "capabilities", ())
    if not any(type(one).__module__.startswith(DOOR) for one in capabilities):
        for toolset in agent.toolsets:
            yield "toolsets", toolset


def _pydantic_toolset(toolset: Any) -> Iterator[Named]:
    yield from toolset.tools.items()


def _pydantic_timeout(of: Any) -> Hidden | None:
    timeout_s = of.timeout
    if timeout_s is None:
        return None
    return Hidden(
        what=f"after {timeout_s:g} s it asks the model to call again, and the first call may go on",
        fix="Agent(..., capabilities=[Guard(door)])",
    )


def _pydantic_mcp(toolset: Any) -> Hidden | None:
    if toolset.tool_error_behavior != "retry":
        return None
    return Hidden(
        what="where the server answers with an error, it asks the model to call again",
        fix="Agent(..., capabilities=[Guard(door)]), or tool_error_behavior='failed'",
    )


# -------------------------------------------------------------------------------------- LangChain


def _langchain_retry(middleware: Any) -> Hidden | None:
    tries = middleware.max_retries
    if not tries:
        return None
    return Hidden(
        what=f"it calls every tool up to {tries} times more, after any exception",
        fix="AscertainMiddleware(door) as the last middleware, behind it",
    )


_INSIDE: Final[dict[tuple[str, str], Callable[[Any], Iterator[Named]]]] = {
    ("agents", "Agent"): _openai_agent,
    ("pydantic_ai", "Agent"): _pydantic_agent,
    ("pydantic_ai", "FunctionToolset"): _pydantic_toolset,
}
_REPEATS: Final[dict[tuple[str, str], Callable[[Any], Hidden | None]]] = {
    ("agents", "FunctionTool"): _openai_tool,
    ("agents", "_MCPServerWithClientSession"): _openai_server,
    ("pydantic_ai", "FunctionToolset"): _pydantic_timeout,
    ("pydantic_ai", "Tool"): _pydantic_timeout,
    ("pydantic_ai", "MCPToolset"): _pydantic_mcp,
    ("langchain", "ToolRetryMiddleware"): _langchain_retry,
}
