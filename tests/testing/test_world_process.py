"""The World is a process of its own, and its truth outlives everybody."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ascertain.testing import world as package
from ascertain.testing.world import Behaviour, Provider, World, WorldError
from ascertain.testing.world.fixtures import make_world, world
from tests.testing.world_caller import get, look_up, post

__all__ = ["make_world", "world"]  # the fixtures under test

SOURCE = Path(package.__file__).resolve().parents[3]
ROOT = Path(__file__).resolve().parents[2]


def python(code, *args):
    """Another process, which may import the World and this folder's caller."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(ROOT)])}
    return subprocess.Popen(
        [sys.executable, "-c", code, *args], env=environment, stdout=subprocess.PIPE, text=True
    )


def alive(pid):
    """Whether this process still runs; one that has ended and waits for its parent does not."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return fields.rpartition(")")[2].split()[0] != "Z"


def test_it_starts_quickly_and_stops_on_exit():
    took_s = []
    for _ in range(3):
        started = time.monotonic()
        with World() as one:
            took_s.append(time.monotonic() - started)
            pid, url = one.pid, one.url
            assert post(one, "tickets", {}, "k").body["ticket_id"] == "T900"
        assert not alive(pid)
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert min(took_s) < 0.5 * busy, f"load {busy:.1f}"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=1)


def test_the_fixtures_start_worlds(world, make_world):
    assert post(world, "tickets", {}, "k").body["ticket_id"] == "T900"
    other = make_world(stock=Provider(first_ref="S1"), notices=Provider(first_ref="N1"))
    assert post(other, "stock", {}, "k").body["ref"] == "S1"
    assert post(other, "notices", {}, "k").body["ref"] == "N1"
    assert (world.count(), other.count(), other.count("stock")) == (1, 2, 1)


def test_it_can_be_used_in_async_code():
    async def use():
        async with World() as one:
            heard = await asyncio.to_thread(post, one, "tickets", {}, "k")
            return one.pid, heard.http

    pid, http = asyncio.run(use())
    assert http == 201
    assert not alive(pid)


def test_the_truth_outlives_the_world(tmp_path):
    path = tmp_path / "world.db"
    with World(db_path=path) as one:
        post(one, "tickets", {"order": "A1"}, "k")
    assert [effect.ref for effect in one.effects(order="A1")] == ["T900"]
    assert [came.answered for came in World.attach(one.url, path).arrivals()] == ["201"]


def test_the_truth_outlives_kill_9_and_the_world_goes_on_from_it(tmp_path):
    one = World(db_path=tmp_path / "world.db").start()
    url = one.url
    one.script("tickets", {"order": "A2"}, [Behaviour("late_execution", seconds=0.6)])
    assert post(one, "tickets", {"order": "A1"}, "k1").http == 201
    assert post(one, "tickets", {"order": "A2"}, "k2").end == "reset"
    one.kill()
    assert [effect.key for effect in one.effects()] == ["k1"]
    with pytest.raises(TimeoutError, match="still to take effect"):
        one.wait_idle(0.05)
    with one:
        assert one.url == url
        one.wait_idle()
        assert post(one, "tickets", {"order": "A1"}, "k1").body["ref"] == "T900"
        assert [(effect.key, effect.ref) for effect in one.effects()] == [
            ("k1", "T900"),
            ("k2", "T901"),
        ]


def test_it_ends_with_its_parent_and_takes_its_folder_along():
    parent = python(
        "import sys\n"
        "from ascertain.testing.world import World\n"
        "world = World().start()\n"
        "print(world.pid, world.db_path, flush=True)\n"
        "sys.stdin.readline()\n"
    )
    with parent:
        pid, path = parent.stdout.readline().split()
        assert alive(int(pid))
        parent.send_signal(signal.SIGKILL)
    wait_until = World().wait_until
    wait_until(lambda: not alive(int(pid)), "the World has ended with its parent")
    wait_until(lambda: not Path(path).parent.exists(), "its temporary folder is gone")


def test_what_a_killed_client_sent_still_lands(world):
    world.script("tickets", {"order": "A1"}, [Behaviour("late_execution", how="hang", seconds=0.5)])
    world.script("tickets", {"order": "A2"}, [Behaviour("slow_lease", seconds=0.5)])
    code = (
        "import sys\n"
        "from types import SimpleNamespace\n"
        "from tests.testing.world_caller import post\n"
        "world = SimpleNamespace(url=sys.argv[1])\n"
        "post(world, 'tickets', {'order': sys.argv[2]}, 'k-' + sys.argv[2])\n"
    )
    for order in ("A1", "A2"):
        with python(code, world.url, order) as client:
            world.wait_until(
                lambda order=order: world.arrivals(order=order) != [], "the create has arrived"
            )
            client.send_signal(signal.SIGKILL)
        assert client.returncode == -signal.SIGKILL
        killed_at = time.time()
        world.wait_idle()
        (effect,) = world.effects(order=order)
        assert effect.executed_at > killed_at, "it was killed too late for this test"


def test_other_processes_may_script_it_and_read_the_truth(world):
    code = (
        "import sys\n"
        "from ascertain.testing.world import World\n"
        "from tests.testing.world_caller import post\n"
        "world = World.attach(sys.argv[1], sys.argv[2])\n"
        "world.script('tickets', {'order': 'A1'}, ['reply_lost'])\n"
        "print(post(world, 'tickets', {'order': 'A1'}, 'k').end, world.count(order='A1'))\n"
    )
    with python(code, world.url, str(world.db_path)) as other:
        assert other.stdout.read().split() == ["reset", "1"]
    assert alive(world.pid), "a handle of another process has stopped the World"
    assert look_up(world, "tickets", "k").body[0]["order"] == "A1"


def test_a_forked_child_leaves_the_world_alone():
    code = (
        "import os\n"
        "from ascertain.testing.world import World\n"
        "from tests.testing.world_caller import post\n"
        "world = World().start()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    world.stop()\n"
        "    raise SystemExit\n"
        "os.waitpid(child, 0)\n"
        "print(post(world, 'tickets', {}, 'k').http, world.count())\n"
        "world.stop()\n"
    )
    with python(code) as other:
        assert other.stdout.read().split() == ["201", "1"]


def test_it_can_be_started_by_hand(tmp_path):
    path = tmp_path / "world.db"
    command = [sys.executable, "-m", "ascertain.testing.world", "--db", str(path)]
    command += ["--provider", 'stock={"first_ref": "S1", "lookup": false}', "--provider", "notices"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        port = json.loads(process.stdout.readline())["port"]
        one = World.attach(f"http://127.0.0.1:{port}", path)
        assert post(one, "stock", {}, "k").body["ref"] == "S1"
        assert look_up(one, "stock", "k").code == "no_such_route"
        assert post(one, "notices", {}, "k").http == 201
        process.terminate()
    assert process.returncode == 0


def test_a_mistake_is_told_with_what_to_do(tmp_path, world):
    with pytest.raises(WorldError, match="not started"):
        assert World().url
    with pytest.raises(WorldError, match="started already"):
        world.start()
    with pytest.raises(WorldError, match="does not serve 'stock'; it serves: tickets"):
        world.script("stock", behaviours=["ok"])
    with pytest.raises(WorldError, match="no World has its file"):
        World.attach(world.url, tmp_path / "nothing.db")
    with pytest.raises(WorldError, match=r"ended before it listened: .*already in use"):
        World(port=int(world.url.rpartition(":")[2])).start()
    with pytest.raises(TimeoutError, match=r"not within 0\.01 s: pigs fly"):
        world.wait_until(lambda: False, "pigs fly", 0.01)
    assert get(world, "/_world/healthz").http == 200
