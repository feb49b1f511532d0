"""LangChain with an MCP server behind the proxy: `python examples/langchain_mcp.py`.

`langchain-mcp-adapters` needs an older SDK than the proxy has, so the proxy is a process of another
environment: `ASCERTAIN` names its command. With `LANGCHAIN_MODEL=openai:gpt-5` and a key a real
model is asked.
"""

import asyncio
import json
import os
import shutil
import tempfile
from pathlib import Path

import desk
from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.messages import ToolMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp_config import CONFIG
from scripted_chat import scripted_chat

HERE = Path(__file__).parent


async def main():
    name = os.environ.get("LANGCHAIN_MODEL")
    model = init_chat_model(name) if name else scripted_chat(order="order")
    command = Path(os.environ.get("ASCERTAIN") or shutil.which("ascertain"))
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "ascertain.toml"
        config.write_text(CONFIG.format(folder=folder))
        server = [str(command.parent / "python"), str(HERE / "mcp_server.py"), folder]
        proxy = {
            "transport": "stdio", "command": str(command),
            "args": ["mcp", "--config", str(config), "--", *server],
        }  # fmt: skip
        client = MultiServerMCPClient({"desk": proxy})
        async with client.session("desk") as session:
            agent = create_agent(model, await load_mcp_tools(session))
            ended = await agent.ainvoke({"messages": [("user", desk.WISH)]})
        for message in ended["messages"]:
            if isinstance(message, ToolMessage):
                action = fact_in(message)["actions"][0]
                print("fact:    ", action["state"], action.get("provider_ref"))
        print("model:   ", ended["messages"][-1].text)
        tickets = (Path(folder) / "tickets.txt").read_text().splitlines()
        print(f"provider: {len(tickets)} ticket: {tickets[0].split()[0]}")


def fact_in(message):
    """The proxy's fact: the last part of what the model reads."""
    parts = message.content if isinstance(message.content, list) else [message.content]
    last = parts[-1]
    return json.loads(last if isinstance(last, str) else last["text"])


if __name__ == "__main__":
    asyncio.run(main())
