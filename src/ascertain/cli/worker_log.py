"""How a worker tells what it does: a progress line on a terminal, plain lines or JSON else."""

from __future__ import annotations

import json
import logging
import sys
import time
from datetime import datetime
from typing import Any, TextIO, cast

from ascertain.report.words import iso
from ascertain.rules.texts import clean

_LOGGER = "ascertain"
_LONGEST = 2000
_ERASE = "\r\x1b[K"


class Teller:
    """Says what happens.

    :param stream: where to. :param as_json: one JSON object for each line.
    :param progress: keep one line at the bottom of a terminal.
    """

    def __init__(self, stream: TextIO, *, as_json: bool, progress: bool) -> None:
        self._stream = stream
        self._as_json = as_json
        self.has_progress = progress
        self._line = ""
        self._handler = _Handler(self)

    def start(self) -> None:
        """Listen to what the library logs, unless the app arranged its own logging."""
        if logging.getLogger().handlers and not self._as_json:
            return
        logger = logging.getLogger(_LOGGER)
        logger.addHandler(self._handler)
        logger.setLevel(logging.WARNING if self.has_progress else logging.INFO)
        logger.propagate = False

    def close(self) -> None:
        """Leave the terminal as it was."""
        logging.getLogger(_LOGGER).removeHandler(self._handler)
        if self._line:
            self._put(f"{_ERASE}{self._line}\n")
            self._line = ""

    def event(self, name: str, sentence: str, **values: Any) -> None:
        """Something about the worker itself."""
        if self._as_json:
            self._json({"event": name, **values})
        else:
            self.line(sentence)

    def step(self, text: str, level: int) -> None:
        """A line of the library's log: JSON with codes and ids, or words."""
        found = _parsed(text)
        if self._as_json:
            words = found or {"event": "log", "level": logging.getLevelName(level), "text": text}
            self._json(words)
        else:
            self.line(text if found is None else _in_words(found))

    def line(self, text: str) -> None:
        """One line, with the time, above the progress line."""
        lines = [clean(line, _LONGEST) for line in text.splitlines()]
        stamp = datetime.now().astimezone().strftime("%H:%M:%S")
        erase = _ERASE if self._line else ""
        self._put(f"{erase}{stamp} " + "\n  ".join(lines) + f"\n{self._line}")

    def progress(self, text: str) -> None:
        """Replace the progress line."""
        self._line = clean(text, 79)
        self._put(f"{_ERASE}{self._line}")

    def _json(self, values: dict[str, Any]) -> None:
        self._put(f"{json.dumps({'at': iso(time.time()), **values}, default=str)}\n")

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self.has_progress = False  # nobody reads it any more; the work goes on


class _Handler(logging.Handler):
    def __init__(self, teller: Teller) -> None:
        super().__init__()
        self._teller = teller
        self._plain = logging.Formatter("%(message)s")

    def emit(self, record: logging.LogRecord) -> None:
        self._teller.step(self._plain.format(record), record.levelno)


def teller(*, as_json: bool) -> Teller:
    """For this process: JSON goes to stdout, everything for people to stderr."""
    made = Teller(
        sys.stdout if as_json else sys.stderr,
        as_json=as_json,
        progress=not as_json and sys.stderr.isatty(),
    )
    made.start()
    return made


def _parsed(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def _in_words(step: dict[str, Any]) -> str:
    said = f"{step.get('tool')} {step.get('action')}: {step.get('event')}, now {step.get('state')}"
    said += f" ({step.get('reason')}), attempt {step.get('attempt')}"
    return f"{said}, in review: {step['review']}" if step.get("review") else said
