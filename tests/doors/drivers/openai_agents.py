"""Agents of the OpenAI Agents SDK, with OpenAI's real client on a local endpoint."""

import asyncio
import json

import openai
from agents import (
    Agent,
    FunctionTool,
    ModelBehaviorError,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
)

from ascertain.adapters.openai_agents import guarded
from tests.doors.drivers import running
from tests.doors.drivers.loops import told_in
from tests.doors.endpoint import endpoint
from tests.doors.script import Played, planned_anew


class OpenAIAgents:
    """An agent whose tools are guarded one by one."""

    is_async = True

    def __init__(self, name, model, *, stream=False, light=False, tells_cut=True):
        self.name = name
        self.model = model
        self.stream = stream
        self.light = light
        self.tells_cut = tells_cut

    def __repr__(self):
        return self.name

    def play(self, shop, says, *, turn="m1", tools=None, saved=None, cancel=False):
        served = endpoint()
        says = [*planned_anew(saved), *says] if saved else says
        served.script(says)
        own = shop.own if tools is None else tools
        guests = [tool_of(guest) for guest in shop.guests]
        made = guarded(shop.door, *own, *guests, turn=lambda ctx: turn)
        try:
            killed = running.run(self._run(served, made), shop, cancel=cancel)
        except ModelBehaviorError:
            return Played(told_in(served.requests), refused=True)
        return Played(told_in(served.requests), killed, says)

    async def _run(self, served, tools):
        base = f"{served.url}/v1"
        async with openai.AsyncOpenAI(base_url=base, api_key="none", max_retries=2) as client:
            agent = Agent(name="desk", tools=tools, model=self.model("scripted", client))
            quiet = RunConfig(tracing_disabled=True)
            if not self.stream:
                await Runner.run(agent, "Please.", run_config=quiet)
                return
            result = Runner.run_streamed(agent, "Please.", run_config=quiet)
            try:
                async for _ in result.stream_events():
                    pass
            except asyncio.CancelledError:
                result.cancel()
                await asyncio.wait([result.run_loop_task])
                raise


def tool_of(guest):
    async def invoke(_context, arguments):
        return await guest.run_async(**json.loads(arguments))

    return FunctionTool(
        guest.name, guest.description, guest.schema, invoke, strict_json_schema=False
    )


DRIVERS = [
    OpenAIAgents("openai-agents", OpenAIResponsesModel),
    OpenAIAgents("openai-agents-stream", OpenAIResponsesModel, stream=True, light=True),
    OpenAIAgents("openai-agents-chat", OpenAIChatCompletionsModel, light=True, tells_cut=False),
]
