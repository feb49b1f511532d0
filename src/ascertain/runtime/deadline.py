"""Ambient deadlines: the least of call, turn and process bounds everything together."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

_ambient: ContextVar[float | None] = ContextVar("ascertain_deadline", default=None)


@contextmanager
def deadline(seconds: float) -> Generator[None]:
    """Bound all guarded calls inside: sends, look-ups, back-off and waits for the ledger.

    Nested deadlines only ever shorten. At its end every open attempt has been recorded as unknown.
    """
    outer = _ambient.get()
    at = monotonic() + seconds
    token = _ambient.set(at if outer is None else min(outer, at))
    try:
        yield
    finally:
        _ambient.reset(token)


def remaining_s() -> float | None:
    """Seconds until the ambient deadline; None where there is none."""
    at = _ambient.get()
    return None if at is None else at - monotonic()
