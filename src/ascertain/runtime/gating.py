"""Calls in their session's context: what such a call needs, and which reads may bring it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from ascertain.errors import ContractError, InvalidArguments
from ascertain.flow.call import Wanted
from ascertain.flow.effects import Fetch
from ascertain.flow.gate import Need, Source
from ascertain.model.session import Memory, Remembered
from ascertain.rules.context import Declaration, tangles
from ascertain.rules.gate import Tiers
from ascertain.runtime import wanting
from ascertain.runtime.batching import keys_of
from ascertain.runtime.hands import Hands
from ascertain.runtime.registry import Entry
from ascertain.runtime.scope import Opened
from ascertain.runtime.seats import Seat
from ascertain.runtime.vetting import is_vetted
from ascertain.runtime.wanting import Options
from ascertain.store.ids import new_id
from ascertain.values.canonical import canonical_native

if TYPE_CHECKING:
    from ascertain.rules.budget import Turn


class Gate:
    """What stands before a call in context.

    :param tiers: how far such a call goes by itself to get what it needs.
    """

    def __init__(self, hands: Hands, tiers: Tiers) -> None:
        self._hands = hands
        self._tiers = tiers
        self._checked = -1
        self._providers: dict[str, list[Entry]] = {}
        self._elsewhere = hands.contexts.session_keys

    def check(self) -> None:
        """Refuse tools that cannot be kept together.

        :raises ContractError: a required key that nobody provides, or reads that need each other.
        """
        registry = self._hands.registry
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
        self._elsewhere = self._hands.contexts.session_keys | self._providers.keys()
        self._checked = len(registry)

    def findings(self) -> list[tuple[str, str]]:
        """What the tools cannot keep together: the tool, and a sentence without its name."""
        tools = [declaration_of(entry) for entry in self._hands.registry if not entry.observed]
        return tangles(tools, self._hands.contexts.session_keys)

    def under_way(self, entry: Entry, session: Opened) -> AbstractContextManager[None]:
        """The call of a tool; from its first moment on, others see what it will provide."""
        keys = entry.contract.provides
        if not keys:
            return nullcontext()
        scope = session.scope
        return self._hands.contexts.readiness.under_way((scope.tenant, scope.session), tuple(keys))

    def need(
        self,
        entry: Entry,
        session: Opened,
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
        contexts = self._hands.contexts
        scope, keys = session.scope, entry.context_keys
        place = (scope.tenant, scope.session)
        mode = wanting.READ if entry.contract.is_read else wanting.GUARD
        _refuse_fillers(entry, given)

        def make(filled: Mapping[str, Any], chain: str) -> tuple[Wanted, dict[str, Any]]:
            bound = entry.signature.bind((), {**given, **filled})
            keys_of(entry, bound.values)
            wanted = wanting.wanted(
                self._hands, entry, bound, scope, options, turn, mode=mode, joins=chain
            )
            values.clear()  # of another order, if it is made anew
            values.update(bound.values)
            return wanted, values

        def held(keys: tuple[str, ...]) -> Wanted:
            text = canonical_native(dict(given))
            return wanting.held(self._hands, entry, scope, options, turn, text, keys)

        def recent() -> Memory | None:
            if contexts.readiness.active(place, keys):
                return None  # what is under way is waited for
            return contexts.recent.memory(place, scope.principal, keys, self._hands.clock())

        def sources(key: str, found: Remembered | None) -> tuple[Source, ...]:
            return self._sources(entry, key, found, is_async=is_async)

        return Need(
            tenant=scope.tenant,
            session=scope.session,
            principal=scope.principal,
            call_id=options.call_id or "",
            given=given,
            expires_at=self._hands.clock() + contexts.ttl_s,
            epoch=new_id,
            tiers=self._tiers,
            sources=sources,
            elsewhere=self._elsewhere,
            make=make,
            held=held,
            again=partial(_again, entry, given, make),
            keys=keys,
            recent=recent,
            vets=partial(is_vetted, self._hands, entry),
            seat=seat,
            named=seat is not None and options.place is not None,
        )

    def _sources(
        self, caller: Entry, key: str, found: Remembered | None, *, is_async: bool
    ) -> tuple[Source, ...]:
        """The reads that can be run for a key: its writer, else one that needs nobody."""
        sources: list[Source] = []
        registry = self._hands.registry
        writer = registry.find(found.tool) if found is not None and found.tool else None
        if found is not None and writer is not None and _can_run(writer, is_async):
            sources.append(Source(writer.name, found.writer))
        for entry in self._providers.get(key, ()):
            runs = entry is not caller and _can_run(entry, is_async)
            if runs and declaration_of(entry).runs_by_itself:
                sources.append(Source(entry.name))
        return tuple(sources)

    def like(self, entry: Entry, asked: Fetch) -> dict[str, Any]:
        """The arguments of the earlier read, without those that the context fills."""
        if not asked.like:
            return {}
        text = self._hands.ledger.arguments(asked.like)
        if text is None:
            return {}
        filled = entry.contract.context.keys()
        values = entry.signature.restore(text)
        return {name: value for name, value in values.items() if name not in filled}


def _again(
    entry: Entry,
    given: Mapping[str, Any],
    make: Callable[[Mapping[str, Any], str], tuple[Wanted, dict[str, Any]]],
    stored: str,
) -> Wanted | None:
    """What the caller gives, filled as an earlier call was; see :attr:`Need.again`."""
    try:
        kept = entry.signature.restore(stored)
    except InvalidArguments:
        return None
    return make({name: kept[name] for name in kept.keys() - given.keys()}, "")[0]


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
