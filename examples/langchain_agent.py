"""An agent of LangChain whose tool stays as it is: `python examples/langchain_agent.py`.

With `LANGCHAIN_MODEL=anthropic:claude-sonnet-5-5` and a key a real model is asked.
"""

import os

import desk
from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from scripted_chat import scripted_chat

from ascertain.adapters.door import Door
from ascertain.adapters.langchain import AscertainMiddleware, thread_scope


def user_of(request):
    """Whose wish it is, from what the program has authenticated."""
    return request.runtime.config["configurable"]["user"]


def main():
    name = os.environ.get("LANGCHAIN_MODEL")
    model = init_chat_model(name) if name else scripted_chat()
    tool = StructuredTool.from_function(desk.open_ticket)
    with desk.open_app() as app:
        door = Door(app, scope=thread_scope(app, principal=user_of))
        door.declare("open_ticket", **desk.PROMISES)
        middleware = [AscertainMiddleware(door)]  # the last one: it owns the send
        agent = create_agent(model, [tool], middleware=middleware, checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "chat-42", "user": "u7"}}
        ended = agent.invoke({"messages": [("user", desk.WISH)]}, config)
        for message in ended["messages"]:
            if isinstance(message, ToolMessage):
                action = message.artifact["actions"][0]
                print("fact:    ", action["state"], action.get("provider_ref"))
        desk.tell(ended["messages"][-1].text)


if __name__ == "__main__":
    main()
