"""What an HTTP status says about a write, and what ``Retry-After`` says about time.

A status is judged alone only where it settles the matter whoever sent it; everything else is for
the contract, or stays unknown. 429 and 5xx are advice: the effect may have come before the answer.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple

from ascertain.model.outcome import Kind

OK: Final = frozenset(range(200, 300)) - {202, 207, 208}
"""Statuses by which a reply says "done": 202 promises nothing, 207 is partial, 208 is disputed."""

LOOKUP_BROKE: Final = frozenset({401, 403, 407, 408, 425, 429})
"""With these (and 3xx, 5xx) a look-up was not answered, whatever its code made of them."""

LONGEST_S: Final = 1e9


class Meaning(NamedTuple):
    """One row: the kind of a definite refusal, or None where the effect stays unknown."""

    reason: str
    kind: Kind | None = None


REASONS: Final[dict[str, str]] = {
    "http_400": "The provider found the request malformed.",
    "http_401": "The provider wants a login.",
    "http_402": "The provider asks for payment; that proves nothing about the effect.",
    "http_403": "The provider does not permit this.",
    "http_404": "The provider knows no such target.",
    "http_405": "The provider does not offer this method there.",
    "http_406": "The provider cannot answer in the form that was asked for.",
    "http_407": "A proxy wants a login and did not pass the request on.",
    "http_408": "The server says it waited too long for the request; part of it may have arrived.",
    "http_410": "The target is gone.",
    "http_411": "The provider wants a length with the request.",
    "http_413": "The request is larger than the provider takes.",
    "http_414": "The address is longer than the provider takes.",
    "http_415": "The provider does not take this media type.",
    "http_416": "The provider cannot serve the range that was asked for.",
    "http_417": "The provider cannot meet an expectation of the request.",
    "http_421": "The request reached a server that does not answer for this address.",
    "http_422": "The provider understood the request and found its content wrong.",
    "http_423": "The target is locked; whether this attempt did it is not said.",
    "http_424": "Something that the request depends on went wrong at the provider.",
    "http_425": "The server did not want to risk an early request.",
    "http_426": "The provider wants another protocol.",
    "http_428": "The provider wants a precondition with the request.",
    "http_429": "The provider is being asked too often; whether it acted is not said.",
    "http_431": "The header fields are larger than the provider takes.",
    "http_451": "The provider refuses for legal reasons.",
    "http_500": "The provider broke down, before or after acting.",
    "http_502": "A gateway got a bad answer from the provider, which may have acted.",
    "http_503": "The provider is unavailable; that proves nothing about the effect.",
    "http_504": "A gateway got no answer in time from the provider, which may have acted.",
    "http_5xx": "The server reported an error of its own, before or after acting.",
    "http_unlisted": "The provider answered with a status that proves nothing about the effect.",
    "duplicate_refusal": "The provider already has such a record, perhaps our own: look it up.",
    "redirected": "The provider pointed elsewhere; what became of the request is not known.",
    "throttled": "The provider says that it is being asked too often, not whether it acted.",
}

_REFUSALS: Final = {
    Kind.INVALID: (
        400, 404, 405, 406, 410, 411, 413, 414, 415, 416, 417, 422, 426, 428, 431,
    ),
    Kind.AUTH: (401, 403, 407),
    Kind.BUSINESS: (451,),
}  # fmt: skip
_UNSETTLED: Final = (402, 408, 421, 423, 424, 425, 429, 500, 502, 503, 504)

STATUSES: Final[dict[int, Meaning]] = {
    **{
        status: Meaning(reason=f"http_{status}", kind=kind)
        for kind, statuses in _REFUSALS.items()
        for status in statuses
    },
    **{status: Meaning(reason=f"http_{status}") for status in _UNSETTLED},
    # The answer of a precondition or a uniqueness rule: after a lost reply, our own success.
    409: Meaning(reason="duplicate_refusal"),
    412: Meaning(reason="duplicate_refusal"),
}

_REDIRECTED: Final = Meaning(reason="redirected")
_SERVER_ERROR: Final = Meaning(reason="http_5xx")
_UNLISTED: Final = Meaning(reason="http_unlisted")


def meaning(status: int, *, retry_after: bool = False) -> Meaning:
    """What a status other than "done" says of the effect.

    :param retry_after: the reply named a time; a 403 that does is a rate limit, not a verdict.
    """
    if status == 403 and retry_after:
        return STATUSES[429]
    row = STATUSES.get(status)
    if row is not None:
        return row
    if 300 <= status < 400:
        return _REDIRECTED
    return _SERVER_ERROR if status >= 500 else _UNLISTED


# ---------------------------------------------------------------------------------- Retry-After

_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_LONG_DAY = "(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = "(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"

_SECONDS: Final = re.compile(r"([0-9]+)(?:\.([0-9]+))?")
_DATES: Final = tuple(
    re.compile(form)
    for form in (
        rf"{_DAY}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT",
        rf"{_LONG_DAY}, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT",
        rf"{_DAY} {_MONTH} (?P<day>[0-9]{{2}}| [0-9]) {_TIME} (?P<year>[0-9]{{4}})",
    )
)


def retry_after_s(text: str | None, *, now: float) -> float | None:
    """Read a ``Retry-After`` strictly: seconds or one of the three HTTP dates (RFC 9110, 10.2.3).

    Some providers send seconds with a fraction, which the standard does not know. They are read all
    the same, rounded up: without advice the call would come back after its back-off, earlier than
    the provider asked; rounded up, it comes less than a second later. It is no invitation to a
    loop: whoever waits takes the longer of advice and back-off, and every send is counted.

    :param now: seconds since the epoch, from which a date is counted.
    :returns: whole seconds from now, never negative; None for anything else (``-1``, ``.5``,
        ``inf``).
    """
    if not isinstance(text, str):
        return None
    text = text.strip(" \t")
    seconds = _SECONDS.fullmatch(text)
    if seconds is not None:
        digits = seconds[1].lstrip("0")
        begun = bool((seconds[2] or "").strip("0"))
        return LONGEST_S if len(digits) > 9 else min(float(digits or 0) + begun, LONGEST_S)
    for form in _DATES:
        found = form.fullmatch(text)
        if found is not None:
            at = _epoch(found, now)
            return None if at is None else min(max(0.0, at - now), LONGEST_S)
    return None


def _epoch(found: re.Match[str], now: float) -> float | None:
    second = int(found["second"])
    leap = second == 60
    year = int(found["year"])
    if len(found["year"]) == 2:
        year = _full_year(year, now)
    try:
        at = datetime(
            year, _MONTHS[found["month"]], int(found["day"]),
            int(found["hour"]), int(found["minute"]), 59 if leap else second, tzinfo=UTC,
        )  # fmt: skip
    except ValueError:
        return None
    return at.timestamp() + leap


def _full_year(two_digits: int, now: float) -> int:
    """A two-digit year that would lie more than 50 years ahead is one of the century before."""
    this_year = 1970 + int(now / 31_556_952.0) if 0 <= now < 2e11 else 1970
    year = this_year - this_year % 100 + two_digits
    return year - 100 if year > this_year + 50 else year
