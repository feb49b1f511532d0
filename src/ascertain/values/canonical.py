"""One text for one value: canonical JSON, and what of it makes an intent.

Canonical text orders and escapes as RFC 8785 does (member names by UTF-16 code units, only what
must be escaped is). Numbers keep their exact value, which is where this text and RFC 8785 differ:

* integers are written in full, whatever their size;
* floats are written in the shortest form that reads back the same; one without a fraction, below
  2**53, is written as the integer that it is, so that ``10.0`` and ``10`` meet;
* a Decimal is a string with its exact digits (``"10.00"``), for money.

NaN, infinities, lone surrogates, bytes, sets and member names that are not strings have no
canonical text. A tuple is an array.

Two texts are made of the same arguments. :func:`canonical` is what is stored and sent again.
:func:`identity_text` is what makes an intent: there values meet that differ in nothing that
matters.
"""

from __future__ import annotations

import hashlib
import json
import json.encoder
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from ascertain.values.misfit import (
    Misfit,
    describe,
    is_array,
    is_object,
    kind_of,
    too_large,
)
from ascertain.values.walk import (
    BIG,
    FEW,
    SHORT,
    IdentityWalk,
    NativeWalk,
    PlainWalk,
    Walk,
    bare,
)

MAX_BYTES: Final = 1_000_000
MAX_DEPTH: Final = 64
_WIDE: Final = re.compile("[\ud800-\U0010ffff]")


def encoder(make: Any, *, ordered: bool) -> Callable[[Any], str]:
    """An encoder that is built once (``json.JSONEncoder.encode`` builds one for each call).

    :param make: the C encoder's constructor; None where the interpreter has none.
    :param ordered: write members as they stand, instead of sorting their names.
    """
    if make is None:
        return json.JSONEncoder(
            ensure_ascii=False,
            check_circular=False,
            allow_nan=False,
            sort_keys=not ordered,
            separators=(",", ":"),
        ).encode
    basestring = json.encoder.encode_basestring
    refuse = json.JSONEncoder().default
    write = make(None, refuse, basestring, None, ":", ",", not ordered, False, False)
    join = "".join
    return lambda value: join(write(value, 0))


_c_encoder: Any = getattr(json.encoder, "c_make_encoder", None)
_write: Final = encoder(_c_encoder, ordered=False)
_write_ordered: Final = encoder(_c_encoder, ordered=True)


def canonical(value: Any, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> str:
    """The canonical JSON text of a value.

    :param max_bytes: bound on the UTF-8 size of the text; checked before costly work.
    :param max_depth: bound on nested arrays and objects.
    :raises NotCanonical: a value that JSON cannot hold exactly, with its path.
    :raises ArgumentsTooLarge: beyond a bound, with the path where it was noticed.
    """
    return _quick(value, max_bytes) or _told(Walk(max_bytes), value, max_bytes, max_depth)


def canonical_native(value: Any, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> str:
    """As :func:`canonical`, for a value that may hold dates, UUIDs, Enums, dataclasses and models.

    What it reads back as is plain JSON; the annotation, if there is one, says what it was.
    """
    return _quick(value, max_bytes) or _told(NativeWalk(max_bytes), value, max_bytes, max_depth)


def _quick(value: Any, max_bytes: int) -> str | None:
    if kind_of(value) is not dict:
        return None
    text = flat_text(value)
    return text if text is not None and len(text) * 4 <= max_bytes else None


def plain_copy(value: Any, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> Any:
    """A copy made of JSON's own types, equal to what its canonical text reads back as.

    Unlike :func:`canonical` it refuses a Decimal: nothing would say later that it was one.

    :raises Misfit: a value that JSON cannot hold exactly, or one beyond the bounds.
    """
    return PlainWalk(max_bytes).visit(value, max_depth)


def flat_text(value: dict[Any, Any]) -> str | None:
    """The canonical text of an object of a few short scalars; None if it needs a closer look."""
    if len(value) > FEW:
        return None
    for name, item in value.items():
        kind = kind_of(item)
        if kind is str:
            if len(item) > SHORT:
                return None
        elif kind is int:
            if not -BIG < item < BIG:
                return None
        elif kind is not bool and item is not None:
            return None
        if type(name) is not str or len(name) > SHORT:
            return None
    return _sound(_write(value))


def exact_text(forms: dict[str, Any]) -> str:
    """The canonical text of JSON forms as shapes write them: JSON's own types, exact numbers.

    :raises NotCanonical: a lone surrogate. :raises ArgumentsTooLarge: beyond the bounds.
    """
    try:
        text = _sound(_write(forms))
    except ValueError:  # an integer too long for this process; the walk says which
        text = None
    return text if text is not None and len(text) * 3 <= MAX_BYTES else canonical(forms)


def _sound(text: str) -> str | None:
    """The text if no surrogate is in it, and no name whose order UTF-16 changes."""
    return text if text.isascii() or not _WIDE.search(text) else None


def _told(walk: Walk, value: Any, max_bytes: int, max_depth: int) -> str:
    try:
        plain = walk.visit(value, max_depth)
        text = _write_ordered(_in_utf16_order(plain)) if walk.wide else _write(plain)
        # Escapes may have made it longer than was counted.
        if len(text) > max_bytes or (not text.isascii() and len(text.encode()) > max_bytes):
            raise too_large(f"more than {max_bytes} bytes of JSON")
    except Misfit as found:
        raise found.as_error() from None
    except ValueError:  # this process was told to write even shorter integers than Python does
        refusal = too_large("an integer with more digits than this process may write")
        raise refusal.as_error() from None
    return text


def _in_utf16_order(plain: Any) -> Any:
    if is_object(plain):
        names = sorted(plain, key=lambda name: name.encode("utf-16-be"))
        return {name: _in_utf16_order(plain[name]) for name in names}
    if is_array(plain):
        return [_in_utf16_order(item) for item in plain]
    return plain


def digest(text: str) -> str:
    """A short name for a text: 128 bits of BLAKE2b, as 32 hexadecimal digits."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def identity_text(
    values: Mapping[str, Any],
    normalisers: Mapping[str, Callable[[Any], Any]] | None = None,
) -> str:
    """The text by which an intent is recognised, made of its identity arguments.

    Strings are brought to NFC, CRLF becomes LF, and outer white space goes; equal Decimals meet
    (``10.0`` and ``10.00``), as do equal instants in different time zones; numbers meet as in
    :func:`canonical`. Member names stay as they are. What is *sent* is never this text, always the
    original.

    :param values: native values by argument name, as in ``Bound.values``.
    :param normalisers: for each argument that needs one, what its values that mean the same have
        in common (``str.casefold``); it sees the native value first.
    :raises InvalidArguments: a normaliser raised.
    :raises NotCanonical: a value without a JSON form.
    """
    shown = dict(values)
    for name, normaliser in (normalisers or {}).items():
        if name in shown:
            shown[name] = _normalised(name, shown[name], normaliser)
    return _quick_identity(shown) or _told(IdentityWalk(MAX_BYTES), shown, MAX_BYTES, MAX_DEPTH)


def _quick_identity(values: dict[Any, Any]) -> str | None:
    """What the walk would write of a few short scalars in ASCII; None if it has to look."""
    shown: dict[Any, Any] = {}
    for name, item in values.items():
        if type(item) is str:
            if len(item) > SHORT or not item.isascii():
                return None
            shown[name] = bare(item)
        else:
            shown[name] = item
    return flat_text(shown)


def _normalised(name: str, value: Any, normaliser: Callable[[Any], Any]) -> Any:
    try:
        return normaliser(value)
    except Exception as error:
        got = f"{describe(value)} on which its normaliser raised {type(error).__name__}"
        raise Misfit(got).within(name).as_error() from None
