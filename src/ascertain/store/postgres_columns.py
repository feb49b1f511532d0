"""Many rows as arrays, one for each column: what costs the server least to read.

A literal is put together for a whole column at once, which is quicker than the driver's own lists.
The same rows as JSON cost the server a quarter more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from ascertain.store.compact import compact_json

FLOAT = "double precision"


_BETWEEN = "\x1f"
"""Stands between texts while they are quoted; one that holds it is quoted by itself."""


class Columns:
    """Columns of a table, as a statement takes them."""

    def __init__(self, table: str, types: Mapping[str, str]) -> None:
        """:param types: of each column, in order."""
        self.names = tuple(types)
        self._blobs = tuple(name for name, kind in types.items() if kind == "bytea")
        self._writers = [_WRITERS[kind] for kind in types.values()]
        self.types = {f"each_{table}_{name}": f"{kind}[]" for name, kind in types.items()}
        """Of the parameters."""
        self.listed = ", ".join(f'"{name}"' for name in types)
        self.unnested = ", ".join(f'unnest(:each_{table}_{name}) AS "{name}"' for name in types)
        """What a SELECT says to have them as rows; a shorter array ends in NULLs."""

    def literals(self, rows: Iterable[Sequence[Any]]) -> list[str]:
        """The rows, one literal for each column."""
        columns = list(zip(*rows, strict=True))
        if not columns:
            return ["{}"] * len(self.names)
        return [write(column) for write, column in zip(self._writers, columns, strict=True)]

    def json(self, rows: Iterable[Sequence[Any]]) -> str:
        """The rows as one text, which a few of them come quicker as."""
        said: list[dict[str, Any]] = []
        for row in rows:
            named = dict(zip(self.names, row, strict=True))
            for name in self._blobs:
                named[name] = f"\\x{named[name].hex()}"
            said.append(named)
        return compact_json(said)


def _texts(column: Sequence[str | None]) -> str:
    if None in column:
        return _perhaps(column, _quoted)
    said = _BETWEEN.join(cast("Sequence[str]", column))
    if said.count(_BETWEEN) != len(column) - 1:
        return _perhaps(column, _quoted)
    return "{" + _quoted(said).replace(_BETWEEN, '","') + "}"


def _numbers(column: Sequence[float | None]) -> str:
    first = column[0]
    if column.count(first) == len(column):  # most are, and to write a number takes long
        return "{}" if first is None else "{" + ",".join([str(first)] * len(column)) + "}"
    return _perhaps(column, str)


def _bytes(column: Sequence[bytes]) -> str:
    return '{"\\\\x' + '","\\\\x'.join([value.hex() for value in column]) + '"}'


def _perhaps(column: Sequence[Any], write: Callable[[Any], str]) -> str:
    if None not in column:
        return "{" + ",".join(map(write, column)) + "}"
    if column.count(None) == len(column):
        return "{}"
    return "{" + ",".join(["NULL" if one is None else write(one) for one in column]) + "}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_WRITERS: dict[str, Callable[[Sequence[Any]], str]] = {
    "text": _texts,
    "bigint": _numbers,
    FLOAT: _numbers,
    "bytea": _bytes,
}
