"""Hosts and servers of the 2025 and the 2026-07-28 revisions, in every pairing."""

import asyncio
from contextlib import asynccontextmanager

import mcp_types as types
import pytest
from mcp import Client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tests.mcp.house import MODES, Host, fact, state

PAIRS = [(host, server) for host in MODES for server in MODES]
pairs = pytest.mark.parametrize("host_mode,server_mode", PAIRS)


async def yes(context, params):
    return types.ElicitResult(action="accept", content={"sure": True})


@asynccontextmanager
async def asking(house, **said):
    """A client of today that can be asked."""
    async with (
        house.proxy(**said) as server,
        Client(server, mode=MODES[0], elicitation_callback=yes) as client,
    ):
        yield client


@pairs
async def test_every_pairing_speaks_its_own_revision_on_each_side(house, host_mode, server_mode):
    house.server_mode = server_mode
    async with house.host(mode=host_mode) as host:
        result = await host.ticket()
        modern = host.client.protocol_version in MODERN_PROTOCOL_VERSIONS
        assert modern is (host_mode != "legacy")
        assert state(result) == "confirmed"
    assert len(house.shop.tickets()) == 1


@pairs
async def test_a_server_that_asks_back_gets_the_persons_answer(house, host_mode, server_mode):
    house.server_mode = server_mode
    async with house.host(mode=host_mode, elicitation_callback=yes) as host:
        result = await host.call("refund", order_id="A1")
        assert (state(result), result.content[0].text) == ("confirmed", "refunded A1")
        again = await host.call("refund", order_id="A1")
        assert state(again) == "confirmed"
    assert [row["issue"] for row in house.shop.tickets()] == ["refund True"], "one effect"


@pairs
async def test_where_nobody_can_be_asked_the_effect_is_not_claimed(house, host_mode, server_mode):
    house.server_mode = server_mode
    async with house.host(mode=host_mode) as host:
        result = await host.call("refund", order_id="A1")
    assert (state(result), result.is_error) == ("unknown", True)
    assert house.shop.tickets() == []


@pairs
async def test_progress_reaches_the_host(house, host_mode, server_mode):
    house.server_mode = server_mode
    heard = []

    async def on_progress(progress, total, message):
        heard.append((progress, total, message))

    async with house.host(mode=host_mode) as host:
        result = await host.client.call_tool(
            "count_to", {"order_id": "A1", "top": 3}, progress_callback=on_progress
        )
        assert state(result) == "confirmed"
    assert heard == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


async def test_the_answer_to_a_question_works_once(house):
    async with asking(house) as client:
        first = await client.session.call_tool(
            "refund", {"order_id": "A1"}, allow_input_required=True
        )
        assert isinstance(first, types.InputRequiredResult)
        (name,) = first.input_requests
        answers = {name: types.ElicitResult(action="accept", content={"sure": True})}
        said = {"input_responses": answers, "request_state": first.request_state}
        results = await asyncio.gather(
            *(client.session.call_tool("refund", {"order_id": "A1"}, **said) for _ in range(2))
        )
    assert {state(result) for result in results} == {"confirmed"}
    assert len(house.shop.tickets()) == 1


async def test_a_host_that_never_answers_leaves_an_action_that_says_so(house):
    tools = {"refund": {"budget": {"turn_s": 0.4, "send_deadline_s": 0.3}}}
    async with asking(house, tools=tools) as client:
        first = await client.session.call_tool(
            "refund", {"order_id": "A1"}, allow_input_required=True
        )
        assert isinstance(first, types.InputRequiredResult)
        again = await Host(client).call("refund", order_id="A1")
    assert fact(again)["actions"][0]["state"] == "unknown"
    assert house.shop.tickets() == []


async def test_data_that_is_no_object_goes_to_hosts_of_2025_as_text(house):
    from ascertain.adapters.mcp.render import for_legacy

    told = for_legacy({"content": [], "structuredContent": [1, 2], "isError": False})
    assert told == {"content": [], "isError": False}
