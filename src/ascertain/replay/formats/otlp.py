"""OpenTelemetry spans of generative AI, as OTLP JSON: messages on attributes, and executed tools.

The semantic conventions of ``gen_ai.*``: ``gen_ai.input.messages`` and ``gen_ai.output.messages``
(roles and parts ``text``, ``tool_call``, ``tool_call_response``) on spans or on the event
``gen_ai.client.inference.operation.details``, and spans ``execute_tool`` with
``gen_ai.tool.call.arguments`` and ``.result``, which are recorded only where somebody opted in.
https://opentelemetry.io/docs/specs/semconv/gen-ai/
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ascertain.replay.formats.conversation import (
    Conversation,
    Entry,
    Role,
    ToolAnswer,
    ToolCall,
    Utterance,
    joined,
    kept,
    said_arguments,
    text_of,
)
from ascertain.replay.formats.gathering import Traced, by_thread
from ascertain.replay.formats.misread import Misfit
from ascertain.replay.formats.records import Record
from ascertain.replay.formats.shapes import (
    a_list,
    an_object,
    is_list,
    is_object,
    kind_of,
    list_in,
    object_in,
)

EXPECTED = (
    'OTLP JSON is {"resourceSpans": [{"scopeSpans": [{"spans": [...]}]}]} (or resourceLogs), whole '
    "or one a line, with gen_ai.* attributes."
)
DETAILS = "gen_ai.client.inference.operation.details"
_ERROR = (2, "STATUS_CODE_ERROR")
_CALL, _ANSWER = ("tool_call", "mcp_tool_call"), ("tool_call_response",)


def recognises(value: dict[str, Any]) -> bool:
    """Whether a record has what only this format has."""
    return "resourceSpans" in value or "resourceLogs" in value or _is_span(value)


def _is_span(value: dict[str, Any]) -> bool:
    return "traceId" in value and is_list(value.get("attributes"))


@dataclass(slots=True)
class _Part:
    """What one span or event tells."""

    where: str
    messages: list[Any] = field(default_factory=list[Any])
    tool: dict[str, Any] | None = None
    is_error: bool = False


def read(source: str, found: Iterable[Record]) -> Iterator[Conversation]:
    """The conversations of one file, by ``gen_ai.conversation.id``, else by trace.

    :raises RecordingError: a record is no OTLP JSON; names the line.
    """
    return by_thread(source, found, EXPECTED, _traced, _entries)


def _traced(record: Record) -> Iterator[Traced[_Part]]:
    for span in _spans(an_object(record.value)):
        attributes = attributes_of(span)
        named = attributes.get("gen_ai.conversation.id")
        yield Traced(
            str(span.get("traceId") or ""), named if isinstance(named, str) else "",
            _whole(span.get("startTimeUnixNano") or span.get("timeUnixNano") or 0, "the time"),
            _part(span, attributes),
        )  # fmt: skip


def _spans(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every span and log record, wherever it hangs."""
    if _is_span(value):
        yield value
        return
    if "resourceSpans" not in value and "resourceLogs" not in value:
        raise Misfit('"resourceSpans" is missing.')
    for outer, inner, leaf in (
        ("resourceSpans", "scopeSpans", "spans"),
        ("resourceLogs", "scopeLogs", "logRecords"),
    ):
        for resource in a_list(value.get(outer, []), f'"{outer}"'):
            for scope in a_list(an_object(resource, outer).get(inner, []), f'"{inner}"'):
                for each in a_list(an_object(scope, inner).get(leaf, []), f'"{leaf}"'):
                    yield an_object(each, f"one of {leaf}")


def attributes_of(thing: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a span, event or log record as plain values."""
    found: dict[str, Any] = {}
    for pair in a_list(thing.get("attributes") or [], '"attributes"'):
        fields = an_object(pair, "an attribute")
        found[str(fields.get("key"))] = _plain(fields.get("value"))
    return found


def _plain(value: Any) -> Any:
    """A value of OTLP JSON (``{"stringValue": ...}``) as the value it stands for."""
    if not is_object(value):
        return value
    for name, inner in object_in(value).items():
        match name:
            case "intValue":
                return _whole(inner, "intValue")
            case "arrayValue":
                return [_plain(each) for each in list_in(object_in(inner).get("values"))]
            case "kvlistValue":
                pairs = map(object_in, list_in(object_in(inner).get("values")))
                return {str(pair.get("key")): _plain(pair.get("value")) for pair in pairs}
            case "stringValue" | "boolValue" | "doubleValue" | "bytesValue":
                return inner
            case _:
                pass
    return None


def _whole(value: object, what: str) -> int:
    """A whole number, which OTLP JSON writes as a text. :raises Misfit: it is none."""
    try:
        return int(value) if isinstance(value, int | str) else int("")
    except ValueError:
        raise Misfit(f"{what} must be a whole number, it is {kind_of(value)}.") from None


def _part(span: dict[str, Any], attributes: dict[str, Any]) -> _Part | None:
    part = _Part(where=f"span {span.get('spanId') or '?'}")
    part.is_error = an_object(span.get("status") or {}, "status").get("code") in _ERROR
    if attributes.get("gen_ai.operation.name") == "execute_tool":
        part.tool = attributes
        return part
    for told in (attributes, *_details(span)):
        for name in ("gen_ai.input.messages", "gen_ai.output.messages"):
            part.messages += _messages(told.get(name), name)
    return part if part.messages else None


def _details(span: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The attributes of the event that carries what was said."""
    for event in a_list(span.get("events") or [], '"events"'):
        fields = an_object(event, "an event")
        if fields.get("name") == DETAILS:
            yield attributes_of(fields)


def _messages(value: Any, name: str) -> list[Any]:
    """Messages, structured or as the JSON text that a span may carry instead."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise Misfit(
                f"{name} is no JSON.", "It was cut off: record it without a limit on attributes."
            ) from None
    return a_list(value or [], name)


def _entries(parts: list[_Part]) -> list[Entry]:
    history: list[Entry] = []
    executed: set[str] = set()
    for part in parts:
        if part.tool is None:
            told = [
                entry
                for message in part.messages
                for entry in _said(an_object(message, "a message"), part.where)
            ]
            history = joined(history, told)
        else:
            history += _executed(part, history, executed)
    return history


def _executed(part: _Part, history: list[Entry], executed: set[str]) -> Iterator[Entry]:
    attributes = part.tool or {}
    tool = str(attributes.get("gen_ai.tool.name") or "?")
    named = str(attributes.get("gen_ai.tool.call.id") or "")
    asked = bool(named) and any(isinstance(e, ToolCall) and e.call_id == named for e in history)
    if not asked or named in executed:
        said = attributes.get("gen_ai.tool.call.arguments")
        args, raw = (None, "") if said is None else said_arguments(said)
        if args is None and asked:
            args = next(e.args for e in history if isinstance(e, ToolCall) and e.call_id == named)
        yield ToolCall(named or part.where, tool, args, part.where, raw, executed=True)
    executed.add(named)
    result = attributes.get("gen_ai.tool.call.result")
    kind = str(attributes.get("error.type") or "")
    failing = part.is_error or bool(kind)
    if result is not None or failing:
        yield ToolAnswer(
            named or part.where, text_of(result), part.where, True if failing else None, kind
        )


def _said(message: dict[str, Any], where: str) -> Iterator[Entry]:
    role = message.get("role")
    for part in a_list(message.get("parts") or [], '"parts"'):
        fields = an_object(part, "a part")
        kind = fields.get("type")
        if kind == "text" and role in ("user", "assistant") and fields.get("content"):
            speaker: Role = "user" if role == "user" else "assistant"
            yield Utterance(speaker, kept(str(fields["content"])), where)
        elif kind in _CALL:
            args, raw = said_arguments(fields.get("arguments"))
            named = str(fields.get("id") or "").strip()
            yield ToolCall(named, str(fields.get("name") or "?"), args, where, raw)
        elif kind in _ANSWER:
            answer: Any = fields.get("response", fields.get("result"))
            yield ToolAnswer(str(fields.get("id") or "").strip(), text_of(answer), where)
