"""What workflow code may call: deterministic, for everything real in it is an activity."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

from ascertain.temporal.words import DEFAULT_QUEUE, SETTLED, Stand, Waiting

_BY_A_CHILD = "ascertain.settled.by_a_child"  # histories of before it look by themselves
_FIRST_S, _MOST_S = 1.0, 60.0


async def settled(
    action: str, *, task_queue: str = DEFAULT_QUEUE, within: timedelta | None = None
) -> Stand:
    """Wait, in a workflow, until an action is settled.

    ::

        ticket = await workflow.execute_activity(open_ticket, ...)
        stand = await settled(ticket["action"])

    It is the action's own workflow that settles it, also after days: an approval or a verdict that
    a person gives meanwhile, a provider that answers again. This one's history does not grow, for
    a child workflow waits, and is told.

    :param task_queue: where the workers with the ledger are. :param within: how long; None: until
        it is settled.
    :returns: how it stands then; with ``within``, perhaps not settled.
    """
    until = None if within is None else workflow.now() + within
    if workflow.patched(_BY_A_CHILD):
        waiting = Waiting(action=action, until=None if until is None else until.timestamp())
        found: Stand = await workflow.execute_child_workflow(
            SETTLED, waiting, id=f"settled/{action}/{workflow.uuid4()}", result_type=Stand,
            task_queue=task_queue,
        )  # fmt: skip
        return found
    wait_s = _FIRST_S
    while True:
        stand: Stand = await workflow.execute_activity(
            "ascertain.stand", action, result_type=Stand, task_queue=task_queue,
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=RetryPolicy(maximum_interval=timedelta(minutes=1)),
        )  # fmt: skip
        if stand.settled or (until is not None and workflow.now() >= until):
            return stand
        await workflow.sleep(wait_s)
        wait_s = min(2 * wait_s, _MOST_S)
