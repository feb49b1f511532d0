"""A host's calls through the proxy: one effect for one wish, and nothing said that is not known."""

import json

import pytest

from tests.mcp.house import MODES, fact, reason, state


@pytest.mark.parametrize("mode", MODES)
async def test_a_confirmed_result_is_the_servers_own_with_the_fact_beside_it(house, mode):
    async with house.host(mode=mode) as host:
        result = await host.ticket()
    assert not result.is_error
    assert result.structured_content == {"ticket_id": "T900", "again": False}
    (action,) = fact(result)["actions"]
    assert action == {
        "name": "create_ticket", "state": "confirmed", "provider_ref": "T900", "attempt": 1,
    }  # fmt: skip
    assert json.loads(result.content[-1].text) == fact(result), "the model reads it too"


async def test_the_same_wish_again_reworded_and_under_a_new_request_is_one_effect(house):
    async with house.host() as host:
        first = await host.ticket(issue="noise in the left ear")
        again = await host.ticket(issue="the left ear makes a noise")
    assert [state(first), state(again)] == ["confirmed", "confirmed"]
    assert again.structured_content == first.structured_content
    assert [row["issue"] for row in house.shop.tickets()] == ["noise in the left ear"]


async def test_another_order_is_another_wish_and_so_is_a_second_that_the_host_names(house):
    async with house.host() as host:
        await host.ticket("A1")
        await host.ticket("A2")
        await host.ticket("A1", ordinal="2")
        await host.ticket("A1", ordinal="2")
    assert [row["order"] for row in house.shop.tickets()] == ["A1", "A2", "A1"]


async def test_a_hosts_own_call_id_is_the_same_action_in_whatever_turn_it_comes(house):
    async with house.host() as host:
        await host.call("send_note", {"claudecode/toolUseId": "toolu_1"}, order_id="A1", text="x")
        again = {"claudecode/toolUseId": "toolu_1", "ascertain.dev/turn": "later"}
        result = await host.call("send_note", again, order_id="A1", text="x")
    assert state(result) == "confirmed"
    assert len(house.shop.tickets()) == 1


async def test_a_new_turn_that_the_host_names_is_a_new_wish(house):
    async with house.host() as host:
        await host.ticket(turn="m1")
        await host.ticket(turn="m1")
        await host.ticket(turn="m2")
    assert len(house.shop.tickets()) == 2


@pytest.mark.parametrize("mode", MODES)
async def test_a_lost_answer_is_looked_up_and_never_sent_again(house, mode):
    async with house.host(mode=mode) as host:
        house.shop.next("die_after")
        result = await host.ticket()
        assert (state(result), result.is_error) == ("confirmed", False)
        assert fact(result)["actions"][0]["provider_ref"] == "T900"
    assert len(house.shop.tickets()) == 1
    assert house.reach == 2, "the look-up went over a new connection"


async def test_what_never_happened_is_sent_again_by_the_same_key(house):
    async with house.host() as host:
        house.shop.next("die_before")
        result = await host.ticket()
        assert state(result) == "confirmed"
    assert len(house.shop.tickets()) == 1


async def test_a_lost_answer_that_nobody_can_look_up_is_unknown_and_stays_one_effect(house):
    async with house.host() as host:
        house.shop.next("die_after")
        result = await host.call("send_note", order_id="A1", text="hello")
        assert (state(result), result.is_error) == ("unknown", True)
        assert result.structured_content == fact(result)
        again = await host.call("send_note", order_id="A1", text="hello")
        assert state(again) == "unknown"
    assert len(house.shop.tickets()) == 1


@pytest.mark.parametrize(
    "behaviour,expected,effects",
    [
        ("invalid", "rejected", 0),
        ("no_method", "rejected", 0),
        ("closed", "rejected", 0),
        ("error_after", "confirmed", 1),
        ("internal_error", "confirmed", 1),
    ],
)
async def test_only_declared_refusals_are_refusals(house, behaviour, expected, effects):
    async with house.host() as host:
        house.shop.next(behaviour)
        result = await host.ticket()
    assert state(result) == expected
    assert result.is_error is (expected == "rejected")
    assert len(house.shop.tickets()) == effects


async def test_an_error_result_of_a_tool_of_which_nothing_is_said_is_unknown(house):
    async with house.host() as host:
        house.shop.next("error_after")
        result = await host.call("send_note", order_id="A1", text="hello")
    assert (state(result), result.is_error) == ("unknown", True)
    said = result.structured_content["provider_data"]
    assert said["content"] == "Error executing tool send_note"
    assert said["note"].startswith("Data from the provider."), "it is shown as data"


async def test_the_key_is_ours_alone_whatever_the_model_says(house):
    async with house.host() as host:
        (tool,) = [t for t in (await host.client.list_tools()).tools if t.name == "create_ticket"]
        assert "request_id" not in tool.input_schema["properties"]
        await host.call("create_ticket", order_id="A1", issue="x", request_id="1234")
    (row,) = house.shop.tickets()
    (meta,) = house.shop.metas
    assert row["request"] == meta["ascertain.dev/idempotency-key"]
    assert len(row["request"]) == 32


async def test_what_a_host_says_in_meta_goes_on_to_the_server_except_what_is_ours(house):
    async with house.host() as host:
        await host.call(
            "create_ticket",
            {"shop.example/trace": "t1", "ascertain.dev/turn": "m1"},
            order_id="A1",
            issue="x",
        )
    (meta,) = house.shop.metas
    assert meta["shop.example/trace"] == "t1"
    assert "ascertain.dev/turn" not in meta


async def test_what_was_left_out_stays_left_out_and_null_stays_null(house):
    async with house.host() as host:
        await host.call("send_note", order_id="A1", text="hello")
        refused = await host.call("send_note", order_id="A2", text="hello", copies="many")
        assert reason(refused) == "invalid_arguments"
        missing = await host.call("send_note", order_id="A2")
        assert reason(missing) == "missing_arguments"
        strange = await host.call("send_note", order_id="A2", text="hello", colour="red")
        assert reason(strange) == "invalid_arguments"
    assert len(house.shop.tickets()) == 1
