"""Who waits for another process is rung by it, and does not have to look again and again."""

import os
import threading
import time

import pytest

from ascertain.runtime import vigil
from ascertain.store.ledger import Advanced, Reserved, Take, Taken
from ascertain.store.postgres_link import PostgresLink
from ascertain.testing.conformance.samples import (
    NOW,
    confirm,
    records,
    reserve_sent,
    submit,
    wanted,
)
from ascertain.testing.world import FIVE_CONTRACTS, Behaviour, World
from tests.faults.children import Process
from tests.postgres import hands
from tests.postgres.shop import Shop

AT_ONCE_S = 2.0  # on a busy machine; looks are a minute apart in these tests
WORKS_S = 0.7


@pytest.fixture
def waiting(ledger):
    """An action for which somebody waits, and the bell."""
    record = submit(ledger, reserve_sent(wanted()), Reserved).record
    rung = threading.Event()
    hush = ledger.bell(record.id, rung.set)
    yield record, rung
    hush()


def test_whoever_moves_it_rings(ledger, open_again, waiting):
    record, rung = waiting
    submit(open_again(), confirm(record), Advanced)
    assert rung.wait(AT_ONCE_S)


def test_a_batch_rings_for_what_is_waited_for(ledger, open_again, waiting):
    record, rung = waiting
    other = open_again()
    others = records(other.submit([reserve_sent(wanted(f"i{n}")) for n in range(3)]), Reserved)
    rings = []
    other._link.ring = lambda ids: rings.append(list(ids))
    other.submit([confirm(one) for one in (*others, record)])
    assert rings == [[record.id]]
    assert not rung.is_set()


def test_where_nobody_waits_nothing_is_told(ledger, monkeypatch):
    """A transaction that notifies waits for all others that do."""

    def told(*_):
        raise AssertionError("somebody was told")

    monkeypatch.setattr(PostgresLink, "ring", told)
    for n in range(3):
        submit(
            ledger,
            confirm(submit(ledger, reserve_sent(wanted(f"i{n}")), Reserved).record),
            Advanced,
        )
    assert ledger._link.bells._thread is None, "and nobody listens"


def test_a_bell_that_is_ended_does_not_ring(ledger, waiting):
    record, rung = waiting
    other = threading.Event()
    ledger.bell(record.id, other.set)()
    submit(ledger, confirm(record), Advanced)
    assert rung.wait(AT_ONCE_S)
    assert not other.is_set()


def test_whose_bells_are_lost_is_rung_to_look(ledger, waiting):
    """And who waits again listens anew."""
    record, rung = waiting
    (db,) = ledger._link.bells.inherited
    hands.end(db.info.backend_pid)
    assert rung.wait(AT_ONCE_S)
    rung.clear()
    end = ledger.bell(record.id, rung.set)
    submit(ledger, confirm(record), Advanced)
    assert rung.wait(AT_ONCE_S)
    end()


def test_a_lease_that_is_taken_is_no_harm_to_a_mark(ledger, waiting):
    """The mark is no part of the action: it changes neither its number nor its fence."""
    record, _ = waiting
    assert ledger.get(record.id) == record
    take = Take(owner="worker", now=NOW + 60, lease_until=NOW + 90)
    assert [one.id for one in submit(ledger, take, Taken).records] == [record.id]
    assert list(ledger.verify()) == []


def test_a_child_leaves_its_parents_bells_alone(ledger, waiting):
    record, rung = waiting
    child = os.fork()
    if child == 0:
        code = 1
        try:
            ledger.get(record.id)
            ledger.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    submit(ledger, confirm(record), Advanced)
    assert rung.wait(AT_ONCE_S)


def test_who_joins_a_call_of_another_process_hears_its_end_at_once(url, monkeypatch):
    """Looks are a minute apart here, so it was not a look that found it."""
    monkeypatch.setattr(vigil, "RUNG_MOST_S", 60.0)
    monkeypatch.setattr(vigil, "POLL_MOST_S", 60.0)
    with World(dict(FIVE_CONTRACTS)) as world:
        world.script("neither", {"order": "1"}, [Behaviour("slow_deadline", seconds=WORKS_S)])

        def call():
            shop = Shop(url, world.url)
            action = shop.call("neither", "1", session=f"chat-{os.getpid()}")
            told = [str(action.state), action.how, time.time()]
            shop.close()
            return told

        Process(lambda: Shop(url, world.url).app.open() and None).end()
        first = Process(call)
        world.wait_until(lambda: world.arrivals("neither", order="1"), "it is being done")
        second = Process(call)
        (state, how, ended_at), joined = first.end().value, second.end().value
        assert [(state, how), tuple(joined[:2])] == [("confirmed", "new"), ("confirmed", "joined")]
        assert joined[2] - ended_at < AT_ONCE_S
