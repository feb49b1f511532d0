"""What this process learned of sessions within the last moment, for calls that the ledger checks.

Never the last word. A write says at which versions it has read its context, and the transaction
that stores it refuses it where those are current no more, whoever has changed them; then the ledger
is asked. So this has not to be kept up with other processes, and losing it costs one look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ascertain.model.action import ActionRecord
from ascertain.model.session import Memory, Needs, Remembered, SessionRecord

KNOWN_FOR_S: Final = 1.0
"""After that others may well have changed it, and to be refused costs more than to look."""

SESSIONS: Final = 512
KEYS: Final = 16
CHARACTERS: Final = 1024

Place = tuple[str, str]


class _Known(NamedTuple):
    """:param version: the session's newest that was heard of."""

    session: SessionRecord
    version: int
    values: dict[str, Remembered]
    at: float


class Recent:
    """Sessions in two generations, of which the older one is dropped whole. For any thread:
    whatever two of them make of it at once, the ledger refuses what is wrong.
    """

    def __init__(self) -> None:
        self._young: dict[Place, _Known] = {}
        self._old: dict[Place, _Known] = {}

    def memory(
        self, place: Place, principal: str, keys: Sequence[str], now: float
    ) -> Memory | None:
        """What is known of this principal's session, if that is all that a call needs of it.

        None where a key has no value that could be used, or where it was learned too long ago.
        """
        known = self._known(place)
        if known is None or not 0.0 <= now - known.at <= KNOWN_FOR_S:
            return None
        session = known.session
        if session.principal != principal or session.expires_at <= now:
            return None
        values: list[Remembered] = []
        for key in keys:
            value = known.values.get(key)
            if value is None:
                return None
            values.append(value)
        return Memory(session, tuple(values))

    def looked(self, memory: Memory, now: float, *, whole: bool) -> None:
        """Learn what the ledger said; ``whole``: with the values."""
        session = memory.session
        if session is None:
            return
        place = (session.tenant, session.id)
        known = self._known(place)
        if known is not None and known.version > session.version:
            return  # it was asked before something was written from here
        values: dict[str, Remembered] = {}
        if whole:
            values = {value.key: value for value in memory.values if _usable(value)}
        elif known is not None and known.version == session.version:
            values = known.values
        self._keep(place, _Known(session, session.version, values, now))

    def wrote(
        self, record: ActionRecord, needs: Needs | None, values: Sequence[Remembered], now: float
    ) -> None:
        """Learn what was committed here, with what the session was opened by, if it was."""
        place = (record.tenant, record.session)
        known = self._known(place)
        if known is not None:
            session, newest, held = known.session, known.version, {**known.values}
        elif needs is not None and needs.opens:
            session = SessionRecord(
                *place, record.principal, 0, needs.epoch, needs.now, needs.now, needs.expires_at
            )
            newest, held = 0, {}
        else:
            return
        if known is not None and needs is not None and needs.opens:
            session = session._replace(seen_at=needs.now, expires_at=needs.expires_at)
        for value in values:
            newest = max(newest, value.version)
            if not value.superseded and _usable(value):
                held[value.key] = value
            else:
                held.pop(value.key, None)
        self._keep(place, _Known(session, newest, held, now))

    def _known(self, place: Place) -> _Known | None:
        return self._young.get(place) or self._old.get(place)

    def _keep(self, place: Place, known: _Known) -> None:
        if len(known.values) > KEYS:
            known = known._replace(values={})
        if len(self._young) >= SESSIONS and place not in self._young:
            self._old, self._young = self._young, {}
        self._young[place] = known


def _usable(value: Remembered) -> bool:
    """Whether a call can be filled from it; long ones are not kept here."""
    return value.value is not None and not value.reversed and len(value.value) <= CHARACTERS
