"""Annotations that pydantic understands: models, constrained fields, and what else it knows.

Pydantic is imported only when such an annotation is met. Everything goes through its strict mode;
and what it makes of a value is taken only if its JSON form gives the same value again, so that a
model that hides or drops a field is noticed before anything is sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ascertain.values.canonical import MAX_BYTES, MAX_DEPTH
from ascertain.values.misfit import Misfit, describe, inexact, is_array, is_object
from ascertain.values.shapes import Definitions, Schema, Shape
from ascertain.values.walk import Walk

_WORDS = {
    "bool_type": "a boolean",
    "date_from_datetime_parsing": "a date",
    "date_parsing": "a date",
    "date_type": "a date",
    "datetime_from_date_parsing": "a date and time",
    "datetime_parsing": "a date and time",
    "datetime_type": "a date and time",
    "decimal_parsing": "a decimal number",
    "decimal_type": "a decimal number",
    "dict_type": "an object",
    "float_type": "a number",
    "int_type": "an integer",
    "list_type": "an array",
    "model_type": "an object",
    "string_type": "a string",
    "tuple_type": "an array",
    "uuid_parsing": "a UUID",
    "uuid_type": "a UUID",
}


class NotUnderstood(Exception):
    """Neither we nor pydantic know what to do with an annotation. The text says why."""


def foreign_shape(annotation: Any) -> Shape:
    """The shape of an annotation that only pydantic understands.

    :raises NotUnderstood: it does not, or it is not installed.
    """
    try:
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
    except ImportError:
        raise NotUnderstood("it is not one of the supported kinds") from None
    try:
        adapter = TypeAdapter[Any](annotation)
        shown = adapter.json_schema(by_alias=True)
    except (PydanticUserError, PydanticInvalidForJsonSchema, NameError, TypeError) as error:
        raise NotUnderstood(f"pydantic says {type(error).__name__}") from None
    if _mentions_set(shown):
        raise NotUnderstood("a set has no order, so it has no one text (use a list)")
    return ForeignShape(adapter, annotation)


def _mentions_set(schema: Any) -> bool:
    if is_object(schema):
        return schema.get("uniqueItems") is True or any(map(_mentions_set, schema.values()))
    return is_array(schema) and any(map(_mentions_set, schema))


class ForeignShape(Shape):
    """What pydantic makes of an annotation, in its strict mode."""

    plain = False

    def __init__(self, adapter: Any, annotation: Any) -> None:
        self._adapter = adapter
        self.name = annotation.__name__ if isinstance(annotation, type) else "value"
        self.words = f"{self.name} as its annotation says"

    def check(self, value: Any) -> Any:
        native = self._validated(value)
        again = self._read(json.dumps(self.dump(native), ensure_ascii=False))
        if again != native:
            got = f"{describe(native)} that is another one when its JSON form is read back"
            raise inexact(got)
        return again

    def dump(self, value: Any) -> Any:
        try:
            form = self._adapter.dump_python(value, mode="json", by_alias=True, warnings="none")
        except Exception as error:
            raise inexact(f"{describe(value)} that does not write itself") from error
        return Walk(MAX_BYTES).visit(form, MAX_DEPTH)

    def schema(self, defs: Definitions) -> Schema:
        owner, _ = defs.claim(self, self.name)
        shown: Schema = self._adapter.json_schema(
            by_alias=True, ref_template=f"#/$defs/{owner}.{{model}}"
        )
        for name, part in shown.pop("$defs", {}).items():
            defs.parts[f"{owner}.{name}"] = part
        return shown

    def _validated(self, value: Any) -> Any:
        """JSON is checked as JSON, where a date is a string; what is not JSON as Python."""
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError):
            return self._judged(lambda: self._adapter.validate_python(value, strict=True))
        return self._read(text)

    def _read(self, text: str) -> Any:
        return self._judged(lambda: self._adapter.validate_json(text.encode(), strict=True))

    def _judged(self, validate: Callable[[], Any]) -> Any:
        from pydantic import ValidationError

        try:
            return validate()
        except UnicodeEncodeError:
            raise inexact("a string with a lone surrogate") from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        found = _misfit(first["type"], self.words)
        for step in reversed(first["loc"]):
            found = found.within(step)
        raise found


def _misfit(code: str, words: str) -> Misfit:
    """A complaint of pydantic in fixed words: a user's own check may have said the value."""
    if code == "missing":
        return Misfit("nothing", expected="a value")
    if code == "extra_forbidden":
        return Misfit("a member that is not declared")
    return Misfit(f"something else ({code})", expected=_WORDS.get(code, words))
