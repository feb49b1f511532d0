"""Where the ledger of a test lies: a file in its folder, or a schema that stands for that file.

Tests marked ``every_ledger`` run once for each kind. Which tests of requirements do not, and why,
stands in ``one_ledger.txt``; those of a file that is marked as a whole are marked ``one_ledger``.
"""

import hashlib
import os
import sqlite3
from contextlib import closing

import pytest

from ascertain.store.postgres_place import place_of

KINDS = ("sqlite", "postgres")
EVERYTHING = "ASCERTAIN_PROVE"
"""Set: what takes long is run on every kind of ledger too."""
SECRET = "the secret of every ledger of the tests"
_kind = ["sqlite"]


def use(kind):
    """From now on ledgers are of this kind; returns the kind until now."""
    before, _kind[0] = _kind[0], kind
    return before


def chosen(parameters, *, also_on):
    """Pairs of a parameter and a kind of ledger, for tests of which there are many.

    All of them on SQLite; on the others those of which ``also_on`` holds, and all of them where
    everything is asked for (`make ledgers`).
    """
    everything = bool(os.environ.get(EVERYTHING))
    return [
        pytest.param(one, kind, id=f"{one}-{kind}")
        for one in parameters
        for kind in KINDS
        if kind == "sqlite" or everything or also_on(one)
    ]


def ledger_url(path):
    """The URL of the ledger of this path; the same path is the same ledger."""
    return url_of_kind(_kind[0], path)


def url_of_kind(kind, path):
    """The same where kinds are told apart by whoever asks."""
    if kind == "sqlite":
        return f"sqlite:///{path}"
    from tests.postgres import server  # its driver is not where doors alone are tried

    name = hashlib.sha256(str(path).encode()).hexdigest()[:24]
    return server.schema_url(f"t{name}")


def by_hand(path, statement, *values):
    """What somebody does who reaches into the ledger of this path; values stand where a ? is."""
    if _kind[0] == "sqlite":
        with closing(sqlite3.connect(path)) as db, db:
            return db.execute(statement, values).fetchall()
    import psycopg

    place = place_of(ledger_url(path))
    with psycopg.connect(**place.options) as db:
        db.execute("SELECT set_config('search_path', %s, false)", [place.schema])
        done = db.execute(statement.replace("?", "%s"), values)
        return done.fetchall() if done.description else []
