"""What a chain has come to, for the model and the person: derived, never stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.model.chain import Around, Member, Weight
from ascertain.model.contract import Contract
from ascertain.model.tables import State
from ascertain.rules import texts
from ascertain.rules.cases import as_found, in_review, unsettled
from ascertain.rules.chain import not_started
from ascertain.rules.facts import action_facts, allowed
from ascertain.rules.left import CASE, at_work, was_left
from ascertain.rules.news.items import PARTLY
from ascertain.rules.plan import plan_from_json
from ascertain.rules.project import Part, WorkflowState, workflow_say, workflow_state

ContractOf = Callable[[ActionRecord], Contract | None]


def chain_state(around: Around, contract_of: ContractOf) -> WorkflowState:
    """The state of the wish."""
    parts = parts_of(around, contract_of)
    return workflow_state(parts, backward=around.chain.backward, left=was_left(around))


def chain_say(around: Around, contract_of: ContractOf, language: str = "en") -> str:
    """The wish in one sentence."""
    parts = parts_of(around, contract_of, language)
    wish = (around.chain.wish, around.chain.wish_zh)
    # a case over one of its actions comes first: of that one nobody knows what became of it
    other = any(in_review(r) and r.review != CASE for _, r in around.members)
    left = was_left(around) and not other
    return workflow_say(parts, language, wish, backward=around.chain.backward, left=left)


def chain_facts(around: Around, contract_of: ContractOf, now: float) -> dict[str, Any]:
    """The facts object of a chain. Reads are no part of what was wished."""
    known = [
        (member, record, contract)
        for member, record in around.members
        if (contract := contract_of(record)) is not None and not contract.is_read
    ]
    entries = [
        entry for _, record, contract in known for entry in allowed(record, contract, now, around)
    ]
    return {
        "tool_chain_id": around.chain.id,
        "workflow_state": str(chain_state(around, contract_of)),
        "direction": str(around.chain.direction),
        "actions": [
            {**action_facts(record, contract, now), "step": member.step}
            for member, record, contract in known
        ],
        "next_allowed": list(dict.fromkeys(entries)),
        "say": {language: chain_say(around, contract_of, language) for language in texts.LANGUAGES},
    }


def parts_of(around: Around, contract_of: ContractOf, language: str = "en") -> list[Part]:
    """The share of each step in the wish: what was corrected, and what reverses, is none."""
    parts = [
        _part(member, record, contract, language)
        for member, record in around.steps().values()
        if (contract := contract_of(record)) is not None and not contract.is_read
    ]
    return parts if around.chain.backward else parts + _to_start(around)


def _to_start(around: Around) -> list[Part]:
    """Declared steps that were never called; where the code is the plan, whatever it will call."""
    if not around.chain.plan:
        return [Part(name="", state=State.PREPARED)] if at_work(around.chain) else []
    called = around.steps()
    return [
        Part(name=step.step, state=State.PREPARED, essential=not step.best_effort)
        for step in plan_from_json(around.chain.plan).steps
        if step.step not in called
    ]


def _part(member: Member, record: ActionRecord, contract: Contract, language: str) -> Part:
    state, final = as_found(record)
    return Part(
        name=texts.name_of(contract, language),
        state=state,
        final=final,
        essential=member.weight is Weight.ESSENTIAL,
        in_review=unsettled(record),
        waits=record.state is State.REJECTED and not_started(record),
        partly=record.state is State.CONFIRMED and record.reason in PARTLY,
        kept=bool(member.kept) or (contract.best_effort and contract.undo is None),
    )
