"""F14: layers above a guarded tool and clients below it do not multiply, and are told."""

import json
import logging

import backoff
import httpx
import pydantic_ai
import pytest
import stamina
import tenacity
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware.error_handling import RetryMiddleware
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool as langchain_tool
from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from ascertain import Ascertain, Budget, Unsettled
from ascertain.report.examine import examine
from ascertain.runtime.clock import LedgerClock
from ascertain.store.open import open_ledger
from ascertain.testing.world import Behaviour, Provider, World
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

ONCE = Budget(turn_sends=1, turn_s=2.0, send_deadline_s=1.0)


@pytest.fixture
def desk(tmp_path, caplog):
    """A guarded write that nothing makes safe to repeat, whose reply is lost each time."""
    blind = Provider(honours_key=False, lookup=False)
    with World({"tickets": blind, "mails": blind}) as world:
        yield from desk_at(world, tmp_path, caplog)


def desk_at(world, tmp_path, caplog):
    app = Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none")
    client = app.watch(httpx.Client(base_url=world.url))

    @app.tool(identity=["order_id"], budget=ONCE)
    def create_ticket(order_id: str) -> dict:
        return client.post("/tickets", json={"order": order_id}).raise_for_status().json()

    def ticket(order_id: str) -> str:
        """Open a ticket."""
        with app.session("chat-42", principal="u7"):
            return str(create_ticket(order_id=order_id).unwrap())

    caplog.set_level(logging.WARNING, logger="ascertain")
    world.script("tickets", {"order": "A1"}, [Behaviour("reply_lost")] * 9)
    yield world, app, ticket, caplog
    client.close()
    app.close()


def told(caplog, event):
    lines = [json.loads(r.getMessage()) for r in caplog.records if r.getMessage()[:1] == "{"]
    return [line for line in lines if line["event"] == event]


def by_tenacity(ticket):
    with pytest.raises(tenacity.RetryError):
        tenacity.retry(stop=tenacity.stop_after_attempt(3))(ticket)("A1")


def by_backoff(ticket):
    again = backoff.on_exception(backoff.constant, Unsettled, max_tries=3, interval=0)
    with pytest.raises(Unsettled):
        again(ticket)("A1")


def by_stamina(ticket):
    with pytest.raises(Unsettled):
        stamina.retry(on=Unsettled, attempts=3, wait_initial=0, wait_max=0)(ticket)("A1")


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools, **_options):
        return self


def by_langchain(ticket):
    call = {"name": "ticket", "args": {"order_id": "A1"}, "id": "c1"}
    model = Scripted(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("Sorry.")]))
    again = ToolRetryMiddleware(initial_delay=0, jitter=False)
    agent = create_agent(model, [langchain_tool(ticket)], middleware=[again])
    agent.invoke({"messages": [{"role": "user", "content": "Open a ticket."}]})


def by_langgraph(ticket):
    graph = StateGraph(dict)
    again = RetryPolicy(initial_interval=0, jitter=False, retry_on=Unsettled)
    graph.add_node("tools", lambda _state: {"said": ticket("A1")}, retry_policy=again)
    graph.add_edge(START, "tools")
    with pytest.raises(Unsettled):
        graph.compile().invoke({})


LAYERS = {
    "tenacity": by_tenacity,
    "backoff": by_backoff,
    "stamina": by_stamina,
    "langchain.ToolRetryMiddleware": by_langchain,
    "langgraph.RetryPolicy": by_langgraph,
}


@pytest.mark.parametrize("layer", LAYERS)
def test_req_F14_a_layer_above_repeats_the_call_and_not_the_effect(desk, layer):
    world, _, ticket, caplog = desk
    LAYERS[layer](ticket)
    assert len(world.effects()) == 1
    assert [line["layer"] for line in told(caplog, "retry_above")] == [layer], "told once"


def lost_tool(app):
    async def timing_out(order_id: str) -> str:
        """Open a ticket."""
        async with app.session("chat-42", principal="u7") as session:
            action = await session.call_async("create_ticket", {"order_id": order_id})
        raise TimeoutError(action.state)

    return timing_out


async def test_req_F14_fastmcp_s_retry_repeats_the_call_and_not_the_effect(desk):
    world, app, _, caplog = desk
    server = FastMCP("shop")
    server.tool(lost_tool(app))
    server.add_middleware(RetryMiddleware(base_delay=0, max_delay=0))
    async with Client(server) as client:
        with pytest.raises(ToolError):
            await client.call_tool("timing_out", {"order_id": "A1"})
    assert len(world.effects()) == 1
    assert [line["layer"] for line in told(caplog, "retry_above")] == ["fastmcp.RetryMiddleware"]


async def test_req_F14_pydantic_ai_s_timeout_repeats_the_call_and_not_the_effect(desk):
    world, app, _, caplog = desk
    asked = [ToolCallPart("timing_out", {"order_id": "A1"}, tool_call_id=f"c{n}") for n in (1, 2)]
    replies = iter([ModelResponse([call]) for call in asked])
    agent = pydantic_ai.Agent(FunctionModel(lambda _messages, _info: next(replies)))
    agent.tool_plain(timeout=9, retries=1)(lost_tool(app))
    with pytest.raises(pydantic_ai.UnexpectedModelBehavior):
        await agent.run("Open a ticket.")
    assert len(world.effects()) == 1
    assert [line["layer"] for line in told(caplog, "retry_above")] == ["pydantic_ai tool timeout"]


def test_req_F14_a_call_without_a_layer_is_told_of_none(desk):
    _, _, ticket, caplog = desk
    with pytest.raises(Unsettled):
        ticket("A1")
    assert told(caplog, "retry_above") == []
    assert told(caplog, "sent_again_below") == []


def test_req_F14_what_is_sent_again_below_is_told_counted_and_found_by_doctor(desk, tmp_path):
    world, app, _, caplog = desk
    crm = app.watch(httpx.Client(base_url=world.url), name="crm")

    @app.tool(identity=["order_id"], budget=ONCE)
    def send_mail(order_id: str) -> dict:
        for _ in range(3):
            reply = crm.post("/mails", json={"order": order_id})
        return reply.raise_for_status().json()

    with app.session("chat-42", principal="u7"):
        action = send_mail(order_id="A1")
    (line,) = told(caplog, "sent_again_below")
    assert line == {
        "event": "sent_again_below", "tool": "send_mail", "action": action.id, "attempt": 1,
        "extra_sends": 2, "clients": ["crm"],
    }  # fmt: skip
    crm.close()
    found = open_ledger(app.url)
    try:
        (check,) = [c for c in examine(found, LedgerClock()()).checks if c.name == "resent"]
    finally:
        found.close()
    assert check.verdict == "warn"
    assert "send_mail (2 sends too many)" in check.sentence
