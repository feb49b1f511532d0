"""The circuit breaker of a tool, or of all tools of one provider, as data.

``closed`` lets automatic sends through, ``open`` none, ``probing`` one at a time. From this one
tuple derive :func:`turn`, the diagram in the documentation and the exhaustive tests. Look-ups and
reads are never stopped: they are what probes first.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ascertain.model.record import Record


class Breaker(Record):
    """When a tool is closed for automatic sends, and for how long.

    :param after: so many sends in a row without a definite answer, within ``within_s`` seconds;
        those that began before the last definite answer came do not count.
    :param cool_down_s: how long nothing is sent before the provider is tried again.
    :param defects: so many breaks of the tool's own code in a row, after which something may have
        left.
    :param manual_s: how long a call that came meanwhile may be released by a person, where the
        contract does not say how long it is wanted.
    :param group: the provider, where its tools are opened and closed together; '' = the tool alone.
    """

    after: int = 5
    within_s: float = 60.0
    cool_down_s: float = 30.0
    defects: int = 3
    manual_s: float = 86400.0
    group: str = ""


class Circuit(StrEnum):
    """How a breaker stands."""

    CLOSED = "closed"
    OPEN = "open"
    PROBING = "probing"


class Turn(StrEnum):
    """What turns a breaker."""

    TRIP = "trip"
    ANSWER = "answer"
    COOL = "cool"
    MEND = "mend"
    CLOSE = "close"


class Turning(NamedTuple):
    """One row of the table."""

    start: Circuit
    turn: Turn
    end: Circuit
    why: str


TURNS: tuple[Turning, ...] = (
    Turning(
        Circuit.CLOSED, Turn.TRIP, Circuit.OPEN,
        "too many sends in a row had no definite answer, or the tool's own code kept breaking",
    ),
    Turning(
        Circuit.OPEN, Turn.ANSWER, Circuit.PROBING,
        "it has cooled down, and the provider answered a look-up or a read",
    ),
    Turning(
        Circuit.OPEN, Turn.COOL, Circuit.PROBING,
        "it has cooled down, and nobody asks the provider anything",
    ),
    Turning(
        Circuit.PROBING, Turn.TRIP, Circuit.OPEN,
        "the send that tried it had no definite answer either",
    ),
    Turning(
        Circuit.PROBING, Turn.MEND, Circuit.CLOSED,
        "the send that tried it had a definite answer",
    ),
    Turning(Circuit.OPEN, Turn.CLOSE, Circuit.CLOSED, "a person closed it"),
    Turning(Circuit.PROBING, Turn.CLOSE, Circuit.CLOSED, "a person closed it"),
)  # fmt: skip

_ENDS = {(row.start, row.turn): row.end for row in TURNS}


def turn(start: Circuit, what: Turn) -> Circuit | None:
    """How a breaker stands after that, or None where the table has no such row."""
    return _ENDS.get((start, what))


class BreakerRecord(NamedTuple):
    """A breaker as the ledger holds it; one that has never opened has no row.

    :param why: a stable code of the last thing that turned it. :param by: who, if a person did.
    :param cool_at: from when an answer may turn it to probing.
    :param try_at: from when a send may try it although nothing was asked.
    :param prober: who tries it now, until ``probe_until``.
    :param n: how often it was turned, which a concurrent writer must find unchanged.
    """

    name: str
    circuit: Circuit = Circuit.CLOSED
    why: str = ""
    by: str = ""
    changed_at: float = 0.0
    opened_at: float | None = None
    cool_at: float | None = None
    try_at: float | None = None
    prober: str | None = None
    probe_until: float | None = None
    n: int = 0
