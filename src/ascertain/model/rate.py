"""How often a provider may be spoken to, and what of that is taken just now.

A provider's rate is shared by everything that uses one ledger: callers and workers, sends and
look-ups. It is kept in the ledger as *turns*: ``limit`` of them, each taken before a request leaves
and free again ``window_s`` after its answer came. So no window of that length, laid wherever the
provider likes, holds more than ``limit`` requests, however long each was on its way.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ascertain.model.record import Record


class Rate(Record):
    """At most ``limit`` requests in any ``window_s`` seconds.

    :param group: the provider, where several tools share its rate; '' = the breaker's group, else
        the tool alone.
    """

    limit: int
    window_s: float = 1.0
    group: str = ""


class Shared(NamedTuple):
    """A rate under the name that all who share it use."""

    name: str
    limit: int
    window_s: float


class Speaker(StrEnum):
    """Who speaks to the provider: somebody waits for a caller, nobody for a worker."""

    CALLER = "caller"
    WORKER = "worker"


class Ticket(NamedTuple):
    """A turn that was taken, so that it can be given back.

    :param until: when it ends by itself, if nobody ever says what became of it: nothing of that
        request can be on its way any more, and a window has passed.
    """

    owner: str
    by: Speaker
    until: float


class Outstanding(NamedTuple):
    """Turns taken together, with one end: ``n`` are not answered yet."""

    ticket: Ticket
    n: int


class Cooling(NamedTuple):
    """Turns whose answers have come: ``n`` of them are free again at ``at``."""

    at: float
    by: Speaker
    n: int


class Usage(NamedTuple):
    """What of one rate is taken.

    :param paced_at: until when the workers' pace is used up. :param queued_at: the moment that was
        promised to the last caller who waits. :param lined_at: the place of the last single action
        that waits for a worker's turn.
    """

    open: tuple[Outstanding, ...] = ()
    cooling: tuple[Cooling, ...] = ()
    paced_at: float = 0.0
    queued_at: float = 0.0
    lined_at: float = 0.0
