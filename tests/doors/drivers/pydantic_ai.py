"""Pydantic AI's agents, with its scripted model, streamed or not."""

import json

import openai
from pydantic_ai import Agent, Tool, capture_run_messages
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from ascertain.adapters.pydantic_ai import Guard
from tests.doors.drivers import running
from tests.doors.endpoint import endpoint
from tests.doors.script import Played, Told


class PydanticAI:
    """An agent whose every call goes through the capability."""

    is_async = True
    tells_cut = True

    def __init__(self, name, *, stream=False):
        self.name = name
        self.stream = self.light = stream

    def __repr__(self):
        return self.name

    def play(self, shop, says, *, turn="m1", tools=None, saved=None, cancel=False):
        guests = [
            Tool.from_schema(guest.run_async, guest.name, guest.description, guest.schema)
            for guest in shop.guests
        ]
        own = shop.own if tools is None else tools
        guard = Guard(shop.door, own=own, turn=lambda ctx: turn)
        agent = Agent(
            (served if self.stream else scripted)(says), tools=guests, capabilities=[guard]
        )
        given = {"message_history": saved} if saved else {"user_prompt": "Please."}
        with capture_run_messages() as messages:
            making = self._streamed(agent, given) if self.stream else agent.run(**given)
            killed = running.run(making, shop, cancel=cancel)
        return Played(told_in(messages[len(saved or ()) :]), killed, kept(messages))

    async def _streamed(self, agent, given):
        async with agent.run_stream(**given) as stream:
            await stream.get_output()


def scripted(says):
    """The framework's own model for tests."""
    waiting = iter(says)

    def answer(messages, info):
        say = next(waiting)
        calls = [ToolCallPart(one.name, one.text, one.id) for one in say.calls]
        text = [TextPart(say.text)] if say.text else []
        return ModelResponse([*text, *calls], finish_reason="length" if say.cut else None)

    return FunctionModel(answer)


def served(says):
    """OpenAI's real client on a local endpoint."""
    at = endpoint()
    at.script(says)
    client = openai.AsyncOpenAI(base_url=f"{at.url}/v1", api_key="none", max_retries=2)
    return OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client))


def kept(messages):
    """What a program has that stores each message of the model when it comes."""
    while messages and not isinstance(messages[-1], ModelResponse):
        messages = messages[:-1]
    return list(messages)


def told_in(messages):
    return [
        Told(
            part.tool_call_id,
            part.content if isinstance(part.content, str) else json.dumps(part.content),
            part.outcome != "success",
        )
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]  # fmt: skip


DRIVERS = [PydanticAI("pydantic-ai"), PydanticAI("pydantic-ai-stream", stream=True)]
