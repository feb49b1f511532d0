"""What a run has measured, and the lines that compare it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

COLUMNS = ("per_s", "p50_ms", "p99_ms", "cpu_us")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One measurement: calls per second, times of a call, CPU of the whole process per call."""

    callers: int
    calls: int
    per_s: float
    p50_ms: float
    p99_ms: float
    cpu_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured: rounds, calls of many callers, calls of a lone one."""

    rounds: int
    many: int
    alone: int

    @property
    def quick(self) -> bool:
        return self.rounds == 1


QUICK = Size(rounds=1, many=2000, alone=300)
FULL = Size(rounds=5, many=8000, alone=1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One line of the result: what, how it compares, and the least (or most) that is wanted.

    ``bar`` None: nothing is wanted, it is told for information.
    """

    what: str
    value: float
    bar: float | None = None
    dream: float | None = None
    at_least: bool = True
    unit: str = "x"

    @property
    def met(self) -> bool:
        if self.bar is None:
            return True
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    @property
    def verdict(self) -> str:
        if self.bar is None:
            return "for information"
        if self.met:
            return "ok"
        return "BELOW THE BAR" if self.at_least else "ABOVE THE BAR"

    def line(self) -> str:
        value = f"{self.value:.2f}{self.unit}"
        if self.bar is None:
            return f"{self.what:56} {value:>9}  {self.verdict}"
        sign = ">=" if self.at_least else "<="
        wanted = f"bar {sign} {self.bar:g}"
        if self.dream is not None:
            wanted = f"{wanted} (dream {self.dream:g})"
        return f"{self.what:56} {value:>9}  {wanted}  {self.verdict}"


@dataclass(slots=True)
class Kept:
    """Everything measured so far, by name, and what was asserted of the settings it ran with."""

    rows: dict[str, list[Any]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    def measure(self, name: str, work: Callable[[], Any]) -> Any:
        """Do it now, and keep what it took. A line on the terminal says what is going on."""
        if sys.stderr.isatty():
            print(f"  {name} ...".ljust(60), end="\r", file=sys.stderr, flush=True)
        self.rows.setdefault(name, []).append(found := work())
        if sys.stderr.isatty():
            print(" " * 60, end="\r", file=sys.stderr, flush=True)
        return found

    def has(self, *names: str) -> bool:
        return all(name in self.rows for name in names)

    def over(self, name: str, base: str, of: Callable[[Any], float]) -> float:
        """The median of pairs that were measured right after each other."""
        return median(of(a) / of(b) for a, b in zip(self.rows[name], self.rows[base], strict=True))

    def tables(self) -> Iterator[tuple[str, list[float]]]:
        """The medians of what has the usual columns."""
        for name, rounds in self.rows.items():
            rows = [row[0] if isinstance(row, tuple) else row for row in rounds]
            if all(hasattr(row, column) for row in rows for column in COLUMNS):
                yield name, [median(getattr(row, column) for row in rows) for column in COLUMNS]

    def plain(self) -> dict[str, list[Any]]:
        return {name: [_plain(row) for row in rows] for name, rows in self.rows.items()}


def rate(measured: Any) -> float:
    """Calls per second."""
    return float(measured.per_s)


def p50(measured: Any) -> float:
    """Milliseconds of a call, the middle one."""
    return float(measured.p50_ms)


def _plain(row: Any) -> Any:
    if isinstance(row, tuple):
        return [_plain(part) for part in row]
    return asdict(row) if hasattr(row, "__dataclass_fields__") else row
