"""An agent of the Claude Agent SDK, its tool guarded: `python examples/claude_agent.py`.

With `ANTHROPIC_API_KEY` (and `ANTHROPIC_MODEL`) a real model is asked. The SDK brings a program of
its own along, which asks the model; offline it asks a scripted one.
"""

import asyncio
import json
import os
import tempfile

import desk
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ResultMessage,
    ToolResultBlock,
    UserMessage,
    query,
    tool,
)
from scripted import says, scripted_model

from ascertain.adapters.claude_agent import GuardedServer
from ascertain.adapters.door import Door


@tool("open_ticket", "Open a ticket for an order.", desk.SCHEMA)
async def open_ticket(given):
    """The SDK's own tool, as it is."""
    return {"content": [{"type": "text", "text": json.dumps(desk.open_ticket(**given))}]}


def asks(id, issue):
    given = {"order_id": "A123", "issue": issue}
    return {"type": "tool_use", "id": id, "name": "mcp__desk__open_ticket", "input": given}


async def run(model, env):
    async with desk.open_app() as app:
        door = Door(app, scope=lambda call: app.session(call.session_id, principal="u7"))
        door.declare("open_ticket", **desk.PROMISES)
        server = GuardedServer("desk", door, tools=[open_ticket])
        with tempfile.TemporaryDirectory() as folder:
            options = ClaudeAgentOptions(
                mcp_servers={"desk": server.server}, hooks=server.hooks,
                allowed_tools=server.allowed, tools=[], setting_sources=[], model=model, env=env,
                cwd=folder,
            )  # fmt: skip
            async for message in query(prompt=desk.WISH, options=options):
                if isinstance(message, UserMessage):
                    for block in message.content:
                        if isinstance(block, ToolResultBlock):
                            action = json.loads(text_of(block.content))["actions"][0]
                            print("fact:    ", action["state"], action.get("provider_ref"))
                elif isinstance(message, ResultMessage):
                    desk.tell(message.result)


def text_of(content):
    return content if isinstance(content, str) else content[0]["text"]


def main():
    if os.environ.get("ANTHROPIC_API_KEY"):
        asyncio.run(run(os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5-5"), {}))
        return
    script = [
        says(asks("toolu_1", "noise in the left ear")),
        says(asks("toolu_2", "it buzzes on the left")),  # it plans anew: other words, another id
        says({"type": "text", "text": "Your ticket is T900; its result is pending."}),
    ]
    with scripted_model(*script) as url, tempfile.TemporaryDirectory() as home:
        env = {
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "-", "CLAUDE_CONFIG_DIR": home,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
        }  # fmt: skip
        asyncio.run(run("scripted", env))


if __name__ == "__main__":
    main()
