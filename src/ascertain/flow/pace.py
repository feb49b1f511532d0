"""Turns at a provider whose rate is declared: one before each request, given back after it.

A caller's first send takes its turn in the transaction that stores it, and a worker gets turns with
the actions that it takes; so the usual path has no commit more. Where there is none, a caller waits
for one within its own turn, and a worker lets the action go until there may be one.
"""

from __future__ import annotations

from typing import NamedTuple

from ascertain.flow.effects import Flow, Setting, pause, write_alone
from ascertain.model.booking import Answered, Book, Booked, GiveBack, Spends
from ascertain.model.operations import Beside
from ascertain.model.outcome import Report
from ascertain.model.rate import Speaker, Ticket
from ascertain.rules import rate as rules
from ascertain.rules.budget import Turn
from ascertain.rules.moves import Move


class Going(NamedTuple):
    """Whether a request may leave now.

    :param ticket: the turn that it has; None where no rate is declared. :param at: where it may
        not, when it may be tried again.
    """

    may: bool
    ticket: Ticket | None = None
    at: float = 0.0


def spends(setting: Setting, first: Move, ticket: Ticket | None) -> tuple[Spends, ...]:
    """What a new action's first send takes as it is stored, unless its turn is taken already."""
    rate = rules.shared(setting.contract)
    until = first.after.lease_until
    if rate is None or ticket is not None or until is None:
        return ()
    mine = rules.ticket(rate, setting.sender, Speaker.CALLER, until)
    return (Spends(rate=rate, ticket=mine, now=first.after.updated_at),)


def go(setting: Setting, ticket: Ticket | None, turn: Turn | None) -> Flow[Going]:
    """Get a turn for one request, unless one is in hand.

    :param turn: of the caller who waits for it; None: a worker, who does not.
    """
    rate = rules.shared(setting.contract)
    if rate is None or ticket is not None:
        return Going(may=True, ticket=ticket)
    by = Speaker.WORKER if turn is None else Speaker.CALLER
    promised = False
    while True:
        now = setting.clock()
        covers_s = setting.contract.budget.send_deadline_s + setting.lease_s
        wanted = rules.ticket(rate, setting.sender, by, now + covers_s)
        patience_until = now if turn is None else turn.until
        booked: Booked = yield from write_alone(
            Book(
                rate=rate, ticket=wanted, now=now, patience_until=patience_until, promised=promised
            )
        )
        if booked.ticket is not None:
            return Going(may=True, ticket=booked.ticket)
        if booked.at >= patience_until or not (yield from pause(max(0.0, booked.at - now))):
            return Going(may=False, at=booked.at)
        promised = True


def answered(
    setting: Setting, ticket: Ticket | None, report: Report, at: float
) -> tuple[Beside, ...]:
    """What is written beside the outcome of a request: its turn is over.

    Of one that may still be under way it is not: that turn ends by itself, later.
    """
    rate = rules.shared(setting.contract)
    if rate is None or ticket is None or report.live:
        return ()
    return (Answered(rate=rate, ticket=ticket, at=at, n=requests(report)),)


def give_back(setting: Setting, ticket: Ticket | None, report: Report | None = None) -> Flow[None]:
    """End a turn by itself: never used, or of a read, beside whose answer nothing is written."""
    rate = rules.shared(setting.contract)
    if rate is None or ticket is None or (report is not None and report.live):
        return
    at = None if report is None else setting.clock()
    n = 1 if report is None else requests(report)
    yield from write_alone(GiveBack(rate=rate, ticket=ticket, answered_at=at, n=n))


def requests(report: Report) -> int:
    """How many requests it was: what the hooks of a watched client counted, at least one."""
    return 1 if report.trace is None else max(1, report.trace.sends)
