"""Kill at every crash point of the call and of its recovery, and see every registered point.

Each round is a call in a process of its own, killed at its n-th point; a fresh process recovers,
and may be killed at each of *its* points too, before another one recovers again.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

import pytest

from ascertain import current_attempt
from ascertain.testing import invariants
from ascertain.testing.crash import ENDED, POINTS, Crash, Plan, crash_everywhere
from ascertain.testing.world import FIVE_CONTRACTS, Behaviour, World
from tests.faults.children import Child, Ended, Story, fork, run_stories
from tests.faults.named import SdkHouse
from tests.faults.play import BUDGET, House, quiet

SETTLING_S, RECOUNT_S, LEASE_S = 0.06, 0.02, 3.0
QUICK = replace(BUDGET, send_deadline_s=1.5, turn_s=6.0, sends=6, backoff_s=0.05, backoff_max_s=0.1)
AT_MOST_S = 550.0

LOST_REPLY = (Behaviour("reply_lost"),)
LOST_REQUEST = (Behaviour("request_lost"),)
TAKEN = (Behaviour("already_exists"),)
SLOW = (Behaviour("slow_deadline", seconds=1.0),)
WELL = (Behaviour("ok"),)

# Points that no run here passes, each with its reason. None: a live holder, a related record, a
# script that runs again and a ledger that takes nothing more are all played.
NOT_REACHED: dict[str, str] = {
    f"{effect}.{side}": "of chains: test_chain_kills"
    for effect in ("survey", "undo", "picture")
    for side in ("before", "after")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One way to kill: which contract and behaviour, who recovers, whether it dies too.

    `beside`: a live process is at work on the same intent while the call is made and killed.
    `closing`: the app is closed while the first request is on its way, so that the ledger does not
    take its answer. `half`: the call is killed at its even (0) or odd (1) points only, so that two
    scenes can go on beside each other. `ends`: the states in which every round must end.
    """

    contract: str
    behaviours: tuple[Behaviour, ...]
    by: str = "worker"
    twice: bool = True
    beside: bool = False
    closing: bool = False
    half: int | None = None
    ends: frozenset[str] = frozenset({"confirmed"})

    def __str__(self) -> str:
        names = "+".join(behaviour.name for behaviour in self.behaviours)
        extra = ", beside a live caller" if self.beside else ""
        extra += ", the app closed meanwhile" if self.closing else ""
        extra += "" if self.half is None else f", {('even', 'odd')[self.half]} points"
        return f"{self.contract}, {names}, recovered by {self.by}{extra}"


SCENES = (
    Scene(contract="lookup_only", behaviours=LOST_REQUEST, half=0),
    Scene(contract="lookup_only", behaviours=LOST_REQUEST, half=1),
    Scene(contract="key_and_lookup", behaviours=LOST_REQUEST),
    Scene(contract="lookup_only", behaviours=LOST_REPLY),
    Scene(contract="key_and_lookup", behaviours=LOST_REPLY),
    Scene(contract="key_and_lookup", behaviours=LOST_REPLY, by="rerun"),
    Scene(contract="lookup_only", behaviours=LOST_REQUEST, by="rerun", twice=False),
    Scene(contract="key_and_lookup", behaviours=SLOW, twice=False, beside=True),
    Scene(contract="key_and_lookup", behaviours=WELL, closing=True),
    Scene(
        contract="lookup_only", behaviours=TAKEN, twice=False,
        ends=frozenset({"confirmed", "rejected"}),
    ),
)  # fmt: skip


class Round:
    """What is played again and again: a new order each time."""

    def __init__(self, world: World, house: House, scene: Scene) -> None:
        self.world, self.house, self.scene = world, house, scene
        self.numbers = itertools.count(1)
        self.order = ""
        self.holder: int | None = None

    def begin(self) -> None:
        self.collect()
        self.order = f"{self.scene}/{next(self.numbers)}"
        match = {"order": self.order}
        self.world.script(self.scene.contract, match, list(self.scene.behaviours))
        if self.scene.beside:
            self.holder = fork()
            if self.holder == 0:
                try:
                    self.call(Plan(at=0))
                finally:
                    os._exit(0)
            arrived = lambda: bool(self.world.arrivals(self.scene.contract, **match))  # noqa: E731
            self.world.wait_until(arrived, "the live caller has sent")

    def collect(self) -> None:
        """Wait for the live caller, which ends by itself."""
        if self.holder is not None:
            os.waitpid(self.holder, 0)
            self.holder = None

    def killed_call(self, plan: Plan) -> None:
        """The call that dies; of two halves it takes every other point."""
        if self.scene.half is not None:
            plan.at = 2 * plan.at - self.scene.half
        self.call(plan)

    def call(self, plan: Plan) -> None:
        self.house.app.hands.on_effect = plan
        with self.house.app.session(self.order, principal="u"):
            self.house.sync[self.scene.contract](order=self.order)

    def recover(self, plan: Plan) -> None:
        """A fresh process recovers until nothing more is due."""
        if self.scene.by == "rerun":
            self.call(plan)
        app, look = self.house.app, Event()
        app.hands.on_effect = plan
        until = time.monotonic() + 15.0
        while (record := self.house.record(self.order)) and not quiet(record, app.hands.clock()):
            if time.monotonic() > until:
                raise TimeoutError(f"{self.order} is still {record.state}")
            if not app.recover():
                look.wait(min(0.05, max(0.002, (record.due_at or 0.0) - app.hands.clock())))

    def wrong(self, crash: Crash) -> Iterator[str]:
        """All that must hold and does not, after a round."""
        record = self.house.record(self.order)
        effects = [
            invariants.WorldEffect(key=str(one.key), ref=one.ref, sending=str(one.arrival))
            for one in self.world.effects(self.scene.contract, order=self.order)
        ]
        if record is None:
            arrived = self.world.arrivals(self.scene.contract, order=self.order)
            if effects or arrived or crash.first != "reserve.before":
                yield f"{crash}: no action, and {len(effects)} effects"
            return
        contract = self.house.app.registry.get(record.tool).contract
        arrivals = self.world.arrivals(self.scene.contract, order=self.order, method="POST")
        events = self.house.app.ledger.events(record.id)
        for violation in (
            *invariants.no_duplicate_effect(record, effects),
            *invariants.no_lie(record, effects),
            *invariants.no_lost_action([record], effects=effects),
            *invariants.somebody_comes_back(record, left=False),
            *invariants.bounded_resolution(record, left=False),
            *invariants.double_noticed(record, effects),
            *invariants.projection(None, record, events),
            *invariants.key_stability(None, record, [str(came.key) for came in arrivals]),
        ):
            yield f"{crash}: {violation}"
        if record.state not in self.scene.ends or record.review is not None:
            yield f"{crash}: ended {record.state} ({record.reason}), review {record.review}"
        if record.attempt > contract.budget.sends:
            yield f"{crash}: {record.attempt} attempts"
        yield from (f"{crash}: {said}" for said in self.house.app.ledger.verify(record.id))


def play(scene: Scene, house: House, world: World) -> dict[str, object]:
    """All rounds of one scene; what was seen, and what was wrong."""
    one = Round(world, house, scene)
    seen, wrong = set[str](), list[str]()
    counts: Counter[str] = Counter()
    for crash in crash_everywhere(
        one.killed_call, one.recover, twice=scene.twice, before=one.begin
    ):
        one.collect()
        seen |= set(crash.passed) - {ENDED}
        counts["rounds"] += 1
        counts["killed"] += (crash.first is not None) + (crash.second is not None)
        counts["twice"] += crash.second is not None
        if crash.first is None:
            one.recover(Plan(at=0))  # it was not killed, and what it left is settled too
        wrong += one.wrong(crash)
    wrong += list(house.app.ledger.verify())
    return {"seen": sorted(seen), "wrong": wrong, "counts": dict(counts)}


def _story(scene: Scene, house: House, world: World, told: Callable[[object], None]) -> Story:
    ended: Ended = yield Child(lambda: play(scene, house, world), at_most_s=AT_MOST_S)
    told(ended.value)


def _house(url: str, folder: Path, scene: Scene) -> House:
    kind = SdkHouse if scene.closing else House
    house = kind(
        url, folder, contracts=(scene.contract,), settling_s=SETTLING_S, lease_s=LEASE_S,
        budget=QUICK, recount_s=RECOUNT_S,
    )  # fmt: skip
    if isinstance(house, SdkHouse):

        def close_first() -> None:
            if current_attempt().number == 1:
                house.app.close()

        house.just_before_sending = close_first
    return house


@pytest.mark.timeout(600)
def test_every_crash_point_is_passed_and_survived(tmp_path):
    """Killed at each point, and again at each point of the recovery: one effect, confirmed."""
    told: dict[str, dict] = {}
    started = time.monotonic()
    with World(dict(FIVE_CONTRACTS)) as world:

        def stories() -> Iterator[Story]:
            for n, scene in enumerate(SCENES):
                folder = tmp_path / str(n)
                folder.mkdir()
                house = _house(world.url, folder, scene)
                yield _story(
                    scene, house, world, lambda value, s=scene: told.update({str(s): value})
                )

        run_stories(stories(), at_once=4)
    seen = {point for one in told.values() for point in one["seen"]}
    wrong = [f"{scene}: {line}" for scene, one in told.items() for line in one["wrong"]]
    total: Counter[str] = Counter()
    for scene, one in told.items():
        total.update(one["counts"])
        print(f"{scene}: {one['counts']}, {len(one['seen'])} points")
    print(f"in all {dict(total)}, {len(seen)} of {len(POINTS)} points seen; {NOT_REACHED=}")
    print(f"{time.monotonic() - started:.0f} s")
    assert len(told) == len(SCENES)
    assert not wrong, "\n".join(wrong)
    assert seen == POINTS - set(NOT_REACHED)
    assert set(NOT_REACHED) <= POINTS
