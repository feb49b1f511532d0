"""A list of records that do not say whose they are: one of them never confirms two actions."""

from __future__ import annotations

import threading
import time
from typing import Any

import httpx
import pytest

from ascertain import Absent, Ascertain, Budget, Found, State
from ascertain.errors import MayStillArrive, NotAllowed, ReferenceTaken
from ascertain.model.action import OVERRULED
from ascertain.store.ledger import Filter
from ascertain.testing.invariants import one_reference_each
from ascertain.testing.world import Provider, World
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

SETTLING_S = 0.3
PATIENCE_S = 10.0
BUDGET = Budget(
    turn_sends=1, turn_s=1.0, sends=3, unanswered=4, send_deadline_s=3.0, backoff_s=0.02,
    backoff_max_s=0.1,
)  # fmt: skip


@pytest.fixture(scope="module")
def world():
    with World({"listed": Provider(honours_key=False)}) as world:
        yield world


@pytest.fixture
def order(request) -> str:
    return f"A-{request.node.name}-{time.monotonic_ns()}"


class Shop:
    """One app with one tool, whose look-up searches the provider's list by the order."""

    def __init__(self, world: World, path: Any, *, settling_s: float | None = SETTLING_S) -> None:
        self.app = Ascertain(ledger_url(f"{path}/ledger.db"), worker="none", lease_s=0.3)
        self.client = self.app.watch(httpx.Client(base_url=world.url))
        self.before_the_send = threading.Barrier(1)
        self.answered, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()
        self.names = False  # whether a look-up names all that fits

        @self.app.tool(via=[self.client], budget=BUDGET)
        def book(order: str, amount: int = 1) -> dict:
            self.before_the_send.wait(PATIENCE_S)
            reply = self.client.post("/listed", json={"order": order, "amount": amount})
            found = reply.raise_for_status().json()
            self.answered.set()
            assert self.go_on.wait(PATIENCE_S)
            return found

        @book.lookup(by="fields", absence_final_after=settling_s)
        def find_booking(action: Any) -> Any:
            reply = self.client.get("/listed", params={"order": action.arguments["order"]})
            rows = reply.raise_for_status().json()
            refs = [row["ref"] for row in rows] if self.names else ()
            return Found(rows[0]["ref"], count=len(rows), refs=refs) if rows else Absent

        self.book = book

    def call(self, order: str, *, session: str = "s", ordinal: int | None = None, **more: Any):
        with self.app.session(session, principal="u7"):
            book = self.book if ordinal is None else self.book.options(ordinal=ordinal)
            return book(order=order, **more)

    def records(self) -> list[Any]:
        return self.app.ledger.find(Filter())[::-1]

    def reasons(self, action_id: str) -> list[str]:
        return [event.reason for event in self.app.ledger.events(action_id)]

    def not_done(self, action_id: str, evidence: str) -> Any:
        """A person says so, and says it again after the time that a refusal of it names."""
        try:
            return self.app.resolve(action_id, not_done=True, evidence=evidence)
        except MayStillArrive as early:
            left_s = early.context["until"] - self.app.hands.clock()  # the ledger's clock
            threading.Event().wait(max(0.0, left_s))
        return self.app.resolve(action_id, not_done=True, evidence=evidence)

    def recover(self, until: Any) -> list[Any]:
        """Let the worker pass until the actions satisfy ``until``."""
        give_up_at = time.monotonic() + PATIENCE_S
        while True:
            self.app.recover()
            records = self.records()
            if until(records):
                return records
            story = [(one.state, one.reason, one.evidence, one.review) for one in records]
            assert time.monotonic() < give_up_at, f"still {story}"

    def close(self) -> None:
        self.app.close()
        self.client.close()


@pytest.fixture
def shop(world, tmp_path):
    shop = Shop(world, tmp_path)
    yield shop
    assert one_reference_each(shop.records()) == []
    assert list(shop.app.ledger.verify()) == []
    shop.close()


def together(*works: Any) -> list[Any]:
    """Run all at once; what each returned."""
    ended: dict[int, Any] = {}

    def run(n: int, work: Any) -> None:
        ended[n] = work()

    threads = [threading.Thread(target=run, args=item) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * PATIENCE_S)
    return [ended[n] for n in range(len(works))]


def test_a_lone_lost_answer_is_found_and_confirmed(shop, world, order):
    world.script("listed", {"order": order}, ["reply_lost"])
    action = shop.call(order)
    assert (action.state, world.count("listed", order=order)) == (State.CONFIRMED, 1)
    assert shop.reasons(action.id)[-1] == "found_by_lookup"


@pytest.mark.parametrize("apart", ["sessions", "ordinals", "processes"])
def test_of_two_in_doubt_with_one_record_neither_is_confirmed(shop, world, order, tmp_path, apart):
    """Both are durable before either is sent; one request is lost, of the other the answer."""
    world.script("listed", {"order": order}, ["request_lost", "reply_lost"])
    other = Shop(world, tmp_path) if apart == "processes" else shop
    shop.before_the_send = other.before_the_send = threading.Barrier(2)
    ordinal = 2 if apart == "ordinals" else None
    session = "s" if apart == "ordinals" else "t"
    actions = together(
        lambda: shop.call(order), lambda: other.call(order, session=session, ordinal=ordinal)
    )
    assert [action.state for action in actions] == [State.UNKNOWN] * 2
    assert world.count("listed", order=order) == 1
    records = shop.recover(lambda records: all(one.review for one in records))
    assert [(one.state, one.reason) for one in records] == [(State.UNKNOWN, "rival_in_doubt")] * 2
    if other is not shop:
        other.close()


def test_a_person_says_whose_it_is_and_cannot_say_it_twice(shop, world, order):
    world.script("listed", {"order": order}, ["request_lost", "reply_lost"])
    shop.before_the_send = threading.Barrier(2)
    together(lambda: shop.call(order), lambda: shop.call(order, ordinal=2))
    one, two = shop.recover(lambda records: all(one.review for one in records))
    (ref,) = [effect.ref for effect in world.effects("listed", order=order)]
    assert shop.app.resolve(one.id, confirmed=ref).state is State.CONFIRMED
    with pytest.raises(ReferenceTaken, match=f"{ref} is the reference of action {one.id}"):
        shop.app.resolve(two.id, confirmed=ref)
    ended = shop.not_done(two.id, "the list has one")
    assert ended.state is State.REJECTED


def test_a_record_that_is_anothers_by_its_answer_is_none_of_ours(shop, world, order):
    """For the one whose request was lost the provider has nothing: it is sent again."""
    world.script("listed", {"order": order}, ["ok", "request_lost", "ok"])
    assert shop.call(order).state is State.CONFIRMED
    shop.call(order, ordinal=2)
    one, two = shop.recover(lambda records: all(one.terminal for one in records))
    assert (one.state, two.state) == (State.CONFIRMED, State.CONFIRMED)
    assert one.provider_ref != two.provider_ref
    assert world.count("listed", order=order) == 2
    assert "reference_taken" in shop.reasons(two.id)


def test_while_the_other_is_under_way_the_record_may_be_its(shop, world, order):
    """The other's answer then says so, and nobody was told too much."""
    world.script("listed", {"order": order}, ["ok"])
    shop.go_on.clear()
    ended: list[Any] = []
    flying = threading.Thread(target=lambda: ended.append(shop.call(order)))
    flying.start()
    assert shop.answered.wait(PATIENCE_S)
    world.script("listed", {"order": order}, ["request_lost"])
    lost = shop.call(order, ordinal=2)
    assert (lost.state, lost.provider_ref) == (State.UNKNOWN, None)
    assert "rival_in_doubt" in shop.reasons(lost.id)
    shop.go_on.set()
    flying.join(PATIENCE_S)
    assert ended[0].state is State.CONFIRMED


def test_req_F24_an_answer_of_its_own_speaks_against_what_a_look_up_took(shop, world, order):
    """The look-up goes by less than the identity, so it takes the other's record for ours. When
    the other's own answer names it, the first is disputed and the second confirmed.
    """
    shop.go_on.clear()
    ended: list[Any] = []
    flying = threading.Thread(target=lambda: ended.append(shop.call(order, amount=2)))
    flying.start()
    assert shop.answered.wait(PATIENCE_S)
    world.script("listed", {"order": order, "amount": 1}, ["request_lost"])
    taken = shop.call(order, amount=1)
    (effect,) = world.effects("listed", order=order)
    assert (taken.state, taken.provider_ref) == (State.CONFIRMED, effect.ref), "the lie so far"
    shop.go_on.set()
    flying.join(PATIENCE_S)
    right, wrong = shop.records()
    assert (right.state, right.provider_ref, right.disputed) == (State.CONFIRMED, effect.ref, 0)
    assert (wrong.state, wrong.disputed, wrong.review) == (
        State.CONFIRMED, 1, "reference_of_another",
    )  # fmt: skip
    assert shop.app.action(wrong.id).facts()["actions"][0]["disputed"] is True
    # a person cannot give it back, and "not done" does not make it confirmed again
    with pytest.raises(ReferenceTaken):
        shop.app.resolve(wrong.id, confirmed=effect.ref)
    shop.app.resolve(wrong.id, not_done=True, evidence="the list has one, of amount 2")
    after = shop.records()[1]
    assert (after.state, after.disputed, after.review) == (State.CONFIRMED, OVERRULED, None)


def test_a_person_speaks_against_what_a_look_up_took(shop, world, order):
    """The first look-up took the record of the other, whose answer never came."""
    world.script("listed", {"order": order, "amount": 2}, ["reply_lost"])
    world.script("listed", {"order": order, "amount": 1}, ["request_lost"])
    shop.before_the_send = threading.Barrier(2)
    together(lambda: shop.call(order, amount=1), lambda: shop.call(order, amount=2))
    by_state = {one.state: one for one in shop.recover(_one_in_review)}
    doubtful, taken = by_state[State.UNKNOWN], by_state[State.CONFIRMED]
    assert doubtful.reason == "reference_taken"
    shop.app.resolve(doubtful.id, confirmed=taken.provider_ref)
    assert shop.app.action(taken.id).facts()["actions"][0]["disputed"] is True


def _one_in_review(records: list[Any]) -> bool:
    return any(one.review for one in records) and any(one.terminal for one in records)


def test_who_is_confirmed_and_not_disputed_is_not_a_person_s_to_change(shop, world, order):
    action = shop.call(order)
    with pytest.raises(NotAllowed, match="not disputed"):
        shop.app.resolve(action.id, confirmed="T1")


@pytest.mark.parametrize("named", [True, False], ids=["refs named", "only counted"])
def test_another_ones_record_is_no_extra_effect_of_this_one(shop, world, order, named):
    """Two pick-ups were wished for, and two were made: a recount has nothing to say."""
    shop.names = named
    first = shop.call(order)
    second = shop.call(order, session="t")
    assert [first.state, second.state] == [State.CONFIRMED] * 2
    found = shop.app.recount()
    seen = {row.record.id: (row.differences, row.record.disputed) for row in found.rows}
    assert seen[first.id] == ((), 0)
    if named:
        assert seen[second.id] == ((), 0)


def test_a_record_of_which_no_action_knows_is_one_too_many_all_the_same(shop, world, order):
    shop.names = True
    first = shop.call(order)
    shop.call(order, session="t")
    shop.client.post("/listed", json={"order": order, "amount": 1})  # somebody else's doing
    found = shop.app.recount()
    row = next(row for row in found.rows if row.record.id == first.id)
    assert (row.differences, row.record.disputed, row.count) == (("extra_effects",), 1, 2)
