"""U17, where actions belong to chains: what is removed is never new, and never undone blindly."""

from __future__ import annotations

import pytest

from ascertain import State, Step
from ascertain.model.chain import Direction
from ascertain.store.archive import Archive, verified
from tests.ledgers import by_hand
from tests.requirements.order import PROVIDERS, settle, states

pytestmark = pytest.mark.every_ledger

NO = ["error_body_2xx"]


def bury(shop):
    return shop.app.ledger.bury(closed_before=shop.app.hands.clock() + 1)


def sends(world, order):
    return sum(
        len(world.arrivals(part, method="POST", order=order)) for part in PROVIDERS
    )  # fmt: skip


def test_req_U17_an_old_chain_that_is_run_again_finds_its_tombstones_and_sends_nothing(
    shop, world, order, tmp_path
):
    wish = shop.fulfil(order)
    before = states(wish)
    sent = sends(world, order)
    assert bury(shop) == len(before) == 4
    again = shop.fulfil(order)
    assert again.id == wish.id
    assert states(again) == before
    assert sends(world, order) == sent == 4
    assert again.facts()["workflow_state"] == "completed"
    assert list(shop.app.ledger.verify()) == []
    (row,) = by_hand(f"{tmp_path}/ledger.db", "SELECT principal, name, plan, direction FROM chain")
    assert row == ("", "", "", "forward"), "whose wish it was is forgotten; its direction is not"


def test_req_U17_what_was_archived_is_told_as_it_was_and_not_sent_again(
    shop, world, order, tmp_path
):
    """A replay of a known call: same id, state, reference and facts; an archive that proves it."""
    ledger = shop.app.ledger
    wish = shop.fulfil(order)
    before, facts = states(wish), wish.facts()
    with Archive(tmp_path / "old.jsonl", secret=ledger.secret()) as keep:
        batches = ledger.retain(closed_before=shop.app.hands.clock() + 1, keep=keep, at=1.0)
        removed = [record for batch in batches for record in batch.removed]
    assert len(removed) == 4
    again = shop.fulfil(order)
    assert (again.id, states(again), again.facts()) == (wish.id, before, facts)
    assert sends(world, order) == 4
    lines = list(verified(tmp_path / "old.jsonl", ledger.secret()))
    assert {line.action_id for line in lines} == {record.id for record in removed}
    assert [sentence for line in lines for sentence in line.wrong] == []


def test_req_U17_an_old_chain_that_went_back_sends_nothing_forward(shop, world, order):
    world.script("shipment", {"order": order}, NO)
    wish = shop.fulfil(order)
    settle(shop.app, lambda: states(wish)["reserve_stock"] is State.COMPENSATED)
    before, sent = states(wish), sends(world, order)
    assert bury(shop) == len(before)
    again = shop.fulfil(order)
    assert (again.direction, states(again)) == (Direction.BACKWARD, before)
    assert sends(world, order) == sent


def test_req_U17_declared_steps_that_are_run_again_send_nothing(shop, world, order):
    steps = [
        Step("stock", shop.reserve, {"order_id": order}),
        Step("pay", shop.charge, {"order_id": order}, after=["stock"]),
    ]
    for _ in range(2):
        with shop.app.session("shop", principal="u7") as session:
            chain = session.chain("declared", steps=steps)
            chain.run()
        assert set(states(chain).values()) == {State.CONFIRMED}
        bury(shop)
    assert sends(world, order) == 2


def test_what_a_chain_may_still_have_to_undo_is_not_removed(shop, world, order):
    """The notice is not settled: nothing of its chain is removed, however old the rest is."""
    world.script("notice", {"order": order}, ["reply_lost"])
    wish = shop.fulfil(order)
    assert states(wish)["send_notice"] is State.UNKNOWN
    assert bury(shop) == 0
    assert shop.app.ledger.arguments(wish.around().members[0][1].id) is not None


def test_req_P09_what_was_removed_is_never_undone_blindly(shop, world, order):
    """Its arguments are gone: no reversal is sent, and a person is told why."""
    wish = shop.fulfil(order)
    bury(shop)
    wish.turn_back("a late change of mind")
    records = lambda: {m.step: record for m, record in wish.around().members}  # noqa: E731
    settle(shop.app, lambda: records()["create_shipment"].review is not None)
    shipment = records()["create_shipment"]
    assert (shipment.state, shipment.review) == (State.CONFIRMED, "undo_removed")
    assert not [part for part in PROVIDERS if part.startswith("undo-")
                and world.arrivals(part, method="POST", order=order)]  # fmt: skip
