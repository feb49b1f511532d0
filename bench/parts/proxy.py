"""What the MCP proxy adds to a read over stdio, beside the bare server."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from statistics import median, quantiles

from kept import Kept, Measured, Ratio, Size

from parts.others import not_installed

BARE, PROXIED = "MCP read, bare", "MCP read, through the proxy"
BAR_MS = 1.5


def missing() -> str:
    """Why it cannot be measured here; empty where it can."""
    return not_installed("mcp")


def measure(kept: Kept, size: Size) -> None:
    import mcp_reads

    rounds, many = (1, 200) if size.quick else (5, 500)
    with tempfile.TemporaryDirectory() as folder:
        for round_of in asyncio.run(mcp_reads.in_turn(Path(folder), rounds, many)):
            kept.measure(BARE, lambda r=round_of: _measured(r.bare))
            kept.measure(PROXIED, lambda r=round_of: _measured(r.proxied))


def ratios(kept: Kept) -> list[Ratio]:
    pairs = zip(kept.rows[PROXIED], kept.rows[BARE], strict=True)
    added_ms = median(proxied.p50_ms - bare.p50_ms for proxied, bare in pairs)
    return [
        Ratio(
            what="read through the MCP proxy on stdio, added p50", value=added_ms, bar=BAR_MS,
            at_least=False, unit="ms",
        )
    ]  # fmt: skip


def _measured(took: list[float]) -> Measured:
    """Times of one caller, one after the other; what the three processes spend is not looked at."""
    return Measured(
        callers=1, calls=len(took), per_s=len(took) / sum(took), p50_ms=median(took) * 1e3,
        p99_ms=quantiles(took, n=100)[98] * 1e3, cpu_us=0.0,
    )  # fmt: skip
