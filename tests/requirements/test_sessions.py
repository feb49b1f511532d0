"""S: what can be had of the third document before sessions carry context."""

from __future__ import annotations

import pytest

from ascertain import Ascertain
from ascertain.store.ledger import Filter


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
    app = Ascertain(f"sqlite:///{tmp_path}/ledger.db", mode="observe")
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
    app = Ascertain(f"sqlite:///{tmp_path}/missing/folder/ledger.db")

    @app.observe()
    def create_ticket(order_id: str) -> str:
        return f"T-{order_id}"

    assert create_ticket(order_id="A1") == "T-A1"
    app.close()
