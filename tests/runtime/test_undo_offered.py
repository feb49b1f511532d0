"""A call in no chain whose undo is offered: taken once, as an action of its own."""

from __future__ import annotations

from typing import Any

import pytest

from ascertain import Ascertain, Budget, NotAllowed, State, Undone
from ascertain.store.ledger import Filter
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

QUICK = Budget(turn_sends=1, turn_s=2.0, send_deadline_s=0.3, backoff_s=0.05)


class Shop:
    """Tickets that can be cancelled, with what was done to them."""

    def __init__(self, url: str, *, offered: bool = True) -> None:
        self.app = Ascertain(url, worker="none", lease_s=0.5)
        self.opened: list[str] = []
        self.cancelled: list[str | None] = []
        self.lost = False

        @self.app.tool(identity=["order"], receipt="id", budget=QUICK)
        def open_ticket(order: str) -> dict[str, str]:
            self.opened.append(order)
            return {"id": f"T{899 + len(self.opened)}"}

        @open_ticket.compensate(within="1h", offered=offered, key_lifetime="1h", budget=QUICK)
        def cancel_ticket(undone: Undone) -> dict[str, Any]:
            if undone.provider_ref not in self.cancelled:
                self.cancelled.append(undone.provider_ref)
            if self.lost:
                self.lost = False
                raise TimeoutError
            return {"id": f"C{undone.provider_ref}"}

        self.open_ticket = open_ticket

    def session(self, turn: str = "m1") -> Any:
        return self.app.session("chat", principal="u7", turn=turn)


@pytest.fixture
def shop(tmp_path):
    shop = Shop(ledger_url(f"{tmp_path}/ledger.db"))
    with shop.app:
        yield shop


def test_it_is_offered_and_taken_once(shop):
    with shop.session() as session:
        ticket = shop.open_ticket(order="A1")
        assert ticket.facts()["next_allowed"] == ["undo_ticket"]
        facts = session.take("undo_ticket", ticket.id)
        assert (facts["workflow_state"], facts["next_allowed"]) == ("compensated", [])
        assert facts["say"]["en"] == "The ticket has been reversed."
        with pytest.raises(NotAllowed):
            session.take("undo_ticket", ticket.id)
    assert (shop.opened, shop.cancelled) == (["A1"], ["T900"])


async def test_it_is_taken_by_async_code_too_and_in_a_later_turn(shop):
    async with shop.session("m1"):
        ticket = shop.open_ticket(order="A1")
    async with shop.session("m2") as session:
        facts = await session.take_async("undo_ticket", ticket.id)
    assert [one["state"] for one in facts["actions"]] == ["compensated"]
    assert shop.cancelled == ["T900"]


def test_a_lost_answer_is_no_end_and_a_worker_finds_it(shop):
    shop.lost = True
    with shop.session() as session:
        ticket = shop.open_ticket(order="A1")
        facts = session.take("undo_ticket", ticket.id)
        assert facts["workflow_state"] == "compensating"
        assert facts["say"]["en"] == "It is being undone."
        assert facts["next_allowed"] == []
        assert session.facts()["workflow_state"] == "running", "of the turn neither: it is not done"
    for _ in range(200):
        shop.app.recover()
        if ticket.refresh().state is State.COMPENSATED:
            break
    assert ticket.refresh().state is State.COMPENSATED
    assert shop.cancelled == ["T900"]


def test_what_was_undone_says_nothing_of_the_others_of_its_turn(shop):
    with shop.session() as session:
        tickets = [shop.open_ticket(order=order) for order in ("A1", "A2")]
        session.take("undo_ticket", tickets[0].id)
        assert session.facts()["workflow_state"] == "completed"
        assert tickets[1].refresh().facts()["next_allowed"] == ["undo_ticket"]
        session.take("undo_ticket", tickets[1].id)
        assert session.facts()["workflow_state"] == "compensated"
    assert shop.cancelled == ["T900", "T901"]


def test_the_same_wish_again_is_the_same_action_and_a_new_turns_is_a_new_one(shop):
    """Its chain is the action's own: it does not tell one wish from another."""
    with shop.session("m1"):
        first, again = shop.open_ticket(order="A1"), shop.open_ticket(order="A1")
        assert (first.id, again.how) == (again.id, "replayed")
    with shop.session("m2"):
        assert shop.open_ticket(order="A1").id != first.id
    assert len(shop.opened) == 2


def test_in_a_chain_it_is_the_chain_that_goes_back(shop):
    with shop.session() as session, session.chain("wish") as chain:
        ticket = shop.open_ticket(order="A1")
        assert ticket.facts()["next_allowed"] == []
        assert ticket.record.chain == chain.id


def test_it_takes_no_commit_more(shop, monkeypatch):
    with shop.session():
        shop.open_ticket(order="A0")
        ledger, commits = shop.app.ledger, []
        submit = ledger.submit
        monkeypatch.setattr(ledger, "submit", lambda ops: commits.append(ops) or submit(ops))
        shop.open_ticket(order="A1")
    assert len(commits) == 2


def test_undeclared_it_is_not_offered(tmp_path):
    shop = Shop(ledger_url(f"{tmp_path}/ledger.db"), offered=False)
    with shop.app, shop.session() as session:
        ticket = shop.open_ticket(order="A1")
        assert ticket.facts()["next_allowed"] == []
        with pytest.raises(NotAllowed):
            session.take("undo_ticket", ticket.id)
        (record,) = shop.app.ledger.find(Filter())
        assert record.chain == ""
