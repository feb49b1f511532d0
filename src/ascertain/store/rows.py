"""Between an :class:`ActionRecord` and its row.

Python's sqlite3 binds exact ``str``, ``int`` and ``float`` ten times faster than ``None``, enums
and ``bytes``. So enums become plain text, and the text of a statement has literal NULLs where the
values are None: there are few patterns of them, and each is one cached statement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from types import NoneType
from typing import Any, get_args, get_type_hints

from ascertain.errors import LedgerCorrupt
from ascertain.model.action import ActionRecord, as_record
from ascertain.model.outcome import Evidence, Kind
from ascertain.model.tables import State
from ascertain.store.queries import Query

FIELDS = ActionRecord._fields
COLUMNS = ", ".join(f'"{name}"' for name in FIELDS)
AT = {name: place for place, name in enumerate(FIELDS)}

NULLABLE = tuple(
    name for name, hint in get_type_hints(ActionRecord).items() if NoneType in get_args(hint)
)
IDENTITY = FIELDS[: AT["send_by_at"]]
MOVING = FIELDS[AT["send_by_at"] :]

_STATE, _FINAL, _KIND, _EVIDENCE = AT["state"], AT["final"], AT["kind"], AT["evidence"]
_HEAD, _N = AT["head"], AT["n"]
_IDENTITY_END = len(IDENTITY)

STATE_TEXT: dict[Any, str] = {None: "", **{state: state.value for state in State}}
_STATES: dict[Any, State] = {state.value: state for state in State}
_KINDS: dict[Any, Kind | None] = {None: None, **{kind.value: kind for kind in Kind}}
_KIND_TEXT: dict[Any, str | None] = {None: None, **{kind: kind.value for kind in Kind}}
_EVIDENCES: dict[Any, Evidence] = {evidence.value: evidence for evidence in Evidence}
_EVIDENCE_TEXT: dict[Any, str] = {evidence: evidence.value for evidence in Evidence}

_nullable = itemgetter(*(AT[name] for name in NULLABLE))

Values = tuple[Any, ...]


def to_record(row: Sequence[Any]) -> ActionRecord:
    """A row as a record.

    :raises LedgerCorrupt: a word that the model does not have.
    """
    values = list(row)
    try:
        values[_STATE] = _STATES[row[_STATE]]
        values[_KIND] = _KINDS[row[_KIND]]
        values[_EVIDENCE] = _EVIDENCES[row[_EVIDENCE]]
    except KeyError as word:
        raise LedgerCorrupt(f"Action {row[0]} holds the unknown word {word}.") from None
    return as_record(values)


def with_chain(record: ActionRecord, n: int, head: bytes) -> ActionRecord:
    """The record with its number of events and the head of its chain."""
    return as_record((*record[:_N], n, head))


def same_identity(one: ActionRecord, other: ActionRecord) -> bool:
    """Whether nothing differs that is fixed at birth."""
    return one[:_IDENTITY_END] == other[:_IDENTITY_END]


def plain(record: ActionRecord) -> list[Any]:
    """The values of a record as the database binds them quickest."""
    values: list[Any] = list(record)
    values[_STATE] = STATE_TEXT[record[_STATE]]
    values[_KIND] = _KIND_TEXT[record[_KIND]]
    values[_EVIDENCE] = _EVIDENCE_TEXT[record[_EVIDENCE]]
    values[_HEAD] = bytearray(record.head)
    return values


class RowStatement:
    """A statement over the columns of an action, in one form for each pattern of NULLs."""

    __slots__ = ("_extra", "_forms", "_query")

    def __init__(self, query: Query, *extra: str) -> None:
        """:param extra: names of the values that follow those of the action."""
        self._query = query
        self._extra = extra
        self._forms: dict[Any, tuple[str, Callable[[Sequence[Any]], Values]]] = {}

    def bind(self, values: list[Any], *, final_changes: bool = False) -> tuple[str, Values]:
        """The statement's text and the values to bind.

        :param values: of :func:`plain`, with the extra ones behind.
        :param final_changes: whether ``final`` is written too; it is the one moving column that an
            index on the hot path depends on.
        """
        pattern = (*map(type, _nullable(values)), final_changes)
        form = self._forms.get(pattern)
        if form is None:
            form = self._forms[pattern] = self._form(pattern)
        sql, select = form
        return sql, select(values)

    def _form(self, pattern: Values) -> tuple[str, Callable[[Sequence[Any]], Values]]:
        null = {name for name, kind in zip(NULLABLE, pattern, strict=False) if kind is NoneType}
        changing = [name for name in MOVING if name != "final" or pattern[-1]]
        text = self._query.expanded(
            columns=COLUMNS,
            values=", ".join("NULL" if name in null else f":{name}" for name in FIELDS),
            changes=", ".join(
                f'"{name}" = NULL' if name in null else f'"{name}" = :{name}' for name in changing
            ),
        )
        places = {**AT, **{name: len(FIELDS) + i for i, name in enumerate(self._extra)}}
        return text.placed("?"), itemgetter(*(places[name] for name in text.order()))
