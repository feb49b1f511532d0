"""Ids that grow with time, so that new rows land next to each other in the database."""

from __future__ import annotations

import os
import threading
import time

_RANDOM_BITS = 48
_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """24 lower-case hex characters: 48 bits of milliseconds since 1970, then 48 random ones.

    Within a process every id is greater than the one before it, also when the clock steps back.
    """
    global _last  # noqa: PLW0603 - the greatest id given out is a fact about the process
    noise = os.urandom(8)
    fresh = (time.time_ns() // 1_000_000) << _RANDOM_BITS | int.from_bytes(noise[:6])
    with _lock:
        # A random step: two processes that share a past (fork) must not count on in lockstep.
        _last = fresh if fresh > _last else _last + 1 + int.from_bytes(noise[4:])
        return f"{_last:024x}"


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - the parent's other threads may have held it
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
