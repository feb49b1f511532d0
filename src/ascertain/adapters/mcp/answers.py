"""How the result of an MCP tool is read: by a path in its data, or by a pattern in its text.

Where nothing is declared nothing is read. An error result proves no absence of an effect: servers
make one of a time-out after the effect too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from ascertain.adapters.mcp.templates import fill
from ascertain.model.words import Absent, AbsentType, Found
from ascertain.rules.news.replies import read_path
from ascertain.values.misfit import is_array, is_object

_LONGEST_REF: Final = 200


class ErrorResult(Exception):
    """The server's result says that it is an error; that proves nothing about the effect.

    :ivar code: where the configuration says how to read one; it is a refusal only where the
        contract names the code.
    """

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


class NoAnswer(Exception):
    """A look-up's tool answered something that cannot be read as an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Where something stands in a result.

    :param path: dotted, in ``structuredContent``, else in the text if that is JSON.
    :param pattern: a regular expression over the text; its first group, else all of it.
    """

    path: str = ""
    pattern: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How a look-up's answer is read.

    :param items: dotted path of the list of records; empty: the whole answer is the list.
    :param where: what a record must hold, by path; its values may have places to fill.
    :param ref: path of the reference in a record, or, without a list, in the answer.
    :param pattern: instead of all that, a regular expression over the text: each match is a record.
    :param absent: what the text of a search that went well looks like where it found nothing. Any
        other text without a match is no answer: a server's excuse is not absence.
    """

    items: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict[str, Any])
    ref: str = ""
    pattern: str = ""
    absent: str = ""


Result = Mapping[str, Any]
"""A ``CallToolResult`` as JSON."""


def text_of(result: Result) -> str:
    """All text of a result."""
    blocks = cast("list[Mapping[str, Any]]", result.get("content") or [])
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    return "\n".join(texts)


def data_of(result: Result) -> Any:
    """The data of a result: what is structured, else its text read as JSON; None: neither."""
    if result.get("structuredContent") is not None:
        return result["structuredContent"]
    try:
        return json.loads(text_of(result))
    except ValueError:
        return None


def read(reading: Reading | None, result: Result) -> str:
    """What stands there, as text; empty where nothing does."""
    if reading is None:
        return ""
    if reading.pattern:
        found = re.search(reading.pattern, text_of(result))
        return "" if found is None else _short(_group(found))
    return _short(read_path(data_of(result), reading.path))


def found_in(search: Search, result: Result, places: Mapping[str, Any]) -> Found | AbsentType:
    """What a look-up's answer says of one action.

    :raises NoAnswer: it is an error, or not of the shape that was declared; that is no absence.
    """
    if result.get("isError"):
        raise NoAnswer("the look-up's tool answered with an error")
    refs = (
        _by_pattern(search, result, places) if search.pattern else _by_data(search, result, places)
    )
    if not refs:
        return Absent
    return Found(refs[0], count=len(refs), refs=tuple(refs))


def _by_pattern(search: Search, result: Result, places: Mapping[str, Any]) -> list[str]:
    pattern = fill(search.pattern, places, re.escape)
    text = text_of(result)
    found = [_short(_group(match)) for match in re.finditer(pattern, text)]
    refs = [ref for ref in found if ref]
    if not refs and not re.search(search.absent, text):
        raise NoAnswer("the look-up's answer says neither that it is there nor that it is not")
    return refs


def _by_data(search: Search, result: Result, places: Mapping[str, Any]) -> list[str]:
    data = data_of(result)
    rows: Any = data if search.items in (None, "") else read_path(data, search.items)
    if search.items is None and is_object(rows):
        rows = [rows] if rows else []
        _check_record(search, rows)
    if not is_array(rows):
        raise NoAnswer("the look-up's answer has no list where one was declared")
    wanted = cast("dict[str, Any]", fill(dict(search.where), places))
    refs: list[str] = []
    for row in rows:
        if all(_same(read_path(row, path), value) for path, value in wanted.items()):
            ref = _short(read_path(row, search.ref) if search.ref else row)
            if not ref:
                raise NoAnswer("a record of the look-up has no reference where one was declared")
            refs.append(ref)
    return refs


def _check_record(search: Search, rows: list[Any]) -> None:
    """Where one record is the whole answer, it has to be one.

    :raises NoAnswer: it has nothing of what was declared of it, such as a server's excuse.
    """
    paths = [*search.where, *([search.ref] if search.ref else [])]
    for row in rows:
        if paths and all(read_path(row, path) is None for path in paths):
            raise NoAnswer("the look-up's answer has nothing of a record")


def _group(found: re.Match[str]) -> str:
    return found[1] if found.re.groups else found[0]


def _same(found: Any, wanted: Any) -> bool:
    """Equal, or the same number or word written as text."""
    return found == wanted or (found is not None and str(found) == str(wanted))


def _short(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)[:_LONGEST_REF]
