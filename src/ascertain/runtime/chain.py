"""A chain as the code that makes a wish come true sees it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from ascertain.errors import ContractError
from ascertain.flow.call import Wanted
from ascertain.model.action import ActionRecord
from ascertain.model.chain import (
    Around,
    ChainRecord,
    Direction,
    Joins,
    Member,
    OpenChain,
    StopChain,
    TurnChain,
    Weight,
)
from ascertain.model.operations import Alone, Told
from ascertain.model.outcome import Kind
from ascertain.rules import chain as rules
from ascertain.rules.chain_facts import chain_facts, chain_say, chain_state
from ascertain.rules.project import WorkflowState
from ascertain.runtime import sender
from ascertain.runtime.block import Block
from ascertain.runtime.hands import Hands
from ascertain.runtime.place import Place
from ascertain.runtime.registry import Entry
from ascertain.runtime.seats import Coming, Made, Seat, Seats
from ascertain.runtime.tool import AsyncTool, Tool

if TYPE_CHECKING:
    from ascertain.model.contract import Contract
    from ascertain.runtime.scope import Opened

P = ParamSpec("P")
R = TypeVar("R")


class Chain(Block):
    """The actions of one wish. Calls inside its block belong to it.

    Run again after a crash with the same session and name, the code finds its chain and its
    recorded actions: what is confirmed is not sent again.

    :ivar id: the same for the same session, name and ordinal; ``tool_chain_id`` in traces.
    """

    def __init__(
        self, session: Opened, hands: Hands, record: ChainRecord, *, ordered: bool
    ) -> None:
        self.id = record.id
        self.record = record
        self.ordered = ordered
        self.hands = hands
        self.session = session.joining(self)
        self._lock = threading.Lock()
        self._members = {}
        self._latest = {}
        self._names: dict[str, str] = {}  # of an intent that was given none
        self._needs: dict[str, tuple[str, ...]] = {}  # of a step that says what it comes after
        self._seats = Seats()

    @property
    def name(self) -> str:
        return self.record.name

    # -- what it has come to --------------------------------------------------------------------

    @property
    def direction(self) -> Direction:
        """Where it goes now, as the ledger says."""
        around = self.around()
        return around.chain.direction

    @property
    def state(self) -> WorkflowState:
        """What the wish has come to, derived from its actions as the ledger holds them."""
        return chain_state(self.around(), self._contract)

    def facts(self) -> dict[str, Any]:
        """All that a model may be told of the wish, and what may be done next."""
        return chain_facts(self.around(), self._contract, self.hands.clock())

    def say(self, language: str = "en") -> str:
        """The wish in one honest sentence for the person (``en`` or ``zh-CN``)."""
        return chain_say(self.around(), self._contract, language)

    def around(self) -> Around:
        """The chain, its members and their actions; nothing is written by looking."""
        return self.hands.ledger.chains.around(self.id) or Around(self.record)

    # -- naming steps ---------------------------------------------------------------------------

    @overload
    def step(
        self, name: str, tool: AsyncTool[P, R], *, best_effort: bool | None = None,
        after: Sequence[str] | None = None,
    ) -> AsyncTool[P, R]: ...  # fmt: skip
    @overload
    def step(
        self, name: str, tool: Tool[P, R], *, best_effort: bool | None = None,
        after: Sequence[str] | None = None,
    ) -> Tool[P, R]: ...  # fmt: skip
    def step(
        self,
        name: str,
        tool: Any,
        *,
        best_effort: bool | None = None,
        after: Sequence[str] | None = None,
    ) -> Any:
        """The tool as a named step: ``chain.step("stock", reserve_stock)(order_id="A123")``.

        :param best_effort: whether the wish is worth something without it; by default as the
            tool's contract says.
        :param after: the steps it depends on; by default, in an ordered chain, all earlier
            essential ones, else none.
        """
        if not name or not name.isprintable():
            raise ContractError(f"A step's name must be a plain text, got {name!r:.40}.")
        if isinstance(after, str):
            raise ContractError(f"after={after!r} must be a list, after=[{after!r}].")
        needs = None if after is None else tuple(after)
        self._plan(name, needs or ())
        return tool.placed(Place(step=name, best_effort=best_effort, after=needs))

    # -- steering -------------------------------------------------------------------------------

    def turn_back(self, reason: str = "asked") -> None:
        """Undo what is confirmed, in reverse; nothing is sent forward from now on."""
        for operation in self._turning(reason):
            self._write(operation)
        self.hands.poke(self.hands.clock())

    def stop(self, reason: str = "asked") -> None:
        """Nothing more is sent in this chain, forward or back; other chains go on."""
        for operation in self._stopping(reason):
            self._write(operation)
        self.hands.poke(self.hands.clock())

    async def turn_back_async(self, reason: str = "asked") -> None:
        """The same as :meth:`turn_back`, without blocking the loop."""
        for operation in self._turning(reason):
            await self._write_async(operation)
        self.hands.poke(self.hands.clock())

    async def stop_async(self, reason: str = "asked") -> None:
        """The same as :meth:`stop`, without blocking the loop."""
        for operation in self._stopping(reason):
            await self._write_async(operation)
        self.hands.poke(self.hands.clock())

    def _turning(self, reason: str) -> list[Alone]:
        now = self.hands.clock()
        return [OpenChain(chain=self.record), TurnChain(chain=self.id, reason=reason, now=now)]

    def _stopping(self, reason: str) -> list[Alone]:
        now = self.hands.clock()
        return [OpenChain(chain=self.record), StopChain(chain=self.id, reason=reason, now=now)]

    def _write(self, operation: Alone) -> Any:
        reply = self.hands.committer.commit(operation)
        assert isinstance(reply, Told)
        return reply.value

    async def _write_async(self, operation: Alone) -> Any:
        from ascertain.runtime.aio_commit import commit_async

        reply = await commit_async(self.hands.committer, operation)
        assert isinstance(reply, Told)
        return reply.value

    # -- what a call needs of it ----------------------------------------------------------------

    def seated(self, place: Place | None) -> AbstractContextManager[Seat]:
        """The call of a step, while it is made; what depends on it waits for its end."""
        return self._seats.taken(self, place)

    def made(self) -> Made:
        """What is made of it in this process just now."""
        return self._seats.made()

    def needs_look(self, entry: Entry, intent: str, seat: Seat) -> bool:
        """Whether the gate has to see the ledger: a step before is not known to be confirmed."""
        with self._lock:
            needs = self._member(entry, intent, seat, "").after
            return any(
                name not in self._latest or not rules.satisfied(self._latest[name])
                for name in needs
            )

    def admit(
        self,
        entry: Entry,
        wanted: Wanted,
        seat: Seat,
        made: Made,
        around: Around | None,
        *,
        last: bool,
    ) -> Wanted | Coming:
        """The call as a step of this chain; one that must not start is denied, and says why.

        What it depends on and is under way is waited for, as long as nothing else keeps it back.

        :param made: the calls of this process. :param around: the chain as the ledger held it
            after that, where the gate has to see it.
        :param last: it has waited as long as it may.
        :raises ContractError: it depends on a step that this chain does not have.
        """
        known, member = self._step_of(entry, wanted.record, seat, around)
        needs = {name: known.get(name) for name in member.after}
        now = self.hands.clock()
        here = made.steps - seat.within
        sent = {name for name, one in needs.items() if one and rules.under_way(one, now)}
        coming = (here | sent) - seat.within
        why = rules.gate(needs, coming)
        waits = {name for name in coming & needs.keys() if rules.gate({name: needs[name]})}
        if waits and not why:
            why = rules.blocks(around.chain if around is not None else None, member)
        if waits and not why and not last:
            return Coming(made.news, elsewhere=bool(waits & sent - here))
        why = why or rules.gate(needs)
        denied = wanted.denied or ((Kind.WITHDRAWN, why) if why else None)
        beside = (*wanted.beside, Joins(chain=self._at_work(now), member=member))
        return wanted._replace(denied=denied, beside=beside)

    def _step_of(
        self, entry: Entry, record: ActionRecord, seat: Seat, around: Around | None
    ) -> tuple[dict[str, ActionRecord], Member]:
        """The steps as they stand, and the place of this one among them."""
        with self._lock:
            known = dict(self._latest)
            if around is not None:
                known |= {name: found for name, (_, found) in around.steps().items()}
            member = self._member(entry, record.intent, seat, record.id)
            unknown = [
                name for name in member.after
                if name not in known and name not in self._members and name not in self._needs
            ]  # fmt: skip
            if unknown or member.step in member.after:
                self._names.pop(record.intent, None)
                missing = (unknown or [member.step])[0]
                raise ContractError(
                    f"The step {member.step!r} comes after {missing!r}, which is no earlier step "
                    f"of the chain {self.name!r}; nothing was sent.",
                    next_step="Name a step that was called before.",
                )
            self._members[member.step] = member
        self._seats.take(seat, member.step)
        return known, member

    def ended(self, seat: Seat, record: ActionRecord) -> None:
        """A step has come to this, as far as its call knows."""
        with self._lock:
            if seat.step:
                self._latest[seat.step] = record

    def _at_work(self, now: float) -> ChainRecord:
        """The chain as a step stores it: who is at work on it, and when somebody looks at that."""
        return self.record._replace(due_at=now + self.hands.chain_left_s, owner=sender.me())

    def _plan(self, step: str, needs: tuple[str, ...]) -> None:
        """A step is about to be called: who depends on it may come first, and waits."""
        with self._lock:
            others = tuple(name for name in needs if name != step)
            if rules.circle(self._needs | {step: others}, step):
                raise ContractError(
                    f"The step {step!r} comes after itself, through {', '.join(needs)}; steps "
                    "that wait for each other in a circle never start.",
                    next_step="Name in after=[...] only steps that do not wait for this one.",
                )
            self._needs[step] = needs
        self._seats.name(step)

    def _member(self, entry: Entry, intent: str, seat: Seat, action_id: str) -> Member:
        """The place of a call: under its name, or one made from the tool's."""
        place, within = seat.place, seat.within
        step = place.step if place is not None else self._named(entry.name, intent)
        earlier = self._members.get(step)
        position = earlier.position if earlier is not None else self._next(step)
        best_effort = entry.contract.best_effort or entry.contract.is_read
        if place is not None and place.best_effort is not None:
            best_effort = place.best_effort
        after = place.after if place is not None else None
        if after is None and entry.contract.is_read:
            after = ()  # reads go on whatever became of the writes
        if after is None:
            after = tuple(
                name for name, member in self._members.items()
                if self.ordered and member.weight is Weight.ESSENTIAL
                and member.position < position and name not in within
            )  # fmt: skip
        weight = Weight.BEST_EFFORT if best_effort else Weight.ESSENTIAL
        return Member(self.id, action_id, step, position, weight, after)

    def _next(self, step: str) -> int:
        """The position of a step that is called for the first time here."""
        return len(self._members) + 1

    def _named(self, tool: str, intent: str) -> str:
        if intent not in self._names:
            used = sum(1 for name in self._names.values() if name.partition("#")[0] == tool)
            self._names[intent] = tool if not used else f"{tool}#{used + 1}"
        return self._names[intent]

    def _contract(self, record: ActionRecord) -> Contract | None:
        return self.hands.contract_of(record, self.hands.registry.find(record.tool))

    def __repr__(self) -> str:
        return f"<Chain {self.name!r} {self.id}>"
