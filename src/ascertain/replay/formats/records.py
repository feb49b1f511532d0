"""A file of JSON as a stream of values, each with its line: lines, arrays, or one document.

Nothing is held but the value that is being read: of an array its elements come one by one.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

from ascertain.replay.formats.misread import RecordingError
from ascertain.replay.formats.shapes import is_list, list_in

_CHUNK = 1 << 16
_TAIL = 16  # a number, a word or an escape that the end of the window may have cut
_BLANK = " \t\r\n"


class Record(NamedTuple):
    """One value of a file.

    :param line: where it begins, from 1. :param group: of an element of an array the line where the
        array begins; None: it stands by itself.
    """

    line: int
    value: Any
    group: int | None = None


def records(file: Path) -> Generator[Record, None, None]:
    """The values of a file, one by one.

    :raises RecordingError: it is not there, not UTF-8, or a line of it is no JSON.
    """
    try:
        with file.open("rb") as stream:
            yield from _by_line(file, stream) if _has_lines(file, stream) else _whole(file, stream)
    except OSError as broken:
        raise RecordingError(
            f"{file} cannot be read: {broken.strerror or broken}.",
            next_step="Name a file of recorded calls or conversations, as JSON.",
            path=str(file),
        ) from None


def _has_lines(file: Path, stream: BinaryIO) -> bool:
    """Whether each line is a value of its own; else one value may go over many lines."""
    if file.suffix in (".jsonl", ".ndjson"):
        return True
    begins = stream.read(_CHUNK).lstrip()[:1]
    stream.seek(0)
    if begins == b"[":
        return False  # its elements are taken one by one, however long the line is
    first = next((line for line in stream if line.strip()), b"")
    stream.seek(0)
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return True


def _by_line(file: Path, stream: BinaryIO) -> Iterator[Record]:
    before = 0
    for number, line in enumerate(stream, 1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as broken:
            _no_text(file, before + broken.start)
        before += len(line)
        if not text.strip():
            continue
        try:
            value = json.loads(text, parse_constant=_Constant.refuse)
        except (ValueError, RecursionError) as broken:
            _no_json(file, number, broken)
        if is_list(value):
            yield from (Record(number, each, number) for each in list_in(value))
        else:
            yield Record(number, value)


def _whole(file: Path, stream: BinaryIO) -> Iterator[Record]:
    window = _Window(file, stream)
    while begins := window.blank():
        if begins == "[":
            yield from _elements(window)
            continue
        line = window.line
        yield Record(line, window.value())


def _elements(window: _Window) -> Iterator[Record]:
    group = window.line
    window.step()
    while (sign := window.blank()) != "]":
        if sign == ",":
            window.step()
            continue
        if not sign:
            window.broken("the array that begins here has no end", group)
        line = window.line
        yield Record(line, window.value(), group)
    window.step()


class _Constant(ValueError):
    @staticmethod
    def refuse(word: str) -> NoReturn:
        raise _Constant(word)


class _Window:
    """The part of a file that is being read, and the line where it begins."""

    def __init__(self, file: Path, stream: BinaryIO) -> None:
        self.line = 1
        self._file, self._stream = file, stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._parser = json.JSONDecoder(parse_constant=_Constant.refuse)
        self._text, self._at, self._bytes, self._ended = "", 0, 0, False

    def blank(self) -> str:
        """Go on to what is not blank, and return its first letter; '': there is no more."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANK:
                self.line += self._text[self._at] == "\n"
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def step(self) -> None:
        self._at += 1

    def value(self) -> Any:
        """The value that begins here."""
        while True:
            try:
                value, end = self._parser.raw_decode(self._text, self._at)
            except _Constant as constant:
                _no_json(self._file, self.line, constant)
            except json.JSONDecodeError as broken:
                line = self.line + self._text.count("\n", self._at, broken.pos)
                if self._may_go_on(broken) and self._more():
                    continue
                self.broken(f"this is no JSON: {broken.msg}", line)
            except RecursionError as broken:
                _no_json(self._file, self.line, broken)
            if end == len(self._text) and self._text[end - 1] not in "]}" and self._more():
                continue  # a number may have been cut
            self.line += self._text.count("\n", self._at, end)
            self._at = end
            return value

    def broken(self, what: str, line: int) -> NoReturn:
        _wrong(self._file, line, f"{what}.", "Correct the file.")

    def _may_go_on(self, broken: json.JSONDecodeError) -> bool:
        cut = broken.msg.startswith("Unterminated string")
        return cut or broken.pos >= len(self._text) - _TAIL

    def _more(self) -> bool:
        """Read on: as much again as is held, so that a long value is tried only a few times."""
        if self._ended:
            return False
        self._text, self._at = self._text[self._at :], 0
        read = self._stream.read(max(_CHUNK, len(self._text)))
        self._ended = not read
        try:
            self._text += self._decoder.decode(read, final=self._ended)
        except UnicodeDecodeError as broken:
            _no_text(self._file, self._bytes + broken.start)
        self._bytes += len(read)
        return not self._ended


def _no_text(file: Path, byte: int) -> NoReturn:
    raise RecordingError(
        f"{file} is not UTF-8 text (byte {byte}).", next_step="Save it as UTF-8.", path=str(file)
    ) from None


def _no_json(file: Path, line: int, broken: Exception) -> NoReturn:
    match broken:
        case _Constant():
            _wrong(
                file, line, f"{broken} is no JSON value.",
                "Leave such calls out: they cannot be sent exactly.",
            )  # fmt: skip
        case RecursionError():
            _wrong(file, line, "this is nested too deep.", "Correct or remove the line.")
        case _:
            _wrong(file, line, f"this is no JSON: {broken}.", "Correct or remove the line.")


def _wrong(file: Path, line: int, what: str, next_step: str) -> NoReturn:
    raise RecordingError(
        f"{file}, line {line}: {what}", next_step=next_step, path=str(file), line=line
    ) from None
