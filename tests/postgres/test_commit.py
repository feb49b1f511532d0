"""A commit whose own outcome is in doubt, a connection that is lost, a fork."""

import os
import threading

import psycopg
import pytest

from ascertain.errors import LedgerError, LedgerUnreachable
from ascertain.store import postgres_session, postgres_wait
from ascertain.store.ledger import Advance, Advanced, Filter, Reserved, Take, Taken
from ascertain.store.postgres_errors import is_lost
from ascertain.testing.conformance.samples import (
    NOW,
    confirm,
    lose,
    must,
    records,
    reserve_sent,
    submit,
    wanted,
)
from tests.postgres import hands


def everything(ledger):
    return ledger.find(Filter(limit=100_000))


def test_a_commit_that_was_done_and_says_otherwise_is_read_again(ledger, monkeypatch):
    hands.cut(monkeypatch, "do", after_it=True)
    calls = [reserve_sent(wanted(f"i{n}")) for n in range(3)]
    replies = [must(reply, Reserved) for reply in ledger.submit(calls)]
    assert [reply.via for reply in replies] == ["new"] * 3, "they are not told of themselves"
    assert len(everything(ledger)) == 3
    assert list(ledger.verify()) == []


def test_a_commit_that_was_not_done_is_done_on_another_connection(ledger, monkeypatch):
    hands.cut(monkeypatch, "do", after_it=False)
    calls = [reserve_sent(wanted(f"i{n}")) for n in range(3)]
    assert [reply.via for reply in map(must, ledger.submit(calls), [Reserved] * 3)] == ["new"] * 3
    assert len(everything(ledger)) == 3


@pytest.mark.parametrize("after_it", [True, False])
def test_a_lone_write_that_is_in_doubt_is_written_once(ledger, monkeypatch, after_it):
    before = submit(ledger, reserve_sent(wanted()), Reserved).record
    hands.cut(monkeypatch, "together", after_it=after_it)
    done = submit(ledger, confirm(before), Advanced).record
    assert ledger.get(before.id) == done
    assert [event.event for event in ledger.events(before.id)] == ["prepare", "send", "confirm"]
    hands.cut(monkeypatch, "together", after_it=after_it)
    assert submit(ledger, reserve_sent(wanted("other")), Reserved).via == "new"
    assert list(ledger.verify()) == []


@pytest.mark.parametrize("after_it", [True, False])
def test_a_batch_that_is_in_doubt_is_written_once(ledger, monkeypatch, after_it):
    """It is one trip. Who met what was there is told of that, and no success that it had not."""
    there = submit(ledger, reserve_sent(wanted("there")), Reserved).record
    hands.cut(monkeypatch, "together", after_it=after_it)
    calls = [reserve_sent(wanted(name)) for name in ("one", "there", "two")]
    one, met, two = [must(reply, Reserved) for reply in ledger.submit(calls)]
    assert [reply.via for reply in (one, met, two)] == ["new", "intent", "new"]
    assert met.record == there
    assert {record.id for record in everything(ledger)} == {
        there.id, one.record.id, two.record.id,
    }  # fmt: skip
    assert list(ledger.verify()) == []


def test_what_is_written_stays_told_where_the_rest_cannot_be(ledger, monkeypatch):
    """The server goes away between the trip and the transaction of who met what was there."""
    submit(ledger, reserve_sent(wanted("there")), Reserved)
    right, began = type(ledger)._begin, []

    def once(self, db, meanwhile=None):
        began.append(db)
        if len(began) == 2:
            raise LedgerUnreachable("gone")
        right(self, db, meanwhile)

    monkeypatch.setattr(type(ledger), "_begin", once)
    one, met = ledger.submit([reserve_sent(wanted("one")), reserve_sent(wanted("there"))])
    monkeypatch.undo()
    assert must(one, Reserved).record == ledger.get(one.record.id)
    assert isinstance(met, LedgerUnreachable)


def test_a_lease_that_was_taken_in_a_doubtful_commit_is_known_by_its_row(ledger, monkeypatch):
    before = submit(ledger, reserve_sent(wanted()), Reserved).record
    hands.cut(monkeypatch, "do", after_it=True)
    take = Take(owner="worker", now=NOW + 60, lease_until=NOW + 90)
    (record,) = submit(ledger, take, Taken).records
    assert ledger.get(before.id) == record
    hands.cut(monkeypatch, "together", after_it=True)
    held = Advance(before=record, after=record._replace(due_at=None), drafts=())
    assert submit(ledger, held, Advanced).record == ledger.get(before.id)


def test_what_our_side_lost_is_ended_before_it_is_looked_for(ledger, monkeypatch):
    """The server's side of a lost connection may still hold everything, and even commit later."""
    session = hands.writer(ledger)
    before = submit(ledger, reserve_sent(wanted()), Reserved).record
    left = session.ready()
    with session.flowing():
        session.do("BEGIN")
        session.run("hold_all", f'["{before.id}"]', "[]")
    session._db = None  # as if the network between us were gone: no farewell reaches the server
    assert submit(ledger, lose(before), Advanced).record.state == "unknown"
    with pytest.raises(psycopg.OperationalError):
        left.execute("COMMIT")
    left.close()


def test_ended_backends_are_replaced_unnoticed(ledger):
    before = submit(ledger, reserve_sent(wanted()), Reserved).record
    hands.end(hands.backend_of(hands.writer(ledger)))
    for reader in ledger._link._idle:
        hands.end(hands.backend_of(reader))
    assert ledger.get(before.id) == before
    assert submit(ledger, confirm(before), Advanced).record == ledger.get(before.id)
    assert ledger.contexts.memory("", "nobody").session is None


def test_threads_at_work_live_through_backends_that_are_ended(ledger):
    """Each write is done once and told as it is, while the writer is ended again and again."""
    stop = threading.Event()

    def disturb():
        while not stop.wait(0.02):
            db = hands.writer(ledger)._db
            if db is not None and not db.closed:
                hands.end(db.info.backend_pid)

    disturber = threading.Thread(target=disturb)
    disturber.start()
    try:
        for n in range(60):
            calls = [reserve_sent(wanted(f"i{n}-{m}")) for m in range(3)]
            sent = records(ledger.submit(calls), Reserved)
            records(ledger.submit([confirm(one) for one in sent]), Advanced)
    finally:
        stop.set()
        disturber.join()
    assert [record.state for record in everything(ledger)] == ["confirmed"] * 180
    assert list(ledger.verify()) == []


def test_statements_of_tables_as_they_were_are_prepared_anew(ledger, url):
    """A migration beside us may change what a statement that we have prepared gives."""
    sent = [submit(ledger, reserve_sent(wanted(f"i{n}")), Reserved).record for n in range(6)]
    records(ledger.submit([confirm(one) for one in sent[:2]]), Advanced)
    with hands.shell(url) as db:
        db.execute("ALTER TABLE action ALTER COLUMN waited TYPE bigint")
    pid = hands.backend_of(hands.writer(ledger))
    records(ledger.submit([confirm(one) for one in sent[2:4]]), Advanced)
    anew = hands.backend_of(hands.writer(ledger))
    assert anew != pid, "it goes on with what it has prepared"
    records(ledger.submit([confirm(one) for one in sent[4:]]), Advanced)
    assert hands.backend_of(hands.writer(ledger)) == anew
    assert [record.state for record in everything(ledger)] == ["confirmed"] * 6
    assert list(ledger.verify()) == []


def test_an_interrupt_leaves_no_transaction_open(ledger, open_again, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ascertain.store.postgres_batch.PostgresBatch.flush", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ledger.submit([reserve_sent(wanted()), reserve_sent(wanted("other"))])
    monkeypatch.undo()
    assert everything(ledger) == []
    other = open_again(wait_s=0.5)  # it is not kept waiting
    assert submit(other, reserve_sent(wanted()), Reserved).via == "new"


def test_a_child_does_not_touch_what_it_has_inherited(ledger):
    """It makes connections of its own, and its end is not the end of its parent's."""
    before = submit(ledger, reserve_sent(wanted()), Reserved).record
    pid, reader = hands.backend_of(hands.writer(ledger)), ledger.get(before.id)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            submit(ledger, reserve_sent(wanted("child")), Reserved)
            assert hands.backend_of(hands.writer(ledger)) != pid
            ledger.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert hands.backend_of(hands.writer(ledger)) == pid
    assert ledger.get(before.id) == reader
    assert len(everything(ledger)) == 2


def test_an_answer_that_does_not_come_is_not_waited_for_for_ever(ledger, monkeypatch):
    """What it did is not known; so the connection is given up, and looked at from another one."""
    before = submit(ledger, reserve_sent(wanted()), Reserved).record
    session = hands.writer(ledger)
    pid = hands.backend_of(session)
    monkeypatch.setattr(postgres_wait, "ANSWER_S", 0.2)
    with pytest.raises(psycopg.OperationalError, match="no answer") as given_up:
        session.do("SELECT pg_sleep(10)")
    monkeypatch.undo()
    assert is_lost(given_up.value)
    assert submit(ledger, confirm(before), Advanced).record.state == "confirmed"
    assert hands.backend_of(session) != pid


def test_a_server_that_does_not_come_back_is_told(ledger, monkeypatch):
    """Nothing was written; whoever asks again later finds what there is."""
    before = submit(ledger, reserve_sent(wanted()), Reserved).record
    ledger._link._writer._manners = ledger._link._writer._manners._replace(wait_s=0.1)

    def refused(*_, **__):
        raise psycopg.OperationalError("connection refused")

    hands.end(hands.backend_of(hands.writer(ledger)))
    monkeypatch.setattr(postgres_session, "connect", refused)
    with pytest.raises(LedgerUnreachable, match="cannot be reached"):
        ledger.submit([confirm(before)])
    monkeypatch.undo()
    assert submit(ledger, confirm(before), Advanced).record.state == "confirmed"
    assert issubclass(LedgerUnreachable, LedgerError)
