"""Repeats above and below a call, seen while they happen and told in the log.

Above: the layers of frameworks and decorators that call a tool again, by the frames of the running
call. Below: requests that one attempt sent more than once. Neither changes anything: the same
intent is one action, and every send is counted against the budget.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections import Counter
from collections.abc import Iterator
from types import FrameType
from typing import Final

from ascertain.runtime.registry import Entry
from ascertain.wire.log import WireLog

log = logging.getLogger("ascertain")

# (module, function) -> what it is called, and the local variable that says whether it repeats.
ABOVE: Final[dict[tuple[str, str], tuple[str, str]]] = {
    ("tenacity", "__call__"): ("tenacity", ""),
    ("tenacity.asyncio", "__call__"): ("tenacity", ""),
    ("backoff._sync", "retry"): ("backoff", ""),
    ("backoff._async", "retry"): ("backoff", ""),
    ("stamina._core", "sync_inner"): ("stamina", ""),
    ("stamina._core", "async_inner"): ("stamina", ""),
    ("langchain.agents.middleware.tool_retry", "wrap_tool_call"): (
        "langchain.ToolRetryMiddleware", "",
    ),
    ("langchain.agents.middleware.tool_retry", "awrap_tool_call"): (
        "langchain.ToolRetryMiddleware", "",
    ),
    ("fastmcp.server.middleware.error_handling", "on_request"): ("fastmcp.RetryMiddleware", ""),
    ("langgraph.pregel._retry", "run_with_retry"): ("langgraph.RetryPolicy", "retry_policy"),
    ("langgraph.pregel._retry", "arun_with_retry"): ("langgraph.RetryPolicy", "retry_policy"),
    ("pydantic_ai.toolsets.function", "call_tool"): ("pydantic_ai tool timeout", "timeout"),
}  # fmt: skip
_ROOTS: Final = frozenset(module.partition(".")[0] for module, _ in ABOVE)


def look_above(entry: Entry) -> None:
    """Tell which layers above this call may make it again, each once for a tool.

    Looked for at the first, second, fourth, eighth ... call: agents are put together in many ways,
    and a walk along the frames costs what a call is not to cost.
    """
    entry.called += 1
    if entry.called & (entry.called - 1):
        return
    for layer in dict.fromkeys(_layers(inspect.currentframe())):
        if layer not in entry.layers:
            entry.layers.add(layer)
            log.warning(json.dumps({"event": "retry_above", "tool": entry.name, "layer": layer}))


def _layers(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in _ROOTS:
            known = ABOVE.get((module, frame.f_code.co_name))
            if known is not None and (not known[1] or frame.f_locals.get(known[1])):
                yield known[0]
        frame = frame.f_back


def tell_resent(entry: Entry, action: str, attempt: int, sent: WireLog) -> None:
    """Tell that one attempt sent a request to the same place more than once."""
    places = Counter(
        (send.method, send.target) for send in sent.sends if send.unsafe and not send.held_back
    )
    extra = sum(count - 1 for count in places.values())
    if extra:
        exits = sorted({send.exit for send in sent.sends if send.unsafe})
        log.warning(
            json.dumps(
                {
                    "event": "sent_again_below", "tool": entry.name, "action": action,
                    "attempt": attempt, "extra_sends": extra, "clients": exits,
                }
            )
        )  # fmt: skip
