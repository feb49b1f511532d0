"""``guard()`` for the OpenAI Agents SDK, with the SDK's own runner and a scripted model."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from agents import (
    Agent,
    FunctionTool,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    RunState,
    Usage,
    UserError,
    WebSearchTool,
    function_tool,
)
from agents.mcp import MCPServerStdio
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from ascertain.adapters.door import Door
from ascertain.adapters.openai_agents import guard, guarded, guarded_server
from ascertain.adapters.taking import NEXT
from ascertain.errors import ContractError, NoScope
from ascertain.testing.world import Behaviour, World
from tests.doors.shopfront import AGAIN, PROVIDERS, effects, first, promises, shopfront

LOST = Behaviour("reply_lost", how="hang")
QUIET = RunConfig(tracing_disabled=True)


@pytest.fixture(scope="module")
def world():
    with World(PROVIDERS) as running:
        yield running


@pytest.fixture
async def shop(world, tmp_path):
    async with shopfront(world, tmp_path) as one:
        yield one


def ticket_tool(shop, **said):
    async def create_ticket(order_id: str, issue: str) -> dict:
        """Open a ticket for an order."""
        return await shop.post(order_id, issue)

    return function_tool(create_ticket, strict_mode=False, **said)


def door_of(shop, *, asked=False, more=(), **said):
    said.setdefault("scope", lambda ctx: shop.app.session("chat-1", principal="u7"))
    door = Door(shop.app, **said)
    door.declare("create_ticket", **promises(shop, asked=asked), **dict(more))
    return door


class Scripted(Model):
    """Each step is what the model says: a text, or calls (tool, arguments, id)."""

    def __init__(self, *steps):
        self.steps = list(steps)
        self.heard = []

    def _next(self, heard):
        self.heard = heard
        step = self.steps.pop(0)
        if isinstance(step, str):
            text = ResponseOutputText(annotations=[], text=step, type="output_text")
            return [
                ResponseOutputMessage(
                    id="m1", role="assistant", status="completed", type="message", content=[text]
                )
            ]
        return [
            ResponseFunctionToolCall(
                name=name, call_id=call_id, id=f"fc_{call_id}", type="function_call",
                arguments=given if isinstance(given, str) else json.dumps(given),
            )
            for name, given, call_id in step
        ]  # fmt: skip

    async def get_response(self, system_instructions, input, *args, **kwargs):
        return ModelResponse(output=self._next(input), usage=Usage(), response_id="r1")

    async def stream_response(self, system_instructions, input, *args, **kwargs):
        response = Response(
            id="r1", created_at=0, model="scripted", object="response", output=self._next(input),
            parallel_tool_calls=True, tool_choice="auto", tools=[],
        )  # fmt: skip
        yield ResponseCompletedEvent(
            response=response, sequence_number=0, type="response.completed"
        )

    def told(self):
        """What the model was told of its calls, in order; nothing of it invites a repeat."""
        outputs = [one["output"] for one in self.heard if one.get("call_id") and "output" in one]
        assert not any(words in output.lower() for words in AGAIN for output in outputs)
        return [json.loads(output) for output in outputs]


def call(order, issue="noise", call_id="c1"):
    return ("create_ticket", {"order_id": order, "issue": issue}, call_id)


async def run(tools, *steps, streamed=False):
    """One run of an agent with these tools; returns the result and the model."""
    model = Scripted(*steps)
    agent = Agent(name="desk", model=model, tools=tools)
    if streamed:
        result = Runner.run_streamed(agent, "my ear hurts", run_config=QUIET)
        async for _ in result.stream_events():
            pass
    else:
        result = await Runner.run(agent, "my ear hurts", run_config=QUIET)
    return result, model


async def test_without_the_door_a_model_is_told_to_try_again_and_does(shop):
    shop.world.script("tickets", {"order": "O0"}, ["reply_lost"])
    steps = [call("O0")], [call("O0", call_id="c2")], "done"
    _, model = await run([ticket_tool(shop)], *steps)
    outputs = [one["output"] for one in model.heard if "output" in one]
    assert "Please try again." in outputs[0]
    assert effects(shop, "O0") == 2


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_lost_answer_that_nobody_can_ask_about_is_said_to_be_unknown(shop, streamed):
    order = f"O1-{streamed}"
    shop.world.script("tickets", {"order": order}, ["reply_lost"])
    tools = guarded(door_of(shop), ticket_tool(shop))
    steps = [call(order)], [call(order, "a noise in the left ear", "c2")], "done"
    _, model = await run(tools, *steps, streamed=streamed)
    assert [first(facts)["state"] for facts in model.told()] == ["unknown", "unknown"]
    assert (effects(shop, order), shop.starts) == (1, [order])


async def test_the_tools_own_timeout_bounds_the_call_and_starts_nothing_anew(shop):
    shop.world.script("tickets", {"order": "O2"}, [Behaviour("slow_deadline", seconds=0.5)])
    door = door_of(shop)
    tools = guarded(door, ticket_tool(shop, timeout=0.2))
    _, model = await run(tools, [call("O2")], [call("O2", "again", "c2")], "done")
    assert first(model.told()[0])["state"] == "unknown"
    assert [tool.timeout_seconds for tool in tools] == [None, None]
    await asyncio.to_thread(shop.world.wait_idle)
    assert first(model.told()[1])["state"] == "unknown"
    assert (effects(shop, "O2"), shop.starts) == (1, ["O2"])


async def test_a_state_that_is_resumed_twice_is_one_effect(shop):
    (made, _) = tools = guarded(door_of(shop), ticket_tool(shop, needs_approval=True))
    assert made.needs_approval is True
    result, model = await run(tools, [call("O3")])
    assert [item.call_id for item in result.interruptions] == ["c1"]
    assert effects(shop, "O3") == 0
    saved = result.to_state().to_string()
    for _ in range(2):
        model = Scripted("done")
        agent = Agent(name="desk", model=model, tools=tools)
        state = await RunState.from_string(agent, saved)
        for item in state.get_interruptions():
            state.approve(item)
        await Runner.run(agent, state, run_config=QUIET)
        assert first(model.told()[-1])["state"] == "confirmed"
    assert (effects(shop, "O3"), shop.starts) == (1, ["O3"])


async def test_a_call_that_needs_approval_interrupts_the_run_and_goes_once_the_ledger_says_so(
    shop,
):
    door = door_of(shop, more={"approval": True})
    tools = guarded(door, ticket_tool(shop), pauses=True)
    result, _ = await run(tools, [call("O4")])
    (item,) = result.interruptions
    (action,) = door.scope(None).actions(whole=True)
    assert (item.call_id, action.state, action.record.review) == ("c1", "prepared", "approval")
    saved = result.to_state().to_string()

    async def resumed():
        model = Scripted("done")
        agent = Agent(name="desk", model=model, tools=tools)
        state = await RunState.from_string(agent, saved)
        state.approve(state.get_interruptions()[0])
        await Runner.run(agent, state, run_config=QUIET)
        return first(model.told()[-1])["state"]

    assert await resumed() == "prepared", "the SDK's yes is not the ledger's"
    assert effects(shop, "O4") == 0
    shop.app.approve(action.id, by="u9", digest=shop.app.approval_digest(action.id))
    assert [await resumed() for _ in range(2)] == ["confirmed", "confirmed"]
    assert (effects(shop, "O4"), shop.starts) == (1, ["O4"])


async def test_a_call_that_is_declined_was_never_sent(shop):
    door = door_of(shop, more={"approval": True})
    tools = guarded(door, ticket_tool(shop), pauses=True)
    result, _ = await run(tools, [call("O5")])
    (action,) = door.scope(None).actions(whole=True)
    shop.app.decline(action.id, by="u9", why="too dear")
    state = result.to_state()
    state.approve(result.interruptions[0])
    model = Scripted("done")
    state._current_agent.model = model
    await Runner.run(state._current_agent, state, run_config=QUIET)
    assert first(model.told()[-1])["state"] == "rejected"
    assert effects(shop, "O5") == 0


@pytest.mark.parametrize("given", ['{"order_id": "O6", "iss', {"order": "O6"}, "[1]", "null"])
async def test_arguments_that_do_not_fit_are_told_as_facts_and_nothing_is_sent(shop, given):
    tools = guarded(door_of(shop), ticket_tool(shop))
    _, model = await run(tools, [("create_ticket", given, "c1")], "done")
    (facts,) = model.told()
    assert facts["next_allowed"] == ["correct_arguments", "ask_person"]
    assert shop.starts == []


async def test_two_messages_of_one_conversation_are_two_wishes_where_the_program_names_them(shop):
    messages = iter(["m1", "m1", "m2"])
    tools = guarded(door_of(shop), ticket_tool(shop), turn=lambda ctx: next(messages))
    for call_id in ("c1", "c2", "c3"):
        await run(tools, [call("O7", call_id=call_id)], "done")
    assert effects(shop, "O7") == 2


async def test_without_a_name_for_the_message_a_conversation_is_one_wish(shop):
    tools = guarded(door_of(shop), ticket_tool(shop))
    for call_id in ("c1", "c2"):
        await run(tools, [call("O8", call_id=call_id)], "done")
    assert effects(shop, "O8") == 1


async def test_ids_of_calls_that_start_anew_in_each_message_are_told_apart(shop):
    tools = guarded(door_of(shop), ticket_tool(shop))
    await run(tools, [call("O9")], "done")
    await run(tools, [call("O10")], "done")
    assert (effects(shop, "O9"), effects(shop, "O10")) == (1, 1)


async def test_what_is_allowed_next_can_be_taken_by_the_model(shop):
    shop.world.script("tickets", {"order": "O11"}, ["reply_lost"])
    tools = guarded(door_of(shop), ticket_tool(shop))
    steps = (
        [call("O11")],
        [(NEXT, {"entry": "mark_pending"}, "c2")],
        [(NEXT, {"entry": "pay"}, "c3")],
    )
    _, model = await run(tools, *steps, "done")
    lost, marked, refused = model.told()
    assert "mark_pending" in lost["next_allowed"]
    assert first(marked)["state"] == "unknown"
    assert first(refused)["reason"] == "not_allowed"


def test_a_scope_is_required_and_what_is_none_is_refused_before_anything_is_sent(shop):
    with pytest.raises(NoScope, match="str"):
        guard(ticket_tool(shop), door_of(shop, scope=None), scope="chat-1")


async def test_nobody_known_whose_wish_it_is_ends_the_run(shop):
    tools = guarded(door_of(shop, scope=None), ticket_tool(shop))
    with pytest.raises(UserError) as ended:
        await run(tools, [call("O12")], "done")
    assert isinstance(ended.value.__cause__, NoScope)
    assert shop.starts == []
    with shop.app.session("chat-12", principal="u7"):
        await run(tools, [call("O12")], "done")
    assert effects(shop, "O12") == 1


async def test_a_scope_may_be_given_for_one_tool_and_sees_the_sdks_context(shop):
    door = door_of(shop, scope=None)
    who = lambda ctx: shop.app.session(f"chat-{ctx.tool_call_id}", principal="u7")  # noqa: E731
    tools = guarded(door, ticket_tool(shop), scope=who)
    await run(tools, [call("O13")], "done")
    assert len(shop.app.session("chat-c1", principal="u7").actions(whole=True)) == 1


def test_what_no_door_can_stand_before_is_refused(shop):
    door = door_of(shop)
    with pytest.raises(ContractError, match="runs at the provider"):
        guard(WebSearchTool(), door)
    inner = Agent(name="inner").as_tool("inner", "An agent.")
    with pytest.raises(ContractError, match="Guard the tools of that agent"):
        guard(inner, door)


async def test_the_tool_that_was_given_stays_as_it_is(shop):
    tool = ticket_tool(shop, timeout=5)
    invoke = tool.on_invoke_tool
    guard(tool, door_of(shop))
    assert (tool.on_invoke_tool, tool.timeout_seconds) == (invoke, 5)


async def test_a_tool_made_by_hand_is_guarded_too(shop):

    async def invoke(ctx, arguments):
        return "ok"

    tool = FunctionTool("create_ticket", "", {"type": "object", "properties": {}}, invoke)
    door = Door(shop.app, scope=shop.app.session("chat-1", principal="u7"))
    _, model = await run(guarded(door, tool), [("create_ticket", {}, "c1")], "done")
    assert first(model.told()[0])["state"] == "confirmed"


@pytest.mark.parametrize("text", ["late 1", "broken 1"])
async def test_an_mcp_servers_retries_are_switched_off_and_its_errors_prove_nothing(
    shop, tmp_path, text
):
    notes = tmp_path / "notes"
    desk = Path(__file__).parent / "mcp_desk.py"
    server = MCPServerStdio(
        {"command": sys.executable, "args": [str(desk), str(notes)]},
        max_retry_attempts=2, retry_backoff_seconds_base=0.01, client_session_timeout_seconds=1.0,
    )  # fmt: skip
    async with server:
        door = Door(shop.app, scope=shop.app.session("chat-1", principal="u7"))
        tools = await guarded_server(door, server)
        steps = [("add_note", {"text": text}, "c1")], [("add_note", {"text": text}, "c2")], "done"
        _, model = await run(tools, *steps)
        assert [first(facts)["state"] for facts in model.told()] == ["unknown", "unknown"]
    assert notes.read_text() == f"{text}\n"
