"""``ascertain replay FILE``: recorded tool calls of real agents, with faults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ascertain.cli.exits import UsageProblem
from ascertain.cli.options import AsJson, examples

EPILOG = examples("ascertain replay calls.jsonl", "ascertain replay calls.jsonl --seed 7 --json")


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="One recorded call per line.")],
    seed: Annotated[int, typer.Option(help="Which faults strike.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many calls.")] = None,
    as_json: AsJson = False,
) -> int:
    """Play recorded tool calls through the library, with faults, and report how they ended."""
    if not file.is_file():
        raise UsageProblem(f"There is no file {file}.", next_step="Name a recording (JSON lines).")
    try:
        from ascertain.replay import run_replay
    except ModuleNotFoundError as error:
        if error.name != "ascertain.replay":
            raise
        raise UsageProblem(
            "This installation has no replay.", next_step="Use a newer release."
        ) from None
    return int(run_replay(file, seed, as_json, limit))
