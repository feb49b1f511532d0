"""Failures that have a name, each played with real processes, a real provider and real signals."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event, Thread

import httpx
import pytest
import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from ascertain import Ascertain, IntentConflict, State, key
from ascertain.store.ledger import Filter
from ascertain.testing.world import Behaviour
from tests.faults.evidence import Statement
from tests.faults.named import (
    FIVE,
    PATIENT,
    SdkHouse,
    call,
    course,
    heal,
    judged,
    told,
)
from tests.faults.play import BUDGET, House, statement
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

# ---------------------------------------------------------------------- lost replies and requests

ENDS_AFTER_A_LOST_REPLY = {
    "key_and_lookup": ("confirmed", 1),
    "key_only": ("confirmed", 1),
    "lookup_only": ("confirmed", 1),
    "fencing_lookup": ("confirmed", 1),
    "neither": ("unknown", 1),
}
ENDS_AFTER_A_LOST_REQUEST = {
    "key_and_lookup": ("confirmed", 1),
    "key_only": ("confirmed", 1),
    "lookup_only": ("confirmed", 1),
    "fencing_lookup": ("rejected", 0),  # asking has put an end to the key: not done, for good
    "neither": ("unknown", 0),
}


@pytest.mark.parametrize(
    "behaviour, ends",
    [("reply_lost", ENDS_AFTER_A_LOST_REPLY), ("request_lost", ENDS_AFTER_A_LOST_REQUEST)],
)
def test_an_sdk_of_its_own_exception_class_loses_the_answer(world, tmp_path, behaviour, ends):
    """`class SdkError(Exception)`, no hooks: nobody is told that it was refused or confirmed."""
    house = SdkHouse(world.url, tmp_path)
    orders = {name: f"sdk-{behaviour}-{name}" for name in FIVE}
    first = {}
    for name, order in orders.items():
        world.script(name, {"order": order}, [behaviour])
        asked_at = time.time()
        first[name] = statement(asked_at, call(house, name, order).record)
    heal(house, *orders.values())
    wrong = [
        f"{name}: {fault} {course(house, order)}"
        for name, order in orders.items()
        for fault in judged(world, house, name, order, behaviour, told=[first[name]])
    ]
    seen = {
        name: (str(house.record(order).state), world.count(name, order=order))
        for name, order in orders.items()
    }
    in_review = {name for name, order in orders.items() if house.record(order).review}
    house.close()
    assert not wrong, "\n".join(wrong)
    assert seen == ends
    assert in_review == {"neither"}


def test_an_effect_that_lands_after_absent_was_said_is_found_when_the_promise_is_kept(
    world, tmp_path
):
    """The look-up says absent, the effect lands 3 s later, settling takes 5 s: one effect."""
    house = House(world.url, tmp_path, contracts=("lookup_only",), settling_s=5.0)
    order = "late-kept"
    world.script("lookup_only", {"order": order}, [Behaviour("late_execution", seconds=3)])
    action = call(house, "lookup_only", order)
    assert action.state is State.UNKNOWN
    (record,) = heal(house, order)
    wrong = judged(world, house, "lookup_only", order, "late_execution", settling_s=5.0)
    history = course(house, order)
    house.close()
    assert not wrong, (wrong, history)
    assert (record.state, record.disputed, record.attempt) == (State.CONFIRMED, 0, 1)
    assert "note:absent" in history, "the look-up had said absent before"
    assert [record.provider_ref] == [one.ref for one in world.effects("lookup_only", order=order)]


def test_an_effect_that_lands_after_a_broken_settling_promise_is_noticed_and_reported(
    world, tmp_path
):
    """Settling was promised as 1 s and took 3: two effects, and everybody is told of them."""
    house = House(world.url, tmp_path, contracts=("lookup_only",), settling_s=1.0, recount_s=3.0)
    order = "late-broken"
    world.script("lookup_only", {"order": order}, [Behaviour("late_execution", seconds=3)])
    call(house, "lookup_only", order)
    (record,) = heal(house, order)
    wrong = judged(world, house, "lookup_only", order, "late_execution", settling_s=1.0)
    action = house.app.action(record.id)
    facts, counts = action.facts(), house.app.ledger.counts()
    house.close()
    assert world.count("lookup_only", order=order) == 2
    assert not wrong, wrong
    assert (record.disputed, record.review) == (1, "duplicate_effect")
    assert (facts["actions"][0]["disputed"], facts["actions"][0]["reason"]) == (
        True,
        "duplicate_effect",
    )
    assert "manual_review" in facts["next_allowed"]
    assert (counts["disputed"], counts["review"]) == (1, 1)


def test_with_a_key_a_late_effect_is_the_same_effect(world, tmp_path):
    """The same key, sent again while the first is on its way: whichever lands first is the one."""
    house = House(world.url, tmp_path, contracts=("key_and_lookup",), settling_s=1.0)
    order = "late-key"
    world.script("key_and_lookup", {"order": order}, [Behaviour("late_execution", seconds=3)])
    action = call(house, "key_and_lookup", order)
    assert action.state is State.CONFIRMED
    world.wait_idle(10)
    house.close()
    assert world.count("key_and_lookup", order=order) == 1


# ---------------------------------------------------------------------------- one intent, one key


@pytest.mark.parametrize("behaviour", ["ok", "request_lost"])
def test_the_same_key_with_another_amount_is_a_conflict(world, tmp_path, behaviour):
    """Settled or still open: the fields are named, and nothing is sent."""
    house = House(world.url, tmp_path, contracts=("neither",))
    order = f"conflict-{behaviour}"
    world.script("neither", {"order": order}, [behaviour])
    first = call(house, "neither", order, amount=10)
    sent = len(world.arrivals("neither", order=order))
    with pytest.raises(IntentConflict) as caught:
        call(house, "neither", order, amount=11)
    after = house.record(order)
    house.close()
    assert caught.value.context["fields"] == ["amount"]
    assert "amount" in str(caught.value)
    assert caught.value.context["action"] == first.id
    assert len(world.arrivals("neither", order=order)) == sent == 1
    assert after == first.record


@pytest.mark.parametrize("contract", FIVE)
def test_four_processes_with_the_same_25_intents_at_one_instant(world, tmp_path, start, contract):
    """One effect each; each of the hundred callers is told the truth."""
    house = House(world.url, tmp_path, contracts=(contract,), budget=PATIENT)
    orders = [f"crowd-{contract}-{n}" for n in range(25)]
    at = time.monotonic() + 0.8

    async def one(order):
        asked_at = time.time()
        async with house.app.session(order, principal="u"):
            action = await house.asynchronous[contract](order=order)
        return [order, told(statement(asked_at, action.record))]

    async def crowd():
        house.app.open()
        await asyncio.get_running_loop().run_in_executor(
            None, Event().wait, max(0.0, at - time.monotonic())
        )
        answers = await asyncio.gather(*(one(order) for order in orders))
        await house.aclient.aclose()
        return answers

    children = [start(lambda: asyncio.run(crowd())) for _ in range(4)]
    heard = [answer for child in children for answer in child.end().value]
    heal(house, *orders)
    wrong = [
        f"{order}: {fault} {course(house, order)}"
        for order in orders
        for fault in judged(
            world, house, contract, order, "ok",
            told=[Statement(**said) for name, said in heard if name == order],
        )
    ]  # fmt: skip
    effects = [world.count(contract, order=order) for order in orders]
    states = Counter(said["state"] for _, said in heard)
    refs = {order: {s["provider_ref"] for name, s in heard if name == order} for order in orders}
    house.close()
    print(f"{contract}: 100 callers were told {dict(states)}")
    assert not wrong, "\n".join(wrong)
    assert effects == [1] * 25
    assert states == {"confirmed": 100}
    assert all(len(told_refs) == 1 for told_refs in refs.values())


# -------------------------------------------------------------- the provider and the SDK surprise


@pytest.mark.parametrize("contract", FIVE)
def test_a_duplicate_delivery_is_noticed_where_a_look_up_exists(world, tmp_path, contract):
    """The network delivers one request twice; without a key that makes two effects."""
    house = House(world.url, tmp_path, contracts=(contract,))
    order = f"twice-{contract}"
    world.script(contract, {"order": order}, ["duplicate_delivery"])
    first = call(house, contract, order)
    (record,) = heal(house, order)
    wrong = judged(world, house, contract, order, "duplicate_delivery")
    house.close()
    keyed = contract in ("key_and_lookup", "key_only")
    assert not wrong, wrong
    assert first.state is State.CONFIRMED
    assert world.count(contract, order=order) == (1 if keyed else 2)
    noticed = contract in ("lookup_only", "fencing_lookup")
    assert (record.disputed, record.review) == (noticed, "duplicate_effect" if noticed else None)
    assert record.sends == 1, "our record shows one send: the double is not our doing"


def test_an_sdk_that_repeats_by_itself_is_counted(world, tmp_path):
    """A loop in the body, and a retry in the transport: every send is in the record."""
    app = Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none")
    client = app.watch(httpx.Client(base_url=world.url))
    below = requests.Session()
    retry = Retry(total=2, status_forcelist=[503], allowed_methods=None, backoff_factor=0)
    below.mount("http://", HTTPAdapter(max_retries=retry))
    session = app.watch(below)

    @app.tool(identity=["order"], key_lifetime="24h", receipt="ref", name="create_by_loop")
    def by_loop(order: str) -> dict:
        for last in (False, False, True):
            try:
                reply = client.post(
                    "/key_only", json={"order": order}, headers={"Idempotency-Key": key()}
                )
                return reply.raise_for_status().json()
            except httpx.HTTPError:
                if last:
                    raise
        raise AssertionError("the last one returns or raises")

    @app.tool(identity=["order"], key_lifetime="24h", receipt="ref", name="create_below")
    def below_us(order: str) -> dict:
        reply = session.post(
            f"{world.url}/key_only", json={"order": order}, headers={"Idempotency-Key": key()}
        )
        reply.raise_for_status()
        return reply.json()

    world.script("key_only", {"order": "by-loop"}, ["reply_lost", "error_500_before"])
    world.script("key_only", {"order": "below"}, ["unavailable_503_before"] * 2)
    for order, tool in (("by-loop", by_loop), ("below", below_us)):
        with app.session(order, principal="u"):
            action = tool(order=order)
        (*_, last) = app.ledger.events(action.id)
        assert action.state is State.CONFIRMED
        assert world.count("key_only", order=order) == 1
        assert len(world.arrivals("key_only", order=order)) == 3
        assert (action.attempt, action.record.sends) == (1, 3)
        assert json.loads(last.detail)["sends"] == 3, "and the event says so"
    app.close()
    client.close()
    below.close()


@pytest.mark.parametrize("retries", [0, 2])
def test_connects_that_a_transport_repeats_are_seen_one_by_one(tmp_path, retries):
    """httpx's own `retries=` repeats connects. The hooks saw each of them, and nothing left."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        app = Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none")
        transport = httpx.HTTPTransport(retries=retries)
        client = app.watch(httpx.Client(base_url=url, transport=transport))

        @app.tool(identity=["order"], via=[client], budget=replace(BUDGET, turn_sends=1))
        def create_ticket(order: str) -> dict:
            return client.post("/tickets", json={"order": order}).raise_for_status().json()

        with app.session("s", principal="u"):
            action = create_ticket(order="A1")
        events = app.ledger.events(action.id)
        app.close()
        client.close()
    assert json.loads(events[2].detail)["sends"] == 1 + retries, "each connect was seen"
    assert (events[2].event, events[2].reason) == ("unsend", "nothing_left")
    assert (action.state, action.kind) == (State.REJECTED, "withdrawn")


def test_more_open_actions_than_threads_heal_without_a_person(tmp_path, start):
    """A hundred sync calls die at once; the worker takes up no more than it has threads for."""

    def shop(takes_s):
        app = Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none", lease_s=3.0)

        @app.tool(identity=["order"], key_lifetime="24h", budget=replace(PATIENT, sends=3))
        def create_ticket(order: str) -> str:
            Event().wait(takes_s)  # this tool IS slow
            return order

        return app, create_ticket

    def die():
        app, create_ticket = shop(takes_s=30.0)
        app.open()

        def one(n):
            with app.session(f"s{n}", principal="u"):
                create_ticket(order=f"o{n}")

        for n in range(100):
            Thread(target=one, args=(n,), daemon=True).start()
        give_up_at = time.monotonic() + 4.0
        while app.ledger.counts().get("sent", 0) < 100:
            assert time.monotonic() < give_up_at, app.ledger.counts()
        os.kill(os.getpid(), signal.SIGKILL)

    assert start(die).end().killed
    app, _ = shop(takes_s=0.1)
    opened = app.ledger.find(Filter(open_only=True, limit=1000))
    app.recover()
    ends = Counter()
    for record in opened:
        now = app.ledger.get(record.id)
        ends[str(now.state), now.review, now.attempt] += 1
    app.close()
    print(f"{len(opened)} open actions: {dict(ends)}")
    assert ends == {("confirmed", None, 2): 100}


# ---------------------------------------------------------------------- cancelled, and hanging on


@pytest.mark.parametrize("contract", FIVE)
async def test_a_cancelled_caller_leaves_unknown_and_the_late_result_lands(
    world, tmp_path, contract
):
    """Cancelled with its write at the provider: unknown at once; the answer comes all the same."""
    house = House(world.url, tmp_path, contracts=(contract,), budget=PATIENT)
    order = f"cancelled-{contract}"
    world.script(contract, {"order": order}, [Behaviour("slow_deadline", seconds=0.8)])

    async def caller():
        async with house.app.session(order, principal="u"):
            await house.asynchronous[contract](order=order)

    task = asyncio.create_task(caller())
    await until(lambda: world.arrivals(contract, order=order), "it has sent")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    record = house.record(order)
    assert (record.state, world.count(contract, order=order)) == (State.UNKNOWN, 0)
    await until(lambda: house.record(order).state is State.CONFIRMED, "the late result has landed")
    last = house.app.ledger.events(record.id)[-1]
    await house.aclient.aclose()
    wrong = judged(world, house, contract, order, "slow_deadline")
    house.app.close()
    house.client.close()
    assert not wrong, wrong
    assert (last.event, last.by) == ("confirm", "call"), "by its own result, not by a look-up"
    assert world.count(contract, order=order) == 1


def test_a_sync_body_that_hangs_beyond_its_deadline(world, tmp_path):
    """Others see unknown at the deadline; the body's late result lands on its own action."""
    house = SdkHouse(world.url, tmp_path, contracts=("neither",))
    order = "hanging"
    world.script("neither", {"order": order}, [Behaviour("slow_deadline", seconds=2.0)])
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        hanging = pool.submit(call, house, "neither", order)
        seen = lambda: (found := house.record(order)) and found.state is State.UNKNOWN  # noqa: E731
        world.wait_until(seen, "others see unknown")
        seen_after_s = time.monotonic() - began
        other = call(house, "neither", order)
        assert not hanging.done()
        assert (other.state, other.how) == (State.UNKNOWN, "joined")
        action = hanging.result(20)
    record, history = house.record(order), course(house, order)
    wrong = judged(world, house, "neither", order, late_replies=True)
    house.close()
    assert BUDGET.send_deadline_s <= seen_after_s < 1.9, "at the deadline, not at the end"
    assert not wrong, (wrong, history)
    assert (action.state, record.state) == (State.CONFIRMED, State.CONFIRMED), history
    assert "lose:deadline" in history
    assert world.count("neither", order=order) == 1


async def until(holds, what, within_s=10.0):
    """Wait for it on the running loop, with a deadline."""
    give_up_at = time.monotonic() + within_s
    look = asyncio.Event()
    while not holds():
        assert time.monotonic() < give_up_at, f"not within {within_s:g} s: {what}"
        asyncio.get_running_loop().call_later(0.01, look.set)
        await look.wait()
        look.clear()
