"""A workflow for each open action: it owns time and single flight, and the ledger is the truth."""

import asyncio
import signal

import pytest
from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import CancelledError

from ascertain import State
from ascertain.temporal import Reconcile, Verdict
from ascertain.testing.world import Behaviour

pytestmark = pytest.mark.timeout(120)


async def test_a_lost_answer_is_found_out_by_the_actions_own_workflow(house):
    action = await house.lose_answer()
    async with house.worker():
        await house.until(lambda: action.refresh().confirmed, "the truth is known")
        stand = await house.result(action)
    (effect,) = house.effects()
    assert stand.settled
    assert (stand.state, stand.provider_ref) == ("confirmed", effect.ref)
    described = await house.handle(action).describe()
    shown = {pair.key.name: pair.value for pair in described.typed_search_attributes}
    assert shown["AscertainState"] == "confirmed"
    assert shown["AscertainTool"] == "create_ticket"
    assert shown["AscertainTenant"] == "default"


async def test_two_starters_of_one_action_are_one_run(house):
    action = await house.lose_answer()
    record = house.app.ledger.get(action.id)
    handles = await asyncio.gather(
        *(house.starter.reconcile(record, poke=bool(i % 2)) for i in range(6))
    )
    assert len({handle.first_execution_run_id for handle in handles}) == 1
    async with house.polling():
        await house.result(action)
    assert len(house.effects()) == 1
    assert len(await house.histories()) == 1


@pytest.mark.parametrize(
    "first, moment",
    [("reply_lost", "after:create_ticket"), ("request_lost", "before:create_ticket")],
)
async def test_a_worker_killed_in_the_middle_of_a_step_is_followed_by_another(house, first, moment):
    """SIGKILL around the effect of a second send; the first one had happened, or had not."""
    action = await house.lose_answer(first)
    child = house.child(moment)
    await house.until(lambda: child.poll() is not None, "the worker is killed")
    assert child.returncode == -signal.SIGKILL
    assert action.refresh().state is State.SENT
    async with house.worker():
        stand = await house.result(action)
    (effect,) = house.effects()
    assert (stand.state, stand.provider_ref) == ("confirmed", effect.ref)
    assert stand.attempt == (2 if first == "reply_lost" else 3)


async def test_no_worker_for_a_while_and_a_verdict_given_meanwhile(house):
    """Nobody can ask about a letter. A person looks, and says so while no worker runs."""
    action = await house.lose_letter()
    async with house.worker():
        stand = await house.until_running(action)
    assert (stand.state, stand.review, stand.wait_s) == ("unknown", "cannot_ask", None)
    await house.handle(action).signal(Reconcile.say, Verdict(confirmed="L-by-hand"))
    assert action.refresh().state is State.UNKNOWN
    async with house.worker():
        stand = await house.result(action)
    assert (stand.state, stand.provider_ref) == ("confirmed", "L-by-hand")
    assert len(house.effects("letters")) == 1


async def test_a_verdict_is_checked_written_before_it_returns_and_said_twice_is_one(house):
    action = await house.lose_letter()
    async with house.worker():
        await house.until_running(action)
        handle = house.handle(action)
        for said, code in [
            (Verdict(), "contract_error"),
            (Verdict(confirmed=" "), "contract_error"),
            (Verdict(not_done=True), "contract_error"),
            (Verdict(confirmed="L1", not_done=True, evidence="both"), "contract_error"),
        ]:
            with pytest.raises(WorkflowUpdateFailedError) as refused:
                await handle.execute_update(Reconcile.verdict, said)
            assert refused.value.cause.type == code
        assert action.refresh().state is State.UNKNOWN
        events = len(house.app.ledger.events(action.id))
        stands = await asyncio.gather(
            *(handle.execute_update(Reconcile.verdict, Verdict(confirmed="L7")) for _ in range(3))
        )
        assert {(stand.state, stand.provider_ref) for stand in stands} == {("confirmed", "L7")}
        assert len(house.app.ledger.events(action.id)) == events + 1
        stand = await house.result(action)
    assert (stand.state, stand.provider_ref) == ("confirmed", "L7")
    assert len(house.effects("letters")) == 1


async def test_a_verdict_that_cannot_be_known_yet_is_refused_or_kept_until_it_may_be_said(house):
    """What was sent may still arrive. An update says so; a signalled word waits for that time."""
    action = await house.lose_letter(house.shop.send_note, "request_lost")
    not_done = Verdict(not_done=True, evidence="the post office has no such letter")
    async with house.worker():
        handle = await house.starter.reconcile(house.app.ledger.get(action.id))
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await handle.execute_update(Reconcile.verdict, not_done)
        assert refused.value.cause.type == "may_still_arrive"
        await handle.signal(Reconcile.say, not_done)
        heard = await house.until_told(action, Reconcile.refused)
        assert (heard.refused, 0 < heard.again_s < 4) == ("may_still_arrive", True)
        assert action.refresh().state is State.UNKNOWN
        stand = await house.result(action)
    assert (stand.state, stand.final) == ("rejected", True)
    assert house.effects("letters") == []


async def test_a_verdict_given_at_the_ledger_ends_the_workflow(house):
    action = await house.lose_letter()
    async with house.worker():
        await house.until_running(action)
        await asyncio.to_thread(house.app.resolve, action.id, confirmed="L3")
        stand = await house.result(action)
    assert (stand.state, stand.provider_ref) == ("confirmed", "L3")


async def test_a_cancelled_workflow_settles_nothing_and_loses_nothing(house):
    """Somebody cancels it in the middle of an outage: the action is open, and is taken up again."""
    action = await house.lose_answer("request_lost", lookups=2, sends=2)
    record = house.app.ledger.get(action.id)
    handle = await house.starter.reconcile(record)
    async with house.polling():
        await house.until_running(action)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError) as ended:
            await asyncio.wait_for(handle.result(), 20)
    assert isinstance(ended.value.cause, CancelledError)
    assert not action.refresh().record.terminal
    async with house.worker():
        await house.until(lambda: action.refresh().record.terminal, "the truth is known")
        stand = await house.result(action)
    (effect,) = house.effects()
    assert (stand.state, stand.provider_ref) == ("confirmed", effect.ref)
    assert len(await house.histories()) == 2


async def test_a_long_wait_begins_its_history_anew_and_forgets_no_word(house):
    house.steps_per_run(2)
    action = await house.lose_letter(house.shop.send_parcel)
    not_done = Verdict(not_done=True, evidence="the post office has no such letter")
    async with house.worker():
        first = await house.until_running(action)
        await house.handle(action).signal(Reconcile.say, not_done)
        for _ in range(6):
            await house.handle(action).signal(Reconcile.look)
            await house.until_told(action, Reconcile.refused)
        histories = await house.histories()
        assert len(histories) > 2, "begun anew"
        assert max(len(history.events) for history in histories) < 60
        assert (await house.until_running(action)).action == first.action
        await house.handle(action).execute_update(Reconcile.verdict, Verdict(confirmed="L4"))
        assert (await house.result(action)).provider_ref == "L4"


async def test_no_action_is_taken_without_a_thread_for_it(house):
    """Two threads, many actions of a sync tool: none spends a send on nothing."""
    house.app._calls.bodies._bound = 2
    lost = []
    for n in range(12):
        order = f"{house.order}/{n}"
        slow = Behaviour("slow_deadline", seconds=0.2)
        house.world.script("tickets", {"order": order}, ["request_lost", slow], ["error_500"])
        lost.append(await asyncio.to_thread(house.ask, house.shop.create_ticket, order))
    async with house.worker():
        await house.until(
            lambda: all(action.refresh().confirmed for action in lost), "all are settled"
        )
    told = [event.reason for action in lost for event in house.app.ledger.events(action.id)]
    assert not [reason for reason in told if "all_threads_busy" in reason]
    assert [action.refresh().attempt for action in lost] == [2] * 12
    assert [len(house.effects(order=f"{house.order}/{n}")) for n in range(12)] == [1] * 12
