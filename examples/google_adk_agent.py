"""An agent of Google's ADK whose tool stays as it is: `python examples/google_adk_agent.py`.

With `GOOGLE_API_KEY` (and `GOOGLE_MODEL`) a real model is asked.
"""

import asyncio
import os

import desk
from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.models import BaseLlm, Gemini, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from ascertain.adapters.door import Door
from ascertain.adapters.google_adk import AscertainPlugin, user_scope


class Scripted(BaseLlm):
    """It plans anew after the first call: other words, another id."""

    says: list

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.Content(role="model", parts=[self.says.pop(0)]))


def asks(id, issue):
    given = {"order_id": "A123", "issue": issue}
    return types.Part(function_call=types.FunctionCall(id=id, name="open_ticket", args=given))


def scripted():
    said = types.Part(text="Your ticket is T900; its result is pending.")
    issues = asks("call_1", "noise in the left ear"), asks("call_2", "it buzzes on the left")
    return Scripted(model="scripted", says=[*issues, said])


async def run(model):
    async with desk.open_app() as app:
        door = Door(app, scope=user_scope(app))
        door.declare("open_ticket", **desk.PROMISES)
        agent = Agent(name="desk", model=model, tools=[desk.open_ticket])
        shop = App(name="shop", root_agent=agent, plugins=[AscertainPlugin(door)])
        said = ""
        async with InMemoryRunner(app=shop) as runner:
            sessions = runner.session_service
            await sessions.create_session(app_name="shop", user_id="u7", session_id="chat-42")
            wish = types.Content(role="user", parts=[types.Part(text=desk.WISH)])
            going = runner.run_async(user_id="u7", session_id="chat-42", new_message=wish)
            async for event in going:
                for told in event.get_function_responses():
                    action = told.response["actions"][0]
                    print("fact:    ", action["state"], action.get("provider_ref"))
                if event.is_final_response():
                    said = event.content.parts[0].text
        desk.tell(said)


def main():
    if os.environ.get("GOOGLE_API_KEY"):
        model = Gemini(model=os.environ.get("GOOGLE_MODEL", "gemini-2.5-flash"))
    else:
        model = scripted()
    asyncio.run(run(model))


if __name__ == "__main__":
    main()
