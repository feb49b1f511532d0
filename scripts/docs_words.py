"""What the generators of documentation blocks share: Markdown, and what docstrings say."""

import inspect
import re
from dataclasses import MISSING, fields

from ascertain.model.contract import Budget, KeyFormat

BLOCKS = {}


def block(name):
    """Register a generator under the name of its block."""

    def keep(function):
        BLOCKS[name] = function
        return function

    return keep


def cell(value):
    return str(value).replace("|", "\\|").replace("\n", " ")


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)


def code(*words):
    return ", ".join(f"`{word}`" for word in words)


def prose(text):
    """reStructuredText of a docstring as Markdown, on one line."""
    text = re.sub(
        r":(?:class|meth|func|data):`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", " ".join(text.split())
    )
    return re.sub(r"``(.+?)``", r"`\1`", text)


def summary(thing):
    """The first paragraph of a docstring."""
    return prose((inspect.getdoc(thing) or "").partition("\n\n")[0])


def params(thing):
    """What `:param` and `:ivar` of a docstring say, by name (two names may share a line)."""
    found = re.findall(
        r":(?:param|ivar) ([\w, ]+):(.*?)(?=\s:(?:param|ivar|returns|raises)\b|\Z)",
        inspect.getdoc(thing) or "",
        re.DOTALL,
    )
    return {name.strip(): prose(text) for names, text in found for name in names.split(",")}


def shown(value):
    """A default as one would write it."""
    match value:
        case None:
            return "none"
        case "" | ():
            return "empty"
        case tuple():
            return code(*value)
        case Budget() | KeyFormat():
            return f"`{type(value).__name__}()`"
        case bool() | int() | float() | str():
            return f"`{value}`"
        case _:
            return "empty" if not value else f"`{value}`"


def default_of(field):
    if field.default is not MISSING:
        return shown(field.default)
    return "required" if field.default_factory is MISSING else shown(field.default_factory())


def unit_of(name):
    return "seconds" if name.endswith("_s") else ""


def field_rows(kind, said):
    return [
        [f"`{field.name}`", default_of(field), unit_of(field.name), said[field.name]]
        for field in fields(kind)
    ]
