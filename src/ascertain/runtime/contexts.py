"""What sessions remember, and what is under way in them in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from ascertain.model.operations import Advanced, Beside, Reserved
from ascertain.model.session import Needs, Provides, Remembered
from ascertain.runtime.looks import Looks
from ascertain.runtime.projector import Projector
from ascertain.runtime.readiness import own
from ascertain.store.ledger import Contexts as StoredContexts
from ascertain.store.ledger import Ledger
from ascertain.store.open import open_sessions
from ascertain.store.sessions import ProjectedContexts, SessionStore

DEFAULT_TTL_S = 7 * 86_400.0
DEFAULT_LIMIT_BYTES = 65_536

log = logging.getLogger("ascertain")


class Contexts(Looks):
    """The ledger's memory of sessions, or a projection of it, and the calls that will add to it.

    :param ttl_s: how long a session lives after it was last used.
    :param session_keys: keys that the application itself provides.
    :param sessions: URL of a session store that serves what the ledger knows; None: it does.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Callable[[], float],
        *,
        ttl_s: float = DEFAULT_TTL_S,
        session_keys: Iterable[str] = (),
        sessions: str | None = None,
    ) -> None:
        super().__init__(clock)
        self._ledger = ledger
        self._projected: ProjectedContexts | None = None
        self._projector = Projector()
        self._sessions: SessionStore | None = None
        if sessions is not None:
            self._sessions = open_sessions(sessions)
            self._projected = ProjectedContexts(ledger.contexts, self._sessions)
        self.ttl_s = ttl_s
        self.session_keys = frozenset(session_keys)

    @property
    def store(self) -> StoredContexts:
        """What remembers: the ledger, or a projection of it."""
        return self._projected or self._ledger.contexts

    def warn(self) -> None:
        """Say at start-up what is wrong with how the session store is set up."""
        for sentence in self._sessions.findings() if self._sessions is not None else ():
            log.warning("%s", sentence)

    def written(self, reply: Reserved | Advanced, beside: tuple[Beside, ...]) -> None:
        """Something was committed to a session: its projection follows, beside the call."""
        values = [one for one in reply.told if isinstance(one, Remembered)]
        if not values:
            return
        record = reply.record
        needs = next((one for one in beside if isinstance(one, Needs)), None)
        self.recent.wrote(record, needs, values, self._clock())
        projected = self._projected
        if projected is None:
            return
        truth = self._ledger.contexts
        tenant, session = record.tenant, record.session
        self._projector.soon(
            (tenant, session), lambda: projected.keep(truth.memory(tenant, session))
        )

    def clear_expired(self, limit: int) -> int:
        """Forget what ended sessions remember; returns how many there were."""
        now = self._clock()
        return self.store.clear_expired(before=now, now=now, limit=limit)

    def close(self) -> None:
        """End what runs beside the calls."""
        self._projector.close()
        if self._sessions is not None:
            self._sessions.close()

    def arriving(self, beside: tuple[Beside, ...]) -> None:
        """An answer is in hand, and about to be committed with what it brings."""
        activity = own.get()
        if activity is not None and any(isinstance(one, Provides) for one in beside):
            activity.pending = True
