"""Ids that grow with time, so that new rows land next to each other in the database."""

from __future__ import annotations

import os
import random
import threading
import time

_RANDOM_BITS = 48
_lock = threading.Lock()
_last = 0
# Asking the system each time would let go of the interpreter lock on every call.
_noise = random.Random(os.urandom(32)).getrandbits  # noqa: S311 - unique, need not be secret


def new_id() -> str:
    """24 lower-case hex characters: 48 bits of milliseconds since 1970, then 48 random ones.

    Within a process every id is greater than the one before it, also when the clock steps back.
    """
    global _last  # noqa: PLW0603 - the greatest id given out is a fact about the process
    noise = _noise(80)
    fresh = (time.time_ns() // 1_000_000) << _RANDOM_BITS | noise >> 32
    with _lock:
        # A random step: two processes that share a past (fork) must not count on in lockstep.
        _last = fresh if fresh > _last else _last + 1 + (noise & 0xFFFFFFFF)
        return f"{_last:024x}"


def _after_fork() -> None:
    global _lock, _noise  # noqa: PLW0603 - the parent's threads may have held it; its noise is its own
    _lock = threading.Lock()
    _noise = random.Random(os.urandom(32)).getrandbits  # noqa: S311 - unique, need not be secret


os.register_at_fork(after_in_child=_after_fork)
