"""A COMMIT whose own outcome is in doubt, an interrupt, a fork that came at a bad moment."""

import sqlite3

import pytest

from ascertain.errors import LedgerError
from ascertain.store.ledger import Advance, Advanced, Reserved, Take, Taken
from ascertain.store.sqlite import SqliteLedger
from ascertain.testing.conformance.samples import NOW, confirm, must, reserve_sent, submit, wanted
from tests.store.samples import everything, sent, settled, writer


def broken_commit(ledger, monkeypatch, *, after_it):
    """Let the next COMMIT raise, before or after it has been done."""
    commit = SqliteLedger._commit

    def once(self, db):
        monkeypatch.undo()
        if after_it:
            commit(self, db)
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(SqliteLedger, "_commit", once)


def test_a_commit_that_was_done_and_says_otherwise_is_read_again(ledger, monkeypatch):
    broken_commit(ledger, monkeypatch, after_it=True)
    calls = [reserve_sent(wanted(f"i{n}")) for n in range(3)]
    replies = [must(reply, Reserved) for reply in ledger.submit(calls)]
    assert [reply.via for reply in replies] == ["new"] * 3, "they are not told of themselves"
    assert len(everything(ledger)) == 3
    assert list(ledger.verify()) == []


def test_a_commit_that_was_not_done_is_done_one_by_one(ledger, monkeypatch):
    broken_commit(ledger, monkeypatch, after_it=False)
    calls = [reserve_sent(wanted(f"i{n}")) for n in range(3)]
    replies = [must(reply, Reserved) for reply in ledger.submit(calls)]
    assert [reply.via for reply in replies] == ["new"] * 3
    assert len(everything(ledger)) == 3


def test_a_lone_commit_that_was_not_done_is_an_error(ledger, monkeypatch):
    before = sent(ledger)
    broken_commit(ledger, monkeypatch, after_it=False)
    submit(ledger, confirm(before), LedgerError)
    assert ledger.get(before.id) == before
    assert submit(ledger, confirm(before), Advanced).record.n == 3


def test_a_lease_that_was_taken_in_a_doubtful_commit_is_known_by_its_row(ledger, monkeypatch):
    before = sent(ledger)
    broken_commit(ledger, monkeypatch, after_it=True)
    take = Take(owner="worker", now=NOW + 60, lease_until=NOW + 90)
    (record,) = submit(ledger, take, Taken).records
    assert ledger.get(before.id) == record
    broken_commit(ledger, monkeypatch, after_it=True)
    held = Advance(before=record, after=record._replace(due_at=None), drafts=())
    assert submit(ledger, held, Advanced).record == ledger.get(before.id)


def test_a_doubtful_commit_that_changed_nothing_is_done_again(ledger, monkeypatch):
    before = settled(ledger)
    broken_commit(ledger, monkeypatch, after_it=True)
    replies = ledger.submit([reserve_sent(wanted()), Take(owner="w", now=NOW, lease_until=NOW)])
    assert must(replies[0], Reserved).record == before
    assert must(replies[1], Taken).records == ()


def test_an_interrupt_leaves_no_transaction_open(ledger, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ascertain.store.sqlite.SqliteBatch.flush", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ledger.submit([reserve_sent(wanted())])
    monkeypatch.undo()
    assert everything(ledger) == []
    other = SqliteLedger(ledger.path, busy_timeout_s=0.1)  # it is not kept waiting
    assert submit(other, reserve_sent(wanted()), Reserved).via == "new"
    other.close()


def test_a_transaction_that_was_left_open_is_undone(ledger):
    with writer(ledger) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO heartbeat (owner, at) VALUES ('x', 1.0)")
    assert submit(ledger, reserve_sent(wanted()), Reserved).via == "new"
    assert ledger.last_heartbeat() is None


def test_a_fork_around_our_back_is_refused_not_risked(ledger):
    """A child that inherits an open file must not go on as if the locks were its own."""
    settled(ledger)
    ledger._file.after_fork_in_child()  # as a fork that Python knew nothing of
    with pytest.raises(LedgerError, match="forked while"):
        ledger.get("nobody")
    with pytest.raises(LedgerError, match="forked while"):
        ledger.submit([reserve_sent(wanted())])


def test_readers_are_bounded_and_given_back(ledger):
    record = settled(ledger)
    for _ in range(50):
        assert ledger.get(record.id) == record
    assert len(ledger._file._idle) == 1
    assert ledger._file._lent == 0
