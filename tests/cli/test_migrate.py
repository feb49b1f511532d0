"""`ascertain migrate`: plan, apply, verify, on both kinds of ledger."""

import json
import sqlite3

import pytest

from ascertain.store.open import open_ledger
from ascertain.store.queries import migration_titles
from tests.postgres import hands, server

SECRET = "a secret of the tests of the command"


@pytest.fixture
def elsewhere(here, monkeypatch):
    """A ledger that is not there yet, in PostgreSQL."""
    monkeypatch.setenv("ASCERTAIN_SECRET", SECRET)
    return server.new_url()


def told(cli, *arguments):
    done = cli("migrate", *arguments, "--json")
    return done.code, json.loads(done.out)


def test_what_is_not_there_is_planned_made_and_then_as_new(cli, elsewhere):
    number = len(migration_titles("postgres"))
    code, plan = told(cli, elsewhere)
    assert (code, plan["schema"], plan["newest"]) == (1, 0, number)
    assert plan["left"][0] == {"number": 1, "title": "ledger"}
    assert told(cli, elsewhere)[1]["schema"] == 0, "a plan changes nothing"
    code, made = told(cli, elsewhere, "--apply")
    assert (code, made["schema"], made["left"], made["differences"]) == (0, number, [], [])
    assert [step["number"] for step in made["done"]] == list(range(1, number + 1))
    ledger = open_ledger(elsewhere, make=False)
    assert ledger.counts() == {"review": 0, "disputed": 0}
    ledger.close()
    code, again = told(cli, elsewhere, "--apply")
    assert (code, again["done"]) == (0, [])


def test_an_older_ledger_is_brought_to_the_newest_schema_with_what_is_in_it(cli, elsewhere):
    number = len(migration_titles("postgres"))
    hands.make_older(elsewhere, SECRET.encode())
    code, plan = told(cli, elsewhere)
    assert (code, plan["schema"]) == (1, 1)
    assert [step["number"] for step in plan["left"]] == list(range(2, number + 1))
    with hands.shell(elsewhere) as db:
        db.execute("INSERT INTO heartbeat VALUES ('a worker of that time', 1.0)")
    code, made = told(cli, elsewhere, "--apply")
    assert (code, made["schema"], made["differences"]) == (0, number, [])
    ledger = open_ledger(elsewhere, make=False)
    assert ledger.last_heartbeat() == 1.0
    ledger.close()


def test_what_was_changed_by_hand_is_found(cli, elsewhere):
    cli("migrate", elsewhere, "--apply")
    with hands.shell(elsewhere) as db:
        db.execute("DROP TRIGGER event_is_written_once ON event")
        db.execute("DROP INDEX action_due")
        db.execute("ALTER TABLE action ADD COLUMN mine text")
        db.execute("ALTER TABLE event DISABLE TRIGGER event_is_kept")
    code, found = told(cli, elsewhere)
    assert code == 1
    assert found["differences"] == [
        "index action_due is missing.",
        "trigger event.event_is_written_once is missing.",
        "column action.mine is not of this release.",
        "trigger event.event_is_kept is not as in a new ledger.",
    ]
    assert "differs" in cli("migrate", elsewhere).out


def test_without_a_secret_nothing_is_made(cli, elsewhere, monkeypatch):
    monkeypatch.delenv("ASCERTAIN_SECRET")
    done = cli("migrate", elsewhere, "--apply")
    assert done.code == 5
    assert "needs a secret" in done.complained
    assert told(cli, elsewhere)[1]["schema"] == 0


def test_the_password_is_not_printed(cli, here):
    url = server.server().url(password="wrong-password")
    done = cli("migrate", url)
    assert done.code == 5
    assert "wrong-password" not in done.out + done.err


def test_a_file_too(cli, here):
    assert cli("migrate", "sqlite:///none.db").code == 5
    ledger = open_ledger("sqlite:///ledger.db")
    ledger.secret()
    ledger.close()
    code, found = told(cli, "sqlite:///ledger.db")
    assert (code, found["left"], found["differences"]) == (0, [], [])
    with sqlite3.connect("ledger.db") as db:
        db.execute("DROP TRIGGER event_is_written_once")
    db.close()
    code, found = told(cli, "sqlite:///ledger.db")
    assert (code, found["differences"]) == (1, ["trigger event_is_written_once is missing."])
