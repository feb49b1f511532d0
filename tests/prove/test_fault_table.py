"""The fault table: five contracts x every behaviour, sync and async, against a real provider.

The required end of every cell is computed by an oracle that knows nothing of this library.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from ascertain.testing.world import FIVE_CONTRACTS, FOURTEEN, Behaviour
from tests.faults.play import House, cell_of, judge, settle, statement

pytestmark = pytest.mark.every_ledger

SHORT = {
    "slow_deadline": {"seconds": 0.75},
    "slow_lease": {"seconds": 0.87},
    "throttled_date": {"retry_after_s": 60},
}
CELLS: dict[str, tuple[Behaviour, ...]] = {
    behaviour.name: (
        Behaviour(behaviour.name, **{**behaviour.params, **SHORT.get(behaviour.name, {})}),
    )
    for variants in FOURTEEN.values()
    for behaviour in variants
}
CELLS |= {
    "throttled_within": (Behaviour("throttled", retry_after_s=1),),
    "late_execution": (Behaviour("late_execution", seconds=0.5),),
    "accepted_202": (Behaviour("accepted_202", seconds=1.5),),
    "hang_no_effect": (Behaviour("hang_no_effect"),),
    "in_progress_409": (Behaviour("in_progress_409"),),
    "empty_body": (Behaviour("empty_body"),),
    "validation_422": (Behaviour("validation_422"),),
    "unprocessed_503": (Behaviour("unprocessed_503"),),
    "reply_lost_then_refused": (Behaviour("reply_lost"), Behaviour("business_refusal")),
    "request_lost_then_refused": (Behaviour("request_lost"), Behaviour("business_refusal")),
    "reply_lost_twice": (Behaviour("reply_lost"), Behaviour("reply_lost")),
    "request_lost_twice": (Behaviour("request_lost"), Behaviour("request_lost")),
    "reply_lost_then_403": (Behaviour("reply_lost"), Behaviour("forbidden_403")),
    "already_exists_ours": (Behaviour("reply_lost"), Behaviour("already_exists")),
}
LOOKUPS: dict[str, tuple[str, ...]] = {
    "lookup_ok": (),
    "lookup_500_500": ("error_500", "error_500"),
    "lookup_hang": ("hang",),
    "lookup_miss": ("miss",),
}


def _orders(how: str):
    for name in FIVE_CONTRACTS:
        for cell, behaviours in CELLS.items():
            looks = (
                LOOKUPS
                if FIVE_CONTRACTS[name].lookup and cell in ("reply_lost", "request_lost")
                else {"lookup_ok": ()}
            )
            for look, lookups in looks.items():
                yield f"{how}/{name}/{cell}/{look}", name, behaviours, lookups


def _table(title: str, wrong: list[str], ends: Counter, cells: int, seconds: float) -> None:
    print(f"\n{title}: {cells} cells, {seconds:.1f} s; ends {dict(sorted(ends.items()))}")
    for line in wrong:
        print(f"  FAULT {line}")


@pytest.mark.timeout(180)
def test_every_cell_ends_as_the_oracle_requires_async(world, tmp_path):
    """Every contract x behaviour through httpx.AsyncClient."""
    house = House(world.url, tmp_path)
    cells = list(_orders("async"))

    async def play():
        told = {}

        async def one(order, name, behaviours, lookups):
            world.script(name, {"order": order}, list(behaviours), lookup=list(lookups))
            asked_at = time.time()
            async with house.app.session(order, principal="u"):
                action = await house.asynchronous[name](order=order)
            told[order] = [statement(asked_at, action.record)]

        for start in range(0, len(cells), 24):
            await asyncio.gather(*(one(*cell) for cell in cells[start : start + 24]))
        await settle(house, [order for order, *_ in cells])
        await house.aclient.aclose()
        return told

    started = time.monotonic()
    told = asyncio.run(play())
    _judge_all(world, house, cells, told, "async", started)


@pytest.mark.timeout(180)
def test_every_cell_ends_as_the_oracle_requires_sync(world, tmp_path):
    """Every contract x behaviour through httpx.Client, in threads."""
    house = House(world.url, tmp_path)
    cells = list(_orders("sync"))
    told = {}

    def one(order, name, behaviours, lookups):
        world.script(name, {"order": order}, list(behaviours), lookup=list(lookups))
        asked_at = time.time()
        with house.app.session(order, principal="u"):
            action = house.sync[name](order=order)
        told[order] = [statement(asked_at, action.record)]

    started = time.monotonic()
    with ThreadPoolExecutor(24) as pool:
        for future in [pool.submit(one, *cell) for cell in cells]:
            future.result()
    asyncio.run(settle(house, [order for order, *_ in cells]))
    _judge_all(world, house, cells, told, "sync", started)


def _judge_all(world, house, cells, told, title, started):
    world.wait_idle(20)
    wrong, ends = [], Counter()
    for order, name, behaviours, lookups in cells:
        wrong += judge(world, house, name, order, cell_of(name, behaviours, lookups), told[order])
        record = house.record(order)
        ends[str(record.state) if record else "none"] += 1
    _table(title, wrong, ends, len(cells), time.monotonic() - started)
    house.close()
    assert not wrong, "\n".join(wrong)
