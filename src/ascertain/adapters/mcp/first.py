"""A first configuration: what a server offers, as a file in which each decision is explained."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ascertain.adapters.mcp.link import Connect
from ascertain.adapters.mcp.pins import Tool
from ascertain.adapters.mcp.upstream import Upstream
from ascertain.rules.texts import clean

_HEAD: Final = """\
# What `ascertain mcp` may take for granted about the tools of this server.
# A line that begins with # is off. What is not said here is the worst case: a write that cannot be
# looked up, never sent twice, whose lost answer is left to a person.

[mcp]
name = {name}
ledger = "sqlite:///ascertain.db"
# Whose calls these are; by default the user that runs the proxy.
# principal = "me"
# Where the host names no conversation and no turn in _meta, an equal call within this time is the
# same wish and is not sent again ("never": always the same wish).
turn_idle = "10m"
# Believe readOnlyHint of tools that are not listed below? Only for a server that you trust.
trust_annotations = false
# Ask the host's person where a call waits for somebody? Their answer decides nothing by itself.
pauses = true
"""

_READ: Final = """\
# The server says that it only reads. If you believe it:
# access = "read"
"""
_WRITE: Final = """\
access = "write"
# Which arguments say that it is the same wish? Others must then be the same too, or are wording.
{identity}
# wording = []
# Does the server know a call again by a key? Then a lost answer can be repeated safely.
# It is always in _meta as "ascertain.dev/idempotency-key"; say so only if the server honours it:
{key}
# key_lifetime = "24h"
# Where is the reference of what was made? A path in its data, or a pattern in its text.
# receipt = "id"
# receipt = {{ pattern = "id: (\\\\S+)" }}
# Which error results mean that nothing happened? Undeclared ones leave the effect unknown.
# error_code = {{ pattern = "^(not found|already exists)" }}
# refusals = [{{ code = "not found", kind = "business" }}]
# Which tool knows what became of a call?
# lookup = {{ tool = {reader}, arguments = {{ query = "{{key}}" }}, items = "items", ref = "id" }}
# Which tool undoes it? The model may then ask for that, once, naming what it means.
# undo = {{ tool = {undo}, arguments = {{ id = "{{provider_ref}}" }} }}
# How long may one call take?
# budget = {{ send_deadline_s = 45, turn_s = 50 }}
"""
_KEYS: Final = ("idempotency_key", "idempotencyKey", "request_id", "requestId", "client_token")


async def listed(connect: Connect) -> tuple[str, list[Tool]]:
    """A server's name and its tools; nothing is called.

    :raises ServerUnreachable: it cannot be reached.
    """
    upstream = Upstream(connect)
    try:
        client = await upstream.client()
        tools = await upstream.tools()
        name = client.server_info.name if client.server_info is not None else "mcp"
    finally:
        await upstream.close()
    return name, [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in tools]


def configuration(name: str, tools: Sequence[Tool]) -> str:
    """The file."""
    plain = clean(name, 60) or "mcp"
    parts = [_HEAD.format(name=_quoted(plain)), *(_tool(tool, tools) for tool in tools)]
    return "\n".join(parts)


def _tool(tool: Tool, tools: Sequence[Tool]) -> str:
    name = str(tool["name"])
    hints = cast("Mapping[str, Any]", tool.get("annotations") or {})
    about = " ".join(clean(str(tool.get("description") or ""), 200).split())
    head = (
        f"# {about}\n[mcp.tools.{_quoted(name)}]\n" if about else f"[mcp.tools.{_quoted(name)}]\n"
    )
    if hints.get("readOnlyHint") is True:
        return head + _READ
    schema = cast("Mapping[str, Any]", tool["inputSchema"])
    properties = list(cast("Mapping[str, Any]", schema.get("properties") or {}))
    required = [key for key in properties if key in (schema.get("required") or [])]
    key = next((word for word in _KEYS if word in properties), "")
    named = [word for word in required if word not in _KEYS]
    return head + _WRITE.format(
        identity=f"# identity = {json.dumps(named)}",
        key=f"key = {{ argument = {_quoted(key)} }}"
        if key
        else '# key = { argument = "request_id" }',
        reader=_quoted(_other(tools, name, ("get_", "find_", "list_", "search_", "read_"))),
        undo=_quoted(_other(tools, name, ("delete_", "cancel_", "remove_", "undo_", "revert_"))),
    )


def _other(tools: Sequence[Tool], name: str, beginnings: tuple[str, ...]) -> str:
    """Another tool whose name suggests what it does; only ever in a comment."""
    names = [str(tool["name"]) for tool in tools]
    return next((other for other in names if other != name and other.startswith(beginnings)), "...")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=True)
