"""Shapes made of other shapes: arrays, objects, records, and one of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

from ascertain.values.canonical import plain_copy
from ascertain.values.misfit import Misfit, describe, inexact, is_array, is_object, unlike
from ascertain.values.shapes import AnyShape, ChoiceShape, Definitions, NullShape, Schema, Shape

_ORDER = {"null": 0, "boolean": 1, "integer": 2, "number": 3}


def _checked(shape: Shape, value: Any, step: str | int) -> Any:
    try:
        return shape.check(value)
    except Misfit as found:
        raise found.within(step) from None


class ListShape(Shape):
    """An array of one kind; a Sequence also takes a tuple, and gives a list."""

    words = "an array"
    form = "array"

    def __init__(self, item: Shape, *, takes: tuple[type[Any], ...] = (list,)) -> None:
        self.item = item
        self.plain = item.plain
        self._takes = takes

    def check(self, value: Any) -> Any:
        if not isinstance(value, self._takes):
            raise unlike(self.words, value)
        if isinstance(self.item, AnyShape):
            return plain_copy(list(value))
        items = cast("Sequence[Any]", value)
        return [_checked(self.item, item, index) for index, item in enumerate(items)]

    def dump(self, value: Any) -> Any:
        return value if self.plain else [self.item.dump(item) for item in value]

    def schema(self, defs: Definitions) -> Schema:
        return {"type": "array", "items": self.item.schema(defs)}


class TupleShape(Shape):
    """A tuple, of fixed places or of one kind; written as an array."""

    words = "an array"
    plain = False
    form = "array"

    def __init__(self, places: Sequence[Shape], *, rest: Shape | None = None) -> None:
        self.places = tuple(places)
        self.rest = rest
        if rest is None:
            self.words = f"an array of {len(self.places)}"

    def _shapes(self, count: int) -> Sequence[Shape]:
        return self.places if self.rest is None else (self.rest,) * count

    def check(self, value: Any) -> Any:
        if not is_array(value):
            raise unlike(self.words, value)
        shapes = self._shapes(len(value))
        if len(value) != len(shapes):
            raise Misfit(f"an array of {len(value)}", expected=self.words)
        pairs = zip(shapes, value, strict=True)
        return tuple(_checked(shape, item, at) for at, (shape, item) in enumerate(pairs))

    def dump(self, value: Any) -> Any:
        shapes = self._shapes(len(value))
        return [shape.dump(item) for shape, item in zip(shapes, value, strict=True)]

    def schema(self, defs: Definitions) -> Schema:
        if self.rest is not None:
            return {"type": "array", "items": self.rest.schema(defs)}
        count = len(self.places)
        places = [shape.schema(defs) for shape in self.places]
        bounds: Schema = {"type": "array", "minItems": count, "maxItems": count}
        return {**bounds, "prefixItems": places} if places else bounds


class DictShape(Shape):
    """An object with any member names, or a declared choice of them, and values of one kind."""

    words = "an object"
    form = "object"

    def __init__(
        self,
        item: Shape,
        *,
        names: ChoiceShape | None = None,
        takes: tuple[type[Any], ...] = (dict,),
    ) -> None:
        self.item = item
        self.names = names
        self.plain = item.plain
        self._takes = takes

    def check(self, value: Any) -> Any:
        if not isinstance(value, self._takes):
            raise unlike(self.words, value)
        if isinstance(self.item, AnyShape) and self.names is None:
            return plain_copy(dict(value))
        native: dict[str, Any] = {}
        for key, item in cast("Mapping[Any, Any]", value).items():
            if not isinstance(key, str):
                raise inexact(f"a member name that is {describe(key)}")
            name = str.__str__(key)
            if self.names is not None:
                _checked(self.names, name, name)
            native[name] = _checked(self.item, item, name)
        return native

    def dump(self, value: Any) -> Any:
        if self.plain:
            return value
        return {name: self.item.dump(item) for name, item in value.items()}

    def schema(self, defs: Definitions) -> Schema:
        schema: Schema = {"type": "object", "additionalProperties": self.item.schema(defs) or True}
        if self.names is not None:
            schema["propertyNames"] = self.names.schema(defs)
        return schema


class MembersShape(Shape):
    """An object with declared members: a TypedDict.

    The members are set after it was made, because a type may hold itself.

    :ivar members: shapes by name. :ivar required: the names that must be there.
    :ivar recursive: whether it holds itself somewhere.
    """

    words = "an object"
    plain = False
    form = "object"

    def __init__(self, kind: type[Any]) -> None:
        self.kind = kind
        self.members: dict[str, Shape] = {}
        self.required: frozenset[str] = frozenset()
        self.recursive = False

    def check(self, value: Any) -> Any:
        if not is_object(value):
            raise unlike(self.words, value)
        for name in value:
            if name not in self.members:
                raise Misfit("a member that is not declared").within(
                    name if isinstance(name, str) else describe(name)
                )
        for name, shape in self.members.items():
            if name in self.required and name not in value:
                raise Misfit("nothing", expected=shape.words).within(name)
        return {
            name: _checked(shape, value[name], name)
            for name, shape in self.members.items()
            if name in value
        }

    def dump(self, value: Any) -> Any:
        return {
            name: shape.dump(value[name]) for name, shape in self.members.items() if name in value
        }

    def schema(self, defs: Definitions) -> Schema:
        if not self.recursive:
            return self._body(defs)
        name, unwritten = defs.claim(self, self.kind.__name__)
        if unwritten:
            defs.parts[name] = self._body(defs)
        return {"$ref": f"#/$defs/{name}"}

    def _body(self, defs: Definitions) -> Schema:
        return {
            "type": "object",
            "properties": {name: shape.schema(defs) for name, shape in self.members.items()},
            "required": [name for name in self.members if name in self.required],
            "additionalProperties": False,
        }


class DataclassShape(MembersShape):
    """A dataclass: an instance, or an object with its fields."""

    def check(self, value: Any) -> Any:
        if type(value) is self.kind:
            return self._rebuilt(value)
        # What its own __post_init__ makes of it has to be there again when it is sent again.
        return self._rebuilt(self._built(super().check(value)))

    def dump(self, value: Any) -> Any:
        return {name: shape.dump(getattr(value, name)) for name, shape in self.members.items()}

    def _rebuilt(self, value: Any) -> Any:
        given = {
            name: _checked(shape, getattr(value, name), name)
            for name, shape in self.members.items()
        }
        again = self._built(given)
        for item in fields(self.kind):
            if getattr(again, item.name) != getattr(value, item.name):
                got = f"{describe(value)} that its own constructor does not give again"
                raise inexact(got).within(item.name)
        return again

    def _built(self, members: dict[str, Any]) -> Any:
        try:
            return self.kind(**members)
        except Exception as error:
            raise Misfit(
                f"values that made its constructor raise {type(error).__name__}",
                expected=f"the fields of {self.kind.__name__}",
            ) from error


class UnionShape(Shape):
    """One of several; which one, the JSON form must say again when it is read back."""

    def __init__(self, options: Sequence[Shape]) -> None:
        # Integers come before floats, which would take them too.
        self.options = sorted(options, key=lambda option: _ORDER.get(option.form, len(_ORDER)))
        real = [option for option in self.options if not isinstance(option, NullShape)]
        self.only = real[0] if len(real) == 1 else None
        self.words = " or ".join(dict.fromkeys(option.words for option in (*real, *self.options)))
        self.plain = all(option.plain for option in self.options)
        self.quick = frozenset[type[Any]]().union(*(option.quick for option in self.options))
        self.form = self.only.form if self.only else "any"

    def check(self, value: Any) -> Any:
        option, native = self._choose(value)
        if self.plain or self.only is not None:
            return native
        reader, again = self._choose(option.dump(native))
        if reader is not option and again != native:
            got = f"{describe(value)} whose JSON form would read back as {reader.words}"
            raise Misfit(got, expected=self.words)
        return again

    def _choose(self, value: Any) -> tuple[Shape, Any]:
        inner: Misfit | None = None
        for option in self.options:
            try:
                return option, option.check(value)
            except Misfit as found:
                inner = found if option is self.only else inner
        # Of an optional record, say which of its members does not fit.
        raise inner if inner is not None and inner.steps else unlike(self.words, value)

    def dump(self, value: Any) -> Any:
        if self.plain:
            return value
        option, native = self._choose(value)
        return option.dump(native)

    def schema(self, defs: Definitions) -> Schema:
        options = [option.schema(defs) for option in self.options]
        return {"anyOf": sorted(options, key=lambda option: option.get("type") == "null")}
