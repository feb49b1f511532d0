"""Everything that the modules which hold an app have put together, found without running anything.

A framework's agent holds its middleware in attributes, lists and closures. What is followed is what
an object holds; neither the globals of a library's functions nor classes and modules.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from ascertain.report.reach import is_project_module

_MOST: Final = 50_000  # objects
_NOT_FOLLOWED: Final = (
    type, types.ModuleType, str, bytes, int, float, bool, complex, type(None), types.CodeType,
    types.FrameType,
)  # fmt: skip


def assembled(held: tuple[Any, ...], is_closed: Callable[[Any], bool]) -> Iterator[Any]:
    """Every object that hangs on a module of the project in which one of these is held.

    :param held: the app and its tools. :param is_closed: what an object holds is none of ours.
    """
    ids = {id(thing) for thing in held}
    waiting: list[Any] = []
    for name, module in list(sys.modules.items()):
        members = getattr(module, "__dict__", {})
        if is_project_module(name) and any(id(value) in ids for value in members.values()):
            waiting += members.values()
    seen: set[int] = set()
    kept: list[Any] = []  # so that no id is given twice while it is looked at
    while waiting and len(seen) < _MOST:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, _NOT_FOLLOWED):
            continue
        seen.add(id(thing))
        kept.append(thing)
        yield thing
        if not is_closed(thing):
            waiting += _held_by(thing)


def _held_by(thing: Any) -> Iterator[Any]:
    """What one object holds; no property is run."""
    if isinstance(thing, Mapping) and isinstance(thing, dict | types.MappingProxyType):
        yield from cast("Mapping[Any, Any]", thing).values()
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from cast("list[Any]", thing)
    elif isinstance(thing, types.FunctionType):
        yield from _of_function(thing)
    elif isinstance(thing, types.MethodType):
        yield from (thing.__self__, thing.__func__)
    elif isinstance(thing, functools.partial):
        held = cast("Any", thing)
        yield from (held.func, *held.args, *held.keywords.values())
    else:
        yield from _attributes(thing)


def _of_function(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue  # not filled yet
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from function.__dict__.values()


def _attributes(thing: Any) -> Iterator[Any]:
    with contextlib.suppress(AttributeError):
        yield from object.__getattribute__(thing, "__dict__").values()
    for base in type(thing).__mro__:
        for member in vars(base).values():
            if isinstance(member, types.MemberDescriptorType):  # a slot
                try:
                    yield member.__get__(thing)
                except AttributeError:
                    continue  # empty
