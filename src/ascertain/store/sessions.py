"""Session stores beside the ledger: a projection, never the truth.

The ledger says at which epoch and version a session stands; a session store serves only what is at
or above that, and whatever it has lost is built anew from the ledger. Losing all of it loses no
fact, and never lets a version begin again at 0.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ascertain.model.action import ActionRecord
from ascertain.model.session import Kept, Memory, Remembered, SessionRecord
from ascertain.store.ledger import Contexts

log = logging.getLogger("ascertain")

_QUIET_S = 30.0


class Snapshot(NamedTuple):
    """All current values of a session at one version."""

    version: int
    values: tuple[Remembered, ...]


class SessionStore(Protocol):
    """Keeps snapshots. Each verb is one round trip, and atomic. Safe to use from any thread."""

    url: str

    def project(self, session: SessionRecord, values: Sequence[Remembered], ttl_s: float) -> bool:
        """Keep these, unless the same version or a newer one is kept; whether they were written.

        :raises SessionStoreDown: nobody knows whether it was.
        """
        ...

    def serve(self, session: SessionRecord) -> Snapshot | None:
        """What is kept of this epoch, at the session's version or above; None: nothing.

        :raises SessionStoreDown: it did not answer.
        """
        ...

    def findings(self) -> list[str]:
        """What is wrong with how it is set up, as sentences."""
        ...

    def close(self) -> None: ...


class SessionStoreDown(Exception):
    """The session store did not answer; the ledger is read instead."""


class ProjectedContexts:
    """The ledger's :class:`~ascertain.store.ledger.Contexts`, with values served by a store."""

    def __init__(self, truth: Contexts, store: SessionStore) -> None:
        self._truth = truth
        self._store = store
        self._down_until = 0.0

    def session(self, tenant: str, session: str) -> SessionRecord | None:
        """Whose it is, at which version; the ledger's."""
        return self._truth.session(tenant, session)

    def sessions(self, places: Sequence[tuple[str, str]]) -> list[SessionRecord | None]:
        """The same of many; the ledger's."""
        return self._truth.sessions(places)

    def outline(self, tenant: str, session: str) -> Memory:
        """What is known now, without the values."""
        return self._truth.outline(tenant, session)

    def memory(self, tenant: str, session: str) -> Memory:
        """What is known now: version and pledges by the ledger, values at that version or above."""
        outline = self._truth.outline(tenant, session)
        if outline.session is None:
            return outline
        kept = self._served(outline.session)
        if kept is None:
            whole = self._truth.memory(tenant, session)
            self.keep(whole)
            return whole
        values = kept.values
        if outline.undone:
            values = tuple(v._replace(reversed=int(v.writer in outline.undone)) for v in values)
        return outline._replace(
            session=outline.session._replace(version=max(kept.version, outline.session.version)),
            values=values,
        )

    def keep(self, memory: Memory) -> None:
        """Project what the ledger says; what cannot be projected is built when it is needed."""
        session = memory.session
        if session is None or time.monotonic() < self._down_until:
            return
        try:
            self._store.project(session, memory.values, session.expires_at - session.seen_at)
        except SessionStoreDown as error:
            self._tell(error)

    def history(self, tenant: str, session: str) -> list[Remembered]:
        """Every value that is kept, oldest first; the ledger's."""
        return self._truth.history(tenant, session)

    def called(
        self, tenant: str, session: str, call_id: str
    ) -> tuple[ActionRecord | None, str | None]:
        """The action of a call of this session; the ledger's."""
        return self._truth.called(tenant, session, call_id)

    def say(
        self, session: SessionRecord, values: Sequence[Kept], *, now: float, limit_bytes: int
    ) -> str:
        """Write to the ledger what the application knows."""
        return self._truth.say(session, values, now=now, limit_bytes=limit_bytes)

    def renew(self, session: SessionRecord, *, now: float) -> bool:
        """Begin anew; what is projected of the former epoch is served no more."""
        return self._truth.renew(session, now=now)

    def clear_expired(self, *, before: float, now: float, limit: int = 100) -> int:
        """Clear the ledger's; what is projected ends by itself."""
        return self._truth.clear_expired(before=before, now=now, limit=limit)

    def _served(self, session: SessionRecord) -> Snapshot | None:
        if time.monotonic() < self._down_until:
            return None
        try:
            return self._store.serve(session)
        except SessionStoreDown as error:
            self._tell(error)
            return None

    def _tell(self, error: SessionStoreDown) -> None:
        """Say it once, and read the ledger for a moment instead of waiting for each call."""
        self._down_until = time.monotonic() + 0.5
        log.warning("the session store %s did not answer: %s", self._store.url, error)


def values_as_json(values: Sequence[Remembered]) -> str:
    """Snapshots as they are kept."""
    return json.dumps([list(value) for value in values], separators=(",", ":"))


def values_from_json(text: str | bytes) -> tuple[Remembered, ...]:
    """And as they are read back."""
    rows: list[list[Any]] = json.loads(text)
    return tuple(Remembered(*row) for row in rows)
