"""What only Strands does: hooks and middlewares that repeat, pauses, sessions, agents as tools."""

import json
import runpy

import pytest
from strands import Agent, tool
from strands.hooks import AfterToolCallEvent
from strands.middleware import ExecuteToolStage
from strands.session import FileSessionManager
from strands.types.exceptions import EventLoopException

from ascertain import State
from ascertain.adapters.door import Door
from ascertain.adapters.strands import guard
from ascertain.errors import NoScope
from tests.docs.pages import block_with
from tests.doors.drivers.strands import anthropic, told_in, tool_of
from tests.doors.endpoint import endpoint
from tests.doors.script import DONE, Call, Say, calls

LOST = ["reply_lost"]


def note(order, id="c1"):
    return Call(id, "post_note", {"order": order})


def case(order, id="c1", **more):
    return Call(id, "open_case", {"order": order, **more})


def agent_of(shop, *says, own=(), pauses=False, tools=None, door=None, **said):
    served = endpoint()
    served.script(says)
    made = [tool_of(guest) for guest in shop.guests] if tools is None else tools
    agent = Agent(anthropic(served), tools=made, callback_handler=None, **said)
    return guard(agent, shop.door if door is None else door, own=own, pauses=pauses)


def states(agent):
    return [told.state for told in told_in(agent.messages)]


def once_more(event):
    """A hook that has a call repeated, once."""
    event.retry = not event.invocation_state.get("repeated")
    event.invocation_state["repeated"] = True


async def twice(context, following):
    """A middleware that makes each call twice."""
    for _ in range(2):
        async for event in following(context):
            yield event


def test_without_the_door_a_hook_that_asks_for_a_retry_is_a_second_effect(shop, order):
    served = endpoint()
    served.script([calls(note(order)), DONE])
    agent = Agent(
        anthropic(served), tools=[tool_of(one) for one in shop.guests], callback_handler=None
    )
    agent.hooks.add_callback(AfterToolCallEvent, once_more)
    agent("Please.")
    assert shop.effects(order) == 2


def test_behind_the_door_a_retry_that_a_hook_asks_for_meets_the_fact(shop, order):
    shop.world.script("tickets", {"order": order}, LOST)
    agent = agent_of(shop, calls(note(order)), DONE)
    agent.hooks.add_callback(AfterToolCallEvent, once_more)
    agent("Please.")
    assert states(agent) == ["unknown"]
    assert shop.arrivals(order) == 1


@pytest.mark.parametrize("added", ["before", "after"])
def test_a_middleware_that_calls_twice_meets_the_fact_wherever_it_stands(shop, order, added):
    agent = agent_of(shop, calls(case(order)), DONE)
    if added == "before":
        agent = Agent(agent.model, tools=[tool_of(one) for one in shop.guests])
        agent.add_middleware(ExecuteToolStage, twice)
        guard(agent, shop.door)
    else:
        agent.add_middleware(ExecuteToolStage, twice)
    agent("Please.")
    assert states(agent) == ["confirmed"]
    assert shop.arrivals(order) == 1


def test_what_the_program_fills_is_not_shown_to_the_model(shop, order):
    agent = agent_of(shop, DONE)
    agent("Please.")
    (request,) = endpoint().requests
    shown = {one["name"]: one["input_schema"]["properties"] for one in request["tools"]}
    assert set(shown["open_case"]) == {"order", "note"}
    assert "ascertain" in shown


def test_a_tool_of_the_sdks_own_make_is_guarded_and_its_exception_is_not_told(shop, order):
    @tool
    def open_case(order: str, request_key: str, note: str = "") -> dict:
        """Open a case."""
        return shop.send(order, request_key)

    shop.world.script("tickets", {"order": order}, LOST)
    agent = agent_of(shop, calls(case(order)), DONE, tools=[open_case])
    agent("Please.")
    assert states(agent) == ["confirmed"]
    assert shop.arrivals(order) == 1


def test_the_events_of_a_tool_reach_the_agent_while_it_works(shop, order):
    @tool
    async def post_note(order: str):
        """Post a note."""
        yield {"progress": 1}
        yield json.dumps(shop.send(order))

    agent = agent_of(shop, calls(note(order)), DONE, tools=[post_note])
    seen = []
    agent.callback_handler = lambda **said: seen.append(said.get("tool_stream_event"))
    agent("Please.")
    assert {"progress": 1} in [one["data"] for one in seen if one]
    assert states(agent) == ["confirmed"]


def test_a_call_that_waits_for_an_approval_interrupts_and_only_the_ledgers_yes_sends(shop, order):
    shop.door.app.wrap(shop.send, name="send_gift", identity=["order"], approval=True)
    says = [calls(Call("c1", "send_gift", {"order": order})), DONE, DONE]
    agent = agent_of(shop, *says, own=["send_gift"], pauses=True)
    ended = agent("Please.")
    (asked,) = ended.interrupts
    assert asked.reason["waits_for"] == "approval"
    assert shop.arrivals(order) == 0
    answer = [{"interruptResponse": {"interruptId": asked.id, "response": "yes, do it"}}]
    agent(answer)
    assert states(agent)[-1] == "prepared", "what the agent is resumed with is not believed"
    assert shop.arrivals(order) == 0


def test_an_approved_call_is_made_when_the_agent_is_resumed(shop, order):
    shop.door.app.wrap(shop.send, name="send_gift", identity=["order"], approval=True)
    says = [calls(Call("c1", "send_gift", {"order": order})), DONE]
    agent = agent_of(shop, *says, own=["send_gift"], pauses=True)
    (asked,) = agent("Please.").interrupts
    shop.app.approve(asked.reason["action"], digest=asked.reason["digest"], by="person:boss")
    agent([{"interruptResponse": {"interruptId": asked.id, "response": "go on"}}])
    assert states(agent)[-1] == "confirmed"
    assert shop.effects(order) == 1


def test_a_session_that_a_later_process_restores_finds_its_action(make_shop, tmp_path, order):
    shop = make_shop()
    shop.world.script("tickets", {"order": order}, LOST)
    kept = FileSessionManager("chat-42", storage_dir=str(tmp_path / "kept"))
    agent = agent_of(shop, calls(note(order)), DONE, session_manager=kept)
    agent("Please.")
    again = make_shop()
    kept = FileSessionManager("chat-42", storage_dir=str(tmp_path / "kept"))
    says = [calls(note(order, "c2")), DONE]
    restored = agent_of(again, *says, session_manager=kept)
    restored("Has it been done?")
    assert states(restored) == ["unknown", "unknown"]
    assert [action.state for action in again.actions()] == [State.UNKNOWN]
    assert again.arrivals(order) == 1


def test_the_turn_is_the_message_of_a_person(shop, order):
    says = [calls(case(order)), calls(case(order, "c2", note="other words")), DONE]
    agent = agent_of(shop, *says, calls(case(order, "c3")), DONE)
    agent("Please.")
    assert shop.effects(order) == 1
    agent("And now one more.")
    assert shop.effects(order) == 2


def test_without_a_scope_nothing_is_sent_and_the_run_ends(shop, order):
    agent = agent_of(shop, calls(note(order)), DONE, door=Door(shop.app))
    with pytest.raises(EventLoopException) as ended:
        agent("Please.")
    assert isinstance(ended.value.original_exception, NoScope)
    assert len(endpoint().requests) == 1, "the model is not asked again"
    assert shop.arrivals(order) == 0


def test_the_scope_is_made_of_what_the_program_gives_the_agent(shop, order):
    def session(context):
        return shop.app.session("chat-7", principal=context.invocation_state["user"])

    agent = agent_of(shop, calls(note(order)), DONE, door=Door(shop.app, scope=session))
    agent("Please.", invocation_state={"user": "u9"})
    (action,) = shop.app.session("chat-7", principal="u9").actions(whole=True)
    assert (action.record.principal, action.state) == ("u9", State.CONFIRMED)


def test_an_answer_in_a_form_is_no_call_of_a_tool(shop):
    from pydantic import BaseModel

    class Sum(BaseModel):
        total: int

    agent = agent_of(shop, calls(Call("c1", "Sum", {"total": 3})), Say(text="Done."))
    ended = agent("Please.", structured_output_model=Sum)
    assert ended.structured_output == Sum(total=3)
    assert shop.actions() == []


def open_ticket(order_id: str, issue: str) -> dict:
    """Open a ticket."""


def test_what_the_page_shows_guards_the_tools(shop, tmp_path):
    block = block_with("docs/how-to/doors.md", "from strands import Agent")
    shop.app.wrap(shop.send, name="send_mail", identity=["order"])
    (tmp_path / "page.py").write_text(block)
    given = {
        "app": shop.app,
        "Door": Door,
        "open_ticket": open_ticket,
        "model": anthropic(endpoint()),
    }
    names = runpy.run_path(str(tmp_path / "page.py"), init_globals=given)
    assert set(names["agent"].tool_names) == {"open_ticket", "send_mail", "ascertain"}
