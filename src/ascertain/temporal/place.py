"""``Temporal(...)``: the one line that puts an app under Temporal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascertain.temporal.address import Address, TemporalMissing

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowHandle

    from ascertain.runtime.plan import PlannedChain
    from ascertain.runtime.recovering import Recovers
    from ascertain.temporal.words import Progress
    from ascertain.temporal.worker import TemporalWorker


@dataclass(frozen=True)
class Temporal(Address):
    """Recovery under Temporal: ``Ascertain(url, worker=Temporal("127.0.0.1:7233"))``.

    The ledger stays the truth. Temporal owns time and single flight: each open action has one
    workflow, whose id is the action's, and any worker on the task queue takes its next step.

    Its parameters are those of :class:`~ascertain.temporal.address.Address`.
    """

    def works(self, app: Recovers, concurrency: int) -> TemporalWorker:
        """A worker with the app's tools; see :class:`~ascertain.runtime.recovering.Engine`.

        :raises TemporalMissing: the SDK is not installed.
        """
        try:
            from ascertain.temporal.worker import TemporalWorker
        except ImportError as error:
            raise TemporalMissing from error
        return TemporalWorker(app, self, concurrency=concurrency)

    async def drive(
        self, chain: PlannedChain, *, client: Client | None = None
    ) -> WorkflowHandle[object, Progress]:
        """Store a chain with declared steps, and have a workflow drive it; its id is the chain's.

        Driven twice, it is one. ``await handle.result()`` waits until nothing is left to do.

        :raises LedgerError: the plan could not be stored; nothing was started.
        :raises AttributesMissing: the namespace lacks the search attributes.
        """
        from ascertain.temporal import attributes
        from ascertain.temporal.starting import Starter

        connected = client or await self.client()
        if self.search_attributes:
            await attributes.register(connected)
        await chain.store_async()
        return await Starter(connected, self).chain(chain.record)
