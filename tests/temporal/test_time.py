"""Days in seconds: a server whose time is skipped, and a ledger whose clock follows it."""

import asyncio
import contextlib
from dataclasses import replace
from datetime import timedelta

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import ActivityInboundInterceptor, Interceptor, Worker

from ascertain import Budget, NotAllowed, State
from ascertain.runtime.approving import approve, digest_of
from ascertain.store.ledger import Filter
from ascertain.temporal import Approval, Reconcile, Verdict, plugin
from tests.temporal.house import House
from tests.temporal.orders import Opening, Order, Wanted
from tests.temporal.server import binary

pytestmark = pytest.mark.timeout(120)

HOUR_S = 3600.0
PATIENT = Budget(
    turn_sends=1, turn_s=1.0, sends=2, unanswered=12, send_deadline_s=0.5, backoff_s=HOUR_S,
    backoff_max_s=HOUR_S, horizon_s=60 * HOUR_S,
)  # fmt: skip


class ServerClock(Interceptor):
    """The ledger's clock: the server's, as the latest activity heard it."""

    def __init__(self):
        self.at = 0.0

    def __call__(self):
        return self.at

    def intercept_activity(self, next):
        return _Hearing(next, self)


class _Hearing(ActivityInboundInterceptor):
    def __init__(self, next, clock):
        super().__init__(next)
        self._clock = clock

    async def execute_activity(self, input):
        from temporalio import activity

        self._clock.at = max(
            self._clock.at, activity.info().current_attempt_scheduled_time.timestamp()
        )
        return await super().execute_activity(input)


@pytest.fixture
async def skipping(world, tmp_path, request):
    """A house on the time-skipping server."""
    path = binary("temporal-test-server")
    environment = await WorkflowEnvironment.start_time_skipping(test_server_existing_path=path)
    async with environment:
        clock = ServerClock()
        clock.at = (await environment.get_current_time()).timestamp()
        target = environment.client.service_client.config.target_host
        house = House(
            target, world, tmp_path, f"A-{request.node.name}-{clock.at}", clock=clock,
            budget=PATIENT, ask_after_s=HOUR_S, approval_within="3d",
        )  # fmt: skip
        async with house:
            house.client = environment.client
            house.place = replace(house.place, search_attributes=False)
            yield house, environment


async def begin(house):
    from ascertain.temporal import Starter

    record = house.app.ledger.get(house.only().id)
    return await Starter(house.client, house.place).reconcile(record, poke=False)


def working(house, workflows=(), activities=()):
    return Worker(
        house.client, task_queue=house.queue, plugins=[plugin(house.app)],
        workflows=list(workflows), activities=list(activities),
        interceptors=[house.shop.app.hands.clock],
    )  # fmt: skip


async def lasted_s(handle):
    row = await handle.describe()
    return (row.close_time - row.start_time).total_seconds()


async def test_a_provider_that_works_for_a_day_is_asked_each_hour_and_believed_in_the_end(skipping):
    house, _ = skipping
    house.world.script("tickets", {"order": house.order}, ["reply_lost"], ["working"] * 24)
    action = await asyncio.to_thread(house.ask, house.shop.create_ticket)
    assert action.state is State.UNKNOWN
    handle = await begin(house)
    async with working(house):
        stand = await asyncio.wait_for(handle.result(), 40)
    (effect,) = house.effects()
    assert (stand.state, stand.provider_ref) == ("confirmed", effect.ref)
    assert 23 * HOUR_S < await lasted_s(handle) < 28 * HOUR_S
    asked = house.world.arrivals("tickets", method="GET", key=action.key)
    assert 24 <= len(asked) <= 28
    assert len(house.world.arrivals("tickets", method="POST", key=action.key)) == 1


async def test_nobody_answers_for_two_days_and_it_is_unknown_until_a_person_has_looked(skipping):
    """Look-ups fail for hours, then it is a person's case; a day later it still is nothing else."""
    house, environment = skipping
    house.world.script("tickets", {"order": house.order}, ["reply_lost"] * 3, ["error_500"] * 40)
    action = await asyncio.to_thread(house.ask, house.shop.create_ticket)
    handle = await begin(house)
    async with working(house):
        await environment.sleep(timedelta(hours=36))
        stand = await handle.query(Reconcile.stand)
        assert (stand.state, stand.settled) == ("unknown", False)
        assert stand.review
        assert action.refresh().state is State.UNKNOWN
        (effect,) = house.effects()
        await handle.signal(Reconcile.say, Verdict(confirmed=effect.ref, evidence="seen in it"))
        stand = await asyncio.wait_for(handle.result(), 40)
    assert (stand.state, stand.provider_ref) == ("confirmed", effect.ref)
    assert await lasted_s(handle) >= 36 * HOUR_S
    assert len(house.effects()) == 1


@contextlib.asynccontextmanager
async def waiting_for_credit(skipping):
    """A user's workflow that waits for a call which waits for an approval; both have workflows."""
    house, environment = skipping
    house.place = replace(house.place, look_again_s=6 * HOUR_S)
    opened = Opening(house.shop)
    async with working(house, [Order], [opened.open_ticket]):
        handle = await house.client.start_workflow(
            Order.run, Wanted(house.order, what="credit", waits=True),
            id=f"order-{house.order}", task_queue=house.queue,
        )  # fmt: skip
        await house.until(lambda: house.app.ledger.find(Filter()), "the call is stored")
        own = await begin(house)
        await environment.sleep(timedelta(days=2))
        yield house, handle, own


async def looks(handle):
    """How often a worker was asked to do something, and how long the history is."""
    history = await handle.fetch_history()
    scheduled = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    return sum(one.event_type == scheduled for one in history.events), len(history.events)


async def test_an_approval_is_waited_for_for_days_without_asking_all_the_time(skipping):
    async with waiting_for_credit(skipping) as (house, handle, own):
        record = house.only()
        assert (record.state, record.review) == (State.PREPARED, "approval")
        assert house.world.arrivals("tickets", method="POST", order=house.order) == []
        assert (await looks(handle))[1] < 20, "who waits has a short history, however long it waits"
        assert (await looks(own))[0] < 15
        hands = house.app.hands
        said = Approval(by="li", digest=digest_of(hands, record))
        stand = await own.execute_update(Reconcile.approve, said)
        assert stand.review == ""
        ticket = await asyncio.wait_for(handle.result(), 40)
    (effect,) = house.effects()
    assert (ticket["state"], ticket["provider_ref"]) == ("confirmed", effect.ref)
    assert await lasted_s(handle) < 48.5 * HOUR_S, "it is told, and does not find out by looking"


async def test_what_nobody_approves_in_its_time_is_withdrawn_and_cannot_be_approved_later(skipping):
    async with waiting_for_credit(skipping) as (house, handle, _):
        ticket = await asyncio.wait_for(handle.result(), 40)
        record = house.only()
    assert (ticket["state"], record.state, record.final) == ("rejected", State.REJECTED, 1)
    assert 72 * HOUR_S <= await lasted_s(handle) < 74 * HOUR_S
    assert house.world.arrivals("tickets", method="POST", order=house.order) == []
    hands = house.app.hands
    with pytest.raises(NotAllowed):
        approve(hands, record.id, by="li", digest=digest_of(hands, record))
