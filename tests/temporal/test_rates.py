"""A provider's rate is one for all: workers of the ledger, of Temporal, chains, and callers."""

import asyncio
import contextlib
import time
from collections import Counter

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from ascertain import State, Step
from ascertain.runtime.tool import AsyncTool
from ascertain.store.ledger import Filter
from ascertain.temporal import Temporal
from ascertain.testing.world import World
from tests.fleet import shop
from tests.temporal.house import moment

pytestmark = pytest.mark.timeout(120)

PER_S = 8
BACKLOG = 16
WITHIN_S = 40.0


@contextlib.asynccontextmanager
async def at_work(worker):
    running = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await asyncio.wait_for(running, WITHIN_S)


@contextlib.asynccontextmanager
async def a_shop(url, world, rate=None, **options):
    made = shop.make(url, world.url, rate, **options)
    try:
        async with made.client:
            yield made.app
    finally:
        await asyncio.to_thread(made.app.close)


async def steps_of(client, queue):
    """How often each workflow of a queue has had a worker do something."""
    found = Counter()
    async for row in client.list_workflows(f"TaskQueue = '{queue}'"):
        history = await client.get_workflow_handle(row.id, run_id=row.run_id).fetch_history()
        scheduled = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
        found[row.id] += sum(event.event_type == scheduled for event in history.events)
    return found


async def until_settled(ledger):
    deadline = time.monotonic() + WITHIN_S
    while await asyncio.to_thread(ledger.next_due_at) is not None:
        assert time.monotonic() < deadline, ledger.counts()
        await moment()


@pytest.mark.parametrize("own", [True, False], ids=["beside the ledger's worker", "alone"])
async def test_whoever_speaks_to_it_the_provider_never_sees_more_than_its_rate(
    target, tmp_path, own
):
    """After an outage: two workers of Temporal, a chain's workflow, an agent; and the ledger's."""
    url, queue = f"sqlite:///{tmp_path}/ledger.db", f"rated-{time.monotonic_ns()}"
    place = Temporal(target, task_queue=queue, embedded=False, silence_s=5.0)
    client = await Client.connect(target)
    async with contextlib.AsyncExitStack() as stack:
        world = stack.enter_context(World())
        unrated = await stack.enter_async_context(a_shop(url, world))
        await shop.outage(unrated, [f"A-{n}" for n in range(BACKLOG)])
        backlog = unrated.ledger.find(Filter(limit=1000))
        assert {record.state for record in backlog} == {State.UNKNOWN}

        began = time.time()
        one, two, third = [
            await stack.enter_async_context(a_shop(url, world, f"{PER_S}/s", worker=worker))
            for worker in (place, place, "none")
        ]
        for worker in (one.make_worker(), two.make_worker(), *([third.own_worker()] * own)):
            await stack.enter_async_context(at_work(worker))
        chain = await place.drive(wish(one), client=client)
        async with one.session("agent", principal="u8") as session:
            for n in range(3):
                called = await session.call_async("create_ticket", {"order_id": f"agent-{n}"})
                assert called.confirmed, (called.state, called.reason)
        assert (await asyncio.wait_for(chain.result(), WITHIN_S)).state == "completed"
        await until_settled(one.ledger)

        assert world.busiest(1.0, since=began) <= PER_S
        found = {record.id: record for record in one.ledger.find(Filter(limit=1000))}
        assert Counter(record.state for record in found.values()) == {State.CONFIRMED: BACKLOG + 4}
        effects = world.effects("tickets")
        assert len(effects) == len({effect.key for effect in effects}) == BACKLOG + 4
        leases = {record.id: found[record.id].fence - record.fence for record in backlog}
        assert set(leases.values()) == {1}, "none is leased before it has its turn"
        steps = await steps_of(client, queue)
        assert sum(steps[action] for action in leases) <= 4 * BACKLOG, (
            "who waits does not ask all the time"
        )


def wish(app):
    create = AsyncTool(app, app.registry.get("create_ticket"))
    steps = [Step("ticket", create, {"order_id": "chained"})]
    return app.session("shop", principal="u7").chain("a wish", steps=steps)
