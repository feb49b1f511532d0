"""The fault table with real SIGKILL: five contracts x every behaviour x the moment of death.

The caller dies between the durable send and the request, while it waits for the reply, or with the
reply in hand and nothing recorded; or the process that recovers dies too. All of them are proven
gone, so whatever has a key or a look-up heals without a person.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict

import pytest

from ascertain.testing.world import FIVE_CONTRACTS, World
from tests.faults import kills
from tests.faults.children import run_child, run_stories
from tests.faults.evidence import Statement
from tests.faults.play import House

pytestmark = pytest.mark.every_ledger


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["sync", "async"])
def test_killed_processes_leave_no_duplicate_no_lie_and_nothing_lost(how, tmp_path):
    """Each cell ends as the oracle requires, whoever was killed wherever."""
    played = list(kills.cells(how))
    started = time.monotonic()
    with World(dict(FIVE_CONTRACTS)) as world:

        def house() -> House:
            return House(
                world.url, tmp_path, settling_s=kills.SETTLING_S, lease_s=kills.LEASE_S,
                budget=kills.KILL_BUDGET,
            )  # fmt: skip

        shared = house()
        killed = run_stories(kills.story_of(world, shared, kill) for kill in played)
        dying_s = time.monotonic() - started
        settled = run_child(lambda: kills.settle_all(shared, played), at_most_s=120)
        for kill in played:
            if kill.order in settled["told"]:
                kill.told.append(Statement(**settled["told"][kill.order]))
        world.wait_idle(20)
        wrong = [fault for kill in played for fault in kills.judge(world, shared, kill)]
        wrong += [f"{order}: not settled in time" for order in settled["left"]]
        wrong += list(shared.app.ledger.verify())
        persons, unneeded = _persons(world, shared, played)
        wrong += unneeded
        _print_table(how, shared, played)
        deaths = Counter(len(kill.died) for kill in played)
        print(
            f"{how}: {len(played)} cells, {killed} real SIGKILLs ({deaths[2]} cells with a second "
            f"one in recovery, {deaths[1] - _one_death(played)} recoveries ended before their "
            f"point), {dying_s:.0f} s dying, {time.monotonic() - started:.0f} s in all"
        )
        print(f"  {len(settled['told'])} scripts ran once more and were told; persons: {persons}")
        for line in wrong:
            print(f"  FAULT {line}")
        shared.close()
    assert killed == sum(len(kill.died) for kill in played)
    assert not wrong, "\n".join(wrong)


def _persons(world, house, played):
    """How many cells ended with a person, by reason; and those that had no need to."""
    reasons, unneeded = Counter(), []
    for kill in played:
        record = house.record(kill.order)
        if record is None or record.review is None:
            continue
        why = kills.why_a_person(world, kill)
        reasons[why] += 1
        if why is None:
            unneeded.append(f"{kill.order}: ended with a person, who was not needed")
    return dict(reasons), unneeded


def _one_death(played):
    return sum(kill.deaths.again is None for kill in played)


def _print_table(how, house, played):
    """Behaviour x contract; in each cell the ends by place of death."""
    letters = {"confirmed": "C", "rejected": "r", "unknown": "?"}
    ends = defaultdict(list)
    for kill in played:
        record = house.record(kill.order)
        ends[kill.cell, kill.contract].append(letters[str(record.state)] if record else "!")
    contracts = list(FIVE_CONTRACTS)
    print(f"\n{how}: C confirmed, r rejected, ? unknown with a person")
    print("killed before, answered, recoveries, waiting")
    print(f"{'':24}" + "".join(f"{name:16}" for name in contracts))
    for cell in dict.fromkeys(kill.cell for kill in played):
        row = "".join(f"{''.join(ends[cell, name]):16}" for name in contracts)
        print(f"{cell:24}{row}")
