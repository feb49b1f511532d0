"""Agents of the Claude Agent SDK: its real program, with its model on a local endpoint."""

import functools
import json
import os
import tempfile

from claude_agent_sdk import ClaudeAgentOptions, SdkMcpTool, ToolResultBlock, UserMessage, query

from ascertain.adapters.claude_agent import GuardedServer
from tests.doors.drivers import running
from tests.doors.endpoint import endpoint
from tests.doors.script import Played, Told, planned_anew

# The program that the SDK starts takes its settings from here; none of a person's own are wanted.
for name in list(os.environ):
    if name.startswith(("ANTHROPIC_", "CLAUDE")):
        del os.environ[name]


@functools.cache
def home():
    return tempfile.mkdtemp(prefix="claude-agent-")


class ClaudeAgent:
    """An agent whose tools are one server behind the door."""

    name = "claude-agent"
    is_async = True
    light = False
    tells_cut = False

    def __repr__(self):
        return self.name

    def play(self, shop, says, *, turn="m1", tools=None, saved=None, cancel=False):
        served = endpoint()
        says = [*planned_anew(saved), *says] if saved else says
        served.script([of_server(say) for say in says])
        own = shop.own if tools is None else tools
        guests = [tool_of(guest) for guest in shop.guests]
        desk = GuardedServer("desk", shop.door, tools=guests, own=own, turn=lambda call: turn)
        messages = []
        killed = running.run(asked(served, desk, messages), shop, cancel=cancel)
        told = told_in(messages)
        # The program itself answers for a call whose arguments it cannot read.
        refused = any(one.text.startswith("<tool_use_error>") for one in told)
        return Played(told, killed, says, refused=refused)


async def asked(served, desk, messages, prompt="Please.", **more):
    """The messages of one query."""
    async for message in query(prompt=prompt, options=options_of(served, desk, **more)):
        messages.append(message)  # noqa: PERF401: also of a query that ends in the middle


def options_of(served, *servers, **more):
    said = {
        "mcp_servers": {one.server["name"]: one.server for one in servers},
        "hooks": {"PreToolUse": [hook for one in servers for hook in one.hooks["PreToolUse"]]},
        "allowed_tools": [name for one in servers for name in one.allowed],
        "tools": [], "setting_sources": [], "model": "scripted", "max_turns": 8, "cwd": home(),
        "system_prompt": "You are a desk.",
        "env": {
            "ANTHROPIC_BASE_URL": served.url, "ANTHROPIC_API_KEY": "none", "HOME": home(),
            "CLAUDE_CONFIG_DIR": home(), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
        },
    }  # fmt: skip
    return ClaudeAgentOptions(**{**said, **more})


def of_server(say):
    """The program calls the tools of a server by its name and theirs."""
    made = tuple(call._replace(name=f"mcp__desk__{call.name}") for call in say.calls)
    return say._replace(calls=made)


def tool_of(guest):
    async def handler(arguments):
        answer = await guest.run_async(**arguments)
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return {"content": [{"type": "text", "text": text}]}

    return SdkMcpTool(guest.name, guest.description, guest.schema, handler)


def told_in(messages):
    """The results of calls, as the program gives them to its model."""
    blocks = [
        block
        for message in messages
        if isinstance(message, UserMessage) and isinstance(message.content, list)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]
    return [
        Told(one.tool_use_id, text_of(one.content), bool(one.is_error)) for one in blocks
    ]  # fmt: skip


def text_of(content):
    return content if isinstance(content, str) else content[0]["text"]


DRIVERS = [ClaudeAgent()]
