"""A plain loop over the Anthropic SDK's messages, streamed or not.

::

    door = Door(app, scope=app.session("chat-42", principal="u7"))
    ended = run_loop(
        anthropic.Anthropic(), door, messages, model="claude-sonnet-5-5", tools=["create_ticket"]
    )

Of one call the model gets a ``tool_result`` with the facts, and ``is_error`` unless it is
confirmed. The replay key is the ``tool_use`` id; the turn is the number of the user's messages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack, cast

from ascertain.adapters import loops, told
from ascertain.adapters.door import Door
from ascertain.adapters.loops import Called, Ended, History, LoopOptions, OnText, Said, plain
from ascertain.adapters.told import Fact

# Only these say that the model came to the end of what it wrote.
WHOLE = frozenset({"tool_use", "end_turn", "stop_sequence"})


def run_loop(
    client: Any,
    door: Door,
    messages: Sequence[Mapping[str, Any]],
    *,
    model: str,
    max_tokens: int = 4096,
    **said: Unpack[LoopOptions],
) -> Ended:
    """Ask the model, make its calls and tell it the facts, until it makes no more.

    :param client: an ``anthropic.Anthropic``. :param messages: as for ``client.messages.create``;
        where the last one holds calls without results, these are made first.
    :param said: see :class:`~ascertain.adapters.loops.LoopOptions`.
    """
    return loops.run(Messages(model, max_tokens), client, door, messages, said)


async def run_loop_async(
    client: Any,
    door: Door,
    messages: Sequence[Mapping[str, Any]],
    *,
    model: str,
    max_tokens: int = 4096,
    **said: Unpack[LoopOptions],
) -> Ended:
    """The same with an ``anthropic.AsyncAnthropic``."""
    return await loops.run_async(Messages(model, max_tokens), client, door, messages, said)


class Messages:
    """How Anthropic's messages API writes things down."""

    def __init__(self, model: str, max_tokens: int) -> None:
        self._base = {"model": model, "max_tokens": max_tokens}

    def request(
        self, history: History, shown: Sequence[tuple[str, str, Mapping[str, Any]]]
    ) -> dict[str, Any]:
        tools = [
            {"name": name, "description": description, "input_schema": schema}
            for name, description, schema in shown
        ]
        return {**self._base, "messages": history, "tools": tools}

    def pending(self, history: History) -> Said | None:
        if not history or history[-1].get("role") != "assistant":
            return None
        content = history[-1].get("content")
        blocks = cast("list[dict[str, Any]]", content) if isinstance(content, list) else []
        calls = [
            Called(block["id"], block["name"], block["input"])
            for block in blocks
            if block.get("type") == "tool_use"
        ]
        return Said([], calls, "", whole=True) if calls else None

    def result(self, fact: Fact, called: Called) -> dict[str, Any]:
        return told.anthropic(fact, called.id)

    def results(self, results: Sequence[dict[str, Any]]) -> History:
        return [{"role": "user", "content": list(results)}]

    def turn(self, history: History) -> str:
        return f"user-{sum(map(_is_the_users, history))}"

    def reader(self, *, streams: bool, on_text: OnText | None) -> StreamReader | WholeReader:
        return StreamReader(on_text) if streams else WholeReader()

    def send(self, client: Any) -> Callable[..., Any]:
        send: Callable[..., Any] = client.messages.create
        return send


class WholeReader:
    """A reply that came at once."""

    def __init__(self) -> None:
        self._said = Said([], (), "", whole=False)

    def event(self, event: Any) -> None:
        blocks = [plain(block) for block in event.content]
        texts = {
            block["id"]: block["input"] for block in blocks if block["type"] == "tool_use"
        }  # parsed by the server
        self._said = _said(blocks, texts, whole=event.stop_reason in WHOLE)

    def said(self) -> Said:
        return self._said


class StreamReader:
    """A reply in pieces; the arguments of a call are kept as the text that they came as."""

    def __init__(self, on_text: OnText | None) -> None:
        self._on_text = on_text
        self._blocks: list[dict[str, Any]] = []
        self._texts: dict[str, str] = {}
        self._reason: str | None = None
        self._ended = False

    def event(self, event: Any) -> None:
        match event.type:
            case "content_block_start":
                self._blocks.append(plain(event.content_block))
            case "content_block_delta":
                self._delta(self._blocks[-1], event.delta)
            case "message_delta":
                self._reason = event.delta.stop_reason
            case "message_stop":
                self._ended = True
            case _:
                pass  # pings, and what tells nothing of the message

    def _delta(self, block: dict[str, Any], delta: Any) -> None:
        match delta.type:
            case "text_delta":
                block["text"] += delta.text
                if self._on_text is not None:
                    self._on_text(delta.text)
            case "input_json_delta":
                self._texts[block["id"]] = self._texts.get(block["id"], "") + delta.partial_json
            case "thinking_delta":
                block["thinking"] += delta.thinking
            case "signature_delta":
                block["signature"] = delta.signature
            case _:
                pass  # citations: they are not sent back

    def said(self) -> Said:
        return _said(self._blocks, self._texts, whole=self._ended and self._reason in WHOLE)


def _said(blocks: History, arguments: Mapping[str, Any], *, whole: bool) -> Said:
    calls: list[Called] = []
    for block in blocks:
        if block["type"] == "tool_use":
            given = arguments.get(block["id"], "")
            block["input"] = _object(given)
            calls.append(Called(block["id"], block["name"], given))
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    items = [{"role": "assistant", "content": blocks}] if blocks else []
    return Said(items, calls, text, whole)


def _object(given: Any) -> Any:
    """The arguments for the history, which takes objects only."""
    if not isinstance(given, str):
        return given
    try:
        found: Any = json.loads(given or "{}")
    except ValueError:
        found = None
    return cast("Any", found) if isinstance(found, dict) else {}


def _is_the_users(message: Mapping[str, Any]) -> bool:
    """Whether a message is a person's, and not the results of calls."""
    content = message.get("content")
    if message.get("role") != "user" or isinstance(content, str):
        return message.get("role") == "user"
    blocks = cast("Sequence[Mapping[str, Any]]", content or ())
    return not any(block.get("type") == "tool_result" for block in blocks)
