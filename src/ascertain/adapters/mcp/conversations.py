"""Whose wish a call is, and which message it answers, where the host does not say.

A host that repeats a call after a lost answer sends it under a new request id, often through a new
process. So, where nothing better is said, calls of one conversation are one turn until nothing was
called for a while: until then an equal call is the same wish, and after that a new one. What is
still open is the same wish however late. Time itself is never part of a key: a turn is a name that
the ledger keeps.
"""

from __future__ import annotations

import asyncio
import getpass
from dataclasses import dataclass

from ascertain.adapters.mcp.config import ProxyConfig
from ascertain.adapters.mcp.words import SESSION, Said
from ascertain.errors import NoSession
from ascertain.runtime.app import Ascertain
from ascertain.runtime.session import Session
from ascertain.store.ids import new_id
from ascertain.store.ledger import Filter


@dataclass(slots=True)
class _Turn:
    id: str
    last_at: float


class Conversations:
    """The sessions of a proxy's calls.

    :param shared: several hosts may call, so that no conversation goes without saying.
    """

    def __init__(self, app: Ascertain, config: ProxyConfig, *, shared: bool) -> None:
        self._app = app
        self._config = config
        self._principal = config.principal or _user()
        self._default = config.session or ("" if shared else f"mcp:{config.name}")
        self._turns: dict[str, _Turn] = {}

    def id_of(self, said: Said) -> str:
        """The conversation's id.

        :raises NoSession: the host does not say which, and neither does the configuration.
        """
        if said.session or self._default:
            return said.session or self._default
        raise NoSession(
            "Several hosts may use this proxy, and the call does not say whose conversation it is; "
            "nothing was sent.",
            next_step=f"Send {SESSION} in _meta, or give the proxy one session with --session.",
        )

    async def session(self, said: Said) -> Session:
        """The session that a call is made in.

        :raises NoSession: as :meth:`id_of`.
        """
        session = self.id_of(said)
        turn = said.turn or await self._turn(session)
        return self._app.session(session, principal=self._principal, turn=turn)

    def anybody(self) -> Session:
        """The session of reads, of which nothing is kept."""
        return self._app.session(self._default or "mcp", principal=self._principal)

    async def _turn(self, session: str) -> str:
        now = self._app.hands.clock()
        known = self._turns.get(session)
        if known is None:
            loop = asyncio.get_running_loop()
            known = await loop.run_in_executor(None, self._last, session)
            known = self._turns.setdefault(session, known)
        if now - known.last_at > self._config.turn_idle_s:
            known.id = new_id()
        known.last_at = max(now, known.last_at)
        return known.id

    def _last(self, session: str) -> _Turn:
        """The turn of the session's newest action, from this process or from an earlier one."""
        query = Filter(tenant=self._app.tenant, session=session, limit=1)
        found = self._app.ledger.find(query)
        if not found or not found[0].turn:
            return _Turn(new_id(), self._app.hands.clock())
        return _Turn(found[0].turn, found[0].updated_at)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "mcp"  # an account without a name
