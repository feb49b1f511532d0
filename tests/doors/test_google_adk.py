"""What only the ADK does: plugins that repeat, runs that are resumed, confirmations, toolsets."""

import copy
import runpy

import pytest
from google.adk.agents import Agent
from google.adk.apps import App, ResumabilityConfig
from google.adk.plugins import ReflectAndRetryToolPlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import FunctionTool, LongRunningFunctionTool
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_toolset import BaseToolset
from google.genai import types

from ascertain import State
from ascertain.adapters.door import Door
from ascertain.adapters.google_adk import AscertainPlugin, Guarded, user_scope
from tests.docs.pages import block_with
from tests.doors.drivers.google_adk import PLEASE, asking, ran, told_in, tool_of
from tests.doors.endpoint import endpoint
from tests.doors.script import DONE, Call, calls

LOST = ["reply_lost"]
CONFIRMATION = "adk_request_confirmation"


def note(order, id="c1"):
    return Call(id, "post_note", {"order": order})


def case(order, id="c1", **more):
    return Call(id, "open_case", {"order": order, **more})


def script(*says):
    served = endpoint()
    served.script(says)
    return served


async def sessions():
    kept = InMemorySessionService()
    await kept.create_session(app_name="shop", user_id="u7", session_id="chat-42")
    return kept


async def events_of(shop, *says, tools=None, plugins=(), guard=None, agent=(), **more):
    """The events of one run of an agent."""
    guard = guard or AscertainPlugin(shop.door)
    made = [tool_of(guest) for guest in shop.guests] if tools is None else tools
    async with asking(script(*says) if says else endpoint()) as model:
        desk = Agent(name="desk", model=model, tools=list(made), **dict(agent))
        return [event async for event in ran(desk, guard, *plugins, **more)]


def states(events):
    return [told.state for told in told_in(events)]


async def test_a_plugin_that_has_the_model_try_again_is_a_second_effect_without_the_door(
    shop, order
):
    shop.world.script("tickets", {"order": order}, LOST)
    says = [calls(note(order)), calls(note(order, "c2")), DONE]
    async with asking(script(*says)) as model:
        desk = Agent(name="desk", model=model, tools=[tool_of(one) for one in shop.guests])
        events = [event async for event in ran(desk, ReflectAndRetryToolPlugin())]
    assert "retry" in told_in(events)[0].text.lower()
    assert shop.effects(order) == 2


async def test_behind_the_door_it_hears_of_no_error_and_the_call_stays_one_effect(shop, order):
    shop.world.script("tickets", {"order": order}, LOST)
    says = [calls(note(order)), calls(note(order, "c2")), DONE]
    events = await events_of(shop, *says, plugins=[ReflectAndRetryToolPlugin()])
    assert states(events) == ["unknown", "unknown"]
    assert shop.arrivals(order) == 1


@pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL")
async def test_an_invocation_that_is_resumed_twice_finds_its_action(shop, order):
    kept = await sessions()
    guard = AscertainPlugin(shop.door)
    async with asking(script(calls(case(order)), DONE, DONE)) as model:
        desk = Agent(name="desk", model=model, tools=[tool_of(one) for one in shop.guests])
        app = App(
            name="shop", root_agent=desk, plugins=[guard],
            resumability_config=ResumabilityConfig(is_resumable=True),
        )  # fmt: skip
        told = []
        async with Runner(app=app, session_service=kept) as runner:
            who = {"user_id": "u7", "session_id": "chat-42"}
            running = runner.run_async(**who, new_message=copy.deepcopy(PLEASE))
            async for event in running:
                invocation = event.invocation_id
                break  # the model's call is kept; its process ends before anything is sent
            await running.aclose()
            for _ in range(2):
                events = [one async for one in runner.run_async(**who, invocation_id=invocation)]
                told += told_in(events)
    assert {one.state for one in told} == {"confirmed"}
    assert shop.effects(order) == shop.arrivals(order) == 1


async def test_what_an_agents_own_callback_answers_is_never_sent(shop, order):
    def blocks(tool, args, tool_context):
        return {"blocked": tool.name}

    agent = {"before_tool_callback": blocks}
    events = await events_of(shop, calls(note(order)), DONE, agent=agent)
    assert told_in(events)[0].facts == {"blocked": "post_note"}
    assert shop.actions() == []


async def test_the_tools_of_toolsets_and_of_agents_below_are_behind_the_door(shop, order):
    class Shelf(BaseToolset):
        async def get_tools(self, readonly_context=None):
            return [tool_of(one) for one in shop.guests]

    shop.world.script("tickets", {"order": order}, LOST)
    events = await events_of(shop, calls(note(order)), DONE, tools=[Shelf()])
    assert states(events) == ["unknown"]

    below = f"{order}-below"
    shop.world.script("tickets", {"order": below}, LOST)
    says = [calls(Call("t1", "transfer_to_agent", {"agent_name": "clerk"})), calls(note(below))]
    async with asking(script(*says, DONE)) as model:
        clerk = Agent(name="clerk", model=model, tools=[tool_of(one) for one in shop.guests])
        desk = Agent(name="desk", model=model, sub_agents=[clerk])
        events = [event async for event in ran(desk, AscertainPlugin(shop.door))]
    assert states([event for event in events if event.author == "clerk"]) == ["unknown"]
    assert shop.arrivals(order) == shop.arrivals(below) == 1


# The ADK's own tool for agents makes its runner in a way that the ADK deprecates.
@pytest.mark.filterwarnings("ignore:The `plugins` argument")
async def test_an_agent_as_a_tool_passes_and_its_own_tools_do_not(shop, order):
    shop.world.script("tickets", {"order": order}, LOST)
    says = [calls(Call("a1", "clerk", {"request": "do it"})), calls(note(order)), DONE, DONE]
    async with asking(script(*says)) as model:
        clerk = Agent(name="clerk", model=model, tools=[tool_of(one) for one in shop.guests])
        desk = Agent(name="desk", model=model, tools=[AgentTool(clerk)])
        guard = AscertainPlugin(shop.door)
        [event async for event in ran(desk, guard)]
    assert [action.state for action in shop.actions()] == [State.UNKNOWN]


async def test_a_tool_that_comes_past_the_door_ends_the_run_before_it_is_sent(shop, order):
    hidden = tool_of(shop.guests[1])

    def adds(callback_context, llm_request):
        llm_request.append_tools([hidden])

    agent = {"before_model_callback": adds}
    with pytest.raises(RuntimeError, match="not behind the door"):
        await events_of(shop, calls(note(order)), DONE, tools=[], agent=agent)
    assert shop.arrivals(order) == 0


def answer(call, *, confirmed):
    """What a person says to a confirmation that the ADK asks for."""
    said = types.FunctionResponse(id=call.id, name=CONFIRMATION, response={"confirmed": confirmed})
    return types.Content(role="user", parts=[types.Part(function_response=said)])


def asked_in(events):
    (call,) = [
        one for event in events for one in event.get_function_calls() if one.name == CONFIRMATION
    ]
    return call


@pytest.mark.parametrize("confirmed", [True, False])
async def test_a_tool_that_the_adk_confirms_is_sent_once_it_is(shop, order, confirmed):
    def post_note(order: str) -> dict:
        """Post a note."""
        return shop.send(order)

    kept = await sessions()
    tools = [FunctionTool(post_note, require_confirmation=True)]
    guard = AscertainPlugin(shop.door)
    events = await events_of(shop, calls(note(order)), DONE, tools=tools, guard=guard, kept=kept)
    assert shop.arrivals(order) == 0
    said = answer(asked_in(events), confirmed=confirmed)
    await events_of(shop, DONE, tools=tools, guard=guard, kept=kept, said=said)
    assert shop.arrivals(order) == (1 if confirmed else 0)


@pytest.mark.parametrize("approved", [True, False])
async def test_of_a_call_that_waits_only_the_ledgers_yes_is_believed(shop, order, approved):
    shop.app.wrap(shop.send, name="send_gift", identity=["order"], approval=True)
    guard = AscertainPlugin(shop.door, own=["send_gift"], pauses=True)
    kept = await sessions()
    says = [calls(Call("c1", "send_gift", {"order": order})), DONE]
    events = await events_of(shop, *says, tools=guard.tools, guard=guard, kept=kept)
    payload = asked_in(events).args["toolConfirmation"]["payload"]
    assert payload["waits_for"] == "approval"
    if approved:
        shop.app.approve(payload["action"], digest=payload["digest"], by="person:boss")
    said = answer(asked_in(events), confirmed=True)
    events = await events_of(shop, DONE, DONE, tools=guard.tools, guard=guard, kept=kept, said=said)
    assert states(events)[0] == ("confirmed" if approved else "prepared")
    assert shop.effects(order) == (1 if approved else 0)


async def test_what_the_program_fills_is_not_shown_to_the_model(shop, order):
    def open_case(order: str, request_key: str, note: str = "") -> dict:
        """Open a case."""
        return shop.send(order, request_key)

    events = await events_of(shop, calls(case(order)), DONE, tools=[open_case])
    (shown,) = [
        one
        for tool in endpoint().requests[0]["tools"]
        for one in tool["functionDeclarations"]
        if one["name"] == "open_case"
    ]
    assert set(shown["parameters_json_schema"]["properties"]) == {"order", "note"}
    assert states(events) == ["confirmed"]
    (effect,) = shop.world.effects("tickets", order=order)
    assert effect.key == shop.actions()[0].key


async def test_a_tool_that_answers_with_an_error_has_not_said_that_nothing_happened(shop, order):
    def post_note(order: str) -> dict:
        """Post a note."""
        shop.send(order)
        return {"error": "gateway timed out"}

    events = await events_of(shop, calls(note(order)), DONE, tools=[post_note])
    assert states(events) == ["unknown"]


async def test_a_long_running_tool_is_accepted_and_never_started_again(shop, order):
    def post_note(order: str) -> dict:
        """Post a note."""
        return {"ticket": shop.send(order)["ticket_id"], "status": "pending"}

    says = [calls(note(order)), calls(note(order, "c2")), DONE]
    events = await events_of(shop, *says, tools=[LongRunningFunctionTool(post_note)])
    assert all(told.action["accepted"] for told in told_in(events))
    assert shop.arrivals(order) == 1


async def test_the_session_is_the_adks_and_the_principal_its_user(shop, order):
    door = Door(shop.app, scope=user_scope(shop.app))
    await events_of(shop, calls(note(order)), DONE, guard=AscertainPlugin(door))
    (action,) = shop.app.session("shop/u7/chat-42", principal="u7").actions(whole=True)
    assert (action.record.principal, action.state) == ("u7", State.CONFIRMED)


async def test_the_turn_is_the_invocation(shop, order):
    kept = await sessions()
    says = [calls(case(order)), calls(case(order, "c2", note="other words")), DONE]
    await events_of(shop, *says, kept=kept)
    assert shop.effects(order) == 1
    await events_of(shop, calls(case(order, "c3")), DONE, kept=kept)
    assert shop.effects(order) == 2


def open_ticket(order_id: str, issue: str) -> dict:
    """Open a ticket."""


def test_what_the_page_shows_guards_the_tools(shop, tmp_path):
    block = block_with("docs/how-to/doors.md", "from google.adk.agents import Agent")
    shop.app.wrap(shop.send, name="send_mail", identity=["order"])
    (tmp_path / "page.py").write_text(block)
    given = {"app": shop.app, "Door": Door, "open_ticket": open_ticket}
    names = runpy.run_path(str(tmp_path / "page.py"), init_globals=given)
    shown = [names["guard"].behind(tool) for tool in names["agent"].tools]
    assert [tool.name for tool in shown] == ["open_ticket", "send_mail", "ascertain"]
    assert all(isinstance(tool, Guarded) for tool in shown)
