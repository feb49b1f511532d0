"""Files that cannot be what they should: locked, damaged, foreign, newer, read-only."""

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from ascertain.errors import (
    LedgerCorrupt,
    LedgerError,
    LedgerLocked,
    LedgerNewer,
    LedgerReadOnly,
)
from ascertain.store.ledger import Reserved
from ascertain.store.sqlite import SqliteLedger
from ascertain.testing.conformance.samples import reserve_sent, submit, wanted
from tests.store.samples import child, everything, sent, settled


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture
def filled(path):
    """A closed ledger with a few actions."""
    ledger = SqliteLedger(path)
    for n in range(8):
        settled(ledger, f"i{n}")
    ledger.close()
    return path


def refused(path, kind, **options):
    """The typed error that every use of this file gives."""
    ledger = SqliteLedger(path, **options)
    uses = (
        lambda: ledger.submit([reserve_sent(wanted("new"))]),
        lambda: ledger.get("nobody"),
        ledger.secret,
    )
    errors = []
    for use in uses:
        with pytest.raises(kind) as caught:
            use()
        assert type(caught.value) is kind
        assert str(path) in str(caught.value), "it names the file"
        assert caught.value.advice, "it says what to do next"
        errors.append(caught.value)
    ledger.close()
    return errors[0]


def test_a_locked_file_is_waited_for_and_then_named(filled):
    ledger = SqliteLedger(filled, busy_timeout_s=0.2)
    ledger.secret()
    with contextlib.closing(sqlite3.connect(filled, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerLocked, match="Another process holds"):
            ledger.submit([reserve_sent(wanted("new"))])
        assert len(everything(ledger)) == 8, "it is still read"
        other.execute("ROLLBACK")
    assert submit(ledger, reserve_sent(wanted("new")), Reserved).via == "new"
    ledger.close()


def test_a_file_locked_while_it_is_made_is_named(path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        refused(path, LedgerLocked, busy_timeout_s=0.1)


def test_a_file_of_something_else_is_refused_and_left_alone(path):
    path.write_text("meeting notes, not a ledger\n" * 400)
    before = path.read_bytes()
    refused(path, LedgerCorrupt)
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_refused_and_left_alone(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE meta (name TEXT, value TEXT)")
    before = path.read_bytes()
    error = refused(path, LedgerCorrupt)
    assert "not a ledger" in str(error)
    assert path.read_bytes() == before


def test_damaged_pages_are_named_when_they_are_met(filled):
    size = filled.stat().st_size
    with filled.open("rb+") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))
    ledger = SqliteLedger(filled)
    with pytest.raises(LedgerCorrupt, match="damaged or is not a ledger"):
        ledger.submit([reserve_sent(wanted("new"))])
    with pytest.raises(LedgerCorrupt):
        everything(ledger)
    ledger.close()


def test_a_truncated_file_is_named(filled):
    with filled.open("rb+") as file:
        file.truncate(8192)
    ledger = SqliteLedger(filled)
    with pytest.raises(LedgerCorrupt):
        everything(ledger)
    ledger.close()


def test_a_word_that_the_model_does_not_have_is_named(filled):
    shell(
        filled,
        "DROP TRIGGER action_moves_by_rule",
        "UPDATE action SET state = 'lost' WHERE intent = 'i3'",
    )
    ledger = SqliteLedger(filled)
    with pytest.raises(LedgerCorrupt, match="unknown word 'lost'"):
        everything(ledger)
    ledger.close()


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO rule VALUES ('rejected', 'confirm', 'confirmed', 0)",
        "DELETE FROM rule WHERE event = 'lose'",
        "UPDATE rule SET unless_final = 0",
    ],
)
def test_another_transition_table_is_refused(filled, change):
    shell(filled, change)
    assert "transition table" in str(refused(filled, LedgerCorrupt))


def test_a_newer_ledger_is_not_touched(filled):
    shell(filled, "UPDATE meta SET value = '99' WHERE name IN ('schema', 'oldest_writer')")
    before = filled.read_bytes()
    error = refused(filled, LedgerNewer)
    assert "schema 99" in str(error)
    assert "Upgrade" in error.advice
    assert filled.read_bytes() == before


def test_a_missing_folder_is_named(tmp_path):
    error = refused(tmp_path / "nowhere" / "ledger.db", LedgerReadOnly)
    assert "does not exist" in str(error)
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_in_the_place_of_the_file_is_named(path):
    path.mkdir()
    assert "is a folder" in str(refused(path, LedgerReadOnly))


@pytest.fixture
def public():
    """A folder that every user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="ascertain-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("exists", [False, True], ids=["no ledger yet", "a ledger"])
def test_a_read_only_folder_is_named(public, exists):
    """Asked by another user where we are root, whom no permission stops."""
    path = public / "ledger.db"
    if exists:
        ledger = SqliteLedger(path)
        sent(ledger)
        ledger.close()
        for file in public.iterdir():
            file.chmod(0o444)
    public.chmod(0o555)
    with child("child_reader", path) as process:
        said = json.loads(process.communicate(timeout=30)[0])
    assert process.returncode == 0
    assert [answer["error"] for answer in said] == ["ledger_read_only"] * 2, said
    for answer in said:
        assert str(path) in answer["message"]
        assert "write permission" in answer["next"]
    assert len(list(public.iterdir())) == (2 if exists else 0), "nothing was made or removed"


def test_an_outage_in_the_middle_of_one_by_one_is_told_to_all_that_are_left(path, monkeypatch):
    """A batch with a bad operation is run again one by one; then the ledger is locked."""
    ledger = SqliteLedger(path)
    ledger.secret()
    begin, calls = ledger._file.begin, []

    def locked_the_third_time(db, *more):
        calls.append(1)
        if len(calls) >= 3:
            raise LedgerLocked("held")
        begin(db, *more)

    monkeypatch.setattr(ledger._file, "begin", locked_the_third_time)
    bad = reserve_sent(wanted("bad", tool=None))
    good = [reserve_sent(wanted(f"good-{n}")) for n in range(3)]
    first, *others = ledger.submit([good[0], bad, *good[1:]])
    monkeypatch.undo()
    assert isinstance(first, Reserved)
    assert all(isinstance(reply, LedgerLocked) for reply in others)
    assert [record.id for record in everything(ledger)] == [good[0].record.id]
    ledger.close()


def test_an_error_without_a_name_of_its_own_is_typed_too(path):
    ledger = SqliteLedger(path)
    ledger.secret()
    shell(path, "ALTER TABLE heartbeat RENAME TO pulse")
    with pytest.raises(LedgerError, match="no such table"):
        ledger.heartbeat("worker", 1.0)
    ledger.close()


def shell(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
