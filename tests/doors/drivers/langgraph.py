"""LangChain's agents and LangGraph's tool nodes, with a scripted chat model."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from ascertain.adapters.langchain import AscertainMiddleware
from ascertain.adapters.langgraph import Guard
from tests.doors.drivers import running
from tests.doors.script import Played, Told
from tests.doors.shop import Killed


class Scripted(BaseChatModel):
    """Says what it was told to; `heard` is what it was given last."""

    says: list
    heard: list
    count: list

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools, **kwargs: Any):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs: Any):
        self.heard[:] = messages
        say = self.says.pop(0)
        self.count.append(1)
        message = AIMessage(
            say.text, id=f"said-{len(self.count)}-{say.calls and say.calls[0].id}",
            tool_calls=[
                {"name": call.name, "args": read(call.text), "id": call.id, "type": "tool_call"}
                for call in say.calls
            ],
            response_metadata={"finish_reason": "length" if say.cut else "tool_calls"},
        )  # fmt: skip
        return ChatResult(generations=[ChatGeneration(message=message)])


def read(text):
    """As LangChain does it: what is there is put together."""
    from langchain_core.utils.json import parse_partial_json

    return parse_partial_json(text) or {}


class Graph:
    """An agent on a graph with a checkpointer."""

    tells_cut = True

    def __init__(self, name, build, *, light=False, is_async=False):
        self.name = name
        self.build = build
        self.light = light
        self.is_async = is_async

    def __repr__(self):
        return self.name

    def play(self, shop, says, *, turn="m1", tools=None, saved=None, cancel=False):
        model = Scripted(says=list(says), heard=[], count=[])
        saver, before = saved or (InMemorySaver(), 0)
        own = shop.own if tools is None else tools
        agent = self.build(model, shop, own, guests(shop), saver)
        config = {"configurable": {"thread_id": "chat-42"}}
        given = None if saved else {"messages": [HumanMessage("Please.", id=turn)]}
        killed = False
        if self.is_async:
            killed = running.run(agent.ainvoke(given, config), shop, cancel=cancel)
        else:
            try:
                agent.invoke(given, config)
            except Killed:
                killed = True
        return Played(told_in(model.heard), killed, (saver, before))


def guests(shop):
    return [
        StructuredTool.from_function(
            func=guest.run, coroutine=guest.run_async, name=guest.name,
            description=guest.description, args_schema=guest.schema, infer_schema=False,
        )
        for guest in shop.guests
    ]  # fmt: skip


def told_in(messages):
    return [
        Told(one.tool_call_id, one.content, one.status == "error")
        for one in messages
        if isinstance(one, ToolMessage)
    ]


def agent(model, shop, own, tools, saver):
    guard = AscertainMiddleware(shop.door, own=own)
    return create_agent(model, tools, middleware=[guard], checkpointer=saver)


def graph(model, shop, own, tools, saver):
    guard = Guard(shop.door, own=own)
    node = ToolNode(
        [*guard.tools, *tools], wrap_tool_call=guard.wrap_tool_call,
        awrap_tool_call=guard.awrap_tool_call,
    )  # fmt: skip

    def ask(state):
        return {"messages": [model.invoke(state["messages"])]}

    built = StateGraph(MessagesState)
    built.add_node("model", ask)
    built.add_node("tools", node)
    built.add_edge(START, "model")
    built.add_conditional_edges("model", tools_condition)
    built.add_edge("tools", "model")
    return built.compile(checkpointer=saver)


DRIVERS = [
    Graph("langchain", agent),
    Graph("langchain-async", agent, light=True, is_async=True),
    Graph("langgraph", graph, light=True),
]
