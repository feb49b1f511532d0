"""Workflows that own time and single flight. What is true, they read from the ledger.

Deterministic: everything that looks at a clock, the ledger or a provider is an activity.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy, SearchAttributeKey, SearchAttributeUpdate
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from ascertain.errors import ContractError
    from ascertain.temporal import words
    from ascertain.temporal.words import (
        Approval,
        Decided,
        Heard,
        Open,
        Planned,
        Progress,
        Said,
        Stand,
        Step,
        Verdict,
        Waiting,
    )

W = TypeVar("W")

_STATE = SearchAttributeKey.for_keyword(words.STATE)

# A worker that died is noticed by its silence; then another one takes the action's lease, once
# the dead one's holds no longer. There is no last try: the ledger says when to give up.
_PASS_AT_MOST = timedelta(hours=1)
_AGAIN = RetryPolicy(
    initial_interval=timedelta(seconds=1), maximum_interval=timedelta(minutes=1), maximum_attempts=0
)
CHAIN_LOOKS_FIRST_S, CHAIN_LOOKS_MOST_S = 2.0, 60.0
UNTOLD_LOOKS_MOST_S = 60.0


@workflow.defn(name=words.RECONCILE)
class Reconcile:
    """Takes up one open action until it is settled. Its id is the action's: there is one at most.

    Each look is an activity that recovers the action under the ledger's own lease and fence; in
    between it sleeps until the ledger says that something is due, or somebody says something.
    """

    @workflow.init
    def __init__(self, start: Open) -> None:
        self._open = start
        self._stand: Stand | None = None
        self._said = list(start.said)
        self._decided = list(start.decided)
        self._waiting = list(start.waiting)
        self._refused: Heard | None = None
        self._look = False
        self._busy = asyncio.Lock()
        self._shown = start.state

    @workflow.run
    async def run(self, start: Open) -> Stand:
        steps = 0
        while True:
            steps += 1
            stand = await self._step()
            said_s = await self._write(self._said, self._hear)
            decided_s = await self._write(self._decided, self._decide)
            stand = self._stand or stand
            self._show(stand)
            if stand.settled and not (self._said or self._decided):
                break
            if steps >= start.steps_per_run or workflow.info().is_continue_as_new_suggested():
                await workflow.wait_condition(workflow.all_handlers_finished)
                workflow.continue_as_new(
                    replace(
                        start, state=stand.state, said=list(self._said),
                        decided=list(self._decided), waiting=list(self._waiting),
                    )
                )  # fmt: skip
            rest_s = _least(stand.wait_s, said_s, decided_s, most_s=start.look_again_s)
            # what waits for a person may be moved by one at the ledger, and not only by a word here
            await self._rest(min(rest_s, start.look_again_s) if stand.review else rest_s)
        await workflow.wait_condition(workflow.all_handlers_finished)
        if stand.chain:
            await _tell(stand.chain)
        while self._waiting:
            await _tell(self._waiting.pop())
        return stand

    @workflow.update
    async def verdict(self, said: Verdict) -> Stand:
        """A person's word: written to the ledger before this returns; said twice, it is one.

        Refused with the ledger's reason, as an error of that type, where it may not be said (yet).
        """
        return self._answer(await self._hear(said))

    @verdict.validator
    def _check(self, said: Verdict) -> None:
        try:
            said.which()
        except ContractError as error:
            raise ApplicationError(str(error), type=error.code, non_retryable=True) from None

    @workflow.signal
    def say(self, said: Verdict) -> None:
        """The same for whoever cannot wait for an answer: it is kept until it may be written."""
        try:
            said.which()
        except ContractError as error:
            self._refuse(error.code, error.message, error.advice)
            return
        self._said.append(said)

    @workflow.update
    async def approve(self, approval: Approval) -> Stand:
        """A person's word on a call that waits to be sent, written before this returns; once.

        It holds for exactly the call with this digest and for its one effect, until it expires, and
        is written by the same rules as ``ascertain approve``. Refused as a verdict is.
        """
        return self._answer(await self._decide(approval))

    @approve.validator
    def _check_approval(self, approval: Approval) -> None:
        try:
            approval.check()
        except ContractError as error:
            raise ApplicationError(str(error), type=error.code, non_retryable=True) from None

    @workflow.signal
    def decide(self, approval: Approval) -> None:
        """The same for whoever cannot wait for an answer."""
        try:
            approval.check()
        except ContractError as error:
            self._refuse(error.code, error.message, error.advice)
            return
        self._decided.append(approval)

    @workflow.signal
    def tell(self, id: str) -> None:
        """The workflow of this id waits until the action is settled; it is told by ``look``."""
        if id not in self._waiting:
            self._waiting.append(id)

    @workflow.signal
    def look(self) -> None:
        """Something has moved: look at the ledger now."""
        self._look = True

    @workflow.query
    def stand(self) -> Stand | None:
        """How the action stood when the ledger was last looked at."""
        return self._stand

    @workflow.query
    def refused(self) -> Heard | None:
        """The last signalled word that the ledger did not take, and why."""
        return self._refused

    async def _step(self) -> Stand:
        async with self._busy:
            self._look = False
            stand: Stand = await workflow.execute_activity(
                "ascertain.step", self._open.action, result_type=Stand,
                start_to_close_timeout=_PASS_AT_MOST,
                heartbeat_timeout=timedelta(seconds=self._open.silence_s), retry_policy=_AGAIN,
            )  # fmt: skip
            self._stand = stand
        return stand

    async def _hear(self, said: Verdict) -> Heard:
        return await self._tell_ledger(
            "ascertain.verdict", Said(action=self._open.action, verdict=said)
        )

    async def _decide(self, approval: Approval) -> Heard:
        return await self._tell_ledger(
            "ascertain.approve", Decided(action=self._open.action, approval=approval)
        )

    async def _tell_ledger(self, activity: str, word: Said | Decided) -> Heard:
        async with self._busy:
            heard: Heard = await workflow.execute_activity(
                activity, word, result_type=Heard, start_to_close_timeout=timedelta(minutes=1),
                retry_policy=_AGAIN,
            )  # fmt: skip
            self._stand = heard.stand
        return heard

    def _answer(self, heard: Heard) -> Stand:
        self._look = True
        if heard.refused:
            text = f"{heard.message} Next: {heard.next_step}" if heard.next_step else heard.message
            raise ApplicationError(text, type=heard.refused, non_retryable=True)
        return heard.stand

    async def _write(
        self, words: list[W], tell_ledger: Callable[[W], Awaitable[Heard]]
    ) -> float | None:
        """Write what was signalled; returns in how many seconds to try again what may not be yet.

        What the ledger will never take is put down, where it can be asked for.
        """
        again: list[tuple[W, float]] = []
        while words:
            heard = await tell_ledger(words[0])
            word = words.pop(0)
            if heard.refused:
                self._refused = heard
                if heard.again_s is not None:
                    again.append((word, heard.again_s))
        words[:] = [word for word, _ in again]
        return min((seconds for _, seconds in again), default=None)

    async def _rest(self, seconds: float) -> None:
        words = len(self._said) + len(self._decided)
        try:
            await workflow.wait_condition(
                lambda: self._look or len(self._said) + len(self._decided) > words,
                timeout=max(seconds, 0.05),
            )
        except TimeoutError:
            return

    def _show(self, stand: Stand) -> None:
        if self._open.attributes and stand.state != self._shown:
            self._shown = stand.state
            _show(stand.state)

    def _refuse(self, code: str, message: str, advice: str) -> None:
        if self._stand is not None:
            self._refused = Heard(
                stand=self._stand, refused=code, message=message, next_step=advice
            )


@workflow.defn(name=words.CHAIN)
class Chain:
    """Drives a chain whose steps are declared. Its id is the chain's.

    What is ready is made at once; what came out, and what is undone, is each action's own matter.
    """

    @workflow.init
    def __init__(self, planned: Planned) -> None:
        self._look = False
        self._progress: Progress | None = None
        self._shown = ""

    @workflow.run
    async def run(self, planned: Planned) -> Progress:
        steps, wait_s = 0, CHAIN_LOOKS_FIRST_S
        while True:
            steps += 1
            self._look = False
            progress = await self._see(planned)
            if progress.over:
                return progress
            if progress.ready:
                wait_s = CHAIN_LOOKS_FIRST_S
                await asyncio.gather(*(self._make(planned, name) for name in progress.ready))
            if steps >= planned.steps_per_run or workflow.info().is_continue_as_new_suggested():
                await workflow.wait_condition(workflow.all_handlers_finished)
                workflow.continue_as_new(planned)
            if progress.ready:
                continue
            try:
                await workflow.wait_condition(lambda: self._look, timeout=wait_s)
                wait_s = CHAIN_LOOKS_FIRST_S
            except TimeoutError:
                wait_s = min(2 * wait_s, CHAIN_LOOKS_MOST_S)

    @workflow.signal
    def look(self) -> None:
        """Something has moved: look at the ledger now."""
        self._look = True

    @workflow.query
    def progress(self) -> Progress | None:
        """How the chain stood when the ledger was last looked at."""
        return self._progress

    async def _see(self, planned: Planned) -> Progress:
        progress: Progress = await workflow.execute_activity(
            "ascertain.chain", planned.chain, result_type=Progress,
            start_to_close_timeout=timedelta(minutes=1), retry_policy=_AGAIN,
        )  # fmt: skip
        self._progress = progress
        if planned.attributes and progress.state != self._shown:
            self._shown = progress.state
            _show(progress.state)
        return progress

    async def _make(self, planned: Planned, name: str) -> None:
        await workflow.execute_activity(
            "ascertain.chain_step", Step(chain=planned.chain, step=name),
            start_to_close_timeout=_PASS_AT_MOST,
            heartbeat_timeout=timedelta(seconds=planned.silence_s), retry_policy=_AGAIN,
        )  # fmt: skip


@workflow.defn(name=words.SETTLED)
class Settled:
    """Waits for those who wait until an action is settled, so that their histories do not grow.

    The action's own workflow tells it. Where there is none yet, it looks, less and less often.
    """

    @workflow.init
    def __init__(self, start: Waiting) -> None:
        self._look = False

    @workflow.run
    async def run(self, start: Waiting) -> Stand:
        steps, wait_s = 0, start.wait_s
        while True:
            steps += 1
            self._look = False
            stand = await self._see(start.action)
            left_s = None if start.until is None else start.until - workflow.now().timestamp()
            if stand.settled or (left_s is not None and left_s <= 0):
                return stand
            if steps >= start.steps_per_run or workflow.info().is_continue_as_new_suggested():
                await workflow.wait_condition(workflow.all_handlers_finished)
                workflow.continue_as_new(replace(start, wait_s=wait_s))
            is_told = await _tell(start.action, "tell", workflow.info().workflow_id)
            rest_s = start.look_again_s if is_told else wait_s
            rest_s = rest_s if left_s is None else min(rest_s, left_s)
            if not is_told:
                wait_s = min(2 * wait_s, UNTOLD_LOOKS_MOST_S)
            try:
                await workflow.wait_condition(lambda: self._look, timeout=max(rest_s, 0.05))
            except TimeoutError:
                continue

    @workflow.signal
    def look(self) -> None:
        """Something has moved: look at the ledger now."""
        self._look = True

    async def _see(self, action: str) -> Stand:
        stand: Stand = await workflow.execute_activity(
            "ascertain.stand", action, result_type=Stand,
            start_to_close_timeout=timedelta(seconds=30), retry_policy=_AGAIN,
        )  # fmt: skip
        return stand


async def _tell(id: str, signal: str = "look", *args: str) -> bool:
    """Tell another workflow; returns whether there is one of that id.

    Where none drives a chain, the ledger's own due time does; who waits for it looks by itself.
    """
    try:
        await workflow.get_external_workflow_handle(id).signal(signal, args=args)
    except ApplicationError:
        workflow.logger.debug("there is no workflow %s", id)
        return False
    return True


def _show(state: str) -> None:
    updates: list[SearchAttributeUpdate[str]] = [_STATE.value_set(state)]
    workflow.upsert_search_attributes(updates)  # pyright: ignore[reportUnknownMemberType]


def _least(*known_s: float | None, most_s: float) -> float:
    """Until the first of these. What is due is waited for however long it takes."""
    return min((seconds for seconds in known_s if seconds is not None), default=most_s)
