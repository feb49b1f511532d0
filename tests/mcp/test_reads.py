"""Reads pass through as they are; what is a read is for the operator to say."""

import pytest

from tests.mcp.house import MODES, state


@pytest.mark.parametrize("mode", MODES)
async def test_a_read_is_the_servers_own_result_errors_included(house, mode):
    async with house.host(mode=mode, trust_annotations=True) as host:
        good = await host.call("ping", text="hello")
        bad = await host.call("broken", text="thing")
    assert (good.content[0].text, good.structured_content) == ("hello", {"result": "hello"})
    assert len(good.content) == 1
    assert bad.is_error
    assert bad.content[0].text.startswith("Error executing tool broken")


async def test_a_read_leaves_nothing_in_the_ledger(house):
    async with house.host(trust_annotations=True) as host:
        await host.call("ping", text="hello")
        await host.ticket()
        await host.call("ping", text="hello")
    with house.ledger() as ledger:
        assert [record.tool for record in ledger.find(house.everything)] == ["create_ticket"]


async def test_a_hint_of_a_server_that_is_not_trusted_makes_no_read(house):
    async with house.host() as host:
        first = await host.call("ping", text="hello")
        again = await host.call("ping", text="hello")
    assert (state(first), state(again)) == ("confirmed", "confirmed")
    with house.ledger() as ledger:
        assert [record.tool for record in ledger.find(house.everything)] == ["ping"]


async def test_what_is_configured_outweighs_the_hint(house):
    tools = {"ping": {"access": "write"}, "send_note": {"access": "read"}}
    async with house.host(trust_annotations=True, tools=tools) as host:
        assert state(await host.call("ping", text="hello")) == "confirmed"
        note = await host.call("send_note", order_id="A1", text="x")
    assert note.structured_content == {"ticket_id": "T900", "again": False}


async def test_a_read_without_an_answer_is_tried_again(house):
    async with house.host(trust_annotations=True) as host:
        house.cut()
        assert (await host.call("ping", text="still there")).content[0].text == "still there"
    assert house.reach == 2


async def test_a_read_that_gets_no_answer_is_unavailable_and_never_unknown(house):
    tools = {"ping": {"access": "read", "budget": {"turn_s": 0.3, "backoff_s": 0.05}}}
    async with house.host(tools=tools) as host:
        house.down = True
        house.cut()
        await house.left.wait()
        result = await host.call("ping", text="anybody?")
    assert (result.is_error, state(result)) == (True, "rejected")


async def test_prompts_and_resources_pass_through(house):
    async with house.host() as host:
        assert [p.name for p in (await host.client.list_prompts()).prompts] == ["complain"]
        prompt = await host.client.get_prompt("complain", {"order_id": "A1"})
        assert prompt.messages[0].content.text == "Complain about A1."
        (resource,) = (await host.client.list_resources()).resources
        assert (await host.client.read_resource(resource.uri)).contents[0].text == "always"


async def test_an_unknown_tool_is_a_protocol_error(house):
    async with house.host() as host:
        with pytest.raises(Exception, match="Unknown tool: pay"):
            await host.call("pay")
