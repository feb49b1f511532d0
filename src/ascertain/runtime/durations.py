"""Durations as people write them."""

from __future__ import annotations

import re
from math import inf

from ascertain.errors import ContractError

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\Z")


def seconds(value: object, what: str = "duration") -> float | None:
    """A duration in seconds: a number, or text such as ``10s``, ``15m``, ``24h``, ``7d``.

    :raises ContractError: neither.
    """
    if value is None:
        return None
    if isinstance(value, str):
        found = _DURATION.match(value.strip())
        if found is None:
            raise ContractError(f"{what}={value!r} is not a duration (10s, 15m, 24h, 7d).")
        return float(found[1]) * UNITS[found[2]]
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < inf:
        raise ContractError(f"{what}={value!r} is not a duration in seconds.")
    return float(value)
