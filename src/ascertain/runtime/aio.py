"""The async driver: the same effects, and the event loop is never blocked.

A body runs in a task of its own. When the caller is cancelled or disconnects, the body is not torn
down in the middle of its send: the action is recorded as unknown at once, the body may end within
its deadline, and its late result lands on its own action.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from ascertain.flow.call import call
from ascertain.flow.effects import (
    Admit,
    Alike,
    Ask,
    Attend,
    Await,
    Effect,
    Fetch,
    Flow,
    Inquire,
    Invoke,
    Look,
    Pause,
    Permission,
    Permit,
    Picture,
    Relate,
    Settle,
    Survey,
    Tell,
    Undo,
    Vet,
)
from ascertain.model.action import ActionRecord
from ascertain.model.booking import Book, GiveBack
from ascertain.model.chain import Around
from ascertain.model.operations import Advance, Operation, Reserve, Take
from ascertain.model.outcome import Report
from ascertain.model.words import NotSent
from ascertain.runtime import undoing
from ascertain.runtime.aio_commit import CommittedThenCancelled, commit_async
from ascertain.runtime.attempt import Attempt
from ascertain.runtime.batching import with_items, with_known
from ascertain.runtime.bodies import Bodies, TaskBody, ThreadBody, collected
from ascertain.runtime.checks import permitted_async, related_async
from ascertain.runtime.committer import raised
from ascertain.runtime.hands import Hands, found_another
from ascertain.runtime.holding import cleared, hold_async, waits_for_anything
from ascertain.runtime.invoke import (
    Opening,
    answered,
    asked_of,
    drained,
    enter,
    lease_covers,
    not_begun,
    open_attempt,
    open_lookup,
    report,
)
from ascertain.runtime.joining import admitted_async, attended_async
from ascertain.runtime.registry import Entry
from ascertain.runtime.sync import land_late, tell_operator
from ascertain.runtime.vetting import vet_async
from ascertain.runtime.vigil import await_other_async

T = TypeVar("T")
R = TypeVar("R")
GRACE_S = 0.25  # for a body that is told to stop at its deadline
BEFORE_THE_CALL = (Look, Settle, Fetch, Vet, Admit, Attend)
Body = asyncio.Future[Any] | Future[Any]


class AsyncDriver:
    """Drives one flow for one tool on the running loop."""

    def __init__(
        self,
        hands: Hands,
        entry: Entry,
        bodies: Bodies,
        values: dict[str, Any] | None = None,
        *,
        attached: bool = False,
        fetch: Callable[[Fetch], Coroutine[Any, Any, bool]] | None = None,
    ) -> None:
        self._hands = hands
        self._entry = entry
        self._bodies = bodies
        self._values = values
        self._fetch = fetch  # of calls that may need others first
        self._found = False  # another action is gone on with, and what it stored is what counts
        self._attached = attached  # an observed body ends with its caller, as it always did
        self._interrupt: BaseException | None = None

    @property
    def values(self) -> dict[str, Any]:
        """The arguments, once they are at hand."""
        return self._values or {}

    async def drive(self, flow: Flow[T]) -> T:
        """Run the flow to its end; a cancellation is raised again once it is recorded."""
        perform = self.perform if self._hands.on_effect is None else self._observed
        try:
            effect = next(flow)
            while True:
                try:
                    reply = await perform(effect)
                except asyncio.CancelledError as cancelled:
                    if isinstance(effect, BEFORE_THE_CALL):
                        raise  # nothing is stored yet, and nothing was sent
                    self._interrupt = cancelled
                    effect = flow.send(_cut_short(effect, cancelled))
                except Exception as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(reply)
        except StopIteration as stop:
            if self._interrupt is not None:
                raise self._interrupt from None
            result: T = stop.value
            return result

    async def _observed(self, effect: Effect) -> Any:
        on_effect = self._hands.on_effect
        assert on_effect is not None
        on_effect("before", effect)
        reply = await self.perform(effect)
        on_effect("after", effect)
        return reply

    def perform(self, effect: Effect) -> Coroutine[Any, Any, Any]:
        """Perform one effect; the reply is what the flow is resumed with."""
        match effect:
            case Reserve() | Advance() | Take() | Book() | GiveBack():
                return self._commit(effect)
            case Invoke(record, deadline_s):
                return self._invoke(record, deadline_s)
            case Ask(record, deadline_s):
                return self._ask(record, deadline_s)
            case Pause(seconds):
                return self._pause(seconds)
            case Await(record, seconds):
                return self._await(record, seconds)
            case Inquire(senders):
                return self._inquire(senders)
            case Permit(record):
                return self._permit(record)
            case Relate(record, related_ref):
                return self._relate(record, related_ref)
            case Tell(record, event, said):
                return self._tell(record, event, said)
            case Survey(record):
                return self._survey(record)
            case Undo(record, around):
                return self._undo(record, around)
            case Picture(record, deadline_s):
                return self._picture(record, deadline_s)
            case Look():
                return self._hands.contexts.look_async(effect)
            case Settle():
                return self._hands.contexts.settle_async(effect)
            case Fetch():
                assert self._fetch is not None
                return self._fetch(effect)
            case Admit():
                return admitted_async(self._entry, effect)
            case Alike(record):
                return self._apart(self._hands.alike, self._entry, record)
            case Attend():
                return attended_async(effect)
            case Vet(values):
                self._values = values
                return vet_async(self._hands, self._entry, effect)

    async def _inquire(self, senders: tuple[str, ...]) -> frozenset[str]:
        return self._hands.inquire(senders)

    async def _permit(self, record: ActionRecord) -> Permission:
        if self._interrupt is not None:
            return "unknown"  # for nobody waits for it any more: it is left to the worker
        said = await permitted_async(self._entry, record, await self._arguments(record))
        if said != "yes" or not waits_for_anything(self._entry):
            return said
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, cleared, self._hands, self._entry, record)

    async def _relate(self, record: ActionRecord, related_ref: str) -> bool:
        asked = asked_of(record, await self._arguments(record))
        return await related_async(self._entry, asked._replace(related_ref=related_ref))

    async def _tell(self, record: ActionRecord, event: str, said: Mapping[str, str]) -> None:
        tell_operator(record, event, said)

    async def _survey(self, record: ActionRecord) -> Around | None:
        return await self._apart(self._hands.ledger.chains.around, record.chain)

    async def _undo(self, record: ActionRecord, around: Around) -> ActionRecord | None:
        if self._interrupt is not None:
            return None
        start = await self._apart(undoing.begin, self._hands, record, around)
        may = await permitted_async(start.entry, start.wanted.record, start.values)
        why = await hold_async(self._hands, start.entry, undoing.for_rule(start))
        begun = undoing.judged(start, may, why)
        if begun is None:
            return None
        driver = AsyncDriver(self._hands, begun.entry, self._bodies, begun.values)
        setting = self._hands.setting(begun.entry)
        return (await driver.drive(call(setting, begun.wanted, begun.turn))).record

    async def _picture(self, record: ActionRecord, deadline_s: float) -> Report | None:
        look = self._entry.snapshot
        if look is None or self._interrupt is not None:
            return None
        opening = open_lookup(deadline_s)
        asked = asked_of(record, await self._arguments(record))
        body = self._start(opening, inspect.iscoroutinefunction(look), look, asked)
        if body is None:
            return None
        news = await self._wait(opening, body, deadline_s)
        if news.live:
            body.give_up()
        return news

    @staticmethod
    async def _apart(function: Callable[..., R], *args: Any) -> R:
        """Read the ledger without blocking the loop."""
        return await asyncio.get_running_loop().run_in_executor(None, function, *args)

    async def _commit(self, operation: Operation) -> Any:
        if isinstance(operation, Reserve | Advance) and operation.beside:
            self._hands.contexts.arriving(operation.beside)
        try:
            reply = await commit_async(self._hands.committer, operation)
        except CommittedThenCancelled as cancelled:
            self._interrupt = cancelled
            reply = raised(cancelled.reply)
        self._hands.written(operation, reply)
        self._found = self._found or found_another(reply)
        return reply

    async def _arguments(self, record: ActionRecord) -> dict[str, Any]:
        if self._values is None or self._found:
            self._values = await self._apart(self._hands.arguments_of, self._entry, record)
            self._found = False
        return self._values

    async def _invoke(self, record: ActionRecord, deadline_s: float) -> Report:
        entry = self._entry
        opening = open_attempt(entry, record, deadline_s, self._hands.mac)
        if self._interrupt is not None:
            # cancelled while the send was being recorded: nothing has left, and nothing will
            stopped = NotSent("interrupted", retryable=False)
            return report(entry, opening, error=stopped, interrupt=self._interrupt)
        if not lease_covers(record, deadline_s, self._hands.clock()):
            return report(entry, opening, error=NotSent("lease_ran_out"))
        values = await self._arguments(record)
        opening = with_items(entry, opening, values)
        inject = {Attempt: opening.attempt}
        body = self._start(
            opening, entry.is_async, entry.signature.call, entry.body, values, inject
        )
        if body is None:
            return report(entry, opening, error=NotSent("all_threads_busy"))
        news = await self._wait(opening, body, deadline_s)
        if news.live and entry.contract.is_read:
            body.give_up()  # there is no action on which its answer could land
        elif news.live:
            self._land_later(record, opening, body, deadline_s)
        return news

    async def _ask(self, record: ActionRecord, deadline_s: float) -> Report:
        entry, lookup = self._entry, self._entry.lookup
        if lookup is None:
            raise LookupError(f"{entry.name} has no look-up in this process.")
        if self._interrupt is not None:
            return not_begun(self._interrupt)
        asked = asked_of(record, await self._arguments(record))
        opening = open_lookup(deadline_s)
        opening = with_items(entry, opening, asked.arguments)
        body = self._start(opening, entry.lookup_is_async, lookup, asked)
        if body is None:
            return report(entry, opening, error=TimeoutError("all threads are busy"))
        news = await self._wait(opening, body, deadline_s)
        if news.live:
            body.give_up()
        if entry.contract.items:
            news = await self._apart(with_known, self._hands.ledger, record, news)
        return answered(entry, news)

    def _start(
        self, opening: Opening, is_async: bool, call: Callable[..., Any], *args: Any
    ) -> TaskBody | ThreadBody | None:
        """Start a body in a context of its own: a task, or a thread for sync code."""
        context = contextvars.copy_context()
        context.run(enter, opening)
        if is_async:
            coroutine = context.run(call, *args)
            if inspect.isasyncgen(coroutine):
                coroutine = collected(coroutine)
            return TaskBody(asyncio.get_running_loop().create_task(coroutine, context=context))
        return self._bodies.start(lambda: drained(context.run(call, *args)))

    async def _wait(
        self, opening: Opening, body: TaskBody | ThreadBody, deadline_s: float
    ) -> Report:
        """Wait for the body, its deadline, or the caller's own cancellation."""
        entry = self._entry
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        end = partial(_end, ended)
        body.future.add_done_callback(end)
        timer = None if deadline_s == float("inf") else loop.call_later(deadline_s, end)
        try:
            await ended
            if not body.future.done():
                await body.stop(GRACE_S)
        except asyncio.CancelledError as cancelled:
            self._interrupt = cancelled
            if self._attached:
                # cancelled once more meanwhile: it is given up as still running, never as not sent
                with suppress(asyncio.CancelledError):
                    await body.stop(None)
        finally:
            if timer is not None:
                timer.cancel()
        if not body.future.done():
            error = self._interrupt or TimeoutError("deadline")
            return report(entry, opening, error=error, interrupt=self._interrupt, live=True)
        return self._news(opening, body.future, self._interrupt)

    def _news(self, opening: Opening, body: Body, interrupt: BaseException | None = None) -> Report:
        if body.cancelled():
            error: BaseException | None = TimeoutError("deadline")
        else:
            error = body.exception()
        value = None if error is not None else body.result()
        return report(self._entry, opening, value=value, error=error, interrupt=interrupt)

    def _land_later(
        self, record: ActionRecord, opening: Opening, body: TaskBody | ThreadBody, deadline_s: float
    ) -> None:
        """Let a body that was given up end; its result lands on its own action."""

        def land(ended: Body) -> None:
            land_late(self._hands, self._entry, record, self._news(opening, ended))

        self._bodies.let_end(body, land, deadline_s)

    async def _pause(self, seconds: float, rung: asyncio.Event | None = None) -> bool:
        if self._interrupt is not None:
            return False
        try:
            if rung is None:
                await asyncio.sleep(seconds)
            else:
                with suppress(TimeoutError):
                    await asyncio.wait_for(rung.wait(), seconds)
                rung.clear()
        except asyncio.CancelledError as cancelled:
            self._interrupt = cancelled
            return False
        return True

    async def _await(self, record: ActionRecord, seconds: float) -> ActionRecord | None:
        return await await_other_async(self._hands.ledger, record, seconds, self._pause)


def _cut_short(effect: Effect, cancelled: BaseException) -> Any:
    """The reply to an effect during which the caller was cancelled."""
    match effect:
        case Pause() | Relate():
            return False
        case Await() | Survey() | Undo() | Picture() | Alike():
            return None
        case Permit():
            return "unknown"
        case Inquire():
            return frozenset[str]()
        case Invoke() | Ask():
            return not_begun(cancelled)
        case _:
            raise AssertionError(f"{effect} is never cut short")


def _end(ended: asyncio.Future[None], _: object = None) -> None:
    if not ended.done():
        ended.set_result(None)
