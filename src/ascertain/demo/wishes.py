"""Plays the stories of whole wishes: undone, finished by another process, from one sentence."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from ascertain.demo.children import wait_until
from ascertain.demo.places import CONTROL, PAYMENT, SHIPPING
from ascertain.demo.refunds import LAST, OLD, customer_of, older_than
from ascertain.demo.stage import WITHIN_S, Stage
from ascertain.demo.stories import Story
from ascertain.testing.world import Behaviour

EVERY = 10  # so many conversations for each lost reply
REFUNDS, WITHOUT = "ascertain.demo.refunds", "ascertain.demo.control"


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """What became of the same conversations without the library, by the provider's books.

    :param right: the order that was meant. :param wrong: another one. :param missing: none.
    """

    right: int
    wrong: int
    missing: int

    def __str__(self) -> str:
        total = self.right + self.wrong + self.missing
        return (
            f"{self.wrong + self.missing} of {total} go wrong: {self.wrong} refund an order that "
            f"nobody meant, {self.missing} find no order; {self.right} are right"
        )


def play_undone(stage: Stage, story: Story) -> None:
    """Story g: the carrier refuses, and what was done is undone in reverse."""
    order = story.intents[0].order
    refuses = Behaviour("error_body_2xx", code="NO_DELIVERY_THERE")
    stage.worlds[SHIPPING].script("shipments", {"order_id": order}, [refuses])
    silent = Behaviour("reply_lost", how="hang", hold_s=0.4)  # long enough to be told of it
    stage.worlds[PAYMENT].script("voids", {"order_id": order}, [silent])
    with stage.agent(f"chain:{story.id}:{order}") as agent:
        stage.note(story.id, f"an agent (process {agent.pid}) fulfils an order of four steps")
        stage.hear(agent)
    wait_until(lambda: stage.at_rest(story), "everything is undone", WITHIN_S)


def play_resumed(stage: Stage, story: Story) -> None:
    """Story h: kill -9 after the second effect; a worker goes on with the declared steps."""
    order, world = story.intents[0].order, stage.worlds[PAYMENT]
    part = f"declared:{story.id}:{order}"
    world.script("charges", {"order_id": order}, [Behaviour("reply_lost", how="hang")])
    with stage.agent(part) as agent:
        wait_until(
            lambda: world.count("charges", order_id=order) == 1, "the card is charged", WITHIN_S
        )
        agent.kill()
        stage.note(story.id, f"kill -9 of the agent (process {agent.pid}): the card is charged, "
                   "and the answer is on no record; two steps have not begun")  # fmt: skip
    with stage.worker() as worker:
        stage.note(story.id, f"worker {worker.pid} goes on with the declared steps")
        worker.go()
        wait_until(
            lambda: len(stage.records(story)) == len(story.intents) and stage.at_rest(story),
            "the order is finished",
            WITHIN_S,
        )
        worker.signal(signal.SIGTERM)
        worker.ended(WITHIN_S)
    with stage.agent(part) as again:
        stage.note(story.id, "the same script is run again: nothing is sent, all is known")
        stage.hear(again)


def play_refunds(stage: Stage, story: Story) -> Control:
    """Story i: ours, and the control; every tenth answer to ours is lost."""
    orders = [intent.order for intent in story.intents]
    world = stage.worlds[PAYMENT]
    for n, order in enumerate(orders):
        customer = customer_of(order)
        world.place("orders", order, {"customer": customer}, key=f"{customer}: {LAST}")
        world.place("orders", older_than(order), {"customer": customer}, key=f"{customer}: {OLD}")
        if n % EVERY == 0:
            world.script("refunds", {"order_id": order}, ["reply_lost"])
    with stage.child(REFUNDS, story.id, *orders) as agent:
        stage.note(story.id, f"{len(orders)} conversations at once in process {agent.pid}; every "
                   f"{EVERY}th answer to a refund is lost")  # fmt: skip
        stage.hear(agent)
    with stage.child(WITHOUT, *orders, guarded=False) as control:
        stage.progress.step(f"the control (process {control.pid}): the same, written back later")
        control.ended(WITHIN_S)
    return _control(stage, orders)


def _control(stage: Stage, orders: list[str]) -> Control:
    done = [str(effect.args["order_id"]) for effect in stage.worlds[PAYMENT].effects(CONTROL)]
    right = len(set(done) & set(orders))
    return Control(right=right, wrong=len(set(done) - set(orders)), missing=len(orders) - len(done))
