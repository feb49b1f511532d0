"""P03, S05, S10, S14 on chains with a direction: what reports say is what the chain says."""

from __future__ import annotations

import pytest

from ascertain import State
from ascertain.cli import main
from ascertain.errors import ActionNotFound
from ascertain.report.cases import cases
from ascertain.report.sli import Grade, grade
from ascertain.report.timeline import timeline_of
from ascertain.report.trace import trace
from ascertain.report.wishes import find_wish, of_session, recent
from ascertain.rules.project import WorkflowState
from tests.requirements.order import settle, states

pytestmark = pytest.mark.every_ledger


def test_req_P03_a_report_tells_the_state_that_the_chain_tells(shop, world, order):
    """Going back and gone back too; what reverses a step is no part of the wish."""
    world.script("payment", {"order": order}, ["error_body_2xx"])
    wish = shop.fulfil(order)
    ledger = shop.app.ledger
    assert find_wish(ledger, wish.id, float("inf")).state is wish.state
    settle(shop.app, lambda: states(wish)["reserve_stock"] is State.COMPENSATED)
    told = find_wish(ledger, wish.id, float("inf"))
    assert told.state is wish.state
    assert told.as_dict()["direction"] == "backward"
    assert told.name == wish.name
    assert {m.record.tool for m in told.counting} < {m.record.tool for m in told.members}
    now = shop.app.hands.clock()
    assert grade(told, now) is Grade.REFUSED
    (listed,) = recent(ledger, now - 3600).wishes
    (conversed,) = of_session(ledger, "shop")
    assert listed.id == conversed.id == wish.id
    drawn = timeline_of(ledger, told, now, width=20)
    assert len(drawn.bars) == len(told.members)
    assert len(trace(ledger, told, now)) == len(told.members)


def test_req_P14_a_case_that_could_not_be_undone_is_shown_and_decided_by_the_command(
    shop, world, order, tmp_path, capsys
):
    """The permitted verdict, the undo's error, the snapshot; decided, nothing waits any more."""
    world.script("shipment", {"order": order}, ["error_body_2xx"])
    world.script("undo-payment", {"order": order}, ["error_body_2xx"])
    wish = shop.fulfil(order)
    settle(shop.app, lambda: wish.state is WorkflowState.NEEDS_REVIEW)
    (case,) = cases(shop.app.ledger, shop.app.hands.clock())
    assert (case.record.tool, case.verdicts) == ("charge_card", ("undone", "kept"))
    asked = [case.record.id, "--ledger", shop.app.url]
    assert main(["review", "show", *asked]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "verdicts --undone --evidence TEXT, --kept --evidence TEXT" in said
    assert "REFUSED_BY_POLICY" in said
    assert main(["review", "verdict", *asked, "--kept"]) == 2
    assert main(["review", "verdict", *asked, "--kept", "--evidence", "the customer keeps it"]) == 0
    assert list(cases(shop.app.ledger, shop.app.hands.clock())) == []


def test_req_S05_a_chain_is_found_by_its_id_however_old(shop, order):
    """By its own index: no look at what was done since."""
    wish = shop.fulfil(order)
    assert find_wish(shop.app.ledger, wish.id, float("inf")).state is wish.state
    with pytest.raises(ActionNotFound):
        find_wish(shop.app.ledger, "no such chain", float("inf"))
