"""How values of one annotation are checked, written as JSON, and shown to a model.

A shape is strict: it takes a value of its own type, or the JSON form of one, and nothing that would
have to be guessed at. What it gives back is what its JSON form reads back as, so that a body gets
the same values the first time and when it is run again from what was stored.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, Final
from uuid import UUID

from ascertain.values.canonical import plain_copy
from ascertain.values.misfit import Misfit, kind_of, unlike
from ascertain.values.walk import check_size_of_int, decimal_text, enum_form, plain_number

Schema = dict[str, Any]

_NONE: Final[frozenset[type[Any]]] = frozenset()
_DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LONGEST_DECIMAL: Final = 1_000
_LONGEST_MOMENT: Final = 64
_CHOICES_NAMED: Final = 8
_CHOICE_TYPES: Final = (str, int, bool, type(None))


class Definitions:
    """The parts of one JSON schema that are referred to by name."""

    def __init__(self) -> None:
        self.parts: Schema = {}
        self._names: dict[object, str] = {}
        self._taken: set[str] = set()

    def claim(self, owner: object, wish: str) -> tuple[str, bool]:
        """The name of an owner's part, and whether the owner has yet to write it."""
        if owner in self._names:
            return self._names[owner], False
        name, taken = wish, 1
        while name in self._taken:
            taken += 1
            name = f"{wish}-{taken}"
        self._names[owner] = name
        self._taken.add(name)
        return name, True


class Shape(ABC):
    """What one annotation means.

    :cvar words: what it expects, as said in errors.
    :cvar plain: what :meth:`check` returns is its own JSON form.
    :cvar quick: types of which :meth:`check` returns any (short, well-formed) value unchanged.
    :cvar form: the kind of JSON value it is written as.
    """

    words: str
    plain: bool = True
    quick: frozenset[type[Any]] = _NONE
    form: str = "any"

    @abstractmethod
    def check(self, value: Any) -> Any:
        """The native value of a native value or of a JSON form.

        :raises Misfit: neither of both.
        """

    def dump(self, value: Any) -> Any:
        """The JSON form of a value that :meth:`check` returned."""
        return value

    @abstractmethod
    def schema(self, defs: Definitions) -> Schema:
        """As JSON schema; shared parts are added to ``defs``."""


class AnyShape(Shape):
    """Any JSON value: no annotation, ``Any``, ``object``."""

    words = "a JSON value"
    quick = frozenset({str, int, bool, type(None)})

    def check(self, value: Any) -> Any:
        return plain_copy(value)

    def schema(self, defs: Definitions) -> Schema:
        return {}


class NullShape(Shape):
    words = "null"
    quick = frozenset({type(None)})
    form = "null"

    def check(self, value: Any) -> Any:
        if value is not None:
            raise unlike(self.words, value)

    def schema(self, defs: Definitions) -> Schema:
        return {"type": "null"}


class BoolShape(Shape):
    words = "a boolean"
    quick = frozenset({bool})
    form = "boolean"

    def check(self, value: Any) -> Any:
        if type(value) is not bool:
            raise unlike(self.words, value)
        return value

    def schema(self, defs: Definitions) -> Schema:
        return {"type": "boolean"}


class IntShape(Shape):
    """Integers of any size; neither booleans nor floats nor strings."""

    words = "an integer"
    quick = frozenset({int})
    form = "integer"

    def check(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int):
            raise unlike(self.words, value)
        return int.__int__(value)

    def schema(self, defs: Definitions) -> Schema:
        return {"type": "integer"}


class FloatShape(Shape):
    """Finite floats, and integers that a float holds exactly."""

    words = "a number"
    plain = False
    form = "number"

    def check(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise unlike(self.words, value)
        if isinstance(value, float):
            plain_number(value)
            return float.__float__(value) + 0.0  # -0.0 would be read back as 0.0
        check_size_of_int(value)
        try:
            native = float(value)
        except OverflowError:
            native = 0.0
        if native != value:
            raise Misfit("an integer that a float cannot hold exactly", expected=self.words)
        return native

    def dump(self, value: Any) -> Any:
        return plain_number(value)

    def schema(self, defs: Definitions) -> Schema:
        return {"type": "number"}


class StrShape(Shape):
    words = "a string"
    quick = frozenset({str})
    form = "string"

    def check(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise unlike(self.words, value)
        return str.__str__(value)

    def schema(self, defs: Definitions) -> Schema:
        return {"type": "string"}


class DecimalShape(Shape):
    """Money: a Decimal, an integer, or a decimal string; never a float, which has lost digits."""

    words = 'a decimal number as a string ("10.00")'
    plain = False
    form = "decimal string"

    def check(self, value: Any) -> Any:
        if isinstance(value, Decimal):
            decimal_text(value)
            return Decimal(value)
        if isinstance(value, int) and not isinstance(value, bool):
            check_size_of_int(value)
            return Decimal(value)
        if not isinstance(value, str):
            raise unlike(self.words, value)
        if len(value) > _LONGEST_DECIMAL or not _DECIMAL.fullmatch(value):
            raise Misfit("a string that is not one", expected=self.words)
        try:
            native = Decimal(value)
        except InvalidOperation:
            native = Decimal("NaN")
        if not native.is_finite():
            raise Misfit("a string with an exponent out of range", expected=self.words)
        return native

    def dump(self, value: Any) -> Any:
        return decimal_text(value)

    def schema(self, defs: Definitions) -> Schema:
        return {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}


class MomentShape(Shape):
    """A type that is written as a short string: dates, datetimes, UUIDs."""

    plain = False

    def __init__(
        self,
        native: type[Any],
        words: str,
        form: str,
        parse: Callable[[str], Any],
        write: Callable[[Any], str],
    ) -> None:
        self.native = native
        self.words = words
        self.form = f"{form} string"
        self._format = form
        self._parse = parse
        self._write = write

    def check(self, value: Any) -> Any:
        if isinstance(value, str):
            text = value
        elif isinstance(value, self.native) and not (
            self.native is date and isinstance(value, datetime)
        ):
            # Through its text: a named time zone becomes its offset, a subclass its base.
            text = self._write(value)
        else:
            raise unlike(self.words, value)
        try:
            if len(text) > _LONGEST_MOMENT:
                raise ValueError
            return self._parse(text)
        except ValueError:
            raise Misfit("a string that is not one", expected=self.words) from None

    def dump(self, value: Any) -> Any:
        return self._write(value)

    def schema(self, defs: Definitions) -> Schema:
        return {"type": "string", "format": self._format}


def _parse_datetime(text: str) -> datetime:
    if len(text) <= 10:
        raise ValueError("a date without a time")
    return datetime.fromisoformat(text)


DATE: Final = MomentShape(
    date, 'a date as a string ("2026-11-30")', "date", date.fromisoformat, date.isoformat
)
DATETIME: Final = MomentShape(
    datetime,
    'a date and time as a string ("2026-11-30T12:00:00+00:00")',
    "date-time",
    _parse_datetime,
    datetime.isoformat,
)
UUID_SHAPE: Final = MomentShape(UUID, "a UUID as a string", "uuid", UUID, str)


class ChoiceShape(Shape):
    """One of a few declared values: a Literal, or an Enum (a member, or how it is written)."""

    def __init__(self, choices: Sequence[Any]) -> None:
        self.members = [choice for choice in choices if isinstance(choice, Enum)]
        self.forms = [self.dump(choice) for choice in choices]
        # By type too: 1, True and 1.0 are equal, and not the same choice.
        self.natives: dict[tuple[type[Any], Any], Any] = {
            (kind_of(form), form): choice for form, choice in zip(self.forms, choices, strict=True)
        }
        self.plain = not self.members
        if any(isinstance(self.dump(member), str) for member in self.members):
            self.form = "enum string"
        named = ", ".join(repr(form) for form in self.forms[:_CHOICES_NAMED])
        self.words = f"one of {named}" + (", ..." if len(self.forms) > _CHOICES_NAMED else "")

    def check(self, value: Any) -> Any:
        if any(value is member for member in self.members):
            return value
        kind = kind_of(value)
        if kind not in _CHOICE_TYPES or (kind, value) not in self.natives:
            raise unlike(self.words, value)
        return self.natives[kind, value]

    def dump(self, value: Any) -> Any:
        return enum_form(value) if isinstance(value, Enum) else value

    def schema(self, defs: Definitions) -> Schema:
        return {"enum": list(self.forms)}
