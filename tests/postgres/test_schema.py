"""The tables are what the model and the code say, and those of the other backend."""

import contextlib
import re
import sqlite3
import threading
from pathlib import Path

import psycopg
import pytest

import ascertain.store
from ascertain.model.action import ActionRecord
from ascertain.store.ledger import Advanced, Reserved
from ascertain.store.postgres_place import place_of
from ascertain.store.postgres_queries import FORMS, QUERIES
from ascertain.store.queries import load_queries
from ascertain.store.rows import NULLABLE
from ascertain.store.rule_rows import RULE_ROWS
from ascertain.store.sqlite import SqliteLedger
from ascertain.testing.conformance.samples import confirm, records, reserve_sent, submit, wanted
from tests.postgres import hands

COLUMNS = (
    "SELECT table_name, column_name, is_nullable FROM information_schema.columns"
    " WHERE table_schema = %s ORDER BY table_name, ordinal_position"
)


def columns(url):
    with hands.shell(url) as db:
        return db.execute(COLUMNS, [place_of(url).schema]).fetchall()


def test_the_columns_of_an_action_are_the_fields_of_its_record(ledger, url):
    *found, last = [(name, nullable) for table, name, nullable in columns(url) if table == "action"]
    assert last == ("waited", "YES"), "of no interest to anybody but the store"
    assert tuple(name for name, _ in found) == ActionRecord._fields
    assert tuple(name for name, nullable in found if nullable == "YES") == NULLABLE


def test_both_backends_have_the_same_tables(ledger, url, tmp_path):
    """So that an archive of the one can be read into the other."""
    other = SqliteLedger(tmp_path / "ledger.db")
    other.secret()
    other.close()
    ours: dict[str, list[str]] = {}
    for table, name, _ in columns(url):
        ours.setdefault(table, []).append(name)
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db")) as db:
        tables = [
            name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type='table'")
        ]
        theirs = {
            table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            for table in tables
            if not table.startswith("sqlite_")
        }
    ours["action"].remove("waited")
    del ours["tenant_role"]  # of the second wall
    del ours["epoch"]  # the history of a file does not break off
    assert ours == theirs


@pytest.mark.parametrize("name", sorted(FORMS))
def test_every_query_is_prepared(ledger, url, name):
    """Announced parameters are used, columns and tables exist, types are known."""
    numbers = iter(range(1, 100))
    text = re.sub("%s", lambda _: f"${next(numbers)}", FORMS[name][0].decode()).replace("%%", "%")
    with hands.shell(url) as db:
        db.execute(f"PREPARE it AS {text}")


def test_every_query_is_used():
    code = "".join(path.read_text() for path in Path(ascertain.store.__path__[0]).glob("*.py"))
    quoted = set(re.findall(r'"(\w+)"', code))
    own = set(load_queries("postgres.sql"))
    assert sorted(own - quoted) == []
    assert set(QUERIES) >= set(load_queries("queries.sql"))


def test_the_rules_are_those_of_the_release(ledger):
    with ledger._link.asking() as run:
        assert sorted(run("rules")) == RULE_ROWS


def test_nobody_empties_the_tables_by_hand(ledger, url):
    submit(ledger, reserve_sent(wanted()), Reserved)
    with hands.shell(url) as db:
        for table in ("action", "event"):
            with pytest.raises(psycopg.Error, match="ascertain"):
                db.execute(f"TRUNCATE {table}")


def test_two_processes_that_lock_the_same_rows_do_not_wait_for_each_other_forever(open_again, url):
    """Batches of the same actions, one in the reverse order of the other."""
    first, second = open_again(), open_again()
    sent = records(
        first.submit([reserve_sent(wanted(f"i{n}"), owner="w") for n in range(40)]), Reserved
    )
    start, told = threading.Barrier(2), {}

    def work(name, ledger, order):
        start.wait()
        told[name] = ledger.submit([confirm(one) for one in order])

    for _ in range(3):
        threads = [
            threading.Thread(target=work, args=("first", first, sent)),
            threading.Thread(target=work, args=("second", second, sent[::-1])),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        won = sum(isinstance(reply, Advanced) for replies in told.values() for reply in replies)
        assert won == 40, "each was written by one of them"
        with hands.shell(url) as db:
            ((deadlocks,),) = db.execute(
                "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
            ).fetchall()
        assert deadlocks == 0
        sent = records(
            first.submit([reserve_sent(wanted(f"{one.id}-x")) for one in sent]), Reserved
        )
