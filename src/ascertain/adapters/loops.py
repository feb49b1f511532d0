"""Plain loops over a provider's own SDK: ask the model, make its calls, tell it the facts.

The loop is written once, as a generator; a form (:class:`Form`) says how one API writes requests,
replies and results. Streamed or not, a message that the model did not come to the end of has none
of its calls made. The client's own retries concern requests to the model only: a call is made when
the whole reply is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypedDict

from ascertain.adapters.calling import ToolCall
from ascertain.adapters.door import DESCRIPTION, Door
from ascertain.adapters.guests import Run, as_value
from ascertain.adapters.taking import NEXT
from ascertain.adapters.told import Fact
from ascertain.adapters.unmade import cut_off, no_answer, refused
from ascertain.errors import ContractError, InvalidArguments

History = list[dict[str, Any]]
OnText = Callable[[str], None]


class LoopTool(NamedTuple):
    """A tool of your own loop that stays as it is: a guest of the door.

    :ivar schema: the JSON schema of its arguments.
    :ivar run: takes a dict of arguments, and gives back JSON or text; a coroutine function in an
        async loop.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    run: Run


class Called(NamedTuple):
    """A call as the model wrote it."""

    id: str
    name: str
    arguments: str | Mapping[str, Any]


class Said(NamedTuple):
    """One message of the model.

    :ivar items: what is added to the history. :ivar whole: whether it came to its end.
    """

    items: History
    calls: Sequence[Called]
    text: str
    whole: bool


class Ended(NamedTuple):
    """How a loop ended.

    :ivar text: the model's last words. :ivar history: the whole conversation, to be gone on with.
    :ivar facts: of every call that was made, in order.
    :ivar whole: False where the model's last message was cut off, or there were too many.
    """

    text: str
    history: History
    facts: Sequence[Fact]
    whole: bool


class Form(Protocol):
    """How one API writes things down."""

    def request(
        self, history: History, shown: Sequence[tuple[str, str, Mapping[str, Any]]]
    ) -> dict[str, Any]:
        """What to ask the model with; ``shown`` are name, description and schema of the tools."""
        ...

    def pending(self, history: History) -> Said | None:
        """The last message, if its calls have no results yet: a loop that is taken up again."""
        ...

    def result(self, fact: Fact, called: Called) -> dict[str, Any]:
        """The result of one call."""
        ...

    def results(self, results: Sequence[dict[str, Any]]) -> History:
        """What is added to the history for the results of one message."""
        ...

    def turn(self, history: History) -> str:
        """Which message of the user is being answered."""
        ...

    def reader(self, *, streams: bool, on_text: OnText | None) -> Reader:
        """Reads the one reply to a request: events of a stream, or the whole at once."""
        ...

    def send(self, client: Any) -> Callable[..., Any]:
        """The client's function that asks the model."""
        ...


class Reader(Protocol):
    """Puts a reply together."""

    def event(self, event: Any) -> None:
        """Take one event of a stream, or the reply as a whole."""
        ...

    def said(self) -> Said:
        """What the model said; not whole where the stream broke off."""
        ...


class Ask(NamedTuple):
    request: dict[str, Any]


class Make(NamedTuple):
    calls: Sequence[tuple[ToolCall, Run | None]]


Going = Generator[Ask | Make, Any, Ended]


def _go(
    form: Form, door: Door, history: Sequence[Mapping[str, Any]], options: LoopOptions
) -> Going:
    """The loop itself."""
    runs, shown = _released(door, options.get("tools", ()))
    on_history, turn = options.get("on_history"), options.get("turn", "")
    so_far = [dict(item) for item in history]
    facts: list[Fact] = []
    for _ in range(options.get("most", 20)):
        said = form.pending(so_far)
        if said is None:
            reply: Said = yield Ask({**options.get("request", {}), **form.request(so_far, shown)})
            said = reply
            so_far += said.items
            _keep(on_history, so_far)
        if not said.calls:
            return Ended(said.text, so_far, facts, said.whole)
        answered = turn or form.turn(so_far)
        calls = [
            ToolCall(one.name, one.arguments, one.id, turn=answered, whole=said.whole)
            for one in said.calls
        ]
        made: list[Fact] = yield Make([(call, runs.get(call.tool)) for call in calls])
        facts += made
        results = [form.result(fact, one) for fact, one in zip(made, said.calls, strict=True)]
        so_far += form.results(results)
        _keep(on_history, so_far)
    return Ended("", so_far, facts, whole=False)


def driven(
    going: Going, form: Form, client: Any, door: Door, *, streams: bool, on_text: OnText | None
) -> Ended:
    """Go on in this thread, one call after the other."""
    send = form.send(client)
    try:
        step = next(going)
        while True:
            if isinstance(step, Make):
                step = going.send([_made(door, call, run) for call, run in step.calls])
                continue
            reader = form.reader(streams=streams, on_text=on_text)
            reply = send(**step.request, **({"stream": True} if streams else {}))
            for event in reply if streams else (reply,):
                reader.event(event)
            step = going.send(reader.said())
    except StopIteration as stop:
        ended: Ended = stop.value
        return ended


async def driven_async(
    going: Going, form: Form, client: Any, door: Door, *, streams: bool, on_text: OnText | None
) -> Ended:
    """Go on on the running loop; the calls of one message are made at once."""
    send = form.send(client)
    try:
        step = next(going)
        while True:
            if isinstance(step, Make):
                making = (_made_async(door, call, run) for call, run in step.calls)
                step = going.send(list(await asyncio.gather(*making)))
                continue
            reader = form.reader(streams=streams, on_text=on_text)
            if streams:
                async for event in await send(**step.request, stream=True):
                    reader.event(event)
            else:
                reader.event(await send(**step.request))
            step = going.send(reader.said())
    except StopIteration as stop:
        ended: Ended = stop.value
        return ended


def _made(door: Door, call: ToolCall, run: Run | None) -> Fact:
    if run is None or not door.passes(call.tool):
        return door.answer(call, run)
    arguments = _parsed(call)
    if isinstance(arguments, Fact):
        return arguments
    try:
        return _passed(call, run(arguments))
    except Exception as error:
        return no_answer(call.tool, error)


async def _made_async(door: Door, call: ToolCall, run: Run | None) -> Fact:
    if run is None or not door.passes(call.tool):
        return await door.answer_async(call, run)
    arguments = _parsed(call)
    if isinstance(arguments, Fact):
        return arguments
    try:
        return _passed(call, await run(arguments))
    except Exception as error:
        return no_answer(call.tool, error)


def _parsed(call: ToolCall) -> dict[str, Any] | Fact:
    """The arguments of a tool that is none of ours, or why it is not called at all."""
    if not call.whole:
        return cut_off(call.tool)
    try:
        return call.parsed()
    except InvalidArguments as error:
        return refused(call.tool, error)


def _passed(call: ToolCall, value: Any) -> Fact:
    """The answer of a tool that is none of ours; it is marked as data all the same."""
    return Fact(call.tool, {"actions": [], "next_allowed": []}, True, as_value(value))


def _released(
    door: Door, tools: Sequence[LoopTool | str]
) -> tuple[dict[str, Run], list[tuple[str, str, Mapping[str, Any]]]]:
    """The handlers of the guests, and all tools as a model is shown them."""
    runs: dict[str, Run] = {}
    shown: list[tuple[str, str, Mapping[str, Any]]] = []
    for tool in tools:
        if isinstance(tool, str):
            shown.append((tool, *door.own(tool)))
            continue
        if tool.name == NEXT or tool.name in runs:
            raise ContractError(f"{tool.name!r} is taken; tools have a name each.")
        door.learn(tool.name, tool.schema)
        runs[tool.name] = tool.run
        shown.append((tool.name, tool.description, door.shown(tool.name, tool.schema)))
    return runs, [*shown, (NEXT, DESCRIPTION, door.next_schema())]


def _keep(on_history: Callable[[History], None] | None, history: History) -> None:
    if on_history is not None:
        on_history([dict(item) for item in history])


def plain(value: Any) -> dict[str, Any]:
    """A part of an SDK's reply as the JSON that the API takes back."""
    dumped: dict[str, Any] = value.model_dump(mode="json", exclude_none=True)
    return dumped


class LoopOptions(TypedDict, total=False):
    """What may be said of a loop.

    * ``tools``: guests (:class:`LoopTool`), and names of own tools.
    * ``request``: what every request to the model says besides.
    * ``stream``: whether replies are streamed; ``on_text`` is called with each piece of text.
    * ``turn``: the message that is answered; by default the number of the user's messages.
    * ``most``: how many requests are made to the model at most; 20.
    * ``on_history``: is called with the conversation before calls are made and after, to be saved;
      a loop that is given it again goes on where it stopped.
    """

    tools: Sequence[LoopTool | str]
    request: Mapping[str, Any]
    stream: bool
    on_text: OnText
    turn: str
    most: int
    on_history: Callable[[History], None]


def run(
    form: Form, client: Any, door: Door, history: Sequence[Mapping[str, Any]], said: LoopOptions
) -> Ended:
    """Go the loop in this thread."""
    on_text, streams = said.get("on_text"), said.get("stream", False)
    going = _go(form, door, history, said)
    return driven(going, form, client, door, streams=streams, on_text=on_text)


async def run_async(
    form: Form, client: Any, door: Door, history: Sequence[Mapping[str, Any]], said: LoopOptions
) -> Ended:
    """Go the loop on the running loop of events."""
    on_text, streams = said.get("on_text"), said.get("stream", False)
    going = _go(form, door, history, said)
    return await driven_async(going, form, client, door, streams=streams, on_text=on_text)
