"""Days in seconds: a server whose time is skipped, and a ledger whose clock follows it."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import ActivityInboundInterceptor, Interceptor, Worker

from ascertain import Budget, State
from ascertain.temporal import Reconcile, Verdict, plugin
from tests.temporal.house import House
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
            budget=PATIENT, ask_after_s=HOUR_S,
        )  # fmt: skip
        async with house:
            house.client = environment.client
            house.place = replace(house.place, search_attributes=False)
            yield house, environment


async def begin(house):
    from ascertain.temporal import Starter

    record = house.app.ledger.get(house.only().id)
    return await Starter(house.client, house.place).reconcile(record, poke=False)


def working(house):
    return Worker(
        house.client, task_queue=house.queue, plugins=[plugin(house.app)],
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
