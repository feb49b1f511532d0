"""What is asked of the ledger about a provider's rate, beside an action and alone."""

from __future__ import annotations

from typing import NamedTuple

from ascertain.model.operations import Alone, Beside
from ascertain.model.rate import Shared, Ticket


class Booked(NamedTuple):
    """The reply to :class:`Book`: a turn, or when to come again.

    :param ticket: None: there was no turn left. :param at: when one may be, at the earliest.
    """

    ticket: Ticket | None
    at: float


class Spends(Beside):
    """A send takes a turn as it is written; blocks it (``rate_used_up``) where none is left."""

    rate: Shared
    ticket: Ticket
    now: float


class Answered(Beside):
    """The request is over: its turn is free again a window later. Blocks nothing.

    :param at: when its answer came. :param n: how many requests it turned out to be.
    """

    rate: Shared
    ticket: Ticket
    at: float
    n: int = 1


class Book(Alone):
    """Take one turn; reply: :class:`Booked`.

    :param ticket: under which it will be held. :param patience_until: how long a caller waits, who
        is promised a moment if there is one until then. :param promised: it comes at that moment.
    """

    rate: Shared
    ticket: Ticket
    now: float
    patience_until: float = 0.0
    promised: bool = False


class GiveBack(Alone):
    """A turn is over: used, with an answer at ``answered_at``, or never used (None). No reply."""

    rate: Shared
    ticket: Ticket
    answered_at: float | None = None
    n: int = 1
