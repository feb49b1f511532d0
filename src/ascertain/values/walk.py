"""One pass over a value: its bounds, its exactness, and a copy in JSON's own types."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from math import isfinite, isnan
from typing import Any, Final, cast
from uuid import UUID

from ascertain.errors import NotCanonical
from ascertain.values.misfit import (
    Misfit,
    describe,
    inexact,
    is_array,
    is_object,
    kind_of,
    too_large,
)

# Within these bounds a value needs no look at its size: the usual path.
SHORT: Final = 1_024
FEW: Final = 64
BIG: Final = 1 << 63

# Python itself refuses to write or read integers of more than 4,300 digits.
_MAX_BITS: Final = 14_000
_EXACT_FLOAT: Final = 2.0**53
_WIDE: Final = "\ud800"


def is_wide(name: str) -> bool:
    """Whether the order of UTF-16 units may differ from that of characters for this name."""
    return not name.isascii() and max(name) >= _WIDE


def bare(value: str) -> str:
    """A string with LF for CRLF, and no white space around."""
    return value.replace("\r\n", "\n").strip()


def check_size_of_int(value: int) -> None:
    """Refuse an integer that Python would not write, without writing it.

    :raises Misfit: too large.
    """
    if not -BIG < value < BIG and (bits := value.bit_length()) > _MAX_BITS:
        raise too_large(f"an integer of {bits} bits")


def plain_number(value: float) -> int | float:
    """A float as its canonical text reads back: an integer where it is one, below 2**53.

    :raises Misfit: NaN or an infinity.
    """
    if value.is_integer():
        return int(value) if -_EXACT_FLOAT < value < _EXACT_FLOAT else value
    if not isfinite(value):
        raise inexact("NaN" if isnan(value) else "an infinite number")
    return value


def decimal_text(value: Decimal) -> str:
    """A Decimal's exact digits, trailing zeros and exponent included.

    :raises Misfit: NaN or an infinity.
    """
    if not value.is_finite():
        raise inexact("a Decimal that is NaN or infinite")
    # a context may ask for a small "e"
    return str(value).replace("e", "E")


@cache
def by_value(kind: type[Enum]) -> bool:
    """Whether members are written as their values (strings and integers), or else by name."""
    return all(type(member.value) in (str, int) for member in kind)


def enum_form(member: Enum) -> str | int:
    """How a member of an Enum is written."""
    return cast("str | int", member.value if by_value(type(member)) else member.name)


class Walk:
    """The pass behind canonical text.

    :ivar left: bytes that may still be written; each value takes at least its shortest form, so a
        value beyond the bound is refused before it has been copied.
    :ivar wide: whether a member name needs ordering by UTF-16 units.
    """

    __slots__ = ("left", "wide")

    def __init__(self, max_bytes: int) -> None:
        self.left = max_bytes
        self.wide = False

    def visit(self, value: Any, depth: int) -> Any:
        """A copy of the value; ``depth`` is how many levels of nesting may still follow.

        :raises Misfit: a value without exact JSON form, or one beyond the bounds.
        """
        kind = kind_of(value)
        if kind is str:
            return self._string(value)
        if value is None or kind is bool:
            self._take(4)
            return value
        if kind is int:
            return self._whole(value)
        if kind is float:
            self._take(1)
            return plain_number(value)
        if kind is dict:
            return self._object(value, depth)
        if kind is list or kind is tuple:
            return self._array(value, depth)
        return self.other(value, depth)

    def other(self, value: Any, depth: int) -> Any:
        """A value of a type that is not JSON's own.

        A subclass is written as what it is underneath: a member of an IntEnum or a StrEnum, numpy's
        float64, a named tuple, an ordered dict.
        """
        if isinstance(value, Decimal):
            return self._string(self.decimal(value))
        if isinstance(value, str):
            return self._string(str.__str__(value))
        if isinstance(value, int):
            return self._whole(int.__int__(value))
        if isinstance(value, float):
            return self.visit(float.__float__(value), depth)
        if is_object(value):
            return self._object(value, depth)
        if is_array(value):
            return self._array(value, depth)
        raise inexact(describe(value))

    def text(self, value: str) -> str:
        """How a string is written (member names are not asked)."""
        return value

    def decimal(self, value: Decimal) -> str:
        """How a Decimal is written."""
        return decimal_text(value)

    def _take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise too_large("here it passes the bytes allowed")

    def _fit(self, value: str) -> None:
        size = len(value) + 2
        if size <= self.left and not value.isascii():
            try:
                size = len(value.encode()) + 2
            except UnicodeEncodeError:
                raise inexact("a string with a lone surrogate") from None
        if size > self.left:
            raise too_large(f"a string of {len(value)} characters passes the bytes allowed")
        self.left -= size

    def _string(self, value: str) -> str:
        self._fit(value)
        return self.text(value)

    def _whole(self, value: int) -> int:
        check_size_of_int(value)
        self._take(1 + value.bit_length() // 4)
        return value

    def _array(self, value: Sequence[Any], depth: int) -> list[Any]:
        self._enter("an array", len(value), 2, depth)
        copy: list[Any] = []
        for index, item in enumerate(value):
            try:
                copy.append(self.visit(item, depth - 1))
            except Misfit as found:
                raise found.within(index) from None
            self.left -= 1
        return copy

    def _object(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        self._enter("an object", len(value), 5, depth)
        copy: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise inexact(f"a member name that is {describe(key)}")
            name = str.__str__(key)
            try:
                self._fit(name)
                copy[name] = self.visit(item, depth - 1)
            except Misfit as found:
                raise found.within(name) from None
            self.wide = self.wide or is_wide(name)
            self.left -= 2
        return copy

    def _enter(self, what: str, count: int, least: int, depth: int) -> None:
        if depth <= 0:
            raise too_large("nested deeper than is allowed")
        if count * least > self.left:
            raise too_large(f"{what} of {count} entries passes the bytes allowed")
        self.left -= 2


class PlainWalk(Walk):
    """Refuses a Decimal where nothing would say later that it was one."""

    __slots__ = ()

    def decimal(self, value: Decimal) -> str:
        """Never: in text it would be a string like any other."""
        del value
        expected = "a JSON value (annotate this place as Decimal, or pass a string)"
        raise Misfit("a Decimal", expected=expected)


class NativeWalk(Walk):
    """Also takes dates, UUIDs, Enums, dataclasses and pydantic models, however annotated."""

    __slots__ = ()

    def other(self, value: Any, depth: int) -> Any:
        """A value of Python's own types, written as its annotation would write it."""
        if isinstance(value, Enum):
            return self.visit(enum_form(value), depth)
        if isinstance(value, date):
            self._take(10)
            return self.moment(value)
        if isinstance(value, UUID):
            self._take(38)
            return str(value)
        if is_dataclass(value) and not isinstance(value, type):
            members = {item.name: getattr(value, item.name) for item in fields(value) if item.init}
            return self._object(members, depth)
        if callable(getattr(kind_of(value), "model_dump", None)):
            return self._model(value, depth)
        return super().other(value, depth)

    def moment(self, value: date) -> str:
        """How a date or a datetime is written."""
        return value.isoformat()

    def _model(self, model: Any, depth: int) -> Any:
        before = self.left
        try:
            return self.visit(model.model_dump(by_alias=True), depth)
        except Misfit as found:
            if found.error is not NotCanonical:
                raise
        # It holds a type that only the model itself knows how to write.
        self.left = before
        try:
            dumped = model.model_dump(mode="json", by_alias=True)
        except Exception as error:
            raise inexact(f"{describe(model)} that does not write itself") from error
        return self.visit(dumped, depth)


class IdentityWalk(NativeWalk):
    """Lets values meet that differ in nothing that matters."""

    __slots__ = ()

    def text(self, value: str) -> str:
        """NFC, LF, and no white space around."""
        if not value.isascii():
            value = unicodedata.normalize("NFC", value)
        return bare(value)

    def decimal(self, value: Decimal) -> str:
        """Digits and exponent without trailing zeros; exact, whatever the context's precision."""
        digits = decimal_text(value)
        if not value:
            return "0"
        sign, places, exponent = value.as_tuple()
        assert isinstance(exponent, int), digits
        shown = "".join(map(str, places))
        kept = shown.rstrip("0")
        return f"{'-' if sign else ''}{kept}E{exponent + len(shown) - len(kept)}"

    def moment(self, value: date) -> str:
        """An instant with its offset is written in UTC, so that equal instants meet."""
        if isinstance(value, datetime) and value.utcoffset() is not None:
            try:
                value = value.astimezone(UTC)
            except OverflowError:  # within hours of year 1 or 9999
                return value.isoformat()
        return value.isoformat()


def measure(value: Any, left: int, depth: int) -> int:
    """What is left of the bytes after a value, before it is looked at any closer.

    Each thing counts for its shortest JSON form, and nothing is copied, so a value beyond the
    bounds is noticed before anything is done for it.

    :raises Misfit: too large, or nested deeper than ``depth``.
    """
    kind = kind_of(value)
    if kind is str:
        left -= len(value) + 2
        if left < 0:
            raise too_large(f"a string of {len(value)} characters passes the bytes allowed")
        return left
    if value is None or kind is int or kind is bool or kind is float:
        return _counted(left, 1)
    if is_object(value):
        return _measure_each(value, left, depth)
    if is_array(value):
        return _measure_each(value, left, depth)
    if is_dataclass(value) and not isinstance(value, type):
        members = {item.name: getattr(value, item.name, None) for item in fields(value)}
        return _measure_each(members, left, depth)
    if callable(getattr(kind, "model_dump", None)):
        return _measure_each(vars(value), left, depth)
    return _counted(left, 1)


def _measure_each(value: Mapping[Any, Any] | Sequence[Any], left: int, depth: int) -> int:
    if depth <= 0:
        raise too_large("nested deeper than is allowed")
    left -= 2 * len(value)
    if left < 0:
        raise too_large(f"{describe(value)} of {len(value)} entries passes the bytes allowed")
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
    for step, item in pairs:
        try:
            left = measure(
                item, _counted(left, len(step) if isinstance(step, str) else 0), depth - 1
            )
        except Misfit as found:
            raise found.within(step if isinstance(step, str | int) else describe(step)) from None
    return left


def _counted(left: int, size: int) -> int:
    if size > left:
        raise too_large("here it passes the bytes allowed")
    return left - size
