"""JSON as the ledger writes it: ASCII, no blanks, order as given."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from json import encoder
from typing import Any


def _refuse(value: object) -> Any:
    raise TypeError(f"{type(value).__name__} has no JSON form.")


_slow = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":")
)
# JSONEncoder builds its C encoder anew for each value; one that is built once is twice as fast.
_make: Callable[..., Callable[[Any, int], Iterable[str]]] | None
_make = getattr(encoder, "c_make_encoder", None)
_chunks = _make and _make(
    None, _refuse, encoder.encode_basestring_ascii, None, ":", ",", False, False, False
)


def compact_json(value: Any) -> str:
    """The value as JSON: one line of ASCII.

    :raises TypeError: a value that JSON does not have.
    :raises ValueError: a number that is not finite.
    """
    return _slow.encode(value) if _chunks is None else "".join(_chunks(value, 0))
