"""What a server's tools were when somebody last looked; a change waits for a person.

A description is text that a model obeys, and a schema decides what is sent. So both are pinned when
a server is first seen. What differs later, or is new, is quarantined: neither shown nor called,
until it is released. The pins are one JSON file, to be looked at and kept with the configuration.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from ascertain.errors import ContractError, UnknownTool
from ascertain.values.canonical import canonical, digest

_PINNED: Final = ("title", "description", "inputSchema", "outputSchema", "annotations")
Tool = Mapping[str, Any]
"""A tool as ``tools/list`` has it, as JSON."""


def pinned_part(tool: Tool) -> dict[str, Any]:
    """What of a tool is pinned: all that a model reads and all that decides what is sent."""
    return {name: tool[name] for name in _PINNED if tool.get(name) is not None}


def digest_of(tool: Tool) -> str:
    return digest(canonical(pinned_part(tool)))


@dataclass(slots=True)
class ServerPins:
    """The pins of one server, by the tool's name.

    :ivar quarantined: what was seen instead of a pin, or is new; ``gone``: no longer offered.
    """

    tools: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    quarantined: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    def why(self, name: str) -> str:
        """Why a tool is quarantined: ``new``, or what of it changed; empty: it is not."""
        seen = self.quarantined.get(name)
        if seen is None:
            return ""
        known = self.tools.get(name)
        if known is None:
            return "new"
        names = {*known, *seen}
        return ", ".join(sorted(part for part in names if known.get(part) != seen.get(part)))


class Pins:
    """A file of pins.

    :param path: the file; it need not exist.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._servers: dict[str, ServerPins] = {}
        self._read()

    def server(self, name: str) -> ServerPins:
        """The pins of a server; empty where it was never seen."""
        return self._servers.setdefault(name, ServerPins())

    def __iter__(self) -> Any:
        return iter(sorted(self._servers.items()))

    def see(self, name: str, tools: Iterable[Tool]) -> ServerPins:
        """Compare what a server offers with its pins; at the first look everything is pinned.

        :raises ContractError: the file cannot be written.
        """
        self._read()  # another process may have released something
        pins = self.server(name)
        before = json.dumps([pins.tools, pins.quarantined], sort_keys=True)
        offered = {str(tool["name"]): pinned_part(tool) for tool in tools}
        if not pins.tools:
            pins.tools = offered
        pins.quarantined = {
            tool: part for tool, part in offered.items() if part != pins.tools.get(tool)
        }
        if json.dumps([pins.tools, pins.quarantined], sort_keys=True) != before:
            self._write()
        return pins

    def release(self, server: str, tools: Iterable[str]) -> list[str]:
        """Take what is quarantined for what it is from now on; all of it where none is named.

        :raises UnknownTool: one that is not quarantined. Nothing is released then.
        :raises ContractError: the file cannot be written.
        """
        self._read()
        pins = self.server(server)
        wanted = list(tools) or sorted(pins.quarantined)
        strange = [tool for tool in wanted if tool not in pins.quarantined]
        if strange:
            waiting = ", ".join(sorted(pins.quarantined)) or "none"
            raise UnknownTool(
                f"{strange[0]!r} of {server!r} is not quarantined (quarantined: {waiting}).",
                next_step="`ascertain doctor` shows what is.",
            )
        for tool in wanted:
            pins.tools[tool] = pins.quarantined.pop(tool)
        if wanted:
            self._write()
        return wanted

    def _read(self) -> None:
        self._servers = {}
        try:
            whole: Any = json.loads(self.path.read_text(encoding="utf-8"))
            servers = cast("dict[str, Any]", whole["servers"])
            for name, said in servers.items():
                self._servers[name] = ServerPins(dict(said["tools"]), dict(said["quarantined"]))
        except FileNotFoundError:
            return
        except OSError as error:
            raise ContractError(f"{self.path} cannot be read: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ContractError(
                f"{self.path} holds no pins that can be read.",
                next_step="Restore it, or remove it: then all tools are pinned as they are now.",
            ) from error

    def _write(self) -> None:
        """Replace the file as a whole, so that a crash leaves the old one."""
        servers = {
            name: {"tools": pins.tools, "quarantined": pins.quarantined} for name, pins in self
        }
        text = json.dumps({"servers": servers}, indent=1, sort_keys=True, ensure_ascii=False)
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=folder, prefix=f".{self.path.name}.")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self.path)
        except OSError as error:
            raise ContractError(
                f"{self.path} cannot be written: {error.strerror}.",
                next_step="Say where the pins may lie: pins = in [mcp] of ascertain.toml.",
            ) from error
