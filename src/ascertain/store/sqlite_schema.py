"""The tables of a ledger in a file: made, and brought to this release's, by whoever opens it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from ascertain.errors import LedgerCorrupt
from ascertain.store.queries import load_migrations
from ascertain.store.rule_rows import RULE_ROWS
from ascertain.store.sqlite_queries import insert_many, run
from ascertain.store.steps import oldest_writer_in


def newest() -> int:
    """The number of this release's last migration."""
    return len(load_migrations("sqlite"))


def schema_of(db: sqlite3.Connection, path: Path) -> int:
    """The number of the last migration of this file; 0 for an empty one.

    :raises LedgerCorrupt: a database of something else.
    """
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return 0
    row = None
    if {"meta", "action", "event", "rule"} <= tables:
        row = run(db, "get_meta", "schema").fetchone()
    if row is None or not row[0].isdecimal():
        raise LedgerCorrupt(
            f"The file {path} is a database, but not a ledger.",
            next_step="Correct the ledger's URL; a ledger has a file of its own.",
        )
    return int(row[0])


def migrate(db: sqlite3.Connection, *, since: int, until: int | None = None) -> None:
    """Run the migrations after ``since``, inside the caller's transaction."""
    wanted = load_migrations("sqlite")[:until]
    for number, script in wanted[since:]:
        for statement in _statements(script):
            db.execute(statement)
        run(db, "put_meta", "schema", str(number))
    run(db, "put_meta", "oldest_writer", str(oldest_writer_in(wanted)))
    insert_many(db, "put_rule", RULE_ROWS)


def _statements(script: str) -> Iterator[str]:
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        raise ValueError("The last statement of a migration is not complete.")
