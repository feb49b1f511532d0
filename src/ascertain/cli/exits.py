"""What exit codes mean, and how an error is told."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from enum import IntEnum
from typing import Any

from ascertain.errors import (
    ActionNotFound,
    AscertainError,
    IntentConflict,
    LedgerError,
    NotAllowed,
    UnknownTool,
)
from ascertain.rules.texts import clean

LONGEST = 4000
WIDTH = 80


class Exit(IntEnum):
    """The exit codes of every command."""

    FINE = 0
    FOUND = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    LEDGER = 5
    DEFECT = 70
    INTERRUPTED = 130
    READER_GONE = 141
    STOPPED = 143


MEANING: dict[Exit, str] = {
    Exit.FINE: "fine",
    Exit.FOUND: "the command found something, such as a lint finding",
    Exit.USAGE: "wrong usage or bad input; nothing was done",
    Exit.NOT_FOUND: "there is no such action or tool",
    Exit.REFUSED: "refused: it would not be true, or not safe",
    Exit.LEDGER: "the ledger is missing, damaged, locked, full or not readable",
    Exit.DEFECT: "a defect in ascertain; --debug shows where",
    Exit.INTERRUPTED: "interrupted from the keyboard",
    Exit.READER_GONE: "the reader of the output closed it",
    Exit.STOPPED: "stopped at once by a second signal",
}


class UsageProblem(AscertainError):
    """The command was not understood."""

    code = "usage"
    next_step = "ascertain --help"


def exit_of(error: AscertainError) -> Exit:
    """The exit code for an error of the library."""
    match error:
        case ActionNotFound() | UnknownTool():
            return Exit.NOT_FOUND
        case NotAllowed() | IntentConflict():
            return Exit.REFUSED
        case LedgerError():
            return Exit.LEDGER
        case _:
            return Exit.USAGE


def tell(error: AscertainError, *, as_json: bool) -> Exit:
    """Tell an error: message, next step, code; as JSON on stdout, for people on stderr."""
    if as_json:
        sys.stdout.write(f"{json_text(error.as_dict())}\n")
    else:
        sys.stderr.write(_in_words(error))
    return exit_of(error)


def json_text(value: Any) -> str:
    """JSON of which no character can harm a terminal: all but ASCII is escaped."""
    return json.dumps(value, indent=2, ensure_ascii=True, default=str)


def _in_words(error: AscertainError) -> str:
    lines = _wrapped(f"ascertain: {error.message}", "  ")
    if error.advice:
        lines += _wrapped(f"  next: {error.advice}", "        ")
    lines.append(f"  code: {error.code}")
    return "\n".join(lines) + "\n"


def _wrapped(text: str, indent: str) -> list[str]:
    width = min(shutil.get_terminal_size((WIDTH, 24)).columns, 100)
    return textwrap.wrap(
        clean(" ".join(text.split("\n")), LONGEST),
        max(40, width),
        subsequent_indent=indent,
        drop_whitespace=True,
        break_long_words=False,
        break_on_hyphens=False,
    )
