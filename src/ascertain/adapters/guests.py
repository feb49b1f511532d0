"""Tools of an agent framework, guarded without being changed.

The framework's own handler is the body of the call, so only the run that makes the call can send
it. What the tool promises is said for it, by keyword or in a file. Recovery asks the look-up; it
sends only where the tool can be run from its arguments alone (``alone=``). Where it cannot, and the
look-up says for good that nothing is there, the action ends as not done; where nobody can be asked,
a person decides.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from inspect import iscoroutinefunction
from typing import Any, Final, TypeVar, cast

from ascertain.errors import ContractError
from ascertain.model.words import NotSent
from ascertain.runtime.app import Ascertain
from ascertain.runtime.attempt import current_attempt
from ascertain.runtime.promises import noun_of
from ascertain.runtime.registry import Entry
from ascertain.runtime.wrapping import resolved

Said = dict[str, Any]
Run = Callable[[dict[str, Any]], Any]
"""The framework's handler of one call: takes the arguments as they are stored, and is sync or
async as the call is. It raises where the tool did, and gives back plain JSON or text."""

NO_RUN: Final = "needs_its_run"
FILLS: Final = ("key", "principal", "tenant")
_OWN: Final = ("access", "alone", "fills", "show", "lookup")
T = TypeVar("T")


class Guest:
    """One tool of a framework, as its app knows it.

    :ivar fills: parameters that the program fills, whatever a model says there: with the
        idempotency key, or with whose wish it is.
    :ivar show: whether the model is shown what the provider answered, or the facts alone.
    """

    def __init__(
        self, app: Ascertain, name: str, schema: Mapping[str, Any], said: Mapping[str, Any]
    ) -> None:
        """Register the tool.

        :param said: what it promises, as for :meth:`~ascertain.Ascertain.tool`; and ``access``,
            ``alone``, ``fills``, ``show``, ``lookup`` (see :meth:`~.door.Door.declare`).
        :raises ContractError: a declaration that cannot be kept.
        """
        own = {key: said[key] for key in _OWN if key in said}
        promises = {key: value for key, value in said.items() if key not in _OWN}
        self.name = name
        self.fills = _fills(name, own.get("fills", {}))
        self.show = bool(own.get("show", True))
        properties = schema.get("properties", {})
        self._optional = {
            parameter
            for parameter, shown in properties.items()
            if parameter not in schema.get("required", ()) and shown.get("default") is None
        }
        alone = own.get("alone")
        asks, promise = _lookup(own.get("lookup"))
        access = own.get("access", "write")
        if access != "read":
            promises.setdefault("noun", _noun(app, name))
            promises["caller_sends"] = alone is None
        body = self._alone(alone, is_async=iscoroutinefunction(asks))
        shown = without(schema, self.fills)
        tool = app.wrap(body, access=access, name=name, schema=shown, **promises)
        if asks is not None:
            tool.lookup(**promise)(asks)
        self._entry: Entry = app.registry.get(name)
        self._entry.sendable = alone is not None or access == "read"

    def entry(self, run: Run | None, *, is_async: bool) -> Entry:
        """What a call is made with: its body is the run's handler, where there is one.

        :raises ContractError: an async look-up in a sync run.
        """
        entry = self._entry
        if not is_async and (entry.lookup_is_async or (run is None and entry.is_async)):
            raise ContractError(
                f"{self.name} has an async body or look-up, and was called by sync code.",
                next_step="Run the agent async, or give the tool sync functions.",
            )
        if run is None:
            return entry
        body = self._awaited(run) if is_async else self._called(run)
        return replace(entry, body=body, is_async=is_async, sendable=True)

    def _called(self, run: Run) -> Callable[..., Any]:
        def body(**values: Any) -> Any:
            return as_value(run(self._filled(values)))

        return body

    def _awaited(self, run: Run) -> Callable[..., Any]:
        async def body(**values: Any) -> Any:
            return as_value(await cast("Awaitable[Any]", run(self._filled(values))))

        return body

    def _alone(self, alone: Callable[..., Any] | None, *, is_async: bool) -> Callable[..., Any]:
        if alone is None:
            return _nobody_async if is_async else _nobody
        return self._awaited(alone) if iscoroutinefunction(alone) else self._called(alone)

    def _filled(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments for the tool: what was left out stays out, what we fill is filled."""
        given = {
            name: value
            for name, value in values.items()
            if value is not None or name not in self._optional
        }
        if not self.fills:
            return given
        attempt = current_attempt()
        return given | {name: getattr(attempt, source) for name, source in self.fills.items()}


def without(schema: Mapping[str, Any], hidden: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema without the parameters that the program fills: what a model is shown."""
    shown = dict(schema)
    properties = cast("Mapping[str, Any]", schema.get("properties", {}))
    shown["properties"] = {name: one for name, one in properties.items() if name not in hidden}
    shown["required"] = [name for name in schema.get("required", ()) if name not in hidden]
    return shown


def as_value(value: Any) -> Any:
    """An answer as JSON: a text that is a JSON object or list is what it says."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _nobody(**_values: Any) -> Any:
    raise NotSent(NO_RUN, retryable=False)


async def _nobody_async(**_values: Any) -> Any:
    raise NotSent(NO_RUN, retryable=False)


def _noun(app: Ascertain, name: str) -> str:
    """What its effect is called: as ever, or by its whole name where that is taken."""
    for noun in (noun_of(name), name):
        if app.registry.by_noun(noun) is None:
            return noun
    return f"{name}_call"


def _fills(name: str, said: Mapping[str, str]) -> dict[str, str]:
    strangers = sorted(set(said.values()) - set(FILLS))
    if strangers:
        raise ContractError(
            f"{name}: fills= knows {', '.join(FILLS)}, not {strangers[0]!r}.",
        )
    return dict(said)


def _lookup(said: object) -> tuple[Callable[[Any], Any] | None, Said]:
    """The look-up and what it promises: a function, or a table with ``target`` and promises."""
    if said is None:
        return None, {}
    if callable(said):
        return cast("Callable[[Any], Any]", said), {}
    if not isinstance(said, Mapping) or "target" not in said:
        raise ContractError("lookup= is a function, or a table with target= and its promises.")
    promise = dict(cast("Mapping[str, Any]", said))
    return resolved(promise.pop("target")), promise
