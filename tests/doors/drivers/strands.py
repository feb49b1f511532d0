"""Agents of Strands, with Anthropic's or OpenAI's real client on a local endpoint, streamed."""

import json

from strands import Agent
from strands.models.anthropic import AnthropicModel
from strands.models.openai import OpenAIModel
from strands.tools import PythonAgentTool
from strands.types.exceptions import MaxTokensReachedException

from ascertain.adapters.strands import guard
from tests.doors.drivers import running
from tests.doors.endpoint import endpoint
from tests.doors.script import Played, Told


class Strands:
    """An agent whose every call goes through the middleware."""

    is_async = True
    tells_cut = True

    def __init__(self, name, model, *, light=False):
        self.name = name
        self.model = model
        self.light = light

    def __repr__(self):
        return self.name

    def play(self, shop, says, *, turn="m1", tools=None, saved=None, cancel=False):
        served = endpoint()
        served.script(says)
        agent = Agent(
            self.model(served), tools=[tool_of(guest) for guest in shop.guests],
            messages=list(saved or ()), callback_handler=None,
        )  # fmt: skip
        own = shop.own if tools is None else tools
        guard(agent, shop.door, own=own, turn=lambda context: turn)
        try:
            # What was saved ends with the model's calls: they are made first.
            making = agent.invoke_async(None if saved else "Please.")
            killed = running.run(making, shop, cancel=cancel)
        except MaxTokensReachedException:
            return Played(told_in(agent.messages[len(saved or ()) :]), refused=True)
        return Played(told_in(agent.messages[len(saved or ()) :]), killed, kept(agent.messages))


def kept(messages):
    """What a program has that stores each message of the model when it comes."""
    while messages and messages[-1]["role"] != "assistant":
        messages = messages[:-1]
    return list(messages)


def tool_of(guest):
    async def run(tool_use, **_more):
        answer = await guest.run_async(**tool_use["input"])
        block = {"text": answer} if isinstance(answer, str) else {"json": answer}
        return {"toolUseId": tool_use["toolUseId"], "status": "success", "content": [block]}

    spec = {
        "name": guest.name, "description": guest.description,
        "inputSchema": {"json": guest.schema},
    }  # fmt: skip
    return PythonAgentTool(guest.name, spec, run)


def told_in(messages):
    results = [
        block["toolResult"]
        for message in messages
        for block in message["content"]
        if "toolResult" in block
    ]
    return [
        Told(one["toolUseId"], text_of(*one["content"]), one["status"] == "error")
        for one in results
    ]  # fmt: skip


def text_of(block):
    return json.dumps(block["json"]) if "json" in block else block["text"]


def anthropic(served):
    said = {"base_url": served.url, "api_key": "none"}
    return AnthropicModel(client_args=said, model_id="scripted", max_tokens=100)


def openai(served):
    said = {"base_url": f"{served.url}/v1", "api_key": "none"}
    return OpenAIModel(client_args=said, model_id="scripted")


DRIVERS = [Strands("strands-anthropic", anthropic), Strands("strands-openai", openai, light=True)]
