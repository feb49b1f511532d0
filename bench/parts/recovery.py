"""After an outage: ten thousand unknown actions, and one, two or four workers that find out."""

from __future__ import annotations

from statistics import median

from kept import Kept, Ratio, Size
from storm import storm

ACTIONS = 10_000
PROCESSES = (1, 2, 4)


def measure(kept: Kept, size: Size) -> None:
    actions = ACTIONS // 5 if size.quick else ACTIONS
    for _ in range(1 if size.quick else 3):
        for processes in PROCESSES:
            kept.measure(_name(processes), lambda n=processes: storm(n, actions))
    kept.settings["outage"] = f"{actions:,} unknown actions, look-ups that answer at once"


def ratios(kept: Kept) -> list[Ratio]:
    bars = {1: (2000.0, 5000.0)}
    return [
        Ratio(
            what=f"recovery, {_name(processes)}",
            value=median(run.per_s for run in kept.rows[_name(processes)]),
            bar=bars.get(processes, (None, None))[0],
            dream=bars.get(processes, (None, None))[1],
            unit="/s",
        )
        for processes in PROCESSES
    ]


def _name(processes: int) -> str:
    return "one worker" if processes == 1 else f"{processes} worker processes"
