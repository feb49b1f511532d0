"""OpenAI responses: ``input`` and ``output`` of items, ``function_call`` and what answers it.

https://platform.openai.com/docs/api-reference/responses. A record is a list of items, a request, a
response, or both; responses that name each other by ``previous_response_id`` are one conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ascertain.replay.formats.conversation import (
    Conversation,
    Entry,
    ToolAnswer,
    ToolCall,
    Utterance,
    joined,
    kept,
    said_arguments,
    text_of,
)
from ascertain.replay.formats.gathering import (
    NAMES,
    Dialect,
    Talk,
    conversations,
    name_of,
    part_texts,
)
from ascertain.replay.formats.misread import Misfit
from ascertain.replay.formats.records import Record
from ascertain.replay.formats.shapes import a_list, a_text, is_list, is_object, list_in, object_in

EXPECTED = (
    'A responses record is {"input": ..., "output": [...]}, or a list of items such as '
    '{"type": "function_call", "call_id": ..., "name": ..., "arguments": ...}.'
)
_CALLS = ("function_call", "custom_tool_call", "mcp_call")
_ANSWERS = ("function_call_output", "custom_tool_call_output")
_MINE = (*_CALLS, *_ANSWERS, "reasoning", "item_reference")
_TEXTS = ("input_text", "output_text", "text", "refusal")
_LISTS = ("input", "output")


def recognises(value: dict[str, Any]) -> bool:
    """Whether a record has what only this format has."""
    if value.get("object") == "response" or value.get("type") in _MINE:
        return True
    if _response_of(value).get("object") == "response":
        return True
    return any(
        object_in(item).get("type") in (*_MINE, "message")
        for part in (value, _request_of(value), _response_of(value))
        for name in _LISTS
        for item in list_in(part.get(name))
    )


def _request_of(value: dict[str, Any]) -> dict[str, Any]:
    return object_in(value.get("request")) or object_in(value.get("body")) or value


def _response_of(value: dict[str, Any]) -> dict[str, Any]:
    found = object_in(value.get("response"))
    return object_in(found.get("body")) or found or (value if "output" in value else {})


def talk(value: dict[str, Any]) -> Talk:
    """The items of a record. :raises Misfit: it has none."""
    if "type" in value or "role" in value:
        return Talk("", [value], bare=True)  # an item, whose own input and output are texts
    request, response = _request_of(value), _response_of(value)
    if "input" not in request and "output" not in response:
        raise Misfit('"input" and "output" are missing.')
    given: Any = request.get("input")
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    items = [*a_list(given or [], '"input"'), *a_list(response.get("output", []), '"output"')]
    return Talk(name_of(NAMES, value, request), items)


def entries(item: dict[str, Any], where: str) -> Iterator[Entry]:
    """What one item says. :raises Misfit: it is none."""
    kind = item.get("type") or ("message" if "role" in item else None)
    if kind is None:
        raise Misfit(f'{where}: an item has a "type" or a "role".')
    if kind == "message":
        text = kept(part_texts(item.get("content"), f"{where}: content", _TEXTS))
        if text and item.get("role") in ("user", "assistant"):
            yield Utterance("user" if item["role"] == "user" else "assistant", text, where)
    elif kind in _CALLS:
        tool = a_text(item.get("name"), f"{where}: name")
        args, raw = said_arguments(item.get("arguments", item.get("input")))
        named = str(item.get("call_id") or item.get("id") or "")
        yield ToolCall(named, tool, args, where, raw)
        if kind == "mcp_call" and ("output" in item or "error" in item):
            error = item.get("error")
            yield ToolAnswer(named, text_of(error or item.get("output")), where, bool(error))
    elif kind in _ANSWERS:
        output: Any = item.get("output")
        text = (
            kept(part_texts(output, f"{where}: output", _TEXTS))
            if is_list(output)
            else text_of(output)
        )
        yield ToolAnswer(str(item.get("call_id") or ""), text, where)


DIALECT = Dialect(EXPECTED, talk, entries)


def read(source: str, found: Iterable[Record]) -> Iterator[Conversation]:
    """The conversations of one file; those that are chained by their ids are held to its end."""
    links: dict[int, tuple[str, str]] = {}

    def watched() -> Iterator[Record]:
        for record in found:
            if is_object(record.value):
                value = object_in(record.value)
                request, response = _request_of(value), _response_of(value)
                before = request.get("previous_response_id") or response.get("previous_response_id")
                links[record.line] = (str(response.get("id") or ""), str(before or ""))
            yield record

    chains: dict[str, Conversation] = {}
    for each in conversations(source, watched(), DIALECT):
        own, before = links.pop(each.line, ("", ""))
        earlier = chains.pop(before, None) if before else None
        if earlier is not None:
            whole = tuple(joined(earlier.entries, each.entries))
            each = Conversation(id=earlier.id, line=earlier.line, entries=whole)  # noqa: PLW2901
        if own:
            chains[own] = each
        else:
            yield each
    yield from chains.values()


__all__ = ["DIALECT", "EXPECTED", "read", "recognises"]
