"""Chains with declared steps, driven by a workflow."""

import asyncio
import signal

import pytest

from ascertain import Ref, Step
from ascertain.model.chain import Direction
from ascertain.temporal import Progress

pytestmark = pytest.mark.timeout(120)


def wish(house):
    """A ticket, and a notice about it."""
    shop = house.shop
    steps = [
        Step("notice", shop.send_notice, {"order_id": Ref("ticket.provider_ref")}),
        Step("ticket", shop.create_ticket, {"order_id": house.order}),
    ]
    return house.app.session("shop", principal="u7").chain(f"order {house.order}", steps=steps)


async def driven(house, chain):
    """Have it driven, and wait until nothing is left to do."""
    handle = await house.place.drive(chain, client=house.client)
    return await asyncio.wait_for(handle.result(), 40)


def notices(house, chain):
    made = chain.around().steps().get("ticket")
    return [] if made is None else house.effects("notices", order=made[1].provider_ref)


async def test_declared_steps_are_made_in_the_order_of_what_they_need(house):
    chain = wish(house)
    async with house.worker():
        progress = await driven(house, chain)
        again = await driven(house, wish(house))
    assert (progress.state, progress.over) == ("completed", True)
    assert progress.states == {"ticket": "confirmed", "notice": "confirmed"}
    assert again.states == progress.states
    assert len(house.effects()) == len(notices(house, chain)) == 1
    assert house.app.ledger.chains.next_due_at() is None, "nothing is left to start"


async def test_two_who_drive_one_wish_are_one_workflow(house):
    handles = [await house.place.drive(wish(house), client=house.client) for _ in range(3)]
    assert len({handle.first_execution_run_id for handle in handles}) == 1
    async with house.worker():
        progress = await asyncio.wait_for(handles[0].result(), 40)
    assert progress.state == "completed"
    assert len(house.effects()) == 1


@pytest.mark.parametrize("moment", ["before:create_ticket", "after:send_notice"])
async def test_a_worker_killed_in_the_middle_of_a_step_is_followed_by_another(house, moment):
    chain = wish(house)
    handle = await house.place.drive(chain, client=house.client)
    child = house.child(moment)
    await house.until(lambda: child.poll() is not None, "the worker is killed")
    assert child.returncode == -signal.SIGKILL
    async with house.worker():
        progress: Progress = await asyncio.wait_for(handle.result(), 60)
    assert progress.states == {"ticket": "confirmed", "notice": "confirmed"}
    assert len(house.effects()) == len(notices(house, chain)) == 1


async def test_a_step_without_an_answer_holds_up_the_next_until_it_is_found_out(house):
    house.world.script("tickets", {"order": house.order}, ["reply_lost"], ["error_500"])
    chain = wish(house)
    async with house.worker():
        progress = await driven(house, chain)
    assert progress.state == "completed"
    assert len(house.effects()) == len(notices(house, chain)) == 1


async def test_an_essential_refusal_undoes_what_was_done(house):
    """Paying is refused: the ticket is closed again, by its own workflow, once."""
    shop = house.shop
    steps = [
        Step("ticket", shop.create_ticket, {"order_id": house.order}),
        Step("pay", shop.pay, {"order_id": house.order}, after=["ticket"]),
    ]
    chain = house.app.session("shop", principal="u7").chain(f"order {house.order}", steps=steps)
    async with house.worker():
        progress = await driven(house, chain)
    assert progress.direction == Direction.BACKWARD
    ticket = chain.around().steps()["ticket"][1]
    assert (str(ticket.state), progress.states["ticket"]) == ("compensated", "compensated")
    assert len(house.world.effects("notices", closed=ticket.provider_ref)) == 1
    assert len(house.effects()) == 1


async def test_a_plan_whose_starter_dies_is_started_by_whoever_looks(house):
    """Stored, and the process is gone before it could start the workflow."""
    chain = wish(house)
    stored = chain.record._replace(due_at=house.app.hands.clock())
    chain.record = stored
    await chain.store_async()
    async with house.worker():
        handle = house.client.get_workflow_handle(chain.id, result_type=Progress)
        await house.until(lambda: len(notices(house, chain)) == 1, "the wish is fulfilled")
        progress = await asyncio.wait_for(handle.result(), 40)
    assert progress.state == "completed"
    assert len(house.effects()) == 1
