"""Providers' rates in a ledger: read, judged and written inside one transaction.

Written once for every backend, by named queries. A backend whose transactions run side by side
reads a rate under a lock (``rate_usage``), so that two can not give out the same turn.
"""

from __future__ import annotations

import json
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.model.booking import Answered, Book, Booked, GiveBack, Spends
from ascertain.model.rate import Cooling, Outstanding, Shared, Speaker, Ticket, Usage
from ascertain.rules import rate as rules
from ascertain.store.access import Run
from ascertain.store.beside import ALONE, ROOMS
from ascertain.store.compact import compact_json


def read_usage(run: Run, name: str, now: float) -> Usage:
    """What of a rate is taken now."""
    rows = run("rate_usage", name)
    return rules.pruned(usage_of(rows[0][0]), now) if rows else Usage()


def usage_of(text: str) -> Usage:
    """The usage as it is stored."""
    raw: dict[str, Any] = json.loads(text)
    held = tuple(Outstanding(Ticket(o, Speaker(by), until), n) for o, by, until, n in raw["open"])
    cooling = tuple(Cooling(at, Speaker(by), n) for at, by, n in raw["cooling"])
    lined_at = raw.get("lined_at", 0.0)  # a release before this one did not write it
    return Usage(held, cooling, raw["paced_at"], raw["queued_at"], lined_at)


def write_usage(run: Run, rate: Shared, usage: Usage) -> None:
    """Store what of a rate is taken."""
    text = compact_json(
        {
            "open": [[*one.ticket, one.n] for one in usage.open],
            "cooling": [list(one) for one in usage.cooling],
            "paced_at": usage.paced_at,
            "queued_at": usage.queued_at,
            "lined_at": usage.lined_at,
        }
    )
    run("put_rate", rate.name, rate.limit, rate.window_s, text)


class _Spending:
    def blocks(self, run: Run, record: ActionRecord, beside: Spends, /) -> str:
        rate, now = beside.rate, beside.now
        usage = read_usage(run, rate.name, now)
        return "" if rules.room(usage, rate, beside.ticket.by, now) else rules.USED_UP

    def write(self, run: Run, record: ActionRecord, beside: Spends, /) -> None:
        usage = read_usage(run, beside.rate.name, beside.now)
        usage = rules.taken(usage, beside.rate, beside.ticket, 1, beside.now)
        write_usage(run, beside.rate, usage)


class _Answering:
    def blocks(self, run: Run, record: ActionRecord, beside: Answered, /) -> str:
        return ""

    def write(self, run: Run, record: ActionRecord, beside: Answered, /) -> None:
        _give_back(
            run, GiveBack(rate=beside.rate, ticket=beside.ticket, answered_at=beside.at, n=beside.n)
        )


def _book(run: Run, alone: Book) -> Booked:
    rate, by, now = alone.rate, alone.ticket.by, alone.now
    usage = read_usage(run, rate.name, now)
    if rules.room(usage, rate, by, now, promised=alone.promised):
        write_usage(run, rate, rules.taken(usage, rate, alone.ticket, 1, now))
        return Booked(alone.ticket, now)
    if by is Speaker.WORKER:
        return Booked(None, rules.worker_at(usage, rate, now))
    promised, at = rules.queued(usage, rate, now)
    if at < alone.patience_until:
        write_usage(run, rate, promised)
    return Booked(None, at)


def _give_back(run: Run, alone: GiveBack) -> None:
    rows = run("rate_usage", alone.rate.name)
    if rows:
        usage = usage_of(rows[0][0])
        after = rules.answered(usage, alone.rate, alone.ticket, alone.answered_at, alone.n)
        write_usage(run, alone.rate, after)


ROOMS.update({Spends: _Spending(), Answered: _Answering()})
ALONE.update({Book: _book, GiveBack: _give_back})
