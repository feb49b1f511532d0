"""The arguments of a tool that is known by its JSON schema only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from ascertain.errors import ContractError, InvalidArguments
from ascertain.values.arguments import Bound, Codec, Signature, check_names
from ascertain.values.canonical import exact_text, plain_copy
from ascertain.values.declared import REQUIRED, Declared, Parameter
from ascertain.values.misfit import Misfit, is_array, path_of
from ascertain.values.shapes import AnyShape

Schema = Mapping[str, Any]


class Given(dict[str, Any]):
    """The arguments that were given; one that was left out reads as null and is not sent."""

    def __missing__(self, name: str) -> None:
        return None


class SchemaSignature(Signature):
    """What a tool takes, as its JSON schema says.

    Unlike a function's, it keeps apart what was left out: what is sent is what was given.

    :param hidden_names: properties that no caller fills.
    """

    def __init__(self, name: str, schema: Schema, *, hidden_names: Sequence[str] = ()) -> None:
        self._validator = _validator(name, schema, hidden_names)
        visible = [key for key in _properties(schema) if key not in hidden_names]
        needed = frozenset(_required(schema))
        super().__init__(
            Declared(
                name=name,
                parameters=tuple(
                    Parameter(
                        key, AnyShape(), REQUIRED if key in needed else None, positional=False
                    )
                    for key in visible
                ),
                hidden={},
                by_position=(),
                result=Codec(AnyShape()),
            )
        )
        self._hidden_names = frozenset(hidden_names)
        self._needed = [key for key in visible if key in needed]
        self._taken = frozenset(visible)

    def bind(self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Bound:
        """Check the arguments of one call against the schema, completely.

        What is said for a property that no caller fills is not taken.

        :raises MissingArguments: required ones are absent.
        :raises InvalidArguments: unknown ones, or some that do not fit; names and paths only.
        :raises ArgumentsTooLarge: too many bytes, or nested too deep.
        """
        if args:
            raise InvalidArguments(f"{self.name} takes its arguments by name.")
        given = {
            key: value for key, value in (kwargs or {}).items() if key not in self._hidden_names
        }
        self._check_given(given)
        try:
            values = Given(plain_copy(given))
        except Misfit as found:
            raise found.as_error() from None
        self._check_schema(values)
        return Bound(values, dict(values), exact_text(dict(values)))

    def restore(self, text: str) -> dict[str, Any]:
        """The stored arguments: what is sent again is what was sent first.

        They are not checked anew: a server's schema may have changed since.
        """
        given: Any = json.loads(text)
        if not isinstance(given, dict):
            raise Misfit("stored arguments that are no object", expected="an object").as_error()
        return Given(cast("dict[str, Any]", given))

    def _check_given(self, given: Mapping[str, Any]) -> None:
        check_names(
            self.name,
            self.names,
            missing=[key for key in self._needed if key not in given],
            unknown=[path_of([key]) for key in given if key not in self._taken],
        )

    def _check_schema(self, values: Mapping[str, Any]) -> None:
        try:
            error = next(iter(self._validator.iter_errors(dict(values))), None)
        except Unresolvable:
            raise ContractError(
                f"The schema of {self.name} refers to something that is not in it.",
                next_step="Its server has to put that right; until then the tool cannot be used.",
            ) from None
        if error is None:
            return
        path = path_of(list(error.absolute_path))
        rule = str(error.validator)
        raise InvalidArguments(
            f"{self.name}: {path or 'the arguments'} does not fit the tool's schema ({rule}).",
            path=path,
            expected=_expected(rule, error.validator_value),
            got="something else",
        )


def _validator(name: str, schema: Schema, hidden: Sequence[str]) -> Validator:
    """The compiled schema, without what no caller fills."""
    shown = without(schema, hidden)
    kind = validator_for(shown, default=Draft202012Validator)
    try:
        kind.check_schema(shown)
    except SchemaError as error:
        raise ContractError(
            f"{name} has a schema that is none: {error.message}.",
            next_step="Its server has to put that right; until then the tool cannot be used.",
        ) from None
    return kind(shown, registry=Registry())


def without(schema: Schema, hidden: Sequence[str]) -> dict[str, Any]:
    """A schema without some of its properties."""
    shown = dict(schema)
    if not hidden:
        return shown
    kept = _properties(schema)
    shown["properties"] = {key: value for key, value in kept.items() if key not in hidden}
    if "required" in schema:
        shown["required"] = [key for key in _required(schema) if key not in hidden]
    return shown


def _properties(schema: Schema) -> dict[str, Any]:
    found = schema.get("properties")
    return dict(cast("Schema", found)) if isinstance(found, Mapping) else {}


def _required(schema: Schema) -> list[str]:
    found = schema.get("required")
    return [str(key) for key in found] if is_array(found) else []


def _expected(rule: str, value: Any) -> str:
    """What a rule of a schema asks for, where that can be said in a word."""
    return f"{rule} {value}"[:120] if isinstance(value, str | int | float) else rule
