"""The ledger's clock: wall-clock seconds that all who use the ledger share.

Anchored once per process, at the time of this host or of the ledger's server, and carried on by a
clock that nobody sets: a wall clock that jumps backwards can delay what is due, but never makes an
absence final too early.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ascertain.store.ledger import Ledger


class Clock(Protocol):
    """Seconds since the epoch; never goes backwards within a process."""

    def __call__(self) -> float: ...


class LedgerClock:
    """Anchored wall time of this host."""

    __slots__ = ("_offset",)

    def __init__(self) -> None:
        self._offset = time.time() - time.clock_gettime(_STEADY)

    def __call__(self) -> float:
        return self._offset + time.clock_gettime(_STEADY)


class SharedClock:
    """The time of the ledger's server, where it has one; else this host's.

    Asked for once, when it is first needed: two hosts whose clocks differ must not differ about
    when a lease has ended.

    :param ask: gives the server's time, or None.
    """

    __slots__ = ("_ask", "_offset")

    def __init__(self, ask: Callable[[], float | None]) -> None:
        self._ask = ask
        self._offset: float | None = None

    def __call__(self) -> float:
        if self._offset is None:
            self._offset = self._anchored()
        return self._offset + time.clock_gettime(_STEADY)

    def _anchored(self) -> float:
        """Half-way between question and answer is when the server looked.

        A first question that took long had to connect as well: then it is asked again.
        """
        offset, took_s = self._asked()
        return offset if took_s < _QUICK_S else self._asked()[0]

    def _asked(self) -> tuple[float, float]:
        """What to add to the steady clock, and how long the answer took."""
        asked_at = time.clock_gettime(_STEADY)
        told = self._ask()
        answered_at = time.clock_gettime(_STEADY)
        if told is None:
            return time.time() - answered_at, 0.0
        return told - (asked_at + answered_at) / 2, answered_at - asked_at


def clock_of(ledger: Ledger) -> Clock:
    """The clock that judges what is in this ledger: ages, leases, deadlines. Anchored at once.

    :raises LedgerError: its server was asked for the time, and did not tell.
    """
    clock = SharedClock(ledger.now)
    clock()
    return clock


_QUICK_S = 0.02
_STEADY: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
