"""From a ledger's schema to the one that this release works with: plan, apply, verify."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

from ascertain.errors import LedgerMissing, LedgerNewer
from ascertain.store.place import path_of
from ascertain.store.postgres_link import PostgresLink
from ascertain.store.postgres_place import is_postgres, place_of
from ascertain.store.postgres_schema import compared, differences, schema_of
from ascertain.store.queries import migration_titles
from ascertain.store.secret import given_secret
from ascertain.store.sqlite import SqliteLedger
from ascertain.store.sqlite_errors import typed
from ascertain.store.sqlite_schema import migrate as migrate_file
from ascertain.store.sqlite_schema import schema_of as schema_of_file

WAIT_S = 60.0
_CONNECT_WAIT_S = 15.0


class Plan(NamedTuple):
    """What has to be done.

    :param schema: number of the last migration that was done; 0: there is no ledger yet.
    :param newest: number of this release's last one.
    :param steps: those in between: number and title.
    """

    schema: int
    newest: int
    steps: tuple[tuple[int, str], ...]


def plan(url: str) -> Plan:
    """What has to be done; changes nothing.

    :raises LedgerMissing: there is no such file. :raises LedgerNewer: a newer release wrote it.
    """
    if is_postgres(url):
        with _linked(url) as link, link.lone_session() as session:
            return _plan("postgres", schema_of(session.run, link.place), link.place.shown)
    with _file(url) as (db, path):
        return _plan("sqlite", schema_of_file(db, path), str(path))


def apply(url: str, *, secret: bytes | None = None, wait_s: float = WAIT_S) -> Plan:
    """Do what has to be done; returns what it was. In PostgreSQL others may go on working.

    :param secret: as for a ledger; a new one in PostgreSQL needs it.
    :param wait_s: how long each step in PostgreSQL may try to get hold of the tables.
    :raises LedgerLocked: it did not; what is done stays, and the next time goes on from it.
    """
    before = plan(url)
    if is_postgres(url):
        with _linked(url, secret=secret) as link:
            link.migrate(wait_s=wait_s)
    else:
        ledger = SqliteLedger(path_of(url), secret=secret)
        ledger.secret()  # opening a file brings it to the newest schema
        ledger.close()
    return before


def verify(url: str) -> list[str]:
    """One sentence for each thing in which the ledger differs from a new one; changes nothing."""
    if is_postgres(url):
        with _linked(url) as link, link.lone_session() as session:
            return differences(session, link.place)
    with _file(url) as (db, _), contextlib.closing(sqlite3.connect(":memory:")) as fresh:
        migrate_file(fresh, since=0)
        return compared(_objects(db), _objects(fresh))


def _plan(backend: str, schema: int, place: str) -> Plan:
    titles = migration_titles(backend)
    if schema > len(titles):
        raise LedgerNewer(
            f"The ledger {place} has schema {schema}; this release knows up to {len(titles)}."
        )
    steps = tuple(enumerate(titles[schema:], start=schema + 1))
    return Plan(schema, len(titles), steps)


@contextlib.contextmanager
def _linked(url: str, *, secret: bytes | None = None) -> Generator[PostgresLink]:
    link = PostgresLink(
        place_of(url), secret=given_secret(secret), wait_s=_CONNECT_WAIT_S, make=True
    )
    try:
        yield link
    finally:
        link.close()


@contextlib.contextmanager
def _file(url: str) -> Generator[tuple[sqlite3.Connection, Path]]:
    path = path_of(url).absolute()
    if not path.is_file():
        raise LedgerMissing(f"There is no ledger at {path}.")
    with (
        typed(path),
        contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db,
    ):
        yield db, path


def _objects(db: sqlite3.Connection) -> dict[str, str]:
    rows: list[tuple[Any, ...]] = db.execute(
        "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"
    ).fetchall()
    return {f"{kind} {name}": " ".join(str(sql).split()) for kind, name, sql in rows}
