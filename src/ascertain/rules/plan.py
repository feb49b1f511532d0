"""Declared steps: a wish as data, so that whoever finds it can go on with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from ascertain.errors import ContractError
from ascertain.model.action import ActionRecord
from ascertain.model.chain import Around, Weight
from ascertain.model.outcome import Kind
from ascertain.model.record import Record
from ascertain.model.tables import State
from ascertain.rules.chain import check_order, satisfied

MOST_STARTS = 5
OF_A_STEP = ("provider_ref", "result")
_REF = "$ref"


class Ref(Record, kw_only=False):
    """What an earlier step came to, as an argument of a later one.

    :param path: ``stock.provider_ref``, or a dotted path in its result: ``stock.result.id``.
    """

    path: str

    @property
    def step(self) -> str:
        return self.path.partition(".")[0]


class PlanStep(NamedTuple):
    """A declared step. ``after`` holds the steps whose values it takes, too."""

    step: str
    tool: str
    arguments: dict[str, Any]
    best_effort: bool
    after: tuple[str, ...]


class Plan(NamedTuple):
    """Steps in an order in which each comes after what it depends on."""

    steps: tuple[PlanStep, ...]
    consents: tuple[str, ...] = ()

    def as_json(self) -> str:
        """The plan as it is stored with its chain."""
        steps = [
            {**step._asdict(), "arguments": {n: _stored(v) for n, v in step.arguments.items()}}
            for step in self.steps
        ]
        return json.dumps({"steps": steps, "consents": list(self.consents)}, ensure_ascii=False)


def plan_from_json(text: str) -> Plan:
    """A stored plan."""
    raw: dict[str, Any] = json.loads(text)
    steps = tuple(
        PlanStep(
            step["step"], step["tool"],
            {name: _restored(value) for name, value in step["arguments"].items()},
            step["best_effort"], tuple(step["after"]),
        )
        for step in raw["steps"]
    )  # fmt: skip
    return Plan(steps, tuple(raw["consents"]))


def arranged(steps: Sequence[PlanStep], consents: Sequence[str] = ()) -> Plan:
    """The plan of these steps.

    :raises ContractError: no steps, names that are no names, a circle, or a reference to nothing.
    """
    if not steps:
        raise ContractError("A plan has at least one step.")
    whole: dict[str, PlanStep] = {}
    for step in steps:
        if not step.step or not step.step.isprintable() or "." in step.step:
            raise ContractError(f"A step's name is a plain text without dots, not {step.step!r}.")
        taken = [value for value in step.arguments.values() if isinstance(value, Ref)]
        for ref in taken:
            what = ref.path.split(".")[1:2]
            if not what or what[0] not in OF_A_STEP:
                raise ContractError(
                    f"The step {step.step!r} takes {ref.path!r}; a reference is STEP.provider_ref "
                    "or STEP.result.PATH."
                )
        after = tuple(dict.fromkeys((*step.after, *(ref.step for ref in taken))))
        if step.step in whole:
            raise ContractError(f"The step {step.step!r} is declared twice.")
        whole[step.step] = step._replace(after=after)
    order = check_order([(name, step.after) for name, step in whole.items()])
    return Plan(tuple(whole[name] for name in order), tuple(consents))


def ready(plan: Plan, around: Around) -> list[PlanStep]:
    """The steps that may be started now: what they depend on is confirmed, and they are not."""
    if around.chain.backward or around.chain.stopped_at is not None:
        return []
    latest = {name: record for name, (_, record) in around.steps().items()}
    return [
        step
        for step in plan.steps
        if _startable(latest.get(step.step))
        and all(name in latest and satisfied(latest[name]) for name in step.after)
        and _starts(step, around) < MOST_STARTS
    ]


def hopeless(plan: Plan, around: Around) -> str:
    """Why the chain turns back: an essential step could not be started, however often; else ''."""
    for step in plan.steps:
        if not step.best_effort and _starts(step, around) >= MOST_STARTS:
            _, record = around.steps()[step.step]
            if _startable(record):
                return f"cannot_start:{step.step}"
    return ""


def unfinished(plan: Plan, around: Around) -> bool:
    """Whether a step may still have to be started."""
    if around.chain.backward or around.chain.stopped_at is not None:
        return False
    latest = {name: record for name, (_, record) in around.steps().items()}
    ended = {
        name
        for name, record in latest.items()
        if record.state is State.REJECTED and record.final and not _startable(record)
        and not satisfied(record)
    }  # fmt: skip
    for step in plan.steps:  # in order: what depends on what has ended never starts
        if any(name in ended for name in step.after):
            ended.add(step.step)
    return any(
        step.step not in ended
        and not (step.step in latest and satisfied(latest[step.step]))
        and _starts(step, around) < MOST_STARTS
        for step in plan.steps
    )


def filled(step: PlanStep, around: Around, results: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a step, with what earlier ones came to.

    :param results: JSON results by step. :raises KeyError: a path that a result does not have.
    """
    known = around.steps()

    def value(argument: Any) -> Any:
        if not isinstance(argument, Ref):
            return argument
        _, what, *path = argument.path.split(".")
        if what == "provider_ref":
            _, record = known[argument.step]
            return record.provider_ref or record.related_ref
        found = results[argument.step]
        for name in path:
            if not isinstance(found, dict) or name not in found:
                raise KeyError(argument.path)  # it was found by a look-up without its result, say
            found = cast("dict[str, Any]", found)[name]
        return found

    return {name: value(argument) for name, argument in step.arguments.items()}


def takes_results(step: PlanStep) -> list[str]:
    """The steps whose results it takes."""
    taken = [value for value in step.arguments.values() if isinstance(value, Ref)]
    return sorted({ref.step for ref in taken if ref.path.split(".")[1] == "result"})


def weight_of(step: PlanStep) -> Weight:
    return Weight.BEST_EFFORT if step.best_effort else Weight.ESSENTIAL


def _startable(record: ActionRecord | None) -> bool:
    """Whether a call of the step would be a first one, or one after nothing was sent."""
    return record is None or (
        record.state is State.REJECTED and bool(record.final) and record.kind is Kind.WITHDRAWN
    )


def _starts(step: PlanStep, around: Around) -> int:
    return sum(1 for member, _ in around.members if member.step == step.step)


def _stored(value: Any) -> Any:
    return {_REF: value.path} if isinstance(value, Ref) else value


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        found = cast("dict[str, Any]", value)
        return Ref(found[_REF]) if set(found) == {_REF} else found
    return value
