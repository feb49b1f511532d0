"""What ``ascertain.toml`` says of an MCP server and its tools."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from ascertain.adapters.mcp.answers import Reading, Search
from ascertain.adapters.mcp.templates import check_places, places_in
from ascertain.errors import ContractError
from ascertain.runtime.durations import seconds
from ascertain.runtime.wrapping import promised

T = TypeVar("T")
Said = dict[str, Any]

DEFAULT_FILE: Final = "ascertain.toml"
_OF_A_CALL: Final = frozenset(
    {"key", "action_id", "arguments", "provider_ref", "related_ref", "handle"}
)
_OWN: Final = ("access", "key", "receipt", "error_code", "lookup", "undo")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPlace:
    """Where the idempotency key goes besides ``_meta``, which always has it.

    :param argument: the argument that carries it; empty: none does.
    :param template: how, where the argument carries a text of the model's too: ``{value} {key}``.
    """

    argument: str = ""
    template: str = "{key}"

    @property
    def hides(self) -> bool:
        """Whether the argument is the key's alone, so that no model is shown it."""
        return bool(self.argument) and "value" not in places_in(self.template)


@dataclass(frozen=True, slots=True, kw_only=True)
class Companion:
    """Another tool of the server, called for an action: to look it up, or to undo it.

    :param arguments: with places to fill.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConfig:
    """One tool.

    :param access: ``write`` or ``read``; empty: not said.
    :param promises: as for ``@app.tool``.
    :param receipt: where the reference stands.
    :param error_code: where an error result's code stands.
    :param lookup: the tool that knows, how its answer is read, and what the look-up promises.
    :param undo: the tool that reverses, and by what.
    """

    access: str = ""
    promises: Said = field(default_factory=dict[str, Any])
    key: KeyPlace = KeyPlace()
    receipt: Reading | None = None
    error_code: Reading | None = None
    lookup: tuple[Companion, Search, Said] | None = None
    undo: tuple[Companion, Said] | None = None

    @property
    def companions(self) -> list[str]:
        """The tools of the server that are called for an action of this one."""
        return [said[0].tool for said in (self.lookup, self.undo) if said is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyConfig:
    """What is said of the server as a whole.

    :param name: names its ledger entries' session and its pins.
    :param principal: whose calls these are. :param session: the conversation where the host names
        none; empty: one for the server on stdio, none over HTTP.
    :param turn_idle_s: after so long without a call an equal call is a new wish; inf: never.
    :param trust_annotations: believe ``readOnlyHint`` of tools that are not listed here.
    :param pauses: leave a call that waits for a person with the host, where it can be asked.
    :param model_tool: the name of the extra tool for the model. :param pins: where the pins lie.
    :param env: for the server's process. :param headers: for a server over HTTP.
    """

    name: str = "mcp"
    ledger: str = "sqlite:///ascertain.db"
    tenant: str = "default"
    principal: str = ""
    session: str = ""
    turn_idle_s: float = 600.0
    trust_annotations: bool = False
    pauses: bool = True
    model_tool: str = "ascertain"
    pins: str = "ascertain.pins.json"
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    tools: Mapping[str, ToolConfig] = field(default_factory=dict[str, ToolConfig])


def read_proxy_config(path: str | os.PathLike[str], *, needed: bool = True) -> ProxyConfig:
    """Read the ``[mcp]`` table of a file.

    :param needed: the file was named by somebody; else one that is not there says nothing.
    :raises ContractError: no such file, no TOML, or something in it that cannot be kept.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        whole = tomllib.loads(text)
    except FileNotFoundError:
        if not needed:
            return ProxyConfig()
        raise ContractError(
            f"There is no {path}.",
            next_step="`ascertain mcp init -- COMMAND` writes a first one.",
        ) from None
    except OSError as error:
        raise ContractError(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ContractError(f"{path} is no TOML: {error}.") from error
    return proxy_config(str(path), whole.get("mcp", {}))


def proxy_config(where: str, table: object) -> ProxyConfig:
    """The configuration that a table says.

    :raises ContractError: with what is not understood, and where.
    """
    where = f"{where}: [mcp]"
    said = _table(where, table)
    tools = _table(f"{where} tools", said.pop("tools", {}))
    fields: Said = {
        name: _text(where, name, said.pop(name))
        for name in ("name", "ledger", "tenant", "principal", "session", "model_tool", "pins")
        if name in said
    }
    if "turn_idle" in said:
        idle = said.pop("turn_idle")
        idle_s = None if idle == "never" else seconds(idle, f"{where}: turn_idle")
        fields["turn_idle_s"] = inf if idle_s is None else idle_s
    for name in ("trust_annotations", "pauses"):
        if name in said:
            fields[name] = _flag(where, name, said.pop(name))
    for name in ("env", "headers"):
        given = _table(f"{where} {name}", said.pop(name, {}))
        fields[name] = {key: _text(where, f"{name}.{key}", value) for key, value in given.items()}
        check_places(f"{where} {name}", fields[name], frozenset({"env"}))
    _refuse_rest(where, said)
    fields["tools"] = {
        name: tool_config(f"{where} tools.{name}", tool) for name, tool in tools.items()
    }
    return ProxyConfig(**fields)


def tool_config(where: str, table: object) -> ToolConfig:
    """One tool's table.

    :raises ContractError: with what is not understood, and where.
    """
    said = _table(where, table)
    own = {name: said.pop(name) for name in _OWN if name in said}
    access = own.get("access", "")
    if access not in ("", "read", "write"):
        raise ContractError(f"{where}: access= is 'read' or 'write'.")
    lookup, undo = own.get("lookup"), own.get("undo")
    return ToolConfig(
        access=access,
        promises=promised(where, said),
        key=_key_place(where, own.get("key", {})),
        receipt=_reading(where, "receipt", own.get("receipt")),
        error_code=_reading(where, "error_code", own.get("error_code")),
        lookup=None if lookup is None else _lookup(where, lookup),
        undo=None if undo is None else _undo(where, undo),
    )


def _key_place(where: str, table: object) -> KeyPlace:
    where = f"{where} key"
    said = _table(where, table)
    argument = _text(where, "argument", said.pop("argument", ""))
    template = _text(where, "template", said.pop("template", "{key}"))
    _refuse_rest(where, said)
    check_places(where, template, frozenset({"key", "value"}))
    if "key" not in places_in(template):
        raise ContractError(f"{where}: template={template!r} has no place for {{key}}.")
    return KeyPlace(argument=argument, template=template)


def _reading(where: str, name: str, said: object) -> Reading | None:
    if said is None or isinstance(said, str):
        return Reading(path=said) if said else None
    table = _table(f"{where} {name}", said)
    path = _text(where, "path", table.pop("path", ""))
    pattern = _pattern(f"{where} {name}", table.pop("pattern", ""))
    _refuse_rest(f"{where} {name}", table)
    if bool(path) == bool(pattern):
        raise ContractError(f"{where} {name}: say path= or pattern=, one of them.")
    return Reading(path=path, pattern=pattern)


def _lookup(where: str, table: object) -> tuple[Companion, Search, Said]:
    where = f"{where} lookup"
    said = _table(where, table)
    companion = _companion(where, said)
    items = said.pop("items", None)
    search = Search(
        items=None if items is None else _text(where, "items", items),
        where=_table(f"{where} where", said.pop("where", {})),
        ref=_text(where, "ref", said.pop("ref", "")),
        pattern=_pattern(where, said.pop("pattern", "")),
        absent=_pattern(where, said.pop("absent", "")),
    )
    check_places(where, [dict(search.where), search.pattern], _OF_A_CALL)
    promises: Said = {
        name: said.pop(name) for name in ("by", "absence_final_after", "fences") if name in said
    }
    _refuse_rest(where, said)
    if not (search.pattern or search.ref or search.items is not None):
        raise ContractError(
            f"{where}: say how its answer is read: ref=, items= and where=, or pattern=."
        )
    if bool(search.pattern) != bool(search.absent):
        raise ContractError(
            f"{where}: pattern= and absent= belong together.",
            next_step="absent= is a pattern for the text of a search that went well and found "
            'nothing, such as "^0 tickets"; any other text without a match is no answer.',
        )
    asked = [dict(companion.arguments), dict(search.where), search.pattern]
    if promises.get("by", "key") == "key" and "key" not in places_in(asked):
        raise ContractError(
            f"{where}: it goes by key, and nothing in it says {{key}}.",
            next_step="Put {key} into arguments, where or pattern, or say by = 'fields'.",
        )
    return companion, search, promises


def _undo(where: str, table: object) -> tuple[Companion, Said]:
    where = f"{where} undo"
    said = _table(where, table)
    companion = _companion(where, said)
    way: Said = {name: said.pop(name) for name in ("within", "by") if name in said}
    _refuse_rest(where, said)
    return companion, way


def _companion(where: str, said: Said) -> Companion:
    tool = _text(where, "tool", said.pop("tool", ""))
    if not tool:
        raise ContractError(f"{where}: tool= names the tool of the server.")
    arguments = _table(f"{where} arguments", said.pop("arguments", {}))
    check_places(f"{where} arguments", arguments, _OF_A_CALL)
    return Companion(tool=tool, arguments=arguments)


def _pattern(where: str, said: object) -> str:
    pattern = _text(where, "pattern", said)
    try:
        re.compile(pattern)
    except re.error as error:
        raise ContractError(
            f"{where}: pattern={pattern!r} is no regular expression: {error}."
        ) from error
    return pattern


def _table(where: str, said: object) -> Said:
    if not isinstance(said, Mapping):
        raise ContractError(f"{where} is no table.")
    return dict(cast("Said", said))


def _text(where: str, name: str, said: object) -> str:
    return _of_type(str, "a text", where, name, said)


def _flag(where: str, name: str, said: object) -> bool:
    return _of_type(bool, "true or false", where, name, said)


def _of_type(kind: type[T], words: str, where: str, name: str, said: object) -> T:
    if not isinstance(said, kind):
        raise ContractError(f"{where}: {name} is {words}, got {said!r:.60}.")
    return said


def _refuse_rest(where: str, said: Said) -> None:
    if said:
        raise ContractError(f"{where}: {', '.join(sorted(said))} is not understood.")
