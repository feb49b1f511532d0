"""Which clients a tool's body can get at, found without running or importing anything.

Best effort: the globals, closure, defaults and bound object of the body, the functions of its own
project that it calls, and the attributes that it reads of modules and objects. What is made while
the body runs cannot be seen.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

_MOST_FUNCTIONS = 200
_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


@dataclass(frozen=True, slots=True)
class Reached:
    """Something that a body can use, and by which words (``clients.crm``)."""

    thing: Any
    path: str


@dataclass(slots=True)
class Reach:
    """What was found: ``things`` once each; ``layers`` are the functions of decorators."""

    things: dict[int, Reached] = field(default_factory=dict[int, Reached])
    layers: list[types.FunctionType] = field(default_factory=list[types.FunctionType])


def reach(body: Callable[..., Any]) -> Reach:
    """Follow a body to everything that it names."""
    found = Reach()
    waiting: list[Any] = [body]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_FUNCTIONS:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        for function in _layers(thing, found):
            seen.add(id(function))
            found.layers.append(function)
            for reached in _named_by(function):
                found.things.setdefault(id(reached.thing), reached)
                if _is_project_code(reached.thing):
                    waiting.append(reached.thing)
    return found


def _layers(thing: Any, found: Reach) -> Iterator[types.FunctionType]:
    """The functions of a callable, outermost first: partials, bound methods, decorators."""
    while thing is not None:
        if isinstance(thing, functools.partial):
            held = cast("Any", thing)
            for value in (*held.args, *held.keywords.values()):
                found.things.setdefault(id(value), Reached(value, _kind(value)))
            thing = held.func
        elif isinstance(thing, types.MethodType):
            for reached in _held_by(thing.__self__):
                found.things.setdefault(id(reached.thing), reached)
            thing = thing.__func__
        elif isinstance(thing, types.FunctionType):
            yield thing
            thing = thing.__dict__.get("__wrapped__")
        elif callable(thing) and not isinstance(thing, type) and _is_own(type(thing)):
            for reached in _held_by(thing):
                found.things.setdefault(id(reached.thing), reached)
            thing = inspect.getattr_static(type(thing), "__call__", None)
        else:
            return


def _held_by(owner: Any) -> Iterator[Reached]:
    """What an object of the project holds in its attributes, one level deep."""
    for name, value in _attributes(owner).items():
        yield Reached(value, f"self.{name}")


def _named_by(function: types.FunctionType) -> Iterator[Reached]:
    names = _names_of(function)
    for chain in _chains(function.__code__):
        thing, path = names.get(chain[0], _NOTHING), chain[0]
        if thing is _NOTHING:
            continue
        yield Reached(thing, path)
        for attribute in chain[1:]:
            thing = _attribute(thing, attribute)
            if thing is _NOTHING:
                break
            path = f"{path}.{attribute}"
            yield Reached(thing, path)
    for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield Reached(value, _kind(value))


def _names_of(function: types.FunctionType) -> dict[str, Any]:
    names: dict[str, Any] = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            names.pop(name, None)  # not filled yet
    return names


def _chains(code: types.CodeType) -> Iterator[tuple[str, ...]]:
    """The dotted names that code reads: ``clients.crm.post`` gives ("clients", "crm", "post")."""
    chain: list[str] = []
    for step in dis.get_instructions(code):
        if step.opname in _ATTRIBUTES and chain:
            chain.append(str(step.argval))
            continue
        if chain:
            yield tuple(chain)
        chain = [str(step.argval)] if step.opname in _LOADS else []
    if chain:
        yield tuple(chain)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _chains(constant)


class _Nothing:
    """Stands for "there is no such thing"."""


_NOTHING: Any = _Nothing()


def _attribute(owner: Any, name: str) -> Any:
    """An attribute that is simply there; no property is run."""
    attributes = _attributes(owner)
    if name in attributes:
        return attributes[name]
    kind = owner if isinstance(owner, type) else type(owner)
    for base in kind.__mro__:
        value = base.__dict__.get(name, _NOTHING)
        if value is _NOTHING:
            continue
        if isinstance(value, types.FunctionType):
            return value
        return _NOTHING if _is_descriptor(value) else value
    return _NOTHING


def _is_descriptor(value: object) -> bool:
    return hasattr(type(value), "__get__")


def _attributes(owner: Any) -> Mapping[str, Any]:
    try:
        return cast("Mapping[str, Any]", object.__getattribute__(owner, "__dict__"))
    except AttributeError:
        return {}


def _is_own(kind: type[Any]) -> bool:
    return is_project_module(kind.__module__)


def _is_project_code(thing: Any) -> bool:
    """Whether it is code of the project itself: libraries are not followed."""
    if isinstance(thing, types.MethodType):
        thing = thing.__func__
    if isinstance(thing, functools.partial):
        return True
    return isinstance(thing, types.FunctionType) and is_project_module(
        str(thing.__globals__.get("__name__", ""))
    )


def is_project_module(name: str) -> bool:
    root = name.partition(".")[0]
    if root in sys.stdlib_module_names and root != "__main__":
        return False
    module = sys.modules.get(name)
    file = str(getattr(module, "__file__", "") or "")
    return root != "ascertain" and "site-packages" not in file and "dist-packages" not in file


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"
