"""What a host gets: the server's own result, or the facts; never a guess and never a stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from ascertain.adapters import told
from ascertain.adapters.mcp.answers import Result
from ascertain.adapters.mcp.words import FACT
from ascertain.adapters.told import NOTHING, Fact
from ascertain.errors import AscertainError
from ascertain.rules.texts import clean
from ascertain.values.misfit import is_array, is_object

_DEFS: Final = ("$defs", "definitions")


def of_write(fact: Fact, server_said: str = "") -> dict[str, Any]:
    """The result of a write.

    Confirmed: the server's own, untouched, with the facts beside it. Anything else is an error
    result that holds the facts.

    :param fact: with the server's result as its data, where there is one.
    :param server_said: the text of the server's error result; shown as data.
    """
    known = fact._replace(data=NOTHING)
    if not fact.confirmed:
        return told.mcp(known._replace(data=server_said or NOTHING))
    if is_object(fact.data):
        return _with_facts(fact.data, known)
    return {**told.mcp(known), "structuredContent": told.told(known)}


def of_fact(fact: Fact) -> dict[str, Any]:
    """A fact that no result of the server's belongs to."""
    return told.mcp(fact)


def of_error(error: AscertainError) -> dict[str, Any]:
    """A call that the operator's configuration, or the host's, makes impossible."""
    said = {"error": error.code, "message": clean(error.message, 1000), "next": error.advice}
    text = f"{error.code}: {said['message']} Next: {error.advice}"
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": said,
        "isError": True,
    }


def _with_facts(result: Result, fact: Fact) -> dict[str, Any]:
    """A server's result with the facts in ``_meta``, and as one more text for the model."""
    meta = {**cast("Mapping[str, Any]", result.get("_meta") or {}), FACT: told.told(fact)}
    block = {"type": "text", "text": told.text(fact)}
    content = [*cast("list[Any]", result.get("content") or []), block]
    return {**result, "content": content, "_meta": meta}


def for_legacy(result: dict[str, Any]) -> dict[str, Any]:
    """The same where structured content has to be an object: other data stays in the text."""
    data = result.get("structuredContent")
    if data is None or isinstance(data, dict):
        return result
    return {name: value for name, value in result.items() if name != "structuredContent"}


def output_schema(schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A write's output schema, by which the facts are an answer too.

    Where a confirmation came from a look-up there is no result of the server's to show.
    """
    if schema is None or schema.get("type") != "object" or _refers_elsewhere(schema):
        return None
    shared = {name: schema[name] for name in _DEFS if name in schema}
    own = {name: value for name, value in schema.items() if name not in _DEFS}
    return {"type": "object", "anyOf": [own, FACTS_SCHEMA], **shared}


FACTS_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "workflow_state": {"type": "string"},
        "actions": {"type": "array", "items": {"type": "object"}},
        "next_allowed": {"type": "array", "items": {"type": "string"}},
        "say": {"type": "object"},
    },
    "required": ["workflow_state", "actions", "next_allowed", "say"],
}


def _refers_elsewhere(schema: object) -> bool:
    """Whether a part refers to something that would not be found from a new root."""
    if isinstance(schema, Mapping):
        table = cast("Mapping[str, Any]", schema)
        ref = table.get("$ref")
        if isinstance(ref, str) and not ref.startswith(tuple(f"#/{name}/" for name in _DEFS)):
            return True
        return any(_refers_elsewhere(part) for part in table.values())
    if is_array(schema):
        return any(_refers_elsewhere(part) for part in schema)
    return False
