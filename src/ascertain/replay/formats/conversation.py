"""A recorded conversation in one form, whatever it was recorded in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ascertain.replay.formats.shapes import is_object, object_in

LONGEST = 20_000  # characters of one text that are kept

Role = Literal["user", "assistant"]


class Utterance(NamedTuple):
    """What a person or the model said. ``where``: its place in the recording."""

    role: Role
    text: str
    where: str


class ToolCall(NamedTuple):
    """A call that the model asked for, or that was executed.

    :param call_id: '' where the recording has none.
    :param args: None where no arguments were recorded, or what was is no object; ``raw`` is then
        what was recorded. :param kind: what the recording says it is (read, write), or ''.
    :param executed: it stands for an execution (a span, a run), not only for the model's wish.
    """

    call_id: str
    tool: str
    args: dict[str, Any] | None
    where: str
    raw: str = ""
    kind: str = ""
    executed: bool = False


class ToolAnswer(NamedTuple):
    """What came back from a call.

    :param error: as the recording marks it; None: it has no mark.
    :param error_type: the class of the error, where it is recorded apart.
    """

    call_id: str
    text: str
    where: str
    error: bool | None = None
    error_type: str = ""


Entry = Utterance | ToolCall | ToolAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What was said and called, in order.

    :param id: its own name, or where it begins. :param line: where it begins in its file.
    """

    id: str
    line: int
    entries: tuple[Entry, ...]


def calls_of(entries: Iterable[Entry]) -> list[tuple[ToolCall, ToolAnswer | None, int, int]]:
    """Each call with its answer, and the places of both in the order of the conversation.

    An answer belongs to the earliest call of its id that has none. What is never answered has the
    place -1.
    """
    calls: list[tuple[ToolCall, int]] = []
    answers: dict[int, tuple[ToolAnswer, int]] = {}
    waiting: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        match entry:
            case ToolCall():
                waiting.setdefault(entry.call_id, []).append(len(calls))
                calls.append((entry, place))
            case ToolAnswer() if waiting.get(entry.call_id):
                answers[waiting[entry.call_id].pop(0)] = (entry, place)
            case _:
                pass
    none: tuple[None, int] = (None, -1)
    return [(call, *_turned(answers.get(n, none), place)) for n, (call, place) in enumerate(calls)]


def _turned(
    answer: tuple[ToolAnswer | None, int], place: int
) -> tuple[ToolAnswer | None, int, int]:
    return answer[0], place, answer[1]


def goes_on(earlier: Sequence[Entry], later: Sequence[Entry]) -> bool:
    """Whether the later recording repeats all of the earlier one, as a log of requests does."""
    if len(later) < len(earlier):
        return False
    return all(_same(a, b) for a, b in zip(earlier, later, strict=False))


def joined(earlier: Sequence[Entry], later: Sequence[Entry]) -> list[Entry]:
    """One conversation of which two recordings have a part each, with what they share once.

    What the later one tells as often as the earlier one had it already is no news.
    """
    told = {entry.call_id: entry.text for entry in later if isinstance(entry, ToolAnswer)}
    whole = [_with_text(entry, told) for entry in earlier]
    if goes_on(earlier, later):
        return [*whole, *later[len(earlier) :]]
    known = Counter(map(_key, earlier))
    seen = Counter[tuple[str, ...]]()
    for entry in later:
        key = _key(entry)
        seen[key] += 1
        if seen[key] > known[key]:
            whole.append(entry)
    return whole


def _with_text(entry: Entry, told: Mapping[str, str]) -> Entry:
    """An answer of which only the mark was recorded, with its text from elsewhere."""
    if isinstance(entry, ToolAnswer) and entry.call_id and not entry.text:
        return entry._replace(text=told.get(entry.call_id, ""))
    return entry


def _same(a: Entry, b: Entry) -> bool:
    return _key(a) == _key(b)


def _key(entry: Entry) -> tuple[str, ...]:
    """By what an entry is known again in another recording of the same conversation."""
    match entry:
        case Utterance():
            return "said", entry.role, entry.text
        case ToolCall():
            return ("call", entry.call_id) if entry.call_id else ("call", entry.tool, *_said(entry))
        case ToolAnswer():
            return ("answer", entry.call_id) if entry.call_id else ("answer", "", entry.text)


def _said(call: ToolCall) -> tuple[str, str]:
    return text_of(call.args), call.raw


def kept(text: str) -> str:
    """A text as far as it is kept."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def text_of(value: Any) -> str:
    """Anything recorded as text: a text as it is, nothing as '', the rest as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return kept(value)
    return kept(json.dumps(value, ensure_ascii=False, default=str))


def said_arguments(value: object) -> tuple[dict[str, Any] | None, str]:
    """Recorded arguments as an object, and what they were where they are none."""
    if isinstance(value, str):
        try:
            loaded: object = json.loads(value) if value.strip() else {}
        except (ValueError, RecursionError):
            return None, kept(value)
    else:
        loaded = value
    return (object_in(loaded), "") if is_object(loaded) else (None, text_of(value))
