"""Anthropic messages: content blocks, ``tool_use`` and ``tool_result``.

https://docs.anthropic.com/en/api/messages. A record is a list of messages, a request, a response,
or both together as ``{"request": ..., "response": ...}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ascertain.replay.formats.conversation import (
    Entry,
    Role,
    ToolAnswer,
    ToolCall,
    Utterance,
    kept,
    said_arguments,
    text_of,
)
from ascertain.replay.formats.gathering import (
    NAMES,
    RECORD_NAMES,
    Dialect,
    Talk,
    name_of,
    part_texts,
)
from ascertain.replay.formats.misread import Misfit
from ascertain.replay.formats.shapes import a_list, a_text, an_object, is_list, list_in, object_in

EXPECTED = (
    'A record is {"messages": [{"role": "user" or "assistant", "content": ...}, ...]}, a list of '
    "such messages, or a message that came back."
)
_CALLS = ("tool_use", "mcp_tool_use")
_ANSWERS = ("tool_result", "mcp_tool_result")
_MINE = (*_CALLS, *_ANSWERS, "server_tool_use", "thinking", "redacted_thinking")


def recognises(value: dict[str, Any]) -> bool:
    """Whether a record has what only this format has."""
    if value.get("type") == "message" and "stop_reason" in value:
        return True
    request, response = _parts(value)
    if response.get("type") == "message":
        return True
    messages = list_in(request.get("messages", [value]))
    return any(
        object_in(block).get("type") in _MINE
        for message in messages
        for block in list_in(object_in(message).get("content"))
    )


def _parts(value: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return object_in(value.get("request")) or value, object_in(value.get("response"))


def talk(value: dict[str, Any]) -> Talk:
    """The messages of a record. :raises Misfit: it has none."""
    request, response = _parts(value)
    if "messages" not in request:
        if "role" in value:
            return Talk("", [value], bare=True)
        if not response:
            raise Misfit('"messages" is missing.')
    messages = list(a_list(request.get("messages", []), '"messages"'))
    messages += [response] if response else []
    own = "" if value.get("type") == "message" else name_of(RECORD_NAMES, value)
    return Talk(name_of(NAMES, value, request), messages, record=own)


def entries(message: dict[str, Any], where: str) -> Iterator[Entry]:
    """What one message says. :raises Misfit: it is no message."""
    role = message.get("role")
    if role not in ("user", "assistant", "system"):
        raise Misfit(f"{where}: role must be user or assistant.")
    content: object = message.get("content")
    if not isinstance(content, str) and not is_list(content):
        raise Misfit(f"{where}: content must be a text or a list of blocks.")
    if role == "system":
        return
    speaker: Role = "user" if role == "user" else "assistant"
    if isinstance(content, str):
        if content:
            yield Utterance(speaker, kept(content), where)
        return
    for block in a_list(content, f"{where}: content"):
        fields = an_object(block, f"{where}: a block")
        kind = fields.get("type")
        if kind == "text" and fields.get("text"):
            yield Utterance(speaker, kept(str(fields["text"])), where)
        elif kind in _CALLS:
            tool = a_text(fields.get("name"), f"{where}: the name of a tool")
            args, raw = said_arguments(fields.get("input"))
            yield ToolCall(str(fields.get("id") or ""), tool, args, where, raw)
        elif kind in _ANSWERS:
            yield _answer(fields, where)


def _answer(block: dict[str, Any], where: str) -> ToolAnswer:
    content: Any = block.get("content")
    texts = part_texts(content, f"{where}: content", ("text",))
    text = texts if isinstance(content, str | list) else text_of(content)
    marked = block.get("is_error")
    is_error = marked if isinstance(marked, bool) else None
    return ToolAnswer(str(block.get("tool_use_id") or ""), kept(text), where, is_error)


DIALECT = Dialect(EXPECTED, talk, entries)
