"""What every worker does beside its work: it shows that it is there, and clears what has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ascertain.runtime import sender

if TYPE_CHECKING:
    from ascertain.runtime.hands import Hands

HEARTBEAT_S = 5.0
CLEAR_S = 60.0


class Upkeep:
    """Called as often as one likes; it does each thing when it is time for it."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._beat_at = 0.0
        self._clear_at = 0.0

    def look(self, now: float) -> None:
        """Say that somebody is here, and forget what ended sessions remember.

        :raises LedgerError: the ledger failed.
        """
        ledger = self._hands.ledger
        if now >= self._beat_at:
            self._beat_at = now + HEARTBEAT_S
            ledger.heartbeat(sender.me(), now)
        if now >= self._clear_at:
            self._clear_at = now + CLEAR_S
            ledger.contexts.clear_expired(before=now, now=now)
