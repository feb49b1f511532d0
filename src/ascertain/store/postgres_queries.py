"""The named queries as PostgreSQL takes them.

Every parameter is cast: PostgreSQL must know the type of one that is only compared with NULL, and a
statement whose types are fixed is prepared once.
"""

from __future__ import annotations

import re
from itertools import count
from typing import Any, get_type_hints

from ascertain.model.action import ActionRecord
from ascertain.store.postgres_trip import Said
from ascertain.store.queries import load_queries
from ascertain.store.rows import COLUMNS, MOVING

_FLOAT = "double precision"
_FLOATS = ("at", "before", "closed_before", "now", "probe_until", "since", "until", "window_s")
_INTEGERS = (
    "base", "before_n", "bytes", "count", "fence", "idle_ms", "kept", "limit", "line", "lock",
    "lock_ms", "most", "n", "open_only", "position", "review_only", "skip", "statement_ms",
    "superseded", "unless_final", "version",
)  # fmt: skip
_TYPES = {
    **dict.fromkeys(_FLOATS, _FLOAT),
    **dict.fromkeys(_INTEGERS, "bigint"),
    **dict.fromkeys(("hash", "head", "seal"), "bytea"),
}
_HINTS = get_type_hints(ActionRecord)
_OWN = {int: "bigint", float: _FLOAT, float | None: _FLOAT, bytes: "bytea"}

_MOVING = ", ".join(
    ["id text", "before_n bigint", "before_fence bigint"]
    + [f'"{name}" {_OWN.get(_HINTS[name], "text")}' for name in MOVING]
)
_CHANGES = ", ".join(f'"{name}" = v."{name}"' for name in MOVING)

QUERIES = {
    name: query.expanded(action=COLUMNS, moving=_MOVING, changes=_CHANGES)
    for name, query in load_queries("queries.sql", "postgres.sql").items()
}


def _type_of(parameter: str) -> str:
    return _FLOAT if parameter.endswith("_at") else _TYPES.get(parameter, "text")


FORMS: dict[str, tuple[bytes, tuple[int, ...]]] = {
    name: (query.cast("%s", _type_of).encode(), query.places()) for name, query in QUERIES.items()
}
"""Text, and which of the announced parameters stands at each placeholder."""

TELLS = frozenset(
    name
    for name, query in QUERIES.items()
    if query.text.startswith(("SELECT", "WITH")) or "RETURNING" in query.text
)
"""The queries that give rows; of the others nobody has to wait for an answer."""


def form(name: str, values: tuple[Any, ...]) -> tuple[bytes, list[Any]]:
    """The text of a named query, and the values in the order of its placeholders."""
    text, order = FORMS[name]
    return text, [values[place] for place in order]


def said(name: str, values: tuple[Any, ...]) -> Said:
    """A named query whose values are texts, as it is said on a connection that prepares it."""
    text, order = _NUMBERED.get(name) or _number(name)
    return Said(name.encode(), text, [values[place].encode() for place in order])


def _number(name: str) -> tuple[bytes, tuple[int, ...]]:
    text, order = FORMS[name]
    numbers = count(1)
    numbered = re.sub(b"%s", lambda _: b"$%d" % next(numbers), text).replace(b"%%", b"%")
    made = _NUMBERED[name] = (numbered, order)
    return made


_NUMBERED: dict[str, tuple[bytes, tuple[int, ...]]] = {}
