"""A user's own workflow, whose activity makes guarded calls; and a process that works on it.

``python -m tests.temporal.orders`` is such a process, told what to do by the environment.
"""

import asyncio
import os
from dataclasses import dataclass
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from temporalio.client import Client
    from temporalio.worker import Worker

    from ascertain.temporal import acting, plugin, settled, told
    from tests.temporal import shop as names


@dataclass
class Wanted:
    """How the activity is to behave.

    :param breaks: how many of its first tries end in an error after the guarded call.
    :param waits: whether the workflow waits until the action is settled.
    :param what: ``ticket``, or one of the ways to use it wrongly.
    :param rounds: how often the workflow goes on as a new one. :param turn: of the call.
    """

    order: str
    breaks: int = 0
    waits: bool = False
    what: str = "ticket"
    rounds: int = 0
    turn: str = ""
    pause_s: float = 0.0


@workflow.defn
class Order:
    """Opens a ticket, and says what is known of it."""

    @workflow.run
    async def run(self, wanted: Wanted) -> dict:
        ticket = await workflow.execute_activity(
            "open_ticket", wanted, result_type=dict,
            start_to_close_timeout=timedelta(seconds=4),
            heartbeat_timeout=timedelta(seconds=2),
            retry_policy=RetryPolicy(
                initial_interval=timedelta(milliseconds=50), maximum_attempts=6
            ),
        )  # fmt: skip
        if wanted.rounds:
            wanted.rounds -= 1
            workflow.continue_as_new(wanted)
        if wanted.waits:
            stand = await settled(ticket["action"], task_queue=workflow.info().task_queue)
            return {**ticket, "state": stand.state, "provider_ref": stand.provider_ref}
        return ticket


class Opening:
    """The activity, with the shop whose tools it uses."""

    def __init__(self, shop):
        self.shop = shop
        self.tries = 0
        self.ids = []

    @activity.defn
    async def open_ticket(self, wanted: Wanted) -> dict:
        self.tries += 1
        shop = self.shop
        beat = asyncio.create_task(_beat())
        try:
            return await asyncio.to_thread(self._open, wanted, shop)
        finally:
            beat.cancel()

    def _open(self, wanted, shop):
        with acting(shop.app, principal="u7", turn=wanted.turn) as here:
            ticket = self._call(wanted, shop, here)
            self.ids.append(ticket.id)
        if activity.info().attempt <= wanted.breaks:
            raise RuntimeError("the connection to Temporal broke, say")
        return told(ticket)

    def _call(self, wanted, shop, here):
        match wanted.what:
            case "ticket":
                return here(shop.create_ticket)(order_id=wanted.order)
            case "credit":
                return here(shop.give_credit)(order_id=wanted.order)
            case "random identity":  # that another try makes another one of
                return here(shop.create_ticket)(order_id=f"{wanted.order}/{os.urandom(8).hex()}")
            case "unwrap":
                ticket = here(shop.create_ticket)(order_id=wanted.order)
                ticket.unwrap()
                return ticket
            case "wrong arguments":
                return here(shop.create_ticket)(order_id=7)
            case "twice":
                here(shop.create_ticket)(order_id=wanted.order)
                return here(shop.create_ticket)(order_id=wanted.order)
            case "two":
                here(shop.create_ticket, name="left")(order_id=f"{wanted.order}/left")
                return here(shop.create_ticket, name="right")(order_id=f"{wanted.order}/right")


async def _beat():
    while True:
        activity.heartbeat()
        await asyncio.sleep(0.2)


async def main():
    client = await Client.connect(os.environ[names.TARGET])
    shop = names.from_environment()
    async with Worker(
        client, task_queue=os.environ[names.QUEUE], workflows=[Order],
        activities=[Opening(shop).open_ticket], plugins=[plugin(shop.app)],
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=2),
    ):  # fmt: skip
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
