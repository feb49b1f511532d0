"""``ascertain mcp release``: a changed tool is taken for what it is now."""

from __future__ import annotations

from typing import Annotated

import typer

from ascertain.cli.exits import Exit, json_text
from ascertain.cli.mcp import ConfigFile, needs_extra
from ascertain.cli.options import AsJson, examples
from ascertain.cli.out import put

EPILOG = examples("ascertain mcp release create_ticket", "ascertain mcp release --all")

_Tools = Annotated[list[str] | None, typer.Argument(metavar="[TOOL...]", help="Which tools.")]
_All = Annotated[bool, typer.Option("--all", help="All that are quarantined.")]


def command(
    tools: _Tools = None, every: _All = False, config: ConfigFile = "", as_json: AsJson = False
) -> int:
    """Release tools whose description or schema changed since they were pinned.

    Look at the change first: `ascertain doctor` shows it. A proxy that is running uses them
    once it is started again.
    """
    needs_extra()
    from ascertain.adapters.mcp.config import DEFAULT_FILE, read_proxy_config
    from ascertain.adapters.mcp.pins import Pins
    from ascertain.cli.exits import UsageProblem

    if bool(tools) == every:
        raise UsageProblem("Name the tools, or say --all.", next_step="ascertain doctor")
    known = read_proxy_config(config or DEFAULT_FILE, needed=bool(config))
    released = Pins(known.pins).release(known.name, tools or [])
    if as_json:
        put(f"{json_text({'released': released})}\n")
    else:
        put(f"Released: {', '.join(released) or 'nothing was quarantined'}.\n")
    return Exit.FINE
