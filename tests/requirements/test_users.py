"""U: what users of such systems report."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from dataclasses import replace
from decimal import Decimal

import httpx
import pytest

from ascertain import Accepted, Ascertain, IntentConflict, Receipt, State, Unsettled, key
from ascertain.errors import InvalidArguments, NotCanonical
from ascertain.store.ledger import Filter
from ascertain.testing.world import Behaviour
from tests.ledgers import ledger_url
from tests.requirements.conftest import QUICK, SETTLING_S

pytestmark = pytest.mark.every_ledger


async def settled(app: Ascertain) -> None:
    """Wait until the only action is settled, at most five seconds."""
    for _ in range(250):
        (record,) = app.ledger.find(Filter())
        if record.terminal:
            return
        await asyncio.sleep(0.02)


def posts(world, collection, order):
    return world.arrivals(collection, method="POST", order=order)


def test_req_U01_an_expired_lease_is_unknown_and_never_run_again(desk, order):
    """The sender dies after the effect; recovery asks or hands over, and does not run the body."""
    runs = []

    @desk.app.tool(name="wire_money", noun="transfer", budget=replace(QUICK, send_deadline_s=0.2))
    def wire_money(order_id: str) -> dict:
        runs.append(order_id)
        os._exit(9)

    child = os.fork()
    if child == 0:
        with desk.session():
            wire_money(order_id=order)
        os._exit(0)
    os.waitpid(child, 0)
    assert desk.only().state is State.SENT
    record = desk.recover(lambda record: record.review is not None)
    assert (record.state, record.attempt, record.review) == (State.UNKNOWN, 1, "cannot_ask")
    assert runs == []
    assert "sent>lose>unknown" in desk.events()


@pytest.mark.parametrize("covers, state", [(False, State.UNKNOWN), (True, State.REJECTED)])
def test_req_U02_a_refusal_speaks_only_for_its_own_attempt(desk, world, order, covers, state):
    """Attempt 1 happened and was lost; attempt 2 is refused: not "rejected", unless it covers."""
    world.script("keyed", {"order": order}, ["request_lost", "business_refusal"])
    create = desk.tool("keyed", refusal_covers_key=covers)
    with desk.session():
        action = create(order_id=order)
    assert action.state is state
    assert action.attempt == 2


def test_req_U02_a_refusal_of_a_late_repeat_settles_it_without_a_person(desk, world, order):
    """Attempt 1 never arrived. The provider looks at the key first, and nothing takes effect after
    0.3 s: refused at once says nothing of attempt 1, refused later than that says all.
    """
    world.script("keyed", {"order": order}, ["request_lost", *["business_refusal"] * 4])
    create = desk.tool("keyed", refusal_final_after="0.3s")
    with desk.session():
        create(order_id=order)
    record = desk.recover(lambda record: record.terminal)
    assert (record.state, record.final, record.kind) == (State.REJECTED, 1, "already_exists")
    made = posts(world, "keyed", order)
    assert len(made) == 3, "lost, refused too early to speak for it, refused for good"
    assert made[2].received_at - made[1].received_at >= 0.3
    assert {post.key for post in made} == {record.key}
    assert not [e for e in desk.app.ledger.events(record.id) if e.reason.startswith("review:")]


def test_req_U03_a_duplicate_refusal_after_a_lost_reply_is_checked_first(desk, world, order):
    """409 after a lost reply: the look-up finds our own record."""
    world.script("tickets", {"order": order}, ["reply_lost", "already_exists"], lookup=["miss"])
    create = desk.tool(budget=replace(QUICK, turn_s=3.0))
    with desk.session():
        create(order_id=order)
    record = desk.recover(lambda record: record.terminal)
    assert record.state is State.CONFIRMED
    assert world.count("tickets", order=order) == 1


def test_req_U04_provably_not_sent_is_a_class_of_its_own(desk, order):
    """Nobody listens there: not sent, withdrawn, and free to be called again."""
    nowhere = desk.app.watch(httpx.Client(base_url="http://127.0.0.1:9"))

    @desk.app.tool(name="book", noun="booking", via=[nowhere], budget=replace(QUICK, turn_s=0.5))
    def book(order_id: str) -> dict:
        return nowhere.post("/", headers={"Idempotency-Key": key()}).json()

    with desk.session():
        action = book(order_id=order)
        assert (action.state, action.kind) == (State.REJECTED, "withdrawn")
        assert "sent>unsend>prepared" in desk.events()
        assert action.facts()["next_allowed"] == ["call_again", "ask_person"]
        assert book(order_id=order).id != action.id
    nowhere.close()


@pytest.mark.parametrize("status", [402, 503])
def test_req_U04_a_402_or_503_is_no_proof_that_nothing_happened(desk, order, status):
    """Only the contract can say so."""
    transport = httpx.MockTransport(lambda request: httpx.Response(status))
    client = desk.app.watch(httpx.Client(transport=transport, base_url="http://shop"))

    @desk.app.tool(name="pay", noun="payment", via=[client], budget=QUICK)
    def pay(order_id: str) -> dict:
        return client.post("/").raise_for_status().json()

    with desk.session():
        assert pay(order_id=order).state is State.UNKNOWN
    client.close()


def test_req_U05_two_calls_are_one_intent_when_identity_agrees(desk, world, order):
    """Reworded text and a new call id change nothing; another identity does."""
    create = desk.tool()
    with desk.session():
        first = create.options(call_id="toolu_1")(order_id=order, issue="noise")
        second = create.options(call_id="toolu_2")(order_id=f" {order} ", issue="crackle, left")
        other = create(order_id=f"{order}-other")
    assert first.id == second.id
    assert second.replayed
    assert other.id != first.id
    assert len(posts(world, "tickets", order)) == 1


def test_req_U06_a_failure_after_the_effect_never_undoes_confirmed(desk, order):
    """A value that cannot be stored: confirmed all the same, only its result is unavailable."""

    class Opaque:
        pass

    @desk.app.tool(name="print_label", noun="label")
    def print_label(order_id: str):
        return Receipt("L1", Opaque())

    with desk.session():
        action = print_label(order_id=order)
    assert (action.state, action.provider_ref) == (State.CONFIRMED, "L1")
    assert desk.app.action(action.id).result is None


async def test_req_U07_a_cancelled_caller_leaves_unknown_and_the_late_result_lands(tmp_path):
    """Disconnected in mid-flight: unknown at once; the body ends and confirms its own action."""
    begun, release = asyncio.Event(), asyncio.Event()
    app = Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none")

    @app.tool()
    async def create_ticket(order_id: str) -> dict:
        begun.set()
        await release.wait()
        return {"id": "T900"}

    async def caller() -> None:
        async with app.session("s", principal="u7"):
            await create_ticket(order_id="A1")

    task = asyncio.create_task(caller())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (record,) = app.ledger.find(Filter())
    assert (record.state, record.reason) == (State.UNKNOWN, "interrupted")
    release.set()
    await settled(app)
    (record,) = app.ledger.find(Filter())
    assert (record.state, record.provider_ref) == (State.CONFIRMED, "T900")
    app.close()


def test_req_U11_every_write_has_a_deadline_and_nobody_is_stranded(desk, order):
    """A sync body that hangs: at its deadline the action is unknown for everybody else."""
    release = threading.Event()

    @desk.app.tool(name="slow_tool", noun="thing", budget=replace(QUICK, send_deadline_s=0.2))
    def slow_tool(order_id: str) -> dict:
        assert release.wait(10)
        return {"id": "X1"}

    def call() -> None:
        with desk.session():
            slow_tool(order_id=order)

    caller = threading.Thread(target=call)
    caller.start()
    pause = threading.Event()
    for _ in range(250):
        if (found := desk.app.ledger.find(Filter())) and found[0].state is State.UNKNOWN:
            break
        pause.wait(0.02)
    assert desk.only().reason == "deadline"
    release.set()
    caller.join(10)
    record = desk.only()
    assert (record.state, record.provider_ref, record.suspect) == (State.CONFIRMED, "X1", "")


@pytest.mark.parametrize(
    "text",
    ['{"order_id": "A1"', '{"order_id": "A1"} {"x": 1}', '"A1"', '{"order_id": NaN}', "", "[1]",
     '{"order_id": "A1", "order_id": "A2"}', '{"order_id": "A1\\ud800"}'],
)  # fmt: skip
def test_req_U12_a_half_parsed_call_is_never_executed(desk, text):
    """Refused with the reason; no action, nothing sent."""
    desk.tool()
    with desk.session() as session, pytest.raises(InvalidArguments):
        session.call("create_ticket", text)
    assert desk.app.ledger.find(Filter()) == []


def test_req_U13_numbers_keep_their_exact_value(desk, order):
    """Money as decimal text, big integers in full; NaN is refused."""
    seen = []

    @desk.app.tool(name="refund", noun="refund", identity=["order_id"])
    def refund(order_id: str, amount: Decimal, account: int, rate: float = 0.5) -> dict:
        seen.append((amount, account))
        return {"id": "R1", "account": account}

    with desk.session():
        action = refund(order_id=order, amount=Decimal("10.10"), account=9007199254740993)
        with pytest.raises(NotCanonical):
            refund(order_id=f"{order}-2", amount=Decimal(1), account=1, rate=float("nan"))
    stored = json.loads(desk.app.ledger.arguments(action.id))
    assert (stored["amount"], stored["account"]) == ("10.10", 9007199254740993)
    assert seen == [(Decimal("10.10"), 9007199254740993)]
    assert action.unwrap()["account"] == 9007199254740993


@pytest.mark.parametrize("once_per, tickets", [("session", 2), ("principal", 1), ("tenant", 1)])
def test_req_U14_two_tabs_are_one_intent_where_the_tool_says_so(
    desk, world, order, once_per, tickets
):
    """The same principal in two sessions."""
    create = desk.tool(once_per=once_per)
    for tab in ("tab-1", "tab-2"):
        with desk.session(tab):
            create(order_id=order)
    assert world.count("tickets", order=order) == tickets


def test_req_U14_two_agents_are_one_intent_for_the_tenant(desk, world, order):
    """Another principal of the same tenant meets the same action."""
    create = desk.tool(once_per="tenant")
    with desk.session("a", principal="phone-agent"):
        create(order_id=order)
    with desk.session("b", principal="chat-agent"):
        assert create(order_id=order).replayed
    assert world.count("tickets", order=order) == 1


def test_req_U15_an_intended_second_is_named_and_survives_a_rerun(desk, world, order):
    """ordinal=2 is another intent, and a re-run finds it; a model's argument cannot set it."""
    create = desk.tool()
    for _ in range(2):
        with desk.session() as session:
            create(order_id=order)
            create.options(ordinal=2)(order_id=order)
            create.options(intent="second ear")(order_id=order)
            with pytest.raises(InvalidArguments):
                session.call("create_ticket", {"order_id": order, "ordinal": 3})
    assert world.count("tickets", order=order) == 3


def test_req_U16_a_defect_before_anything_was_sent_is_no_unknown_effect(desk, order):
    """With its exits declared and watched, a KeyError before the request is proof of not sent."""

    @desk.app.tool(name="ship", noun="parcel", via=[desk.client], budget=QUICK)
    def ship(order_id: str) -> dict:
        return {}["missing"]

    @desk.app.tool(name="ship_blindly", noun="blind_parcel", budget=QUICK)
    def ship_blindly(order_id: str) -> dict:
        return {}["missing"]

    with desk.session():
        proven, unproven = ship(order_id=order), ship_blindly(order_id=order)
    assert (proven.state, proven.kind) == (State.REJECTED, "tool_error")
    assert unproven.state is State.UNKNOWN, "it may have left by another exit"
    with pytest.raises(Unsettled) as unsettled:
        proven.unwrap()
    assert "KeyError" not in str(unsettled.value.facts)


def test_req_U17_removing_old_actions_never_makes_an_old_call_new(desk, world, order):
    """The tombstone keeps identity, key and outcome."""
    create = desk.tool()
    with desk.session():
        action = create.options(call_id="c1")(order_id=order)
    assert desk.app.ledger.bury(closed_before=desk.app.hands.clock() + 1) == 1
    assert desk.app.ledger.arguments(action.id) is None
    with desk.session():
        again = create.options(call_id="c2")(order_id=order)
    assert (again.id, again.state, again.provider_ref) == (
        action.id, State.CONFIRMED, action.provider_ref,
    )  # fmt: skip
    assert len(posts(world, "tickets", order)) == 1


def test_req_U18_accepted_is_said_so_asked_by_its_schedule_and_not_sent_again(desk, world, order):
    """202: a handle, its own words, its own schedule; one create, one effect."""
    world.script("tickets", {"order": order}, [Behaviour("accepted_202", seconds=0.8)])
    create = desk.tool()
    with desk.session():
        action = create(order_id=order)
    assert (action.state, action.facts()["actions"][0].get("accepted")) == (State.UNKNOWN, True)
    assert action.say() == "The ticket is accepted and in progress."
    assert action.record.handle
    record = desk.recover(lambda record: record.state is State.CONFIRMED, within_s=12)
    assert record.attempt == 1
    assert len(posts(world, "tickets", order)) == 1
    assert SETTLING_S


def test_req_U18_a_body_may_say_accepted_itself(desk, order):
    """A job that a body only starts."""

    @desk.app.tool(name="export", noun="export", budget=QUICK)
    def export(order_id: str):
        return Accepted("job-7", ask_after_s=30)

    with desk.session():
        action = export(order_id=order)
    assert (action.state, action.record.handle) == (State.UNKNOWN, "job-7")


def test_req_F08_conflicts_are_errors_before_anything_is_sent(desk, order):
    """Another amount under the same call id is a conflict too."""
    create = desk.tool()
    with desk.session():
        create.options(call_id="c1")(order_id=order, amount=1)
        with pytest.raises(IntentConflict):
            create.options(call_id="c1")(order_id=order, amount=2)
