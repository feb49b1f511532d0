"""After an outage: what a provider sees of all the workers that find out what became of its calls.

    .venv/bin/python -m tests.fleet.storm --orders 10000 --processes 4 --rate 250

A quarter of the calls never reached the provider: they are asked for, and sent. The others did, and
are asked for. Workers are processes; some of them may be killed meanwhile, and replaced. Judged by
the provider's own record: when each request came to it, and what happened there.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from ascertain.report.reading import walk
from ascertain.store.ledger import Filter
from ascertain.store.secret import ENVIRONMENT
from ascertain.testing.world import World
from tests import ledgers
from tests.fleet.fleet import Fleet

LOST_ONE_IN = 4
LOOK_S = 0.5
PATIENCE = 3
"""So many times what the rate allows for at best is waited for."""


class Storm(NamedTuple):
    """How it went.

    :param orders: calls whose answers were lost. :param requests: what came to the provider since.
    :param busiest: the most of them within any second. :param took_s: from the first to the last.
    :param states: of the actions in the end. :param effects: at the provider; :param keys: theirs.
    :param broken: what is wrong with the ledger's chains.
    """

    orders: int
    processes: int
    per_s: int
    killed: int
    requests: int
    busiest: int
    took_s: float
    states: dict[str, int]
    effects: int
    keys: int
    broken: tuple[str, ...]

    @property
    def at_best_s(self) -> float:
        """What the rate allows for."""
        return self.requests / self.per_s

    def wrong(self) -> list[str]:
        """What must not be; nothing, it is hoped."""
        said = list(self.broken)
        if self.busiest > self.per_s:
            said.append(f"{self.busiest} requests came within a second, {self.per_s} may")
        if self.states != {"confirmed": self.orders}:
            said.append(f"of {self.orders} actions there are {self.states}")
        if not self.effects == self.keys == self.orders:
            said.append(f"{self.effects} effects of {self.keys} keys for {self.orders} orders")
        least = self.orders + self.orders // LOST_ONE_IN
        if self.requests < least:
            said.append(f"{self.requests} requests: those that were lost are asked for and sent")
        return said

    def lines(self) -> list[str]:
        """The figures, for people."""
        used = f"({self.at_best_s / self.took_s:.0%} of the rate used)"
        at_best = f"at {self.per_s}/s it takes {self.at_best_s:.1f} s at best {used}"
        return [
            f"{self.orders:,} orders, {self.processes} processes, {self.killed} killed meanwhile",
            f"{self.requests:,} requests in {self.took_s:.1f} s; {at_best}",
            f"{self.busiest} in the busiest second of them all, {self.per_s} are allowed",
            f"{self.effects:,} effects under {self.keys:,} keys; actions: {self.states}",
        ]


def orders(count: int) -> list[str]:
    """So many, of which every fourth is lost on its way."""
    return [f"{'NEVER' if n % LOST_ONE_IN == 0 else 'A'}-{n}" for n in range(count)]


def storm(fleet: Fleet, count: int, processes: int, per_s: int, *, kills: int = 0) -> Storm:
    """Leave so many unknown actions behind, and let so many workers settle them.

    :param kills: so many times, spread over it, the worker that is there for longest is killed and
        another one is started.
    """
    fleet.outage(orders(count))
    assert fleet.ledger.counts()["unknown"] == count
    before = len(fleet.world.arrivals())
    began = time.time()
    for _ in range(processes):
        fleet.start(rate=f"{per_s}/s")
    expected = count + count // LOST_ONE_IN
    for nth in range(kills):
        _come(fleet, before + expected * (nth + 1) // (kills + 1), _patience_s(expected, per_s))
        fleet.children[nth].kill()
        fleet.start(rate=f"{per_s}/s")
    fleet.wait(timeout_s=_patience_s(expected, per_s))
    sent = fleet.world.arrivals()[before:]
    effects = fleet.world.effects("tickets")
    return Storm(
        orders=count, processes=processes, per_s=per_s, killed=kills, requests=len(sent),
        busiest=fleet.world.busiest(1.0, since=began),
        took_s=sent[-1].received_at - sent[0].received_at,
        states=dict(Counter(str(one.state) for one in walk(fleet.ledger, Filter()))),
        effects=len(effects), keys=len({effect.key for effect in effects}),
        broken=tuple(fleet.ledger.verify()),
    )  # fmt: skip


def _come(fleet: Fleet, requests: int, within_s: float) -> None:
    """Wait until so many have come to the provider."""
    give_up_at = time.monotonic() + within_s
    while len(fleet.world.arrivals()) < requests:
        assert time.monotonic() < give_up_at, f"not within {within_s:g} s: {requests} requests"
        threading.Event().wait(LOOK_S)


def _patience_s(requests: int, per_s: int) -> float:
    return 40.0 + PATIENCE * requests / per_s


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--orders", type=int, default=10_000)
    options.add_argument("--processes", type=int, default=4)
    options.add_argument("--rate", type=int, default=250, help="requests a second")
    options.add_argument("--kills", type=int, default=4)
    options.add_argument("--ledgers", nargs="+", choices=ledgers.KINDS, default=ledgers.KINDS)
    said = options.parse_args()
    os.environ.setdefault(ENVIRONMENT, ledgers.SECRET)
    wrong = []
    for kind in said.ledgers:
        with tempfile.TemporaryDirectory(prefix="ascertain-fleet-") as folder, World() as world:
            fleet = Fleet(ledgers.url_of_kind(kind, Path(folder) / "ledger.db"), world)
            try:
                found = storm(fleet, said.orders, said.processes, said.rate, kills=said.kills)
            finally:
                fleet.end()
        wrong += found.wrong()
        print("\n  ".join([f"{kind}:", *found.lines(), *found.wrong()]), flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
