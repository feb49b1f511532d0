"""Agents of Google's ADK, with Gemini's real client on a local endpoint."""

import copy
import json
from contextlib import asynccontextmanager

from google import genai
from google.adk.agents import Agent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.models import Gemini
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from ascertain.adapters.google_adk import AscertainPlugin
from tests.doors.drivers import running
from tests.doors.endpoint import endpoint
from tests.doors.script import Played, Told

PLEASE = types.Content(role="user", parts=[types.Part(text="Please.")])


class GoogleADK:
    """An agent of an app whose plugin guards its tools."""

    is_async = True
    tells_cut = True

    def __init__(self, name, *, stream=False):
        self.name = name
        self.stream = self.light = stream

    def __repr__(self):
        return self.name

    def play(self, shop, says, *, turn="m1", tools=None, saved=None, cancel=False):
        served = endpoint()
        served.script([*saved, *says] if saved else says)
        own = shop.own if tools is None else tools
        guard = AscertainPlugin(shop.door, own=own, turn=lambda context: turn)
        made = [*(tool_of(guest) for guest in shop.guests), *guard.tools]
        events = []
        killed = running.run(self._run(served, made, guard, events), shop, cancel=cancel)
        return Played(told_in(events), killed, [say for say in says if say.calls])

    async def _run(self, served, tools, guard, events):
        mode = StreamingMode.SSE if self.stream else StreamingMode.NONE
        async with asking(served) as model:
            agent = Agent(name="desk", model=model, tools=tools)
            async for event in ran(agent, guard, run_config=RunConfig(streaming_mode=mode)):
                events.append(event)


@asynccontextmanager
async def asking(served):
    """A model of the ADK whose real client asks the endpoint."""
    options = types.HttpOptions(base_url=served.url)
    client = genai.Client(api_key="none", vertexai=False, http_options=options)
    try:
        yield Gemini(model="gemini-scripted", client=client)
    finally:
        await client.aio.aclose()
        client.close()


async def ran(agent, guard, *plugins, kept=None, said=PLEASE, **more):
    """The events of a run of an app; the sessions are made where none are given."""
    if kept is None:
        kept = InMemorySessionService()
        await kept.create_session(app_name="shop", user_id="u7", session_id="chat-42")
    app = App(name="shop", root_agent=agent, plugins=[*plugins, guard])
    async with Runner(app=app, session_service=kept) as runner:
        async for event in runner.run_async(
            user_id="u7", session_id="chat-42", new_message=copy.deepcopy(said), **more
        ):
            yield event


class Tool(BaseTool):
    """A tool of a user's own make."""

    def __init__(self, guest):
        super().__init__(name=guest.name, description=guest.description)
        self.guest = guest

    def _get_declaration(self):
        return types.FunctionDeclaration(
            name=self.name, description=self.description,
            parameters_json_schema=self.guest.schema,
        )  # fmt: skip

    async def run_async(self, *, args, tool_context):
        return await self.guest.run_async(**args)


def tool_of(guest):
    return Tool(guest)


def told_in(events):
    return [
        Told(said.id, text_of(said.response), None)
        for event in events
        for said in event.get_function_responses()
    ]  # fmt: skip


def text_of(response):
    """What a tool that was let through answered is put into an object by the ADK."""
    said = response.get("result", response)
    return said if isinstance(said, str) else json.dumps(said)


DRIVERS = [GoogleADK("google-adk"), GoogleADK("google-adk-stream", stream=True)]
