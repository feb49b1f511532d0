"""Calls one by one, as ``replay`` has them: ``conv``, ``order``, ``tool``, ``kind``, ``args``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ascertain.replay.formats.conversation import (
    Conversation,
    Entry,
    ToolAnswer,
    ToolCall,
    Utterance,
    kept,
    text_of,
)
from ascertain.replay.formats.gathering import expecting
from ascertain.replay.formats.misread import CALLS, Misfit
from ascertain.replay.formats.records import Record
from ascertain.replay.formats.shapes import an_object

EXPECTED = CALLS
Kind = Literal["read", "write", "generic"]
KINDS: tuple[Kind, ...] = ("read", "write", "generic")
_NEEDED = ("conv", "order", "tool", "kind", "args")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One recorded call. :param turn: which wish of the person it serves; None: not recorded."""

    line: int
    conv: str
    order: int
    turn: int | None
    tool: str
    kind: Kind
    args: dict[str, Any]
    error: bool | None
    result: str
    answered: bool


def recognises(value: dict[str, Any]) -> bool:
    """Whether a record has what only this format has."""
    return {"conv", "tool"} <= value.keys() or {"conv", "args"} <= value.keys()


def row_of(source: str, record: Record) -> Row:
    """A record as a call. :raises RecordingError: it is none; names the line."""
    with expecting(source, record.line, EXPECTED):
        return _row(record.line, an_object(record.value))


def _row(line: int, fields: dict[str, Any]) -> Row:
    missing = [name for name in _NEEDED if name not in fields]
    if missing:
        raise Misfit(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing.")
    for name, kind, text in (
        ("conv", str, "a text"), ("order", int, "a whole number"), ("tool", str, "a text"),
        ("args", dict, "an object"),
    ):  # fmt: skip
        value = fields[name]
        if not isinstance(value, kind) or isinstance(value, bool) or value == "":
            raise Misfit(f"{name} must be {text}, it is {json.dumps(value)[:60]}.")
    if fields["kind"] not in KINDS:
        raise Misfit(
            f"kind must be one of {', '.join(KINDS)}, it is {json.dumps(fields['kind'])[:60]}."
        )
    turn = fields.get("turn")
    result = fields.get("result", "")
    return Row(
        line=line,
        conv=fields["conv"],
        order=fields["order"],
        turn=turn if isinstance(turn, int) else None,
        tool=fields["tool"],
        kind=fields["kind"],
        args=fields["args"],
        error=bool(fields["error"]) if "error" in fields else None,
        result=result if isinstance(result, str) else json.dumps(result, ensure_ascii=False),
        answered="result" in fields or "error" in fields,
    )


def read(source: str, found: Iterable[Record]) -> Iterator[Conversation]:
    """The conversations of one file, whose calls may be scattered over it.

    :raises RecordingError: a record is no call; names the line.
    """
    rows: dict[str, list[Row]] = {}
    for record in found:
        row = row_of(source, record)
        rows.setdefault(row.conv, []).append(row)
    for conv, calls in rows.items():
        calls.sort(key=lambda row: row.order)
        yield Conversation(id=conv, line=calls[0].line, entries=tuple(_entries(calls)))


def _entries(rows: list[Row]) -> Iterator[Entry]:
    turn: int | None = None
    for row in rows:
        where = f"line {row.line}"
        if row.turn != turn and turn is not None:
            # What was said in between is not recorded; that something was, is.
            yield Utterance("user", "", where)
        turn = row.turn
        yield ToolCall(where, row.tool, row.args, where, kind=row.kind, executed=True)
        if row.answered:
            yield ToolAnswer(where, kept(text_of(row.result)), where, row.error)
