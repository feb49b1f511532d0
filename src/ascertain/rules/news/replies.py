"""What stands in the body of a reply, HTTP or other: refusal codes and references.

Everything here looks at foreign data and believes nothing: a path that leads nowhere, a property
that raises and a body that is no JSON are all "not said". Texts for people are never read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from ascertain.model.contract import Contract, RefusalRule
from ascertain.model.outcome import Kind
from ascertain.rules.news.exceptions import leaf_key, peek
from ascertain.rules.news.http import LONGEST_S

LONGEST_REF: Final = 512
LONGEST_CODE: Final = 200

PROVIDER_KINDS: Final = frozenset(
    {
        Kind.BUSINESS, Kind.INVALID, Kind.AUTH, Kind.ALREADY_EXISTS, Kind.KEY_REUSE,
        Kind.THROTTLED, Kind.UNAVAILABLE, Kind.IN_PROGRESS,
    }
)  # fmt: skip
"""What a provider can mean; the other kinds are our own words."""


# ------------------------------------------------------------------------------- reading values


SCALARS: Final = (str, bytes, int, float)
_ROWS: Final = (list, tuple)


def is_map(value: Any) -> bool:
    """Whether a value has named members."""
    return type(value) is dict or isinstance(value, Mapping)


def read_path(body: Any, path: str) -> Any:
    """Follow a dotted path (``errors.0.code``) through mappings, lists and attributes."""
    for name in path.split("."):
        if is_map(body):
            body = _item(body, name)
        elif body is None or isinstance(body, SCALARS) or name[:1] in ("_", ""):
            return None
        elif isinstance(body, _ROWS):
            row = cast("Sequence[Any]", body)
            body = row[int(name)] if _is_index(name, len(row)) else None
        else:
            body = peek(body, name)
    return body


def _is_index(name: str, length: int) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 10 and int(name) < length


def _item(body: Any, name: str) -> Any:
    try:
        return body.get(name)
    except Exception:
        return None


def ref_of(value: Any) -> str | None:
    """A reference, if the value can be one: a non-blank string or a whole number."""
    if isinstance(value, str):
        return str(value) if value.strip() and len(value) <= LONGEST_REF else None
    if isinstance(value, int) and not isinstance(value, bool):
        return _number(value)
    return str(value) if leaf_key(value) == "uuid.UUID" else None


def code_of(value: Any) -> str | None:
    """A machine's code, if the value can be one."""
    if isinstance(value, str):
        return value[:LONGEST_CODE] or None
    if isinstance(value, int) and not isinstance(value, bool):
        return _number(value)
    return None


def seconds_of(value: Any) -> float | None:
    """A length of time in seconds, if the value can be one."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LONGEST_S:
        return float(value)
    return None


def _number(value: int) -> str | None:
    # Beyond 64 digits it is neither a code nor a reference (and str() has a limit of its own).
    return str(int(value)) if value.bit_length() <= 212 else None


_NOT_RECEIPTS: Final = frozenset({"request_id", "trace_id", "correlation_id", "span_id"})
_WELL_KNOWN: Final = ("id", "ref", "reference")
_NO_RECORD: Final = (*SCALARS, *_ROWS)


def receipt_in(value: Any, contract: Contract) -> str | None:
    """The provider's reference in a returned value.

    By the contract's path if it has one; else ``<noun>_id``, ``id``, ``ref``, ``reference``, or the
    only ``*_id`` that is no argument of the tool, at the top level.
    """
    if contract.receipt:
        return ref_of(read_path(value, contract.receipt))
    record = is_map(value)
    if not record and (value is None or isinstance(value, _NO_RECORD)):
        return None
    read = _item if record else peek
    found = read(value, f"{contract.noun}_id")
    if found is not None and (ref := ref_of(found)) is not None:
        return ref
    for name in _WELL_KNOWN:
        found = read(value, name)
        if found is not None and (ref := ref_of(found)) is not None:
            return ref
    return _only_id(value, contract) if record else None


_HANDLES: Final = ("handle", "job", "job_id", "operation", "operation_id")


def handle_in(value: Any) -> str | None:
    """The handle of a job that a reply says it started, under one of the usual names."""
    if not is_map(value):
        return None
    for name in _HANDLES:
        if (ref := ref_of(_item(value, name))) is not None:
            return ref
    return None


def _only_id(body: Mapping[Any, Any], contract: Contract) -> str | None:
    only: str | None = None
    for name in body:
        if not isinstance(name, str) or not name.endswith("_id") or name in _NOT_RECEIPTS:
            continue
        if name in contract.identity or name in contract.wording:
            continue
        if only is not None:
            return None
        only = name
    return None if only is None else ref_of(_item(body, only))


# ----------------------------------------------------------------------------- refusals in bodies


class Refusal(NamedTuple):
    """A refusal that the contract knows. ``kind`` None: the contract's word for it is unknown."""

    kind: Kind | None
    code: str | None
    related_ref: str | None


def provider_kind(word: Any) -> Kind | None:
    """The kind of that name, if a provider can mean it."""
    try:
        kind = Kind(word)
    except (ValueError, TypeError):
        return None
    return kind if kind in PROVIDER_KINDS else None


def declared_refusal(
    rules: tuple[RefusalRule, ...], body: Any, *, status: int | None, code: str | None
) -> Refusal | None:
    """Match a reply against the contract; a named code goes before ``*``.

    :param code: a code that came apart from the body (an SDK's, a protocol's); only named codes
        match it.
    """
    any_code: Refusal | None = None
    for rule in rules:
        if rule.http_status is not None and rule.http_status != status:
            continue
        found = code_of(read_path(body, rule.code_path))
        if rule.code != "*":
            if rule.code in (found, code):
                return _refusal(rule, rule.code, body)
        elif any_code is None and (found or (rule.http_status or 0) >= 300):
            any_code = _refusal(rule, found or code, body)
    return any_code


def _refusal(rule: RefusalRule, code: str | None, body: Any) -> Refusal:
    related = ref_of(read_path(body, rule.related_path)) if rule.related_path else None
    return Refusal(kind=provider_kind(rule.kind), code=code, related_ref=related)


def error_in(body: Any, paths: tuple[str, ...]) -> tuple[bool, str | None]:
    """Whether one of the paths leads to an error, and its code if that is a code."""
    for path in paths:
        found = read_path(body, path)
        if found is not None and _says_something(found):
            return True, code_of(found)
    return False, None


def _says_something(found: Any) -> bool:
    """Whether there is an error: null, 0, "", false and [] say that there was none."""
    return isinstance(found, _TELLING) and found not in _NOTHING


_TELLING: Final = (str, int, float, list, tuple, dict)
_NOTHING: Final[tuple[Any, ...]] = ("", 0, [], (), {})
_FLAGS: Final = {"ok": False, "success": False, "isError": True, "is_error": True}
_NAMES: Final = frozenset({"error", "errors", *_FLAGS})


def looks_like_error(body: Any) -> bool:
    """Whether a body that no rule knows says of itself that something went wrong."""
    record = is_map(body)
    if record and _NAMES.isdisjoint(body):
        return False
    read = _item if record else peek
    if any(read(body, name) is flag for name, flag in _FLAGS.items()):
        return True
    return record and any(_says_something(_item(body, name)) for name in ("error", "errors"))


_MARKS: Final = (
    ("alreadyexist", "duplicate_refusal"),
    ("duplicate", "duplicate_refusal"),
    ("idempot", "duplicate_refusal"),
    ("inprogress", "duplicate_refusal"),
    ("throttl", "throttled"),
    ("ratelimit", "throttled"),
    ("requestlimit", "throttled"),
    ("toomanyrequests", "throttled"),
    ("slowdown", "throttled"),
)


def unsettled_code(code: str | None) -> str | None:
    """The reason why a code is no refusal of this attempt, whatever the status beside it.

    Providers send "already exists" and "throttled" with 400 and 503 as well as 409 and 429.
    """
    if code is None:
        return None
    bare = "".join(letter for letter in code.lower() if letter.isalnum())
    return next((reason for mark, reason in _MARKS if mark in bare), None)
