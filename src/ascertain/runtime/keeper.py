"""Deadlines of sync bodies. A thread cannot be stopped, but what others see can be made true."""

from __future__ import annotations

import heapq
import itertools
import logging
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic

log = logging.getLogger("ascertain")

GRACE_S = 0.25  # for a body whose client has just ended its request, as bodies on a loop have


class Keeper:
    """One thread that calls back whatever is still running at its deadline."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._pid = os.getpid()
        self._due: list[tuple[float, int]] = []
        self._calls: dict[int, Callable[[], None]] = {}
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watching(self, deadline_s: float, give_up: Callable[[], None]) -> Generator[None]:
        """Call ``give_up`` from the keeper's thread if the block outlasts ``deadline_s``."""
        if deadline_s == float("inf"):
            yield
            return
        if self._pid != os.getpid():
            self._forget()
        number = next(self._numbers)
        at = monotonic() + deadline_s
        with self._changed:
            self._calls[number] = give_up
            heapq.heappush(self._due, (at, number))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="ascertain-deadlines", daemon=True
                )
                self._thread.start()
            elif self._due[0][1] == number:
                self._changed.notify()
        try:
            yield
        finally:
            self._calls.pop(number, None)

    def _run(self) -> None:
        while True:
            for give_up in self._wait():
                try:
                    give_up()
                except Exception:
                    # the lease will tell instead: an expired one is a lost answer too
                    log.exception("a passed deadline could not be recorded")

    def _wait(self) -> list[Callable[[], None]]:
        with self._changed:
            while True:
                while self._due and self._due[0][1] not in self._calls:
                    heapq.heappop(self._due)
                if not self._due:
                    self._changed.wait()
                    continue
                left = self._due[0][0] - monotonic()
                if left > 0:
                    self._changed.wait(left)
                    continue
                call = self._calls.pop(heapq.heappop(self._due)[1], None)
                return [call] if call is not None else []
