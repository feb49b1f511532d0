"""One connection to PostgreSQL: named queries on it, and connecting anew once it was lost."""

from __future__ import annotations

import random
import select
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ascertain.errors import LedgerUnreachable
from ascertain.store.postgres_errors import connect_error, is_lost, is_stale, ledger_error
from ascertain.store.postgres_place import PostgresPlace
from ascertain.store.postgres_queries import TELLS, form, said
from ascertain.store.postgres_trip import Rows, Said, Sent, trip
from ascertain.store.postgres_wait import SEVERAL, connect

if TYPE_CHECKING:
    import psycopg

STATEMENT_S = 15.0
IDLE_IN_TRANSACTION_S = 30.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.5
_PREPARED = 512
_BEGIN, _ROLLBACK = Said(b"begin", b"BEGIN"), Said(b"rollback", b"ROLLBACK")

Step = tuple[str, tuple[Any, ...]]


class Manners(NamedTuple):
    """How a connection behaves.

    :param writes: it is the one that writes. :param wait_s: how long a lock is waited for, and how
        long a server that was there before.
    :param knows: the last migration that its release knows; who writes says so to the others.
    """

    writes: bool
    wait_s: float
    knows: int = 0


class PostgresSession:
    """For one thread at a time."""

    def __init__(self, place: PostgresPlace, manners: Manners) -> None:
        self._place = place
        self._manners = manners
        self._db: psycopg.Connection[Any] | None = None
        self._mark = 0  # names our side of the connection at the server
        self._was_there = False
        self._prepared: set[bytes] = set()
        self.sent: Sent = None
        """Called when statements are under way and there is nothing left but to wait."""
        self.again: Callable[[], object] | None = None
        """Looks, after each connecting, whether the ledger still is one to work with."""

    # ---------------------------------------------------------------------------------- life

    def ready(self) -> psycopg.Connection[Any]:
        """The connection; made, or made anew where it was lost meanwhile.

        :raises LedgerError: it cannot be made.
        """
        db = self._db
        if db is not None:
            if _is_silent(db):
                return db
            self.drop()
        return self._connect_patiently()

    def drop(self) -> None:
        """Let go of a connection that was lost, or of one that nobody needs any more."""
        db, self._db = self._db, None
        if db is not None:
            db.close()

    def leave(self) -> Any:
        """Forget the connection without a word to the server; in a child that has inherited it."""
        db, self._db, self._mark = self._db, None, 0
        return db

    def _connect_patiently(self) -> psycopg.Connection[Any]:
        give_up_at = time.monotonic() + (self._manners.wait_s if self._was_there else 0.0)
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return self._connect()
            except LedgerUnreachable:
                if time.monotonic() + pause_s > give_up_at:
                    raise
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _connect(self) -> psycopg.Connection[Any]:
        import psycopg

        shown = self._place.shown
        try:
            db = connect(self._place.options)
        except psycopg.Error as error:
            raise connect_error(error, shown) from error
        db.prepare_threshold, db.prepared_max = 0, _PREPARED
        try:
            self._settle(db)
        except psycopg.Error as error:
            db.close()
            raise ledger_error(error, shown) from error
        except BaseException:
            db.close()
            raise
        self._db, self._was_there = db, True
        self._prepared = set()
        try:
            if self.again is not None:
                self.again()
        except psycopg.Error as error:
            self.drop()
            raise ledger_error(error, shown) from error
        except BaseException:
            self.drop()
            raise
        return db

    def _settle(self, db: psycopg.Connection[Any]) -> None:
        wait_ms = int(1000 * self._manners.wait_s)
        times = (int(1000 * STATEMENT_S), wait_ms, int(1000 * IDLE_IN_TRANSACTION_S))
        _execute(db, "settle", self._place.schema, *times)
        if not self._manners.writes:
            return
        # Before it looks whether it may write, so that who shuts it out either is seen or sees it.
        _execute(db, "write_as", self._place.schema, self._manners.knows)
        before, self._mark = self._mark, random.SystemRandom().getrandbits(62) + 1
        _execute(db, "mark_session", self._mark)
        if before:  # what it was doing has an end, before we look at what became of it
            _execute(db, "end_session", before)
            _execute(db, "session_ended", before)

    # ------------------------------------------------------------------------------- statements

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        db = self._db
        return db is not None and not db.closed and db.info.transaction_status != 0

    def run(self, name: str, *values: object) -> Rows:
        """All rows of a named query. Outside of a transaction it is asked again if need be."""
        db = self._db or self.ready()
        alone = not self.in_transaction
        try:
            return _execute(db, name, *values)
        except Exception as error:
            if not alone or not is_lost(error):
                raise
        self.drop()
        return _execute(self.ready(), name, *values)

    def together(self, steps: Sequence[Step], *, begin: bool) -> list[Rows]:
        """Send named queries without waiting in between, in one transaction.

        :param steps: their values are texts.
        :param begin: begin one, and leave it open. Else they belong to the one that is open, or
            have one of their own, which is committed with the last of them.
        """
        db = self._db or self.ready()
        all_said = [said(name, values) for name, values in steps]
        if begin:
            all_said.insert(0, _BEGIN)
        try:
            told = db.wait(trip(db.pgconn, self._prepared, all_said, self.sent))
        except Exception as error:
            if is_stale(error):
                self.drop()  # with all that it has prepared
            raise
        return told[1:] if begin else told

    @contextmanager
    def flowing(self) -> Generator[None]:
        """In this block nobody waits for queries that give no rows; their errors come later."""
        with (self._db or self.ready()).pipeline():
            yield

    def do(self, command: str) -> None:
        """BEGIN, COMMIT, ROLLBACK."""
        (self._db or self.ready()).execute(command.encode())

    def script(self, text: str) -> None:
        """A script of our own, such as a migration."""
        db = self._db or self.ready()
        while self._prepared:  # after some commands the driver forgets all, ours too
            db.execute(b"DEALLOCATE " + self._prepared.pop(), prepare=False)
        setattr(db, SEVERAL, True)
        try:
            db.execute(text.encode(), prepare=False)
        finally:
            setattr(db, SEVERAL, False)

    def roll_back(self) -> None:
        """Undo what is not committed, if there is anything; a lost connection is let go."""
        db = self._db
        if db is None:
            return
        try:
            if not db.closed and db.info.transaction_status:
                # Past the driver, which would forget all that is prepared.
                db.wait(trip(db.pgconn, self._prepared, [_ROLLBACK], None))
        except Exception as error:
            if not is_lost(error):
                raise
        if db.closed:
            self.drop()


def _execute(db: psycopg.Connection[Any], name: str, *values: object) -> Rows:
    cursor = db.execute(*form(name, values))
    return cursor.fetchall() if name in TELLS else []


def _is_silent(db: psycopg.Connection[Any]) -> bool:
    """Whether nothing has come unasked: what comes to an idle connection is its end."""
    if db.closed:
        return False
    heard = select.poll()  # and not select(), which knows the first 1024 files only
    heard.register(db.fileno(), select.POLLIN)
    return not heard.poll(0)
