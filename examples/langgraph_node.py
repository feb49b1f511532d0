"""A graph of your own with a guarded tool node: `python examples/langgraph_node.py`.

With `LANGCHAIN_MODEL=anthropic:claude-sonnet-5-5` and a key a real model is asked.
"""

import os

import desk
from langchain.chat_models import init_chat_model
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from scripted_chat import scripted_chat

from ascertain.adapters.door import Door
from ascertain.adapters.langgraph import Guard, thread_scope


def main():
    name = os.environ.get("LANGCHAIN_MODEL")
    model = init_chat_model(name) if name else scripted_chat()
    with desk.open_app() as app:
        door = Door(app, scope=thread_scope(app, principal=lambda request: "u7"))
        door.declare("open_ticket", **desk.PROMISES)
        guard = Guard(door)
        tools = [StructuredTool.from_function(desk.open_ticket), *guard.tools]
        bound = model.bind_tools(tools)

        def ask(state):
            return {"messages": [bound.invoke(state["messages"])]}

        node = ToolNode(
            tools, wrap_tool_call=guard.wrap_tool_call, awrap_tool_call=guard.awrap_tool_call
        )
        graph = StateGraph(MessagesState)
        graph.add_node("model", ask)
        graph.add_node("tools", node)
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        built = graph.compile(checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "chat-42"}}
        ended = built.invoke({"messages": [("user", desk.WISH)]}, config)
        for message in ended["messages"]:
            if isinstance(message, ToolMessage):
                action = message.artifact["actions"][0]
                print("fact:    ", action["state"], action.get("provider_ref"))
        desk.tell(ended["messages"][-1].text)


if __name__ == "__main__":
    main()
