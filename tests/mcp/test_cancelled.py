"""A cancelled write goes on, and whoever asks is told what is known at that moment."""

import asyncio

import pytest
from mcp import Client

from tests.mcp.house import MODES, TICKETS, Host, fact, reason, state, until

modes = pytest.mark.parametrize("mode", MODES)


async def gives_up(house, host):
    """A call whose host gives it up while the server is at work, after the effect."""
    house.shop.next("slow")
    call = asyncio.create_task(host.call("send_note", order_id="A1", text="x"))
    await until(house.folder / "began")
    call.cancel()
    await asyncio.wait([call])
    assert call.cancelled()


def stored(house):
    with house.ledger() as ledger:
        (record,) = ledger.find(house.everything)
    return record


def goes_on(house):
    (house.folder / "go").touch()


@modes
async def test_until_the_server_has_answered_it_is_sent_and_neither_done_nor_lost(house, mode):
    async with house.host(mode=mode) as host:
        await gives_up(house, host)
        assert (str(stored(house).state), stored(house).attempt) == ("sent", 1)
        asks = asyncio.create_task(host.call("send_note", order_id="A1", text="x"))
        done, _ = await asyncio.wait([asks], timeout=0.2)
        assert not done, "who asks waits for the answer that is on its way, and nothing is sent"
        goes_on(house)
        assert state(await asks) == "confirmed"
        assert stored(house).attempt == 1
    assert len(house.shop.tickets()) == 1


@modes
async def test_a_late_answer_is_recorded_although_no_host_is_there(house, mode):
    async with house.proxy() as server:
        async with Client(server, mode=mode) as client:
            await gives_up(house, Host(client))
        goes_on(house)
        async with Client(server, mode=mode) as client:
            told = await Host(client).call("send_note", order_id="A1", text="x")
        assert state(told) == "confirmed"
        assert told.structured_content == {"ticket_id": "T900", "again": False}
    assert (str(stored(house).state), stored(house).attempt) == ("confirmed", 1)
    assert len(house.shop.tickets()) == 1


@modes
async def test_after_its_deadline_it_is_unknown_to_whoever_asks_and_never_sent_again(house, mode):
    tools = {"send_note": {"budget": {"turn_s": 5.0, "send_deadline_s": 0.3}}}
    async with house.host(mode=mode, tools=tools) as host:
        await gives_up(house, host)
        for _ in range(2):
            told = await host.call("send_note", order_id="A1", text="x")
            assert (state(told), told.is_error) == ("unknown", True)
            assert reason(told) == "cannot_ask"
            assert not {"call_again", "wait"} & set(fact(told)["next_allowed"])
        goes_on(house)
    assert len(house.shop.tickets()) == 1


async def test_where_it_can_be_looked_up_who_asks_hears_what_the_look_up_says(house):
    lost = {**TICKETS, "budget": {"turn_s": 3.0, "send_deadline_s": 0.3}}
    async with house.host(tools={"create_ticket": lost}) as host:
        house.shop.next("slow")
        call = asyncio.create_task(host.ticket())
        await until(house.folder / "began")
        call.cancel()
        await asyncio.wait([call])
        told = await host.ticket()
        assert (state(told), fact(told)["actions"][0]["provider_ref"]) == ("confirmed", "T900")
        goes_on(house)
    assert len(house.shop.tickets()) == 1


async def test_a_call_that_is_given_up_while_it_waits_for_approval_still_waits(house):
    """Nothing was sent, and nothing is: giving up is no decision on it."""
    asked = asyncio.Event()

    async def never(context, params):
        asked.set()
        await asyncio.Event().wait()

    tools = {"create_ticket": {**TICKETS, "approval": True}}
    async with house.host(mode="legacy", tools=tools, elicitation_callback=never) as host:
        call = asyncio.create_task(host.ticket())
        await asked.wait()
        call.cancel()
        await asyncio.wait([call])
        with house.person() as person:
            assert str(person.waits().state) == "prepared"
            person.approve()
        assert state(await host.ticket()) == "confirmed"
    assert len(house.shop.tickets()) == 1
