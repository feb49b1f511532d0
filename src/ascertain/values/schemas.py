"""What a JSON schema declares, for tools whose parameters no Python function names.

The kind of each argument, and its choices, are checked at the outermost level; what is nested, the
tool's own code checks. Nothing that the schema does not name is let through.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from ascertain.errors import ContractError
from ascertain.values.declared import REQUIRED, Declared, Parameter
from ascertain.values.misfit import unlike
from ascertain.values.results import Codec
from ascertain.values.shapes import AnyShape, Definitions, Schema

_KINDS: Final[dict[str, tuple[type[Any], ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


class DeclaredShape(AnyShape):
    """An argument as a JSON schema declares it."""

    quick = frozenset()

    def __init__(self, shown: Mapping[str, Any], *, optional: bool) -> None:
        self._shown = dict(shown)
        said = shown.get("type", ())
        names = [said] if isinstance(said, str) else [name for name in said if name in _KINDS]
        self._kinds = tuple(kind for name in names for kind in _KINDS.get(name, ()))
        self._choices: list[Any] | None = shown.get("enum")
        self._optional = optional
        self.words = " or ".join(names) or "a JSON value"

    def check(self, value: Any) -> Any:
        if value is None and self._optional:
            return None
        kinds = self._kinds
        if kinds and (not isinstance(value, kinds) or (type(value) is bool and bool not in kinds)):
            raise unlike(self.words, value)
        if self._choices is not None and value not in self._choices:
            raise unlike("one of the declared values", value)
        return super().check(value)

    def schema(self, defs: Definitions) -> Schema:
        return self._shown


def by_schema(name: str, schema: Mapping[str, Any]) -> Declared:
    """What a tool declares by the JSON schema of its arguments.

    :raises ContractError: it is not the schema of an object.
    """
    found: object = schema.get("properties", {})
    if schema.get("type", "object") != "object" or not isinstance(found, Mapping):
        raise ContractError(f"{name}: its schema is not that of an object with named arguments.")
    properties = cast("Mapping[str, Any]", found)
    required = set(schema.get("required", ()))
    return Declared(
        name=name,
        parameters=tuple(
            _parameter(parameter, shown, required=parameter in required)
            for parameter, shown in properties.items()
        ),
        hidden={},
        by_position=(),
        result=Codec.of(Any),
    )


def _parameter(name: str, shown: Any, *, required: bool) -> Parameter:
    form: Mapping[str, Any] = cast("Any", shown) if isinstance(shown, Mapping) else {}
    default = REQUIRED if required else form.get("default")
    shape = DeclaredShape(form, optional=default is None)
    return Parameter(name=name, shape=shape, default=default, positional=False)
