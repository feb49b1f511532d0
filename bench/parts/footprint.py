"""What it costs to have it at all: importing it, and a worker with nothing to do."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from kept import Kept, Ratio, Size

HERE = Path(__file__).resolve().parent.parent
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"  # set, every import compiles what has changed anew

# An idle worker says how much memory is its own: resident, in MB.
IDLE = """
import asyncio, sys
from ascertain import Ascertain

app = Ascertain(f"sqlite:///{sys.argv[1]}/ledger.db", worker="none")

@app.tool(identity=["order_id"])
async def create(order_id: str) -> dict:
    return {"id": order_id}

async def main():
    worker = app.make_worker()
    work = asyncio.create_task(worker.run())
    await asyncio.sleep(1.5)  # a few rounds of looking for what is due
    lines = open("/proc/self/status").read().splitlines()
    (kb,) = [int(line.split()[1]) for line in lines if line.startswith("VmRSS")]
    print(kb / 1024)
    worker.stop()
    await work

app.open()
asyncio.run(main())
app.close()
"""


def measure(kept: Kept, size: Size) -> None:
    times = 5 if size.quick else 15
    for _ in range(times):  # turn and turn about: the machine is not the same all the time
        kept.measure("bare interpreter", lambda: process_ms("pass"))
        kept.measure("import ascertain", lambda: process_ms("import ascertain"))
    kept.measure("idle worker MB", idle_worker_mb)


def ratios(kept: Kept) -> list[Ratio]:
    pairs = zip(kept.rows["import ascertain"], kept.rows["bare interpreter"], strict=True)
    return [
        Ratio(
            what="import, over a bare interpreter", value=median(a - b for a, b in pairs),
            bar=100, dream=50, at_least=False, unit="ms",
        ),
        Ratio(
            what="memory of an idle worker", value=median(kept.rows["idle worker MB"]), bar=60,
            dream=40, at_least=False, unit="MB",
        ),
    ]  # fmt: skip


def process_ms(code: str) -> float:
    """How long a fresh process takes for it, from start to exit; what is compiled stays so."""
    kept = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=kept)
    return (time.perf_counter() - began) * 1e3


def idle_worker_mb() -> float:
    with tempfile.TemporaryDirectory(dir=HERE, prefix=".product-") as folder:
        command = [sys.executable, "-c", IDLE, folder]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)
