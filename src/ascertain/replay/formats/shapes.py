"""JSON values by their shape: as they should be, or as an empty one where they are not."""

from __future__ import annotations

from typing import Any, TypeGuard

from ascertain.replay.formats.misread import Misfit


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def object_in(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if is_object(value) else {}


def list_in(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if is_list(value) else []


def an_object(value: object, what: str = "this") -> dict[str, Any]:
    """The value as an object. :raises Misfit: it is none."""
    if not is_object(value):
        raise Misfit(f"{what} is no JSON object.")
    return value


def a_list(value: object, what: str) -> list[Any]:
    """The value as a list. :raises Misfit: it is none."""
    if not is_list(value):
        raise Misfit(f"{what} must be a list, it is {kind_of(value)}.")
    return value


def a_text(value: object, what: str) -> str:
    """The value as a text that is not empty. :raises Misfit: it is none."""
    if not isinstance(value, str) or not value:
        raise Misfit(f"{what} must be a text, it is {kind_of(value)}.")
    return value


def kind_of(value: object) -> str:
    """What a JSON value is, in a word."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "a text" if value else "an empty text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"
