"""`ascertain replay`: replay a recording, print what came of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ascertain.errors import AscertainError
from ascertain.replay.play import Plan, replay
from ascertain.replay.report import closing_of, lines_of

SEED = 7


def run_replay(
    path: str | Path,
    seed: int = SEED,
    json_out: bool = False,
    limit: int | None = None,
    contract: str = "key+lookup",
) -> int:
    """Replay recorded tool calls with seeded faults, and report.

    :param path: JSON lines, see :mod:`ascertain.replay.recording`. :param seed: of the faults.
    :param limit: replay only so many calls. :param json_out: print the report as JSON.
    :param contract: ``key+lookup``, ``key``, ``lookup``, ``fencing`` or ``none``.
    :returns: 0 if nothing disagrees, 1 if anything does, 2 if the recording cannot be replayed.
    """
    plan = Plan(path=Path(path), seed=seed, limit=limit, contract=contract)
    live = sys.stderr.isatty() and not json_out
    shown = 0

    def tick(text: str) -> None:
        nonlocal shown
        if live:
            sys.stderr.write(f"\r{text:<{shown}}")
            sys.stderr.flush()
            shown = len(text)

    try:
        done = replay(plan, tick)
    except AscertainError as wrong:
        if json_out:
            print(json.dumps(wrong.as_dict(), ensure_ascii=False))
        else:
            sys.stderr.write(f"{wrong}\n")
        return 2
    finally:
        if shown:
            sys.stderr.write(f"\r{'':<{shown}}\r")
    if json_out:
        print(json.dumps(done.as_dict(), ensure_ascii=False, indent=2))
    else:
        print("\n".join([*lines_of(done), *closing_of(done)]))
    return 0 if done.agrees else 1
