"""Guarded calls: from a Python call or an agent's tool call to an action."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ascertain.errors import AscertainError, IntentConflict
from ascertain.flow.call import Ended, Hold, Wanted, call, read
from ascertain.flow.context import read_in_context, write_in_context
from ascertain.flow.effects import Fetch, Flow, Setting
from ascertain.flow.joining import join_chain
from ascertain.flow.keeping import keep_read
from ascertain.flow.observe import observe
from ascertain.model.action import ActionRecord
from ascertain.model.outcome import RETRYABLE_KINDS
from ascertain.model.tables import State
from ascertain.rules.breaker import News
from ascertain.rules.budget import Turn
from ascertain.rules.gate import Tiers
from ascertain.rules.identity import Scope
from ascertain.runtime import deadline as ambient
from ascertain.runtime import wanting
from ascertain.runtime.action import NOT_LOADED, Action
from ascertain.runtime.batching import keys_of
from ascertain.runtime.checks import denied, denied_async
from ascertain.runtime.gating import Gate
from ascertain.runtime.hands import Hands, log
from ascertain.runtime.holding import hold, hold_async, waits_for_anything
from ascertain.runtime.invoke import Asked, asked_in
from ascertain.runtime.joining import seated
from ascertain.runtime.keeper import Keeper
from ascertain.runtime.registry import Entry
from ascertain.runtime.scope import Opened, here
from ascertain.runtime.seats import Seat
from ascertain.runtime.sync import SyncDriver
from ascertain.runtime.wanting import NONE, Options
from ascertain.values.arguments import Bound, parse_call
from ascertain.values.canonical import canonical

if TYPE_CHECKING:
    from ascertain.runtime.aio import AsyncDriver
    from ascertain.runtime.bodies import Bodies


class Calls:
    """Makes calls in a session."""

    def __init__(self, hands: Hands, *, tiers: Tiers, observing: bool = False) -> None:
        self.hands = hands
        self.gate = Gate(hands, tiers)
        self.keeper = Keeper()
        self.observing = observing
        self._bodies: Bodies | None = None

    @property
    def bodies(self) -> Bodies:
        """What runs beside the flows that wait for it, in this process."""
        if self._bodies is None:
            from ascertain.runtime.bodies import Bodies

            self._bodies = Bodies()
        return self._bodies

    @cached_property
    def _async_driver(self) -> type[AsyncDriver]:
        from ascertain.runtime.aio import AsyncDriver  # asyncio is most of what an import costs

        return AsyncDriver

    def call(
        self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options = NONE
    ) -> Action[Any]:
        """Make a guarded call of a sync tool in this thread."""
        session = here()
        with seated(session, options.place) as seat:
            if entry.contract.in_context and not (self.observing or entry.observed):
                return self._call_in_context(entry, session, args, kwargs, options, seat)
            return self._call(entry, session, entry.signature.bind(args, kwargs), options, seat)

    async def call_async(
        self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options = NONE
    ) -> Action[Any]:
        """Make a guarded call on the running loop; sync tools run in a thread."""
        session = here()
        with seated(session, options.place) as seat:
            if entry.contract.in_context and not (self.observing or entry.observed):
                made = self._call_in_context_async(entry, session, args, kwargs, options, seat)
                return await made
            bound = entry.signature.bind(args, kwargs)
            return await self._call_async(entry, session, bound, options, seat)

    def _call(
        self, entry: Entry, session: Opened, bound: Bound, options: Options, seat: Seat | None
    ) -> Action[Any]:
        keys_of(entry, bound.values)
        turn = self._turn(entry, options)
        driver = SyncDriver(self.hands, entry, self.keeper, bound.values)
        setting = self.hands.setting(entry)
        if entry.contract.is_read or self.observing or entry.observed:
            flow = self._unguarded(setting, entry, session, bound, options, turn, seat)
            return self.action(entry, driver.drive(flow))
        wanted = wanting.wanted(self.hands, entry, bound, session.scope, options, turn)
        if seat is not None:
            wanted = driver.drive(join_chain(setting, wanted, seat, turn))
        if wanted.denied is None and _checked(entry):
            asked = asked_in(entry, session.scope, bound.values)
            wanted = wanted._replace(denied=denied(entry, session, asked))
        if wanted.denied is None and waits_for_anything(entry):
            wanted = _held(wanted, hold(self.hands, entry, _for_rule(entry, session, bound)))
        try:
            ended = driver.drive(call(setting, wanted, turn))
        except IntentConflict as conflict:
            self._name_fields(entry, bound, conflict)
            raise
        return self._stepped(entry, seat, ended)

    async def _call_async(
        self, entry: Entry, session: Opened, bound: Bound, options: Options, seat: Seat | None
    ) -> Action[Any]:
        keys_of(entry, bound.values)
        turn = self._turn(entry, options)
        watched = self.observing or entry.observed
        driver = self._async_driver(self.hands, entry, self.bodies, bound.values, attached=watched)
        setting = self.hands.setting(entry)
        if entry.contract.is_read or watched:
            flow = self._unguarded(setting, entry, session, bound, options, turn, seat)
            return self.action(entry, await driver.drive(flow))
        wanted = wanting.wanted(self.hands, entry, bound, session.scope, options, turn)
        if seat is not None:
            wanted = await driver.drive(join_chain(setting, wanted, seat, turn))
        if wanted.denied is None and _checked(entry):
            asked = asked_in(entry, session.scope, bound.values)
            wanted = wanted._replace(denied=await denied_async(entry, session, asked))
        if wanted.denied is None and waits_for_anything(entry):
            rule = _for_rule(entry, session, bound)
            wanted = _held(wanted, await hold_async(self.hands, entry, rule))
        try:
            ended = await driver.drive(call(setting, wanted, turn))
        except IntentConflict as conflict:
            self._name_fields(entry, bound, conflict)
            raise
        return self._stepped(entry, seat, ended)

    def _unguarded(
        self,
        setting: Setting,
        entry: Entry,
        session: Opened,
        bound: Bound,
        options: Options,
        turn: Turn,
        seat: Seat | None,
    ) -> Flow[Ended]:
        """A read, which its chain keeps where it is made in one; or a write that is observed."""
        if not entry.contract.is_read:
            watched = wanting.wanted(
                self.hands, entry, bound, session.scope, options, turn, mode=wanting.OBSERVE
            )
            return (yield from observe(setting, watched))
        wanted: Wanted | None = None
        if seat is not None:
            wanted = self._chained_read(entry, bound, session.scope, options, turn)
            wanted = yield from join_chain(setting, wanted, seat, turn)
        ended = yield from read(setting, self._read_record(entry, session), turn)
        if wanted is not None:
            ended = yield from keep_read(setting, wanted, ended)
        self._heard_of_read(entry, ended)
        return ended

    def _call_in_context(
        self,
        entry: Entry,
        session: Opened,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: Options,
        seat: Seat | None,
    ) -> Action[Any]:
        turn = self._turn(entry, options)
        values: dict[str, Any] = {}
        with self.gate.under_way(entry, session):
            flow = self._in_context(
                entry, session, args, kwargs, options, turn, seat, values, is_async=False
            )
            driver = SyncDriver(self.hands, entry, self.keeper, values, fetch=self._fetch)
            try:
                return self._stepped(entry, seat, driver.drive(flow))
            except IntentConflict as conflict:
                self._name_fields(entry, entry.signature.bind((), driver.values), conflict)
                raise

    async def _call_in_context_async(
        self,
        entry: Entry,
        session: Opened,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: Options,
        seat: Seat | None,
    ) -> Action[Any]:
        turn = self._turn(entry, options)
        values: dict[str, Any] = {}
        with self.gate.under_way(entry, session):
            flow = self._in_context(
                entry, session, args, kwargs, options, turn, seat, values, is_async=True
            )
            fetch = self._fetch_async
            driver = self._async_driver(self.hands, entry, self.bodies, values, fetch=fetch)
            try:
                return self._stepped(entry, seat, await driver.drive(flow))
            except IntentConflict as conflict:
                self._name_fields(entry, entry.signature.bind((), driver.values), conflict)
                raise

    def _in_context(
        self,
        entry: Entry,
        session: Opened,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: Options,
        turn: Turn,
        seat: Seat | None,
        values: dict[str, Any],
        *,
        is_async: bool,
    ) -> Flow[Ended]:
        """The gate, and the call behind it; the same generator for both drivers.

        :param values: takes the arguments as the body gets them.
        """
        given = kwargs
        if args:
            filled = frozenset(entry.contract.context)
            given = entry.signature.given(args, kwargs, filled=filled)
        need = self.gate.need(entry, session, given, options, turn, seat, values, is_async=is_async)
        setting = self.hands.setting(entry)
        if entry.contract.is_read:
            return read_in_context(setting, need, turn)
        return write_in_context(setting, need, turn)

    def _fetch(self, asked: Fetch) -> bool:
        """Run a read for its result's sake; a refusal or an error of its own is no answer."""
        entry = self.hands.registry.get(asked.tool)
        try:
            return self.call(entry, (), self.gate.like(entry, asked)).state is State.CONFIRMED
        except AscertainError as error:
            return _not_read(entry, error)

    async def _fetch_async(self, asked: Fetch) -> bool:
        """The same on the running loop."""
        import asyncio

        entry = self.hands.registry.get(asked.tool)
        loop = asyncio.get_running_loop()
        try:
            given = await loop.run_in_executor(None, self.gate.like, entry, asked)
            return (await self.call_async(entry, (), given)).state is State.CONFIRMED
        except AscertainError as error:
            return _not_read(entry, error)

    def _stepped(self, entry: Entry, seat: Seat | None, ended: Ended) -> Action[Any]:
        """The action, and its chain hears what has become of the step."""
        if entry.contract.is_read:
            self._heard_of_read(entry, ended)
        elif seat is not None:
            seat.chain.ended(seat, ended.record)
        return self.action(entry, ended)

    def action(self, entry: Entry, ended: Ended) -> Action[Any]:
        """The public action of a call that has ended."""
        report = ended.report
        value = NOT_LOADED
        text = report.result if report is not None else None
        if report is not None and entry.contract.is_read and text is None:
            value = report.value
        return Action(ended.record, entry, self.hands, how=ended.how, text=text, value=value)

    def _heard_of_read(self, entry: Entry, ended: Ended) -> None:
        """A provider that answers a read is there again, for the tools of its group."""
        if entry.contract.breaker is not None and ended.record.kind not in RETRYABLE_KINDS:
            self.hands.breaking.hear(entry.contract, News.ANSWERS)

    def _chained_read(
        self, entry: Entry, bound: Bound, scope: Scope, options: Options, turn: Turn
    ) -> Wanted:
        """A read as its chain keeps it: each is one of its own."""
        return wanting.wanted(self.hands, entry, bound, scope, options, turn, mode=wanting.READ)

    def _read_record(self, entry: Entry, session: Opened) -> ActionRecord:
        scope = session.scope
        now = self.hands.clock()
        return ActionRecord(
            "", scope.tenant, entry.name, scope.principal, scope.session, scope.opening, scope.turn,
            "", scope.chain, None, None, None, "", "", "", "", "", "", "read", now, now,
        )  # fmt: skip

    def _turn(self, entry: Entry, options: Options) -> Turn:
        budget = entry.contract.budget
        left = ambient.remaining_s()
        least = budget.turn_s
        if left is not None:
            least = min(least, left)
        if options.deadline_s is not None:
            least = min(least, options.deadline_s)
        if least <= 0:
            raise TimeoutError(
                f"The deadline had passed before {entry.name} began; nothing was sent."
            )
        return Turn(budget.turn_sends, self.hands.clock() + least)

    def _name_fields(self, entry: Entry, bound: Bound, conflict: IntentConflict) -> None:
        """Say which arguments differ (their names; values may be personal)."""
        text = self.hands.ledger.arguments(conflict.context["action"])
        if text is None:
            return
        stored, given = parse_call(text), bound.json
        apart = {*entry.contract.wording, *entry.contract.identity}
        fields = sorted(
            name
            for name in {*stored, *given} - apart
            if canonical(stored.get(name)) != canonical(given.get(name))
        )
        conflict.context["fields"] = fields
        if fields:
            conflict.message = f"{conflict.message} Different: {', '.join(fields)}."


def _held(wanted: Wanted, why: Hold | None) -> Wanted:
    return wanted if why is None else wanted._replace(hold=why)


def _for_rule(entry: Entry, session: Opened, bound: Bound) -> Asked | None:
    """What the server's rule of approval may look at, where there is one."""
    return None if entry.approval is None else asked_in(entry, session.scope, bound.values)


def _checked(entry: Entry) -> bool:
    return bool(entry.consent or entry.permission or entry.preconditions)


def _not_read(entry: Entry, error: AscertainError) -> bool:
    """False, and why is in the log."""
    log.warning("%s could not be read for a call that needs it: %s", entry.name, error.code)
    return False
