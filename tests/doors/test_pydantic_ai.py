"""The capability for Pydantic AI, with the framework's own runner and its scripted model."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace

import pytest
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    Tool,
    UnexpectedModelBehavior,
    capture_run_messages,
)
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from ascertain import key
from ascertain.adapters.door import Door
from ascertain.adapters.pydantic_ai import Guard
from ascertain.adapters.taking import NEXT
from ascertain.errors import NoScope
from ascertain.testing.world import Behaviour, World
from tests.doors.shopfront import AGAIN, BUDGET, PROVIDERS, effects, first, promises, shopfront

LOST = Behaviour("reply_lost", how="hang")


@pytest.fixture(scope="module")
def world():
    with World(PROVIDERS) as running:
        yield running


@pytest.fixture
async def shop(world, tmp_path):
    async with shopfront(world, tmp_path) as one:
        yield one


@pytest.fixture
def ticket(shop):
    async def create_ticket(order_id: str, issue: str, request: str = "") -> dict:
        """Open a ticket for an order."""
        return await shop.post(order_id, issue, request)

    return create_ticket


def door_of(shop, **said):
    """A door whose conversations are those of the framework, of one person."""
    asked = said.pop("asked", True)
    more = said.pop("more", {})
    said.setdefault("scope", lambda ctx: shop.app.session(ctx.conversation_id, principal="u7"))
    door = Door(shop.app, **said)
    fills = {"fills": {"request": "key"}} if asked else {}
    door.declare("create_ticket", **promises(shop, asked=asked), **fills, **more)
    return door


def model_of(*steps, finish_reason=None):
    """Each step is what the model says: a text, or calls (tool, arguments, id)."""
    waiting = iter(steps)

    def answer(messages, info):
        step = next(waiting)
        step = step() if callable(step) else step
        if isinstance(step, str):
            return ModelResponse([TextPart(step)])
        calls = [ToolCallPart(name, arguments, call_id) for name, arguments, call_id in step]
        return ModelResponse(calls, finish_reason=finish_reason)

    async def stream(messages, info):
        step = next(waiting)
        if isinstance(step, str):
            yield step
            return
        for place, (name, arguments, call_id) in enumerate(step):
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            yield {place: DeltaToolCall(name, text[:5], tool_call_id=call_id)}
            yield {place: DeltaToolCall(None, text[5:])}

    return FunctionModel(answer, stream_function=stream)


def call(order, issue="noise", call_id="c1"):
    return ("create_ticket", {"order_id": order, "issue": issue}, call_id)


def returns(messages):
    """What the model was told of its calls, in order."""
    return [
        part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)
    ]


def facts_in(part):
    return part.content if isinstance(part.content, dict) else json.loads(part.content)


def told_no_blind_repeat(messages):
    """Whether nothing that the model was told invites it to do the same again."""
    told = [str(part.content).lower() for part in returns(messages)]
    kinds = {type(part) for message in messages for part in message.parts}
    assert RetryPromptPart not in kinds
    return told and not any(words in text for words in AGAIN for text in told)


async def test_a_lost_answer_is_looked_up_and_the_model_hears_what_is_true(shop, ticket):
    shop.world.script("tickets", {"order": "P1"}, ["reply_lost"])
    agent = Agent(
        model_of([call("P1")], "done"), tools=[ticket], capabilities=[Guard(door_of(shop))]
    )
    done = await agent.run("my ear hurts")
    (told,) = returns(done.all_messages())
    assert first(facts_in(told))["state"] == "confirmed"
    assert told.outcome == "success"
    assert (effects(shop, "P1"), shop.starts) == (1, ["P1"])


@pytest.mark.parametrize("whose", ["tool", "toolset"])
async def test_a_tool_timeout_is_no_second_start_of_the_body(shop, ticket, whose):
    order = f"P2-{whose}"
    shop.world.script("tickets", {"order": order}, [LOST, LOST])

    def tools():
        if whose == "tool":
            return {"tools": [Tool(ticket, timeout=0.15)]}
        return {"toolsets": [FunctionToolset([ticket], timeout=0.15)]}

    steps = [call(order)], [call(order, "still noisy", "c2")], "done"
    unguarded = Agent(model_of(*steps), **tools())
    with pytest.raises(UnexpectedModelBehavior, match="max retries"):
        await unguarded.run("my ear hurts")
    assert shop.starts == [order, order], "without the door, the timeout starts the body twice"

    guarded = f"{order}-guarded"
    shop.world.script("tickets", {"order": guarded}, [LOST])
    steps = [call(guarded)], [call(guarded, "still noisy", "c2")], "done"
    agent = Agent(model_of(*steps), capabilities=[Guard(door_of(shop, asked=False))], **tools())
    done = await agent.run("my ear hurts")
    told = returns(done.all_messages())
    assert [first(facts_in(part))["state"] for part in told] == ["unknown", "unknown"]
    assert {part.outcome for part in told} == {"failed"}
    assert told_no_blind_repeat(done.all_messages())
    assert (effects(shop, guarded), shop.starts.count(guarded)) == (1, 1)


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_model_that_plans_anew_in_other_words_gets_the_action_that_is_there(
    shop, ticket, streamed
):
    order = f"P3-{streamed}"
    steps = [call(order)], [call(order, "a noise in the left ear", "c2")], "done"
    agent = Agent(model_of(*steps), tools=[ticket], capabilities=[Guard(door_of(shop))])
    if streamed:
        async with agent.run_stream("my ear hurts") as stream:
            await stream.get_output()
            messages = stream.all_messages()
    else:
        messages = (await agent.run("my ear hurts")).all_messages()
    told = [facts_in(part) for part in returns(messages)]
    assert [first(facts)["state"] for facts in told] == ["confirmed", "confirmed"]
    assert effects(shop, order) == 1


async def test_the_next_message_may_wish_for_it_once_more(shop, ticket):
    model = model_of([call("P4")], "done", [call("P4", "the right ear", "c2")], "done")
    agent = Agent(model, tools=[ticket], capabilities=[Guard(door_of(shop))])
    one = await agent.run("my left ear hurts")
    await agent.run("now one for the right ear", message_history=one.all_messages())
    assert effects(shop, "P4") == 2


async def test_what_is_unknown_holds_over_the_next_message(shop, ticket):
    shop.world.script("tickets", {"order": "P5"}, ["reply_lost"])
    model = model_of([call("P5")], "done", [call("P5", "please do it", "c2")], "done")
    agent = Agent(model, tools=[ticket], capabilities=[Guard(door_of(shop, asked=False))])
    one = await agent.run("my ear hurts")
    two = await agent.run("is it done?", message_history=one.all_messages())
    assert first(facts_in(returns(two.all_messages())[-1]))["state"] == "unknown"
    assert effects(shop, "P5") == 1


async def test_a_deferred_history_that_is_resumed_twice_is_one_effect(shop, ticket):
    model = model_of([call("P6")], "done", "done")
    agent = Agent(
        model, tools=[Tool(ticket, requires_approval=True)],
        capabilities=[Guard(door_of(shop))], output_type=[str, DeferredToolRequests],
    )  # fmt: skip
    asked = await agent.run("my ear hurts")
    assert [one.tool_call_id for one in asked.output.approvals] == ["c1"]
    assert effects(shop, "P6") == 0
    saved = asked.all_messages_json()
    for _ in range(2):
        done = await agent.run(
            message_history=ModelMessagesTypeAdapter.validate_json(saved),
            deferred_tool_results=DeferredToolResults(approvals={"c1": True}),
        )
        assert first(facts_in(returns(done.all_messages())[-1]))["state"] == "confirmed"
    assert (effects(shop, "P6"), shop.starts) == (1, ["P6"])


async def test_a_tool_that_asks_for_approval_itself_has_sent_nothing_until_then(shop):
    made = []

    async def create_ticket(ctx: RunContext, order_id: str, issue: str, request: str = "") -> dict:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"why": "it is dear"})
        made.append(order_id)
        return {"ref": "T1"}

    agent = Agent(
        model_of([call("P7")], "done", "done"), tools=[create_ticket],
        capabilities=[Guard(door_of(shop))], output_type=[str, DeferredToolRequests],
    )  # fmt: skip
    asked = await agent.run("my ear hurts")
    assert asked.output.metadata == {"c1": {"why": "it is dear"}}
    for _ in range(2):
        done = await agent.run(
            message_history=asked.all_messages(),
            deferred_tool_results=DeferredToolResults(approvals={"c1": True}),
        )
        assert first(facts_in(returns(done.all_messages())[-1]))["provider_ref"] == "T1"
    assert made == ["P7"]


async def test_a_tool_that_hands_its_call_over_is_accepted_and_never_sent_again(shop):
    handed = []

    async def create_ticket(order_id: str, issue: str, request: str = "") -> dict:
        handed.append(order_id)
        raise CallDeferred

    agent = Agent(
        model_of([call("P8")], [call("P8", "once more", "c2")]), tools=[create_ticket],
        capabilities=[Guard(door_of(shop))], output_type=[str, DeferredToolRequests],
    )  # fmt: skip
    asked = await agent.run("my ear hurts")
    assert [one.tool_call_id for one in asked.output.calls] == ["c1"]
    (action,) = shop.app.session(conversation(asked), principal="u7").actions(whole=True)
    assert action.facts()["actions"][0]["accepted"] is True
    assert handed == ["P8"]


def conversation(done):
    return done.all_messages()[0].conversation_id


async def test_a_call_that_needs_approval_pauses_the_run_and_goes_once_the_ledger_says_so(
    shop, ticket
):
    door = door_of(shop, more={"approval": True})
    agent = Agent(
        model_of([call("P9")], "done", "done", "done"), tools=[ticket],
        capabilities=[Guard(door, pauses=True)], output_type=[str, DeferredToolRequests],
    )  # fmt: skip

    async def resumed():
        return await agent.run(
            message_history=asked.all_messages(),
            deferred_tool_results=asked.output.build_results(approve_all=True),
        )

    asked = await agent.run("my ear hurts")
    why = asked.output.metadata["c1"]
    assert why["waits_for"] == "approval"
    assert shop.app.action(why["action"]).state == "prepared"
    still = await resumed()
    assert isinstance(still.output, DeferredToolRequests), "the framework's yes is not the ledger's"
    assert effects(shop, "P9") == 0
    shop.app.approve(why["action"], by="u9", digest=why["digest"])
    for _ in range(2):
        done = await resumed()
        assert first(facts_in(returns(done.all_messages())[-1]))["state"] == "confirmed"
    assert (effects(shop, "P9"), shop.starts) == (1, ["P9"])


async def test_a_case_pauses_the_run_and_the_verdict_is_what_the_model_hears(shop, ticket):
    shop.world.script("tickets", {"order": "P10"}, ["reply_lost"])
    agent = Agent(
        model_of([call("P10")], "done"), tools=[ticket],
        capabilities=[Guard(door_of(shop, asked=False), pauses=True)],
        output_type=[str, DeferredToolRequests],
    )  # fmt: skip
    asked = await agent.run("my ear hurts")
    why = asked.output.metadata["c1"]
    assert (why["waits_for"], first(why)["state"]) == ("review", "unknown")
    shop.app.resolve(why["action"], confirmed="T77", evidence="seen at the desk")
    done = await agent.run(
        message_history=asked.all_messages(),
        deferred_tool_results=asked.output.build_results(approve_all=True),
    )
    assert first(facts_in(returns(done.all_messages())[-1]))["provider_ref"] == "T77"
    assert effects(shop, "P10") == 1


@pytest.mark.parametrize(
    "arguments", ['{"order_id": "P11", "iss', {"order": "P11"}, {"order_id": 7, "issue": "x"}]
)
async def test_arguments_that_do_not_fit_are_told_as_facts_and_nothing_is_sent(
    shop, ticket, arguments
):
    agent = Agent(
        model_of([("create_ticket", arguments, "c1")], "done"), tools=[ticket],
        capabilities=[Guard(door_of(shop))],
    )  # fmt: skip
    done = await agent.run("my ear hurts")
    (told,) = returns(done.all_messages())
    assert facts_in(told)["next_allowed"] == ["correct_arguments", "ask_person"]
    assert told.outcome == "failed"
    assert told_no_blind_repeat(done.all_messages())
    assert shop.starts == []


async def test_a_message_that_was_cut_off_is_not_acted_upon(shop, ticket):
    agent = Agent(
        model_of([call("P12")], "done", finish_reason="length"), tools=[ticket],
        capabilities=[Guard(door_of(shop))],
    )  # fmt: skip
    done = await agent.run("my ear hurts")
    assert first(facts_in(returns(done.all_messages())[0]))["reason"] == "cut_off"
    assert shop.starts == []


async def test_the_key_is_filled_by_the_program_and_not_shown_to_the_model(shop, ticket):
    seen = {}

    def answer(messages, info):
        seen.update({tool.name: tool.parameters_json_schema for tool in info.function_tools})
        if returns(messages):
            return ModelResponse([TextPart("done")])
        arguments = {"order_id": "P13", "issue": "x", "request": "a key of the model's own"}
        return ModelResponse([ToolCallPart("create_ticket", arguments, "c1")])

    agent = Agent(FunctionModel(answer), tools=[ticket], capabilities=[Guard(door_of(shop))])
    done = await agent.run("my ear hurts")
    assert set(seen["create_ticket"]["properties"]) == {"order_id", "issue"}
    assert "query_ticket" in seen[NEXT]["properties"]["entry"]["enum"]
    (effect,) = shop.world.effects("tickets", order="P13")
    (action,) = shop.app.session(conversation(done), principal="u7").actions(whole=True)
    assert effect.key == action.key


async def test_two_calls_of_one_message_with_one_meaning_are_one_effect(shop, ticket):
    calls = [call("P14", "left", "c1"), call("P14", "left ear", "c2")]
    agent = Agent(model_of(calls, "done"), tools=[ticket], capabilities=[Guard(door_of(shop))])
    done = await agent.run("my ear hurts")
    assert {first(facts_in(part))["state"] for part in returns(done.all_messages())} == {
        "confirmed"
    }
    assert effects(shop, "P14") == 1


async def test_an_intended_second_is_named_by_the_program(shop, ticket):
    door = door_of(shop, ordinal=lambda one: one.arguments["issue"])
    calls = [call("P15", "left", "c1"), call("P15", "right", "c2")]
    agent = Agent(model_of(calls, "done"), tools=[ticket], capabilities=[Guard(door)])
    await agent.run("both ears hurt")
    assert effects(shop, "P15") == 2


@dataclass
class Repeats(AbstractCapability):
    """A capability that makes every call three times, as a careless retry would."""

    async def wrap_tool_execute(self, ctx, *, call, tool_def, args, handler):
        for _ in range(2):
            await handler(args)
        return await handler(args)


@pytest.mark.parametrize("order_of", ["before", "after"])
async def test_what_repeats_the_call_around_the_door_finds_its_action(shop, ticket, order_of):
    order = f"P16-{order_of}"
    capabilities = [Repeats(), Guard(door_of(shop))]
    if order_of == "after":
        capabilities.reverse()
    agent = Agent(model_of([call(order)], "done"), tools=[ticket], capabilities=capabilities)
    await agent.run("my ear hurts")
    assert (effects(shop, order), shop.starts) == (1, [order])


async def test_a_tool_of_the_app_is_shown_and_what_is_allowed_next_can_be_taken(shop):
    door = Door(shop.app, scope=shop.app.session("chat-1", principal="u7"))

    said = promises(shop, asked=False) | {"budget": replace(BUDGET, turn_s=0.3, unanswered=50)}

    @shop.app.tool(**said)
    async def create_ticket(order_id: str, issue: str) -> dict:
        """Open a ticket."""
        return await shop.post(order_id, issue, key())

    there = []

    @create_ticket.lookup(absence_final_after="10s")
    async def find_ticket(action):
        if not there:
            raise TimeoutError
        return await shop.find(action)

    def asks():
        there.append("the provider is there again")
        return [(NEXT, {"entry": "query_ticket"}, "c2")]

    shop.world.script("tickets", {"order": "P17"}, ["reply_lost"])
    steps = [call("P17")], asks, [(NEXT, {"entry": "refund"}, "c3")]
    agent = Agent(
        model_of(*steps, "done"), capabilities=[Guard(door, own=["create_ticket"])], retries=0
    )
    done = await agent.run("my ear hurts")
    told = [facts_in(part) for part in returns(done.all_messages())]
    assert first(told[0])["state"] == "unknown"
    assert first(told[1])["state"] == "confirmed"
    assert first(told[2])["reason"] == "not_allowed"
    assert effects(shop, "P17") == 1


async def test_what_is_let_through_stays_the_frameworks_own(shop):
    door = door_of(shop)
    door.declare("add", access="pass")

    def add(a: int, b: int) -> int:
        return a + b

    agent = Agent(
        model_of([("add", {"a": 2, "b": 3}, "c1")], "done"), tools=[add],
        capabilities=[Guard(door)],
    )  # fmt: skip
    done = await agent.run("2 + 3?")
    assert returns(done.all_messages())[0].content == 5


async def test_nobody_known_whose_wish_it_is_ends_the_run_before_anything_is_sent(shop, ticket):
    agent = Agent(
        model_of([call("P18")], "done"), tools=[ticket],
        capabilities=[Guard(door_of(shop, scope=None))],
    )  # fmt: skip
    with pytest.raises(NoScope):
        await agent.run("my ear hurts")
    assert shop.starts == []


async def test_a_run_that_is_cancelled_leaves_an_action_that_the_late_answer_lands_on(shop, ticket):
    shop.world.script("tickets", {"order": "P19"}, [Behaviour("slow_deadline", seconds=0.4)])
    session = shop.app.session("chat-19", principal="u7")
    agent = Agent(
        model_of([call("P19")], "done"), tools=[ticket],
        capabilities=[Guard(door_of(shop, scope=session))],
    )  # fmt: skip
    task = asyncio.create_task(agent.run("my ear hurts"))
    await asyncio.to_thread(shop.world.wait_until, lambda: shop.starts)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    landed = lambda: session.actions(whole=True)[0].state == "confirmed"  # noqa: E731
    await asyncio.to_thread(shop.world.wait_until, landed)
    assert effects(shop, "P19") == 1


async def test_a_history_that_was_interrupted_goes_on_with_the_action_that_is_there(shop, ticket):
    """The framework tells the model that the call was interrupted, and the model plans anew."""
    shop.world.script("tickets", {"order": "P20"}, [Behaviour("slow_deadline", seconds=0.3)])
    model = model_of([call("P20")], [call("P20", "once more", "c2")], "done")
    agent = Agent(model, tools=[ticket], capabilities=[Guard(door_of(shop))])
    with capture_run_messages() as messages:
        task = asyncio.create_task(agent.run("my ear hurts", conversation_id="chat-20"))
        await asyncio.to_thread(shop.world.wait_until, lambda: shop.starts)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    done = await agent.run(message_history=list(messages))
    interrupted, again = returns(done.all_messages())
    assert interrupted.outcome == "interrupted"
    assert first(facts_in(again))["state"] == "confirmed"
    assert (effects(shop, "P20"), shop.starts) == (1, ["P20"])
