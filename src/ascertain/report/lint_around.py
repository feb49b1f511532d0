"""Rules on what stands around tools: retries of frameworks, by which layers multiply."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ascertain.report.around import Layer, is_behind_a_door, layers_of
from ascertain.report.assembled import assembled
from ascertain.report.findings import Finding, Severity
from ascertain.runtime.tool import AsyncTool, Tool

if TYPE_CHECKING:
    from ascertain.runtime.app import Ascertain


def around_findings(app: Ascertain) -> Iterator[Finding]:
    """Layers above the app's writes, as far as the modules that hold the app have put any there."""
    writes = {
        entry.name for entry in app.registry if not entry.contract.is_read and not entry.observed
    }
    if not writes:
        return
    things = list(assembled((app, *_guarded_in_modules(app)), is_behind_a_door))
    guarded = {id(thing): thing.name for thing in things if _is_of(app, thing)}
    for thing in things:
        for layer in layers_of(thing, guarded):
            if layer.tools is None:
                yield _found(layer, "")
            else:
                yield from (_found(layer, name) for name in sorted(layer.tools & writes))


def _found(layer: Layer, tool: str) -> Finding:
    whose = f"{tool}: " if tool else ""
    return Finding(
        rule="retry-around",
        severity=Severity.INFO if layer.of_model else Severity.WARN,
        tool=tool,
        sentence=f"{whose}around it is {layer.kind}: {layer.what}."
        if tool
        else f"Around the app's tools is {layer.kind}: {layer.what}.",
        next_step=f"{layer.fix[0].upper()}{layer.fix[1:]}.",
    )


def _is_of(app: Ascertain, thing: Any) -> bool:
    if not isinstance(thing, Tool | AsyncTool):
        return False
    entry = app.registry.find(thing.name)
    return entry is not None and thing.__wrapped__ is entry.body


def _guarded_in_modules(app: Ascertain) -> Iterator[Any]:
    """The app's tools as modules hold them: many import the tools, and not the app."""
    for module in list(sys.modules.values()):
        members = getattr(module, "__dict__", {})
        yield from (value for value in list(members.values()) if _is_of(app, value))
