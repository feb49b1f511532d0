"""A plain loop over the Anthropic SDK: `python examples/anthropic_loop.py`."""

import os

import anthropic
import desk
from scripted import says, scripted_model

from ascertain.adapters.anthropic import run_loop
from ascertain.adapters.door import Door
from ascertain.adapters.loops import LoopTool


def asks(id, issue):
    given = {"order_id": "A123", "issue": issue}
    return {"type": "tool_use", "id": id, "name": "open_ticket", "input": given}


def run(client, model):
    tool = LoopTool(
        "open_ticket", "Open a ticket.", desk.SCHEMA, lambda given: desk.open_ticket(**given)
    )
    with desk.open_app() as app:
        door = Door(app, scope=app.session("chat-42", principal="u7"))
        door.declare("open_ticket", **desk.PROMISES)
        messages = [{"role": "user", "content": desk.WISH}]
        ended = run_loop(client, door, messages, model=model, tools=[tool])
        for fact in ended.facts:
            print("fact:    ", fact.state, fact.facts["actions"][0].get("provider_ref"))
        desk.tell(ended.text)


def main():
    if os.environ.get("ANTHROPIC_API_KEY"):
        run(anthropic.Anthropic(), os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5-5"))
        return
    script = [
        says(asks("toolu_1", "noise in the left ear")),
        says(asks("toolu_2", "it buzzes on the left")),  # it plans anew: other words, another id
        says({"type": "text", "text": "Your ticket is T900; its result is pending."}),
    ]
    with scripted_model(*script) as url, anthropic.Anthropic(base_url=url, api_key="-") as client:
        run(client, "scripted")


if __name__ == "__main__":
    main()
