"""What sessions remember, read from an SQLite ledger; and the little that is written without an
action: what the application itself says, and the clearing of what has expired.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.model.session import Kept, Memory, Pledge, Remembered, SessionRecord
from ascertain.model.tables import State
from ascertain.rules.context import TOO_LARGE
from ascertain.store import context_rooms as rooms
from ascertain.store.rows import to_record
from ascertain.store.sqlite_file import LedgerFile, run


class SqliteContexts:
    """The :class:`~ascertain.store.ledger.Contexts` of an SQLite ledger."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    def session(self, tenant: str, session: str) -> SessionRecord | None:
        """Whose it is, at which version; None: nothing is remembered of it."""
        with self._file.reading() as db:
            row = run(db, "session_of", tenant, session).fetchone()
        return None if row is None else SessionRecord(*row)

    def memory(self, tenant: str, session: str) -> Memory:
        """What is known now; one moment for all of it."""
        return self._read(tenant, session, whole=True)

    def outline(self, tenant: str, session: str) -> Memory:
        """The same without the values: whose, at which version, and what is under way."""
        return self._read(tenant, session, whole=False)

    def _read(self, tenant: str, session: str, *, whole: bool) -> Memory:
        values: list[tuple[Any, ...]] = []
        undone: list[tuple[str]] = []
        with self._file.reading() as db:
            db.execute("BEGIN")
            try:
                row = run(db, "session_of", tenant, session).fetchone()
                if row is None:
                    return Memory(None)
                if whole:
                    values = run(db, "context_now", tenant, session).fetchall()
                else:
                    undone = run(db, "undone_of", tenant, session).fetchall()
                pledges = run(db, "pledges_of", tenant, session).fetchall()
            finally:
                if db.in_transaction:
                    db.execute("COMMIT")
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
        with self._file.reading() as db:
            return [Remembered(*row) for row in run(db, "context_of", tenant, session)]

    def called(self, tenant: str, session: str, call_id: str) -> ActionRecord | None:
        """The action of a call of this session, by the framework's id of it."""
        with self._file.reading() as db:
            row = run(db, "by_call_id", session, tenant, call_id).fetchone()
        return None if row is None else to_record(row)

    def say(
        self, session: SessionRecord, values: Sequence[Kept], *, now: float, limit_bytes: int
    ) -> str:
        """Write what the application itself knows, all or nothing; returns why not, or ''."""
        tenant, name = session.tenant, session.id
        with self._file.transaction() as db:
            row = run(db, "session_of", tenant, name).fetchone()
            if row is not None and row[2] != session.principal:
                return rooms.FOREIGN
            if row is not None and row[7] <= now:
                return rooms.EXPIRED
            kept = {value.key: len((value.value or "").encode()) for value in values}
            current = run(db, "context_now", tenant, name).fetchall()
            others = sum(len((old[2] or "").encode()) for old in current if old[0] not in kept)
            if others + sum(kept.values()) > limit_bytes:
                return TOO_LARGE
            opened = (tenant, name, session.principal, session.epoch, now, session.expires_at)
            run(db, "open_session", *opened)
            for value in values:
                version = run(db, "next_version", tenant, name).fetchone()[0]
                said = (value.value, value.why, "", "", 0, now, now, kept[value.key])
                run(db, "put_context", tenant, name, value.key, version, *said)
                old = run(
                    db, "kept_version", tenant, name, value.key, rooms.KEPT_VERSIONS
                ).fetchone()
                if old is not None:
                    run(db, "forget_context", tenant, name, value.key, old[0], version)
        return ""

    def renew(self, session: SessionRecord, *, now: float) -> bool:
        """Begin an expired session anew, with nothing remembered; False: it is somebody else's."""
        tenant, name = session.tenant, session.id
        with self._file.transaction() as db:
            row = run(db, "session_of", tenant, name).fetchone()
            if row is None or row[2] != session.principal:
                return False
            run(db, "clear_context", tenant, name)
            run(db, "clear_pledges", tenant, name)
            anew = (session.principal, session.epoch, now, session.expires_at)
            run(db, "renew_session", tenant, name, *anew)
        return True

    def clear_expired(self, *, before: float, now: float, limit: int = 100) -> int:
        """Forget what sessions that ended before then remember; returns how many were cleared.

        Actions are left alone, and so is a session with an action that is still open: its outcome
        may be asked for. The session stays known as ended.
        """
        with self._file.reading() as db:
            ended = run(db, "sessions_expired", before, limit).fetchall()
        cleared = 0
        for tenant, name in ended:
            with self._file.transaction() as db:
                row = run(db, "session_of", tenant, name).fetchone()
                alive = row is None or row[7] > before
                if alive or run(db, "session_open_actions", tenant, name).fetchone()[0]:
                    continue
                run(db, "clear_context", tenant, name)
                run(db, "clear_pledges", tenant, name)
                run(db, "session_cleared", tenant, name, now)
                cleared += 1
        return cleared
