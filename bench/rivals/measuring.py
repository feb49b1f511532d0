"""What a rival's action is, and how its time is taken; the same as the floor's."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))  # the bench, where the floor lies

from floor import ARGUMENTS, RESULT

__all__ = ["ARGUMENTS", "RESULT", "measure"]


async def measure(
    one: Callable[[], Awaitable[None]], callers: int, actions: int
) -> dict[str, float]:
    """Do ``actions`` actions by ``callers`` tasks, after a tenth of them to warm up."""

    async def play(count: int) -> list[float]:
        left = iter(range(count))
        took: list[float] = []

        async def caller() -> None:
            for _ in left:
                began = time.perf_counter()
                await one()
                took.append(time.perf_counter() - began)

        await asyncio.gather(*(caller() for _ in range(callers)))
        return sorted(took)

    await play(max(callers, actions // 10))
    began, cpu = time.perf_counter(), time.process_time()
    took = await play(actions)
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    return {
        "callers": callers,
        "calls": actions,
        "per_s": actions / wall_s,
        "p50_ms": took[len(took) // 2] * 1e3,
        "p99_ms": took[len(took) * 99 // 100] * 1e3,
        "cpu_us": cpu_s / actions * 1e6,
    }
