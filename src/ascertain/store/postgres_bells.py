"""Being rung when somebody else moves an action: LISTEN, for those who wait.

A connection and a thread of their own, begun by the first who waits and ended once nobody has for
a while. That a bell rings is a hint and no promise: the connection may be lost, so whoever waits
looks now and then all the same.
"""

from __future__ import annotations

import logging
import select
import socket
import threading
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from ascertain.store.postgres_place import PostgresPlace
from ascertain.store.postgres_wait import connect

if TYPE_CHECKING:
    import psycopg

log = logging.getLogger("ascertain")

IDLE_S = 60.0
_READY_S = 2.0

Ring = Callable[[], None]


def channel_of(place: PostgresPlace) -> str:
    """The channel of a ledger."""
    return f"ascertain {place.schema[:50]}"


class Bells:
    """Of one process and ledger. For any thread."""

    def __init__(self, place: PostgresPlace) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._rings: dict[str, list[Ring]] = {}
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._wake: socket.socket | None = None
        self._closed = False
        self.inherited: list[object] = []
        """What a child of a fork must not touch."""

    def hear(self, action_id: str, ring: Ring) -> Callable[[], None]:
        """Ring, in another thread, when somebody moves the action; returns what ends that.

        Whatever moves it after this has returned is heard, while the connection holds.
        """
        with self._lock:
            self._rings.setdefault(action_id, []).append(ring)
            if self._thread is None and not self._closed:
                self._begin()
            ready = self._ready
        ready.wait(_READY_S)
        return partial(self._hush, action_id, ring)

    def close(self) -> None:
        """Stop listening; idempotent."""
        with self._lock:
            self._closed = True
            thread, wake = self._thread, self._wake
            if wake is not None:
                wake.close()  # the other end hears that
        if thread is not None:
            thread.join()

    def _hush(self, action_id: str, ring: Ring) -> None:
        with self._lock:
            rings = self._rings.get(action_id, [])
            if ring in rings:
                rings.remove(ring)
            if not rings:
                self._rings.pop(action_id, None)

    def _begin(self) -> None:
        self._ready = threading.Event()
        self._wake, woken = socket.socketpair()
        self._thread = threading.Thread(
            target=self._run, args=(self._ready, woken), name="ascertain-bells", daemon=True
        )
        self._thread.start()

    def _run(self, ready: threading.Event, woken: socket.socket) -> None:
        import psycopg

        try:
            with woken, connect(self._place.options) as db:
                self.inherited.append(db)
                db.execute(f'LISTEN "{channel_of(self._place)}"'.encode())
                ready.set()
                self._listen(db, woken)
        except psycopg.Error as error:
            log.info("nobody rings while the ledger's bells are away: %s", type(error).__name__)
        finally:
            self._end(ready)

    def _listen(self, db: psycopg.Connection[Any], woken: socket.socket) -> None:
        poll = select.poll()
        poll.register(db.fileno(), select.POLLIN)
        poll.register(woken, select.POLLIN)
        idle_at = monotonic() + IDLE_S
        while not self._closed and monotonic() < idle_at:
            if poll.poll(1000 * IDLE_S):
                for one in db.notifies(timeout=0):
                    self._ring(one.payload)
            if self._rings:
                idle_at = monotonic() + IDLE_S

    def _ring(self, action_id: str) -> None:
        with self._lock:
            rings = list(self._rings.get(action_id, ()))
        for ring in rings:
            ring()

    def _end(self, ready: threading.Event) -> None:
        """All are rung, so that they look; who waits again begins anew."""
        with self._lock:
            self._thread = None
            self.inherited.clear()
            if self._wake is not None:
                self._wake.close()
            rings = [ring for rings in self._rings.values() for ring in rings]
        ready.set()
        for ring in rings:
            ring()
