"""What is being prepared in this process: which calls will provide which keys of which session."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token

Place = tuple[str, str]
"""Tenant and session."""


class Activity:
    """One call that will provide some keys. ``pending``: its answer is in hand."""

    __slots__ = ("keys", "pending")

    def __init__(self, keys: frozenset[str]) -> None:
        self.keys = keys
        self.pending = False


own: ContextVar[Activity | None] = ContextVar("ascertain_activity", default=None)


class Readiness:
    """The calls under way that provide something, and who waits for them. For any thread."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._calls: dict[Place, list[Activity]] = {}
        self._bells: dict[Place, list[Callable[[], None]]] = {}

    def under_way(self, place: Place, keys: Sequence[str]) -> UnderWay:
        """A call that provides these keys runs inside; others see it from its first moment on."""
        return UnderWay(self, place, Activity(frozenset(keys)))

    def begin(self, place: Place, activity: Activity) -> None:
        """A call has begun."""
        if self._pid != os.getpid():
            self._forget()
        with self._lock:
            self._calls.setdefault(place, []).append(activity)
            bells = self._bells.get(place)
        _ring(bells)

    def end(self, place: Place, activity: Activity) -> None:
        """It has ended."""
        with self._lock:
            calls = self._calls.get(place, [])
            if activity in calls:
                calls.remove(activity)
            if not calls:
                self._calls.pop(place, None)
            bells = self._bells.get(place)
        _ring(bells)

    def active(self, place: Place, keys: Sequence[str]) -> dict[str, tuple[int, int]]:
        """For each key, how many other calls will provide it, and how many have their answer."""
        mine = own.get()
        if place not in self._calls:
            return {}
        with self._lock:
            calls = [one for one in self._calls.get(place, ()) if one is not mine]
        return _counted(calls, keys)

    def all_active(self, place: Place) -> dict[str, tuple[int, int]]:
        """The same for every key of a session, and every call."""
        with self._lock:
            calls = list(self._calls.get(place, ()))
        return _counted(calls, sorted({key for one in calls for key in one.keys}))

    @contextmanager
    def listening(self, place: Place, ring: Callable[[], None]) -> Generator[None]:
        """Call ``ring`` (from any thread) whenever a call of the session begins or ends."""
        with self._lock:
            self._bells.setdefault(place, []).append(ring)
        try:
            yield
        finally:
            with self._lock:
                bells = self._bells.get(place, [])
                if ring in bells:
                    bells.remove(ring)
                if not bells:
                    self._bells.pop(place, None)


class UnderWay:
    """What :meth:`Readiness.under_way` gives: enter it once."""

    __slots__ = ("_activity", "_place", "_readiness", "_token")

    def __init__(self, readiness: Readiness, place: Place, activity: Activity) -> None:
        self._readiness, self._place, self._activity = readiness, place, activity

    def __enter__(self) -> None:
        self._readiness.begin(self._place, self._activity)
        self._token: Token[Activity | None] = own.set(self._activity)

    def __exit__(self, *_: object) -> None:
        own.reset(self._token)
        self._readiness.end(self._place, self._activity)


def _ring(bells: list[Callable[[], None]] | None) -> None:
    for ring in list(bells or ()):
        ring()


def _counted(calls: Sequence[Activity], keys: Sequence[str]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for key in keys:
        those = [one for one in calls if key in one.keys]
        if those:
            found[key] = (len(those), sum(one.pending for one in those))
    return found
