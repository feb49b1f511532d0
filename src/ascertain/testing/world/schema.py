"""The provider's own file: its tables, and how it is opened. SQLite, durable at each commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from ascertain.testing.world.words import Provider

_LOCKED_S = 15.0

_TABLES = """
CREATE TABLE IF NOT EXISTS providers (
    collection  TEXT PRIMARY KEY,
    spec        TEXT NOT NULL,              -- Provider as JSON
    refs_given  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS arrivals (       -- every request head that came in
    number         INTEGER PRIMARY KEY,
    connection     INTEGER NOT NULL,
    received_at    REAL NOT NULL,
    method         TEXT NOT NULL,
    target         TEXT NOT NULL,
    collection     TEXT NOT NULL,
    key            TEXT,
    args           TEXT,
    behaviour      TEXT NOT NULL,
    answered       TEXT NOT NULL,           -- HTTP status, or what the wire did instead
    answered_at    REAL,
    code           TEXT,
    retry_after_s  REAL
) STRICT;
CREATE INDEX IF NOT EXISTS arrivals_by_key ON arrivals (collection, key);
CREATE TABLE IF NOT EXISTS effects (        -- what really happened
    number       INTEGER PRIMARY KEY,
    collection   TEXT NOT NULL,
    ref          TEXT NOT NULL,
    key          TEXT,
    args         TEXT NOT NULL,
    received_at  REAL NOT NULL,
    executed_at  REAL NOT NULL,
    delivery     INTEGER NOT NULL,          -- counts the effects of one key
    arrival      INTEGER NOT NULL REFERENCES arrivals (number),
    UNIQUE (collection, ref)
) STRICT;
CREATE INDEX IF NOT EXISTS effects_by_key ON effects (collection, key);
CREATE TABLE IF NOT EXISTS placed (         -- what was there before anybody asked
    collection  TEXT NOT NULL,
    ref         TEXT NOT NULL,
    key         TEXT,
    args        TEXT NOT NULL,
    placed_at   REAL NOT NULL,
    PRIMARY KEY (collection, ref)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keys (           -- deduplication
    collection  TEXT NOT NULL,
    key         TEXT NOT NULL,
    args        TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('working', 'accepted', 'done', 'refused')),
    reply       TEXT,                       -- the stored reply: JSON
    first_at    REAL NOT NULL,
    PRIMARY KEY (collection, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fences (         -- keys that can no longer take effect
    collection  TEXT NOT NULL,
    key         TEXT NOT NULL,
    fenced_at   REAL NOT NULL,
    PRIMARY KEY (collection, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS due (            -- what takes effect later, whoever is still there
    number       INTEGER PRIMARY KEY,
    arrival      INTEGER NOT NULL REFERENCES arrivals (number),
    collection   TEXT NOT NULL,
    key          TEXT,
    args         TEXT NOT NULL,
    received_at  REAL NOT NULL,
    due_at       REAL NOT NULL,
    how          TEXT NOT NULL CHECK (how IN ('working', 'transit', 'accepted')),
    ended_at     REAL,
    ended_as     TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS due_open ON due (due_at) WHERE ended_at IS NULL;
CREATE TABLE IF NOT EXISTS misses (         -- look-ups that will not find this key yet
    collection  TEXT NOT NULL,
    key         TEXT NOT NULL,
    remaining   INTEGER NOT NULL,
    PRIMARY KEY (collection, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scripts (        -- behaviours set from outside
    number      INTEGER PRIMARY KEY,
    collection  TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('post', 'lookup')),
    key         TEXT,
    match       TEXT NOT NULL,
    entries     TEXT NOT NULL,
    size        INTEGER NOT NULL,
    used        INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS scripts_live ON scripts (collection, kind) WHERE used < size;
"""


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open the file so that a commit that returned survives anybody's end. The caller closes."""
    connection = sqlite3.connect(
        path, timeout=_LOCKED_S, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


@contextmanager
def writing(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """One short transaction from outside the serving process."""
    with closing(open_for_writing(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


@contextmanager
def reading(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """A read-only view, for any process, also after the World's process has died."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=_LOCKED_S)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def prepare(path: Path, providers: Mapping[str, Provider]) -> None:
    """Make the tables and say who serves what. What is already there stays."""
    with closing(open_for_writing(path)) as connection:
        connection.executescript(_TABLES)
        connection.execute("BEGIN IMMEDIATE")
        for collection, provider in providers.items():
            connection.execute(
                "INSERT INTO providers (collection, spec) VALUES (?, ?)"
                " ON CONFLICT (collection) DO UPDATE SET spec = excluded.spec",
                (collection, provider.to_json()),
            )
        connection.execute("COMMIT")


def load_providers(connection: sqlite3.Connection) -> dict[str, Provider]:
    """Return who serves what."""
    rows: list[tuple[str, str]] = connection.execute(
        "SELECT collection, spec FROM providers ORDER BY collection"
    ).fetchall()
    return {collection: Provider.from_json(spec) for collection, spec in rows}
