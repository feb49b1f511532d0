"""How turns at a provider are given out. Pure: no clock, no I/O.

Callers go first: what they used within the last window, and one turn more, is left to them by the
workers. Workers are paced besides, so that a backlog is a steady stream and no burst at the
beginning of each window.
"""

from __future__ import annotations

from math import ceil, floor

from ascertain.model.contract import Contract
from ascertain.model.rate import Cooling, Outstanding, Shared, Speaker, Ticket, Usage

USED_UP = "rate_used_up"
BURST_S = 0.2
"""A worker is given at most what the rate allows in so much time at once."""
GRAIN = 100
"""Into so many parts a window is divided, that turns which end together are counted together."""
_LEAST_TO_SPARE = 10
_A_HAIR = 1e-3  # of a turn: what a clock of seconds since 1970 cannot tell apart


def shared(contract: Contract) -> Shared | None:
    """The rate of a tool's provider, under its common name; None: none is declared."""
    rate = contract.rate
    if rate is None:
        return None
    group = rate.group or (contract.breaker.group if contract.breaker is not None else "")
    return Shared(group or contract.tool, rate.limit, rate.window_s)


def ticket(rate: Shared, owner: str, by: Speaker, lease_until: float) -> Ticket:
    """Under which a turn is held by who speaks under this lease; its end is in full seconds."""
    return Ticket(owner, by, float(ceil(lease_until + rate.window_s)))


def pruned(usage: Usage, now: float) -> Usage:
    """Without what is free again."""
    held = tuple(one for one in usage.open if one.ticket.until > now)
    cooling = tuple(one for one in usage.cooling if one.at > now)
    if len(held) == len(usage.open) and len(cooling) == len(usage.cooling):
        return usage
    return usage._replace(open=held, cooling=cooling)


def room(usage: Usage, rate: Shared, by: Speaker, now: float, *, promised: bool = False) -> int:
    """How many turns this speaker may take now.

    :param usage: pruned. :param promised: a caller who has waited for this moment.
    """
    callers, workers = _taken(usage, Speaker.CALLER), _taken(usage, Speaker.WORKER)
    left = rate.limit - callers - workers
    queued = _queued(usage, rate, now)
    if by is Speaker.CALLER:
        return max(0, left if promised else left - queued)
    spare = 1 if rate.limit >= _LEAST_TO_SPARE else 0
    most = rate.limit - min(rate.limit - 1, callers + max(spare, queued))
    return max(0, min(left, most - workers, _in_pace(usage, rate, now)))


def taken(usage: Usage, rate: Shared, held: Ticket, n: int, now: float) -> Usage:
    """After ``n`` turns were taken."""
    usage = _held(usage, held, n)
    if held.by is Speaker.WORKER:
        step_s = rate.window_s / rate.limit
        usage = usage._replace(paced_at=_pace(usage, rate, now) + n * step_s)
    return usage


def answered(usage: Usage, rate: Shared, held: Ticket, at: float | None, n: int = 1) -> Usage:
    """After one turn is over: free a window after its answer, or at once where it was never used.

    A turn that has ended by itself stays ended.

    :param n: how many requests it was; more than one is counted against the rate all the same.
    """
    for one in usage.open:
        if one.ticket == held and one.n:
            usage = _held(usage, held, -1)
            break
    else:
        n -= 1  # it was free again already: only what came on top is new
    if at is None or n <= 0:
        return usage
    grain_s = rate.window_s / GRAIN
    free_at = round(ceil((at + rate.window_s) / grain_s) * grain_s, 6)
    counts = {(one.at, one.by): one.n for one in usage.cooling}
    counts[free_at, held.by] = counts.get((free_at, held.by), 0) + n
    return usage._replace(cooling=tuple(Cooling(*key, n) for key, n in counts.items()))


def forgotten(usage: Usage, rate: Shared, gone: frozenset[str], now: float) -> Usage:
    """After some speakers were proven gone: their last request left before now."""
    dead = [one for one in usage.open if one.ticket.owner in gone]
    for one in dead:
        for _ in range(one.n):
            usage = answered(usage, rate, one.ticket, now)
    return usage


def queued(usage: Usage, rate: Shared, now: float) -> tuple[Usage, float]:
    """The moment at which the next caller may try again, and the usage once it is promised."""
    step_s = rate.window_s / rate.limit
    at = max(usage.queued_at + step_s, free_at(usage, rate, now), now + min(step_s, BURST_S))
    return usage._replace(queued_at=at), at


def worker_at(usage: Usage, rate: Shared, now: float) -> float:
    """When a worker that was given nothing should try again."""
    step_s = rate.window_s / rate.limit
    if _in_pace(usage, rate, now) < 1:
        return max(_pace(usage, rate, now) + step_s, now)
    return max(free_at(usage, rate, now), now + min(step_s, BURST_S))


def lined(usage: Usage, rate: Shared, now: float) -> tuple[Usage, float]:
    """The place of one action that comes by itself for a worker's turn, and the usage once it is
    given out: one behind the other at the rate, so that all of a backlog do not come back at once.
    """
    step_s = rate.window_s / rate.limit
    at = max(usage.lined_at + step_s, worker_at(usage, rate, now))
    return usage._replace(lined_at=at), at


def free_at(usage: Usage, rate: Shared, now: float) -> float:
    """When the next turn may end that is taken; now, where none is.

    One that is not answered yet may be answered at any moment.
    """
    ends = [one.at for one in usage.cooling]
    ends += [min(one.ticket.until, now + rate.window_s) for one in usage.open]
    return max(now, min(ends, default=now))


def _held(usage: Usage, held: Ticket, n: int) -> Usage:
    counts = {one.ticket: one.n for one in usage.open}
    counts[held] = counts.get(held, 0) + n
    return usage._replace(open=tuple(Outstanding(key, n) for key, n in counts.items() if n > 0))


def _taken(usage: Usage, by: Speaker) -> int:
    held = sum(one.n for one in usage.open if one.ticket.by is by)
    return held + sum(one.n for one in usage.cooling if one.by is by)


def _queued(usage: Usage, rate: Shared, now: float) -> int:
    """How many callers wait for a moment that was promised to them."""
    ahead_s = usage.queued_at - now
    return min(rate.limit, ceil(ahead_s * rate.limit / rate.window_s)) if ahead_s > 0 else 0


def _pace(usage: Usage, rate: Shared, now: float) -> float:
    step_s = rate.window_s / rate.limit
    return max(usage.paced_at, now - max(step_s, BURST_S))


def _in_pace(usage: Usage, rate: Shared, now: float) -> int:
    step_s = rate.window_s / rate.limit
    return floor((now - _pace(usage, rate, now)) / step_s + _A_HAIR)
