"""What an outcome brings to its session's context, and whether declarations can be kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard, cast

from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract
from ascertain.model.session import Kept, Provides, SessionRecord
from ascertain.model.tables import State

NO_VALUE = "no_value"
TOO_LARGE = "too_large"

KEY = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
_PATH = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*|\*)(\.([A-Za-z_][A-Za-z0-9_-]*|\*))*\Z")
_write = json.JSONEncoder(  # what is no JSON was stored as its text
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False, default=str
).encode
_read = json.JSONDecoder().decode


def falls_due(session: SessionRecord | None, *, now: float, expires_at: float) -> bool:
    """Whether a session has to be made, or its life to be prolonged to ``expires_at`` by this use.

    It is prolonged once a minute, or a twentieth of its life, and not by every call; the ledger
    decides it by the same rule.
    """
    if session is None:
        return True
    life_s = expires_at - now
    return now - session.seen_at >= (life_s / 20 if life_s < 1200 else 60)


def is_path(path: str) -> bool:
    """Whether a result can be read at this dotted path; ``*`` is every item of a list."""
    return path == "" or _PATH.match(path) is not None


def brought_by(
    contract: Contract, before: ActionRecord, after: ActionRecord, result: str | None, *,
    limit_bytes: int, now: float,
) -> Provides | None:  # fmt: skip
    """What comes beside a write's move: its values, where the move confirms it."""
    if not contract.provides or after.state is not State.CONFIRMED:
        return None
    if before.state is State.CONFIRMED:
        return None
    began_at = before.last_sent_at if before.last_sent_at is not None else before.created_at
    values = values_of(contract, result, after.provider_ref, limit_bytes=limit_bytes)
    return Provides(values=values, now=now, began_at=began_at, limit_bytes=limit_bytes)


def values_of(
    contract: Contract, result: str | None, provider_ref: str | None, *, limit_bytes: int
) -> tuple[Kept, ...]:
    """The value of each key that the tool provides, from the result as it is stored.

    Where no result is at hand (a look-up brought only the reference), the key whose path is that of
    the receipt has its value all the same.
    """
    whole: Any = None if result is None else _read(result)
    kept: list[Kept] = []
    for key, path in contract.provides.items():
        found, value = (False, None) if result is None else _at(whole, path)
        if not found and provider_ref is not None and _is_receipt(contract, path):
            found, value = True, provider_ref
        if not found or value is None:
            kept.append(Kept(key, None, NO_VALUE))
            continue
        text = _write(value)
        large = len(text.encode()) > limit_bytes
        kept.append(Kept(key, None, TOO_LARGE) if large else Kept(key, text))
    return tuple(kept)


def _is_receipt(contract: Contract, path: str) -> bool:
    names = (contract.receipt,) if contract.receipt else (f"{contract.noun}_id", "id", "ref")
    return path in (*names, "reference")


def _at(value: Any, path: str) -> tuple[bool, Any]:
    """Whether there is something at a dotted path, and what."""
    if not path:
        return True, value
    step, _, rest = path.partition(".")
    if step == "*":
        if not _is_list(value):
            return False, None
        items = [_at(item, rest) for item in value]
        return True, [item for found, item in items if found]
    if not isinstance(value, dict) or step not in value:
        return False, None
    return _at(cast("dict[str, Any]", value)[step], rest)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def was_shown(value: Any, texts: Iterable[str | None]) -> bool:
    """Whether a JSON value is one of these, or an item of one of them."""
    wanted = _write(value)
    for text in texts:
        if text is None:
            continue
        if text == wanted:
            return True
        known: Any = _read(text)
        if _is_list(known) and any(_write(item) == wanted for item in known):
            return True
    return False


# ------------------------------------------------------------------------------------- declarations


class Declaration(NamedTuple):
    """One tool, as far as the context goes.

    :param parameters: name to whether it must be given.
    """

    contract: Contract
    parameters: Mapping[str, bool]

    @property
    def runs_by_itself(self) -> bool:
        """Whether the gate can run it: a read that needs nothing of the caller."""
        filled = self.contract.context.keys() | self.contract.either.keys()
        asked = [name for name, needed in self.parameters.items() if needed and name not in filled]
        return self.contract.is_read and not asked


def misfits(tool: Declaration) -> list[str]:
    """What of one declaration cannot be kept, as sentences without the tool's name."""
    contract, names = tool.contract, tool.parameters.keys()
    found: list[str] = []
    keys = dict.fromkeys((*contract.provides, *contract.context_keys, *contract.optional_context))
    found += [
        f"{key!r} is no context key: it is a fixed lower-case name, never computed"
        for key in keys
        if KEY.match(key) is None
    ]
    for role, sources in (("context", contract.context), ("either", contract.either)):
        found += [f"{role}={name!r} is no parameter" for name in sources if name not in names]
    both = sorted(contract.context.keys() & contract.either.keys())
    found += [f"the parameter {name!r} has two sources, context and either" for name in both]
    known = contract.context_keys
    found += [f"optional_context={key!r} is a key that it does not use" for key in
              contract.optional_context if key not in known]  # fmt: skip
    for sources in (contract.context, contract.either):
        found += [
            f"{key!r} is optional, but the parameter {name!r} has no default"
            for name, key in sources.items()
            if key in contract.optional_context and tool.parameters.get(name)
        ]
    found += [
        f"provides={key!r} reads the result at {path!r}, which is no dotted path"
        for key, path in contract.provides.items()
        if not is_path(path)
    ]
    return found


def tangles(tools: Sequence[Declaration], session_keys: Iterable[str]) -> list[tuple[str, str]]:
    """What cannot be kept by all tools together: ``(tool, sentence)``.

    A required key that nobody provides; tools of which each needs another first, all the way round,
    where nothing else provides what they need.
    """
    given = set(session_keys)
    providers: dict[str, list[Declaration]] = {}
    for tool in tools:
        for key in tool.contract.provides:
            providers.setdefault(key, []).append(tool)
    found = [
        (tool.contract.tool, f"needs {key!r}, which no tool provides")
        for tool in tools
        for key in tool.contract.required_context_keys
        if key not in given and key not in providers
    ]
    unknown = {key for tool in tools for key in tool.contract.required_context_keys} - set(
        providers
    )
    had = _can_be_had(tools, given | unknown)
    for tool in tools:
        ring = _ring(tool, providers, had)
        if ring:
            names = " needs ".join(ring)
            found.append((tool.contract.tool, f"can never run: {names}"))
    return found


def _can_be_had(tools: Sequence[Declaration], given: set[str]) -> set[str]:
    """All keys that some order of calls brings, beginning with these."""
    had = set(given)
    waiting = list(tools)
    while True:
        ready = [tool for tool in waiting if had.issuperset(tool.contract.required_context_keys)]
        if not ready:
            return had
        waiting = [tool for tool in waiting if tool not in ready]
        for tool in ready:
            had |= tool.contract.provides.keys()


def _ring(
    first: Declaration, providers: Mapping[str, Sequence[Declaration]], had: set[str]
) -> list[str]:
    """The way from a tool back to itself by keys that cannot be had."""

    def walk(tool: Declaration, way: list[str]) -> list[str]:
        for key in tool.contract.required_context_keys:
            if key in had:
                continue
            for other in providers[key]:
                name = other.contract.tool
                if name == first.contract.tool:
                    return [*way, name]
                if name not in way and (ring := walk(other, [*way, name])):
                    return ring
        return []

    return walk(first, [first.contract.tool])


def undeclared(path: str, schema: Mapping[str, Any], defs: Mapping[str, Any]) -> bool:
    """Whether a result of this schema says for certain that it has nothing at the path."""
    here: Mapping[str, Any] = schema
    for step in path.split(".") if path else []:
        if "$ref" in here:
            here = cast("Mapping[str, Any]", defs[str(here["$ref"]).rpartition("/")[2]])
        if step == "*":
            items = here.get("items")
            if not isinstance(items, dict):
                return False
            here = cast("Mapping[str, Any]", items)
            continue
        properties = here.get("properties")
        if not isinstance(properties, dict):
            return False
        known = cast("dict[str, Any]", properties)
        if step not in known:
            return True
        here = cast("Mapping[str, Any]", known[step])
    return False
