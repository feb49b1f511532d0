"""Writes for people: tables and lines that fit the width, and nothing that harms a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import StringIO
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ascertain.cli.out import put
from ascertain.rules.texts import clean

LONGEST = 4000
WIDEST = 110

# One style for each thing that has one; without colour the words say it all.
STYLES = {
    "confirmed": "green",
    "compensated": "green",
    "unknown": "bold yellow",
    "sent": "cyan",
    "prepared": "cyan",
    "rejected": "magenta",
    "ok": "green",
    "warn": "yellow",
    "bad": "bold red",
    "info": "cyan",
    "title": "bold",
    "quiet": "dim",
}

Cell = str | tuple[str, str]


class Paper:
    """Collects what a command says, and writes it out at the end in one piece."""

    def __init__(self) -> None:
        is_terminal = sys.stdout.isatty()
        self._sheet = StringIO()
        self._console = Console(
            file=self._sheet, force_terminal=True if is_terminal else None, highlight=False,
            markup=False, emoji=False, width=_width(is_terminal), legacy_windows=False,
        )  # fmt: skip

    def line(self, *cells: Cell, indent: int = 0) -> None:
        """One paragraph of styled words."""
        text = Text(overflow="fold")
        for cell in cells:
            text.append_text(styled(cell))
        self._console.print(Padding(text, (0, 0, 0, indent)))

    def blank(self) -> None:
        self._console.print()

    def pairs(self, rows: Sequence[tuple[str, Cell]], *, indent: int = 2) -> None:
        """Names and what they stand for, side by side."""
        self.grid([((name, "quiet"), cell) for name, cell in rows], indent=indent)

    def grid(self, rows: Sequence[Sequence[Cell]], *, indent: int = 2) -> None:
        """Columns as wide as they need to be; the last one takes the rest and wraps."""
        table = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
        for _ in rows[0][:-1] if rows else ():
            table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for row in rows:
            table.add_row(*(styled(cell) for cell in row))
        self._console.print(Padding(table, (0, 0, 0, indent)))

    def table(
        self, titles: Sequence[str], rows: Sequence[Sequence[Cell]], *, keep: Sequence[str] = ()
    ) -> None:
        """A table without lines; ``keep`` names the columns that are never cut."""
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=STYLES["title"])
        for title in titles:
            kept = title in keep
            table.add_column(
                title, no_wrap=True, overflow="fold" if kept else "ellipsis",
                min_width=_longest(titles, rows, title) if kept else None,
            )  # fmt: skip
        for row in rows:
            table.add_row(*(styled(cell) for cell in row))
        self._console.print(table)

    def write(self) -> None:
        """Write it to stdout.

        :raises ReaderGone: nobody reads it any more.
        """
        put(self.text())

    def text(self) -> str:
        """What there is on it."""
        lines = (line.rstrip() for line in self._sheet.getvalue().splitlines())
        return "".join(f"{line}\n" for line in lines)


def styled(cell: Cell) -> Text:
    """Words in a style, cleaned: what a provider says never steers a terminal."""
    words, style = (cell, "") if isinstance(cell, str) else cell
    return Text(clean(words, LONGEST), style=STYLES.get(style, ""))


def _longest(titles: Sequence[str], rows: Sequence[Sequence[Any]], title: str) -> int:
    place = titles.index(title)
    return max([len(title), *(styled(row[place]).cell_len for row in rows)])


def _width(is_terminal: bool) -> int | None:
    if is_terminal or "COLUMNS" in os.environ:
        found = Console(legacy_windows=False).width
        return min(found, WIDEST)
    return 80
