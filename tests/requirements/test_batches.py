"""U08: a batch with results for each item becomes facts of each item."""

from __future__ import annotations

import asyncio
import threading
from itertools import combinations_with_replacement

import pytest

from ascertain import (
    Absent,
    Accepted,
    Ascertain,
    Budget,
    Found,
    FoundItems,
    IntentConflict,
    Items,
    Processing,
    Receipt,
    Refused,
    State,
)
from ascertain.cli import main
from ascertain.errors import ContractError, InvalidArguments
from ascertain.model.outcome import Effect
from ascertain.report.cases import cases
from ascertain.rules.news.items import ItemState, whole
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

ONCE = Budget(turn_sends=1, turn_s=2.0, sends=3, send_deadline_s=0.5, backoff_s=0.01)


@pytest.fixture
def app(tmp_path):
    app = Ascertain(ledger_url(f"{tmp_path}/batch.db"), worker="none", lease_s=0.3)
    yield app
    app.close()


class Warehouse:
    """Cancels orders, several in one call."""

    def __init__(self, app, answer, found=None, **said) -> None:
        self.app = app
        self.asked = 0
        promises = {"items": "orders", "identity": ["orders"], "budget": ONCE} | said

        @app.tool(**promises)
        def cancel_orders(orders: list[str]) -> dict:
            if isinstance(answer, BaseException):
                raise answer
            return answer

        if found is not None:

            @cancel_orders.lookup(absence_final_after="0s")
            def find(action):
                self.asked += 1
                return found

        self.cancel = cancel_orders

    def call(self, *orders):
        with self.app.session("s", principal="u7"):
            return self.cancel(orders=list(orders))


IN_REVIEW = "The state of the orders is not confirmed yet; a person will check it."
TAKEN, NO, LATER, LOST = Receipt("T1"), Refused("SHIPPED"), Accepted("job-1"), None


@pytest.mark.parametrize(
    "told, state, workflow, sentence",
    [
        ({"A": TAKEN, "B": TAKEN}, State.CONFIRMED, "completed", "The orders is confirmed."),
        (
            {"A": TAKEN, "B": NO}, State.CONFIRMED, "partially_completed",
            "Part of the orders is submitted; some items were declined.",
        ),
        (
            {"A": NO, "B": NO}, State.REJECTED, "refused",
            "The provider declined the orders (SHIPPED).",
        ),
        (
            {"A": TAKEN, "B": LOST}, State.UNKNOWN, "needs_review", IN_REVIEW,
        ),
        ({"A": TAKEN}, State.UNKNOWN, "needs_review", IN_REVIEW),
    ],
)  # fmt: skip
def test_req_U08_the_action_says_no_more_than_all_of_its_items(
    app, told, state, workflow, sentence
):
    action = Warehouse(app, Items(told)).call("A", "B")
    facts = action.facts()
    assert (action.state, facts["workflow_state"], facts["say"]["en"]) == (
        state, workflow, sentence,
    )  # fmt: skip


def test_req_U08_each_item_has_its_own_facts_in_the_order_of_the_call(app):
    answer = Items({"C": TAKEN, "B": Refused("SHIPPED"), "A": LATER})
    action = Warehouse(app, answer).call("A", "B", "C")
    assert action.state is State.UNKNOWN
    assert action.facts()["actions"][0]["items"] == [
        {"item": "A", "state": "accepted", "handle": "job-1"},
        {"item": "B", "state": "rejected", "error_code": "SHIPPED", "kind": "business"},
        {"item": "C", "state": "confirmed", "provider_ref": "T1"},
    ]


def test_req_U08_the_facts_are_those_of_the_ledger_in_another_process_and_in_the_session(app):
    warehouse = Warehouse(app, Items({"A": TAKEN, "B": NO}))
    action = warehouse.call("A", "B")
    other = Ascertain(app.url, worker="none")
    again = Warehouse(other, RuntimeError("never run"))
    replayed = again.call("A", "B")
    assert (replayed.how, replayed.id) == ("replayed", action.id)
    assert replayed.items == action.items
    assert replayed.say("zh-CN") == "orders部分已提交，部分未被受理。"
    with other.session("s", principal="u7") as session:
        (fact,) = session.facts()["actions"]
    assert fact["items"] == action.items
    other.close()


def test_req_U08_a_refusal_that_may_be_tried_again_is_said_of_its_item(app):
    later = Refused("BUSY", kind="throttled", retryable=True)
    action = Warehouse(app, Items({"A": TAKEN, "B": later, "C": NO})).call("A", "B", "C")
    assert action.items == [
        {"item": "A", "state": "confirmed", "provider_ref": "T1"},
        {
            "item": "B", "state": "rejected", "error_code": "BUSY", "kind": "throttled",
            "retryable": True,
        },
        {"item": "C", "state": "rejected", "error_code": "SHIPPED", "kind": "business"},
    ]  # fmt: skip


def test_req_U08_items_that_were_refused_for_a_while_are_handed_to_a_person_by_name(app, capsys):
    """Under the batch's key they cannot be asked for again: it speaks of all its items."""
    later = Refused("BUSY", kind="throttled", retryable=True)
    warehouse = Warehouse(app, Items({"A": TAKEN, "B": later, "C": NO, "D": later}))
    action = warehouse.call("A", "B", "C", "D")
    assert (action.state, action.record.review) == (State.CONFIRMED, "items_later")
    assert action.say() == "Part of the orders is submitted; some items were not taken for now."
    facts = action.facts()
    assert facts["workflow_state"] == "partially_completed"
    assert facts["next_allowed"] == ["call_again", "ask_person"]
    (case,) = cases(app.ledger, app.hands.clock())
    assert (case.handed.items, case.verdicts) == (("B", "D"), ("confirmed",))
    main(["review", "show", action.id, "--ledger", app.url])
    assert "not taken for now: B, D" in " ".join(capsys.readouterr().out.split())

    rest = Warehouse(Ascertain(app.url, worker="none"), Items({"B": TAKEN, "D": TAKEN}))
    again = rest.call("B", "D")
    assert (again.state, again.key == action.key) == (State.CONFIRMED, False)
    app.resolve(action.id, confirmed="asked for again", evidence="see the second call")
    assert list(cases(app.ledger, app.hands.clock())) == []
    assert app.action(action.id).state is State.CONFIRMED
    rest.app.close()


def test_req_U08_a_look_up_that_leaves_items_open_tells_of_those_that_it_found(app):
    """And takes nothing back of what is known already."""
    warehouse = Warehouse(
        app, Items({"A": TAKEN, "B": LATER, "C": LOST}),
        FoundItems({"A": Absent, "B": Found("T2"), "C": Processing()}),
    )  # fmt: skip
    action = warehouse.call("A", "B", "C")
    app.hands.clock = Later(app.hands.clock, 60)
    app.recover()
    assert warehouse.asked
    action = action.refresh()
    assert action.state is State.UNKNOWN
    assert [(item["item"], item["state"], item.get("provider_ref")) for item in action.items] == [
        ("A", "confirmed", "T1"), ("B", "confirmed", "T2"), ("C", "accepted", None),
    ]  # fmt: skip


class Later:
    """The ledger's clock, put ahead."""

    def __init__(self, clock, by_s):
        self.clock, self.by_s = clock, by_s

    def __call__(self):
        return self.clock() + self.by_s


def test_req_U08_an_item_that_nobody_asked_for_makes_the_whole_answer_doubtful(app):
    action = Warehouse(app, Items({"A": TAKEN, "Z": TAKEN})).call("A", "B")
    assert action.state is State.UNKNOWN
    assert {item["state"] for item in action.items} == {"unknown"}


def test_req_U08_an_answer_that_does_not_tell_of_the_items_confirms_nothing(app):
    action = Warehouse(app, {"id": "B1"}).call("A", "B")
    assert (action.state, action.reason) == (State.UNKNOWN, "no_items")


@pytest.mark.parametrize(
    "found, state, items",
    [
        (FoundItems({"A": Found("T1"), "B": Found("T2")}), State.CONFIRMED, ["confirmed"] * 2),
        (
            FoundItems({"A": Found("T1"), "B": Refused("SHIPPED")}), State.CONFIRMED,
            ["confirmed", "rejected"],
        ),
        (
            FoundItems({"A": Refused("SHIPPED"), "B": Refused("GONE")}), State.REJECTED,
            ["rejected", "rejected"],
        ),
        (
            FoundItems({"A": Found("T1"), "B": Absent}), State.UNKNOWN, ["confirmed", "unknown"],
        ),
        (FoundItems({"A": Found("T1")}), State.UNKNOWN, ["confirmed", "unknown"]),
        (
            FoundItems({"A": Found("T1"), "B": Processing()}), State.UNKNOWN,
            ["confirmed", "accepted"],
        ),
    ],
)  # fmt: skip
def test_req_U08_a_lost_batch_is_settled_by_a_look_up_that_tells_of_each_item(
    app, found, state, items
):
    warehouse = Warehouse(app, TimeoutError(), found)
    action = warehouse.call("A", "B").refresh()
    assert warehouse.asked
    assert action.state is state
    assert [item["state"] for item in action.items] == items
    partly = state is State.CONFIRMED and "rejected" in items
    assert action.say().startswith("Part of") is partly


def test_req_U08_items_may_have_their_key_inside(app):
    @app.tool(items="lines.sku", identity=["cart"], budget=ONCE)
    def add_lines(cart: str, lines: list[dict]) -> Items:
        return Items({"x1": Receipt("L1"), "7": Refused("NONE_LEFT")})

    with app.session("s", principal="u7"):
        action = add_lines(cart="c", lines=[{"sku": "x1"}, {"sku": 7}])
    assert [(item["item"], item["state"]) for item in action.items] == [
        ("x1", "confirmed"), ("7", "rejected"),
    ]  # fmt: skip


@pytest.mark.parametrize("orders", [[], ["A", "A"], [""]])
def test_req_U08_a_batch_without_items_or_with_one_twice_is_refused_before_it_is_sent(app, orders):
    warehouse = Warehouse(app, RuntimeError("never run"))
    with pytest.raises(InvalidArguments, match="nothing was sent"):
        warehouse.call(*orders)
    assert app.ledger.counts()["review"] == 0


def test_req_U08_items_that_are_no_parameter_are_refused_at_registration(app):
    with pytest.raises(ContractError, match="no parameter"):
        Warehouse(app, None, items="lines")


def test_req_U08_every_batch_of_up_to_four_items_is_judged_by_its_worst():
    """Exhaustive: in doubt before accepted before all declined before partly before all taken."""
    for size in range(5):
        for states in combinations_with_replacement(ItemState, size):
            kinds = set(states)
            if not states or ItemState.UNKNOWN in kinds:
                expected = (Effect.UNKNOWN, "items_unknown")
            elif ItemState.ACCEPTED in kinds:
                expected = (Effect.ACCEPTED, "items_accepted")
            elif kinds == {ItemState.REJECTED}:
                expected = (Effect.REFUSED, "items_refused")
            elif kinds == {ItemState.CONFIRMED}:
                expected = (Effect.CONFIRMED, "items")
            else:
                expected = (Effect.CONFIRMED, "items_partly")
            assert whole(states) == expected, states


class Orders:
    """Cancels one order in each call; two wait for each other, so that they must run at once."""

    def __init__(self) -> None:
        self.keys: dict[str, str] = {}
        self.meet = threading.Barrier(2, timeout=5)

    def body(self, order: str, key: str) -> Receipt:
        self.keys[order] = key
        if order == "lost":
            raise TimeoutError
        if order == "no":
            raise Refused("SHIPPED")
        return Receipt(f"T-{order}")


def test_req_U08_one_action_for_each_item_at_once_in_order_each_with_its_own_key(app):
    orders = Orders()

    @app.tool(identity=["order"], budget=ONCE)
    def cancel(order: str) -> Receipt:
        from ascertain import key

        if order in ("a", "b"):
            orders.meet.wait()
        return orders.body(order, key())

    with app.session("s", principal="u7"):
        made = cancel.each([{"order": name} for name in ("a", "lost", "no", "b")])
    assert [str(action.state) for action in made] == [
        "confirmed", "unknown", "rejected", "confirmed",
    ]  # fmt: skip
    assert [action.provider_ref for action in made] == ["T-a", None, None, "T-b"]
    assert len(set(orders.keys.values())) == 4


def test_req_U08_an_item_that_does_not_fit_stops_all_before_anything_is_sent(app):
    sent = []

    @app.tool(identity=["order"])
    def cancel(order: str) -> dict:
        sent.append(order)
        return {"id": "1"}

    with app.session("s", principal="u7"):
        with pytest.raises(InvalidArguments, match="Item 1"):
            cancel.each([{"order": "a"}, {"order": 5}])
        assert cancel.each([]) == []
    assert sent == []


def test_req_U08_an_item_that_could_not_be_called_is_an_error_in_its_place(app):
    @app.tool(identity=["order"])
    def pay(order: str, amount: int) -> dict:
        return {"id": "1"}

    with app.session("s", principal="u7"):
        pay(order="a", amount=1)
        first, second = pay.each([{"order": "a", "amount": 2}, {"order": "b", "amount": 2}])
    assert isinstance(first, IntentConflict)
    assert second.state is State.CONFIRMED


def test_req_U08_async_tools_make_their_items_on_the_loop(tmp_path):
    async def story():
        app = Ascertain(ledger_url(f"{tmp_path}/aio.db"), worker="none")
        both = asyncio.Event()
        begun = []

        @app.tool(identity=["order"], budget=ONCE)
        async def cancel(order: str) -> Receipt:
            begun.append(order)
            if len(begun) == 2:
                both.set()
            await both.wait()
            return Receipt(f"T-{order}")

        async with app, app.session("s", principal="u7"):
            made = await cancel.options(call_id="c1").each([{"order": "a"}, {"order": "b"}])
            assert [action.provider_ref for action in made] == ["T-a", "T-b"]
            assert [action.record.call_id for action in made] == ["c1/0", "c1/1"]

    asyncio.run(story())
