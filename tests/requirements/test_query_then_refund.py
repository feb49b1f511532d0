"""S13, S18: the person says it once, and the right order is refunded; the control fails."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import valkey

from ascertain.store.ledger import Filter
from ascertain.testing.world import Provider, World
from tests.conformance import valkey_server
from tests.ledgers import ledger_url
from tests.requirements import refunds

pytestmark = pytest.mark.every_ledger

ROOT = Path(__file__).resolve().parent.parent.parent
PEOPLE = 200
KILLED_AFTER = (30, 60)
FINISHED_WITHIN_S = 60.0  # how they end is what is judged, not how soon a busy machine gets there


@pytest.fixture
def refunding():
    """A provider of whose replies every tenth is lost."""
    with World({"refunds": Provider(first_ref="R100")}) as world:
        for person in range(0, PEOPLE, 10):
            world.script("refunds", {"order": refunds.order_of(person)}, ["reply_lost", "ok"])
        yield world


@pytest.fixture(params=["ledger", "valkey"])
def sessions(request, tmp_path):
    """Who serves what conversations remember: the ledger, or a server that loses them twice."""
    if request.param == "ledger":
        yield []
        return
    with valkey_server.running(request.param) as (url, _):
        yield [url]


@pytest.mark.slow
def test_req_S13_query_then_refund_under_concurrency_lost_replies_and_restarts(
    refunding, tmp_path, sessions
):
    """200 conversations at once, every tenth reply lost, the process killed twice."""
    url = ledger_url(f"{tmp_path}/ledger.db")
    for enough in KILLED_AFTER:
        _play(url, refunding, sessions, kill_after=enough)
        for store in sessions:
            with valkey.Valkey.from_url(store) as client:
                client.flushall()
    told = _play(url, refunding, sessions)
    assert len(told) == PEOPLE
    states = _recovered(url, refunding)
    complete = states["confirmed"]
    assert complete >= 0.995 * PEOPLE, states
    assert complete + states["unknown"] + states["prepared"] + states["sent"] == PEOPLE, states
    effects = Counter(str(effect.args["order"]) for effect in refunding.effects("refunds"))
    wrong = set(effects) - {refunds.order_of(person) for person in range(PEOPLE)}
    assert not wrong, f"orders that nobody wanted refunded: {wrong}"
    assert max(effects.values()) == 1, "nobody was refunded twice"
    assert len(effects) >= complete


def test_req_S18_the_control_with_asynchronous_write_back_fails_visibly():
    """The same conversations on a store that is written in the background: about 15 % fail."""
    runs = [refunds.naive(PEOPLE, seed) for seed in range(10)]
    for ended in runs:
        failing = (ended["wrong"] + ended["missing"]) / PEOPLE
        assert failing >= 0.05, ended
    rate = sum(ended["wrong"] + ended["missing"] for ended in runs) / (len(runs) * PEOPLE)
    assert 0.10 <= rate <= 0.20, f"the document saw about 15 %, the control {rate:.1%}"
    assert any(ended["wrong"] for ended in runs), "and wrong orders were refunded"


def _play(
    url: str, world: World, sessions: list[str], *, kill_after: int | None = None
) -> list[str]:
    """Run the agent's process; with `kill_after`, kill it once so many conversations have ended."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.requirements.refunds", url, world.url, str(PEOPLE),
         *sessions],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", *sys.path])},
    )  # fmt: skip
    told: list[str] = []
    assert child.stdout is not None
    with child:
        for line in child.stdout:
            told.append(line)
            if len(told) == kill_after:
                child.send_signal(signal.SIGKILL)
                break
        code = child.wait(60)
    assert code == (0 if kill_after is None else -signal.SIGKILL)
    return told


def _recovered(url: str, world: World) -> Counter[str]:
    """Let a worker finish what can be finished; how the refunds stand when nothing falls due."""

    async def recover() -> Counter[str]:
        app, client = refunds.agents_app(url, world.url)
        async with app, client:
            worker = app.make_worker()
            deadline = time.monotonic() + FINISHED_WITHIN_S
            while (due_at := app.ledger.next_due_at()) is not None:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    break  # what is open then is told, and counted by the caller
                await asyncio.sleep(min(left_s, max(0.0, due_at - app.hands.clock())))
                await worker.drain()
            found = app.ledger.find(Filter(tool="refund", limit=10_000))
            live = [record for record in found if not (record.final and record.state == "rejected")]
            assert list(app.ledger.verify()) == []
            return Counter(str(record.state) for record in live)

    return asyncio.run(recover())
