"""Noticing another history: by the server's word, and by what this process was told."""

import logging

from ascertain.model.epoch import COMMIT_MISSING, EPOCH_MISSING, FIRST, SYSTEM, TIMELINE
from ascertain.store.epochs import Acknowledged
from ascertain.store.ledger import Advanced, Blocked, Lost, Reserved
from ascertain.testing.conformance.samples import confirm, must, reserve_sent, submit, wanted
from tests.postgres import hands


def reconnect(ledger):
    """What a connection that was lost leads to."""
    hands.end(hands.backend_of(hands.writer(ledger)))
    hands.writer(ledger).ready()


def whys(ledger):
    return [epoch.why for epoch in ledger.epochs()]


def test_a_server_that_was_only_away_is_the_same_history(ledger, open_again):
    submit(ledger, reserve_sent(wanted()), Reserved)
    first = ledger.epoch
    reconnect(ledger)
    assert ledger.epoch == first
    assert open_again().epoch == first
    assert (first.n, first.why, first.may_lack) == (1, FIRST, False)


def test_another_timeline_or_system_begins_an_epoch_once(ledger, url, open_again):
    """Whoever notices first opens it; all others go on in it."""
    other = open_again()
    submit(other, reserve_sent(wanted()), Reserved)
    for change, why in (("timeline = 99", TIMELINE), ("system = 'another one'", SYSTEM)):
        with hands.shell(url) as db:
            db.execute(f"UPDATE epoch SET {change} WHERE n = (SELECT max(n) FROM epoch)")
        reconnect(ledger)
        reconnect(other)
        assert ledger.epoch == other.epoch == ledger.epochs()[0]
        assert (ledger.epoch.why, ledger.epoch.may_lack) == (why, True)
    assert whys(ledger) == [SYSTEM, TIMELINE, FIRST]


def test_a_commit_that_is_not_there_any_more_begins_an_epoch(ledger, open_again, caplog):
    """As after an older copy of the disk: the timeline is the same."""
    other = open_again()
    submit(other, reserve_sent(wanted()), Reserved)
    other._link.acknowledged = Acknowledged("an action that is not there", 1)
    submit(ledger, reserve_sent(wanted("another")), Reserved)
    with caplog.at_level(logging.WARNING, logger="ascertain"):
        reconnect(other)
    assert (other.epoch.why, other.epoch.missing) == (COMMIT_MISSING, "an action that is not there")
    assert '"event": "ledger_epoch"' in caplog.text
    ledger._link.acknowledged = Acknowledged("one more", 1)
    reconnect(ledger)
    assert ledger.epoch == other.epoch, "it was noticed already"


def test_an_epoch_that_is_not_there_any_more_is_another_history(ledger, url):
    """As where this process is led back to a primary that had been replaced."""
    submit(ledger, reserve_sent(wanted()), Reserved)
    with hands.shell(url) as db:
        db.execute("UPDATE epoch SET timeline = 99")
    reconnect(ledger)
    with hands.shell(url) as db:
        db.execute("DELETE FROM epoch WHERE n = 2")
        db.execute("UPDATE epoch SET timeline = 1")
    reconnect(ledger)
    assert whys(ledger) == [EPOCH_MISSING, FIRST]


def test_what_others_miss_is_the_proof_that_something_is_lost(ledger, url, open_again):
    other = open_again()
    submit(other, reserve_sent(wanted()), Reserved)
    other._link.acknowledged = Acknowledged("theirs", 1)
    with hands.shell(url) as db:
        db.execute("UPDATE epoch SET timeline = 99")
    reconnect(ledger)
    assert ledger.epoch.missing == ""
    reconnect(other)
    assert ledger.epochs()[0].missing == other.epoch.missing == "theirs"


def test_what_is_deleted_after_it_was_closed_is_not_missing(ledger):
    record = submit(ledger, reserve_sent(wanted()), Reserved).record
    done = submit(ledger, confirm(record), Advanced).record
    assert ledger.bury(closed_before=done.updated_at + 1) == 1
    reconnect(ledger)
    assert whys(ledger) == [FIRST]


def test_a_send_of_another_epoch_is_not_written(ledger):
    """Neither a new action nor a further attempt; others in the batch are."""
    now = ledger.epoch.id
    before = submit(ledger, reserve_sent(wanted("known")), Reserved).record
    new = reserve_sent(wanted("new"))
    replies = ledger.submit([
        new._replace(epoch="another"), confirm(before)._replace(epoch="another"),
        reserve_sent(wanted("fine"))._replace(epoch=now),
    ])  # fmt: skip
    assert must(replies[0], Blocked).why == must(replies[1], Lost).blocked == "another_epoch"
    assert must(replies[2], Reserved).via == "new"
    assert ledger.get(new.record.id) is None
    assert ledger.get(before.id) == before
    assert submit(ledger, new._replace(epoch="another"), Blocked).why == "another_epoch"


def test_contracts_are_stored_again_in_a_history_that_may_lack_them(ledger, url):
    call = reserve_sent(wanted())
    submit(ledger, call, Reserved)
    with hands.shell(url) as db:
        db.execute("DELETE FROM contract")
    reconnect(ledger)
    submit(ledger, reserve_sent(wanted("another")), Reserved)
    assert ledger.contract(call.record.contract) == call.contract_json


def test_what_was_projected_of_a_session_before_the_epoch_is_served_no_more(ledger, url):
    """A version that is reached a second time is not the one that a cache knows."""
    with hands.shell(url) as db:
        db.execute("INSERT INTO session VALUES ('', 'chat', 'u7', 4, '00a', 1, 1, 1e12, NULL, 0)")
    assert ledger.contexts.session("", "chat").epoch == "00a"
    with hands.shell(url) as db:
        db.execute("UPDATE epoch SET timeline = 99")
    reconnect(ledger)
    assert ledger.contexts.session("", "chat").epoch == ledger.epoch.id


def test_a_write_that_stands_on_another_history_is_not_written(ledger, url):
    """There the action had as many events and leases, and they were others."""
    before = submit(ledger, reserve_sent(wanted()), Reserved).record
    with hands.shell(url) as db:
        db.execute("UPDATE action SET head = decode('00', 'hex') WHERE id = %s", [before.id])
    for operation in (confirm(before), confirm(before)._replace(beside=())):
        now = submit(ledger, operation, Lost).record
        assert (now.n, now.fence) == (before.n, before.fence)
        assert now.head != before.head
    assert ledger.get(before.id).state == "sent"
