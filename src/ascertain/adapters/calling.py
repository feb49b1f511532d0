"""One tool call of a framework, and the way it goes: written once, driven by sync or async code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from functools import partial
from typing import Any, NamedTuple

from ascertain.adapters.told import Fact
from ascertain.errors import InvalidArguments
from ascertain.values.arguments import parse_call
from ascertain.values.canonical import canonical, digest


class ToolCall(NamedTuple):
    """One tool call, as a framework hands it over.

    :ivar arguments: a JSON text or an object, as the model wrote it.
    :ivar call_id: the framework's id of the call; None where it has none.
    :ivar turn: the id of the message that is being answered, where the framework knows it.
    :ivar message_id: the id of the model's message that holds the call, where the framework keeps
        it over crash and resume.
    :ivar host: what the framework gives, for a ``scope`` that is a function.
    :ivar unique: the framework never gives that id to another call, whatever the turn.
    :ivar whole: False where the model did not come to the end of its message.
    """

    tool: str
    arguments: Mapping[str, Any] | str
    call_id: str | None = None
    turn: str = ""
    message_id: str = ""
    host: Any = None
    whole: bool = True
    unique: bool = False

    def parsed(self) -> dict[str, Any]:
        """The arguments, if they are complete and well-formed.

        :raises InvalidArguments: they are not.
        """
        arguments = self.arguments
        if isinstance(arguments, str):
            return parse_call(arguments or "{}")
        if not isinstance(arguments, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidArguments(f"Arguments are an object, not {type(arguments).__name__}.")
        return dict(arguments)


class Step(NamedTuple):
    """One thing to do on the way, for sync and for async code."""

    sync: Callable[[], Any]
    aio: Callable[[], Awaitable[Any]]


Way = Generator[Step, Any, Fact]


def call_id_of(call: ToolCall, turn: str, arguments: Mapping[str, Any]) -> str | None:
    """The id under which a call is found again: what repeats of a framework's ids does not matter.

    Providers count their calls anew in each message, some of them. So the turn, the message, the
    tool and its arguments belong to it; the same id with other arguments is another call.
    """
    if not call.call_id:
        return None
    within = "" if call.unique else turn
    parts = [within, call.message_id, call.call_id, call.tool, canonical(dict(arguments))]
    return f"{call.call_id[:60]}~{digest(canonical(parts))[:24]}"


def apart(function: Callable[..., Any], *args: Any) -> Step:
    """A step that reads the ledger: never on the loop itself."""

    async def later() -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, function, *args)

    return Step(partial(function, *args), later)


def driven(way: Way) -> Fact:
    """Go the way in this thread."""
    try:
        step = next(way)
        while True:
            try:
                reply = step.sync()
            except BaseException as error:
                step = way.throw(error)
            else:
                step = way.send(reply)
    except StopIteration as stop:
        fact: Fact = stop.value
        return fact


async def driven_async(way: Way) -> Fact:
    """Go the way on the running loop."""
    try:
        step = next(way)
        while True:
            try:
                reply = await step.aio()
            except BaseException as error:
                step = way.throw(error)
            else:
                step = way.send(reply)
    except StopIteration as stop:
        fact: Fact = stop.value
        return fact
