"""The named queries as SQLite takes them, and running them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from functools import cache

from ascertain.store.queries import load_queries
from ascertain.store.rows import COLUMNS

QUERIES = {
    name: query.expanded(action=COLUMNS)
    for name, query in load_queries("queries.sql", "sqlite.sql").items()
}
# With `?` and not `?1`, which some releases of Python take for a name, and warn each time.
_FORMS = {
    name: (query.placed("?"), query.picker())
    for name, query in QUERIES.items()
    if query.parameters != ("*",)
}

_VALUES = re.compile(r"VALUES\s*(\([^()]*\))")
_SIZES = (64, 16, 4, 1)  # of few columns each: some releases of SQLite bind 999 values at most


def run(db: sqlite3.Connection, name: str, *values: object) -> sqlite3.Cursor:
    """Run a named query with the values of its parameters, in the order that it announces."""
    text, pick = _FORMS[name]
    return db.execute(text, values if pick is None else pick(values))


def insert_many(db: sqlite3.Connection, name: str, rows: Sequence[Sequence[object]]) -> None:
    """Run a named INSERT, whose parameters appear in order, for all of the rows.

    Many rows to a statement, in few sizes, which stay in the cache of statements.
    """
    done, left = 0, len(rows)
    for size in _SIZES:
        while left >= size:
            text = _many_rows(name, size)
            db.execute(text, [value for row in rows[done : done + size] for value in row])
            done, left = done + size, left - size


@cache
def _many_rows(name: str, size: int) -> str:
    """The text of a named INSERT with so many groups of values."""
    return _VALUES.sub(lambda found: "VALUES " + ", ".join([found[1]] * size), _FORMS[name][0])
