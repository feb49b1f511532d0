"""From messages, one record after another, to conversations; and from what a tracer has recorded.

A log of requests repeats the whole conversation in each: what the next record repeats is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from ascertain.replay.formats.conversation import Conversation, Entry, goes_on, joined
from ascertain.replay.formats.misread import Misfit, RecordingError
from ascertain.replay.formats.records import Record
from ascertain.replay.formats.shapes import a_list, an_object

T = TypeVar("T")

NAMES = ("conversation_id", "thread_id", "session_id")
RECORD_NAMES = ("id", "custom_id")  # of a record, and so perhaps of one request only


class Talk(NamedTuple):
    """One record of messages.

    :param name: what the conversation is called. :param record: what the record is called.
    :param bare: it is a single message of a conversation.
    """

    name: str
    messages: list[Any]
    bare: bool = False
    record: str = ""


class Dialect(NamedTuple):
    """How one format says it.

    :param talk: the messages of a record; raises Misfit. :param entries: what one message says,
        and at which place; raises Misfit.
    """

    expected: str
    talk: Callable[[dict[str, Any]], Talk]
    entries: Callable[[dict[str, Any], str], Iterator[Entry]]


def conversations(source: str, found: Iterable[Record], dialect: Dialect) -> Iterator[Conversation]:
    """The conversations of one file.

    :raises RecordingError: a record is not of this format; names the file and the line.
    """
    held: Conversation | None = None
    group: object = held
    for record in found:
        talk, entries = _read(source, record, dialect)
        named = talk.name or talk.record or f"{source}:{record.line}"
        new = Conversation(id=named, line=record.line, entries=tuple(entries))
        mine = ("bare", record.group) if talk.bare else (talk.name,)
        if held is not None:
            if talk.bare and mine == group:
                held = _with(held, [*held.entries, *new.entries])
                continue
            same = mine == group and bool(talk.name)
            if same or (mine == group and goes_on(held.entries, new.entries)):
                held = _with(held, joined(held.entries, new.entries))
                continue
            yield held
        held, group = new, mine
    if held is not None:
        yield held


class Traced(NamedTuple, Generic[T]):
    """A run or a span.

    :param thread: the conversation that it says its trace belongs to, or ''. :param at: sorts what
        belongs to one conversation. :param what: what is read of it; None: nothing is.
    """

    trace: str
    thread: str
    at: Any
    what: T | None


def by_thread(
    source: str,
    found: Iterable[Record],
    expected: str,
    traced: Callable[[Record], Iterable[Traced[T]]],
    entries: Callable[[list[T]], Iterable[Entry]],
) -> Iterator[Conversation]:
    """The conversations of one file of traces: by thread where a part names one, else by trace.

    :param traced: what a record holds; raises Misfit. :param entries: what was said in a
        conversation, of its parts in order; raises Misfit.
    :raises RecordingError: a record is not of this format; names the file and the line.
    """
    traces: dict[str, list[tuple[Any, int, T]]] = {}
    threads: dict[str, str] = {}
    for record in found:
        with expecting(source, record.line, expected):
            for trace, thread, at, what in traced(record):
                if thread:
                    threads.setdefault(trace, thread)
                if what is not None:
                    traces.setdefault(trace, []).append((at, record.line, what))
    gathered: dict[str, list[tuple[Any, int, T]]] = {}
    for trace, parts in traces.items():
        gathered.setdefault(threads.get(trace, trace), []).extend(parts)
    for name, parts in gathered.items():
        parts.sort(key=lambda part: part[0])
        line = parts[0][1]
        with expecting(source, line, expected):
            said = tuple(entries([what for _, _, what in parts]))
        yield Conversation(id=name, line=line, entries=said)


def _with(held: Conversation, entries: list[Entry]) -> Conversation:
    return Conversation(id=held.id, line=held.line, entries=tuple(entries))


def _read(source: str, record: Record, dialect: Dialect) -> tuple[Talk, list[Entry]]:
    with expecting(source, record.line, dialect.expected):
        talk = dialect.talk(an_object(record.value))
        entries: list[Entry] = []
        for number, message in enumerate(talk.messages, 1):
            where = f"line {record.line}" + ("" if talk.bare else f", message {number}")
            entries += dialect.entries(an_object(message, f"message {number}"), where)
        return talk, entries


class expecting:  # noqa: N801  # read as a word: with expecting(...)
    """Whatever does not fit inside becomes an error that names file, line and what was expected."""

    def __init__(self, source: str, line: int, expected: str) -> None:
        self._source, self._line, self._expected = source, line, expected

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Misfit):
            raise RecordingError(
                f"{self._source}, line {self._line}: {error.what}",
                next_step=error.expected or self._expected,
                path=self._source,
                line=self._line,
            ) from None


def name_of(names: tuple[str, ...], *values: dict[str, Any]) -> str:
    """What the conversation, or the record, calls itself by the first of these names."""
    found = (value.get(name) for value in values for name in names)
    return next((name for name in found if isinstance(name, str) and name), "")


def part_texts(content: Any, what: str, kinds: tuple[str, ...]) -> str:
    """The text of a message's content: a text, or the text parts of a list."""
    if content is None or isinstance(content, str):
        return content or ""
    texts: list[str] = []
    for part in a_list(content, what):
        if isinstance(part, str):
            texts.append(part)
            continue
        fields = an_object(part, f"a part of {what}")
        if fields.get("type") in kinds:
            said = fields.get("text", fields.get("refusal", fields.get("content")))
            texts.append(said if isinstance(said, str) else "")
    return "\n".join(filter(None, texts))
