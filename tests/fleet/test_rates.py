"""A provider never sees more than its declared rate, whoever speaks to it."""

import asyncio
import time

import pytest

from ascertain import Rate, deadline
from tests.fleet.storm import Storm, storm

pytestmark = pytest.mark.every_ledger

PER_S = 80
ORDERS = 240


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_req_S04_after_an_outage_the_provider_sees_no_more_than_its_rate(fleet, processes):
    """Look-ups and re-sends of all workers together, in any second wherever it begins."""
    found = storm(fleet, ORDERS, processes, PER_S)
    assert found.wrong() == [], "\n".join(found.lines())
    assert found.took_s < 1.4 * found.at_best_s + 1.0, "\n".join(found.lines())


FINE = Storm(
    orders=4, processes=1, per_s=5, killed=0, requests=5, busiest=5, took_s=1.0,
    states={"confirmed": 4}, effects=4, keys=4, broken=(),
)  # fmt: skip


@pytest.mark.one_ledger
@pytest.mark.parametrize(
    "seen, said",
    [
        ({"busiest": 6}, "6 requests came within a second, 5 may"),
        ({"states": {"confirmed": 3, "unknown": 1}}, "of 4 actions there are"),
        ({"effects": 5}, "5 effects of 4 keys for 4 orders"),
        ({"effects": 3, "keys": 3}, "3 effects of 3 keys for 4 orders"),
        ({"requests": 4}, "those that were lost are asked for and sent"),
        ({"broken": ("the chain of A1",)}, "the chain of A1"),
    ],
)
def test_what_must_not_be_is_named(seen, said):
    assert FINE.wrong() == []
    (wrong,) = FINE._replace(**seen).wrong()
    assert said in wrong


def test_callers_count_against_the_rate_and_go_before_the_backlog(fleet):
    """An agent is answered at once while workers have seconds of work before them."""
    fleet.outage([f"A-{n}" for n in range(2 * ORDERS)])
    app, _ = made = fleet.shop(f"{PER_S}/s")
    began = time.time()
    fleet.start(rate=f"{PER_S}/s")
    fleet.world.wait_until(lambda: len(fleet.world.arrivals(method="GET")) > PER_S // 2)

    async def calls():
        waited = []
        async with app.session("agent", principal="u8") as session:
            for n in range(20):
                start = time.perf_counter()
                action = await session.call_async("create_ticket", {"order_id": f"agent-{n}"})
                waited.append(time.perf_counter() - start)
                assert action.confirmed, (action.state, action.reason)
        return waited

    waited = made.run(calls())
    assert fleet.ledger.next_due_at() is not None, "the backlog was still being worked on"
    assert sorted(waited)[len(waited) // 2] < 0.5, "half of them waited less than that"
    fleet.wait()
    assert fleet.world.busiest(1.0, since=began) <= PER_S


def test_a_caller_waits_for_its_turn_within_its_deadline(fleet):
    """Three at once where two may go: the third goes a second later."""
    app, _ = made = fleet.shop("2/s")

    async def calls():
        async with app.session("agent", principal="u8") as session:
            begun = [
                session.call_async("create_ticket", {"order_id": f"agent-{n}"}) for n in range(3)
            ]
            return await asyncio.gather(*begun)

    began = time.time()
    actions = made.run(calls())
    assert [action.state for action in actions] == ["confirmed"] * 3
    assert time.time() - began >= 1.0
    assert fleet.world.busiest() == 2


def test_a_caller_whose_turn_cannot_come_is_refused_before_anything_is_sent(fleet):
    """Temporary: nothing reached the provider, and in the next window the same call goes."""
    app, _ = made = fleet.shop(Rate("1/3s", group="desk"))

    async def calls():
        async with app.session("agent", principal="u8") as session:
            first = await session.call_async("create_ticket", {"order_id": "A1"})
            began = time.perf_counter()
            with deadline(1.5):
                second = await session.call_async("create_ticket", {"order_id": "A2"})
                read = await session.call_async("query_ticket", {"order_id": "A1"})
            took_s = time.perf_counter() - began
            facts = second.facts()
            fleet.world.wait_until(lambda: time.time() > first_at(fleet) + 3.5)
            again = await session.call_async("create_ticket", {"order_id": "A2"})
            return first, second, took_s, facts, read, again

    first, second, took_s, facts, read, again = made.run(calls())
    assert first.confirmed
    assert (second.state, second.reason) == ("rejected", "rate_used_up")
    assert took_s < 1.0, "it is told at once that its turn cannot come"
    assert facts["actions"][0]["reason"] == "rate_used_up"
    assert facts["next_allowed"] == ["wait", "call_again"]
    assert "nothing was sent" in facts["say"]["en"]
    assert "尚未发出" in facts["say"]["zh-CN"]
    assert (read.state, read.reason) == ("rejected", "rate_used_up")
    assert not read.record.final
    assert again.confirmed
    assert again.id != second.id
    assert [effect.args["order"] for effect in fleet.world.effects()] == ["A1", "A2"]
    assert len(fleet.world.arrivals()) == 2


def first_at(fleet):
    return fleet.world.arrivals()[0].received_at


def test_a_guarded_write_with_a_rate_is_still_two_commits(fleet):
    """Its turn is taken and given back in the transactions that there are anyway."""
    app, _ = made = fleet.shop("100/s")
    batches = []
    submit = app.ledger.submit
    app.ledger.submit = lambda operations, **rest: (
        batches.append([type(one).__name__ for one in operations]),
        submit(operations, **rest),
    )[1]

    async def call():
        async with app.session("agent", principal="u8") as session:
            return await session.call_async("create_ticket", {"order_id": "A1"})

    assert made.run(call()).confirmed
    assert batches == [["Reserve"], ["Advance"]]
