"""An agent of Pydantic AI whose tool stays as it is: `python examples/pydantic_ai_agent.py`.

With `PYDANTIC_AI_MODEL=openai:gpt-5` (or another that your installation knows) and a key a real
model is asked.
"""

import asyncio
import os
from dataclasses import dataclass

import desk
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from ascertain.adapters.door import Door
from ascertain.adapters.pydantic_ai import Guard


@dataclass
class User:
    """Whom the program has authenticated."""

    id: str


def scripted():
    """It plans anew after the first call: other words, another id."""
    issues = iter([("call_1", "noise in the left ear"), ("call_2", "it buzzes on the left")])

    def says(messages, info):
        for call_id, issue in issues:
            given = {"order_id": "A123", "issue": issue}
            return ModelResponse([ToolCallPart("open_ticket", given, call_id)])
        return ModelResponse([TextPart("Your ticket is T900; its result is pending.")])

    return FunctionModel(says)


async def main():
    async with desk.open_app() as app:
        door = Door(app, scope=lambda ctx: app.session(ctx.conversation_id, principal=ctx.deps.id))
        door.declare("open_ticket", **desk.PROMISES)
        agent = Agent(
            os.environ.get("PYDANTIC_AI_MODEL") or scripted(),
            deps_type=User,
            tools=[desk.open_ticket],
            capabilities=[Guard(door)],
        )
        async with agent:
            ended = await agent.run(desk.WISH, deps=User("u7"), conversation_id="chat-42")
        for message in ended.all_messages():
            for part in message.parts:
                if isinstance(part, ToolReturnPart) and isinstance(part.content, dict):
                    action = part.content["actions"][0]
                    print("fact:    ", action["state"], action.get("provider_ref"))
        desk.tell(ended.output)


if __name__ == "__main__":
    asyncio.run(main())
