"""The fault table for chains: three steps, every behaviour of the provider at each of them.

And at each undo, in a chain whose last step is refused. Whatever goes wrong, the wish ends
completed, undone, or with a person; nothing happens twice; what is said is what the provider holds.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack
from threading import Event

import httpx
import pytest

from ascertain import Ascertain, State
from ascertain.rules.project import WorkflowState
from ascertain.testing import invariants
from ascertain.testing.world import Behaviour, World
from tests.ledgers import ledger_url
from tests.requirements.order import PROVIDERS, Shop

pytestmark = pytest.mark.every_ledger

BEHAVIOURS = [
    Behaviour("ok"),
    Behaviour("request_lost"),
    Behaviour("reply_lost"),
    Behaviour("slow_deadline", seconds=0.6),
    Behaviour("error_500_before"),
    Behaviour("error_500_after"),
    Behaviour("unavailable_503_before"),
    Behaviour("unavailable_503_after"),
    Behaviour("throttled", retry_after_s=1),
    Behaviour("error_body_2xx"),
    Behaviour("forbidden_403"),
    Behaviour("truncated"),
    Behaviour("duplicate_delivery"),
    Behaviour("lookup_misses_first"),
]
STEPS = {"stock": "reserve_stock", "payment": "charge_card", "shipment": "create_shipment"}
ENDS = {
    WorkflowState.COMPLETED, WorkflowState.COMPENSATED, WorkflowState.REFUSED,
    WorkflowState.NEEDS_REVIEW,
}  # fmt: skip
PLACES = [*STEPS, "undo-payment", "undo-stock"]


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Provider and shop for each kind of ledger: the same orders are new to each."""
    with ExitStack() as stack:
        made = {}

        def of(kind):
            if kind not in made:
                world = stack.enter_context(World(dict(PROVIDERS)))
                folder = tmp_path_factory.mktemp("faults")
                app = Ascertain(ledger_url(f"{folder}/ledger.db"), worker="none", lease_s=0.3)
                stack.callback(app.close)
                client = app.watch(httpx.Client(base_url=world.url))
                stack.callback(client.close)
                made[kind] = world, Shop(app, client)
            return made[kind]

        yield of


@pytest.fixture
def world(places, ledger_kind):
    return places(ledger_kind)[0]


@pytest.fixture
def shop(places, ledger_kind):
    return places(ledger_kind)[1]


def fulfil(shop, order):
    session = shop.app.session(order, principal="u7")
    with session, session.chain("fulfil", wish=("fulfilled", "履约")) as wish:
        shop.reserve(order_id=order)
        shop.charge(order_id=order)
        shop.ship(order_id=order)
    return wish


def settled(shop, order):
    """The code is run again and workers pass, until the wish has ended."""
    until, wish = time.monotonic() + 20.0, fulfil(shop, order)
    while wish.state not in ENDS:
        assert time.monotonic() < until, wish.facts()
        shop.app.recover()
        wish = fulfil(shop, order)
        Event().wait(0.02)
    return wish


def wrong(shop, world, wish, order):
    """All that must hold and does not."""
    around = wish.around()
    events = {record.id: shop.app.ledger.events(record.id) for _, record in around.members}
    yield from map(str, invariants.chain_holds(around, events))
    for member, record in around.members:
        part = record.tool.replace("undo_", "undo-")
        part = next((name for name, tool in STEPS.items() if tool == part), part)
        effects = [
            invariants.WorldEffect(key=str(one.key), ref=one.ref, sending=str(one.arrival))
            for one in world.effects(part, order=order)
            if str(one.key) == record.key
        ]
        if member.undoes or record.state is not State.COMPENSATED:
            yield from map(str, invariants.no_lie(record, effects))
        yield from map(str, invariants.no_duplicate_effect(record, effects))
        yield from map(str, invariants.projection(None, record, events[record.id]))
        yield from shop.app.ledger.verify(record.id)
    for part in STEPS:
        if world.count(f"undo-{part}", order=order) > world.count(part, order=order):
            yield f"{part} was undone more often than it was done"


@pytest.mark.timeout(120)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda one: one.name)
def test_whatever_a_provider_does_at_a_step_or_an_undo_the_wish_ends_honestly(
    shop, world, place, behaviour
):
    order = f"{place}/{behaviour.name}"
    world.script(place, {"order": order}, [behaviour])
    if place.startswith("undo-"):
        world.script("shipment", {"order": order}, ["error_body_2xx"])
    wish = settled(shop, order)
    told = Counter(str(record.state) for _, record in wish.around().members)
    print(f"{order:44} {wish.state!s:14} {dict(told)}")
    assert not list(wrong(shop, world, wish, order))
    if behaviour.name == "ok":
        undone = place.startswith("undo-")
        assert wish.state is (WorkflowState.COMPENSATED if undone else WorkflowState.COMPLETED)
