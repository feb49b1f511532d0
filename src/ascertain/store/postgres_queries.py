"""The named queries as PostgreSQL takes them.

Every parameter is cast: PostgreSQL must know the type of one that is only compared with NULL, and a
statement whose types are fixed is prepared once.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count
from typing import Any, get_type_hints

from ascertain.model.action import ActionRecord
from ascertain.store.postgres_columns import FLOAT, Columns
from ascertain.store.postgres_trip import Said
from ascertain.store.queries import Query, load_queries
from ascertain.store.rows import COLUMNS, FIELDS, MOVING

_FLOATS = ("at", "before", "closed_before", "now", "probe_until", "since", "until", "window_s")
_INTEGERS = (
    "base", "before_n", "bytes", "count", "fence", "idle_ms", "kept", "limit", "line", "lock",
    "lock_ms", "most", "n", "open_only", "position", "review_only", "skip", "statement_ms",
    "superseded", "unless_final", "version",
)  # fmt: skip
_TYPES = {
    **dict.fromkeys(_FLOATS, FLOAT),
    **dict.fromkeys(_INTEGERS, "bigint"),
    **dict.fromkeys(("hash", "head", "seal"), "bytea"),
}
_HINTS = get_type_hints(ActionRecord)
_OWN = {int: "bigint", float: FLOAT, float | None: FLOAT, bytes: "bytea"}


def _typed(*names: str) -> dict[str, str]:
    return {name: _OWN.get(_HINTS[name], "text") for name in names}


ACTION = Columns("action", _typed(*FIELDS))
_MOVED_TYPES = {
    "id": "text", "before_n": "bigint", "before_fence": "bigint", "before_head": "bytea",
    **_typed(*MOVING),
}  # fmt: skip
MOVED = Columns("moved", _MOVED_TYPES)
EVENT = Columns("event", {
    "action_id": "text", "n": "bigint", "start": "text", "event": "text", "end": "text",
    "by": "text", "reason": "text", "attempt": "bigint", "fence": "bigint", "at": FLOAT,
    "detail": "text", "hash": "bytea", "stand": "text", "covers": "bytea",
})  # fmt: skip
PAYLOAD = Columns("payload", {"action_id": "text", "what": "text", "salt": "bytea", "body": "text"})
_EACH = {**ACTION.types, **MOVED.types, **EVENT.types, **PAYLOAD.types}

_EXPANDED = {
    "action": COLUMNS,
    "moving": ", ".join(f'"{name}" {kind}' for name, kind in _MOVED_TYPES.items()),
    "changes": ", ".join(f'"{name}" = v."{name}"' for name in MOVING),
    "event": EVENT.listed,
    "payload": PAYLOAD.listed,
    "each_action": ACTION.unnested,
    "each_moved": MOVED.unnested,
    "each_event": EVENT.unnested,
    "each_payload": PAYLOAD.unnested,
}


def _complete(query: Query) -> Query:
    made = query.expanded(**_EXPANDED)
    return replace(made, parameters=made.order()) if query.parameters == ("*",) else made


QUERIES = {
    name: _complete(query) for name, query in load_queries("queries.sql", "postgres.sql").items()
}


def _type_of(parameter: str) -> str:
    if parameter in _EACH:
        return _EACH[parameter]
    return FLOAT if parameter.endswith("_at") else _TYPES.get(parameter, "text")


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
    """A named query whose values are texts, as a connection prepares it and says it."""
    text, order = _NUMBERED.get(name) or _number(name)
    return Said(name.encode(), text, [values[place].encode() for place in order])


def _number(name: str) -> tuple[bytes, tuple[int, ...]]:
    text, order = FORMS[name]
    numbers = count(1)
    numbered = re.sub(b"%s", lambda _: b"$%d" % next(numbers), text).replace(b"%%", b"%")
    made = _NUMBERED[name] = (numbered, order)
    return made


_NUMBERED: dict[str, tuple[bytes, tuple[int, ...]]] = {}
