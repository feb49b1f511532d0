"""A recording: tool calls of real conversations, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn, cast

from ascertain.errors import AscertainError
from ascertain.values.canonical import digest

Kind = Literal["read", "write", "generic"]
KINDS: tuple[Kind, ...] = ("read", "write", "generic")
FORMAT = (
    'Each line is one object with "conv" (text), "order" (whole number), "tool" (text), "kind" '
    '(read, write or generic) and "args" (object); "turn", "error" and "result" may be there.'
)


class RecordingError(AscertainError):
    """The recording cannot be read; nothing was replayed."""

    code: ClassVar[str] = "recording_error"
    next_step: ClassVar[str] = FORMAT


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


def load_recording(path: str | Path, limit: int | None = None) -> Recording:
    """Read a recording.

    :param limit: take only so many calls, from the beginning.
    :raises RecordingError: it is not there, or a line of it is not a recorded call; names the line.
    """
    if limit is not None and limit < 1:
        raise RecordingError(
            f"A limit of {limit} leaves nothing to replay.", next_step="Give 1 or more."
        )
    file = Path(path)
    calls = _counted(list(_calls(file, limit)))
    if not calls:
        raise RecordingError(f"{file} holds no recorded calls.", path=str(file))
    _check_kinds(calls, file)
    return Recording(name=file.name, calls=tuple(calls))


def _calls(file: Path, limit: int | None) -> Iterator[Call]:
    taken = 0
    for number, line in enumerate(_lines(file), 1):
        if not line.strip():
            continue
        yield _call(file, number, line)
        taken += 1
        if taken == limit:
            return


def _lines(file: Path) -> Sequence[str]:
    try:
        return file.read_text(encoding="utf-8").split("\n")
    except OSError as broken:
        raise RecordingError(
            f"{file} cannot be read: {broken.strerror or broken}.",
            next_step="Name a file of recorded calls, one JSON object a line.",
            path=str(file),
        ) from None
    except UnicodeDecodeError as broken:
        raise RecordingError(
            f"{file} is not UTF-8 text (byte {broken.start}).",
            next_step="Save it as UTF-8.",
            path=str(file),
        ) from None


def _call(file: Path, number: int, line: str) -> Call:
    def wrong(what: str, next_step: str = "") -> NoReturn:
        raise RecordingError(
            f"{file}, line {number}: {what}", next_step=next_step, path=str(file), line=number
        )

    def constant(word: str) -> NoReturn:
        wrong(f"{word} is no JSON value.", "Leave such calls out: they cannot be sent exactly.")

    try:
        loaded: Any = json.loads(line, parse_constant=constant)
    except ValueError as broken:
        wrong(f"this is no JSON: {broken}.", "Correct or remove the line.")
    except RecursionError:
        wrong("this is nested too deep.", "Correct or remove the line.")
    if not isinstance(loaded, dict):
        wrong("this is no JSON object.")
    fields = cast("dict[str, Any]", loaded)
    missing = [name for name in ("conv", "order", "tool", "kind", "args") if name not in fields]
    if missing:
        wrong(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing.")
    for name, kind, text in (
        ("conv", str, "a text"), ("order", int, "a whole number"), ("tool", str, "a text"),
        ("args", dict, "an object"),
    ):  # fmt: skip
        value = fields[name]
        if not isinstance(value, kind) or isinstance(value, bool) or value == "":
            wrong(f"{name} must be {text}, it is {json.dumps(value)[:60]}.")
    if fields["kind"] not in KINDS:
        wrong(f"kind must be one of {', '.join(KINDS)}, it is {json.dumps(fields['kind'])[:60]}.")
    result = fields.get("result", "")
    return Call(
        line=number,
        conv=fields["conv"],
        order=fields["order"],
        tool=fields["tool"],
        kind=fields["kind"],
        args=fields["args"],
        error=bool(fields.get("error", False)),
        result=result if isinstance(result, str) else json.dumps(result, ensure_ascii=False),
    )


def _counted(calls: list[Call]) -> list[Call]:
    """The calls, each with how often it came before in its conversation."""
    seen: dict[str, int] = {}
    counts: dict[int, int] = {}
    for call in sorted(calls, key=lambda call: (call.conv, call.order)):
        counts[call.line] = seen.get(call.intent, 0)
        seen[call.intent] = counts[call.line] + 1
    return [replace(call, repeat=counts[call.line]) for call in calls]


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
