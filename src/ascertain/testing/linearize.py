"""Whether a history of reads and writes of one register could have happened one after the other.

The search of Wing and Gong, with what has been seen remembered: at each moment any operation may
come next whose beginning does not lie after the end of another that is still to come. Operations
without an end are pending: they may have taken effect at any time after their beginning, or never.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple


class Op(NamedTuple):
    """A ``write`` of a value, or ``read`` that gave it; its ``end`` is inf while pending."""

    kind: str
    value: object
    start: float
    end: float = inf


def linearizable(history: Sequence[Op], initial: object = None) -> bool:
    """Whether one order explains all reads; pending reads say nothing and are left out."""
    ops = sorted(
        (op for op in history if op.kind == "write" or op.end < inf), key=lambda op: op.start
    )
    done_at_end = sum(1 << place for place, op in enumerate(ops) if op.end < inf)
    seen: set[tuple[int, object]] = set()
    ways: list[tuple[int, int, object]] = [(0, 0, initial)]
    while ways:
        first, done, value = ways.pop()
        if done & done_at_end == done_at_end:
            return True
        if (done, value) in seen:
            continue
        seen.add((done, value))
        while done >> first & 1:
            first += 1
        for place in _next(ops, first, done):
            op = ops[place]
            if op.kind == "read" and op.value != value:
                continue
            after = op.value if op.kind == "write" else value
            ways.append((first, done | 1 << place, after))
    return False


def _next(ops: Sequence[Op], first: int, done: int) -> list[int]:
    """Those that may come next, the one that ends first last (it is tried first)."""
    soonest = inf
    candidates: list[int] = []
    for place in range(first, len(ops)):
        if ops[place].start > soonest:
            break
        if not done >> place & 1:
            candidates.append(place)
            soonest = min(soonest, ops[place].end)
    return sorted(
        (place for place in candidates if ops[place].start <= soonest),
        key=lambda place: -ops[place].end,
    )
