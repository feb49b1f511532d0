"""A call as a model wrote it: complete and well-formed, or not made at all."""

from __future__ import annotations

import json
import math
from typing import Any, Final, cast

from ascertain.errors import InvalidArguments
from ascertain.values.canonical import MAX_BYTES, MAX_DEPTH
from ascertain.values.misfit import Misfit, describe, inexact, path_of, too_large
from ascertain.values.walk import measure

_EXPECTED: Final = "one complete JSON object"


def parse_call(
    text: str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH
) -> dict[str, Any]:
    """The arguments in a model's call, exactly as it wrote them.

    Integers keep their value whatever their size. A call that was cut off, that has text after its
    end, or that names a member twice is refused: what it means would be a guess.

    :raises InvalidArguments: not one complete JSON object; ``context["position"]`` is the character
        at which it stops being one.
    :raises NotCanonical: NaN, or a number beyond all floats.
    :raises ArgumentsTooLarge: more bytes or deeper nesting than allowed.
    """
    try:
        return _parsed(text, max_bytes, max_depth)
    except Misfit as found:
        raise found.as_error() from None
    except json.JSONDecodeError as error:
        at, end = error.pos, len(text)
        cut_off = at >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        what = "it was cut off" if cut_off else error.msg
        raise InvalidArguments(
            f"The call is not {_EXPECTED}: {what}, at character {at} of {end}.",
            path="",
            expected=_EXPECTED,
            got=what,
            position=at,
        ) from None


def _parsed(text: str, max_bytes: int, max_depth: int) -> dict[str, Any]:
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Misfit(describe(text), expected="the JSON text of a call")
    if len(text) > max_bytes or len(text.encode(errors="surrogatepass")) > max_bytes:
        raise too_large(f"the JSON of the call is more than {max_bytes} bytes")
    try:
        value: Any = _strict(text)
    except RecursionError:
        raise too_large("nested deeper than is allowed") from None
    except json.JSONDecodeError:
        raise
    except ValueError:
        raise too_large("an integer with more digits than this process may read") from None
    if type(value) is not dict:
        raise Misfit(describe(value), expected=_EXPECTED)
    call = cast("dict[str, Any]", value)
    measure(call, max_bytes, max_depth)
    return call


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Misfit(f"the member {path_of([twice])} stands twice in one object")
    return members


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise inexact("a number beyond all floats")
    return value


def _constant(text: str) -> Any:
    raise inexact("NaN" if text == "NaN" else "an infinite number")


_strict: Final = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=_float, parse_constant=_constant
).decode
