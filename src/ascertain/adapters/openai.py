"""Plain loops over the OpenAI SDK: chat completions and responses, streamed or not.

::

    door = Door(app, scope=app.session("chat-42", principal="u7"))
    ended = run_loop(openai.OpenAI(), door, messages, model="gpt-5", tools=["create_ticket"])
    ended = run_loop(openai.OpenAI(), door, items, model="gpt-5", api="responses")

Neither API has an error flag: what the model gets is the JSON of the facts, with ``state`` and
``next_allowed``. The replay key is the call's id. Servers that speak the same wire count calls anew
in every message, some of them; turn, tool and arguments belong to the key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Unpack, cast

from ascertain.adapters import loops, told
from ascertain.adapters.door import Door
from ascertain.adapters.loops import Called, Ended, History, LoopOptions, OnText, Said, plain
from ascertain.adapters.told import Fact

Api = Literal["chat", "responses"]
# Only these say that the model came to the end of what it wrote.
WHOLE = frozenset({"tool_calls", "stop", "function_call"})


def run_loop(
    client: Any,
    door: Door,
    messages: Sequence[Mapping[str, Any]],
    *,
    model: str,
    api: Api = "chat",
    **said: Unpack[LoopOptions],
) -> Ended:
    """Ask the model, make its calls and tell it the facts, until it makes no more.

    :param client: an ``openai.OpenAI``, or one of a server that speaks the same wire.
    :param messages: messages of chat completions, or input items of responses; where the last ones
        hold calls without results, these are made first.
    :param said: see :class:`~ascertain.adapters.loops.LoopOptions`.
    """
    return loops.run(_form(api, model), client, door, messages, said)


async def run_loop_async(
    client: Any,
    door: Door,
    messages: Sequence[Mapping[str, Any]],
    *,
    model: str,
    api: Api = "chat",
    **said: Unpack[LoopOptions],
) -> Ended:
    """The same with an ``openai.AsyncOpenAI``."""
    return await loops.run_async(_form(api, model), client, door, messages, said)


def _form(api: Api, model: str) -> Chat | Responses:
    return Chat(model) if api == "chat" else Responses(model)


class _Written:
    """What both APIs write down alike."""

    def __init__(self, model: str) -> None:
        self._model = model

    def results(self, results: Sequence[dict[str, Any]]) -> History:
        return list(results)

    def turn(self, history: History) -> str:
        return f"user-{sum(item.get('role') == 'user' for item in history)}"


class Chat(_Written):
    """How chat completions write things down."""

    def request(
        self, history: History, shown: Sequence[tuple[str, str, Mapping[str, Any]]]
    ) -> dict[str, Any]:
        tools = [
            {
                "type": "function",
                "function": {"name": name, "description": description, "parameters": schema},
            }
            for name, description, schema in shown
        ]
        return {"model": self._model, "messages": history, "tools": tools}

    def pending(self, history: History) -> Said | None:
        if not history or history[-1].get("role") != "assistant":
            return None
        calls = _chat_calls(history[-1])
        return Said([], calls, "", whole=True) if calls else None

    def result(self, fact: Fact, called: Called) -> dict[str, Any]:
        return told.openai_chat(fact, called.id)

    def reader(self, *, streams: bool, on_text: OnText | None) -> ChatStreamReader | ChatReader:
        return ChatStreamReader(on_text) if streams else ChatReader()

    def send(self, client: Any) -> Callable[..., Any]:
        send: Callable[..., Any] = client.chat.completions.create
        return send


class ChatReader:
    """A chat completion that came at once."""

    def __init__(self) -> None:
        self._said = Said([], (), "", whole=False)

    def event(self, event: Any) -> None:
        choice = event.choices[0]
        message = plain(choice.message)
        whole = choice.finish_reason in WHOLE
        self._said = Said([message], _chat_calls(message), message.get("content") or "", whole)

    def said(self) -> Said:
        return self._said


class ChatStreamReader:
    """A chat completion in pieces."""

    def __init__(self, on_text: OnText | None) -> None:
        self._on_text = on_text
        self._text = ""
        self._calls: dict[int, dict[str, Any]] = {}
        self._reason: str | None = None

    def event(self, event: Any) -> None:
        for choice in event.choices[:1]:
            self._reason = choice.finish_reason or self._reason
            delta = choice.delta
            if delta.content:
                self._text += delta.content
                if self._on_text is not None:
                    self._on_text(delta.content)
            for piece in delta.tool_calls or ():
                self._piece(piece)

    def _piece(self, piece: Any) -> None:
        empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        call = self._calls.setdefault(piece.index, empty)
        call["id"] = piece.id or call["id"]
        if piece.function is not None:
            call["function"]["name"] += piece.function.name or ""
            call["function"]["arguments"] += piece.function.arguments or ""

    def said(self) -> Said:
        message: dict[str, Any] = {"role": "assistant", "content": self._text or None}
        if self._calls:
            message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        return Said([message], _chat_calls(message), self._text, self._reason in WHOLE)


def _chat_calls(message: Mapping[str, Any]) -> list[Called]:
    calls = cast("Sequence[Mapping[str, Any]]", message.get("tool_calls") or ())
    return [
        Called(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in calls
        if "function" in call
    ]


class Responses(_Written):
    """How the responses API writes things down."""

    def request(
        self, history: History, shown: Sequence[tuple[str, str, Mapping[str, Any]]]
    ) -> dict[str, Any]:
        tools = [
            {
                "type": "function", "name": name, "description": description,
                "parameters": schema, "strict": False,
            }
            for name, description, schema in shown
        ]  # fmt: skip
        return {"model": self._model, "input": history, "tools": tools}

    def pending(self, history: History) -> Said | None:
        last: History = []  # results follow the calls of their response, all of them
        for item in reversed(history):
            if item.get("type") == "function_call_output" or item.get("role") == "user":
                break
            last.insert(0, item)
        calls = _calls_of(last)
        return Said([], calls, "", whole=True) if calls else None

    def result(self, fact: Fact, called: Called) -> dict[str, Any]:
        return told.openai_responses(fact, called.id)

    def reader(self, *, streams: bool, on_text: OnText | None) -> ResponseReader:
        return ResponseReader(on_text, streams=streams)

    def send(self, client: Any) -> Callable[..., Any]:
        send: Callable[..., Any] = client.responses.create
        return send


class ResponseReader:
    """A response, at once or in events; the last event holds all of it."""

    def __init__(self, on_text: OnText | None, *, streams: bool) -> None:
        self._on_text = on_text
        self._streams = streams
        self._response: Any = None

    def event(self, event: Any) -> None:
        if not self._streams:
            self._response = event
        elif event.type == "response.output_text.delta":
            if self._on_text is not None:
                self._on_text(event.delta)
        elif event.type in ("response.completed", "response.incomplete", "response.failed"):
            self._response = event.response

    def said(self) -> Said:
        if self._response is None:
            return Said([], (), "", whole=False)
        items = [plain(item) for item in self._response.output]
        whole = self._response.status == "completed"
        return Said(items, _calls_of(items), self._response.output_text or "", whole)


def _calls_of(items: History) -> list[Called]:
    return [
        Called(item["call_id"], item["name"], item["arguments"])
        for item in items
        if item.get("type") == "function_call"
    ]
