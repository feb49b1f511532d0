"""OpenAI chat completions: ``messages`` with ``tool_calls`` and messages of the role ``tool``.

https://platform.openai.com/docs/api-reference/chat. A record is a list of messages, a request, a
response, or both together, as ``{"request": ..., "response": ...}`` or as a batch line has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ascertain.replay.formats.conversation import (
    Entry,
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
    'A chat is {"messages": [{"role": ..., "content": ...}, ...]}, a list of such messages, or a '
    "chat.completion."
)
ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_TEXTS = ("text", "input_text", "output_text", "refusal")


def recognises(value: dict[str, Any]) -> bool:
    """Whether a record has what only this format has."""
    if value.get("object") == "chat.completion" or is_list(value.get("choices")):
        return True
    inner = _inner(value.get("response"))
    if is_list(inner.get("choices")):
        return True
    return any(_is_mine(message) for message in _messages_of(value))


def may_be(value: dict[str, Any]) -> bool:
    """Whether a record could be of this format, though it has nothing that others have not."""
    return bool(_messages_of(value))


def _messages_of(value: dict[str, Any]) -> list[dict[str, Any]]:
    found = _request_of(value).get("messages", [value] if "role" in value else [])
    return [object_in(message) for message in list_in(found) if "role" in object_in(message)]


def _is_mine(message: dict[str, Any]) -> bool:
    return message.get("role") in ("tool", "function") or bool(message.get("tool_calls"))


def _inner(value: Any) -> dict[str, Any]:
    """A request or response, out of the envelope of a batch."""
    fields = object_in(value)
    return object_in(fields.get("body")) or fields


def _request_of(value: dict[str, Any]) -> dict[str, Any]:
    return _inner(value.get("request")) or _inner(value)


def talk(value: dict[str, Any]) -> Talk:
    """The messages of a record. :raises Misfit: it has none."""
    request = _request_of(value)
    response = _inner(value.get("response")) or (value if "choices" in value else {})
    if "messages" not in request and "choices" not in response:
        if "role" in value:
            return Talk("", [value], bare=True)
        raise Misfit('"messages" is missing.')
    messages = list(a_list(request.get("messages", []), '"messages"'))
    if "choices" in response:
        choices = a_list(response["choices"], '"choices"')
        messages += [_message_of(choice) for choice in choices[:1]]
    alone = value is response  # its id is the reply's own, not the conversation's
    own = "" if alone else name_of(RECORD_NAMES, value)
    return Talk(name_of(NAMES, value, request), messages, record=own)


def _message_of(choice: Any) -> Any:
    fields = an_object(choice, "a choice")
    if "message" not in fields:
        raise Misfit(
            'a choice has no "message".', "Record whole responses, not the chunks of a stream."
        )
    return fields["message"]


def entries(message: dict[str, Any], where: str) -> Iterator[Entry]:
    """What one message says. :raises Misfit: it is no message."""
    role = message.get("role")
    if role not in ROLES:
        raise Misfit(f"{where}: role must be one of {', '.join(ROLES)}.")
    text = kept(part_texts(message.get("content"), f"{where}: content", _TEXTS))
    match role:
        case "user":
            if text:
                yield Utterance("user", text, where)
        case "assistant":
            if text:
                yield Utterance("assistant", text, where)
            yield from _calls(message, where)
        case "tool" | "function":
            named = message.get("tool_call_id") if role == "tool" else ""
            state = message.get("status")  # LangChain's mark
            error = {"error": True, "success": False}.get(state) if isinstance(state, str) else None
            content = message.get("content")
            is_parts = is_list(content)
            yield ToolAnswer(
                named if isinstance(named, str) else "",
                text if is_parts else text_of(content),
                where,
                error,
            )
        case _:
            pass  # what the model is told to be is nothing that was said or done


def _calls(message: dict[str, Any], where: str) -> Iterator[ToolCall]:
    for call in a_list(message.get("tool_calls") or [], f"{where}: tool_calls"):
        fields = an_object(call, f"{where}: a tool call")
        function = fields.get("function") or fields.get("custom") or fields
        details = an_object(function, f"{where}: function")
        tool = a_text(details.get("name"), f"{where}: the name of a tool")
        said: Any = details.get("arguments", details.get("args", details.get("input")))
        args, raw = said_arguments(said)
        yield ToolCall(str(fields.get("id") or ""), tool, args, where, raw)
    older = message.get("function_call")
    if older:
        details = an_object(older, f"{where}: function_call")
        args, raw = said_arguments(details.get("arguments"))
        tool = a_text(details.get("name"), f"{where}: the name of a function")
        yield ToolCall("", tool, args, where, raw)


DIALECT = Dialect(EXPECTED, talk, entries)
