"""Several workers on one ledger: nobody is held up, nothing is done twice, all of it is seen."""

import json
import os
import signal
import subprocess
import time
from collections import Counter

import pytest

from ascertain.model.tables import State
from ascertain.store.ledger import Filter
from tests.fleet.fleet import ASCERTAIN, ROOT

pytestmark = pytest.mark.every_ledger


def actions(fleet, **query):
    return fleet.ledger.find(Filter(limit=1000, **query))


def top(fleet):
    out = subprocess.run(
        [ASCERTAIN, "top", fleet.url, "--json"], capture_output=True, text=True, check=True
    ).stdout
    return json.loads(out)


def test_req_U01_one_tenants_backlog_holds_up_nobody(fleet):
    """With one worker that does one thing at a time, the few are settled long before the many."""
    fleet.outage([f"A-{n}" for n in range(200)], tenant="a-big")
    fleet.outage([f"B-{n}" for n in range(5)], tenant="b-small")
    fleet.start("--concurrency", "1")
    fleet.wait()
    ended = {r.tenant: [] for r in actions(fleet)}
    for record in actions(fleet):
        assert record.state is State.CONFIRMED
        ended[record.tenant].append(record.updated_at)
    first = sorted([*ended["a-big"], *ended["b-small"]])
    assert max(ended["b-small"]) <= first[15], "each of the two gets every second turn"


def test_req_P12_four_workers_make_no_effect_twice(fleet):
    """Half of them never reached the provider, and are sent once by one of the four."""
    orders = [f"{'NEVER' if n % 2 else 'A'}-{n}" for n in range(120)]
    fleet.outage(orders)
    for _ in range(4):
        fleet.start()
    fleet.wait()
    assert {record.state for record in actions(fleet)} == {State.CONFIRMED}
    effects = fleet.world.effects("tickets")
    assert len({effect.key for effect in effects}) == len(effects) == len(orders)
    assert list(fleet.ledger.verify()) == []


def test_req_U01_a_signal_lets_every_worker_finish_its_look_ups(fleet):
    """In the middle of look-ups: what is in hand is finished, the rest is left, nothing is lost."""
    fleet.outage([f"A-{n}" for n in range(60)])
    os.kill(fleet.world.pid, signal.SIGSTOP)  # it takes look-ups in, and does not answer
    workers = [fleet.start("--concurrency", "4") for _ in range(3)]
    fleet.world.wait_until(lambda: held(fleet) == 12, "all three are in the middle of look-ups")
    for worker in workers:
        worker.send_signal(signal.SIGTERM)
    for worker in workers:
        worker.hear("finishing what is in hand")
        assert worker.poll() is None
    os.kill(fleet.world.pid, signal.SIGCONT)
    for worker in workers:
        assert worker.wait(timeout=20) == 0
    assert held(fleet) == 0, "no lease is left behind"
    states = Counter(str(record.state) for record in actions(fleet))
    assert states == {"confirmed": 12, "unknown": 48}
    assert [one["health"] for one in top(fleet)["workers"]] == [], "all three said that they ended"
    fleet.start()
    fleet.wait()
    assert {record.state for record in actions(fleet)} == {State.CONFIRMED}
    assert fleet.world.count("tickets") == 60


def held(fleet):
    return sum(fleet.ledger.fleet.leases(time.time()).values())


def test_every_worker_is_seen_and_a_dead_one_is_said_to_be_so(fleet):
    """By `top` and by `doctor`: host, process, last sign of life, and how many leases it holds."""
    fleet.outage([f"A-{n}" for n in range(12)])
    os.kill(fleet.world.pid, signal.SIGSTOP)
    one, other = fleet.start("--concurrency", "4"), fleet.start("--concurrency", "4")
    fleet.world.wait_until(lambda: held(fleet) == 8, "both are in the middle of look-ups")
    seen = {int(w["pid"]): w for w in top(fleet)["workers"]}
    assert {(pid, w["health"], w["leases"]) for pid, w in seen.items()} == {
        (one.pid, "alive", 4), (other.pid, "alive", 4),
    }  # fmt: skip
    assert {w["host"] for w in seen.values()} == {os.uname().nodename}

    one.kill()
    one.wait()
    seen = {int(w["pid"]): w["health"] for w in top(fleet)["workers"]}
    assert seen == {one.pid: "dead", other.pid: "alive"}
    doctor = subprocess.run(
        [ASCERTAIN, "doctor", "--ledger", fleet.url, "--json"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    (check,) = [c for c in json.loads(doctor.stdout)["checks"] if c["name"] == "workers"]
    assert check["verdict"] == "warn"
    assert f"process {one.pid} on {os.uname().nodename} (dead, seen " in check["sentence"]
    assert f"process {other.pid} on {os.uname().nodename} (seen " in check["sentence"]
    os.kill(fleet.world.pid, signal.SIGCONT)
    fleet.wait()
    assert {record.state for record in actions(fleet)} == {State.CONFIRMED}
