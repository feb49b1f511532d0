"""What needs an approval waits in Temporal: durably, quietly, for one exact call, and only so long.

The word of a person comes by ``ascertain approve`` at the ledger, or to the action's own workflow.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowUpdateFailedError

from ascertain import State
from ascertain.runtime.approving import digest_of
from ascertain.temporal import Approval, Reconcile
from ascertain.temporal.watch import Watch
from ascertain.testing.world import Behaviour
from tests.temporal.house import WITHIN_S, moment
from tests.temporal.orders import Opening, Order, Wanted
from tests.temporal.shop import SECRET

CHILD_STARTED = EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED
TASK_STARTED = EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED
TASK_DONE = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
TIMER_STARTED = EventType.EVENT_TYPE_TIMER_STARTED
pytestmark = pytest.mark.timeout(120)


@contextlib.asynccontextmanager
async def opening(house):
    """A user's worker with the user's workflow and activity."""
    opened = Opening(house.shop)
    async with house.polling(Order, activities=[opened.open_ticket]):
        yield opened


@contextlib.asynccontextmanager
async def watching(house):
    """What has a workflow for all that is open, beside a worker of the user's own."""
    watch = Watch(house.app, house.starter)

    async def look() -> None:
        while True:
            await watch.look()
            await moment()

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await looking  # what stopped it before is told


async def begin(house):
    """A workflow whose activity asks for credit, and which waits until that is settled."""
    return await house.client.start_workflow(
        Order.run, Wanted(house.order, what="credit", waits=True),
        id=f"order-{house.order}", task_queue=house.queue,
    )  # fmt: skip


async def until_it_waits(house, handle):
    """Until a child of the user's workflow waits in its stead, and no worker has anything to do."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        events = (await handle.fetch_history()).events
        assert time.monotonic() < deadline, [one.event_type for one in events]
        begun = [one for one in events if one.event_type == CHILD_STARTED]
        if begun and events[-1].event_type == TASK_DONE:
            child = begun[0].child_workflow_execution_started_event_attributes.workflow_execution
            waits = await house.client.get_workflow_handle(child.workflow_id).fetch_history()
            kinds = [one.event_type for one in waits.events]
            if TIMER_STARTED in kinds and kinds[-1] != TASK_STARTED:
                return
        await moment()


async def waiting(house):
    """The stored call, once it waits for a person."""
    action = await asyncio.to_thread(house.ask, house.shop.give_credit)
    assert (action.state, action.record.review) == (State.PREPARED, "approval")
    return action


def digest(house, action_id):
    hands = house.app.hands
    return digest_of(hands, hands.ledger.get(action_id))


def ascertain(house, *argv):
    """The command line, at the ledger."""
    done = subprocess.run(
        [sys.executable, "-m", "ascertain.cli", *argv, "--ledger", house.app.url],
        env={**os.environ, "ASCERTAIN_SECRET": SECRET.decode()},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def by_li(house, action, **said):
    said = said or {"digest": digest(house, action.id)}
    return Approval(by="li", **said)


async def test_a_workflow_waits_while_workers_die_until_a_person_approves_at_the_ledger(house):
    """The worker is killed while it waits; the word comes while none runs; one effect follows."""
    child = house.child(module="tests.temporal.orders")
    handle = await begin(house)
    await until_it_waits(house, handle)
    action = house.app.action(house.only().id)
    assert action.record.review == "approval"
    child.send_signal(signal.SIGKILL)
    child.wait(10)
    assert house.effects() == [], "nothing was sent"
    code, told = await asyncio.to_thread(
        ascertain, house, "approve", action.id, "--by", "li", "--digest", digest(house, action.id)
    )
    assert code == 0, told
    async with opening(house), watching(house):
        ticket = await asyncio.wait_for(handle.result(), 40)
    (effect,) = house.effects()
    assert (ticket["state"], ticket["provider_ref"]) == ("confirmed", effect.ref)
    assert action.refresh().record.attempt == 1


async def test_an_update_approves_exactly_this_call_once(house):
    action = await waiting(house)
    slow = Behaviour("slow_deadline", seconds=0.3)
    house.world.script("tickets", {"order": house.order}, [slow])
    async with house.worker():
        await house.until_running(action)
        handle = house.handle(action)
        for said, code in [
            (Approval(by="li"), "contract_error"),
            (Approval(by="li", digest="0" * 32, decline=True), "contract_error"),
            (Approval(by=" ", digest=digest(house, action.id)), "contract_error"),
            (Approval(by="li", digest="0" * 32), "not_allowed"),
            (Approval(by="li", release=True), "not_allowed"),
        ]:
            with pytest.raises(WorkflowUpdateFailedError) as refused:
                await handle.execute_update(Reconcile.approve, said)
            assert refused.value.cause.type == code, said
        assert house.effects() == []
        said = by_li(house, action)
        await asyncio.gather(*(handle.execute_update(Reconcile.approve, said) for _ in range(3)))
        stand = await house.result(action)
    (effect,) = house.effects()
    assert (stand.state, stand.provider_ref) == ("confirmed", effect.ref)
    reasons = [event.reason for event in house.app.ledger.events(action.id)]
    assert reasons.count("approved") == 1, "said three times, it is one"


async def test_a_signal_is_kept_until_a_worker_is_there(house):
    action = await waiting(house)
    handle = await house.starter.reconcile(house.app.ledger.get(action.id))
    await handle.signal(Reconcile.decide, Approval(by="li", digest="0" * 32))
    await handle.signal(Reconcile.decide, by_li(house, action))
    assert action.refresh().record.review == "approval"
    async with house.worker():
        stand = await house.result(action)
        heard = await handle.query(Reconcile.refused)
    assert stand.state == "confirmed"
    assert len(house.effects()) == 1
    assert (heard.refused, heard.again_s) == ("not_allowed", None), "the other call's digest"


async def test_what_is_declined_is_never_sent_and_cannot_be_approved_any_more(house):
    action = await waiting(house)
    async with house.worker():
        await house.until_running(action)
        stand = await house.handle(action).execute_update(
            Reconcile.approve, by_li(house, action, decline=True, evidence="too often")
        )
        assert (stand.state, stand.final) == ("rejected", True)
        assert (await house.result(action)).state == "rejected"
    code, told = await asyncio.to_thread(
        ascertain, house, "approve", action.id, "--by", "li", "--digest", digest(house, action.id)
    )
    assert code != 0, told
    assert house.effects() == []


async def test_an_approval_is_used_by_one_effect_and_not_by_the_next_call(house):
    """The same again, meant as a second one, waits for an approval of its own."""
    action = await waiting(house)
    async with house.worker():
        await house.until_running(action)
        await house.handle(action).execute_update(Reconcile.approve, by_li(house, action))
        await house.result(action)
        with house.app.session("chat-42", principal="u7"):
            second = await asyncio.to_thread(
                house.shop.give_credit.options(ordinal=2), order_id=house.order
            )
        assert (second.state, second.record.review) == (State.PREPARED, "approval")
        await house.starter.reconcile(second.record)
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await house.handle(second).execute_update(Reconcile.approve, by_li(house, action))
        assert refused.value.cause.type == "not_allowed"
    assert len(house.effects()) == 1
