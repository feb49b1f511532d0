"""An agent of Strands whose tool stays as it is: `python examples/strands_agent.py`.

With `ANTHROPIC_API_KEY` (and `ANTHROPIC_MODEL`) a real model is asked.
"""

import os

import desk
from anthropic_loop import asks
from scripted import says, scripted_model
from strands import Agent, tool
from strands.models.anthropic import AnthropicModel

from ascertain.adapters.door import Door
from ascertain.adapters.strands import guard


def run(model):
    with desk.open_app() as app:
        # The session is what the program gives the agent; Strands knows none by itself.
        door = Door(
            app, scope=lambda ctx: app.session(ctx.invocation_state["chat"], principal="u7")
        )
        door.declare("open_ticket", **desk.PROMISES)
        agent = guard(Agent(model, tools=[tool(desk.open_ticket)], callback_handler=None), door)
        ended = agent(desk.WISH, invocation_state={"chat": "chat-42"})
        for message in agent.messages:
            for block in message["content"]:
                if "toolResult" in block:
                    action = block["toolResult"]["content"][0]["json"]["actions"][0]
                    print("fact:    ", action["state"], action.get("provider_ref"))
        desk.tell(str(ended).strip())


def main():
    if os.environ.get("ANTHROPIC_API_KEY"):
        name = os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5-5")
        run(AnthropicModel(model_id=name, max_tokens=1000))
        return
    script = [
        says(asks("toolu_1", "noise in the left ear")),
        says(asks("toolu_2", "it buzzes on the left")),  # it plans anew: other words, another id
        says({"type": "text", "text": "Your ticket is T900; its result is pending."}),
    ]
    with scripted_model(*script) as url:
        client = {"base_url": url, "api_key": "-"}
        run(AnthropicModel(client_args=client, model_id="scripted", max_tokens=1000))


if __name__ == "__main__":
    main()
