"""The ledger's clock, for a ledger that lives on one host.

Wall-clock seconds, anchored once per process and carried on by a clock that nobody sets: a wall
clock that jumps backwards can delay what is due, but never makes an absence final too early.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Seconds since the epoch; never goes backwards within a process."""

    def __call__(self) -> float: ...


class LedgerClock:
    """Anchored wall time."""

    __slots__ = ("_offset",)

    def __init__(self) -> None:
        self._offset = time.time() - time.clock_gettime(_STEADY)

    def __call__(self) -> float:
        return self._offset + time.clock_gettime(_STEADY)


_STEADY: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
