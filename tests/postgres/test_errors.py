"""What a person is told when the database is not as it should be: the cause and the next step."""

import subprocess
import sys

import psycopg
import pytest
from psycopg import sql

from ascertain import Ascertain
from ascertain.errors import (
    IllegalTransition,
    LedgerCorrupt,
    LedgerDenied,
    LedgerError,
    LedgerFull,
    LedgerLocked,
    LedgerMissing,
    LedgerNewer,
    LedgerReadOnly,
    LedgerUnreachable,
)
from ascertain.model.tables import State
from ascertain.store.ledger import Advance, Advanced, Reserved
from ascertain.store.open import open_ledger, same_ledger, shown_url
from ascertain.store.postgres import PostgresLedger
from ascertain.store.postgres_errors import ledger_error
from ascertain.store.postgres_place import CAREFUL, place_of
from ascertain.store.postgres_schema import newest
from ascertain.testing.conformance.samples import confirm, reserve_sent, submit, wanted
from tests.postgres import hands, server
from tests.postgres.conftest import SECRET


def refused(url, kind, match, **options):
    """Opening this must fail like that, without the password; gives the error."""
    ledger = PostgresLedger(url, **{"secret": SECRET, **options})
    with pytest.raises(kind, match=match) as caught:
        ledger.secret()
    said = f"{caught.value} {caught.value.advice} {ledger.url}"
    assert "wrong-password" not in said
    assert server.PASSWORD not in said
    assert server.PASSWORD.replace(" ", "%20") not in said
    return caught.value


def own_server():
    """The tests' own server, whatever they run against: these look at its doors."""
    return server.server()


def test_a_wrong_password():
    url = own_server().url(password="wrong-password")
    error = refused(url, LedgerDenied, "password authentication failed")
    assert "PGPASSWORD" in error.advice


def test_an_unknown_user():
    refused(own_server().url(user="nobody_there"), LedgerDenied, "does not exist")


def test_a_database_that_is_not_there():
    error = refused(own_server().url("no_such_database"), LedgerUnreachable, "no database")
    assert "CREATE DATABASE" in error.advice


@pytest.mark.parametrize(
    "url",
    ["postgresql://u:wrong-password@127.0.0.1:1/x", "postgresql://u@no-such-host.invalid/x"],
)
def test_a_server_that_is_not_there(url):
    refused(url, LedgerUnreachable, "cannot be reached")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:wrong-password@host:port/x",
        "postgresql://u:wrong-password@[::1/x",
        "postgresql://u:wrong-password@host/x?no_such_option=1",
        "postgresql://u:wrong-password@host/x?schema=Not-A-Name",
    ],
)
def test_a_url_that_cannot_be_read(url):
    with pytest.raises(LedgerError, match="URL") as caught:
        open_ledger(url)
    assert "wrong-password" not in str(caught.value)
    assert "postgresql://" in caught.value.advice


def test_the_password_is_never_shown():
    url = "postgresql://u:wrong-password@db.example:5433/shop?sslmode=require"
    assert shown_url(url) == "postgresql://u@db.example:5433/shop?schema=ascertain&sslmode=require"
    assert shown_url(shown_url(url)) == shown_url(url)
    app = Ascertain(url, secret=SECRET, worker="none")
    assert "wrong-password" not in f"{app!r} {app.url} {app.ledger.url}"
    assert same_ledger(url, app.url)
    assert not same_ledger(url, "sqlite:///ledger.db")
    assert not same_ledger(url, url.replace("shop", "shop2"))


def test_careful_settings_hold_unless_the_url_says_otherwise():
    options = place_of("postgresql://h/d?connect_timeout=60&application_name=mine").options
    assert (options["connect_timeout"], options["application_name"]) == ("60", "mine")
    assert options["tcp_user_timeout"] == CAREFUL["tcp_user_timeout"]


def test_a_new_ledger_needs_a_secret(url, monkeypatch):
    monkeypatch.delenv("ASCERTAIN_SECRET", raising=False)
    error = refused(url, LedgerError, "needs a secret", secret=None)
    assert "ASCERTAIN_SECRET" in error.advice
    with hands.shell(url) as db:
        assert db.execute("SELECT to_regnamespace(%s)", [place_of(url).schema]).fetchone() == (
            None,
        )


def test_a_ledger_that_is_not_there_is_not_made_by_those_who_only_read(url):
    refused(url, LedgerMissing, "no ledger at", make=False)


def test_a_newer_ledger_is_left_alone(ledger, url):
    with hands.shell(url) as db:
        db.execute("UPDATE meta SET value = '999' WHERE name IN ('schema', 'oldest_writer')")
    refused(url, LedgerNewer, "has schema 999")


def test_an_older_ledger_is_not_migrated_by_whoever_comes(url):
    hands.make_older(url, SECRET)
    error = refused(url, LedgerError, f"has schema 1; this release works with {newest()}")
    assert "ascertain migrate" in error.advice


def test_another_transition_table_is_refused(ledger, url):
    with hands.shell(url) as db:
        db.execute("DELETE FROM rule WHERE event = 'confirm'")
    refused(url, LedgerCorrupt, "transition table")


def test_a_schema_with_other_tables_is_left_alone(url):
    with hands.shell(url) as db:
        schema = sql.Identifier(place_of(url).schema)
        db.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
        db.execute("CREATE TABLE action (mine text)")
    refused(url, LedgerCorrupt, "holds tables, but no ledger")
    with hands.shell(url) as db:
        db.execute("SELECT mine FROM action")


def test_a_server_that_is_set_to_read_only_is_told(ledger):
    before = submit(ledger, reserve_sent(wanted()), Reserved).record
    hands.writer(ledger).script("SET default_transaction_read_only = on")
    error = submit(ledger, confirm(before), LedgerReadOnly)
    assert "primary" in error.advice
    hands.writer(ledger).script("SET default_transaction_read_only = off")
    submit(ledger, confirm(before), Advanced)


def test_a_user_without_rights_is_told_which_page_helps(ledger, url):
    role = f"r{place_of(url).schema}"
    with hands.shell(url) as db:
        db.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        schema = sql.Identifier(place_of(url).schema)
        db.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, sql.Identifier(role)))
    error = refused(url.replace(f"{server.OWNER}@", f"{role}@"), LedgerDenied, "permission denied")
    assert "GRANT" in error.advice


def test_what_another_session_holds_is_waited_for_and_then_told(ledger, url, open_again):
    before = submit(ledger, reserve_sent(wanted()), Reserved).record
    other = open_again(wait_s=0.2)
    with hands.shell(url) as db:
        db.execute("BEGIN")
        db.execute("SELECT id FROM action FOR UPDATE")
        error = submit(other, confirm(before), LedgerLocked)
        assert "pg_stat_activity" in error.advice
        db.execute("ROLLBACK")
    submit(other, confirm(before), Advanced)


def test_the_database_refuses_what_the_table_does_not_have(ledger, monkeypatch):
    """Even if our own check were gone."""
    before = submit(ledger, reserve_sent(wanted()), Reserved).record
    done = submit(ledger, confirm(before), Advanced).record
    monkeypatch.setattr("ascertain.store.batch.check_moves", lambda *_: None)
    back = Advance(before=done, after=done._replace(state=State.PREPARED), drafts=())
    submit(ledger, back, IllegalTransition)
    assert ledger.get(done.id) == done


@pytest.mark.parametrize(
    "state,kind",
    [
        ("53100", LedgerFull), ("25006", LedgerReadOnly), ("42501", LedgerDenied),
        ("55P03", LedgerLocked), ("57014", LedgerLocked), ("40P01", LedgerLocked),
        ("42P01", LedgerCorrupt), ("XX001", LedgerCorrupt), ("57P01", LedgerUnreachable),
        ("08006", LedgerUnreachable), ("22003", LedgerError),
    ],
)  # fmt: skip
def test_every_code_has_its_kind(state, kind):
    error = ledger_error(psycopg.errors.lookup(state)("the server's words"), "postgresql://x")
    assert type(error) is kind
    assert "the server's words" in str(error)
    assert error.__cause__ is not None


def test_without_the_driver_the_extra_is_named():
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from ascertain import Ascertain\n"
        "try: Ascertain('postgresql://h/d', secret=b'x' * 32)\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "LedgerError" in done.stdout, done.stderr
    assert "ascertain[postgres]" in done.stdout
