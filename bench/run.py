"""The bench: the raw floor and the product, interleaved in one run on one machine; ratios.

    python bench/run.py [--quick] [--json FILE]

A ratio compares medians of pairs measured right after each other. The bars are the least that is
wanted; a run on a busy machine says little, so the load is printed too.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import floor
import product

COLUMNS = ("per_s", "p50_ms", "p99_ms", "cpu_us")


@dataclass(frozen=True, slots=True)
class Ratio:
    """One line of the result: what, how it compares, and the least (or most) that is wanted."""

    what: str
    value: float
    bar: float | None
    dream: float | None
    at_least: bool
    unit: str = "x"

    @property
    def met(self) -> bool:
        if self.bar is None:
            return True
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def line(self) -> str:
        if self.bar is None:
            return f"{self.what:52} {self.value:.2f}{self.unit}  for information"
        sign = ">=" if self.at_least else "<="
        verdict = "ok" if self.met else "BELOW THE BAR" if self.at_least else "ABOVE THE BAR"
        value = f"{self.value:.2f}{self.unit}"
        return (
            f"{self.what:52} {value:>9}  bar {sign} {self.bar:g} (dream {self.dream:g})  {verdict}"
        )


def measure(rounds: int, many: int, alone: int) -> dict[str, list[Any]]:
    """Interleave floor and product, ``rounds`` times."""
    kept: dict[str, list[Any]] = {}

    def keep(name: str, work: Callable[[], Any]) -> None:
        print(f"  {name} ...", end="\r", file=sys.stderr, flush=True)
        kept.setdefault(name, []).append(work())

    for _ in range(rounds):
        keep("fsync", floor.fsync_cost)
        keep("floor lone", lambda: floor.lone(alone))
        with product.shop() as shop:
            keep("write lone sync", lambda: product.lone_sync(shop, alone))
            keep("write lone async", lambda: product.writes(shop, 1, alone))
            keep("replay", lambda: product.replays(shop, alone))
            keep("read", lambda: product.reads(shop, alone))
        for callers in (64, 256):
            keep(f"floor {callers}", lambda callers=callers: floor.grouped(callers, 3 * many))
            with product.shop() as shop:
                keep(f"write {callers}", lambda c=callers, s=shop: product.writes(s, c, many))
        with product.shop() as shop:
            keep("two writes 64", lambda: product.pairs(shop, 64, many // 4, chained=False))
            keep("query, refund 64", lambda: product.pairs(shop, 64, many // 4, chained=True))
    keep("import", product.import_ms)
    print(" " * 40, end="\r", file=sys.stderr)
    return kept


def ratios(kept: dict[str, list[Any]]) -> list[Ratio]:
    """Compare what was measured in the same round; the median of the rounds."""

    def over(name: str, base: str, of: Callable[[Any], float]) -> float:
        return median(of(a) / of(b) for a, b in zip(kept[name], kept[base], strict=True))

    def rate(measured: Any) -> float:
        return float(measured.per_s)

    def p50(measured: Any) -> float:
        return float(measured.p50_ms)

    added = median(guarded.p50_ms * 1e3 - bare_us for guarded, bare_us in kept["read"])
    share, over_floor, added_time = "share of the group-commit floor", "p50 over the raw", "added"
    return [
        Ratio(f"64 async callers, {share}", over("write 64", "floor 64", rate), 0.20, 0.35, True),
        Ratio(
            f"256 async callers, {share}",
            over("write 256", "floor 256", rate), None, None, True,
        ),
        Ratio(
            f"lone sync {over_floor} two commits",
            over("write lone sync", "floor lone", p50), 2.5, 1.8, False,
        ),
        Ratio(
            f"lone async {over_floor} two commits",
            over("write lone async", "floor lone", p50), 3.5, 2.5, False,
        ),
        Ratio(f"guarded read, {added_time} time", added, 60, 20, False, "us"),
        Ratio(
            "64 sessions, cost of query-then-refund over two writes",
            over("two writes 64", "query, refund 64", rate), 1.3, 1.0, False,
        ),
        Ratio(
            f"64 sessions, query then refund, {share}",
            over("query, refund 64", "floor 64", rate), None, None, True,
        ),
        Ratio("import, over a bare interpreter", kept["import"][0], 100, 50, False, "ms"),
    ]  # fmt: skip


def table(kept: dict[str, list[Any]]) -> None:
    """All measurements, medians over the rounds."""
    fsync = median(cost.p50_us for cost in kept["fsync"])
    print(
        f"fdatasync of 8 kB: p50 {fsync:.0f} us; load {os.getloadavg()[0]:.1f} on {os.cpu_count()}"
    )
    print(f"{'':20} {'calls/s':>9} {'p50 ms':>8} {'p99 ms':>8} {'CPU us':>7}")
    for name, rounds in kept.items():
        if name in ("fsync", "import"):
            continue
        rows = [row[0] if isinstance(row, tuple) else row for row in rounds]
        numbers = [median(getattr(row, field) for row in rows) for field in COLUMNS]
        print(f"{name:20} {numbers[0]:9.0f} {numbers[1]:8.2f} {numbers[2]:8.2f} {numbers[3]:7.0f}")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="The raw floor and the product in one run.")
    parser.add_argument("--quick", action="store_true", help="one short round, for a first look")
    parser.add_argument("--json", type=Path, help="also write everything measured to this file")
    asked = parser.parse_args(arguments)
    kept = measure(1, 2000, 300) if asked.quick else measure(5, 8000, 1000)
    found = ratios(kept)
    table(kept)
    print()
    for ratio in found:
        print(ratio.line())
    if asked.json:
        plain = {name: [_plain(row) for row in rows] for name, rows in kept.items()}
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        report = {"measured": plain, "ratios": [asdict(ratio) for ratio in found]}
        asked.json.write_text(json.dumps(report, indent=1))
    return 0 if all(ratio.met for ratio in found) else 1


def _plain(row: Any) -> Any:
    if isinstance(row, tuple):
        return [_plain(part) for part in row]
    return asdict(row) if hasattr(row, "__dataclass_fields__") else row


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
