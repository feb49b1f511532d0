"""How somebody waits for another one's word on an action: by looking, and by being rung.

The first looks follow each other quickly: most of what is waited for is over soon. Whoever still
waits then asks to be rung, and looks only now and then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ascertain.model.action import ActionRecord
from ascertain.store.ledger import Ledger

if TYPE_CHECKING:
    import asyncio

POLL_FIRST_S, POLL_MOST_S = 0.004, 0.05
RUNG_AFTER_S, RUNG_MOST_S = 0.03, 0.25
"""From when on to ask to be rung, and how long between two looks then."""


def await_other(
    ledger: Ledger,
    record: ActionRecord,
    seconds: float,
    pause: Callable[[float, threading.Event], bool],
) -> ActionRecord | None:
    """Wait in this thread until somebody moves the action, or ``seconds`` pass.

    :param pause: waits until rung, or so long; False: the caller was interrupted.
    :returns: the action as it stands; None: the caller was interrupted.
    """
    rung = threading.Event()
    vigil = Vigil(ledger, record, time.monotonic() + seconds, rung.set)
    try:
        while True:
            if vigil.is_long:
                vigil.listen()
            found = vigil.look()
            wait_s = vigil.wait_s(found, time.monotonic())
            if wait_s is None:
                return found
            if not pause(wait_s, rung):
                return None
    finally:
        vigil.end()


async def await_other_async(
    ledger: Ledger,
    record: ActionRecord,
    seconds: float,
    pause: Callable[[float, asyncio.Event], Awaitable[bool]],
) -> ActionRecord | None:
    """The same, without blocking the loop."""
    import asyncio  # most of what an import costs

    loop = asyncio.get_running_loop()
    rung = asyncio.Event()

    def ring() -> None:
        with suppress(RuntimeError):  # who waited on a loop that is closed waits no more
            loop.call_soon_threadsafe(rung.set)

    vigil = Vigil(ledger, record, loop.time() + seconds, ring)
    try:
        while True:
            if vigil.is_long:
                await loop.run_in_executor(None, vigil.listen)
            found = await loop.run_in_executor(None, vigil.look)
            wait_s = vigil.wait_s(found, loop.time())
            if wait_s is None:
                return found
            if not await pause(wait_s, rung):
                return None
    finally:
        vigil.end()


class Vigil:
    """One wait for one action. It has to be ended."""

    def __init__(
        self, ledger: Ledger, record: ActionRecord, until: float, ring: Callable[[], None]
    ) -> None:
        """:param ring: wakes whoever waits; called in any thread."""
        self._ledger = ledger
        self._record = record
        self._until = until
        self._ring = ring
        self._asked = self._ended = False
        self._hush: Callable[[], None] | None = None
        self._next_s = POLL_FIRST_S
        self._waited_s = 0.0

    @property
    def is_long(self) -> bool:
        """Whether it is time to :meth:`listen`; then one has to look again."""
        return not self._asked and self._waited_s >= RUNG_AFTER_S

    def listen(self) -> None:
        """Ask to be rung.

        :raises LedgerError: the ledger cannot be asked.
        """
        self._asked = True
        self._hush = self._ledger.bell(self._record.id, self._ring)
        if self._ended:  # whoever waited was interrupted meanwhile
            self.end()

    def look(self) -> ActionRecord:
        """The action as it stands."""
        return self._ledger.get(self._record.id) or self._record

    def wait_s(self, found: ActionRecord, now: float) -> float | None:
        """How long to wait before the next look, unless rung; None: it has moved, or time is up."""
        moved = (found.n, found.fence) != (self._record.n, self._record.fence)
        left_s = self._until - now
        if moved or left_s <= 0:
            return None
        if self._hush is not None:
            return min(RUNG_MOST_S, left_s)
        wait_s, self._next_s = self._next_s, min(POLL_MOST_S, self._next_s * 1.5)
        self._waited_s += wait_s
        return min(wait_s, left_s)

    def end(self) -> None:
        """Nobody waits any more."""
        self._ended = True
        if self._hush is not None:
            self._hush()
