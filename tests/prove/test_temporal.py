"""Under Temporal, with everything killed: workers, the Temporal server, in the middle of an outage.

Each action ends in a truth that the provider's own count bears out, and nothing is lost.
"""

import asyncio
import itertools
import random
import tempfile

import pytest
from temporalio.client import Client

from ascertain import State
from ascertain.store.ledger import Filter
from ascertain.testing.world import World
from tests.temporal.house import House
from tests.temporal.server import Server
from tests.temporal.shop import PROVIDERS

pytestmark = [pytest.mark.prove, pytest.mark.timeout(400)]

ACTIONS = 60
KILLS = 6
WITHIN_S = 240.0
FIRST = ("reply_lost", "request_lost", "error_500_after", "error_500_before", "truncated")


@pytest.fixture
def server():
    with tempfile.TemporaryDirectory(prefix="temporal-") as folder:
        server = Server(folder).start().await_ready()
        yield server
        server.kill()


async def test_workers_and_the_server_are_killed_and_every_action_ends_in_a_truth(server, tmp_path):
    dice = random.Random(7)
    with World(dict(PROVIDERS)) as world:
        async with House(server.target, world, tmp_path, "storm") as house:
            orders = dict(zip(_names(), itertools.cycle(FIRST), strict=False))
            lost = await asyncio.gather(
                *(asyncio.to_thread(_lose, house, *pair) for pair in orders.items())
            )
            for n in range(KILLS):
                workers = [house.child(), house.child()]
                seen = _moves(house)
                more = dice.randint(4, 12)
                await house.until(
                    lambda seen=seen, more=more: _moves(house) >= seen + more, "they get somewhere"
                )
                for worker in workers:
                    worker.kill()
                    worker.wait(10)
                if n == KILLS // 2:
                    server.kill()
                    await asyncio.to_thread(server.start().await_ready)
            house.client = await Client.connect(server.target)
            left = sum(not action.refresh().record.terminal for action in lost)
            async with house.worker():
                await house.until(lambda: not _open(house), "all are settled", WITHIN_S)
            _judge(world, lost)
            await house.check_histories()
            runs = len(await house.histories())
    print(
        f"\n{ACTIONS} lost answers, {2 * KILLS} workers and 1 server killed: all settled, "
        f"{left} of them after the last kill, by {runs} workflow runs"
    )


def _names():
    return [f"storm-{n}" for n in range(ACTIONS)]


def _lose(house, order, first):
    house.world.script("tickets", {"order": order}, [first], ["error_500"] * 5)
    return house.ask(house.shop.create_ticket, order, session=f"chat-{order}")


def _open(house):
    return house.app.ledger.find(Filter(open_only=True))


def _judge(world, lost):
    """One effect and its reference where it is confirmed; none where it is rejected."""
    for action in lost:
        record = action.refresh().record
        effects = world.effects("tickets", key=record.key)
        if record.state is State.CONFIRMED:
            assert [effect.ref for effect in effects] == [record.provider_ref], record
        else:
            assert (record.state, record.final, effects) == (State.REJECTED, 1, []), record


def _moves(house):
    """How often anything was moved so far: events, and leases taken."""
    return sum(record.n + record.fence for record in house.app.ledger.find(Filter(limit=ACTIONS)))
