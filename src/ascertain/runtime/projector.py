"""Projections follow the ledger beside the calls; a lost one is built when it is needed."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

log = logging.getLogger("ascertain")


class Projector:
    """One thread that projects; what is asked for again while it waits is done once."""

    def __init__(self) -> None:
        self._pid = 0
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: set[Hashable] = set()

    def soon(self, place: Hashable, project: Callable[[], None]) -> None:
        """Project a place soon; errors are told, and harm nobody."""
        if self._pool is None or self._pid != os.getpid():
            from concurrent.futures import ThreadPoolExecutor  # most apps never need it

            self._pid, self._waiting = os.getpid(), set()
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="ascertain-sessions")
        if place in self._waiting:
            return
        self._waiting.add(place)
        self._pool.submit(self._run, place, project)

    def _run(self, place: Hashable, project: Callable[[], None]) -> None:
        self._waiting.discard(place)  # what is written from here on is asked for anew
        try:
            project()
        except Exception:
            log.exception("a session could not be projected; it is built when it is needed")

    def close(self) -> None:
        """Finish what waits."""
        if self._pool is not None and self._pid == os.getpid():
            self._pool.shutdown(wait=True)
        self._pool = None
