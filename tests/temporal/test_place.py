"""`Ascertain(..., worker=Temporal(...))`: one line, and what is refused before anything is sent."""

import asyncio
import signal
import subprocess
import sys

import pytest
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest

from ascertain import Ascertain, State
from ascertain.errors import ContractError
from ascertain.temporal import Temporal, Unreachable
from ascertain.temporal.attributes import register
from ascertain.temporal.words import ATTRIBUTES
from tests import ports
from tests.postgres.server import new_url
from tests.temporal.shop import Shop

pytestmark = pytest.mark.timeout(120)

# In a fresh interpreter in which the SDK cannot be had.
WITHOUT = """
import sys
sys.modules["temporalio"] = None
from ascertain import Ascertain
from ascertain.temporal import Temporal, TemporalMissing
place = Temporal("127.0.0.1:7233")
try:
    Ascertain("sqlite:///{folder}/ledger.db", worker=place).make_worker()
except TemporalMissing as error:
    print(error)
try:
    from ascertain.temporal import acting
except TemporalMissing as error:
    print(error.code)
"""
LOADED = """
import sys
import ascertain
from ascertain.temporal import Temporal, Verdict
Temporal("127.0.0.1:7233")
print([name for name in sys.modules if name.partition(".")[0] == "temporalio"])
"""


@pytest.mark.parametrize("ledger", ["sqlite", "postgresql"])
@pytest.mark.parametrize("worker", ["embedded", "temporal"])
def test_the_same_application_runs_on_either_ledger_with_and_without_temporal(
    world, target, tmp_path, request, worker, ledger
):
    """One URL, or one line, is all that differs."""
    order = f"A-{request.node.name}"
    place = worker if worker == "embedded" else Temporal(target, task_queue=order, silence_s=2.0)
    url = f"sqlite:///{tmp_path}/ledger.db" if ledger == "sqlite" else new_url()
    world.script("tickets", {"order": order}, ["reply_lost"], ["error_500"])
    shop = Shop(world.url, tmp_path, place, url=url)
    with shop.app.session("chat-42", principal="u7"):
        ticket = shop.create_ticket(order_id=order)
    assert ticket.state is State.UNKNOWN
    world.wait_until(lambda: ticket.refresh().confirmed, "it is recovered by itself", 40)
    (effect,) = world.effects("tickets", order=order)
    assert ticket.refresh().provider_ref == effect.ref
    shop.close()


async def test_also_with_the_app_as_a_context_on_the_loop(world, target, tmp_path, request):
    order = f"A-{request.node.name}"
    place = Temporal(target, task_queue=order, silence_s=2.0)
    world.script("tickets", {"order": order}, ["reply_lost"], ["error_500"])
    shop = Shop(world.url, tmp_path, place)
    async with shop.app as app:
        async with app.session("chat-42", principal="u7") as session:
            ticket = await session.call_async("create_ticket", {"order_id": order})
        holds = lambda: ticket.refresh().confirmed  # noqa: E731 - said in a thread
        await asyncio.to_thread(world.wait_until, holds, "it is recovered", 40)
    assert len(world.effects("tickets", order=order)) == 1
    shop.client.close()


async def test_a_worker_process_finishes_what_it_has_in_hand_on_sigterm(house):
    action = await house.lose_answer()
    child = house.child()
    await house.until(lambda: action.refresh().confirmed, "it is recovered")
    child.send_signal(signal.SIGTERM)
    await house.until(lambda: child.poll() is not None, "the worker ends")
    assert child.returncode == 0, (house.folder / "child.log").read_text()
    assert "1 action taken up" in (house.folder / "child.log").read_text()
    assert house.app.ledger.last_heartbeat() is not None, "others see that somebody recovers"


def test_what_makes_no_sense_is_refused_where_it_is_said():
    for said, match in [
        ({"target": ""}, "target"),
        ({"task_queue": "a\nb"}, "task_queue"),
        ({"namespace": 7}, "namespace"),
        ({"look_again_s": 0}, "look_again_s"),
        ({"silence_s": -1}, "silence_s"),
        ({"steps_per_run": 0}, "steps_per_run"),
        ({"connect": "tls"}, "connect"),
    ]:
        with pytest.raises(ContractError, match=match):
            Temporal(**said)
    with pytest.raises(ContractError, match="'embedded', 'none', or an engine"):
        Ascertain("sqlite:///nowhere.db", worker="temporal")


async def test_nobody_answers_and_the_error_says_where():
    target = f"127.0.0.1:{ports.claim()}"
    with pytest.raises(Unreachable, match=target):
        await Temporal(target).client()


async def test_search_attributes_are_registered_once_by_whoever_is_first(house):
    await asyncio.gather(*(register(house.client) for _ in range(3)))
    request = ListSearchAttributesRequest(namespace="default")
    known = await house.client.operator_service.list_search_attributes(request)
    assert set(ATTRIBUTES) <= set(known.custom_attributes)


def python(code, **more):
    done = subprocess.run(
        [sys.executable, "-c", code.format(**more) if more else code],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_the_sdk_the_error_names_the_extra(tmp_path):
    said = python(WITHOUT, folder=tmp_path)
    assert "ascertain[temporal]" in said
    assert "temporal_missing" in said


def test_the_place_is_named_without_loading_the_sdk():
    assert python(LOADED).strip() == "[]"
