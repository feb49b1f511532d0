"""``ascertain mcp``: every call of a server's tools ends in a known truth."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated

import typer

from ascertain.cli.exits import Exit, UsageProblem
from ascertain.cli.options import ENVIRONMENT, AsJson, examples

EPILOG = examples(
    "ascertain mcp -- python server.py",
    "ascertain mcp --url https://tools.example/mcp",
    "ascertain mcp --listen 127.0.0.1:8700 -- python server.py",
)

Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="[-- COMMAND...]", help="The server's own command, after --."),
]
Url = Annotated[str, typer.Option(metavar="URL", help="The server's URL, where it has one.")]
ConfigFile = Annotated[
    str, typer.Option("--config", metavar="FILE", help="By default ascertain.toml, if it is there.")
]
_Listen = Annotated[
    str,
    typer.Option(metavar="HOST:PORT", help="Serve over HTTP at /mcp; by default over stdio."),
]
_Session = Annotated[
    str, typer.Option(metavar="ID", help="The conversation, where the host names none.")
]
_Ledger = Annotated[
    str | None,
    typer.Option("--ledger", metavar="URL", envvar=ENVIRONMENT, help="Where the ledger lies."),
]


def command(
    words: Command = None,
    url: Url = "",
    config: ConfigFile = "",
    listen: _Listen = "",
    session: _Session = "",
    ledger: _Ledger = None,
    as_json: AsJson = False,
) -> int:
    """Stand in front of an MCP server, as ascertain.toml says of its tools.

    It takes the server's place in the host's configuration. A tool of which nothing is said is a
    write that nobody can look up: a lost answer to it is left to a person.
    """
    del as_json  # of errors only: stdout is the host's
    needs_extra()
    from ascertain.adapters.mcp import serve
    from ascertain.adapters.mcp.config import DEFAULT_FILE, read_proxy_config

    known = read_proxy_config(config or DEFAULT_FILE, needed=bool(config))
    if session:
        known = replace(known, session=session)
    if ledger:
        known = replace(known, ledger=ledger)
    connect = serve.connect_to(words or [], url, known)
    if listen:
        host, port = _place(listen)
        asyncio.run(serve.over_http(known, connect, host, port))
    else:
        asyncio.run(serve.over_stdio(known, connect))
    return Exit.FINE


def needs_extra() -> None:
    """:raises UsageProblem: the ``mcp`` extra is not installed."""
    from importlib.util import find_spec

    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise UsageProblem(
            "This command needs the MCP SDK, which is not installed.",
            next_step='pip install "ascertain[cli,mcp]", in an environment of its own.',
        )


def _place(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not port.isdecimal() or not 0 <= int(port) < 65536:
        raise UsageProblem(
            f"--listen {listen!r} is no HOST:PORT.", next_step="--listen 127.0.0.1:8700"
        )
    return host or "127.0.0.1", int(port)
