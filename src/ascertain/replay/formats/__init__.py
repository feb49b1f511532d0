"""Recorded conversations, in whichever of the usual formats they lie, read into one form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from ascertain.replay.formats import (
    anthropic_messages,
    calls,
    langsmith,
    openai_chat,
    openai_responses,
    otlp,
)
from ascertain.replay.formats.conversation import Conversation
from ascertain.replay.formats.gathering import Dialect, conversations
from ascertain.replay.formats.misread import RecordingError
from ascertain.replay.formats.records import Record, records
from ascertain.replay.formats.shapes import is_object, object_in

_LOOKED_AT = 100  # records, until one of them shows what the format is


class Format(NamedTuple):
    """One way to record conversations.

    :param recognises: whether a record has what only this format has. :param read: the
        conversations of a file, given its name and its records.
    """

    title: str
    expected: str
    recognises: Callable[[dict[str, Any]], bool]
    read: Callable[[str, Iterable[Record]], Iterator[Conversation]]


def _by(dialect: Dialect) -> Callable[[str, Iterable[Record]], Iterator[Conversation]]:
    return lambda source, found: conversations(source, found, dialect)


# In the order in which they are asked.
FORMATS: dict[str, Format] = {
    "calls": Format("calls one by one", calls.EXPECTED, calls.recognises, calls.read),
    "otlp": Format("OpenTelemetry spans", otlp.EXPECTED, otlp.recognises, otlp.read),
    "langsmith": Format(
        "LangSmith runs", langsmith.EXPECTED, langsmith.recognises, langsmith.read
    ),
    "openai-responses": Format(
        "OpenAI responses", openai_responses.EXPECTED, openai_responses.recognises,
        openai_responses.read,
    ),
    "anthropic": Format(
        "Anthropic messages", anthropic_messages.EXPECTED, anthropic_messages.recognises,
        _by(anthropic_messages.DIALECT),
    ),
    "openai-chat": Format(
        "OpenAI chat", openai_chat.EXPECTED, openai_chat.recognises, _by(openai_chat.DIALECT)
    ),
}  # fmt: skip


class Opened(NamedTuple):
    """A recording that is being read. ``format``: one of :data:`FORMATS`."""

    format: str
    conversations: Iterator[Conversation]


def check_format(name: str | None) -> None:
    """:raises RecordingError: there is no such format."""
    if name is not None and name not in FORMATS:
        raise RecordingError(
            f"There is no format {name!r}.", next_step=f"Choose one of: {', '.join(FORMATS)}."
        )


def open_recording(path: str | Path, format: str | None = None) -> Opened:
    """Find out how a recording was written, and read it, conversation by conversation.

    :param format: one of :data:`FORMATS`; None: found out from what is in it.
    :raises RecordingError: there is no such file or format, or nothing in it is known; while
        reading: a record is not of the format. Names file, line and what was expected.
    """
    check_format(format)
    file = Path(path)
    name = format or format_of(file)
    return Opened(name, FORMATS[name].read(str(file), records(file)))


def format_of(file: Path) -> str:
    """Find out how a recording was written.

    :raises RecordingError: there is no such file, or nothing in it is known.
    """
    with closing(records(file)) as found:
        return _detected(file, found)


def _detected(file: Path, found: Iterator[Record]) -> str:
    may_be_chat = False
    seen: list[Record] = []
    for record in found:
        seen.append(record)
        if is_object(record.value):
            value = object_in(record.value)
            for name, each in FORMATS.items():
                if each.recognises(value):
                    return name
            may_be_chat = may_be_chat or openai_chat.may_be(value)
        if len(seen) == _LOOKED_AT:
            break
    if may_be_chat:
        return "openai-chat"  # plain messages, which two formats write alike
    if not seen:
        raise RecordingError(f"{file} holds no recorded calls.", path=str(file))
    raise RecordingError(
        f"{file}, line {seen[0].line}: this is in no format that is known.",
        next_step=f"Known are: {'; '.join(f'{n} ({f.title})' for n, f in FORMATS.items())}. Name "
        "one with --format to be told what it lacks.",
        path=str(file),
        line=seen[0].line,
    )


__all__ = [
    "FORMATS",
    "Conversation",
    "Opened",
    "RecordingError",
    "check_format",
    "format_of",
    "open_recording",
]
