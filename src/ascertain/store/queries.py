"""Reads named SQL from plain files.

``-- name: lease (owner, until, id)`` announces a query and the order of its parameters; the text
uses ``:owner``. A later file says what a backend must say otherwise, under the same name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from operator import itemgetter
from typing import Any

_HEAD = re.compile(r"^-- name: (\w+)(?: \(([^)]*)\))?$")
_PARAMETER = re.compile(r"(?<!:):(\w+)")
_MACRO = re.compile(r"\{(\w+)\}")
_SHARED = "open_pairs"
"""A query that others contain: ``{open_pairs}``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One named query. ``parameters`` is ``("*",)`` where they are the columns of an action."""

    name: str
    parameters: tuple[str, ...]
    text: str

    def placed(self, placeholder: str) -> str:
        """The text with one kind of placeholder, for drivers that count them (see ``order``)."""
        return _PARAMETER.sub(placeholder, self.text)

    def cast(self, placeholder: str, type_of: Callable[[str], str]) -> str:
        """The same with each placeholder cast to the type of its parameter."""
        return _PARAMETER.sub(
            lambda found: f"{placeholder}::{type_of(found[1])}", self.text.replace("%", "%%")
        )

    def order(self) -> tuple[str, ...]:
        """The parameters as often and in the order as they stand in the text."""
        return tuple(_PARAMETER.findall(self.text))

    def places(self) -> tuple[int, ...]:
        """For each placeholder, which of the announced parameters it is.

        :raises ValueError: the text uses a parameter that is not announced, or the reverse.
        """
        used = self.order()
        if set(used) != set(self.parameters):
            raise ValueError(f"Query {self.name}: {sorted(set(used) ^ set(self.parameters))}?")
        return tuple(self.parameters.index(name) for name in used)

    def picker(self) -> Callable[[Sequence[object]], Sequence[Any]] | None:
        """What puts the announced parameters in their places; None where they are in order."""
        places = self.places()
        if places == tuple(range(len(places))):
            return None
        return itemgetter(*places)  # pyright: ignore[reportUnknownVariableType]

    def expanded(self, **macros: str) -> Query:
        """The query with its macros filled in; unknown ones stay for later."""
        text = _MACRO.sub(lambda found: macros.get(found[1], found[0]), self.text)
        return Query(name=self.name, parameters=self.parameters, text=text)


def load_queries(*file_names: str) -> dict[str, Query]:
    """Read the named queries of these files in ``store/sql``; later ones override earlier ones."""
    found: dict[str, Query] = {}
    for file_name in file_names:
        found.update((query.name, query) for query in _parse(_read(file_name)))
    shared = {_SHARED: found[_SHARED].text} if _SHARED in found else {}
    return {name: query.expanded(**shared) for name, query in found.items()}


def load_migrations(backend: str) -> list[tuple[int, str]]:
    """The numbered migrations of a backend, in order: ``(number, script)``."""
    folder = files("ascertain.store").joinpath("sql", backend)
    scripts = sorted(
        (int(entry.name.split("_", 1)[0]), entry.read_text("utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    )
    if [number for number, _ in scripts] != list(range(1, len(scripts) + 1)):
        raise ValueError(f"The migrations of {backend} are not numbered 1, 2, 3, ...")
    return scripts


def migration_titles(backend: str) -> list[str]:
    """What the migrations of a backend are about, in order."""
    folder = files("ascertain.store").joinpath("sql", backend)
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [name.removesuffix(".sql").split("_", 1)[1].replace("_", " ") for name in names]


def _read(file_name: str) -> str:
    return files("ascertain.store").joinpath("sql", file_name).read_text("utf-8")


def _parse(text: str) -> Iterable[Query]:
    name, parameters, lines = "", "", list[str]()
    for line in [*text.splitlines(), "-- name: end"]:
        head = _HEAD.match(line)
        if head is None:
            if name and not line.startswith("--") and line.strip():
                lines.append(line)
            continue
        if name:
            yield Query(
                name=name,
                parameters=tuple(part.strip() for part in parameters.split(",") if part.strip()),
                text="\n".join(lines).rstrip().removesuffix(";"),
            )
        name, parameters, lines = head[1], head[2] or "", []
