"""What a body returned, as JSON text, and what that text reads back as.

``action.result`` is always what the stored text decodes to through the return annotation: the
first time too, so that code does not break only where a result comes from the ledger.
"""

from __future__ import annotations

import collections.abc
import json
import types
from typing import Any, Union, get_args, get_origin

from ascertain.model.words import Accepted, Items, Receipt
from ascertain.values.annotations import Names, Reader
from ascertain.values.canonical import MAX_BYTES, MAX_DEPTH, canonical, canonical_native
from ascertain.values.foreign import NotUnderstood
from ascertain.values.misfit import Misfit
from ascertain.values.shapes import AnyShape, Definitions, Schema, Shape
from ascertain.values.walk import measure

# Of a body that returns one of these, the list of what it gave is the result.
_DRAINED: tuple[Any, ...] = (
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.Generator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncIterator,
    collections.abc.AsyncGenerator,
)
_WORDS: tuple[Any, ...] = (Receipt, Accepted, Items)

_read = json.JSONDecoder().decode


class Codec:
    """Writes and reads the results of one tool.

    A return annotation promises nothing about what is sent, so it never keeps a tool from being
    registered, and a value that does not fit it is no reason to lose a result: such a value is
    written as what it is, and read back as plain JSON.
    """

    __slots__ = ("_quick", "_shape")

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._quick = shape.plain  # then what was written is what it is

    @classmethod
    def of(cls, annotation: Any, names: Names | None = None) -> Codec:
        """The codec for a return annotation.

        :param names: where the names in string annotations are looked up.
        """
        known = names or Names({})
        try:
            return cls(Reader(known).shape(_value_of(known.resolve(annotation))))
        except NotUnderstood:
            return cls(AnyShape())

    def encode(self, value: Any, *, max_bytes: int = MAX_BYTES) -> str:
        """The canonical JSON text of a result.

        :raises NotCanonical: the value has no exact JSON form.
        :raises ArgumentsTooLarge: it is larger than ``max_bytes``, or nested too deep.
        """
        if self._quick:
            return canonical_native(value, max_bytes=max_bytes)
        try:
            measure(value, max_bytes, MAX_DEPTH)
            form = self._shape.dump(self._shape.check(value))
        except Misfit:
            return canonical_native(value, max_bytes=max_bytes)
        return canonical(form, max_bytes=max_bytes)

    def schema(self) -> tuple[Schema, Schema]:
        """What is promised of the stored result, as JSON schema, and its named parts."""
        defs = Definitions()
        return self._shape.schema(defs), defs.parts

    def decode(self, text: str) -> Any:
        """The result that a stored text stands for."""
        plain = _read(text)
        if self._quick:
            return plain
        try:
            return self._shape.check(plain)
        except Misfit:
            return plain


def _value_of(annotation: Any) -> Any:
    """What the annotation says of the value: without our own words, drained, or anything."""
    origin = get_origin(annotation)
    if origin in _DRAINED:
        return list[get_args(annotation)[0]]  # type: ignore[misc]  # made at run time
    if annotation in _DRAINED or annotation in _WORDS:
        return Any
    if origin in (Union, types.UnionType):
        kept = tuple(kind for kind in get_args(annotation) if kind not in _WORDS)
        return Union[kept] if kept else Any  # noqa: UP007  # made at run time
    return annotation
