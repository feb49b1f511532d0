"""A worker under Temporal: it polls for steps, and sees to it that what is open has a workflow."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from temporalio.plugin import SimplePlugin
from temporalio.service import RPCError
from temporalio.worker import Worker, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from ascertain.errors import LedgerClosed, LedgerError
from ascertain.runtime.waking import Waking
from ascertain.temporal import attributes
from ascertain.temporal.activities import Activities
from ascertain.temporal.address import Address, Unreachable
from ascertain.temporal.starting import Starter
from ascertain.temporal.watch import Watch
from ascertain.temporal.workflows import Chain, Reconcile, Settled

if TYPE_CHECKING:
    from temporalio.client import Client

    from ascertain.runtime.recovering import Recovers

log = logging.getLogger("ascertain")

IDLE_S = 1.0
CONNECT_MOST_S = 30.0
FINISH = timedelta(seconds=30)


class TemporalWorker:
    """Works until it is told to stop; see :class:`~ascertain.runtime.embedded.Works`."""

    def __init__(self, app: Recovers, place: Address, *, concurrency: int) -> None:
        self._app = app
        self._place = place
        self._concurrency = concurrency
        self._activities = Activities(app)
        self._stopping = False
        self._waking = Waking()

    @property
    def recovered(self) -> int:
        """How many actions it has taken up."""
        return self._activities.recovered

    def poke(self, due_at: float) -> None:
        """Something falls due; called from any thread."""
        self._waking.poke(due_at)

    def stop(self) -> None:
        """Finish the steps in hand and stop; called from any thread, or from a signal."""
        self._stopping = True
        self.poke(0.0)

    async def run(self) -> None:
        """Work until stopped. What is in hand is finished before it returns.

        Where Temporal is not there, it tries again; what is open stays in the ledger meanwhile.

        :raises AttributesMissing: the namespace lacks the search attributes.
        """
        self._waking.begin()
        self._app.hands.poke = self.poke
        try:
            client = await self._connected()
            if client is None:
                return
            worker = Worker(
                client, task_queue=self._place.task_queue, plugins=[plugin(self._activities)],
                max_concurrent_activities=self._concurrency, graceful_shutdown_timeout=FINISH,
                sticky_queue_schedule_to_start_timeout=timedelta(seconds=self._place.silence_s),
            )  # fmt: skip
            async with worker:
                await self._keep_looking(Watch(self._app, Starter(client, self._place)))
        finally:
            self._waking.end()

    async def drain(self) -> int:
        """Recover everything that is due now, once, under the ledger's own leases."""
        return await self._app.own_worker(self._concurrency).drain()

    async def _connected(self) -> Client | None:
        wait_s = IDLE_S
        while not self._stopping:
            try:
                client = await self._place.client()
                if self._place.search_attributes:
                    await attributes.register(client)
            except (Unreachable, RPCError):
                log.exception("Temporal is not there; trying again in %.0f s", wait_s)
            else:
                return client
            await self._sleep(wait_s)
            wait_s = min(2 * wait_s, CONNECT_MOST_S)
        return None

    async def _keep_looking(self, watch: Watch) -> None:
        while not self._stopping:
            rest_s = IDLE_S
            try:
                await watch.look()
                rest_s = await watch.rest_s(IDLE_S)
            except LedgerClosed:
                return
            except (LedgerError, RPCError):
                log.exception("what is open could not be looked at; trying again")
            await self._sleep(rest_s)

    async def _sleep(self, most_s: float) -> None:
        """Wait a moment, or until somebody pokes."""
        if not self._stopping:
            await self._waking.rest(time.time(), most_s)


def plugin(source: Recovers | Activities) -> SimplePlugin:
    """Our workflows and activities for a Temporal worker that has others of its own.

    ::

        Worker(client, task_queue="shop", workflows=[Order], plugins=[plugin(app)])
    """
    own = source if isinstance(source, Activities) else Activities(source)
    return SimplePlugin(
        "ascertain",
        workflows=[Reconcile, Chain, Settled],
        activities=own.all,
        workflow_runner=_passing,
    )


def _passing(runner: WorkflowRunner | None) -> WorkflowRunner:
    """Our modules hold no state that a workflow could see: the sandbox need not load them anew."""
    if not isinstance(runner, SandboxedWorkflowRunner):
        return runner or SandboxedWorkflowRunner()
    from dataclasses import replace

    return replace(runner, restrictions=runner.restrictions.with_passthrough_modules("ascertain"))
