"""S: what can be had of the third document before sessions carry context."""

from __future__ import annotations

import pytest

from ascertain import Ascertain
from ascertain.report.sli import windows
from ascertain.report.trace import QUESTIONS, trace
from ascertain.report.wishes import find_wish, recent
from ascertain.store.ledger import Filter
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger


def test_req_S10_sessions_that_completed_their_chained_calls_of_all_that_had_any(desk, order):
    """Three sessions whose calls came to their end, one that waits for a person."""
    create, blind = desk.tool(), desk.tool("blind", name="send_mail")
    now = desk.app.hands.clock

    def talk(name, *calls):
        with desk.session(name):
            for number, call in enumerate(calls):
                call(order_id=f"{order}-{name}-{number}")

    for name in "abc":
        talk(name, create, create)
    talk("single", create)
    desk.world.script("blind", {"order": f"{order}-d-1"}, ["reply_lost"])
    talk("d", create, blind)
    desk.app.recover()
    (hour,) = windows(recent(desk.app.ledger, now() - 3600), [("1h", 3600.0)], now())
    assert (hour.sessions.completed, hour.sessions.broken) == (3, 1)
    assert hour.sessions.sli == 0.75
    assert hour.sessions.burn_rate(0.99) == pytest.approx(25)
    assert hour.broken == ("d",)


def test_req_S14_five_questions_to_a_turn_are_answered_from_the_ledger(desk, world, order):
    """Input, context, arguments, what was overwritten, when it was written back."""
    world.script("blind", {"order": order}, ["reply_lost"])
    create, blind = desk.tool(), desk.tool("blind", name="send_mail")
    with desk.session(turn="t1"):
        done = create(order_id=order)
        blind(order_id=order)
    now = desk.app.hands.clock()
    wish = find_wish(desk.app.ledger, "chat-42/t1", now - 60)
    first, second = trace(desk.app.ledger, wish, now)
    assert [answer.about for answer in first.answers] == list(QUESTIONS)
    assert [answer.fine for answer in first.answers] == [True] * 5
    confirm = desk.app.ledger.events(done.id)[-1]
    assert first.written_at == confirm.at
    assert second.written_at is None
    assert second.answers[-1].fine is None


def test_req_S17_observing_records_and_judges_and_changes_nothing(desk, world, order):
    """The function returns and raises what it always did; repeats are let through and recorded."""
    world.script("blind", {"order": order}, ["reply_lost", "ok"])

    @desk.app.observe(identity=["order_id"])
    def create_ticket(order_id: str) -> str:
        reply = desk.client.post("/blind", json={"order": order_id})
        return reply.raise_for_status().json()["ref"]

    with pytest.raises(Exception, match=r"(?i)disconnected|reset"):
        create_ticket(order_id=order)
    assert create_ticket(order_id=order).startswith("T9")
    assert world.count("blind", order=order) == 2, "nothing was prevented"
    states = [str(record.state) for record in desk.app.ledger.find(Filter())]
    assert sorted(states) == ["confirmed", "unknown"]
    assert {record.mode for record in desk.app.ledger.find(Filter())} == {"observe"}
    assert desk.app.recover() == 0, "and nobody acts on what was only observed"


def test_req_S17_a_whole_app_can_observe(world, tmp_path, order):
    """mode="observe": guarded tools record, and let everything through."""
    app = Ascertain(ledger_url(f"{tmp_path}/ledger.db"), mode="observe")
    runs = []

    @app.tool(identity=["order_id"])
    def create_ticket(order_id: str) -> dict:
        runs.append(order_id)
        return {"id": "T1"}

    with app.session("s", principal="u7"):
        for _ in range(2):
            assert create_ticket(order_id=order).result == {"id": "T1"}
    assert len(runs) == 2
    app.close()


def test_req_S17_observed_code_runs_even_if_the_ledger_cannot(tmp_path):
    """A pilot never breaks what it watches."""
    app = Ascertain(ledger_url(f"{tmp_path}/missing/folder/ledger.db"))

    @app.observe()
    def create_ticket(order_id: str) -> str:
        return f"T-{order_id}"

    assert create_ticket(order_id="A1") == "T-A1"
    app.close()
