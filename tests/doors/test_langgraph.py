"""What only a graph does: pauses, threads, replays from a checkpoint, calls at once."""

import logging
from types import SimpleNamespace
from typing import Annotated, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, RetryPolicy, interrupt
from pydantic import BaseModel, Field

from ascertain import Budget
from ascertain.adapters.door import Door
from ascertain.adapters.langchain import AscertainMiddleware, thread_scope
from ascertain.adapters.langgraph import Guard
from ascertain.errors import ContractError, NoScope
from tests.doors.drivers.langgraph import Scripted, guests
from tests.doors.script import DONE, Call, calls
from tests.doors.shop import PRINCIPAL

CONFIG = {"configurable": {"thread_id": "chat-42"}}
MORE = {"configurable": {"thread_id": "chat-42", "user": PRINCIPAL}}


def scripted(*says):
    return Scripted(says=list(says), heard=[], count=[])


def ask(turn="m1"):
    return {"messages": [HumanMessage("Please.", id=turn)]}


def case(id, order):
    return Call(id, "open_case", {"order": order})


def last(result):
    return [one for one in result["messages"] if isinstance(one, ToolMessage)][-1]


def test_a_call_that_waits_for_a_person_pauses_the_graph_after_it_is_written(shop, order):
    shop.world.script("tickets", {"order": order}, ["reply_lost"])
    middleware = AscertainMiddleware(shop.door, pauses=True)
    model = scripted(calls(Call("c1", "post_note", {"order": order})), DONE)
    agent = create_agent(model, guests(shop), middleware=[middleware], checkpointer=InMemorySaver())
    paused = agent.invoke(ask(), CONFIG)
    asked = paused["__interrupt__"][0].value
    assert asked["actions"][0]["state"] == "unknown"
    # the person's word goes to the ledger; the graph is only woken up
    shop.app.resolve(asked["action"], confirmed="T900")
    ended = agent.invoke(Command(resume="go on"), CONFIG)
    assert last(ended).artifact["actions"][0]["provider_ref"] == "T900"
    assert shop.arrivals(order) == 1


def test_a_pause_that_is_resumed_without_a_verdict_says_what_is_known(shop, order):
    shop.world.script("tickets", {"order": order}, ["reply_lost"])
    middleware = AscertainMiddleware(shop.door, pauses=True)
    model = scripted(calls(Call("c1", "post_note", {"order": order})), DONE)
    agent = create_agent(model, guests(shop), middleware=[middleware], checkpointer=InMemorySaver())
    agent.invoke(ask(), CONFIG)
    ended = agent.invoke(Command(resume="it was done, believe me"), CONFIG)
    assert last(ended).status == "error"
    assert last(ended).artifact["actions"][0]["state"] == "unknown"
    assert shop.arrivals(order) == 1


def test_a_replay_from_the_checkpoint_before_the_tools_finds_the_action(shop, order):
    model = scripted(calls(case("c1", order)), DONE, DONE)
    middleware = AscertainMiddleware(shop.door)
    agent = create_agent(model, guests(shop), middleware=[middleware], checkpointer=InMemorySaver())
    first = agent.invoke(ask(), CONFIG)
    before = next(one for one in agent.get_state_history(CONFIG) if one.next == ("tools",))
    again = agent.invoke(None, before.config)
    assert last(again).artifact == last(first).artifact
    assert shop.arrivals(order) == 1


def test_a_fork_from_before_the_model_is_the_same_wish_of_the_same_turn(shop, order):
    model = scripted(calls(case("c1", order)), DONE, calls(case("x9", order)), DONE)
    middleware = AscertainMiddleware(shop.door)
    agent = create_agent(model, guests(shop), middleware=[middleware], checkpointer=InMemorySaver())
    agent.invoke(ask(), CONFIG)
    before = next(one for one in agent.get_state_history(CONFIG) if one.next == ("model",))
    again = agent.invoke(None, before.config)
    assert last(again).tool_call_id == "x9"
    assert last(again).status == "success"
    assert shop.arrivals(order) == 1


def test_a_sibling_that_had_ended_is_not_run_again_when_its_batch_is(shop, order):
    fails = [True]

    @tool
    def shaky(order: str) -> str:
        """Breaks once."""
        if fails.pop():
            fails.append(False)
            raise KeyboardInterrupt
        return "fine"

    shop.door.declare("shaky", access="pass")
    guard = Guard(shop.door)
    node = ToolNode([*guests(shop), shaky], wrap_tool_call=guard.wrap_tool_call)

    def model(state):
        made = [case("c1", order), Call("c2", "shaky", {"order": order})]
        return {"messages": [AIMessage("", id="said-1", tool_calls=[
            {"name": one.name, "args": one.arguments, "id": one.id, "type": "tool_call"}
            for one in made
        ])]}  # fmt: skip

    built = StateGraph(MessagesState)
    built.add_node("model", model)
    built.add_node("tools", node)
    built.add_edge(START, "model")
    built.add_edge("model", "tools")
    graph = built.compile(checkpointer=InMemorySaver())
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(ask(), CONFIG)
    graph.invoke(None, CONFIG)
    assert shop.arrivals(order) == 1


# ------------------------------------------------------------------------------- retries around it


def test_req_F14_a_middleware_that_retries_tools_meets_the_stored_fact(shop, order):
    shop.world.script("tickets", {"order": order}, ["reply_lost"])
    model = scripted(calls(Call("c1", "post_note", {"order": order})), DONE)
    retries = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    agent = create_agent(
        model, guests(shop), middleware=[retries, AscertainMiddleware(shop.door)],
    )  # fmt: skip
    ended = agent.invoke(ask())
    assert "try again" not in last(ended).content
    assert last(ended).artifact["actions"][0]["state"] == "unknown"
    assert shop.arrivals(order) == 1


def test_req_F14_a_middleware_that_retries_inside_is_one_attempt_with_its_sends_counted(
    shop, order, caplog
):
    shop.world.script("tickets", {"order": order}, ["reply_lost", "ok"])
    model = scripted(calls(Call("c1", "post_note", {"order": order})), DONE)
    retries = ToolRetryMiddleware(
        max_retries=2, initial_delay=0.0, jitter=False, retry_on=(Exception,), on_failure="error",
    )  # fmt: skip
    agent = create_agent(
        model, guests(shop), middleware=[AscertainMiddleware(shop.door), retries],
    )  # fmt: skip
    with caplog.at_level(logging.INFO, "ascertain"):
        agent.invoke(ask())
    # the layer below has sent twice: nothing of ours can undo that, but it is seen and told
    assert "2 requests left for one attempt" in caplog.text
    assert "retries by itself" in caplog.text


def test_req_F14_a_node_that_is_retried_finds_its_action(shop, order):
    shop.world.script("tickets", {"order": order}, ["reply_lost"])
    guard = Guard(shop.door)
    tries = []

    def outside(request, handler):
        tries.append(1)
        answer = guard.wrap_tool_call(request, handler)
        if len(tries) == 1:
            raise ConnectionError("lost on the way back")
        return answer

    node = ToolNode(guests(shop), wrap_tool_call=outside)
    built = StateGraph(MessagesState)
    built.add_node("tools", node, retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    built.add_edge(START, "tools")
    made = AIMessage("", id="said-1", tool_calls=[
        {"name": "post_note", "args": {"order": order}, "id": "c1", "type": "tool_call"}
    ])  # fmt: skip
    ended = built.compile().invoke({"messages": [HumanMessage("Please.", id="m1"), made]})
    assert len(tries) == 2
    assert last(ended).artifact["actions"][0]["state"] == "unknown"
    assert shop.arrivals(order) == 1


# ------------------------------------------------------------------------------ whose wish it is


def user_of(request):
    return request.runtime.config["configurable"]["user"]


def test_the_thread_is_the_session_and_the_program_says_whose_it_is(shop, order):
    door = Door(shop.app, scope=thread_scope(shop.app, principal=user_of))
    model = scripted(calls(Call("c1", "create_ticket", {"order": order, "issue": "x"})), DONE)
    agent = create_agent(
        model, [], middleware=[AscertainMiddleware(door, own=shop.own)],
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    agent.invoke(ask(), MORE)
    (action,) = shop.actions()
    assert (action.record.session, action.record.turn) == ("chat-42", "m1")
    assert action.record.principal == PRINCIPAL


def test_a_graph_without_threads_or_users_says_what_to_do(shop, order):
    for scope, config in (
        (thread_scope(shop.app, principal=lambda request: "u7"), {}),
        (thread_scope(shop.app), CONFIG),
    ):
        door = Door(shop.app, scope=scope)
        saver = InMemorySaver() if config else None
        model = scripted(calls(Call("c1", "create_ticket", {"order": order, "issue": "x"})))
        agent = create_agent(
            model, [], middleware=[AscertainMiddleware(door, own=shop.own)], checkpointer=saver,
        )  # fmt: skip
        with pytest.raises(NoScope, match=r"[Ss]ay "):
            agent.invoke(ask(), config)
    assert shop.arrivals(order) == 0


# ------------------------------------------------------------------------------- what tools return


def run_tool(shop, own, call, **said):
    guard = Guard(shop.door, **said)
    node = ToolNode(own, wrap_tool_call=guard.wrap_tool_call)
    built = StateGraph(MessagesState)
    built.add_node("tools", node)
    built.add_edge(START, "tools")
    made = AIMessage("", id="said-1", tool_calls=[
        {"name": call.name, "args": call.arguments, "id": call.id, "type": "tool_call"}
    ])  # fmt: skip
    graph = built.compile(checkpointer=InMemorySaver())
    return graph, {"messages": [HumanMessage("Please.", id="m1"), made]}


def test_a_tool_that_says_error_has_not_said_that_nothing_happened(shop, order):
    @tool
    def pay(order: str) -> str:
        """Pays, and breaks."""
        shop.send(order)
        raise OSError("the disk is full")

    pay.handle_tool_error = True
    graph, given = run_tool(shop, [pay], Call("c1", "pay", {"order": order}))
    shown = last(graph.invoke(given, CONFIG))
    assert shown.artifact["actions"][0]["state"] == "unknown"
    assert "disk" not in shown.content
    assert shop.effects(order) == 1


def test_a_tool_that_pauses_in_its_body_goes_on_after_its_absence_is_known(shop, order):
    @tool
    def pay(order: str, request: str = "") -> dict:
        """Asks first."""
        interrupt("may I?")
        return shop.send(order, request)

    shop.door.declare(
        "pay", fills={"request": "key"}, key_lifetime="24h", budget=Budget(turn_sends=1),
        lookup={"target": shop.find, "absence_final_after": "1ms"},
    )  # fmt: skip
    graph, given = run_tool(shop, [pay], Call("c1", "pay", {"order": order}))
    paused = graph.invoke(given, CONFIG)
    assert paused["__interrupt__"][0].value == "may I?"
    assert shop.arrivals(order) == 0
    ended = graph.invoke(Command(resume="yes"), CONFIG)
    assert last(ended).artifact["actions"][0]["state"] == "confirmed"
    assert shop.arrivals(order) == 1


def test_an_artifact_of_the_tool_is_kept_beside_the_facts(shop, order):
    @tool(response_format="content_and_artifact")
    def pay(order: str) -> tuple[str, dict]:
        """Pays."""
        return '{"id": "P1"}', {"raw": order}

    graph, given = run_tool(shop, [pay], Call("c1", "pay", {"order": order}))
    shown = last(graph.invoke(given, CONFIG))
    assert shown.artifact["tool_artifact"] == {"raw": order}
    assert shown.artifact["actions"][0]["provider_ref"] == "P1"


def test_req_U12_half_an_argument_that_was_put_together_is_not_taken(shop, order):
    half = AIMessageChunk(
        "", id="said-1",
        tool_call_chunks=[{
            "name": "open_case", "args": f'{{"order": "{order}", "note": "no', "id": "c1",
            "index": 0, "type": "tool_call_chunk",
        }],
    )  # fmt: skip
    assert half.tool_calls[0]["args"]["order"] == order  # as the framework reads it
    guard = Guard(shop.door)
    built = StateGraph(TypedDict("Kept", {"messages": list}))  # no reducer makes another of it
    built.add_node("tools", ToolNode(guests(shop), wrap_tool_call=guard.wrap_tool_call))
    built.add_edge(START, "tools")
    ended = built.compile().invoke({"messages": [HumanMessage("Please.", id="m1"), half]})
    assert last(ended).artifact["actions"][0]["reason"] == "invalid_arguments"
    assert shop.arrivals(order) == 0


def test_req_U12_a_strict_guard_makes_no_call_of_a_message_without_an_end(shop, order):
    graph, given = run_tool(shop, guests(shop), case("c1", order), strict=True)
    shown = last(graph.invoke(given, CONFIG))
    assert shown.artifact["actions"][0]["reason"] == "cut_off"
    assert shop.arrivals(order) == 0


def test_an_own_tool_that_is_called_past_its_door_sends_nothing(shop, order):
    guard = Guard(shop.door, own=["create_ticket"])
    with pytest.raises(ContractError, match="past its door"):
        guard.tools[0].invoke({"order": order, "issue": "x"})
    assert shop.arrivals(order) == 0


# -------------------------------------------------------------------------------- forms of tools


class Wish(BaseModel):
    """What a tool with a model of its own takes."""

    order: str
    count: int = Field(default=1, gt=0)
    request: str


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_the_tools_own_model_of_its_arguments_is_asked_before_anything_is_stored(
    shop, order, is_async
):
    @tool(args_schema=Wish)
    def order_parts(order: str, count: int, request: str) -> dict:
        """Orders."""
        return shop.send(order, request)

    shop.door.declare("order_parts", fills={"request": "key"}, key_lifetime="24h")

    async def run(**arguments):
        guard = Guard(shop.door)
        node = ToolNode(
            [order_parts], wrap_tool_call=guard.wrap_tool_call,
            awrap_tool_call=guard.awrap_tool_call,
        )  # fmt: skip
        built = StateGraph(MessagesState)
        built.add_node("tools", node)
        built.add_edge(START, "tools")
        call = {"name": "order_parts", "args": arguments, "id": "c1", "type": "tool_call"}
        given = {"messages": [HumanMessage("Please.", id="m1"), AIMessage("", tool_calls=[call])]}
        graph = built.compile()
        return last(await graph.ainvoke(given) if is_async else graph.invoke(given))

    wrong = await run(order=order, count=0)
    assert wrong.artifact["actions"][0]["detail"] == (
        "order_parts: count does not fit (greater_than)."
    )
    assert shop.arrivals(order) == 0
    right = await run(order=order, count=2)  # the key is not the model's to say
    assert right.artifact["actions"][0]["state"] == "confirmed"
    assert shop.effects(order) == 1


async def test_an_async_graph_pauses_and_lets_reads_through_like_any(shop, order):
    shop.world.script("tickets", {"order": order}, ["reply_lost"])
    middleware = AscertainMiddleware(shop.door, pauses=True)
    looks, notes = (
        Call("c1", "look_around", {"order": order}),
        Call("c2", "post_note", {"order": order}),
    )
    model = scripted(calls(looks), calls(notes), DONE)
    agent = create_agent(model, guests(shop), middleware=[middleware], checkpointer=InMemorySaver())
    paused = await agent.ainvoke(ask(), CONFIG)
    assert f"nothing about {order}" in last(paused).content
    action = paused["__interrupt__"][0].value["action"]
    shop.app.resolve(action, confirmed="T900")
    ended = await agent.ainvoke(Command(resume="go on"), CONFIG)
    assert last(ended).artifact["actions"][0]["provider_ref"] == "T900"
    assert shop.arrivals(order) == 1


async def test_an_async_tool_that_pauses_in_its_body_pauses_its_graph(shop, order):
    @tool
    async def pay(order: str) -> str:
        """Asks first."""
        return interrupt("may I?")

    guard = Guard(shop.door)
    built = StateGraph(MessagesState)
    built.add_node("tools", ToolNode([pay], awrap_tool_call=guard.awrap_tool_call))
    built.add_edge(START, "tools")
    graph = built.compile(checkpointer=InMemorySaver())
    call = {"name": "pay", "args": {"order": order}, "id": "c1", "type": "tool_call"}
    given = {"messages": [HumanMessage("Please.", id="m1"), AIMessage("", tool_calls=[call])]}
    paused = await graph.ainvoke(given, CONFIG)
    assert paused["__interrupt__"][0].value == "may I?"
    (action,) = shop.actions()
    assert action.state == "unknown"  # it had begun, and nobody knows what it did


def test_a_command_of_a_tool_that_was_run_goes_on_and_its_replay_is_a_fact(shop, order):
    @tool
    def move(order: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
        """Changes the state of the graph."""
        shop.send(order)
        said = ToolMessage("moved", tool_call_id=tool_call_id)
        return Command(update={"messages": [said]})

    graph, given = run_tool(shop, [move], Call("c1", "move", {"order": order}))
    assert last(graph.invoke(given, CONFIG)).content == "moved"
    before = next(one for one in graph.get_state_history(CONFIG) if one.next == ("tools",))
    again = last(graph.invoke(None, before.config))
    assert again.artifact["actions"][0]["state"] == "confirmed"
    assert shop.arrivals(order) == 1


def test_the_user_of_a_langgraph_server_is_whose_wish_it_is(shop):
    user = SimpleNamespace(identity="u7")
    info = SimpleNamespace(thread_id="chat-42")
    runtime = SimpleNamespace(execution_info=info, server_info=SimpleNamespace(user=user))
    session = thread_scope(shop.app)(SimpleNamespace(runtime=runtime))
    assert (session.id, session.principal) == ("chat-42", "u7")


@pytest.mark.parametrize("form", [list, lambda messages: SimpleNamespace(messages=messages)])
def test_the_turn_is_found_in_every_form_of_a_state(shop, order, form):
    call = {"name": "post_note", "args": {"order": order}, "id": "c1", "type": "tool_call"}
    messages = form([HumanMessage("Please.", id="m7"), AIMessage("", tool_calls=[call])])
    request = ToolCallRequest(tool_call=call, tool=guests(shop)[1], state=messages, runtime=None)
    node = Guard(shop.door)
    answer = node.wrap_tool_call(request, lambda given: ToolMessage("ok", tool_call_id="c1"))
    assert answer.status == "success"
    assert shop.actions()[0].record.turn == "m7"


def test_guests_can_be_learned_before_any_run_for_a_worker(shop):
    Guard(shop.door, guests=guests(shop))
    assert shop.app.registry.get("open_case").contract.caller_sends
    assert shop.app.registry.find("look_around") is None  # let through: none of ours
