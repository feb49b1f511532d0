"""A call that waits for a person is left with the host, and nothing depends on what it answers."""

import asyncio

import mcp_types as types
import pytest

from ascertain.adapters.mcp.exchange import offers
from tests.mcp.house import MODES, TICKETS, fact, reason, state

WAITS = {"create_ticket": {**TICKETS, "approval": True}}
modes = pytest.mark.parametrize("mode", MODES)
ACCEPTED = types.ElicitResult(action="accept", content={})


class Desk:
    """A host's person: what they were asked, and what they do before they answer."""

    def __init__(self, does=lambda: None, answer=ACCEPTED):
        self.asked = []
        self._does = does
        self._answer = answer

    async def __call__(self, context, params):
        self.asked.append(params.message)
        await asyncio.to_thread(self._does)
        return self._answer


def doing(house, what):
    def does():
        with house.person() as person:
            getattr(person, what)()

    return does


@modes
async def test_a_call_that_waits_for_approval_is_left_with_the_host_and_goes_on_after_it(
    house, mode
):
    desk = Desk(doing(house, "approve"))
    async with house.host(mode=mode, tools=WAITS, elicitation_callback=desk) as host:
        result = await host.ticket()
    assert state(result) == "confirmed"
    assert result.structured_content == {"ticket_id": "T900", "again": False}
    (message,) = desk.asked
    assert "waits for a person's approval; nothing has been sent" in message
    assert len(house.shop.tickets()) == 1


@modes
async def test_the_hosts_own_yes_approves_nothing(house, mode):
    desk = Desk()
    async with house.host(mode=mode, tools=WAITS, elicitation_callback=desk) as host:
        result = await host.ticket()
        assert (state(result), result.is_error) == ("prepared", True)
        assert fact(result)["next_allowed"] == ["ask_person", "wait"]
    assert house.shop.tickets() == []
    assert len(desk.asked) == 1, "asked once, and told plainly then"


@modes
async def test_a_host_that_cannot_be_asked_is_told_plainly_and_the_approval_works_all_the_same(
    house, mode
):
    async with house.host(mode=mode, tools=WAITS) as host:
        told = await host.ticket()
        assert (state(told), reason(told)) == ("prepared", "approval")
        assert fact(told)["workflow_state"] == "needs_review"
        await asyncio.to_thread(doing(house, "approve"))
        assert state(await host.ticket()) == "confirmed"
    assert len(house.shop.tickets()) == 1


@modes
async def test_what_was_declined_while_the_host_waited_is_told_and_not_asked_for_anew(house, mode):
    desk = Desk(doing(house, "decline"))
    async with house.host(mode=mode, tools=WAITS, elicitation_callback=desk) as host:
        result = await host.ticket()
    assert (state(result), result.is_error) == ("rejected", True)
    assert house.shop.tickets() == []
    with house.ledger() as ledger:
        assert len(ledger.find(house.everything)) == 1, "no second call that waits"


@modes
async def test_a_person_who_refuses_to_answer_has_not_declined(house, mode):
    desk = Desk(answer=types.ElicitResult(action="decline"))
    async with house.host(mode=mode, tools=WAITS, elicitation_callback=desk) as host:
        assert state(await host.ticket()) == "prepared"
        await asyncio.to_thread(doing(house, "approve"))
        assert state(await host.ticket()) == "confirmed"
    assert len(house.shop.tickets()) == 1


@modes
@pytest.mark.parametrize("found,ends", [("found", "confirmed"), ("found_nothing", "rejected")])
async def test_a_lost_answer_is_left_with_the_host_until_somebody_has_looked(
    house, mode, found, ends
):
    """The verdict takes longer than a turn; the call is the same wish all the same."""

    def does():
        with house.person() as person:
            person.found("T900") if found == "found" else person.found_nothing()
        house.later()

    desk = Desk(does)
    tools = {"send_note": {"budget": {"send_deadline_s": 0.5}}}
    said = {"turn_idle": "0s", "elicitation_callback": desk}
    async with house.host(mode=mode, tools=tools, **said) as host:
        house.shop.next("die_after")
        result = await host.call("send_note", order_id="A1", text="x")
    assert state(result) == ends
    (message,) = desk.asked
    assert "It is not known what became of send_note" in message
    assert len(house.shop.tickets()) == 1, "what was settled meanwhile is not done once more"


@modes
async def test_pauses_can_be_switched_off(house, mode):
    desk = Desk()
    said = {"pauses": False, "elicitation_callback": desk}
    async with house.host(mode=mode, tools=WAITS, **said) as host:
        assert state(await host.ticket()) == "prepared"
    assert desk.asked == []


async def test_a_host_of_2025_that_does_not_answer_is_told_when_its_turn_is_over(house):
    never = asyncio.Event()

    async def silent(context, params):
        await never.wait()

    short = {"create_ticket": {**WAITS["create_ticket"], "budget": {"turn_s": 1.3}}}
    async with house.host(mode="legacy", tools=short, elicitation_callback=silent) as host:
        assert state(await host.ticket()) == "prepared"
    assert house.shop.tickets() == []


async def left_with(host):
    """The interim result of a host of 2026-07-28 that answers in its own time."""
    first = await host.client.session.call_tool(
        "create_ticket", {"order_id": "A1", "issue": "noise"}, allow_input_required=True
    )
    assert isinstance(first, types.InputRequiredResult)
    return first


async def comes_back(host, first, state=None, **arguments):
    (name,) = first.input_requests
    return await host.client.session.call_tool(
        "create_ticket",
        {"order_id": "A1", "issue": "noise", **arguments},
        input_responses={name: ACCEPTED},
        request_state=first.request_state if state is None else state,
        allow_input_required=True,
    )


async def test_a_pause_outlives_the_proxy(house):
    async with house.host(tools=WAITS, elicitation_callback=Desk()) as host:
        first = await left_with(host)
    await asyncio.to_thread(doing(house, "approve"))
    async with house.host(tools=WAITS, elicitation_callback=Desk()) as host:
        results = [await comes_back(host, first) for _ in range(2)]
    assert [state(result) for result in results] == ["confirmed", "confirmed"]
    assert len(house.shop.tickets()) == 1


async def test_the_state_of_a_pause_is_believed_only_as_far_as_the_ledger_agrees(house):
    """It is made up, another call's, or another person's: the call is what it is without it."""
    async with house.host(tools=WAITS, elicitation_callback=Desk(), pauses=True) as host:
        first = await left_with(host)
        await asyncio.to_thread(doing(house, "decline"))
        told = await comes_back(host, first, order_id="A2")
        assert state(told) == "prepared", "another order is another call, and waits itself"
        told = await comes_back(host, first, state="ascertain.dev/action:none", order_id="A3")
        assert state(told) == "prepared"
        for made_up in ("ascertain.dev/action:", "x"):
            asked = await comes_back(host, first, state=made_up, order_id="A3")
            assert isinstance(asked, types.InputRequiredResult), "as if it came for the first time"
    async with house.host(tools=WAITS, principal="u8", elicitation_callback=Desk()) as host:
        other = await comes_back(host, first)
        assert state(other) != "rejected", "what another person's call came to is not told"
    assert house.shop.tickets() == []


def test_only_a_host_that_takes_a_form_is_asked_by_one():
    form = {"method": "elicitation/create", "params": {"message": "?"}}
    link = {"method": "elicitation/create", "params": {"mode": "url"}}
    by_url = types.ClientCapabilities(
        elicitation=types.ElicitationCapability(url=types.UrlElicitationCapability())
    )
    plain = types.ClientCapabilities(elicitation=types.ElicitationCapability())
    assert [offers(one, form) for one in (None, by_url, plain)] == [False, False, True]
    assert [offers(one, link) for one in (None, by_url, plain)] == [False, True, False]
