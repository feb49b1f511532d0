"""What a session can be asked, and what may be taken from ``next_allowed``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ascertain.errors import ActionNotFound, ContractError, LedgerError, NotAllowed
from ascertain.flow.effects import Flow
from ascertain.flow.recover import inspect, recover
from ascertain.model.action import ActionRecord
from ascertain.model.chain import Around, ChainRecord, TurnChain
from ascertain.model.contract import Contract
from ascertain.model.operations import Advanced, Reply, Take, Taken
from ascertain.model.tables import By
from ascertain.rules import facts as rules
from ascertain.rules.chain import advance_of, chain_id, is_alone
from ascertain.rules.evidence import open_review
from ascertain.rules.identity import Scope
from ascertain.rules.moves import Move, note
from ascertain.runtime.action import Action
from ascertain.runtime.batching import items_in
from ascertain.runtime.calls import Calls
from ascertain.runtime.hands import Hands
from ascertain.runtime.memory import SessionMemory
from ascertain.runtime.refusing import Refusing
from ascertain.runtime.registry import Entry
from ascertain.runtime.scope import Opened
from ascertain.runtime.sync import SyncDriver
from ascertain.runtime.wanting import Options
from ascertain.values.arguments import parse_call

if TYPE_CHECKING:
    from ascertain.runtime.chain import Chain
    from ascertain.runtime.plan import PlannedChain
    from ascertain.runtime.steps import Step


class Desk:
    """Answers for sessions: from the record, never by making a new intent."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._hands = calls.hands
        self.memory = SessionMemory(calls.hands)

    @property
    def hands(self) -> Hands:
        return self._hands

    def actions(self, scope: Scope, *, whole: bool = False) -> list[Action[Any]]:
        """The turn's (or session's) guarded writes, oldest first."""
        return [
            Action(record, entry, self._hands, how="replayed")
            for record in self._records(scope, whole=whole)
            if (entry := self._hands.registry.find(record.tool)) is not None
        ]

    def facts(self, scope: Scope, wish: tuple[str, str]) -> dict[str, Any]:
        """The facts object of a turn."""
        known = self.known(scope)
        items = {
            record.id: items_in(self._hands.ledger.result(record.id))
            for record, contract in known
            if contract.items
        }
        chains = self._chains(known)
        backward = any(one.chain.backward for one in chains.values() if not is_alone(one.chain))
        now = self._hands.clock()
        return rules.facts_of(known, now, wish=wish, backward=backward, items=items, chains=chains)

    def known(self, scope: Scope, *, whole: bool = False) -> list[rules.Known]:
        """The turn's (or session's) actions with their contracts, oldest first."""
        return [(record, self._contract(record)) for record in self._records(scope, whole=whole)]

    def take(self, session: Opened, entry: str, action_id: str | None) -> dict[str, Any]:
        """Take an entry of ``next_allowed`` after checking it again."""
        record, contract = self._offered(session.scope, entry, action_id)
        if entry == rules.query(contract):
            tool = self._hands.registry.get(record.tool)
            if tool.is_async:
                raise NotAllowed(
                    f"{record.tool} is an async tool; nothing was asked.",
                    next_step="Use `await session.take_async(...)`.",
                )
            taken = self._hands.committer.commit(self._lease(record, contract))
            flow = self._inspection(taken, tool, contract)
            if flow is not None:
                SyncDriver(self._hands, tool, self._calls.keeper).drive(flow)
        elif entry == rules.undo(contract):
            tool = self._hands.registry.get(record.tool)
            if tool.is_async:
                raise NotAllowed(
                    f"{record.tool} is an async tool; nothing was undone.",
                    next_step="Use `await session.take_async(...)`.",
                )
            taken = self._hands.committer.commit(self._lease(record, contract))
            self._hands.committer.commit(self._turn(record))
            flow = self._undoing(taken, tool, contract)
            if flow is not None:
                SyncDriver(self._hands, tool, self._calls.keeper).drive(flow)
            return self._alone(record)
        else:
            self._note(record, entry)
        return self.facts(session.scope, session.wish)

    async def take_async(
        self, session: Opened, entry: str, action_id: str | None
    ) -> dict[str, Any]:
        """The same on the running loop, for any tool."""
        from ascertain.runtime.aio import AsyncDriver
        from ascertain.runtime.aio_commit import commit_async

        record, contract = self._offered(session.scope, entry, action_id)
        if entry == rules.query(contract):
            tool = self._hands.registry.get(record.tool)
            taken = await commit_async(self._hands.committer, self._lease(record, contract))
            flow = self._inspection(taken, tool, contract)
            if flow is not None:
                await AsyncDriver(self._hands, tool, self._calls.bodies).drive(flow)
        elif entry == rules.undo(contract):
            tool = self._hands.registry.get(record.tool)
            taken = await commit_async(self._hands.committer, self._lease(record, contract))
            await commit_async(self._hands.committer, self._turn(record))
            flow = self._undoing(taken, tool, contract)
            if flow is not None:
                await AsyncDriver(self._hands, tool, self._calls.bodies).drive(flow)
            return self._alone(record)
        else:
            self._note(record, entry)
        return self.facts(session.scope, session.wish)

    def chain(
        self,
        session: Opened,
        name: str,
        *,
        ordinal: int | str,
        ordered: bool,
        wish: tuple[str, str] | None,
    ) -> Chain:
        """A chain of this session; nothing is written before its first step."""
        from ascertain.runtime.chain import Chain

        scope = session.scope
        second = "" if ordinal in ("", 1) else str(ordinal)
        for what, text in (("name", name), ("ordinal", second)):
            if not text.isprintable() or (what == "name" and not text):
                raise ContractError(f"A chain's {what} must be a plain text, got {text!r:.40}.")
        english, chinese = wish or session.wish
        record = ChainRecord(
            id=chain_id(scope.tenant, scope.principal, scope.session, name, second),
            tenant=scope.tenant, principal=scope.principal, session=scope.session, name=name,
            ordinal=second, wish=english, wish_zh=chinese, plan="", created_at=self._hands.clock(),
        )  # fmt: skip
        return Chain(session, self._hands, record, ordered=ordered)

    def planned(self, chain: Chain, steps: Sequence[Step]) -> PlannedChain:
        """The chain with declared steps; nothing is written before it runs."""
        from ascertain.runtime import plan

        made = plan.declared(steps, self._hands.registry, sorted(chain.session.consents))
        record = plan.stored_now(self._hands, chain.record, made)
        return plan.PlannedChain(chain.session, self._calls, record)

    def call_by_name(
        self, session: Opened, tool: str, arguments: dict[str, Any] | str, call_id: str | None
    ) -> Action[Any]:
        """An agent's tool call, checked as strictly as a Python call."""
        with Refusing(tool, session), session.acting():
            entry = self._called(tool)
            kwargs = _fillable(entry, arguments)
            if entry.is_async:
                raise NotAllowed(f"{tool} is an async tool; use `await session.call_async(...)`.")
            return self._calls.call(entry, (), kwargs, Options(call_id=call_id))

    async def call_by_name_async(
        self, session: Opened, tool: str, arguments: dict[str, Any] | str, call_id: str | None
    ) -> Action[Any]:
        """The same on the running loop."""
        with Refusing(tool, session), session.acting():
            entry = self._called(tool)
            kwargs = _fillable(entry, arguments)
            return await self._calls.call_async(entry, (), kwargs, Options(call_id=call_id))

    def _called(self, tool: str) -> Entry:
        """A tool that may be called by name: never one that reverses another."""
        entry = self._hands.registry.get(tool)
        if entry.contract.undoes:
            raise NotAllowed(
                f"{tool} reverses {entry.contract.undoes}; it is called by recovery only.",
                next_step="Turn the chain back; what is confirmed in it is undone then.",
            )
        return entry

    def _records(self, scope: Scope, *, whole: bool = False) -> list[ActionRecord]:
        return [
            record
            for record in self._hands.session_records(scope, whole=whole)
            if record.mode == "guard" and record.principal == scope.principal
        ]

    def _contract(self, record: ActionRecord) -> Contract:
        entry = self._hands.registry.find(record.tool)
        contract = self._hands.contract_of(record, entry)
        if contract is None:
            raise LedgerError(f"The contract of action {record.id} is not in the ledger.")
        return contract

    def _offered(
        self, scope: Scope, entry: str, action_id: str | None
    ) -> tuple[ActionRecord, Contract]:
        """The one action for which ``entry`` is offered right now."""
        now = self._hands.clock()
        records = self._records(scope, whole=True)
        if action_id is not None:
            records = [record for record in records if record.id == action_id]
            if not records:
                raise ActionNotFound(f"This session has no action {action_id!r}.")
        offered = [
            (record, contract)
            for record in records
            if entry in self._allowed(record, contract := self._contract(record), now)
        ]
        if not offered:
            raise NotAllowed(f"{entry!r} is not allowed now; it had no effect.")
        if len(offered) > 1:
            ids = ", ".join(record.id for record, _ in offered)
            raise NotAllowed(
                f"{entry!r} is allowed for several actions ({ids}); nothing was done.",
                next_step="Say which one: take(entry, action_id).",
            )
        return offered[0]

    def _allowed(self, record: ActionRecord, contract: Contract, now: float) -> list[str]:
        around = self._hands.ledger.chains.around(record.chain) if record.chain else None
        if around is None:
            return rules.next_allowed(record, contract, now)
        return rules.allowed(record, contract, now, around)

    def _chains(self, known: Sequence[rules.Known]) -> dict[str, Around]:
        ids = sorted({record.chain for record, _ in known if record.chain})
        found = {chain: self._hands.ledger.chains.around(chain) for chain in ids}
        return {chain: around for chain, around in found.items() if around is not None}

    def _note(self, record: ActionRecord, entry: str) -> None:
        """Entries that ask nobody: they are recorded, if there is anything to record."""
        now = self._hands.clock()
        if entry == rules.MANUAL_REVIEW and record.review is None:
            self._write(record, open_review(record, reason="asked", now=now, by=By.PERSON))
        elif entry == rules.MARK_PENDING:
            self._write(record, note(record, By.PERSON, "marked_pending", now, {}))

    def _lease(self, record: ActionRecord, contract: Contract) -> Take:
        """A lease for one question to the provider."""
        now = self._hands.clock()
        owner = record.lease_owner
        return Take(
            owner=self._hands.setting(self._hands.registry.get(record.tool), contract).sender,
            now=now,
            lease_until=now + contract.budget.send_deadline_s + self._hands.lease_s,
            gone=self._hands.inquire((owner,)) if owner else frozenset(),
            action_id=record.id,
        )

    def _inspection(
        self, taken: Reply, tool: Entry, contract: Contract
    ) -> Flow[ActionRecord] | None:
        """Ask the provider once. Somebody at work on the action already is asking."""
        assert isinstance(taken, Taken)
        if not taken.records:
            return None
        return inspect(self._hands.setting(tool, contract), taken.records[0])

    def _turn(self, record: ActionRecord) -> TurnChain:
        """From here on it is being undone, whoever goes on with that."""
        return TurnChain(chain=record.chain, reason="asked", now=self._hands.clock())

    def _undoing(self, taken: Reply, tool: Entry, contract: Contract) -> Flow[ActionRecord] | None:
        """Undo it here and now, as far as one pass goes; a worker does the rest."""
        self._hands.poke(self._hands.clock())
        assert isinstance(taken, Taken)
        if not taken.records:
            return None
        return recover(self._hands.setting(tool, contract), taken.records[0], None)

    def _alone(self, record: ActionRecord) -> dict[str, Any]:
        """The facts of one action, whatever turn it was made in."""
        now = self._hands.ledger.get(record.id) or record
        return Action(now, self._hands.registry.get(now.tool), self._hands).facts()

    def _write(self, before: ActionRecord, move: Move) -> None:
        operation = advance_of(before, move)
        reply = self._hands.committer.commit(operation)
        if not isinstance(reply, Advanced):
            raise NotAllowed("The action has just moved on; look at its facts again.")
        self._hands.written(operation, reply)


def _fillable(entry: Entry, arguments: dict[str, Any] | str) -> dict[str, Any]:
    """A model's arguments, without those that are not for it to fill, whatever it says there.

    Models fill in a key of their own, a new one each time, where a function takes one.
    """
    given = parse_call(arguments) if isinstance(arguments, str) else arguments
    injected = entry.signature.hidden
    if injected.keys().isdisjoint(given):
        return given
    return {name: value for name, value in given.items() if name not in injected}
