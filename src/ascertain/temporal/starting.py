"""Starts the workflows: one for each open action, one for each chain with declared steps.

Started twice, by two processes, after a crash, it is one: the id is the action's or the chain's,
and a workflow that runs is used. What has been closed may be started again: an action that is
settled can be due once more when its chain goes back, and one whose workflow was cancelled is still
open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from temporalio.client import Client, WorkflowHandle
from temporalio.common import (
    SearchAttributeKey,
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDConflictPolicy,
    WorkflowIDReusePolicy,
)
from temporalio.service import RPCError, RPCStatusCode

from ascertain.model.action import ActionRecord
from ascertain.model.chain import ChainRecord
from ascertain.temporal import words
from ascertain.temporal.address import Address
from ascertain.temporal.words import Open, Planned, Progress, Stand

R = TypeVar("R")


class Starter:
    """Starts what is to run on one task queue."""

    def __init__(self, client: Client, place: Address) -> None:
        self._client = client
        self._place = place

    async def reconcile(
        self, record: ActionRecord, *, poke: bool = True
    ) -> WorkflowHandle[object, Stand]:
        """Have an action taken up, unless it is already.

        :param poke: a workflow that runs shall look at once.
        """
        place = self._place
        start = Open(
            action=record.id, tool=record.tool, tenant=record.tenant, state=str(record.state),
            attributes=place.search_attributes, look_again_s=place.look_again_s,
            silence_s=place.silence_s, steps_per_run=place.steps_per_run,
        )  # fmt: skip
        shown = {words.STATE: start.state, words.TOOL: start.tool, words.TENANT: start.tenant}
        return await self._start(words.RECONCILE, start, record.id, Stand, shown, poke=poke)

    async def chain(
        self, record: ChainRecord, *, poke: bool = False
    ) -> WorkflowHandle[object, Progress]:
        """Have a stored chain with declared steps driven, unless it is already."""
        place = self._place
        planned = Planned(
            chain=record.id, name=record.name, tenant=record.tenant,
            attributes=place.search_attributes, silence_s=place.silence_s,
            steps_per_run=place.steps_per_run,
        )  # fmt: skip
        shown = {words.STATE: "running", words.TENANT: record.tenant}
        return await self._start(words.CHAIN, planned, record.id, Progress, shown, poke=poke)

    async def look(self, id: str) -> None:
        """Tell a workflow that something has moved. That it has ended meanwhile is fine."""
        try:
            await self._client.get_workflow_handle(id).signal("look")
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise

    async def _start(
        self,
        workflow: str,
        argument: object,
        id: str,
        result: type[R],
        shown: Mapping[str, str],
        *,
        poke: bool,
    ) -> WorkflowHandle[object, R]:
        pairs = [
            SearchAttributePair(SearchAttributeKey.for_keyword(name), value)
            for name, value in shown.items()
        ]
        attributes = TypedSearchAttributes(pairs) if self._place.search_attributes else None
        started: WorkflowHandle[object, R] = await self._client.start_workflow(
            workflow, argument, id=id, task_queue=self._place.task_queue, result_type=result,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            search_attributes=attributes, start_signal="look" if poke else None,
        )  # fmt: skip
        return started
