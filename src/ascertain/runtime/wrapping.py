"""Functions of others, guarded by configuration: what they cannot declare is said for them."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import Any, cast

from ascertain.errors import ContractError
from ascertain.model.contract import Budget, RefusalRule
from ascertain.runtime.tool import AsyncTool, Tool

_CODE = ("permission", "preconditions", "normalise", "via")
_ACCESS = ("read", "write")

Said = dict[str, Any]


class Wraps:
    """An app's way to guard what it cannot decorate."""

    def wrap(
        self, target: Callable[..., Any] | str, *, access: str = "write", **said: Any
    ) -> Tool[..., Any] | AsyncTool[..., Any]:
        """Guard a function that cannot be declared where it is defined, such as a library's.

        :param target: the function, or ``package.module:name``.
        :param access: ``write`` (the safe default) or ``read``. :param said: what it promises, as
            for :meth:`tool` and :meth:`read`.
        :raises ContractError: there is no such function, or a declaration that cannot be kept.
        """
        if access not in ("read", "write"):
            raise ContractError(f"access={access!r}: it is 'read' or 'write'.")
        app: Any = self
        declare: Any = app.read if access == "read" else app.tool
        wrapped: Tool[..., Any] | AsyncTool[..., Any] = declare(**said)(resolved(target))
        return wrapped

    def wrap_config(
        self, path: str | os.PathLike[str] = "ascertain.toml"
    ) -> dict[str, Tool[..., Any] | AsyncTool[..., Any]]:
        """Guard the functions that a TOML file names; returns the tools by name.

        Each ``[tools.NAME]`` has ``target = "package.module:function"``, ``access``, and what the
        tool promises. ``lookup = { target = ..., absence_final_after = "10s" }`` attaches one.

        :raises ContractError: no such file, or something in it that cannot be kept.
        """
        tools: dict[str, Tool[..., Any] | AsyncTool[..., Any]] = {}
        for name, said in read_config(path).items():
            target, lookup = said.pop("target"), said.pop("lookup", None)
            tools[name] = self.wrap(target, name=name, **said)
            if lookup is not None:
                asks = resolved(lookup.pop("target"))
                tools[name].lookup(**lookup)(asks)
        return tools


def resolved(target: Callable[..., Any] | str) -> Callable[..., Any]:
    """A function, or the one that ``package.module:name`` names.

    :raises ContractError: there is no such function.
    """
    if callable(target):
        return target
    module_name, _, path = target.partition(":")
    if not module_name or not path:
        raise ContractError(f"{target!r} names no function; it is package.module:function.")
    try:
        found: Any = importlib.import_module(module_name)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise ContractError(f"{target!r} cannot be imported: {error}.") from error
    if not callable(found):
        raise ContractError(f"{target!r} is a {type(found).__name__}, not a function.")
    return cast("Callable[..., Any]", found)


def read_config(path: str | os.PathLike[str], *, targets: bool = True) -> dict[str, Said]:
    """The tools of a TOML file: under ``[tools.NAME]``, ``target`` and what the tool promises.

    :param targets: False, where the tools are somebody else's: then none has a ``target``, and
        ``access`` may be ``pass`` too.
    :raises ContractError: no such file, no TOML, or something that a file cannot say.
    """
    import tomllib  # only where there is such a file

    try:
        with open(path, "rb") as file:  # noqa: PTH123  # pathlib takes long to import
            whole = tomllib.load(file)
    except OSError as error:
        raise ContractError(f"{path} cannot be read: {error.strerror}.") from error
    except tomllib.TOMLDecodeError as error:
        raise ContractError(f"{path} is no TOML: {error}.") from error
    tools: object = whole.pop("tools", {})
    whole.pop("mcp", None)  # of the servers that `ascertain mcp` stands in front of
    if not isinstance(tools, dict):
        whole["tools"] = tools
    if whole:
        raise ContractError(
            f"{path}: only [tools.NAME] and [mcp] tables are understood, got "
            f"{', '.join(map(repr, whole))}."
        )
    return {
        name: _said(f"{path}: {name}", said, targets=targets)
        for name, said in cast("Said", tools).items()
    }


def _said(where: str, said: object, *, targets: bool) -> Said:
    if not isinstance(said, dict):
        raise ContractError(f"{where} is no table.")
    known = promised(where, cast("Said", said))
    if not targets and "target" in known:
        raise ContractError(f"{where}: target= is for functions; use app.wrap_config(...).")
    if targets and not isinstance(known.get("target"), str):
        raise ContractError(f"{where}: target= names the function, as package.module:function.")
    if known.get("access", "write") not in (_ACCESS if targets else (*_ACCESS, "pass")):
        raise ContractError(f"{where}: access= is 'read' or 'write'.")
    return known


def promised(where: str, said: Mapping[str, Any]) -> Said:
    """What a table promises of a tool, with our own records in place of its inner tables.

    :raises ContractError: something that needs code, or an inner table that is not understood.
    """
    known = dict(said)
    code = [name for name in _CODE if name in known]
    if code:
        raise ContractError(f"{where}: {', '.join(code)} needs code; use app.wrap(...) in Python.")
    if "budget" in known:
        known["budget"] = _made(where, "budget", Budget, known["budget"])
    if "refusals" in known:
        rules: list[Any] = known["refusals"]
        known["refusals"] = [_made(where, "refusals", RefusalRule, rule) for rule in rules]
    return known


def _made(where: str, what: str, kind: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    try:
        return kind(**values)
    except TypeError as error:
        raise ContractError(f"{where}: {what} is not understood: {error}.") from error
