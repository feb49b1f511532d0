"""A slower disk: every fsync takes 2 ms more, and callers that share one gain by it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import floor
from kept import Kept, Measured, Ratio, Size, rate

SLOWER_MS = 2.0
HERE = Path(__file__).resolve().parent.parent

# A child with the slower disk says what its calls took.
ASK = """
import json, sys
from dataclasses import asdict
import product
callers, calls = int(sys.argv[1]), int(sys.argv[2])
with product.shop() as shop:
    print(json.dumps(asdict(product.writes(shop, callers, calls))))
"""


def measure(kept: Kept, size: Size) -> None:
    with tempfile.TemporaryDirectory() as folder:
        slower = floor.slow_fsync_environment(SLOWER_MS, Path(folder))
        for _ in range(1 if size.quick else 3):
            for callers, calls in ((1, size.alone // 4), (64, size.many), (256, size.many)):
                name = f"slow disk, write {callers}"
                kept.measure(name, lambda c=callers, n=calls: _child(slower, c, n))
    kept.settings["slow disk"] = f"every fsync {SLOWER_MS:g} ms slower"


def ratios(kept: Kept) -> list[Ratio]:
    lone = "slow disk, write 1"
    return [
        Ratio(
            what=f"{callers} callers over one, every fsync {SLOWER_MS:g} ms slower",
            value=kept.over(f"slow disk, write {callers}", lone, rate), bar=bar, dream=dream,
        )
        for callers, bar, dream in ((64, 15, 30), (256, 25, 45))
    ]  # fmt: skip


def _child(environment: dict[str, str], callers: int, calls: int) -> Measured:
    command = [sys.executable, "-c", ASK, str(callers), str(calls)]
    done = subprocess.run(
        command, env=environment, cwd=HERE, check=True, capture_output=True, text=True
    )
    return Measured(**json.loads(done.stdout))
