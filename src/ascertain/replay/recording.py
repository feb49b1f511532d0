"""A recording: the tool calls of real conversations, as they are replayed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import Any

from ascertain.replay.effects import is_read_verb
from ascertain.replay.formats import check_format, format_of, open_recording
from ascertain.replay.formats.calls import KINDS, Kind, row_of
from ascertain.replay.formats.conversation import Conversation, calls_of
from ascertain.replay.formats.misread import RecordingError
from ascertain.replay.formats.records import records
from ascertain.values.canonical import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One recorded call.

    :param line: where it stands in the file, from 1.
    :param error: the tool had answered with an error; ``result`` is then its text.
    :param repeat: how often the very same call came before in this conversation.
    """

    line: int
    conv: str
    order: int
    tool: str
    kind: Kind
    args: dict[str, Any]
    error: bool = False
    result: str = ""
    repeat: int = 0

    @property
    def intent(self) -> str:
        """The same for identical calls of one conversation, and for no others."""
        return intent_of(self.conv, self.tool, self.args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Calls in the order of the file."""

    name: str
    calls: tuple[Call, ...]

    def conversations(self) -> dict[str, list[Call]]:
        """The calls of each conversation, in their own order."""
        found: dict[str, list[Call]] = {}
        for call in self.calls:
            found.setdefault(call.conv, []).append(call)
        return {conv: sorted(calls, key=lambda call: call.order) for conv, calls in found.items()}

    def of_kind(self, kind: Kind) -> list[Call]:
        return [call for call in self.calls if call.kind == kind]

    def first_calls(self) -> dict[str, Call]:
        """The first call of each intent, by intent."""
        found: dict[str, Call] = {}
        for calls in self.conversations().values():
            for call in calls:
                found.setdefault(call.intent, call)
        return found


def intent_of(conv: str, tool: str, args: dict[str, Any]) -> str:
    """Name what is meant by a call, in the recording's own terms; no rule of identity is asked."""
    text = json.dumps([conv, tool, args], sort_keys=True, ensure_ascii=False)
    return digest(text)


def load_recording(
    path: str | Path, limit: int | None = None, format: str | None = None
) -> Recording:
    """Read a recording, in any of the formats of :mod:`ascertain.replay.formats`.

    :param limit: take only so many calls, from the beginning. :param format: by default found out.
    :raises RecordingError: it is not there, or a line of it is not a recorded call; names the line.
    """
    if limit is not None and limit < 1:
        raise RecordingError(
            f"A limit of {limit} leaves nothing to replay.", next_step="Give 1 or more."
        )
    check_format(format)
    file = Path(path)
    calls = _counted(list(islice(_calls(file, format), limit)))
    if not calls:
        raise RecordingError(f"{file} holds no recorded calls.", path=str(file))
    _check_kinds(calls, file)
    return Recording(name=file.name, calls=tuple(calls))


def _calls(file: Path, format: str | None) -> Iterator[Call]:
    name = format or format_of(file)
    if name != "calls":
        yield from _of_conversations(open_recording(file, name).conversations)
        return
    for record in records(file):  # as they come: what is beyond the limit is not read
        row = row_of(str(file), record)
        yield Call(
            line=row.line, conv=row.conv, order=row.order, tool=row.tool, kind=row.kind,
            args=row.args, error=bool(row.error), result=row.result,
        )  # fmt: skip


def _of_conversations(found: Iterator[Conversation]) -> Iterator[Call]:
    """The calls of conversations; what has no arguments on record cannot be played."""
    orders = count()
    for each in found:
        for call, answer, _, _ in calls_of(each.entries):
            if call.args is None:
                continue
            read = call.kind == "read" or (not call.kind and is_read_verb(call.tool))
            yield Call(
                line=each.line, conv=each.id, order=next(orders), tool=call.tool,
                kind="read" if read else "write", args=call.args,
                error=answer is not None and answer.error is True,
                result="" if answer is None else answer.text,
            )  # fmt: skip


def _counted(calls: list[Call]) -> list[Call]:
    """The calls, each with how often it came before in its conversation."""
    seen: dict[str, int] = {}
    counts: dict[int, int] = {}
    for place in sorted(range(len(calls)), key=lambda n: (calls[n].conv, calls[n].order)):
        intent = calls[place].intent
        counts[place] = seen.get(intent, 0)
        seen[intent] = counts[place] + 1
    return [replace(call, repeat=counts[place]) for place, call in enumerate(calls)]


def _check_kinds(calls: list[Call], file: Path) -> None:
    kinds: dict[str, Call] = {}
    for call in calls:
        first = kinds.setdefault(call.tool, call)
        if first.kind != call.kind:
            raise RecordingError(
                f"{file}, line {call.line}: {call.tool} is a {call.kind} here and a {first.kind} "
                f"in line {first.line}.",
                next_step="Give each tool one kind; in doubt it is a write.",
                path=str(file),
                line=call.line,
            )


__all__ = ["KINDS", "Call", "Kind", "Recording", "RecordingError", "intent_of", "load_recording"]
