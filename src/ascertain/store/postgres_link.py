"""The connections of one process to a PostgreSQL ledger: one writes, a few read.

A child of a fork must not touch what it has inherited: a word on it, even a farewell, would be the
parent's. So it forgets all connections and makes its own.
"""

from __future__ import annotations

import json
import os
import threading
import time
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ascertain.errors import LedgerClosed, LedgerCorrupt, LedgerError, LedgerMissing
from ascertain.model.epoch import Epoch
from ascertain.store import secret as secrets
from ascertain.store.access import Run
from ascertain.store.epochs import Acknowledged, epochs, meet
from ascertain.store.postgres_bells import Bells, channel_of
from ascertain.store.postgres_errors import ledger_error
from ascertain.store.postgres_online import migrate_online
from ascertain.store.postgres_place import PostgresPlace
from ascertain.store.postgres_schema import check_schema, make, newest, schema_of
from ascertain.store.postgres_session import Manners, PostgresSession
from ascertain.store.postgres_trip import Rows

MAX_READERS = 4
EPOCH_LOOK_S = 5.0
_NEWEST = 10


class PostgresLink:
    """Also the :class:`~ascertain.store.access.Access` to the ledger."""

    def __init__(
        self, place: PostgresPlace, *, secret: bytes | None, wait_s: float, make: bool
    ) -> None:
        self.place = place
        self._given_secret = secret
        self._name = f"{os.uname().nodename}/{os.getpid()}"
        self._wait_s = wait_s
        self._makes = make
        self._closed = False
        self._begin_anew()
        _all_links.add(self)

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()
        self._pool = threading.Condition()
        self._writer = PostgresSession(self.place, Manners(True, self._wait_s, newest()))
        self._is_open = False
        self._idle: list[PostgresSession] = []
        self._lent: list[PostgresSession] = []
        self._secret: bytes | None = None
        self.known_contracts: set[str] = set()
        self.bells = Bells(self.place)
        self._ringing: list[threading.Thread] = []
        self.acknowledged = Acknowledged()
        self._epoch: Epoch | None = None
        self._epoch_seen_at = 0.0

    # ------------------------------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Generator[PostgresSession]:
        """The connection that writes, for this thread alone; opens the ledger if need be."""
        with self._lock:
            yield self._open()

    @contextmanager
    def changing(self, *names: str) -> Generator[Run]:
        """A transaction of its own. Of two that name the same thing, one waits for the other."""
        with self.writing() as session, self.typed():
            session.ready()
            session.do("BEGIN")
            try:
                if names:
                    session.run("lock_names", json.dumps(names))
                yield session.run
                session.do("COMMIT")
            except BaseException:
                session.roll_back()
                raise

    @contextmanager
    def erasing(self) -> Generator[Run]:
        """The same for many deletions; they leave the pages with the next vacuum."""
        with self.changing() as run, self._writer.flowing():
            yield run

    def secret(self) -> bytes:
        """The ledger's secret; opens the ledger if need be."""
        if self._secret is None:
            with self._lock:
                self._open()
        assert self._secret is not None
        return self._secret

    def close(self) -> None:
        """Close all connections; idempotent. Readers at work finish first."""
        self.bells.close()
        for ringing in list(self._ringing):
            ringing.join()
        with self._lock, self._pool:
            self._closed = True
            self._pool.wait_for(lambda: not self._lent)
            for session in (self._writer, *self._idle):
                session.drop()
            self._idle = []

    def ring(self, ids: Sequence[str]) -> None:
        """Tell those who wait that these have moved; beside whoever moved them."""
        ringing = threading.Thread(target=self._ring, args=(tuple(ids),), daemon=True)
        self._ringing.append(ringing)
        ringing.start()

    def _ring(self, ids: tuple[str, ...]) -> None:
        with suppress(LedgerError), self.asking() as run:  # they look now and then
            run("tell_news", channel_of(self.place), json.dumps(ids))
        self._ringing.remove(threading.current_thread())

    # ------------------------------------------------------------------------------------- epochs

    @property
    def epoch(self) -> Epoch:
        """In which epoch the connection that writes is; opens the ledger if need be."""
        if self._epoch is None:
            with self._lock:
                self._open()
        assert self._epoch is not None
        return self._epoch

    def look_again(self, session: PostgresSession) -> None:
        """Now and then, where something may be missing: has somebody vouched for it meanwhile?"""
        epoch = self._epoch
        if epoch is None or not epoch.may_lack:
            return
        now = time.monotonic()
        if now - self._epoch_seen_at >= EPOCH_LOOK_S:
            self._epoch_seen_at = now
            found = [one for one in epochs(session.run, _NEWEST) if one.id == epoch.id]
            self._epoch = found[0] if found else epoch

    def _met_again(self) -> None:
        """A new connection that writes: what stood in another history is known no more."""
        run = self._writer.run
        check_schema(run, self.place)
        self.known_contracts.clear()
        self._epoch = meet(run, self._epoch, self.acknowledged, self._name)
        self.acknowledged = Acknowledged()

    # ------------------------------------------------------------------------------------ reading

    @contextmanager
    def asking(self) -> Generator[Run]:
        """Queries that read, on a connection for this thread alone."""
        with self._borrowed() as session:
            yield session.run

    @contextmanager
    def one_moment(self) -> Generator[Run]:
        """The same, where all that is read must be of one moment."""
        with self._borrowed() as session:
            session.ready()
            session.do("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield session.run
            finally:
                session.roll_back()

    @contextmanager
    def typed(self) -> Generator[None]:
        """Turn errors of PostgreSQL into errors of the ledger."""
        try:
            yield
        except Exception as error:
            typed = self.typed_error(error)
            if typed is error:
                raise
            raise typed from error

    def typed_error(self, error: Exception) -> Exception:
        """An error of PostgreSQL as an error of the ledger; any other one as it is."""
        import psycopg

        if isinstance(error, psycopg.Error):
            return ledger_error(error, self.place.shown)
        return error

    @contextmanager
    def _borrowed(self) -> Generator[PostgresSession]:
        if not self._is_open:
            with self._lock:
                self._open()
        pool = self._pool
        with pool:
            pool.wait_for(lambda: len(self._lent) < MAX_READERS)
            if self._closed:
                raise LedgerClosed(f"The ledger {self.place.shown} has been closed.")
            session = self._idle.pop() if self._idle else self._reader()
            self._lent.append(session)
        try:
            with self.typed():
                session.ready()
                yield session
        finally:
            with pool:
                self._lent.remove(session)
                self._idle.append(session)
                pool.notify()

    def _reader(self) -> PostgresSession:
        return PostgresSession(self.place, Manners(writes=False, wait_s=self._wait_s))

    # ------------------------------------------------------------------------------------ opening

    def _open(self) -> PostgresSession:
        if self._closed:
            raise LedgerClosed(f"The ledger {self.place.shown} has been closed.")
        if not self._is_open:
            session = self._writer
            with self.typed():
                session.ready()
                try:
                    self._secret = self._prepare(session)
                    self._epoch = meet(session.run, self._epoch, self.acknowledged, self._name)
                except BaseException:
                    session.roll_back()
                    session.drop()
                    raise
            self._is_open = True
            session.again = self._met_again
        return self._writer

    def _prepare(self, session: PostgresSession) -> bytes:
        if not check_schema(session.run, self.place):
            self._make(session)
            check_schema(session.run, self.place)
        return self._check_secret(session.run("get_meta", "secret_id"))

    def _make(self, session: PostgresSession) -> None:
        if not self._makes:
            raise LedgerMissing(f"There is no ledger at {self.place.shown}.")
        session.do("BEGIN")
        before = make(session, self.place)
        if before == 0:
            session.run("put_meta", "secret_id", secrets.secret_id(self._new_secret()))
        session.do("COMMIT")

    def _new_secret(self) -> bytes:
        if self._given_secret is None:
            raise LedgerError(
                f"The new ledger {self.place.shown} needs a secret that lies outside of the "
                "database, the same for all who use it.",
                next_step=f"Give it as {secrets.ENVIRONMENT} or secret=. To make one: "
                'python -c "import secrets; print(secrets.token_hex(32))".',
            )
        return self._given_secret

    def _check_secret(self, rows: Rows) -> bytes:
        shown = self.place.shown
        if not rows:
            raise LedgerCorrupt(f"The ledger {shown} does not say which secret it needs.")
        if self._given_secret is None:
            raise LedgerCorrupt(
                f"The ledger {shown} exists, but its secret {secrets.ENVIRONMENT} is missing.",
                next_step=f"Set {secrets.ENVIRONMENT}, or give secret=, as whoever began it did. "
                "A new secret would give known intents new keys, so none is made.",
            )
        secrets.check_secret(self._given_secret, rows[0][0], shown)
        return self._given_secret

    # ---------------------------------------------------------------------------------- migrating

    @contextmanager
    def lone_session(self) -> Generator[PostgresSession]:
        """A connection to whatever is there, ledger or not, of this release or not."""
        with self._lock, self.typed():
            try:
                self._writer.ready()
                yield self._writer
            finally:
                self._writer.roll_back()

    def migrate(self, *, wait_s: float) -> None:
        """Make the ledger, or bring it to this release's schema while others work on it.

        :param wait_s: how long each step may try.
        """
        with self.lone_session() as session:
            if schema_of(session.run, self.place) == 0:
                self._make(session)
            migrate_online(session, self.place, wait_s=wait_s)

    # --------------------------------------------------------------------------------------- fork

    def after_fork_in_child(self) -> None:
        """Begin anew. What was inherited is never touched again, and never closed."""
        inherited = (self._writer, *self._idle, *self._lent)
        _never_touched.extend(session.leave() for session in inherited)
        _never_touched.extend(self.bells.inherited)
        self._begin_anew()


_all_links: weakref.WeakSet[PostgresLink] = weakref.WeakSet()
_never_touched: list[Any] = []


def _after_fork_in_child() -> None:
    for link in list(_all_links):
        link.after_fork_in_child()


os.register_at_fork(after_in_child=_after_fork_in_child)
