"""Hosts that leave, give up, come back: whatever they send again is the same action."""

import asyncio

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.mcp.house import MODES, Host, reason, state, until


@pytest.mark.parametrize("mode", MODES)
async def test_a_cancelled_call_goes_on_and_the_call_that_comes_again_hears_its_end(house, mode):
    async with house.host(mode=mode) as host:
        house.shop.next("slow")
        first = asyncio.create_task(host.ticket())
        await until(house.folder / "began")
        first.cancel()
        await asyncio.wait([first])
        assert first.cancelled()
        again = asyncio.create_task(host.ticket(issue="the same, reworded"))
        (house.folder / "go").touch()
        assert state(await again) == "confirmed"
    assert len(house.shop.tickets()) == 1


async def test_a_host_that_times_out_and_calls_again_at_once_waits_for_the_first(house):
    async with house.host(mode="legacy") as host:
        house.shop.next("slow")
        with pytest.raises(MCPError) as told:
            await host.client.call_tool(
                "create_ticket", {"order_id": "A1", "issue": "x"}, read_timeout_seconds=0.1
            )
        assert told.value.code == types.REQUEST_TIMEOUT
        again = asyncio.create_task(host.ticket())
        (house.folder / "go").touch()
        assert state(await again) == "confirmed"
    assert len(house.shop.tickets()) == 1


async def test_two_hosts_at_once_with_one_wish_are_one_effect(house):
    async with (
        house.proxy() as server,
        Client(server, mode=MODES[0]) as one,
        Client(server, mode=MODES[0]) as other,
    ):
        results = await asyncio.gather(*(Host(host).ticket() for host in (one, other) * 4))
    assert {state(result) for result in results} == {"confirmed"}
    assert len(house.shop.tickets()) == 1


async def test_a_host_that_disconnects_loses_nothing(house):
    async with house.proxy() as server:
        house.shop.next("slow")
        async with Client(server, mode="legacy") as host:
            call = asyncio.create_task(Host(host).ticket())
            await until(house.folder / "began")
            call.cancel()
        (house.folder / "go").touch()
        async with Client(server, mode="legacy") as host:
            assert state(await Host(host).ticket()) == "confirmed"
    assert len(house.shop.tickets()) == 1


async def test_a_proxy_that_is_started_again_goes_on_in_the_same_turn(house):
    async with house.host() as host:
        await host.ticket()
    async with house.host() as host:
        result = await host.ticket()
    assert state(result) == "confirmed"
    assert len(house.shop.tickets()) == 1


async def test_an_equal_call_long_after_the_last_one_is_a_new_wish(house):
    async with house.host(turn_idle="0s") as host:
        await host.ticket()
        await asyncio.to_thread(house.later)
        await host.ticket()
    assert len(house.shop.tickets()) == 2


async def test_what_is_open_is_the_same_wish_however_late(house):
    async with house.host(turn_idle="0s") as host:
        house.shop.next("die_after")
        await host.call("send_note", order_id="A1", text="x")
        await asyncio.to_thread(house.later)
        result = await host.call("send_note", order_id="A1", text="x")
    assert state(result) == "unknown"
    assert len(house.shop.tickets()) == 1


async def test_where_several_hosts_may_call_a_write_needs_a_conversation(house):
    async with house.host(shared=True, trust_annotations=True) as host:
        assert (await host.call("ping", text="hello")).content[0].text == "hello"
        refused = await host.ticket()
        assert refused.structured_content["error"] == "no_session"
        assert house.shop.tickets() == []
        await host.ticket(session="chat-1")
        await host.ticket(session="chat-1")
        await host.ticket(session="chat-2")
    assert len(house.shop.tickets()) == 2


async def test_a_server_that_forgot_the_session_has_done_nothing_and_is_asked_anew(house):
    async with house.host() as host:
        house.shop.next("forget")
        result = await host.call("send_note", order_id="A1", text="x")
    assert state(result) == "confirmed", "proved not sent, so even a blind write may go again"
    assert (len(house.shop.tickets()), house.reach) == (1, 2)


async def test_what_was_under_way_when_a_session_ended_has_lost_its_answer(house):
    """Another call is told that the session is not known; this one was run, and is not repeated."""
    async with house.host() as host:
        house.shop.next("slow")
        slow = asyncio.create_task(host.call("send_note", order_id="A1", text="x"))
        await until(house.folder / "began")
        house.shop.next("forget")
        other = await host.call("send_note", order_id="A2", text="y")
        (house.folder / "go").touch()
        assert state(await slow) == "unknown"
    assert state(other) == "confirmed"
    assert sorted(row["order"] for row in house.shop.tickets()) == ["A1", "A2"]


async def test_a_server_that_cannot_be_reached_was_sent_nothing(house):
    tools = {"send_note": {"budget": {"turn_s": 2.0, "send_deadline_s": 2.0, "backoff_s": 0.05}}}
    async with house.host(tools=tools) as host:
        house.down = True
        house.cut()
        await house.left.wait()
        result = await host.call("send_note", order_id="A1", text="x")
        assert state(result) != "confirmed"
        assert reason(result) != "cannot_ask", "nothing was sent, so there is nothing to ask about"
        house.down = False
        again = await host.call("send_note", order_id="A1", text="x")
    assert state(again) == "confirmed"
    assert len(house.shop.tickets()) == 1
