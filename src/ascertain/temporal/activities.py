"""What the workflows have done: each activity looks at the ledger, or moves it under its own lease.

Every one may be run twice, by two workers, at any time: what the ledger refuses the second time is
no error here. Errors that leave here carry a code and our own words, nothing of a provider.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from math import isfinite
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from ascertain.errors import (
    ActionNotFound,
    AscertainError,
    MayStillArrive,
    NotAllowed,
    SenderMayBeAlive,
)
from ascertain.model.action import ActionRecord
from ascertain.model.tables import State
from ascertain.rules.approval import APPROVED, DECLINED
from ascertain.rules.approval import is_last_word as is_last_approval
from ascertain.rules.breaker import RELEASED
from ascertain.rules.said import is_last_word
from ascertain.runtime import approving
from ascertain.runtime.plan import PlannedChain
from ascertain.runtime.recovering import Recovers
from ascertain.runtime.recovery import InHand, apart
from ascertain.runtime.verdict import resolve
from ascertain.runtime.worker import BUSY_S
from ascertain.temporal.words import Decided, Heard, Progress, Said, Stand, Step, Verdict
from ascertain.temporal.workflows import CHAIN_LOOKS_MOST_S

log = logging.getLogger("ascertain")

BEATS_A_SILENCE = 4
AT_ONCE_S = 1.0
ALIVE_S = 15.0
KEEP_S = 2 * CHAIN_LOOKS_MOST_S


class Activities:
    """The activities of one app."""

    def __init__(self, app: Recovers) -> None:
        self._app = app
        self._recovery = app.recovery()
        self._running = 0
        self.recovered = 0

    @property
    def all(self) -> list[Callable[..., Any]]:
        """What a Temporal worker is given."""
        return [self.step, self.stand, self.verdict, self.approve, self.chain, self.chain_step]

    @activity.defn(name="ascertain.step")
    async def step(self, action: str) -> Stand:
        """Take the action up, if it is due and nobody else does; say how it stands then."""
        async with beating(), telling(), self._in_room():
            record = await apart(self._record, action)
            if record.due_at is not None and record.due_at <= self._app.hands.clock():
                taken = await self._recovery.take(record)
                if taken is not None:
                    await self._recovery.go_on(taken)
                    self.recovered += 1
            elif (taken := await self._left_behind(record)) is not None:
                await self._recovery.go_on(taken)
                self.recovered += 1
            return await apart(self._stand, action)

    @activity.defn(name="ascertain.stand")
    async def stand(self, action: str) -> Stand:
        """How it stands; nothing is moved by looking."""
        async with telling():
            return await apart(self._stand, action)

    @activity.defn(name="ascertain.verdict")
    async def verdict(self, said: Said) -> Heard:
        """Write a person's word, unless the ledger refuses it; what stands already is no error."""
        async with telling():
            return await apart(self._hear, said)

    @activity.defn(name="ascertain.approve")
    async def approve(self, decided: Decided) -> Heard:
        """Write a person's word on what waits to be sent; the same rules as `ascertain approve`."""
        async with telling():
            return await apart(self._decide, decided)

    @activity.defn(name="ascertain.chain")
    async def chain(self, chain: str) -> Progress:
        """How the chain stands; whoever else looks after it comes later than the workflow does."""
        async with telling():
            planned = await self._planned(chain)
            return await apart(self._progress, planned)

    @activity.defn(name="ascertain.chain_step")
    async def chain_step(self, step: Step) -> None:
        """Make one step. Made twice, it is the same action."""
        async with beating(), telling():
            planned = await self._planned(step.chain)
            await planned.make_async(step.step)

    @asynccontextmanager
    async def _in_room(self) -> AsyncGenerator[None]:
        """Wait until there is a thread for what may run in one; nothing is leased meanwhile."""
        while True:
            if self._recovery.room(self._running, self._running + 1):
                break
            await asyncio.sleep(BUSY_S)  # a thread is freed by whoever had it
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    async def _left_behind(self, record: ActionRecord) -> InHand | None:
        """Whoever holds the lease is proven gone: nobody has to wait until it ends."""
        owner = record.lease_owner
        if owner is None or record.due_at is None or not self._app.hands.inquire((owner,)):
            return None
        return await self._recovery.take(record)

    def _record(self, action: str) -> ActionRecord:
        record = self._app.hands.ledger.get(action)
        if record is None:
            raise ActionNotFound(
                f"There is no action {action!r} in {self._app.url}.",
                next_step="Give each ledger a task queue of its own: Temporal(task_queue=...).",
            )
        return record

    def _stand(self, action: str) -> Stand:
        return stand_of(self._record(action), self._app.hands.clock())

    def _hear(self, said: Said) -> Heard:
        word = said.verdict
        try:
            resolve(
                self._app.hands, said.action, confirmed=word.confirmed, not_done=word.not_done,
                too_many=word.too_many, undone=word.undone, turn_back=word.turn_back,
                kept=word.kept, evidence=word.evidence,
            )  # fmt: skip
        except ActionNotFound:
            raise
        except AscertainError as error:
            record = self._record(said.action)
            events = self._app.hands.ledger.events(said.action)
            heard = is_last_word(events, word.which(), word.confirmed, word.evidence)
            if heard or agrees(record, word):
                return Heard(stand=stand_of(record, self._app.hands.clock()))
            return self._refused(record, error)
        return Heard(stand=self._stand(said.action))

    def _decide(self, decided: Decided) -> Heard:
        hands, action, word = self._app.hands, decided.action, decided.approval
        reason = DECLINED if word.decline else RELEASED if word.release else APPROVED
        try:
            if word.decline:
                approving.decline(hands, action, by=word.by, why=word.evidence)
            elif word.release:
                approving.release(hands, action, by=word.by)
            else:
                approving.approve(hands, action, by=word.by, digest=word.digest)
        except NotAllowed as error:
            record = self._record(action)
            events = self._app.hands.ledger.events(action)
            digest = word.digest.strip()
            if not is_last_approval(events, reason, by=word.by, digest=digest):
                return self._refused(record, error)
        return Heard(stand=self._stand(action))

    def _refused(self, record: ActionRecord, error: AscertainError) -> Heard:
        return Heard(
            stand=stand_of(record, self._app.hands.clock()), refused=error.code,
            message=error.message, next_step=error.advice, again_s=self._again_s(record, error),
        )  # fmt: skip

    def _again_s(self, record: ActionRecord, error: AscertainError) -> float | None:
        """When it may be said again: after a time that the ledger names, or once it is let go."""
        match error:
            case MayStillArrive():
                until: float = error.context["until"]
                left_s = until - self._app.hands.clock()
                return max(AT_ONCE_S, left_s) if isfinite(left_s) else ALIVE_S
            case SenderMayBeAlive():
                left_s = (record.lease_until or 0.0) - self._app.hands.clock()
                return min(max(AT_ONCE_S, left_s), ALIVE_S)
            case NotAllowed() if record.lease_owner is not None:
                return AT_ONCE_S
            case _:
                return None

    async def _planned(self, chain: str) -> PlannedChain:
        record = await apart(self._app.hands.ledger.chains.get, chain)
        if record is None or not record.plan:
            raise ActionNotFound(
                f"There is no chain {chain!r} with declared steps in {self._app.url}.",
                next_step="Give each ledger a task queue of its own: Temporal(task_queue=...).",
            )
        return self._app.resumed(record)

    def _progress(self, planned: PlannedChain) -> Progress:
        around = planned.around()
        ready = planned.ready(around)
        planned.looked_after(KEEP_S)
        members = [record for _, record in around.members]
        over = not (ready or planned.unfinished(around)) and not any(
            record.due_at is not None or (record.open and record.review is not None)
            for record in members
        )
        return Progress(
            chain=planned.id, name=planned.name, state=str(planned.state),
            direction=str(around.chain.direction), ready=ready, over=over,
            states={name: str(record.state) for name, (_, record) in around.steps().items()},
        )  # fmt: skip


def stand_of(record: ActionRecord, now: float) -> Stand:
    """How it stands, for those who read no ledger."""
    due_at = record.due_at
    undecided = record.review is not None or record.disputed == 1
    return Stand(
        action=record.id, tool=record.tool, tenant=record.tenant, state=str(record.state),
        final=bool(record.final), reason=record.reason, attempt=record.attempt,
        provider_ref=record.provider_ref, review=record.review or "", chain=record.chain,
        wait_s=None if due_at is None else max(0.0, due_at - now),
        settled=record.terminal and due_at is None and not undecided,
    )  # fmt: skip


def agrees(record: ActionRecord, said: Verdict) -> bool:
    """Whether this is known already, whoever found it out: said once more, it changes nothing."""
    if said.confirmed is not None:
        return record.state is State.CONFIRMED and record.provider_ref == said.confirmed
    return said.not_done and record.state is State.REJECTED and bool(record.final)


@asynccontextmanager
async def beating() -> AsyncGenerator[None]:
    """Say every few seconds that somebody is at work, so that a dead worker is noticed soon."""
    silence = activity.info().heartbeat_timeout
    assert silence is not None  # the workflow says it

    async def beat() -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(silence.total_seconds() / BEATS_A_SILENCE)

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()


@asynccontextmanager
async def telling() -> AsyncGenerator[None]:
    """Errors in our own words: a history is no place for what a provider or a tool has said."""
    try:
        yield
    except AscertainError as error:
        raise ApplicationError(str(error), type=error.code) from None
    except Exception as error:
        # tried again, under a new lease; the whole of it is in this process's log
        log.exception("an activity of %s broke", activity.info().workflow_id)
        raise ApplicationError(
            f"{type(error).__name__} in a worker; see its log.", type="broke"
        ) from None
