"""`ascertain worker`: what others left open is brought to an end, and signals are heard."""

import json
import os
import pty
import signal
import sys

import pytest

from ascertain.model.tables import State
from ascertain.store.ledger import Filter
from tests.cli import shop as shops
from tests.cli.conftest import until

LEDGER = ("--ledger", "sqlite:///ledger.db")
AGENT = """
from shop import app
with app.session("chat-42", principal="u7") as session:
    session.call("create_ticket", {{"order_id": {order_id!r}}})
"""


@pytest.fixture
def left_open(spawn, shop, here):
    """An action whose agent was killed after the provider had acted, before it was recorded."""
    child = spawn("-c", AGENT.format(order_id="KILLED"), command=sys.executable)
    assert child.wait(timeout=20) == -signal.SIGKILL
    made = shops.make()
    yield made
    made.app.close()


def the_action(made):
    (found,) = made.app.ledger.find(Filter())
    return found


def hear(worker, words):
    """Read what the worker says until it says this."""
    while words not in (line := worker.stderr.readline()):
        assert line, f"it ended without saying {words!r}"


def test_req_U01_what_a_killed_process_left_is_asked_for_and_never_run_again(spawn, left_open):
    assert the_action(left_open).state is State.SENT
    worker = spawn("worker", "shop:app", "--once")
    _, err = worker.communicate(timeout=30)
    assert worker.returncode == 0, err
    found = the_action(left_open)
    assert (found.state, found.provider_ref, found.attempt) == (State.CONFIRMED, "T900", 1)
    assert len(left_open.provider.effects()) == 1
    lines = err.splitlines()
    assert "started: 4 tools, sqlite:///ledger.db" in lines[0]
    steps = [line.split(" ", 1)[1] for line in lines[1:-1]]
    assert f"create_ticket {found.id}: lose, now unknown (lease_expired), attempt 1" in steps
    assert f"create_ticket {found.id}: confirm, now confirmed (found_by_lookup), attempt 1" in steps
    assert "1 action taken up; nothing open" in lines[-1]
    assert "\x1b" not in err, "plain lines where there is no terminal"


def test_each_step_is_one_json_object_for_programs(spawn, left_open):
    out, err = spawn("worker", "shop:app", "--once", "--json").communicate(timeout=30)
    told = [json.loads(line) for line in out.splitlines()]
    assert told[0]["event"] == "started"
    assert "confirm" in [step["event"] for step in told]
    assert told[-1]["event"] == "ended"
    assert (told[-1]["recovered"], told[-1]["open"]["review"]) == (1, 0)
    assert all(step["at"].endswith("Z") for step in told)
    assert err == ""


@pytest.fixture
def at_work(spawn, shop, here):
    """A worker in the middle of a look-up, which the test lets go on by writing to a pipe."""
    os.mkfifo(here / "gate")
    agent = spawn("-c", AGENT.format(order_id="KILLED-SLOW"), command=sys.executable)
    assert agent.wait(timeout=20) == -signal.SIGKILL
    made = shops.make()
    worker = spawn("worker", "shop:app")
    until((here / "asked").exists)
    yield worker, made
    made.app.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_it_finish_what_it_has_in_hand(at_work, cli, here, number):
    worker, made = at_work
    worker.send_signal(number)
    hear(worker, "finishing what is in hand")
    assert worker.poll() is None, "it still holds an action"
    said = cli("show", the_action(made).id, *LEDGER).said
    assert "next somebody is at work on it, in" in said
    assert f"the lease of process {worker.pid} on" in said
    (here / "gate").write_text("go on")
    _, err = worker.communicate(timeout=30)
    assert worker.returncode == 0, err
    assert the_action(made).state is State.CONFIRMED
    assert "worker ended: 1 action taken up" in err


def test_a_second_signal_stops_at_once_and_loses_nothing(at_work, spawn, here):
    worker, made = at_work
    worker.send_signal(signal.SIGTERM)
    hear(worker, "finishing what is in hand")
    worker.send_signal(signal.SIGTERM)
    _, err = worker.communicate(timeout=30)
    assert worker.returncode == 128 + signal.SIGTERM
    assert "SIGTERM again: stopping at once" in err
    assert the_action(made).state is State.UNKNOWN

    (here / "asked").unlink()
    another = spawn("worker", "shop:app", "--once")
    until((here / "asked").exists)
    (here / "gate").write_text("go on")
    another.communicate(timeout=30)
    assert the_action(made).state is State.CONFIRMED
    assert len(made.provider.effects()) == 1


def test_a_worker_goes_on_until_it_is_told_to_stop(spawn, shop, here):
    made = shops.make()
    made.app.open()
    worker = spawn("worker", "shop:app", "--concurrency", "2")
    hear(worker, "started")
    with made.app.session("chat-42", principal="u7"):
        ticket = made.create_ticket.options(deadline=0.05)("LOST")
    until(lambda: made.app.ledger.get(ticket.id).state is State.CONFIRMED)
    assert worker.poll() is None
    worker.terminate()
    assert worker.wait(timeout=20) == 0
    assert made.app.ledger.last_heartbeat() is not None
    made.app.close()


def test_a_terminal_shows_one_line_of_progress(spawn, shop, here):
    control, end = pty.openpty()
    worker = spawn("worker", "shop:app", stdout=end, stderr=end)
    os.close(end)
    seen = ""
    while "taken up; nothing open" not in seen:
        seen += os.read(control, 4096).decode()
    worker.send_signal(signal.SIGINT)
    while "worker ended" not in seen:
        seen += os.read(control, 4096).decode()
    assert worker.wait(timeout=20) == 0
    os.close(control)
    assert "\r\x1b[K0 taken up; nothing open" in seen


def test_what_the_app_has_no_tool_for_goes_to_a_person(cli, left_open, here):
    """Such a worker can neither ask nor send; it says so and breaks nothing."""
    (here / "shop.py").write_text(
        "from ascertain import Ascertain\n\napp = Ascertain('sqlite:///ledger.db')\n"
    )
    assert cli("worker", "shop:app", "--once").code == 0
    found = the_action(left_open)
    assert found.review == "tool_unknown"
    said = cli("show", found.id, *LEDGER).said
    assert "next a person decides: no worker that came by has a tool of this name" in said


def test_a_ledger_that_cannot_be_opened_ends_the_worker(cli, shop, here):
    (here / "ledger.db").write_text("not a database, but long enough to look at\n" * 20)
    done = cli("worker", "shop:app", "--once")
    assert done.code == 5
    assert "code: ledger_corrupt" in done.err
