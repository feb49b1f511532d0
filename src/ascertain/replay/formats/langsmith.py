"""Runs as LangSmith has them: ``run_type``, ``inputs``, ``outputs``, ``error``, ``trace_id``.

https://docs.langchain.com/langsmith/run-data-format. A record is a run, with its child runs inside
it or beside it. Model runs tell what was said, tool runs what was executed and how it ended; one
call that was executed twice has two of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any, cast

from ascertain.replay.formats import openai_chat
from ascertain.replay.formats.conversation import (
    Conversation,
    Entry,
    ToolAnswer,
    ToolCall,
    joined,
    said_arguments,
    text_of,
)
from ascertain.replay.formats.gathering import Traced, by_thread
from ascertain.replay.formats.misread import Misfit
from ascertain.replay.formats.records import Record
from ascertain.replay.formats.shapes import an_object, is_list, is_object, list_in, object_in

EXPECTED = (
    'A run is {"id": ..., "trace_id": ..., "run_type": "llm", "tool" or "chain", "inputs": {...}, '
    '"outputs": {...}}, one a line or in a list.'
)
_THREADS = ("session_id", "thread_id", "conversation_id")
_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


def recognises(value: dict[str, Any]) -> bool:
    """Whether a record has what only this format has."""
    return "run_type" in value


def read(source: str, found: Iterable[Record]) -> Iterator[Conversation]:
    """The conversations of one file: by thread where runs name one, else by trace.

    :raises RecordingError: a record is no run; names the line.
    """
    return by_thread(source, found, EXPECTED, _traced, _entries)


def _traced(record: Record) -> Iterator[Traced[dict[str, Any]]]:
    root = an_object(record.value)
    named = str(root.get("id") or root.get("run_id") or record.line)
    for trace, run in _all(root, named):
        at = str(run.get("start_time") or run.get("dotted_order") or "")
        yield Traced(trace, _thread_of(run), at, run)


def _all(run: dict[str, Any], above: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A run and those inside it, each with its trace."""
    if not isinstance(run.get("run_type"), str):
        raise Misfit('"run_type" is missing.')
    trace = str(run.get("trace_id") or above)
    yield trace, run
    for child in run.get("child_runs") or ():
        yield from _all(an_object(child, "a child run"), trace)


def _thread_of(fields: dict[str, Any]) -> str:
    extra = object_in(fields.get("extra"))
    metadata = object_in(extra.get("metadata")) or object_in(fields.get("metadata"))
    return next((str(metadata[name]) for name in _THREADS if metadata.get(name)), "")


def _entries(runs: list[dict[str, Any]]) -> list[Entry]:
    history: list[Entry] = []
    executed: list[int] = []  # places in the history of calls that a tool run stands for
    for run in runs:
        match run["run_type"]:
            case "llm":
                history = joined(history, list(_said(run, *_prompt(run), *_replies(run))))
            case "chain" if not run.get("parent_run_id"):
                # Some tracers keep the prompt of a model as one text: what began it has messages.
                history = joined(history, list(_said(run, *_prompt(run))))
            case "tool":
                _execute(run, history, executed)
            case _:
                pass
    return history


def _execute(run: dict[str, Any], history: list[Entry], executed: list[int]) -> None:
    where = f"run {run.get('id') or run.get('run_id') or '?'}"
    tool = str(run.get("name") or "?")
    output = _output_of(run)
    args, raw = _arguments_of(run)
    named = _call_id_of(run, output)
    place = next(
        (
            n
            for n, entry in enumerate(history)
            if isinstance(entry, ToolCall)
            and n not in executed
            and (entry.call_id == named if named else (entry.tool, entry.args) == (tool, args))
        ),
        None,
    )
    if place is None:
        place = len(history)
        history.append(ToolCall(named or where, tool, args, where, raw, executed=True))
    executed.append(place)
    call = cast("ToolCall", history[place])
    error = run.get("error")
    if error or output is not None:
        marked = output.get("status") == "error" if output is not None else False
        text = text_of(error) if error else text_of((output or {}).get("content"))
        history.append(ToolAnswer(call.call_id, text, where, True if error or marked else None))


def _call_id_of(run: dict[str, Any], output: dict[str, Any] | None) -> str:
    extra = object_in(run.get("extra"))
    for holder in (
        output or {},
        extra,
        object_in(extra.get("metadata")),
        object_in(run.get("inputs")),
    ):
        found = holder.get("tool_call_id")
        if isinstance(found, str) and found:
            return found
    return ""


def _output_of(run: dict[str, Any]) -> dict[str, Any] | None:
    """What a tool gave back: a tool message, or anything; None: nothing is recorded."""
    outputs = run.get("outputs")
    if outputs is None:
        return None
    fields = object_in(outputs)
    inner: Any = fields.get("output", outputs)
    message = _fields_of(inner) if is_object(inner) else {}
    if "content" in message:
        return message
    return {"content": inner}


def _arguments_of(run: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The arguments of a tool run; LangChain's own tracer keeps them as Python would print them."""
    inputs = object_in(run.get("inputs"))
    inner: Any = inputs.get("input") if set(inputs) == {"input"} else inputs
    if is_object(inner):
        fields = inner
        return {name: value for name, value in fields.items() if name != "tool_call_id"}, ""
    if not isinstance(inner, str):
        return None, text_of(inner)
    args, raw = said_arguments(inner)
    if args is None:
        try:
            printed: Any = ast.literal_eval(inner)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None, raw
        if is_object(printed):
            return printed, ""
    return args, raw


def _said(run: dict[str, Any], *messages: dict[str, Any]) -> Iterator[Entry]:
    where = f"run {run.get('id') or run.get('run_id') or '?'}"
    for message in messages:
        yield from openai_chat.entries(message, where)


def _prompt(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    given = list_in(object_in(run.get("inputs")).get("messages"))
    if len(given) == 1 and is_list(given[0]):
        given = list_in(given[0])  # a batch of one prompt
    yield from filter(None, map(_message, given))


def _replies(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    outputs = object_in(run.get("outputs"))
    if "generations" in outputs:
        batches = list_in(outputs["generations"])
        first = list_in(batches[0] if batches else None) or batches
        found = _message(object_in(first[0] if first else None).get("message"))
    elif choices := list_in(outputs.get("choices")):
        found = _message(object_in(choices[0]).get("message"))
    else:
        found = _message(outputs.get("message") or outputs.get("output") or outputs)
    if found:
        yield found


def _message(value: Any) -> dict[str, Any] | None:
    """A message in the form of a chat, whichever of LangChain's forms it has; None: it is none."""
    fields = _fields_of(value)
    role = fields.get("role") or _ROLES.get(str(fields.get("type") or "").lower())
    if role not in openai_chat.ROLES:
        return None
    return {**fields, "role": role}


def _fields_of(value: Any) -> dict[str, Any]:
    fields = object_in(value)
    if fields.get("type") == "constructor" and "kwargs" in fields:  # as LangChain serialises it
        names = list_in(fields.get("id"))
        kind = str(names[-1]) if names else ""
        kind = kind.removesuffix("Chunk").removesuffix("Message").lower()
        return {"type": kind, **object_in(fields["kwargs"])}
    data = fields.get("data")
    if is_object(data) and "type" in fields:
        return {**object_in(data), "type": fields["type"]}
    return fields
