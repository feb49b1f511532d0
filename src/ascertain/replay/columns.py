"""Text in columns: widths as a terminal shows them, Chinese included; with and without colour."""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TextIO

STACK_BELOW = 100
WIDEST = 168
NARROWEST = 40
_GAP = " │ "

_STYLES: Mapping[str, str] = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36",
}  # fmt: skip
_WORDS: Mapping[str, str] = {
    "confirmed": "green", "completed": "green", "rejected": "red", "refused": "red",
    "unknown": "yellow", "partially_completed": "yellow", "awaiting_confirmation": "yellow",
    "needs_review": "yellow",
}  # fmt: skip
_STATE = re.compile(r"\b(" + "|".join(_WORDS) + r")\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """What is written on: how wide it is, and whether it takes colour."""

    width: int
    colour: bool

    def paint(self, text: str, style: str) -> str:
        """The text in a style, if the paper takes it."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.colour and text else text

    def states(self, text: str) -> str:
        """The text with its states in their colours."""
        return _STATE.sub(lambda found: self.paint(found[0], _WORDS[found[0]]), text)

    @property
    def stacked(self) -> bool:
        """Too narrow for columns side by side."""
        return self.width < STACK_BELOW


def paper_of(stream: TextIO, colour: bool | None) -> Paper:
    """The paper that a stream is.

    :param colour: asked for or refused; None: as the terminal and ``NO_COLOR`` say.
    """
    if colour is None:
        quiet = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        colour = stream.isatty() and not quiet
    columns = shutil.get_terminal_size((STACK_BELOW + 20, 24)).columns
    return Paper(width=min(max(columns, NARROWEST), WIDEST), colour=colour)


def is_terminal(stream: TextIO) -> bool:
    """Whether a line that was written can be written over."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(_width(letter) for letter in text)


def _width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """The text in lines of at most ``width`` columns; what follows the first is indented.

    Breaks at blanks, and where there is none (or the text is Chinese) anywhere.
    """
    lines: list[str] = []
    line = ""
    for piece in _pieces(text):
        if width_of(line) + width_of(piece.rstrip()) <= width:
            line += piece
            continue
        if line.strip():
            lines.append(line.rstrip())
            line = indent
        for letter in piece if width_of(piece) > width - width_of(line) else [piece]:
            if width_of(line) + width_of(letter.rstrip()) > width:
                lines.append(line.rstrip())
                line = indent
            line += letter
    if line.strip() or not lines:
        lines.append(line.rstrip())
    return lines


def _pieces(text: str) -> Iterator[str]:
    """Words with the blanks that follow them; each wide letter on its own."""
    word = ""
    for letter in text:
        if _width(letter) == 2:
            if word:
                yield word
            yield letter
            word = ""
            continue
        if word and word[-1] == " " and letter != " " and word.strip():
            yield word
            word = ""
        word += letter
    if word:
        yield word


def fit(rows: Sequence[str], width: int) -> list[str]:
    """Rows in lines that fit; what is wrapped keeps the indent of its row, and a little more."""
    lines: list[str] = []
    for row in rows:
        indent = " " * (len(row) - len(row.lstrip(" ")) + 2)
        lines += wrap(row, width, indent)
    return lines


def beside(paper: Paper, blocks: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Titled blocks side by side, two in a row (four where there is room), or stacked."""
    if paper.stacked:
        lines: list[str] = []
        for title, rows in blocks:
            lines.append(paper.paint(title, "cyan"))
            lines += [f"  {paper.states(line)}" for line in fit(rows, paper.width - 2)]
        return lines
    in_a_row = len(blocks) if paper.width >= 160 else 2
    width = (paper.width - len(_GAP) * (in_a_row - 1)) // in_a_row
    lines = []
    for start in range(0, len(blocks), in_a_row):
        group = blocks[start : start + in_a_row]
        lines.append(_GAP.join(_padded(paper, title, width, "cyan") for title, _ in group).rstrip())
        for row in zip_longest(*(fit(rows, width) for _, rows in group), fillvalue=""):
            lines.append(_GAP.join(_padded(paper, cell, width) for cell in row).rstrip())
        if start + in_a_row < len(blocks):
            lines.append("")
    return lines


def _padded(paper: Paper, text: str, width: int, style: str = "") -> str:
    blanks = " " * max(0, width - width_of(text))
    return (paper.paint(text, style) if style else paper.states(text)) + blanks


class Progress:
    """What is going on, while it goes on: one changing line, or plain lines where none can."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = is_terminal(self._stream)
        self._shown = 0

    def step(self, text: str) -> None:
        """Something worth a line."""
        if self._live:
            self._show(text)
        else:
            self._stream.write(f"  .. {text}\n")
            self._stream.flush()

    def tick(self, text: str) -> None:
        """Something that only a changing line can afford."""
        if self._live:
            self._show(text)

    def clear(self) -> None:
        """Take the changing line away, so that something else can be written."""
        if self._live and self._shown:
            self._stream.write("\r" + " " * self._shown + "\r")
            self._stream.flush()
            self._shown = 0

    def _show(self, text: str) -> None:
        most = shutil.get_terminal_size((80, 24)).columns - 1
        line = wrap(f"  .. {text}", most)[0]
        self.clear()
        self._stream.write(line)
        self._stream.flush()
        self._shown = width_of(line)
