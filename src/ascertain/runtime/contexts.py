"""Calls in their session's context: what the gate's effects do, and what a call needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from ascertain.errors import AscertainError, ContractError, InvalidArguments
from ascertain.flow.call import Hold, Wanted
from ascertain.flow.effects import Fetch, Vet
from ascertain.flow.gate import Need, Source
from ascertain.model.contract import Approval
from ascertain.model.operations import Advanced, Beside, Reserved
from ascertain.model.session import Memory, Needs, Provides, Remembered
from ascertain.model.tables import State
from ascertain.rules.context import Declaration, tangles
from ascertain.rules.gate import Tiers
from ascertain.runtime import wanting
from ascertain.runtime.batching import keys_of
from ascertain.runtime.checks import Denied, denied, denied_async
from ascertain.runtime.hands import Hands, log
from ascertain.runtime.holding import hold, hold_async, waits_for_anything
from ascertain.runtime.invoke import asked_in
from ascertain.runtime.looks import Looks
from ascertain.runtime.projector import Projector
from ascertain.runtime.readiness import own
from ascertain.runtime.registry import Entry
from ascertain.runtime.scope import Session, here
from ascertain.runtime.seats import Seat
from ascertain.store.ids import new_id
from ascertain.store.ledger import Contexts as StoredContexts
from ascertain.store.open import open_sessions
from ascertain.store.sessions import ProjectedContexts, SessionStore
from ascertain.values.canonical import canonical_native

if TYPE_CHECKING:
    from ascertain.rules.budget import Turn
    from ascertain.runtime.calls import Calls
from ascertain.runtime.wanting import Options

DEFAULT_TTL_S = 7 * 86_400.0
DEFAULT_LIMIT_BYTES = 65_536


class Contexts(Looks):
    """The gate's hands: the ledger's memory of sessions, and what is under way in this process.

    :param ttl_s: how long a session lives after it was last used.
    :param session_keys: keys that the application itself provides.
    :param sessions: URL of a session store that serves what the ledger knows; None: it does.
    """

    def __init__(
        self,
        hands: Hands,
        *,
        tiers: Tiers,
        ttl_s: float,
        session_keys: Iterable[str],
        sessions: str | None = None,
    ) -> None:
        super().__init__(hands.clock)
        self.hands = hands
        self._projected: ProjectedContexts | None = None
        self._projector = Projector()
        self._sessions: SessionStore | None = None
        if sessions is not None:
            self._sessions = open_sessions(sessions)
            self._projected = ProjectedContexts(hands.ledger.contexts, self._sessions)
        self.tiers = tiers
        self.ttl_s = ttl_s
        self.session_keys = frozenset(session_keys)
        self._checked = -1
        self._providers: dict[str, list[Entry]] = {}
        self._elsewhere = self.session_keys

    @property
    def store(self) -> StoredContexts:
        """What remembers: the ledger, or a projection of it."""
        return self._projected or self.hands.ledger.contexts

    def warn(self) -> None:
        """Say at start-up what is wrong with how the session store is set up."""
        for sentence in self._sessions.findings() if self._sessions is not None else ():
            log.warning("%s", sentence)

    def written(self, reply: Reserved | Advanced, beside: tuple[Beside, ...]) -> None:
        """Something was committed to a session: its projection follows, beside the call."""
        values = [one for one in reply.told if isinstance(one, Remembered)]
        if not values:
            return
        record = reply.record
        needs = next((one for one in beside if isinstance(one, Needs)), None)
        self.recent.wrote(record, needs, values, self.hands.clock())
        projected = self._projected
        if projected is None:
            return
        truth = self.hands.ledger.contexts
        tenant, session = record.tenant, record.session
        self._projector.soon(
            (tenant, session), lambda: projected.keep(truth.memory(tenant, session))
        )

    def clear_expired(self, limit: int) -> int:
        """Forget what ended sessions remember; returns how many there were."""
        now = self.hands.clock()
        return self.store.clear_expired(before=now, now=now, limit=limit)

    def close(self) -> None:
        """End what runs beside the calls."""
        self._projector.close()
        if self._sessions is not None:
            self._sessions.close()

    # -- before a call --------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse tools that cannot be kept together.

        :raises ContractError: a required key that nobody provides, or reads that need each other.
        """
        registry = self.hands.registry
        if self._checked == len(registry):
            return
        found = self.findings()
        if found:
            tool, sentence = found[0]
            raise ContractError(f"{tool} {sentence}.")
        self._providers = {}
        for entry in registry:
            for key in entry.contract.provides:
                self._providers.setdefault(key, []).append(entry)
        self._elsewhere = self.session_keys | self._providers.keys()
        self._checked = len(registry)

    def findings(self) -> list[tuple[str, str]]:
        """What the tools cannot keep together: the tool, and a sentence without its name."""
        tools = [declaration_of(entry) for entry in self.hands.registry if not entry.observed]
        return tangles(tools, self.session_keys)

    def under_way(self, entry: Entry, session: Session) -> AbstractContextManager[None]:
        """The call of a tool; from its first moment on, others see what it will provide."""
        keys = entry.contract.provides
        if not keys:
            return nullcontext()
        scope = session.scope
        return self.readiness.under_way((scope.tenant, scope.session), tuple(keys))

    def need(
        self,
        entry: Entry,
        session: Session,
        given: Mapping[str, Any],
        options: Options,
        turn: Turn,
        seat: Seat | None,
        values: dict[str, Any],
        *,
        is_async: bool,
    ) -> Need:
        """What one call needs, and how an action is made of it.

        :param values: where its arguments are put, once they are known; the driver calls the body
            with them.
        """
        self.check()
        scope, keys = session.scope, entry.context_keys
        place = (scope.tenant, scope.session)
        mode = wanting.READ if entry.contract.is_read else wanting.GUARD
        _refuse_fillers(entry, given)

        def make(filled: Mapping[str, Any], chain: str) -> tuple[Wanted, dict[str, Any]]:
            bound = entry.signature.bind((), {**given, **filled})
            keys_of(entry, bound.values)
            wanted = wanting.wanted(
                self.hands, entry, bound, scope, options, turn, mode=mode, joins=chain
            )
            values.clear()  # of another order, if it is made anew
            values.update(bound.values)
            return wanted, values

        def held(keys: tuple[str, ...]) -> Wanted:
            text = canonical_native(dict(given))
            return wanting.held(self.hands, entry, scope, options, turn, text, keys)

        def recent() -> Memory | None:
            if self.readiness.active(place, keys):
                return None  # what is under way is waited for
            return self.recent.memory(place, scope.principal, keys, self.hands.clock())

        def sources(key: str, found: Remembered | None) -> tuple[Source, ...]:
            return self._sources(entry, key, found, is_async=is_async)

        return Need(
            tenant=scope.tenant,
            session=scope.session,
            principal=scope.principal,
            call_id=options.call_id or "",
            given=given,
            expires_at=self.hands.clock() + self.ttl_s,
            epoch=new_id,
            tiers=self.tiers,
            sources=sources,
            elsewhere=self._elsewhere,
            make=make,
            held=held,
            keys=keys,
            recent=recent,
            vets=partial(self._is_vetted, entry),
            seat=seat,
            named=seat is not None and options.place is not None,
        )

    def _sources(
        self, caller: Entry, key: str, found: Remembered | None, *, is_async: bool
    ) -> tuple[Source, ...]:
        """The reads that can be run for a key: its writer, else one that needs nobody."""
        sources: list[Source] = []
        registry = self.hands.registry
        writer = registry.find(found.tool) if found is not None and found.tool else None
        if found is not None and writer is not None and _can_run(writer, is_async):
            sources.append(Source(writer.name, found.writer))
        for entry in self._providers.get(key, ()):
            runs = entry is not caller and _can_run(entry, is_async)
            if runs and declaration_of(entry).runs_by_itself:
                sources.append(Source(entry.name))
        return tuple(sources)

    # -- the gate's effects ---------------------------------------------------------------------

    def fetch(self, calls: Calls, asked: Fetch) -> bool:
        """Run a read for its result's sake; a refusal or an error of its own is no answer."""
        entry = self.hands.registry.get(asked.tool)
        try:
            return calls.call(entry, (), self._like(entry, asked)).state is State.CONFIRMED
        except AscertainError as error:
            log.warning("%s could not be read for a call that needs it: %s", entry.name, error.code)
            return False

    async def fetch_async(self, calls: Calls, asked: Fetch) -> bool:
        """The same on the running loop."""
        import asyncio

        entry = self.hands.registry.get(asked.tool)
        loop = asyncio.get_running_loop()
        try:
            given = await loop.run_in_executor(None, self._like, entry, asked)
            return (await calls.call_async(entry, (), given)).state is State.CONFIRMED
        except AscertainError as error:
            log.warning("%s could not be read for a call that needs it: %s", entry.name, error.code)
            return False

    def _like(self, entry: Entry, asked: Fetch) -> dict[str, Any]:
        """The arguments of the earlier read, without those that the context fills."""
        if not asked.like:
            return {}
        text = self.hands.ledger.arguments(asked.like)
        if text is None:
            return {}
        filled = entry.contract.context.keys()
        values = entry.signature.restore(text)
        return {name: value for name, value in values.items() if name not in filled}

    def vet(self, entry: Entry, asked: Vet) -> Denied | Hold | None:
        """Permission, consent, preconditions; and whether it waits for a person."""
        session = here()
        wish = asked_in(entry, session.scope, asked.values)
        refusal = denied(entry, session, wish)
        if refusal is not None or entry.contract.is_read or not waits_for_anything(entry):
            return refusal
        return hold(self.hands, entry, wish)

    async def vet_async(self, entry: Entry, asked: Vet) -> Denied | Hold | None:
        """The same, for checks that may be coroutines."""
        session = here()
        wish = asked_in(entry, session.scope, asked.values)
        refusal = await denied_async(entry, session, wish)
        if refusal is not None or entry.contract.is_read or not waits_for_anything(entry):
            return refusal
        return await hold_async(self.hands, entry, wish)

    def _is_vetted(self, entry: Entry) -> bool:
        """Whether anything has to be asked before a call of the tool, as things are now."""
        contract = entry.contract
        if entry.consent or entry.permission or entry.preconditions:
            return True
        if contract.is_read or not waits_for_anything(entry):
            return False
        breaking = self.hands.breaking
        return contract.approval is not Approval.NONE or (
            breaking.stale or not breaking.is_closed(contract)
        )

    def arriving(self, beside: tuple[Beside, ...]) -> None:
        """An answer is in hand, and about to be committed with what it brings."""
        activity = own.get()
        if activity is not None and any(isinstance(one, Provides) for one in beside):
            activity.pending = True


def declaration_of(entry: Entry) -> Declaration:
    """A tool, as far as the context goes."""
    return Declaration(contract=entry.contract, parameters=entry.signature.required)


def _can_run(entry: Entry, is_async: bool) -> bool:
    """Whether the gate of such a call can run the tool: a read, and no coroutine in sync code."""
    return entry.contract.is_read and not entry.observed and (is_async or not entry.is_async)


def _refuse_fillers(entry: Entry, given: Mapping[str, Any]) -> None:
    for name, key in entry.contract.context.items():
        if name in given:
            raise InvalidArguments(
                f"{entry.name}: {name} comes from the session ({key}), not from the caller; "
                "nothing was sent.",
                path=name, expected="no such argument", got="a value of the caller's",
            )  # fmt: skip
