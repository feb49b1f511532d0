"""Replay a recording, and print what came of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ascertain.replay.columns import Progress, fit, paper_of
from ascertain.replay.play import Plan, replay
from ascertain.replay.report import closing_of, lines_of


def run(
    path: Path, seed: int, json_out: bool, limit: int | None, contract: str, format: str | None
) -> int:
    """See :func:`ascertain.replay.run_replay`."""
    plan = Plan(path=path, seed=seed, limit=limit, contract=contract, format=format)
    progress = Progress()
    try:
        done = replay(plan, progress.tick)
    finally:
        progress.clear()
    if json_out:
        print(json.dumps(done.as_dict(), ensure_ascii=False, indent=2))
    else:
        paper = paper_of(sys.stdout, None)
        rows = fit([*lines_of(done), *closing_of(done)], paper.width)
        print("\n".join(map(paper.states, rows)))
    return 0 if done.agrees else 1
