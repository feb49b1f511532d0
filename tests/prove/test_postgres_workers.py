"""Four processes that call and recover on one PostgreSQL, for all five contracts, under everything.

They are killed, and stopped for longer than a lease and woken again; their backends are ended, and
the server crashes. ASCERTAIN_FAULTS=long takes ten times as many orders and rounds.
"""

import json
import mmap
import os
import random
import select
import signal
import time
from collections import Counter

import psycopg
import pytest

from ascertain.errors import LedgerError
from ascertain.store.ledger import Filter
from ascertain.testing.world import FIVE_CONTRACTS, Behaviour, World
from tests.postgres.server import Server
from tests.postgres.shop import BUDGET, FIVE, LEASE_S, Shop

TIMES = 10 if os.environ.get("ASCERTAIN_FAULTS") == "long" else 1
ORDERS, ROUNDS, PROCESSES = 6 * TIMES, 2 * TIMES, 4
STOPPED_S = BUDGET.send_deadline_s + LEASE_S + 0.3
SLOW = Behaviour("slow_deadline", seconds=0.3)
PLAYED = (["reply_lost", "ok"], ["request_lost", "ok"], [SLOW])
FINISHED_WITHIN_S = 30.0 * TIMES


def orders():
    return [(name, f"order-{n}") for name in FIVE for n in range(ORDERS)]


def work(url, world_url, number, over):
    """All orders, in an order of its own and until it is over, with a worker beside; what it was
    told.
    """
    shop = Shop(url, world_url, worker="embedded")
    mine = orders()
    random.Random(number).shuffle(mine)
    told, last = [], False
    while not last:
        last = bool(over[0])
        for name, order in mine:
            try:
                action = shop.call(name, order, session=f"chat-{number}")
            except LedgerError:
                continue  # before anything was sent
            told.append([name, order, str(action.state), action.provider_ref])
    shop.close()
    return told


def pause(seconds):
    select.select([], [], [], seconds)


def disturb(server, processes, begin, dice):
    """One round of everything; what was really done."""
    seen = Counter()
    for _ in range(3):
        pause(dice.uniform(0.02, 0.1))
        with psycopg.connect(server.url(), autocommit=True) as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'ascertain'"
            )
        seen["backends ended"] += 1
    stopped, killed = dice.sample(range(PROCESSES), 2)
    processes[stopped].signal(signal.SIGSTOP)
    processes[killed].kill()
    seen["processes killed"] += processes[killed].end().killed
    server.crash()
    seen["servers crashed"] += 1
    processes[killed] = begin(killed)
    pause(STOPPED_S)
    processes[stopped].signal(signal.SIGCONT)
    seen["stopped beyond the lease"] += 1
    return seen


@pytest.mark.timeout(120 * TIMES)
def test_four_processes_under_everything_double_nothing_and_say_nothing_untrue(start):
    """Nothing is lost either: each order ends in a known truth, or with a person."""
    dice = random.Random(4)
    server = Server().make().start()
    url = f"{server.url()}&schema=shop"
    seen = Counter()
    with World(dict(FIVE_CONTRACTS)) as world:
        for n, (name, order) in enumerate(orders()):
            world.script(name, {"order": order}, PLAYED[n % len(PLAYED)])
        try:
            here = Shop(url, world.url)
            here.app.open()
            numbers, over = iter(range(1000)), mmap.mmap(-1, 1)

            def begin(_place):
                number = next(numbers)
                return start(lambda: work(url, world.url, number, over))

            processes = [begin(place) for place in range(PROCESSES)]
            for _ in range(ROUNDS):
                seen += disturb(server, processes, begin, dice)
            over[0] = 1
            told = [line for one in processes for line in one.end(FINISHED_WITHIN_S).value]
            found = settled(here)
            world.wait_idle()
            judge(world, found, told)
            assert list(here.app.ledger.verify()) == []
            stands = Counter((one.tool, str(one.state), one.review or "") for one in found)
            print(dict(seen), len(told), "told;", json.dumps(sorted(map(str, stands.items()))))
            here.close()
        finally:
            server.remove()
    assert seen["processes killed"] == ROUNDS, "each was at work"


def settled(shop):
    """Recover until nothing is due any more; all actions."""
    give_up_at = time.monotonic() + FINISHED_WITHIN_S
    while True:
        shop.app.recover()
        found = shop.app.ledger.find(Filter(limit=10_000))
        left = [one for one in found if one.open and not one.review]
        if not left:
            return found
        assert time.monotonic() < give_up_at, [(one.tool, one.state, one.reason) for one in left]
        pause(0.05)


def judge(world, found, told):
    by_key = {}
    for name in FIVE:
        effects = world.effects(name)
        for effect in effects:
            by_key.setdefault(effect.key, []).append(effect.ref)
        doubled = [
            o for o, n in Counter(str(one.args["order"]) for one in effects).items() if n > 1
        ]
        assert not doubled, f"{name}: done twice: {doubled}"
        stored = [one for one in found if one.tool == f"create_{name}"]
        assert len({one.intent for one in stored}) == ORDERS, f"{name}: an intent is lost"
    for one in found:
        refs = by_key.get(one.key, [])
        if one.state == "confirmed":
            assert refs == [one.provider_ref], (one.tool, one.id)
        elif one.state == "rejected":
            assert not refs, (one.tool, one.id, one.reason)
        else:
            assert (one.state, bool(one.review)) == ("unknown", True), (one.tool, one.state)
    real = {ref for refs in by_key.values() for ref in refs}
    for name, order, state, ref in told:
        assert state != "confirmed" or ref in real, f"{name} {order}: said to be {ref}"
