"""What a server's own tool undoes is undone as an action of its own: one effect, one undo."""

import time

import pytest

from ascertain.errors import ContractError
from tests.mcp.house import MODES, TICKETS, fact, reason, until

UNDO = {"tool": "cancel_ticket", "arguments": {"ticket_id": "{provider_ref}"}, "within": "24h"}
CANCEL = {
    "key": {"argument": "request_id"},
    "key_lifetime": "24h",
    "receipt": "cancelled",
    "error_code": {"pattern": "TOO_LATE"},
    "refusals": [{"code": "TOO_LATE", "kind": "business"}],
}
TOOLS = {"create_ticket": {**TICKETS, "undo": UNDO}, "cancel_ticket": CANCEL}
BLIND = {"create_ticket": TOOLS["create_ticket"]}
modes = pytest.mark.parametrize("mode", MODES)


async def undo(host, ref="T900", **said):
    return await host.call("ascertain", entry="undo_create_ticket", provider_ref=ref, **said)


def states(house):
    with house.ledger() as ledger:
        return {one.tool: str(one.state) for one in ledger.find(house.everything)}


@modes
async def test_what_may_be_undone_is_offered_and_undone_once(house, mode):
    async with house.host(mode=mode, tools=TOOLS) as host:
        made = await host.ticket()
        assert fact(made)["next_allowed"] == ["undo_create_ticket"]
        assert made.structured_content == {"ticket_id": "T900", "again": False}
        first, again = await undo(host), await undo(host)
        for told in (first, again):
            assert not told.is_error
            assert fact(told)["workflow_state"] == "compensated"
            assert fact(told)["actions"][0]["state"] == "compensated"
            assert fact(told)["next_allowed"] == []
    assert (len(house.shop.tickets()), house.shop.cancelled()) == (1, ["T900"])
    assert states(house) == {"create_ticket": "compensated", "undo_create_ticket": "confirmed"}


async def test_an_undo_has_a_key_of_its_own_and_not_the_one_of_what_it_reverses(house):
    async with house.host(tools=TOOLS) as host:
        await host.ticket()
        await undo(host)
    with house.ledger() as ledger:
        keys = {one.tool: one.key for one in ledger.find(house.everything)}
    assert len(set(keys.values())) == 2
    (line,) = (house.folder / "cancelled").read_text().splitlines()
    assert line.split("\t")[1] == keys["undo_create_ticket"]


async def test_of_several_only_the_one_that_is_named_is_undone(house):
    async with house.host(tools=TOOLS) as host:
        for order in ("A1", "A2", "A3"):
            await host.ticket(order)
        for arguments in ({}, {"provider_ref": 7}, {"provider_ref": "T901", "also": "T902"}):
            refused = await host.call("ascertain", entry="undo_create_ticket", **arguments)
            assert (refused.is_error, reason(refused)) == (True, "invalid_arguments")
        assert reason(await undo(host, "T999")) == "not_allowed"
        assert house.shop.cancelled() == []
        await undo(host, "T901")
        told = await host.ticket("A3")
        assert fact(told)["workflow_state"] == "completed", "another is none of its business"
    assert house.shop.cancelled() == ["T901"]


@pytest.mark.parametrize("dies", ["die_after", "die_before"])
async def test_a_lost_answer_to_an_undo_is_no_second_undo(house, dies):
    """The server knows the key again, so the same undo is sent once more, and takes effect once."""
    async with house.host(tools=TOOLS) as host:
        await host.ticket()
        (house.folder / "next_cancel").write_text(dies)
        told = await undo(host)
    assert fact(told)["workflow_state"] == "compensated"
    assert house.shop.cancelled() == ["T900"]


async def test_an_undo_that_nobody_can_ask_about_is_a_persons_and_is_never_said_to_be_done(house):
    tools = {**BLIND, "cancel_ticket": {"receipt": "cancelled"}}
    async with house.host(tools=tools) as host:
        await host.ticket()
        (house.folder / "next_cancel").write_text("die_after")
        first, again = await undo(host), await undo(host)
        for told in (first, again):
            assert told.is_error
            assert fact(told)["workflow_state"] in ("compensating", "needs_review")
            assert "undo_create_ticket" not in fact(told)["next_allowed"]
    assert house.shop.cancelled() == ["T900"], "asked twice, sent once"


async def test_an_undo_that_is_refused_leaves_what_was_made_and_says_so(house):
    async with house.host(tools=TOOLS) as host:
        await host.ticket()
        (house.folder / "next_cancel").write_text("closed")
        told = await undo(host)
        assert told.is_error
        assert fact(told)["actions"][0]["state"] == "confirmed"
        assert fact(told)["workflow_state"] == "needs_review"
    assert house.shop.cancelled() == []


async def test_what_was_undone_is_not_made_again_by_a_call_that_comes_once_more(house):
    async with house.host(tools=TOOLS) as host:
        await host.ticket()
        await undo(host)
        told = await host.ticket()
        assert (told.is_error, fact(told)["actions"][0]["state"]) == (True, "compensated")
    assert len(house.shop.tickets()) == 1


async def test_an_undo_may_wait_for_a_persons_approval(house):
    tools = {**TOOLS, "cancel_ticket": {**CANCEL, "approval": True}}
    async with house.host(tools=tools, worker="embedded") as host:
        await host.ticket()
        told = await undo(host)
        assert (told.is_error, fact(told)["workflow_state"]) == (True, "needs_review")
        assert house.shop.cancelled() == []
        with house.person() as person:
            person.approve("undo_create_ticket")
        await until(house.folder / "cancelled")
        until_at = time.monotonic() + 20
        while (told := await undo(host)).is_error and time.monotonic() < until_at:
            pass
        assert fact(told)["workflow_state"] == "compensated"
    assert house.shop.cancelled() == ["T900"]


@pytest.mark.parametrize("within,left", [("24h", ["undo_create_ticket"]), ("0s", [])])
async def test_it_is_offered_only_while_there_is_time(house, within, left):
    tools = {**TOOLS, "create_ticket": {**TICKETS, "undo": {**UNDO, "within": within}}}
    async with house.host(tools=tools) as host:
        assert fact(await host.ticket())["next_allowed"] == left
        if not left:
            assert reason(await undo(host)) == "not_allowed"
    assert house.shop.cancelled() == []


async def test_where_nothing_undoes_nothing_is_offered(house):
    async with house.host() as host:
        assert fact(await host.ticket())["next_allowed"] == []
        (own,) = [t for t in (await host.client.list_tools()).tools if t.name == "ascertain"]
        assert set(own.input_schema["properties"]) == {"entry"}
        assert (await undo(host)).is_error


async def test_the_tool_that_undoes_has_to_be_there(house):
    tools = {"create_ticket": {**TICKETS, "undo": {**UNDO, "tool": "burn_ticket"}}}
    with pytest.raises(ContractError, match="no tool 'burn_ticket'"):
        async with house.host(tools=tools):
            pass
