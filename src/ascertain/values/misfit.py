"""A value that does not fit: where it stands and what it is, never the value itself.

Arguments may be personal, and an error travels far (logs, the model, a screen). So an error names
the path (``issue.details[3].amount``), what was expected, and the kind of thing that stood there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

from ascertain.errors import ArgumentsTooLarge, InvalidArguments, NotCanonical

Step = str | int

# `type`, for checkers that do not know the type of an Any.
kind_of: Callable[[object], type[Any]] = type

_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
_NAME_LENGTH = 40
_STEPS_SHOWN = 12
_KINDS: dict[type[Any], str] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number with a fraction",
    str: "a string",
    list: "an array",
    tuple: "an array",
    dict: "an object",
}


def is_object(value: object) -> TypeGuard[dict[Any, Any]]:
    """Whether it is a dict, of any class."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether it is a list or a tuple, of any class."""
    return isinstance(value, list | tuple)


class Misfit(Exception):
    """An offending value on its way out; the path is filled in while it unwinds.

    :param expected: what would have fitted (``an integer``); may be empty.
    :param got: what stood there, in a few words (``a string``).
    :param error: which public error it becomes.
    """

    def __init__(
        self, got: str, *, expected: str = "", error: type[InvalidArguments] = InvalidArguments
    ) -> None:
        super().__init__(got)
        self.got = got
        self.expected = expected
        self.error = error
        self.steps: list[Step] = []  # from the value outwards

    def within(self, step: Step) -> Misfit:
        """The same misfit, seen from one level further out."""
        self.steps.append(step)
        return self

    def as_error(self) -> InvalidArguments:
        """The public error that says all this."""
        path = path_of(self.steps[::-1])
        where = path or "The value"
        if self.expected:
            said = f"{where}: expected {self.expected}, got {self.got}."
        elif self.error is NotCanonical:
            said = f"{where}: {self.got} has no exact JSON form."
        else:
            said = f"{where}: {self.got}."
        context = {"path": path, "got": self.got}
        if self.expected:
            context["expected"] = self.expected
        return self.error(said, **context)


def inexact(got: str) -> Misfit:
    """JSON cannot hold this value."""
    return Misfit(got, error=NotCanonical)


def too_large(got: str) -> Misfit:
    """More than the bounds allow."""
    return Misfit(got, error=ArgumentsTooLarge)


def unlike(expected: str, value: Any) -> Misfit:
    """Another kind of value was expected."""
    return Misfit(describe(value), expected=expected)


def describe(value: Any) -> str:
    """Say in a few words what kind of thing a value is."""
    kind = kind_of(value)
    name = kind.__name__[:_NAME_LENGTH]
    return _KINDS.get(kind) or f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def path_of(steps: Sequence[Step]) -> str:
    """Write a path as people do: ``issue.details[3].amount``; odd names are quoted and cut."""
    if len(steps) > _STEPS_SHOWN:
        return f"{path_of(steps[:8])} ... {path_of(steps[-3:])}"
    parts: list[str] = []
    for step in steps:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _SIMPLE.fullmatch(step):
            parts.append(f".{step}" if parts else step)
        else:
            cut = step if len(step) <= _NAME_LENGTH else step[:_NAME_LENGTH] + "..."
            parts.append(f"[{json.dumps(cut)}]" if parts else json.dumps(cut))
    return "".join(parts)
