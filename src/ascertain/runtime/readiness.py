"""What is being prepared in this process: which calls will provide which keys of which session."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

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

    @contextmanager
    def under_way(self, place: Place, keys: Sequence[str]) -> Generator[None]:
        """A call that provides these keys runs inside; others see it from its first moment on."""
        if self._pid != os.getpid():
            self._forget()
        activity = Activity(frozenset(keys))
        with self._lock:
            self._calls.setdefault(place, []).append(activity)
        self._ring(place)
        token = own.set(activity)
        try:
            yield
        finally:
            own.reset(token)
            with self._lock:
                calls = self._calls.get(place, [])
                if activity in calls:
                    calls.remove(activity)
                if not calls:
                    self._calls.pop(place, None)
            self._ring(place)

    def active(self, place: Place, keys: Sequence[str]) -> dict[str, tuple[int, int]]:
        """For each key, how many other calls will provide it, and how many have their answer."""
        mine = own.get()
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

    def _ring(self, place: Place) -> None:
        with self._lock:
            bells = list(self._bells.get(place, ()))
        for ring in bells:
            ring()


def _counted(calls: Sequence[Activity], keys: Sequence[str]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for key in keys:
        those = [one for one in calls if key in one.keys]
        if those:
            found[key] = (len(those), sum(one.pending for one in those))
    return found
