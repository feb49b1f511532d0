"""The ledger in PostgreSQL, shared by any number of threads, processes and hosts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from ascertain.model.epoch import Epoch
from ascertain.store.access import Run
from ascertain.store.batch import Batch
from ascertain.store.epochs import Acknowledged, epochs
from ascertain.store.ledger import Advanced, Reply, Reserved, Vitals
from ascertain.store.postgres_batch import PostgresBatch, PostgresForms
from ascertain.store.postgres_errors import is_passing
from ascertain.store.postgres_link import PostgresLink
from ascertain.store.postgres_place import place_of
from ascertain.store.postgres_session import PostgresSession
from ascertain.store.postgres_vitals import vitals
from ascertain.store.secret import given_secret
from ascertain.store.sql_ledger import Meanwhile, SqlLedger


class PostgresLedger(SqlLedger[PostgresSession]):
    """The :class:`~ascertain.store.ledger.Ledger` in a schema of a PostgreSQL database.

    Opened when it is first used. Safe to use from any thread, and by parent and child after a fork.

    :param url: ``postgresql://user@host:5432/database?schema=ascertain``; other parameters are
        libpq's, and take the place of the careful ones of
        :data:`~ascertain.store.postgres_place.CAREFUL`.
    :param secret: 16 bytes or more, the same for all who use the ledger; else ``ASCERTAIN_SECRET``.
    :param wait_s: how long to wait for what another session holds, and for a server that was there
        before.
    :param make: whether a ledger that is not there yet is made.
    :raises LedgerError: the URL cannot be read, or the driver is not installed.
    :raises WeakKey: the secret is too short.
    """

    def __init__(
        self, url: str, *, secret: bytes | None = None, wait_s: float = 5.0, make: bool = True
    ) -> None:
        place = place_of(url)
        self._link = PostgresLink(place, secret=given_secret(secret), wait_s=wait_s, make=make)
        super().__init__(place.shown, self._link, PostgresForms())

    def secret(self) -> bytes:
        """The key of intents and of the chain; lies outside the database."""
        return self._link.secret()

    def now(self) -> float:
        """The time of the database server, which all hosts share."""
        at: float = self._one("server_time")
        return at

    def bell(self, action_id: str, ring: Callable[[], None]) -> Callable[[], None]:
        """Ring when somebody else moves the action; returns what ends that."""
        hush = self._link.bells.hear(action_id, ring)
        try:
            with self._link.asking() as run:
                run("await_news", action_id)
        except BaseException:
            hush()
            raise
        return hush

    @property
    def epoch(self) -> Epoch:
        """In which epoch of the ledger this process works."""
        return self._link.epoch

    def epochs(self, limit: int = 10) -> list[Epoch]:
        """Its epochs, the newest first."""
        with self._link.asking() as run:
            return epochs(run, limit)

    def settle_epoch(self, epoch_id: str, by: str, now: float) -> bool:
        """Vouch that nothing was lost before an epoch; False: there is nothing to vouch for."""
        with self._link.changing() as run:
            return bool(run("settle_epoch", epoch_id, by, now))

    def vitals(self) -> Vitals:
        """How it stands, for operators. Changes nothing, and reads no action."""
        return vitals(self._link)

    def _close(self) -> None:
        """Close all connections of this process; idempotent."""
        self._link.close()

    def _writing(self) -> AbstractContextManager[PostgresSession]:
        return self._link.writing()

    def _begin(self, db: PostgresSession, meanwhile: Meanwhile = None) -> None:
        db.roll_back()  # left by an interrupt that struck between two statements
        db.ready()  # the batch begins with its first statement
        self._link.look_again(db)
        db.sent = meanwhile

    def _commit(self, db: PostgresSession) -> None:
        if db.in_transaction:
            db.do("COMMIT")

    def _roll_back(self, db: PostgresSession) -> None:
        db.roll_back()

    def _batch(self, db: PostgresSession) -> PostgresBatch:
        return PostgresBatch(db, self._link.known_contracts, self._link.epoch.id)

    def _asking(self, db: PostgresSession) -> Run:
        return db.run

    def _wrote(self, batch: Batch, replies: Sequence[Reply | None]) -> None:
        self._link.known_contracts.update(batch.new_contracts)
        if batch.waited:
            self._link.ring(batch.waited)
        for reply in reversed(replies):
            if isinstance(reply, Advanced | Reserved):
                self._link.acknowledged = Acknowledged(reply.record.id, reply.record.n)
                break

    def _make_room(self, db: PostgresSession) -> None:
        """There is nothing of ours to give back."""

    def _typed(self, error: Exception) -> Exception:
        return self._link.typed_error(error)

    def _is_passing(self, error: Exception) -> bool:
        return is_passing(error)
