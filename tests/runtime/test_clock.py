"""What time it is, where several hosts share a ledger."""

import itertools
import time

import pytest

from ascertain import Ascertain
from ascertain.runtime.clock import SharedClock
from ascertain.store.postgres import PostgresLedger
from tests.ledgers import ledger_url


def test_the_servers_time_is_asked_for_once_and_carried_on():
    asked = []

    def ask():
        asked.append(time.time() + 3600)
        return asked[-1]

    clock = SharedClock(ask)
    assert asked == [], "nothing is opened before it is needed"
    first = clock()
    assert clock() >= first == pytest.approx(asked[0], abs=1)
    assert len(asked) == 1


def test_a_first_question_that_had_to_connect_is_asked_again(monkeypatch):
    """Else half of the time that connecting took would be an error of the clock."""
    steady = itertools.chain([100.0, 101.0, 101.0, 101.001], itertools.repeat(102.0))
    monkeypatch.setattr(time, "clock_gettime", lambda _: next(steady))
    told = iter([5000.9, 5001.0005])
    assert SharedClock(lambda: next(told))() == pytest.approx(5002.0, abs=0.01)


def test_where_nobody_has_another_clock_it_is_this_hosts():
    assert SharedClock(lambda: None)() == pytest.approx(time.time(), abs=1)


@pytest.mark.every_ledger
def test_an_action_is_stored_at_the_time_of_the_ledger(tmp_path, ledger_kind, monkeypatch):
    """A host whose clock is an hour behind the server's writes the server's time."""
    behind_s = 3600.0 if ledger_kind == "postgres" else 0.0
    right = PostgresLedger.now
    monkeypatch.setattr(PostgresLedger, "now", lambda ledger: right(ledger) + behind_s)
    with Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none") as app:

        @app.tool(identity=["order_id"])
        def create_ticket(order_id: str) -> dict:
            return {"id": "T900"}

        with app.session("chat-1", principal="u7"):
            ticket = create_ticket(order_id="A123")
        assert ticket.record.created_at == pytest.approx(time.time() + behind_s, abs=30)


@pytest.mark.every_ledger
def test_a_ledger_says_whether_it_has_a_clock_of_its_own(tmp_path, ledger_kind):
    with Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none") as app:
        told = app.ledger.now()
    if ledger_kind == "sqlite":
        assert told is None
    else:
        assert told == pytest.approx(time.time(), abs=30)
