"""What a run has found: as text, as JSON, and as a page with plots."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from statistics import median

from kept import Kept, Ratio

WIDTH, LINE, NAMES = 760, 26, 280
BARS = {"ours": "#2563eb", "others": "#9ca3af"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of the bench. ``load``: of the machine before it began."""

    kept: Kept
    ratios: list[Ratio]
    left_out: dict[str, str]
    quick: bool
    load: float
    took_s: float

    def machine(self) -> str:
        return (
            f"{os.cpu_count()} cores, load {self.load:.1f} before it began, "
            f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
            f"{platform.system()} {platform.machine()}"
        )


def as_text(run: Run) -> str:
    return "\n".join(_lines(run))


def _lines(run: Run) -> Iterator[str]:
    yield run.machine()
    if run.kept.has("fsync"):
        cost = median(one.p50_us for one in run.kept.rows["fsync"])
        yield f"fdatasync of 8 kB: p50 {cost:.0f} us"
    for name, said in run.kept.settings.items():
        yield f"{name}: {said}"
    yield ""
    yield f"{'':28} {'calls/s':>9} {'p50 ms':>8} {'p99 ms':>8} {'CPU us':>7}"
    for name, (per_s, p50_ms, p99_ms, cpu_us) in run.kept.tables():
        yield f"{name:28} {per_s:9.0f} {p50_ms:8.2f} {p99_ms:8.2f} {cpu_us:7.0f}"
    yield ""
    yield from (ratio.line() for ratio in run.ratios)
    yield from (f"{name}: left out, {why}" for name, why in run.left_out.items())


def write(run: Run, folder: Path) -> Path:
    """Write ``bench.json``, ``bench.md`` and the plots; returns the page."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": run.machine(),
        "quick": run.quick,
        "took_s": run.took_s,
        "settings": run.kept.settings,
        "left_out": run.left_out,
        "measured": run.kept.plain(),
        "ratios": [asdict(ratio) | {"met": ratio.met} for ratio in run.ratios],
    }
    (folder / "bench.json").write_text(json.dumps(found, indent=1))
    rates = [(name, row[0]) for name, row in run.kept.tables()]
    (folder / "rates.svg").write_text(plot("calls per second", rates))
    page = folder / "bench.md"
    page.write_text("\n".join(_page(run, found["at"])))
    return page


def _page(run: Run, at: object) -> Iterator[str]:
    yield f"# The bench of {at}\n"
    command = f"make bench{' ARGS=--quick' if run.quick else ''}"
    yield f"`{command}`, {run.took_s:.0f} s. {run.machine()}."
    for name, said in run.kept.settings.items():
        yield f"* {name}: {said}"
    yield "\n| what | value | bar | dream | |\n|---|---|---|---|---|"
    for ratio in run.ratios:
        sign = ">=" if ratio.at_least else "<="
        bar = "" if ratio.bar is None else f"{sign} {ratio.bar:g}"
        dream = "" if ratio.dream is None else f"{ratio.dream:g}"
        value = f"{ratio.value:.2f}{ratio.unit}"
        yield f"| {ratio.what} | {value} | {bar} | {dream} | {ratio.verdict} |"
    for name, why in run.left_out.items():
        yield f"| {name} | left out: {why} | | | |"
    yield "\n| measured (medians) | calls/s | p50 ms | p99 ms | CPU us |\n|---|---|---|---|---|"
    for name, (per_s, p50_ms, p99_ms, cpu_us) in run.kept.tables():
        yield f"| {name} | {per_s:.0f} | {p50_ms:.2f} | {p99_ms:.2f} | {cpu_us:.0f} |"
    yield "\n![calls per second](rates.svg)\n"


def plot(title: str, rows: Iterable[tuple[str, float]]) -> str:
    """Bars, as an SVG that is readable on white and on black."""
    rows = list(rows)
    most = max((value for _, value in rows), default=1.0)
    height = LINE * (len(rows) + 1)
    box = f'viewBox="0 0 {WIDTH} {height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="system-ui" font-size="13">',
        f"<title>{escape(title)}</title>",
        "<style>text{fill:#111827}@media(prefers-color-scheme:dark){text{fill:#e5e7eb}}</style>",
    ]
    for n, (name, value) in enumerate(rows):
        y = LINE * n + 6
        length = max(1.0, (WIDTH - NAMES - 90) * value / most)
        raw = any(word in name for word in ("floor", "DBOS", "LangGraph"))
        color = BARS["others" if raw else "ours"]
        parts += [
            f'<text x="{NAMES - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{NAMES}" y="{y}" width="{length:.1f}" height="17" rx="3" fill="{color}"/>',
            f'<text x="{NAMES + length + 6:.1f}" y="{y + 13}">{value:,.0f}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])
