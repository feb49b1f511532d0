"""``ascertain replay FILE``: recorded tool calls of real agents, with faults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ascertain.cli.options import AsJson, examples
from ascertain.replay.formats import FORMATS

EPILOG = examples(
    "ascertain replay calls.jsonl",
    "ascertain replay calls.jsonl --seed 11 --limit 50 --json",
    "ascertain replay calls.jsonl --contract none",
)


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Recorded calls or conversations.")],
    seed: Annotated[int, typer.Option(help="Which faults strike.")] = 7,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many calls.")] = None,
    contract: Annotated[
        str, typer.Option(metavar="NAME", help="key+lookup, key, lookup, fencing or none.")
    ] = "key+lookup",
    format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"{', '.join(FORMATS)}; by default found out."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Play recorded tool calls through the library, with faults, and report how they ended.

    The exit code is 1 if what was told and what the provider did disagree.
    """
    from ascertain.replay import run_replay

    return run_replay(file, seed, as_json, limit, contract, format)
