"""What the frameworks and SDKs themselves record is read: their own types, tracers and spans."""

import importlib
import importlib.util
import json

import openai.types.chat as chat_types
import openai.types.responses as response_types
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langchain_core.tracers.base import BaseTracer

from ascertain.replay.audit.judge import audit
from ascertain.replay.formats import open_recording
from ascertain.replay.formats.conversation import Utterance, calls_of

ARGUMENTS = {"order_id": "A123"}
USER = {"role": "user", "content": "Please open a ticket for A123."}


def put(folder, value):
    path = folder / "recording.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def the_call(path):
    opened = open_recording(path)
    (conversation,) = opened.conversations
    ((call, answer, *_),) = calls_of(conversation.entries)
    said = [entry.text for entry in conversation.entries if isinstance(entry, Utterance)]
    return opened.format, call, answer, said


def openai_completion():
    return chat_types.ChatCompletion.model_validate(
        {
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [
                {
                    "index": 0, "finish_reason": "tool_calls", "logprobs": None,
                    "message": {
                        "role": "assistant", "content": "One moment.", "refusal": None,
                        "tool_calls": [
                            {
                                "id": "c1", "type": "function",
                                "function": {
                                    "name": "create_ticket", "arguments": json.dumps(ARGUMENTS),
                                },
                            }
                        ],
                    },
                }
            ],
        }
    )  # fmt: skip


def anthropic_message():
    types = importlib.import_module("anthropic.types")
    return types.Message.model_validate(
        {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "stop_reason": "tool_use", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
            "content": [
                {"type": "text", "text": "One moment."},
                {"type": "tool_use", "id": "c1", "name": "create_ticket", "input": ARGUMENTS},
            ],
        }
    )  # fmt: skip


REPLIES = [("openai-chat", openai_completion)]
REPLIES += [("anthropic", anthropic_message)] if importlib.util.find_spec("anthropic") else []


@pytest.mark.parametrize("format, make", REPLIES)
def test_a_reply_as_an_sdk_has_it_beside_its_request(tmp_path, format, make):
    logged = {"request": {"messages": [USER]}, "response": make().model_dump(mode="json")}
    kind, call, answer, said = the_call(put(tmp_path, logged))
    assert (kind, call.tool, call.args, answer) == (format, "create_ticket", ARGUMENTS, None)
    assert said == [USER["content"], "One moment."]


def test_a_response_of_the_openai_sdk(tmp_path):
    called = response_types.ResponseFunctionToolCall(
        type="function_call", id="fc_1", call_id="c1", name="create_ticket",
        arguments=json.dumps(ARGUMENTS), status="completed",
    )  # fmt: skip
    answered = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
    spoken = response_types.ResponseOutputMessage(
        id="msg_1", type="message", role="assistant", status="completed",
        content=[
            response_types.ResponseOutputText(type="output_text", text="Done.", annotations=[])
        ],
    )  # fmt: skip
    items = [USER, called.model_dump(mode="json"), answered, spoken.model_dump(mode="json")]
    kind, call, answer, said = the_call(put(tmp_path, items))
    assert (kind, call.call_id, call.args, answer.text) == (
        "openai-responses", "c1", ARGUMENTS, "ok",
    )  # fmt: skip
    assert said == [USER["content"], "Done."]


class Runs(BaseTracer):
    """Keeps each run as it would be sent away."""

    def __init__(self):
        super().__init__()
        self.kept = []

    def _persist_run(self, run):
        """The root comes by `_on_run_update` as well."""

    def _on_run_update(self, run):
        self.kept.append(run.model_dump(mode="json", exclude={"parent_run"}))


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools, **_options):
        return self


def test_req_F14_a_middleware_that_retries_shows_in_langchain_s_own_runs(tmp_path):
    tries = []

    @tool
    def create_ticket(order_id: str) -> str:
        """Open a ticket."""
        tries.append(order_id)
        if len(tries) == 1:
            raise TimeoutError("request timed out")
        return json.dumps({"ticket_id": "T901"})

    asked = AIMessage("", tool_calls=[{"name": "create_ticket", "args": ARGUMENTS, "id": "c1"}])
    model = Scripted(messages=iter([asked, AIMessage("Your ticket T901 is submitted.")]))
    again = ToolRetryMiddleware(initial_delay=0, jitter=False)
    runs = Runs()
    create_agent(model, [create_ticket], middleware=[again]).invoke(
        {"messages": [USER]}, config={"callbacks": [runs], "metadata": {"thread_id": "chat-9"}}
    )
    assert tries == ["A123", "A123"]
    seen = audit([put(tmp_path, runs.kept)], {})
    assert (list(seen.formats.values()), seen.conversations, seen.writes) == (["langsmith"], 1, 2)
    (found,) = seen.findings
    assert (found.kind, found.trust, found.conversation) == ("blind_retry", "high", "chat-9")
    assert "the same call id: a layer below the model repeated it" in found.reasons[1]
