"""The schema is what the model and the code say, however a file came to it."""

import contextlib
import re
import sqlite3
from pathlib import Path

import pytest

import ascertain.store
from ascertain.errors import LedgerNewer
from ascertain.model.action import ActionRecord, EventRecord
from ascertain.model.tables import NOTES, RULES
from ascertain.store.ledger import Advanced, ClaimBy, Contested, Reserved
from ascertain.store.queries import Query, load_migrations, load_queries
from ascertain.store.rows import NULLABLE
from ascertain.store.secret import secret_id
from ascertain.store.sqlite import SqliteLedger
from ascertain.store.sqlite_batch import _ADVANCE, _INSERT
from ascertain.store.sqlite_queries import QUERIES, run
from ascertain.store.sqlite_schema import migrate, newest
from ascertain.store.steps import Step, oldest_writer_in, steps_of
from ascertain.testing.conformance.samples import (
    claim,
    confirm,
    lose,
    reserve_sent,
    submit,
    wanted,
)
from tests.store.samples import settled, writer

SECRET = b"a secret of the tests"


def schema(db):
    rows = db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name")
    return [(kind, name, sql) for kind, name, sql in rows if not name.startswith("sqlite_")]


@pytest.mark.parametrize("number", [number for number, _ in load_migrations("sqlite")])
def test_a_ledger_of_any_release_comes_to_the_schema_of_a_new_one(tmp_path, ledger, number):
    """Stop after each migration, as an older release would have left it, and open it."""
    old = tmp_path / "old.db"
    with contextlib.closing(sqlite3.connect(old)) as db, db:
        migrate(db, since=0, until=number)
        run(db, "put_meta", "secret_id", secret_id(SECRET))
    again = SqliteLedger(old, secret=SECRET)
    assert again.secret() == SECRET
    again.close()
    with contextlib.closing(sqlite3.connect(old)) as migrated, writer(ledger) as fresh:
        assert schema(migrated) == schema(fresh)
        latest = str(len(load_migrations("sqlite")))
        assert run(migrated, "get_meta", "schema").fetchone() == (latest,)
        assert sorted(run(migrated, "rules")) == sorted(run(fresh, "rules"))


def migrate_further(path, oldest_writer):
    """What a later release would add to the file, while others have it open."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        for table in ("action", "event", "payload", "chain", "member", "session"):
            db.execute(f"ALTER TABLE {table} ADD COLUMN colour TEXT")
        db.execute("INSERT INTO rule VALUES ('confirmed', 'paint', 'confirmed', 0)")
        run(db, "put_meta", "schema", str(newest() + 1))
        run(db, "put_meta", "oldest_writer", str(oldest_writer))


def test_older_code_works_on_what_a_newer_release_added(tmp_path):
    """Open already, or opened later, where the ledger says that code of this age may write."""
    old = SqliteLedger(tmp_path / "ledger.db", secret=SECRET)
    settled(old, "i1")
    migrate_further(tmp_path / "ledger.db", newest())
    late = SqliteLedger(tmp_path / "ledger.db", secret=SECRET)
    for ledger, intent in ((old, "i2"), (late, "i3")):
        assert len(ledger.events(settled(ledger, intent).id)) == 3
    assert late.bury(closed_before=9e9) == 3
    assert list(old.verify()) == []
    for ledger in (old, late):
        ledger.close()


def test_older_code_is_refused_where_a_newer_release_took_something_away(tmp_path):
    path = tmp_path / "ledger.db"
    early = SqliteLedger(path, secret=SECRET)
    early.secret()
    early.close()
    migrate_further(path, newest() + 1)
    late = SqliteLedger(path, secret=SECRET)
    with pytest.raises(LedgerNewer, match=f"knows up to {newest()}"):
        late.secret()
    late.close()


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_a_migration_bears_older_writers_only_where_it_says_so(backend):
    scripts = load_migrations(backend)
    assert oldest_writer_in(scripts) < len(scripts)
    assert oldest_writer_in([*scripts, (99, "ALTER TABLE action DROP COLUMN x;")]) == 99


def test_the_steps_of_a_migration():
    assert steps_of("-- About it.\nA;\nB;\n") == [Step("-- About it.\nA;\nB;\n", alone=False)]
    script = "-- About it.\n\n-- step alone\nA;\n-- step\n-- Why.\nB;\n"
    assert steps_of(script) == [
        Step("\nA;\n", alone=True), Step("\n-- Why.\nB;\n", alone=False),
    ]  # fmt: skip


def test_the_columns_of_an_action_are_the_fields_of_its_record(ledger):
    with writer(ledger) as db:
        columns = db.execute("PRAGMA table_info(action)").fetchall()
    assert tuple(name for _, name, *_ in columns) == ActionRecord._fields
    nullable = tuple(name for _, name, _, not_null, *_ in columns if not not_null and name != "id")
    assert nullable == NULLABLE
    defaults = {name: default for _, name, _, _, default, _ in columns if default is not None}
    for name, default in defaults.items():
        assert default.strip("'") == str(ActionRecord._field_defaults[name]), name


def test_the_columns_of_an_event_begin_with_the_fields_of_its_record(ledger):
    with writer(ledger) as db:
        columns = tuple(name for _, name, *_ in db.execute("PRAGMA table_info(event)"))
    assert columns[: len(EventRecord._fields)] == EventRecord._fields
    assert columns[len(EventRecord._fields) :] == ("stand", "covers")


def test_the_rules_in_the_file_are_those_of_the_table(ledger):
    with writer(ledger) as db:
        written = set(run(db, "rules"))
    assert written == {
        (rule.start or "", rule.event.value, rule.end.value, int(rule.unless_final))
        for rule in RULES + NOTES
    }


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_every_query_is_prepared(ledger, name):
    """Announced parameters are used, columns and tables exist."""
    query = QUERIES[name]
    with writer(ledger) as db:
        if query.parameters == ("*",):
            for statement in (_INSERT, _ADVANCE):
                for value in (0, None):
                    sql, values = statement.bind([value] * 100)
                    db.execute(f"EXPLAIN {sql}", values)
            return
        assert len(query.places()) == len(query.order())
        db.execute(f"EXPLAIN {query.placed('?')}", [None] * len(query.order()))


def test_every_query_is_used():
    code = "".join(path.read_text() for path in Path(ascertain.store.__path__[0]).glob("*.py"))
    quoted = set(re.findall(r'"(\w+)"', code))
    assert sorted(set(QUERIES) - quoted) == []


def test_only_what_differs_by_necessity_is_said_for_sqlite_alone():
    portable, own = load_queries("queries.sql"), load_queries("sqlite.sql")
    words = re.compile("json_each|INDEXED BY|CROSS JOIN")  # its own, or its own planning
    assert [name for name, query in own.items() if not words.search(query.text)] == []
    assert [name for name, query in portable.items() if words.search(query.text)] == []
    assert set(own) & set(portable) == set()


def test_a_parameter_that_is_not_announced_is_an_error():
    query = Query(name="x", parameters=("id",), text="SELECT :id, :other")
    with pytest.raises(ValueError, match="other"):
        query.places()


def test_the_rule_of_the_database_holds_for_events_too(ledger):
    record = settled(ledger)
    row = (record.id, 9, "confirmed", "send", "sent", "x", "", 0, 0, 0.0, "{}", b"", "", b"")
    with writer(ledger) as db, pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        run(db, "insert_event", *row)


def test_a_commit_is_durable(ledger):
    with writer(ledger) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
        assert db.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_references_known_before_claims_were_kept_are_claimed_by_who_has_them(tmp_path):
    """A ledger as it was before, with one that was found, one that was answered and one open."""
    path = tmp_path / "old.db"
    ledger = SqliteLedger(path, secret=SECRET)
    contract = '{"lookup":{"by":"fields"},"tool":"create_ticket"}'

    def stored(intent, **changes):
        operation = reserve_sent(wanted(intent, **changes))._replace(contract_json=contract)
        return submit(ledger, operation, Reserved).record

    found = submit(ledger, confirm(stored("i1"), "T1", reason="found_by_lookup"), Advanced).record
    answered = submit(ledger, confirm(stored("i2"), "T1"), Advanced).record
    lost = submit(ledger, lose(stored("i3")), Advanced).record
    with writer(ledger) as db:
        for _, later in reversed(load_migrations("sqlite")[1:]):
            for table, column in re.findall(r"ALTER TABLE (\w+) ADD COLUMN (\w+)", later):
                db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
            for table in re.findall(r"^CREATE TABLE (\w+)", later, re.MULTILINE):
                db.execute(f"DROP TABLE {table}")
            added = set(re.findall(r"^CREATE INDEX (\w+)", later, re.MULTILINE))
            for index in added - set(re.findall(r"^DROP INDEX (\w+)", later, re.MULTILINE)):
                db.execute(f"DROP INDEX IF EXISTS {index}")
        run(db, "put_meta", "schema", "1")
    ledger.close()
    again = SqliteLedger(path, secret=SECRET)
    refused = submit(again, claim(lost, "T1", ClaimBy.LOOKUP), Contested)
    assert (refused.other, refused.by) == (answered, ClaimBy.ANSWER)
    assert again.get(found.id) == found
    sent = reserve_sent(wanted("i4"), fields="f")._replace(contract_json=contract)
    new = submit(again, lose(submit(again, sent, Reserved).record), Advanced).record
    assert submit(again, claim(new, "T2", ClaimBy.LOOKUP), Contested).other == lost
    again.close()
