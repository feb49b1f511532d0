"""Where an SQLite ledger under test lies, and the foreign hands that reach into its file."""

import contextlib
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from ascertain.store.ids import new_id
from ascertain.store.sqlite import SqliteLedger
from ascertain.store.sqlite_queries import QUERIES


@dataclass(frozen=True)
class SqlitePlace:
    folder: Path

    @property
    def path(self):
        return self.folder / "ledger.db"

    def open(self, **options):
        return SqliteLedger(self.path, **options)

    def another(self):
        folder = self.folder / new_id()
        folder.mkdir()
        return SqlitePlace(folder)

    def by_hand(self, table, where, change):
        with self._shell() as db:
            _change(db, table, where, change)

    def by_force(self, table, where, change):
        with self._unprotected() as db:
            _change(db, table, where, change)

    def insert_by_force(self, table, row):
        columns, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
        with self._unprotected() as db:
            db.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", list(row.values()))

    def plans(self):
        with self._shell() as db:
            return {name: _plan(db, name) for name in QUERIES if QUERIES[name].parameters != ("*",)}

    def forget_secret(self):
        self.path.with_name("ledger.db.secret").unlink()

    @contextlib.contextmanager
    def _shell(self):
        shell = sqlite3.connect(self.path, timeout=5, isolation_level=None)
        with contextlib.closing(shell) as db:
            db.execute("BEGIN IMMEDIATE")  # for what drops and makes triggers too
            yield db
            db.execute("COMMIT")

    @contextlib.contextmanager
    def _unprotected(self):
        with self._shell() as db:
            triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            triggers = triggers.fetchall()
            assert triggers
            for name, _ in triggers:
                db.execute(f"DROP TRIGGER {name}")
            yield db
            for _, sql in triggers:
                db.execute(sql)


def _change(db, table, where, change):
    condition = " AND ".join(f'"{column}" = ?' for column in where)
    if change is None:
        done = db.execute(f"DELETE FROM {table} WHERE {condition}", list(where.values()))
    else:
        changes = ", ".join(f'"{column}" = ?' for column in change)
        values = [*change.values(), *where.values()]
        done = db.execute(f"UPDATE {table} SET {changes} WHERE {condition}", values)
    assert done.rowcount > 0, f"nothing in {table} where {where}"


def _plan(db, name):
    values = [None] * len(QUERIES[name].order())
    plan = db.execute(f"EXPLAIN QUERY PLAN {QUERIES[name].placed('?')}", values)
    return "\n".join(row[3] for row in plan)
