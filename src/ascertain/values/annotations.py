"""From an annotation to its shape."""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, Flag
from inspect import Parameter, signature
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin
from uuid import UUID

from ascertain.values.composites import (
    DataclassShape,
    DictShape,
    ListShape,
    MembersShape,
    TupleShape,
    UnionShape,
)
from ascertain.values.foreign import NotUnderstood, foreign_shape
from ascertain.values.misfit import kind_of
from ascertain.values.shapes import (
    DATE,
    DATETIME,
    UUID_SHAPE,
    AnyShape,
    BoolShape,
    ChoiceShape,
    DecimalShape,
    FloatShape,
    IntShape,
    NullShape,
    Shape,
    StrShape,
)

SUPPORTED = (
    "str, int, float, bool, None, Decimal, date, datetime, UUID, Enum, Literal, list, tuple, dict, "
    "Sequence, Mapping, TypedDict, dataclasses, unions of these, Any, and what pydantic "
    "understands where it is installed"
)

_SIMPLE: tuple[tuple[Any, Shape], ...] = (
    (Parameter.empty, AnyShape()),
    (Any, AnyShape()),
    (object, AnyShape()),
    (None, NullShape()),
    (type(None), NullShape()),
    (bool, BoolShape()),
    (int, IntShape()),
    (float, FloatShape()),
    (str, StrShape()),
    (typing.LiteralString, StrShape()),
    (Decimal, DecimalShape()),
    (date, DATE),
    (datetime, DATETIME),
    (UUID, UUID_SHAPE),
)
_REFUSED: tuple[tuple[Any, str], ...] = (
    (set, "a set has no order, so it has no one text (use a list)"),
    (frozenset, "a set has no order, so it has no one text (use a list)"),
    (collections.abc.Set, "a set has no order, so it has no one text (use a list)"),
    (bytes, "JSON has no bytes (use a str, such as base64, or a reference)"),
    (bytearray, "JSON has no bytes (use a str, such as base64, or a reference)"),
)
_CONSTRAINTS = ("pydantic", "annotated_types")
_CHOICES = (str, int, bool, type(None))
_QUALIFIERS = ("Required", "NotRequired", "ReadOnly")


class _Foreign(Exception):
    """Not one of our own kinds; pydantic may know it."""


class Names:
    """Where the names in string annotations are looked up, nearest first.

    :param module: the names of the module.
    :param around: further names, tried in turn when those are not enough: of the functions around a
        local class, and of the hidden types.
    """

    def __init__(self, module: Mapping[str, Any], around: Sequence[Mapping[str, Any]] = ()) -> None:
        self._module = dict(module)
        self._around = around

    def resolve(self, annotation: Any) -> Any:
        """The annotation as an object, whether it was written as one or as a string."""
        return self._hints(types.SimpleNamespace(__annotations__={"it": annotation}))["it"]

    def of_class(self, kind: type[Any]) -> dict[str, Any]:
        """The resolved annotations of a class, its bases included."""
        return self._hints(kind)

    def _hints(self, owner: Any) -> dict[str, Any]:
        module = None if isinstance(owner, type) else self._module
        known: dict[str, Any] = {}
        missing = ""
        nothing: Mapping[str, Any] = {}
        for names in (nothing, *self._around):
            known = {**names, **known}
            try:
                return typing.get_type_hints(owner, module, dict(known), include_extras=True)
            except NameError as error:
                missing = str(error.name)
            except (TypeError, SyntaxError) as error:
                raise NotUnderstood(f"it is not a type ({type(error).__name__})") from None
        raise NotUnderstood(f"the name {missing!r} cannot be found (define it in the module)")


class Reader:
    """Makes shapes; one reader for one function, so that a type that holds itself is met once."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._made: dict[type[Any], MembersShape] = {}
        self._open: set[type[Any]] = set()

    def shape(self, annotation: Any) -> Shape:
        """The shape of a resolved annotation.

        :raises NotUnderstood: neither we nor pydantic know what it means.
        """
        try:
            return self._own(annotation)
        except _Foreign:
            return foreign_shape(annotation)

    def _own(self, annotation: Any) -> Shape:
        for known, shape in _SIMPLE:
            if annotation is known:
                return shape
        origin = get_origin(annotation)
        for known, why in _REFUSED:
            if annotation is known or origin is known:
                raise NotUnderstood(why)
        if hasattr(annotation, "__supertype__"):
            return self.shape(annotation.__supertype__)
        if type(annotation).__name__ == "TypeAliasType":
            return self.shape(annotation.__value__)
        if origin is Annotated:
            base, *notes = get_args(annotation)
            if any(map(_is_constraint, notes)):
                raise _Foreign
            return self._own(base)
        if origin is Literal:
            return _literal(get_args(annotation))
        if origin in (Union, types.UnionType):
            return self._union(get_args(annotation), annotation)
        container = self._container(origin or annotation, get_args(annotation), annotation)
        if container is not None:
            return container
        if isinstance(annotation, type):
            return self._class(cast("type[Any]", annotation))
        raise _Foreign

    def _container(self, kind: Any, inner: tuple[Any, ...], annotation: Any) -> Shape | None:
        if kind is list or kind is collections.abc.Sequence:
            takes = (list,) if kind is list else (list, tuple)
            return ListShape(self.shape(inner[0]) if inner else AnyShape(), takes=takes)
        if kind is dict or kind is collections.abc.Mapping:
            return self._dict(*(inner or (str, Any)))
        if kind is tuple:
            bare = annotation is tuple or annotation is typing.Tuple  # noqa: UP006
            if bare or inner[-1:] == (...,):
                return TupleShape((), rest=self.shape(inner[0]) if inner else AnyShape())
            return TupleShape([self.shape(place) for place in inner])
        return None

    def _dict(self, key: Any, item: Any) -> Shape:
        names = self._own(key)
        if isinstance(names, ChoiceShape) and all(isinstance(name, str) for name in names.forms):
            if names.plain:
                return DictShape(self.shape(item), names=names)
        elif isinstance(names, StrShape | AnyShape):
            return DictShape(self.shape(item))
        raise _Foreign

    def _union(self, kinds: Sequence[Any], union: Any) -> Shape:
        real = [kind for kind in kinds if kind is not type(None)]
        if len(real) == 1:
            return UnionShape([self.shape(real[0]), NullShape()])
        options = [self._own(kind) for kind in kinds]
        if any(isinstance(option, AnyShape) for option in options):
            if all(option.plain for option in options):
                return AnyShape()
            raise NotUnderstood(f"{union} cannot be told apart in JSON (use Any, or the others)")
        written_as_string = [option for option in options if option.form.endswith(" string")]
        if written_as_string and any(isinstance(option, StrShape) for option in options):
            raise NotUnderstood(
                f"in {union} a str cannot be told from {written_as_string[0].words}, which JSON "
                "writes as a string too (use one of them)"
            )
        return UnionShape(options)

    def _class(self, kind: type[Any]) -> Shape:
        if issubclass(kind, Enum):
            if issubclass(kind, Flag):
                raise _Foreign
            if not list(kind):
                raise NotUnderstood("it has no members")
            return ChoiceShape(list(kind))
        if typing.is_typeddict(kind) or hasattr(kind, "__required_keys__"):
            return self._members(kind, MembersShape(kind))
        if is_dataclass(kind) and not hasattr(kind, "__pydantic_fields__"):
            return self._members(kind, DataclassShape(kind))
        raise _Foreign

    def _members(self, kind: type[Any], shape: MembersShape) -> Shape:
        if kind in self._made:
            known = self._made[kind]
            known.recursive = known.recursive or kind in self._open
            return known
        hints = self._names.of_class(kind)
        if isinstance(shape, DataclassShape):
            names, required = _fields(kind)
        else:
            names, required = list(hints), _required(kind, hints)
        self._made[kind] = shape
        self._open.add(kind)
        shape.members = {name: self.shape(_bare(hints[name])) for name in names}
        shape.required = frozenset(required)
        self._open.remove(kind)
        return shape


def _fields(kind: type[Any]) -> tuple[list[str], list[str]]:
    """The fields that the constructor takes, and those of them that it needs."""
    taken = [item for item in fields(kind) if item.init]
    if set(signature(kind).parameters) != {item.name for item in taken}:
        raise _Foreign  # a constructor of its own, or one that takes more than fields
    needed = [
        item.name for item in taken if item.default is MISSING and item.default_factory is MISSING
    ]
    return [item.name for item in taken], needed


def _required(kind: type[Any], hints: Mapping[str, Any]) -> list[str]:
    """The members that a TypedDict needs.

    Where annotations are strings, the class itself does not see what NotRequired says.
    """
    said = {name: _qualifiers(hint) for name, hint in hints.items()}
    needed: frozenset[str] = kind.__required_keys__
    return [
        name
        for name, words in said.items()
        if "Required" in words or (name in needed and "NotRequired" not in words)
    ]


def _qualifiers(hint: Any) -> list[str]:
    name = getattr(get_origin(hint), "_name", None)
    return [name, *_qualifiers(get_args(hint)[0])] if name in _QUALIFIERS else []


def _bare(hint: Any) -> Any:
    """A TypedDict's member without Required, NotRequired, ReadOnly."""
    for _ in _qualifiers(hint):
        hint = get_args(hint)[0]
    return hint


def _is_constraint(note: Any) -> bool:
    """Whether a note in Annotated is one that pydantic keeps; all others are only notes."""
    return kind_of(note).__module__.partition(".")[0] in _CONSTRAINTS or hasattr(
        note, "__get_pydantic_core_schema__"
    )


def _literal(choices: Sequence[Any]) -> Shape:
    for choice in choices:
        if not isinstance(choice, Enum) and type(choice) not in _CHOICES:
            raise NotUnderstood(f"JSON has no {type(choice).__name__}")
    shape = ChoiceShape(choices)
    if len(shape.natives) < len(choices):
        raise NotUnderstood("two of its choices have the same JSON form")
    return shape
