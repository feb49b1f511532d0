"""A chain whose steps are declared: its caller runs it, and after a crash a worker goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from ascertain.errors import AscertainError, ContractError, LedgerError
from ascertain.model.chain import Around, ChainRecord, OpenChain, ScheduleChain, TurnChain
from ascertain.model.operations import Alone, Operation
from ascertain.rules import plan as rules
from ascertain.rules.plan import Plan, PlanStep, Ref, arranged, plan_from_json
from ascertain.runtime import sender
from ascertain.runtime.calls import Calls
from ascertain.runtime.chain import Chain
from ascertain.runtime.hands import Hands, log
from ascertain.runtime.place import Place
from ascertain.runtime.registry import Entry, Registry
from ascertain.runtime.scope import current
from ascertain.runtime.steps import Step
from ascertain.runtime.wanting import Options
from ascertain.values.canonical import canonical

if TYPE_CHECKING:
    from ascertain.runtime.scope import Opened

R = TypeVar("R")

LOOK_AGAIN_S = 2.0


def declared(steps: Sequence[Step], registry: Registry, consents: Sequence[str]) -> Plan:
    """The plan of these steps, checked before anything is stored.

    :raises UnknownTool: a tool that is not registered.
    :raises ContractError: a circle, a reference to nothing, arguments that do not fit the tool.
    """
    return arranged([_planned(step, registry) for step in steps], consents)


def _planned(step: Step, registry: Registry) -> PlanStep:
    entry = registry.get(step.tool if isinstance(step.tool, str) else step.tool.name)
    if entry.contract.undoes:
        raise ContractError(f"{entry.name} reverses {entry.contract.undoes}; it is no step.")
    if isinstance(step.after, str):
        raise ContractError(f"after={step.after!r} must be a list, after=[{step.after!r}].")
    names = set(entry.signature.names)
    strangers = sorted(set(step.arguments) - names)
    if strangers:
        raise ContractError(f"The step {step.name!r}: {entry.name} takes no {strangers[0]!r}.")
    required = set(entry.signature.schema().get("required", ()))
    missing = sorted(required - set(step.arguments))
    if missing:
        raise ContractError(f"The step {step.name!r}: {entry.name} needs {missing[0]!r}.")
    for value in step.arguments.values():
        if not isinstance(value, Ref):
            canonical(value)  # what has no exact JSON form could not be stored
    best_effort = entry.contract.best_effort or entry.contract.is_read
    return PlanStep(
        step.name, entry.name, dict(step.arguments),
        best_effort if step.best_effort is None else step.best_effort, tuple(step.after),
    )  # fmt: skip


class PlannedChain(Chain):
    """A chain with declared steps."""

    def __init__(self, session: Opened, calls: Calls, record: ChainRecord) -> None:
        super().__init__(session, calls.hands, record, ordered=False)
        self.plan = plan_from_json(record.plan)
        self._calls = calls

    def run(self) -> None:
        """Make every step whose dependencies are confirmed; what is left, a worker goes on with.

        Run again, it goes on where it stands: nothing is sent again from the first step.

        :raises LedgerError: the plan could not be stored; nothing was sent.
        """
        self._write(self._opening())
        with nullcontext() if current.get() is self.session else self:
            while steps := rules.ready(self.plan, around := self.around()):
                made = [self._make(step, around) for step in steps]
                if not any(made):
                    break
        self._write(self._planned_next())

    async def run_async(self) -> None:
        """The same on the running loop; steps that wait for nothing are made at once."""
        await self._write_async(self._opening())
        async with nullcontext() if current.get() is self.session else self:
            while steps := rules.ready(self.plan, around := await self._look()):
                made = await asyncio.gather(*(self._make_async(step, around) for step in steps))
                if not any(made):
                    break
        await self._write_async(await _apart(self._planned_next))

    async def store_async(self) -> None:
        """Store the plan, for somebody else to run; stored twice, it is one.

        :raises LedgerError: it could not be stored.
        """
        await self._write_async(self._opening())

    def ready(self, around: Around) -> list[str]:
        """The steps that can be made now."""
        return [step.step for step in rules.ready(self.plan, around)]

    def unfinished(self, around: Around) -> bool:
        """Whether a step may still have to be made."""
        return rules.unfinished(self.plan, around)

    async def make_async(self, name: str) -> None:
        """Make one step, if it can be made (still): for whoever decides when, and by whom.

        :raises LedgerError: the ledger failed; the step can be made again.
        """
        around = await self._look()
        for step in rules.ready(self.plan, around):
            if step.step == name:
                async with self:
                    await self._make_async(step, around)

    def looked_after(self, again_s: float) -> None:
        """Somebody looks after the rest; others do only where this was said so long ago."""
        self._write(self._planned_next(again_s))

    async def _look(self) -> Around:
        return await _apart(self.around)

    def _make(self, step: PlanStep, around: Around) -> bool:
        """Start a step; False where it cannot be called at all, which turns the chain."""
        try:
            entry, values, options = self._call_of(step, around)
            self._calls.call(entry, (), values, options)
        except (AscertainError, KeyError) as error:
            turning = self._hopeless(step, error)
            if turning is not None:
                self._write(turning)
            return False
        return True

    async def _make_async(self, step: PlanStep, around: Around) -> bool:
        try:
            entry, values, options = await _apart(self._call_of, step, around)
            await self._calls.call_async(entry, (), values, options)
        except (AscertainError, KeyError) as error:
            turning = self._hopeless(step, error)
            if turning is not None:
                await self._write_async(turning)
            return False
        return True

    def _next(self, step: str) -> int:
        """As declared, whoever calls it: a worker that goes on has not called the ones before.

        What no plan knows comes after all that is declared.
        """
        steps = [one.step for one in self.plan.steps]
        return 1 + (steps.index(step) if step in steps else len(steps) + len(self._members))

    def _call_of(self, step: PlanStep, around: Around) -> tuple[Entry, dict[str, Any], Options]:
        entry = self.hands.registry.get(step.tool)
        results = {
            name: json.loads(self.hands.ledger.result(around.steps()[name][1].id) or "null")
            for name in rules.takes_results(step)
        }
        place = Place(step=step.step, best_effort=step.best_effort, after=step.after)
        return entry, rules.filled(step, around, results), Options(place=place)

    def _hopeless(self, step: PlanStep, error: Exception) -> TurnChain | None:
        """An essential step that cannot be called is as good as refused. An outage is not that."""
        if isinstance(error, LedgerError):
            raise error
        log.error("chain %s: the step %s cannot be called: %r", self.id, step.step, error)
        if step.best_effort:
            return None
        why = f"cannot_start:{step.step}"
        return TurnChain(chain=self.id, reason=why, now=self.hands.clock())

    def _opening(self) -> OpenChain:
        return OpenChain(chain=self.record)

    def _at_work(self, now: float) -> ChainRecord:
        return self.record

    def _end(self, due_at: float | None) -> Generator[Operation, Any, ChainRecord | None]:
        """Its plan says whether anything is left to start."""
        yield from ()
        return None

    def _planned_next(self, again_s: float = LOOK_AGAIN_S) -> Alone:
        """What is left to start, a worker looks at; where nothing is, nobody does."""
        around, now = self.around(), self.hands.clock()
        why = rules.hopeless(self.plan, around)
        if why and not around.chain.backward:
            return TurnChain(chain=self.id, reason=why, now=now)
        later = now + again_s if rules.unfinished(self.plan, around) else None
        return ScheduleChain(chain=self.id, due_at=later)


def stored_now(hands: Hands, record: ChainRecord, plan: Plan) -> ChainRecord:
    """A chain as it is opened with a plan: its caller runs it, others look at it after a while."""
    longest = max((entry.contract.budget.turn_s for entry in hands.registry), default=8.0)
    return record._replace(
        plan=plan.as_json(), due_at=hands.clock() + longest + hands.lease_s, owner=sender.me()
    )


async def _apart(function: Callable[..., R], *args: Any) -> R:
    return await asyncio.get_running_loop().run_in_executor(None, function, *args)
