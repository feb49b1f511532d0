"""A plain loop over the OpenAI SDK: `python examples/openai_loop.py [chat|responses]`."""

import json
import os
import sys

import desk
import openai
from scripted import scripted_model

from ascertain.adapters.door import Door
from ascertain.adapters.loops import LoopTool
from ascertain.adapters.openai import run_loop


def arguments(issue):
    return json.dumps({"order_id": "A123", "issue": issue})


def completion(*, call=None, text=None):
    """A chat completion of a scripted model."""
    message = {"role": "assistant", "content": text}
    if call:
        function = {"name": "open_ticket", "arguments": arguments(call[1])}
        message["tool_calls"] = [{"id": call[0], "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop"}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted",
        "choices": [choice],
    }  # fmt: skip


def response(*, call=None, text=None):
    """A response of a scripted model."""
    if call:
        item = {
            "type": "function_call", "id": f"fc_{call[0]}", "call_id": call[0],
            "name": "open_ticket", "arguments": arguments(call[1]), "status": "completed",
        }  # fmt: skip
    else:
        said = {"type": "output_text", "text": text, "annotations": []}
        item = {
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [said],
        }  # fmt: skip
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "scripted",
        "status": "completed", "output": [item], "parallel_tool_calls": True, "tools": [],
        "tool_choice": "auto",
    }  # fmt: skip


def run(client, model, api):
    tool = LoopTool(
        "open_ticket", "Open a ticket.", desk.SCHEMA, lambda given: desk.open_ticket(**given)
    )
    with desk.open_app() as app:
        door = Door(app, scope=app.session("chat-42", principal="u7"))
        door.declare("open_ticket", **desk.PROMISES)
        messages = [{"role": "user", "content": desk.WISH}]
        ended = run_loop(client, door, messages, model=model, api=api, tools=[tool])
        for fact in ended.facts:
            print("fact:    ", fact.state, fact.facts["actions"][0].get("provider_ref"))
        desk.tell(ended.text)


def main():
    api = "responses" if "responses" in sys.argv[1:] else "chat"
    if os.environ.get("OPENAI_API_KEY"):
        run(openai.OpenAI(), os.environ.get("OPENAI_MODEL", "gpt-5"), api)
        return
    says = response if api == "responses" else completion
    script = [
        says(call=("call_1", "noise in the left ear")),
        says(call=("call_2", "it buzzes on the left")),  # it plans anew: other words, another id
        says(text="Your ticket is T900; its result is pending."),
    ]
    with scripted_model(*script) as url, openai.OpenAI(base_url=url, api_key="-") as client:
        run(client, "scripted", api)


if __name__ == "__main__":
    main()
