"""The arguments of a tool: checked from its type hints, stored as JSON, given back exactly.

A :class:`Signature` is made once, when a tool is registered. Each call is bound by it: strictly,
completely, and before anything is sent. What was bound is stored as text, and read back from that
text whenever the same call has to be made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from ascertain.errors import ContractError, InvalidArguments, MissingArguments
from ascertain.values.canonical import MAX_BYTES, MAX_DEPTH, exact_text, flat_text
from ascertain.values.declared import REQUIRED, Declared, Parameter, read
from ascertain.values.misfit import Misfit, path_of
from ascertain.values.parsing import parse_call
from ascertain.values.results import Codec
from ascertain.values.schemas import by_schema
from ascertain.values.shapes import Definitions, Schema
from ascertain.values.walk import measure

__all__ = ["Bound", "Codec", "Parameter", "Signature", "parse_call"]

_NAMED: Final = 8
_read = json.JSONDecoder().decode


class Bound(NamedTuple):
    """The arguments of one call, bound. They are not to be changed.

    ``values`` are native, defaults included: what the body gets. ``json`` are their JSON forms, and
    ``text`` is the canonical text of those: what is stored.
    """

    values: dict[str, Any]
    json: dict[str, Any]
    text: str


class Signature:
    """What a tool takes, and what it returns.

    :ivar name: of the function, for messages.
    :ivar parameters: the visible ones. :ivar names: theirs, in the order of the function.
    :ivar hidden: types of the injected parameters, by name.
    :ivar result: the codec of the return annotation.
    """

    def __init__(self, declared: Declared) -> None:
        self.name = declared.name
        self.parameters = declared.parameters
        self.names = tuple(parameter.name for parameter in self.parameters)
        self.hidden = declared.hidden
        self.result = declared.result
        self._by_position = declared.by_position
        self._named_only = not (declared.by_position or declared.hidden)
        self._known = frozenset(self.names)
        self._positional = tuple(item.name for item in self.parameters if item.positional)
        self._plain = all(parameter.shape.plain for parameter in self.parameters)
        self._quick = tuple((item.name, item.shape.quick, item.default) for item in self.parameters)

    @classmethod
    def of(cls, function: Callable[..., Any], *, hidden: tuple[type[Any], ...] = ()) -> Signature:
        """Read a function's parameters and type hints.

        :param hidden: types whose parameters are injected, wherever they stand, and not shown.
        :raises ContractError: a parameter that cannot be checked or stored, with the reason.
        """
        return cls(read(function, hidden))

    @classmethod
    def by_schema(cls, name: str, schema: Mapping[str, Any]) -> Signature:
        """What a JSON schema declares, of a function that takes ``**arguments``.

        A parameter that may be left out and has no default is None where it is.

        :raises ContractError: it is not the schema of an object.
        """
        return cls(by_schema(name, schema))

    def bind(self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Bound:
        """Check the arguments of one call, completely.

        Positional arguments fill the visible parameters in their order. Every parameter may be
        given by its name, for a model gives no other.

        :raises MissingArguments: required ones are absent (``context["names"]``).
        :raises InvalidArguments: one that does not fit (``path``, ``expected``, ``got``).
        :raises ArgumentsTooLarge: too many bytes, or nested too deep.
        :raises NotCanonical: a value that has no exact JSON form.
        """
        given = self._named(args, kwargs or {}, self._positional) if args else kwargs or {}
        values: dict[str, Any] = {}
        for name, kinds, default in self._quick:
            value = given.get(name, default)
            if type(value) not in kinds:
                break
            values[name] = value
        else:
            if given.keys() <= self._known:
                text = flat_text(values)
                if text is not None:
                    return Bound(values, values, text)
        return self._bound(given)

    def restore(self, text: str) -> dict[str, Any]:
        """The native values of stored arguments: equal to those that were bound.

        A parameter that has been added to the function since takes its default.

        :raises InvalidArguments: they do not fit the function as it is now.
        """
        given: Any = _read(text)
        if type(given) is not dict:
            raise Misfit("stored arguments that are no object", expected="an object").as_error()
        stored = cast("dict[str, Any]", given)
        self._check_names(stored)
        try:
            return self._checked(stored)
        except Misfit as found:
            raise found.as_error() from None

    @property
    def required(self) -> dict[str, bool]:
        """The visible parameters, and whether each has to be given."""
        return {item.name: item.default is REQUIRED for item in self.parameters}

    def given(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], *, filled: frozenset[str]
    ) -> dict[str, Any]:
        """A caller's arguments by name; those that are filled for it have no position.

        :raises InvalidArguments: too many, or one that is given twice.
        """
        open_to_caller = tuple(name for name in self._positional if name not in filled)
        return self._named(args, kwargs, open_to_caller)

    def schema(
        self, *, filled: frozenset[str] = frozenset(), optional: frozenset[str] = frozenset()
    ) -> Schema:
        """The JSON schema of the visible parameters, for models.

        :param filled: parameters that are not shown. :param optional: that may be left out.
        """
        defs = Definitions()
        properties: Schema = {}
        required: list[str] = []
        for item in self.parameters:
            if item.name in filled:
                continue
            shown = item.shape.schema(defs)
            if item.description:
                shown = {**shown, "description": item.description}
            if item.default is REQUIRED:
                required += [item.name] if item.name not in optional else []
            else:
                shown = {**shown, "default": item.shape.dump(item.shape.check(item.default))}
            properties[item.name] = shown
        schema: Schema = {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }
        return {**schema, "$defs": defs.parts} if defs.parts else schema

    def spread(
        self, values: Mapping[str, Any], inject: Mapping[type[Any], Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Bound values and injected ones as the positional and named arguments of the function.

        :raises ContractError: a hidden parameter for which there is nothing to inject.
        """
        named = dict(values)
        for name, kind in self.hidden.items():
            if kind not in inject:
                raise ContractError(
                    f"{self.name}: there is no {kind.__name__} to give to {name!r} here.",
                    next_step="Call the guarded tool, not the function.",
                )
            named[name] = inject[kind]
        return [named.pop(name) for name in self._by_position], named

    def call(
        self,
        function: Callable[..., Any],
        values: Mapping[str, Any],
        inject: Mapping[type[Any], Any],
    ) -> Any:
        """Call the function with bound values and injected ones; returns what it returns."""
        if self._named_only:
            return function(**values)
        args, kwargs = self.spread(values, inject)
        return function(*args, **kwargs)

    def _named(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], positional: tuple[str, ...]
    ) -> dict[str, Any]:
        if len(args) > len(positional):
            most = len(positional)
            raise InvalidArguments(
                f"{self.name} takes at most {most} positional arguments, got {len(args)}.",
                path="",
                expected=f"at most {most} positional arguments",
                got=f"{len(args)}",
            )
        given = dict(zip(positional, args, strict=False))
        for name in given:
            if name in kwargs:
                raise Misfit("given twice, by position and by name").within(name).as_error()
        return {**given, **kwargs}

    def _bound(self, given: Mapping[str, Any]) -> Bound:
        self._check_names(given)
        try:
            left = MAX_BYTES
            for name, value in given.items():
                try:
                    left = measure(value, left, MAX_DEPTH - 1)
                except Misfit as found:
                    raise found.within(name) from None
            values = self._checked(given)
        except Misfit as found:
            raise found.as_error() from None
        forms = values
        if not self._plain:
            forms = {item.name: item.shape.dump(values[item.name]) for item in self.parameters}
        return Bound(values, forms, exact_text(forms))

    def _check_names(self, given: Mapping[str, Any]) -> None:
        unknown = [path_of([name]) for name in given if name not in self._known]
        missing = [
            item.name
            for item in self.parameters
            if item.default is REQUIRED and item.name not in given
        ]
        check_names(self.name, self.names, missing=missing, unknown=unknown)

    def _checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for item in self.parameters:
            try:
                values[item.name] = item.shape.check(given.get(item.name, item.default))
            except Misfit as found:
                raise found.within(item.name) from None
        return values


def check_names(tool: str, names: Sequence[str], *, missing: list[str], unknown: list[str]) -> None:
    """Refuse a call that lacks arguments, or names some that the tool does not have.

    :param names: what it takes. :param unknown: as they may be shown.
    :raises MissingArguments: it lacks some. :raises InvalidArguments: it has too many.
    """
    also = f"; it has no {', '.join(unknown[:_NAMED])}" if unknown else ""
    if missing:
        raise MissingArguments(
            f"{tool} needs {', '.join(missing)}{also}.", names=missing, unknown=unknown
        )
    if unknown:
        taken = ", ".join(names) or "no arguments"
        raise InvalidArguments(
            f"{tool} has no parameter {', '.join(unknown[:_NAMED])}; it takes {taken}.",
            path=unknown[0],
            expected=taken,
            got="an argument that is not declared",
        )
