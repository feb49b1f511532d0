"""``ascertain mcp init``: a first configuration, made from what the server offers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from ascertain.cli.exits import Exit, UsageProblem, json_text
from ascertain.cli.mcp import Command, Url, needs_extra
from ascertain.cli.options import AsJson, examples
from ascertain.cli.out import put

EPILOG = examples(
    "ascertain mcp init -- python server.py",
    "ascertain mcp init --url https://tools.example/mcp --out tools.toml",
)

_Out = Annotated[str, typer.Option("--out", metavar="FILE", help="The file to write.")]
_Name = Annotated[str, typer.Option("--name", metavar="NAME", help="What to call the server.")]


def command(
    words: Command = None,
    url: Url = "",
    out: _Out = "ascertain.toml",
    name: _Name = "",
    as_json: AsJson = False,
) -> int:
    """Write a first configuration with a comment on every decision, and pin the tools.

    No tool is called. A file that is there already is left alone.
    """
    needs_extra()
    from ascertain.adapters.mcp.config import ProxyConfig, proxy_config
    from ascertain.adapters.mcp.first import configuration, listed
    from ascertain.adapters.mcp.pins import Pins
    from ascertain.adapters.mcp.serve import connect_to

    if Path(out).exists():
        raise UsageProblem(
            f"{out} is there already; nothing was written.", next_step="Name another with --out."
        )
    known = ProxyConfig()
    server, tools = asyncio.run(listed(connect_to(words or [], url, known)))
    text = configuration(name or server, tools)
    made = proxy_config(out, _parsed(text))
    Path(out).write_text(text, encoding="utf-8")
    Pins(Path(out).parent / made.pins).see(made.name, tools)
    names = [str(tool["name"]) for tool in tools]
    if as_json:
        put(f"{json_text({'file': out, 'server': made.name, 'tools': names})}\n")
    else:
        put(f"{out}: {len(names)} tools of {made.name}. Read it: each line says what it decides.\n")
    return Exit.FINE


def _parsed(text: str) -> object:
    import tomllib

    return tomllib.loads(text)["mcp"]
