"""Checks of the MCP server that a configuration in this folder speaks of: its pinned tools."""

from __future__ import annotations

from pathlib import Path

from ascertain.adapters.mcp.config import read_proxy_config
from ascertain.adapters.mcp.pins import Pins, ServerPins
from ascertain.errors import ContractError
from ascertain.report.doctor import Check, bad, ok
from ascertain.report.words import many
from ascertain.rules.texts import clean

_SHOWN = 160


def mcp_checks(config: str) -> list[Check]:
    """What became of the tools since they were pinned; nothing where no server is spoken of."""
    if not Path(config).is_file():
        return []
    try:
        known = read_proxy_config(config)
        pins = Pins(known.pins).server(known.name)
    except ContractError as error:
        return [bad("mcp-tools", error.message, error.advice)]
    if not pins.tools:
        return []
    found = [_changed(known.name, name, pins) for name in sorted(pins.quarantined)]
    return found or [ok("mcp-tools", f"{known.name}: {many(len(pins.tools), 'tool')} as pinned")]


def _changed(server: str, name: str, pins: ServerPins) -> Check:
    why = pins.why(name)
    seen = pins.quarantined[name].get("description") or ""
    was = pins.tools.get(name, {}).get("description") or ""
    shown = f'; it now says "{clean(str(seen), _SHOWN)}"' if seen != was else ""
    return bad(
        "mcp-tools",
        f"{server}: {clean(name, 80)} is quarantined ({why}){shown}",
        f"ascertain mcp release {clean(name, 80)}, if that is what it should be.",
    )
