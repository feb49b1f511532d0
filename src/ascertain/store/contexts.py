"""What sessions remember, read from a ledger; and the little that is written without an action:
what the application itself says, and the clearing of what has expired.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.model.session import Kept, Memory, Pledge, Remembered, SessionRecord
from ascertain.model.tables import State
from ascertain.rules.context import TOO_LARGE
from ascertain.store import context_rooms as rooms
from ascertain.store.access import Access, first
from ascertain.store.names import session_name
from ascertain.store.rows import to_record


class LedgerContexts:
    """The :class:`~ascertain.store.ledger.Contexts` of a ledger."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def session(self, tenant: str, session: str) -> SessionRecord | None:
        """Whose it is, at which version; None: nothing is remembered of it."""
        with self._access.asking() as run:
            row = first(run("session_of", tenant, session))
        return None if row is None else SessionRecord(*row)

    def sessions(self, places: Sequence[tuple[str, str]]) -> list[SessionRecord | None]:
        """The same of many, by tenant and session."""
        with self._access.asking() as run:
            rows = [first(run("session_of", *place)) for place in places]
        return [None if row is None else SessionRecord(*row) for row in rows]

    def memory(self, tenant: str, session: str) -> Memory:
        """What is known now; one moment for all of it."""
        return self._read(tenant, session, whole=True)

    def outline(self, tenant: str, session: str) -> Memory:
        """The same without the values: whose, at which version, and what is under way."""
        return self._read(tenant, session, whole=False)

    def _read(self, tenant: str, session: str, *, whole: bool) -> Memory:
        values: list[tuple[Any, ...]] = []
        undone: list[tuple[Any, ...]] = []
        with self._access.one_moment() as run:
            row = first(run("session_of", tenant, session))
            if row is None:
                return Memory(None)
            if whole:
                values = run("context_now", tenant, session)
            else:
                undone = run("undone_of", tenant, session)
            pledges = run("pledges_of", tenant, session)
        return Memory(
            SessionRecord(*row),
            tuple(Remembered(*value) for value in values),
            tuple(
                Pledge(key, one, base, State(state), final)
                for key, one, base, state, final in pledges
            ),
            frozenset(writer for (writer,) in undone),
        )

    def history(self, tenant: str, session: str) -> list[Remembered]:
        """Every value that is kept, oldest first, those that came late among them."""
        with self._access.asking() as run:
            return [Remembered(*row) for row in run("context_of", tenant, session)]

    def called(
        self, tenant: str, session: str, call_id: str
    ) -> tuple[ActionRecord | None, str | None]:
        """The action of a call of this session, by the framework's id of it, and its arguments."""
        with self._access.asking() as run:
            row = first(run("by_call_id", session, tenant, call_id))
            if row is None:
                return None, None
            record = to_record(row)
            stored = first(run("payload_of", record.id, "args"))
        return record, None if stored is None else stored[0]

    def say(
        self, session: SessionRecord, values: Sequence[Kept], *, now: float, limit_bytes: int
    ) -> str:
        """Write what the application itself knows, all or nothing; returns why not, or ''."""
        tenant, name = session.tenant, session.id
        with self._access.changing(session_name(tenant, name)) as run:
            row = first(run("session_of", tenant, name))
            if row is not None and row[2] != session.principal:
                return rooms.FOREIGN
            if row is not None and row[7] <= now:
                return rooms.EXPIRED
            kept = {value.key: rooms.bytes_of(value.value) for value in values}
            current = run("context_now", tenant, name)
            others = sum(len((old[2] or "").encode()) for old in current if old[0] not in kept)
            if others + sum(kept.values()) > limit_bytes:
                return TOO_LARGE
            opened = (tenant, name, session.principal, session.epoch, now, session.expires_at)
            run("open_session", *opened)
            for value in values:
                size = kept[value.key]
                version = run("next_version", tenant, name, 1, size)[0][0]
                said = (value.value, value.why, "", "", version, now, now, size)
                run("put_context", tenant, name, value.key, version, *said)
                run("forget_context", tenant, name, value.key, rooms.KEPT_VERSIONS)
        return ""

    def renew(self, session: SessionRecord, *, now: float) -> bool:
        """Begin an expired session anew, with nothing remembered; False: it is somebody else's."""
        tenant, name = session.tenant, session.id
        with self._access.changing(session_name(tenant, name)) as run:
            row = first(run("session_of", tenant, name))
            if row is None or row[2] != session.principal:
                return False
            run("clear_context", tenant, name)
            run("clear_pledges", tenant, name)
            anew = (session.principal, session.epoch, now, session.expires_at)
            run("renew_session", tenant, name, *anew)
        return True

    def clear_expired(self, *, before: float, now: float, limit: int = 100) -> int:
        """Forget what sessions that ended before then remember; returns how many were cleared.

        Actions are left alone, and so is a session with an action that is still open: its outcome
        may be asked for. The session stays known as ended.
        """
        with self._access.asking() as run:
            ended = run("sessions_expired", before, limit)
        cleared = 0
        for tenant, name in ended:
            with self._access.changing(session_name(tenant, name)) as run:
                row = first(run("session_of", tenant, name))
                alive = row is None or row[7] > before
                if alive or run("session_open_actions", tenant, name)[0][0]:
                    continue
                run("clear_context", tenant, name)
                run("clear_pledges", tenant, name)
                run("session_cleared", tenant, name, now)
                cleared += 1
        return cleared
