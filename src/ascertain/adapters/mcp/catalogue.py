"""The server's tools as they were last seen: what is shown, what may be called, what is not."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import mcp_types as types

from ascertain.adapters.mcp import render
from ascertain.adapters.mcp.config import ProxyConfig
from ascertain.adapters.mcp.guard import Guard
from ascertain.adapters.mcp.pins import Pins, ServerPins, Tool, digest_of
from ascertain.adapters.mcp.signature import without
from ascertain.adapters.mcp.upstream import Upstream
from ascertain.errors import ContractError
from ascertain.runtime.app import Ascertain
from ascertain.runtime.registry import Entry

log = logging.getLogger("ascertain")


class Catalogue:
    """Reads the server's list, declares its tools, and keeps apart what is not what it was.

    :ivar tools: as the server lists them, by name. :ivar entries: those that may be called.
    :ivar pins: what they are compared with.
    """

    def __init__(
        self, app: Ascertain, config: ProxyConfig, upstream: Upstream, guard: Guard
    ) -> None:
        self._app = app
        self._config = config
        self._upstream = upstream
        self._guard = guard
        self._file = Pins(config.pins)
        self._declared: dict[str, str] = {}
        self._stale = True
        self._looking = asyncio.Lock()
        self.tools: dict[str, Tool] = {}
        self.entries: dict[str, Entry] = {}
        self.pins = ServerPins()

    def changed(self) -> None:
        """The server lists something else: before the next call it is looked at."""
        self._stale = True

    async def current(self) -> None:
        """Look at the list, if it may have changed since.

        :raises ServerUnreachable: it cannot be had.
        :raises ContractError: what is configured of a tool cannot be kept.
        """
        async with self._looking:
            if not self._stale:
                return
            self._stale = False  # whatever changes from now on is another change
            try:
                await self._look()
            except BaseException:
                self._stale = True
                raise

    def check_names(self) -> None:
        """:raises ContractError: a tool is configured that the server does not have."""
        said = self._config.tools
        named = {*said}.union(*(one.companions for one in said.values()))
        strange = sorted(named - set(self.tools))
        if strange:
            raise ContractError(
                f"The server has no tool {strange[0]!r} (it has {', '.join(sorted(self.tools))}).",
                next_step="Correct its name in ascertain.toml.",
            )

    def shown(self) -> list[types.Tool]:
        """The tools as hosts see them."""
        shown = [self._shown(self.tools[name], entry) for name, entry in self.entries.items()]
        return [types.Tool.model_validate(tool, by_name=False) for tool in shown]

    def _shown(self, tool: Tool, entry: Entry) -> dict[str, Any]:
        shown = dict(tool)
        if entry.contract.is_read:
            return shown
        said = self._guard.said(tool)
        if said.key.hides:
            shown["inputSchema"] = without(tool["inputSchema"], [said.key.argument])
        schema = render.output_schema(shown.pop("outputSchema", None))
        return shown if schema is None else {**shown, "outputSchema": schema}

    async def _look(self) -> None:
        """Read the server's list anew; what is not what it was is not used."""
        listed = await self._upstream.tools()
        tools = [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in listed]
        if any(tool["name"] == self._config.model_tool for tool in tools):
            raise ContractError(
                f"The server has a tool {self._config.model_tool!r} itself.",
                next_step="Give ours another name: model_tool = in [mcp] of ascertain.toml.",
            )
        server = self._config.name
        self.pins = self._file.see(server, tools)
        for name in self.pins.quarantined:
            log.warning("%s of %s is quarantined: %s", name, server, self.pins.why(name))
        self.tools = {str(tool["name"]): tool for tool in tools}
        good = {name: one for name, one in self.tools.items() if name not in self.pins.quarantined}
        entries = {name: self._entry(name, tool) for name, tool in good.items()}
        self.entries = {name: entry for name, entry in entries.items() if entry is not None}

    def _entry(self, name: str, tool: Tool) -> Entry | None:
        """The guarded tool; None: what was released since is another one than was declared here."""
        seen = digest_of(tool)
        if self._app.registry.find(name) is None:
            self._guard.declare(tool)
            self._declared[name] = seen
        if self._declared.get(name) == seen:
            return self._app.registry.get(name)
        log.warning("%s was released as it is now; start the proxy anew to use it", name)
        return None
