"""Slow, frozen, killed and ended workers, two tabs: real processes, one effect, one answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ascertain import State
from ascertain.testing.crash import point
from ascertain.testing.world import Behaviour
from tests.faults.children import Moment
from tests.faults.evidence import Statement
from tests.faults.named import (
    FIVE,
    PATIENT,
    OwnDatabase,
    SdkHouse,
    call,
    course,
    freeze_first,
    heal,
    judged,
    told,
)
from tests.faults.play import House, statement
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("contract", ["key_and_lookup", "neither"])
def test_a_slow_live_worker_is_waited_for(world, tmp_path, start, contract):
    """It works for 1.5 s; another caller and a worker come meanwhile: one effect, one answer."""
    house = House(world.url, tmp_path, contracts=(contract,), budget=PATIENT)
    order = f"slow-{contract}"
    world.script(contract, {"order": order}, [Behaviour("slow_deadline", seconds=1.5)])

    def work():
        asked_at = time.time()
        return told(statement(asked_at, call(house, contract, order).record))

    slow = start(work)
    world.wait_until(lambda: world.arrivals(contract, order=order), "the slow one has sent")
    other = start(work)
    assert house.app.recover() == 0, "a lease that holds is not taken"
    heard = [Statement(**process.end().value) for process in (slow, other)]
    wrong = judged(world, house, contract, order, "slow_deadline", told=heard)
    record = house.record(order)
    house.close()
    assert not wrong, wrong
    assert (world.count(contract, order=order), record.attempt) == (1, 1)
    assert {(said.state, said.provider_ref) for said in heard} == {
        ("confirmed", world.effects(contract, order=order)[0].ref)
    }


# After take-over, and after the frozen one has woken: state, why a person, effects.
FROZEN = {
    "key_and_lookup": (("confirmed", None, 1), ("confirmed", None, 1)),
    "key_only": (("confirmed", None, 1), ("confirmed", None, 1)),
    "lookup_only": (("unknown", "sender_may_live", 0), ("confirmed", None, 1)),
    "fencing_lookup": (("rejected", None, 0), ("rejected", None, 0)),
    "neither": (("unknown", "cannot_ask", 0), ("confirmed", None, 1)),
}


@pytest.mark.parametrize("contract", FIVE)
def test_a_frozen_worker_wakes_after_take_over_and_sends(world, tmp_path, start, contract):
    """Stopped just before its send, beyond its lease; another takes over; then it sends."""
    house = SdkHouse(world.url, tmp_path, contracts=(contract,), just_before_sending=freeze_first)
    order = f"frozen-{contract}"

    def work():
        asked_at = time.time()
        return told(statement(asked_at, call(house, contract, order).record))

    def stand():
        record = house.record(order)
        return str(record.state), record.review, world.count(contract, order=order)

    frozen = start(work)
    frozen_at = frozen.wait_stopped()
    heal(house, order)
    taken_over, sends = stand(), len(world.arrivals(contract, order=order, method="POST"))
    wrong = judged(world, house, contract, order, sender="frozen", died_at=frozen_at)
    frozen.signal(signal.SIGCONT)
    heard = Statement(**frozen.end().value)
    heal(house, order)
    woken = stand()
    wrong += judged(
        world, house, contract, order, sender="frozen", died_at=frozen_at, told=[heard],
        needed=False,
    )  # fmt: skip
    history = course(house, order)
    house.close()
    assert not wrong, (wrong, history)
    assert (taken_over, woken) == FROZEN[contract], history
    assert sends == (contract in ("key_and_lookup", "key_only")), "who takes over, sends by key"
    assert len(world.arrivals(contract, order=order, method="POST")) == sends + 1, (
        "it woke and sent"
    )


def test_a_frozen_worker_and_a_mark_in_the_tools_own_database(world, tmp_path, start):
    """`sql.mark`: who takes over knows at once that it did not happen, and who wakes is refused."""
    house = House(world.url, tmp_path, contracts=())
    shop = OwnDatabase(house, tmp_path / "rooms.db", freeze_first)

    def work():
        with house.app.session("room-7", principal="u"):
            action = shop.tool(room="7")
        return [str(action.state), action.provider_ref]

    frozen = start(work)
    frozen.wait_stopped()
    (record,) = heal(house, "room-7")
    assert (record.state, record.review, shop.effects("7")) == (State.CONFIRMED, None, ["B-7-2"])
    frozen.signal(signal.SIGCONT)
    heard = frozen.end().value
    (record,) = heal(house, "room-7")
    history = course(house, "room-7")
    house.close()
    assert shop.effects("7") == ["B-7-2"], "it woke, and its own transaction was refused"
    assert heard == ["confirmed", "B-7-2"], "and it was told what is true"
    assert (record.state, record.disputed, record.review) == (State.CONFIRMED, 0, None), history


def test_a_worker_frozen_before_its_last_check_sends_nothing(world, tmp_path, start):
    """It looks at its lease once more before the body runs; beyond it, nothing leaves."""
    house = SdkHouse(world.url, tmp_path, contracts=("neither",))
    order = "frozen-early"

    def work():
        house.app.hands.on_effect = lambda side, effect: (
            os.kill(os.getpid(), signal.SIGSTOP) if point(effect, side) == "invoke.before" else None
        )
        return told(statement(time.time(), call(house, "neither", order).record))

    frozen = start(work)
    frozen.wait_stopped()
    heal(house, order)
    assert house.record(order).review == "cannot_ask"
    frozen.signal(signal.SIGCONT)
    frozen.end()
    history = course(house, order)
    house.close()
    assert world.arrivals("neither", order=order) == [], history


@pytest.mark.parametrize("once_per", ["principal", "tenant"])
def test_two_tabs_are_one_intent(world, tmp_path, start, once_per):
    """Two sessions at one instant, and a third one later: one effect, one answer for all."""
    house = SdkHouse(
        world.url, tmp_path, contracts=("neither",), more={"once_per": once_per}, budget=PATIENT
    )
    order = f"tabs-{once_per}"
    world.script("neither", {"order": order}, [Behaviour("slow_deadline", seconds=0.3)])

    def tab(n):
        who = "u" if once_per == "principal" else f"u{n}"
        with house.app.session(f"tab-{once_per}-{n}", principal=who):
            action = house.sync["neither"](order=order)
        return [str(action.state), action.provider_ref, action.how]

    tabs = [start(lambda n=n: tab(n)) for n in (1, 2)]
    heard = [process.end().value for process in tabs] + [tab(3)]
    with house.app.session("another", principal="somebody else", tenant="another tenant"):
        other = house.sync["neither"](order=order)
    house.close()
    effects = world.effects("neither", order=order)
    assert {(state, ref) for state, ref, _ in heard} == {("confirmed", effects[0].ref)}
    assert sorted(how for _, _, how in heard[:2]) == ["joined", "new"]
    assert heard[2][2] == "replayed"
    assert [one.ref for one in effects] == [effects[0].ref, other.provider_ref], "others may too"


SCRIPT = """
import sys
from ascertain import Absent, Ascertain, Budget, Found, key
import httpx

url, ledger = sys.argv[1:]
app = Ascertain(ledger)
crm = app.watch(httpx.Client(base_url=url, timeout=10))

@app.tool(identity=["order"], key_lifetime="24h", receipt="ref", budget=Budget(send_deadline_s=10))
def create_ticket(order: str) -> dict:
    reply = crm.post("/key_and_lookup", json={"order": order}, headers={"Idempotency-Key": key()})
    return reply.raise_for_status().json()

@create_ticket.lookup(absence_final_after="1s")
def find_ticket(action):
    rows = crm.get("/key_and_lookup", params={"request": action.key}).raise_for_status().json()
    return Found(rows[0]["ref"]) if rows else Absent

with app.session("chat-42", principal="u7"):
    ticket = create_ticket(order="script")
    print(ticket.state, ticket.provider_ref, ticket.how, flush=True)
app.close()
"""


def test_a_script_that_runs_again_after_kill_9_has_one_effect_and_one_answer(world, tmp_path):
    """Same session, no turn: killed with its request at the provider, then run twice more."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    world.script("key_and_lookup", {"order": "script"}, [Behaviour("reply_lost", how="hang")])
    argv = [sys.executable, str(script), world.url, ledger_url(tmp_path / "ledger.db")]
    killed = subprocess.Popen(argv, stdout=subprocess.PIPE)
    sent = lambda: world.arrivals("key_and_lookup", order="script")  # noqa: E731
    world.wait_until(sent, "the script has sent", 20)
    killed.kill()
    out, _ = killed.communicate(timeout=10)
    runs = [subprocess.run(argv, capture_output=True, text=True, timeout=30) for _ in range(2)]
    (effect,) = world.effects("key_and_lookup", order="script")
    assert (out, killed.returncode) == (b"", -signal.SIGKILL)
    assert [run.returncode for run in runs] == [0, 0], runs
    assert [run.stdout.split() for run in runs] == [
        ["confirmed", effect.ref, "joined"],
        ["confirmed", effect.ref, "replayed"],
    ]
    assert len(world.arrivals("key_and_lookup", order="script", method="POST")) == 1


@pytest.mark.one_ledger
def test_a_worker_told_to_end_finishes_the_action_in_hand(world, tmp_path, start):
    """SIGTERM while its request is at the provider: it hears the answer, records it, and goes."""
    house = SdkHouse(world.url, tmp_path, contracts=("key_only",), budget=PATIENT)
    order = "sigterm"
    world.script("key_only", {"order": order}, [Behaviour("slow_deadline", seconds=1.0)])

    def caller():
        house.app.hands.on_effect = Moment("invoke.before")
        call(house, "key_only", order)

    assert start(caller).end().killed
    (tmp_path / "shop.py").write_text(
        "from pathlib import Path\nfrom tests.faults.named import SdkHouse\n"
        "from tests.faults.named import PATIENT\n"
        f"app = SdkHouse({world.url!r}, Path({str(tmp_path)!r}), contracts=('key_only',),"
        " budget=PATIENT).app\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-m", "ascertain.cli", "worker", "shop:app", "--json"]
    with subprocess.Popen(
        argv, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as worker:
        sent = lambda: world.arrivals("key_only", order=order)  # noqa: E731
        world.wait_until(sent, "the worker has sent", 20)
        assert world.count("key_only", order=order) == 0, "it is still being worked on"
        worker.send_signal(signal.SIGTERM)
        out, errors = worker.communicate(timeout=20)
    record = house.record(order)
    history = course(house, order)
    house.close()
    assert worker.returncode == 0, (out, errors)
    assert (record.state, record.lease_owner) == (State.CONFIRMED, None), history
    assert [record.provider_ref] == [one.ref for one in world.effects("key_only", order=order)]
    assert len(world.arrivals("key_only", order=order)) == 1, "sent once, by the worker alone"
