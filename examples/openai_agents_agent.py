"""An agent of the OpenAI Agents SDK, guarded: `python examples/openai_agents_agent.py`.

With `OPENAI_API_KEY` (and `OPENAI_MODEL`) a real model is asked.
"""

import asyncio
import json
import os

import desk
import openai
from agents import (
    Agent,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    ToolCallOutputItem,
    function_tool,
)
from openai_loop import response
from scripted import scripted_model

from ascertain.adapters.door import Door
from ascertain.adapters.openai_agents import guarded


async def run(client, model):
    async with client, desk.open_app() as app:
        # The SDK knows no conversation and no message: the program says which it is.
        door = Door(app, scope=lambda ctx: app.session(ctx.context["chat"], principal="u7"))
        door.declare("open_ticket", **desk.PROMISES)
        tools = guarded(
            door,
            function_tool(desk.open_ticket, strict_mode=False),
            turn=lambda ctx: ctx.context["message"],
        )
        agent = Agent(name="desk", tools=tools, model=OpenAIResponsesModel(model, client))
        context = {"chat": "chat-42", "message": "message-1"}
        quiet = RunConfig(tracing_disabled=True)
        ended = await Runner.run(agent, desk.WISH, context=context, run_config=quiet)
        for item in ended.new_items:
            if isinstance(item, ToolCallOutputItem):
                action = json.loads(item.output)["actions"][0]
                print("fact:    ", action["state"], action.get("provider_ref"))
        desk.tell(ended.final_output)


def main():
    if os.environ.get("OPENAI_API_KEY"):
        asyncio.run(run(openai.AsyncOpenAI(), os.environ.get("OPENAI_MODEL", "gpt-5")))
        return
    script = [
        response(call=("call_1", "noise in the left ear")),
        response(call=("call_2", "it buzzes on the left")),  # it plans anew
        response(text="Your ticket is T900; its result is pending."),
    ]
    with scripted_model(*script) as url:
        asyncio.run(run(openai.AsyncOpenAI(base_url=url, api_key="-"), "scripted"))


if __name__ == "__main__":
    main()
