"""Where a PostgreSQL ledger under test lies, and the foreign hands that reach into it."""

import contextlib
import re
from dataclasses import dataclass, field

import psycopg
from psycopg import sql

from ascertain.store.postgres import PostgresLedger
from ascertain.store.postgres_errors import EVENT_RULE
from ascertain.store.postgres_place import place_of
from ascertain.store.postgres_queries import FORMS, form
from tests.postgres import server

SECRET = b"the secret of the tests' places"


@dataclass(frozen=True)
class PostgresPlace:
    url: str = field(default_factory=server.new_url)
    forgotten: list[bool] = field(default_factory=list)

    def open(self, **options):
        known = {} if self.forgotten else {"secret": SECRET}
        return PostgresLedger(self.url, **{**known, **options})

    def another(self):
        return PostgresPlace()

    def by_hand(self, table, where, change):
        with self._shell() as db:
            _change(db, table, where, change)

    def by_force(self, table, where, change):
        with self._unprotected() as db:
            _change(db, table, where, change)

    def insert_by_force(self, table, row):
        columns = sql.SQL(", ").join(map(sql.Identifier, row))
        marks = sql.SQL(", ").join(sql.Placeholder() * len(row))
        with self._unprotected() as db:
            db.execute(
                sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                    sql.Identifier(table), columns, marks
                ),
                list(row.values()),
            )

    def plans(self):
        with self._shell() as db:
            db.execute(*form("settle", (place_of(self.url).schema, 0, 0, 0)))  # as a ledger does
            return {name: _plan(db, text.decode()) for name, (text, _) in FORMS.items()}

    def forget_secret(self):
        self.forgotten.append(True)

    @contextlib.contextmanager
    def _shell(self):
        place = place_of(self.url)
        with psycopg.connect(**place.options) as db:
            db.execute("SELECT set_config('search_path', %s, false)", [place.schema])
            yield db

    @contextlib.contextmanager
    def _unprotected(self):
        with self._shell() as db:
            db.execute("SET session_replication_role = replica")
            (check,) = db.execute(
                "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s"
                " AND conrelid = 'event'::regclass",
                [EVENT_RULE],
            ).fetchone()
            db.execute(f"ALTER TABLE event DROP CONSTRAINT {EVENT_RULE}")
            yield db
            check = check.removesuffix("NOT VALID")
            db.execute(f"ALTER TABLE event ADD CONSTRAINT {EVENT_RULE} {check} NOT VALID")


def _change(db, table, where, change):
    def pairs(row, between):
        return sql.SQL(between).join(
            sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder()) for name in row
        )

    values = [*(change or {}).values(), *where.values()]
    verb = sql.SQL("DELETE FROM {}") if change is None else sql.SQL("UPDATE {} SET {}")
    what = [sql.Identifier(table)] + ([] if change is None else [pairs(change, ", ")])
    done = db.execute(
        sql.SQL("{} WHERE {}").format(verb.format(*what), pairs(where, " AND ")), values
    )
    assert done.rowcount > 0, f"nothing in {table} where {where}"


def _plan(db, text):
    """In the words of the suite: what reads all of a table is a SCAN of it."""
    numbers = iter(range(1, 1000))
    prepared = re.sub("%s", lambda _: f"${next(numbers)}", text).replace("%%", "%")
    lines = [line for (line,) in db.execute(f"EXPLAIN (GENERIC_PLAN) {prepared}")]
    said = []
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        step = line.strip()
        whole = "Seq Scan on action" in step or (
            re.search(r"Scan using \w+ on action", step) and "Index Cond" not in below
        )
        of_all = "Index Cond: (id <" in below and "Scan using action_pkey" in step
        said.append(f"{step} SCAN action" if whole or of_all else step)
    return "\n".join(said)
