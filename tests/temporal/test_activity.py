"""Guarded calls inside an activity: whatever Temporal repeats, there is one effect."""

import asyncio
import contextlib
import signal

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowFailureError

from ascertain import State
from ascertain.errors import LedgerBusy
from ascertain.store.ledger import Filter
from ascertain.temporal.guarding import as_failure
from ascertain.testing.world import Behaviour
from tests.temporal.house import payloads
from tests.temporal.orders import Opening, Order, Wanted

_ANY = Filter()
pytestmark = pytest.mark.timeout(120)


@contextlib.asynccontextmanager
async def opening(house):
    """A worker with the user's workflow and activity."""
    opened = Opening(house.shop)
    async with house.polling(Order, activities=[opened.open_ticket]):
        yield opened


async def order(house, **wanted):
    """Run the user's workflow to its end."""
    handle = await begin(house, **wanted)
    return await asyncio.wait_for(handle.result(), 40)


async def begin(house, **wanted):
    return await house.client.start_workflow(
        Order.run, Wanted(house.order, **wanted), id=f"order-{house.order}", task_queue=house.queue
    )


async def test_an_activity_that_is_tried_again_after_the_effect_finds_its_action(house):
    async with opening(house) as opened:
        ticket = await order(house, breaks=3)
    (effect,) = house.effects()
    assert (ticket["state"], ticket["settled"]) == ("confirmed", True)
    assert ticket["provider_ref"] == effect.ref
    assert ticket["result"]["ref"] == effect.ref
    assert opened.tries == 4
    assert set(opened.ids) == {ticket["action"]}, "each try found the same action"
    assert house.only().attempt == 1


async def test_also_where_each_try_would_make_another_identity(house):
    async with opening(house) as opened:
        ticket = await order(house, breaks=2, what="random identity")
    assert opened.tries == 3
    assert len(set(opened.ids)) == 1
    made = [e for e in house.world.effects("tickets") if e.args["order"].startswith(house.order)]
    assert len(made) == 1
    assert house.only().id == ticket["action"]


async def test_an_unknown_outcome_is_a_value_and_no_invitation_to_try_again(house):
    house.world.script("tickets", {"order": house.order}, ["reply_lost"], ["error_500"])
    async with opening(house) as opened:
        ticket = await order(house)
    assert (ticket["state"], ticket["settled"]) == ("unknown", False)
    assert ticket["facts"]["actions"][0]["state"] == "unknown"
    assert opened.tries == 1
    assert len(house.effects()) == 1


async def test_a_workflow_can_wait_until_its_action_is_settled(house):
    house.world.script("tickets", {"order": house.order}, ["reply_lost"], ["error_500"] * 2)
    async with opening(house):
        handle = await begin(house, waits=True)
        await house.until(lambda: house.app.ledger.find(_ANY), "the call was made")
        async with house.worker():
            ticket = await asyncio.wait_for(handle.result(), 40)
    (effect,) = house.effects()
    assert (ticket["state"], ticket["provider_ref"]) == ("confirmed", effect.ref)


async def test_a_refusal_is_a_value_too(house):
    house.world.script("tickets", {"order": house.order}, ["business_refusal"])
    async with opening(house) as opened:
        ticket = await order(house, breaks=1)
    assert (ticket["state"], ticket["settled"]) == ("rejected", True)
    assert opened.tries == 2
    assert house.effects() == []
    assert len(house.world.arrivals("tickets", method="POST", order=house.order)) == 1


@pytest.mark.parametrize(
    "what, code",
    [
        ("wrong arguments", "invalid_arguments"),
        ("twice", "contract_error"),
        ("unwrap", "unsettled"),
    ],
)
async def test_misuse_fails_the_activity_at_once_with_our_code(house, what, code):
    if what == "unwrap":
        house.world.script("tickets", {"order": house.order}, ["reply_lost"], ["error_500"])
    async with opening(house) as opened:
        with pytest.raises(WorkflowFailureError) as failure:
            await order(house, what=what)
    cause = failure.value.cause.cause
    assert (cause.type, cause.non_retryable, opened.tries) == (code, True, 1)
    assert len(house.effects()) == (0 if what == "wrong arguments" else 1)
    if what == "unwrap":
        assert cause.details[0]["actions"][0]["state"] == "unknown"


def test_what_the_ledger_could_not_do_sent_nothing_and_may_be_tried_again():
    assert not as_failure(LedgerBusy()).non_retryable


async def test_two_calls_of_one_tool_in_an_activity_are_told_apart_by_name(house):
    async with opening(house) as opened:
        await order(house, what="two", breaks=2)
    assert opened.tries == 3
    for side in ("left", "right"):
        assert len(house.effects(order=f"{house.order}/{side}")) == 1


async def test_a_workflow_that_is_reset_or_goes_on_anew_means_the_same_wish(house):
    """Both have another run id: the intent finds the action, until a turn says otherwise."""
    async with opening(house) as opened:
        await order(house, rounds=2)
        run = await house.client.get_workflow_handle(f"order-{house.order}").describe()
        await house.client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace="default", reason="a defect was put right", request_id="one",
                workflow_execution=WorkflowExecution(workflow_id=run.id, run_id=run.run_id),
                workflow_task_finish_event_id=4,
            )
        )  # fmt: skip
        await asyncio.wait_for(house.client.get_workflow_handle(run.id).result(), 40)
        assert opened.tries == 4
        assert len(set(opened.ids)) == 1
        assert len(house.effects()) == 1
        await order(house, turn="a second wish")
    assert len(house.effects()) == 2


async def test_an_activitys_process_killed_around_the_effect_leaves_one_effect(house):
    child = house.child("after:create_ticket", module="tests.temporal.orders")
    handle = await begin(house)
    await house.until(lambda: child.poll() is not None, "the process is killed")
    assert child.returncode == -signal.SIGKILL
    assert house.only().state is State.SENT
    async with opening(house):
        ticket = await asyncio.wait_for(handle.result(), 40)
    (effect,) = house.effects()
    assert (ticket["state"], ticket["provider_ref"]) == ("confirmed", effect.ref)


async def test_a_workflow_cancelled_while_the_call_is_under_way_leaves_a_truth(house):
    """The provider takes its time; the workflow is cancelled; the action is settled anyway."""
    slow = Behaviour("slow_deadline", seconds=0.7)  # less than absence takes to be final
    house.world.script("tickets", {"order": house.order}, [slow])
    async with opening(house):
        handle = await begin(house, waits=True)
        await house.until(lambda: house.app.ledger.find(_ANY), "the call is made")
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await asyncio.wait_for(handle.result(), 40)
    async with house.worker():
        stand = await house.result(house.only())
    house.world.wait_idle()
    (effect,) = house.effects()
    assert (stand.state, stand.provider_ref) == ("confirmed", effect.ref)


async def test_nothing_of_arguments_or_results_is_in_the_actions_own_histories(house):
    secret = f"secret-{house.order}"
    house.world.script("tickets", {"order": secret}, ["reply_lost"], ["error_500"] * 2)
    action = await asyncio.to_thread(house.ask, house.shop.create_ticket, secret)
    async with house.worker():
        await house.result(action)
    assert len(house.effects(order=secret)) == 1
    (history,) = await house.histories()
    found = payloads(history)
    assert found
    assert not [data for _, data in found if secret in data]
