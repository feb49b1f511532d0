"""All that a model receives: what is known, and what may be done next.

Never an exception text or a stack; never more than the receipt; provider text cleaned and capped.
``next_allowed`` is a closed list. What the model asks for is checked against it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, assert_never

from ascertain.model.action import ActionRecord
from ascertain.model.chain import Around
from ascertain.model.contract import Contract
from ascertain.model.outcome import Evidence, Kind
from ascertain.model.tables import State
from ascertain.rules import texts
from ascertain.rules.budget import may_ask, resend_at, sends_left
from ascertain.rules.cases import as_found, unsettled
from ascertain.rules.chain import WAITS_FOR, is_own, may_ask_undo, not_started, satisfied
from ascertain.rules.news.items import LATER, PARTLY
from ascertain.rules.project import Part, workflow_say, workflow_state

MARK_PENDING = "mark_pending"
MANUAL_REVIEW = "manual_review"
ASK_PERSON = "ask_person"
WAIT = "wait"
CORRECT_ARGUMENTS = "correct_arguments"
CALL_AGAIN = "call_again"

MOST_ITEMS = 200

Known = tuple[ActionRecord, Contract]


def query(contract: Contract) -> str:
    """The entry that asks the provider about this tool's effect."""
    return f"query_{contract.noun}"


def undo(contract: Contract) -> str:
    """The entry that undoes a confirmed call of this tool."""
    return f"undo_{contract.noun}"


def next_allowed(record: ActionRecord, contract: Contract, now: float) -> list[str]:
    """What may be done next about one action, in order of usefulness."""
    if record.kind is Kind.WITHDRAWN and record.reason in texts.HELD:
        return _after_hold(record)
    if contract.is_read:
        return [] if record.state is State.CONFIRMED else [WAIT if not record.final else ASK_PERSON]
    can_ask = contract.lookup is not None and may_ask(record, contract, now)
    if record.overruled and record.review is None:
        return [ASK_PERSON]
    if record.disputed:
        return [*([query(contract)] if can_ask else []), MANUAL_REVIEW]
    match record.state:
        case State.UNKNOWN:
            working = record.evidence is Evidence.WORKING
            entries = [query(contract)] if can_ask else []
            entries += [WAIT] if working else []
            return [*entries, MARK_PENDING, MANUAL_REVIEW]
        case State.PREPARED if record.review is not None:
            return [ASK_PERSON, WAIT]
        case State.PREPARED | State.SENT:
            return [WAIT, MARK_PENDING]
        case State.REJECTED:
            return _after_refusal(record, contract, now)
        case State.CONFIRMED if record.review == LATER:
            return [CALL_AGAIN, ASK_PERSON]
        case State.CONFIRMED if may_ask_undo(record, contract, now):
            return [undo(contract)]
        case State.CONFIRMED | State.COMPENSATED:
            return []
        case _:
            assert_never(record.state)


def allowed(record: ActionRecord, contract: Contract, now: float, around: Around) -> list[str]:
    """What may be done next about one action of a chain: only what the chain still permits.

    Once it goes back or was stopped, nothing is called in it; what gave way to a later call of the
    same step needs nothing; and a step that was not started is waited for only while that helps.
    """
    member = around.member(record.id)
    entries = next_allowed(record, contract, now)
    if member is None or not entries:
        return entries
    if not member.undoes and record.terminal and around.steps()[member.step][1].id != record.id:
        return []
    waits = record.kind is Kind.WITHDRAWN and record.reason.startswith(WAITS_FOR)
    if around.chain.backward or around.chain.stopped_at is not None:
        gone = (CALL_AGAIN, CORRECT_ARGUMENTS, undo(contract), *((WAIT,) if waits else ()))
        return [entry for entry in entries if entry not in gone]
    if not waits:
        return entries
    found = around.steps().get(record.reason.removeprefix(WAITS_FOR))
    if found is None or satisfied(found[1]):
        return [WAIT if around.chain.plan else CALL_AGAIN, ASK_PERSON]
    return entries if found[1].open else [ASK_PERSON]


def action_facts(
    record: ActionRecord,
    contract: Contract,
    now: float,
    items: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """One action as the model sees it.

    :param items: of a batch, what is known of each item.
    """
    facts: dict[str, Any] = {"name": record.tool, "state": str(record.state)}
    if record.provider_ref:
        facts["provider_ref"] = texts.clean(record.provider_ref, 200)
    facts["attempt"] = record.attempt
    if record.state is not State.CONFIRMED or record.disputed:
        held = record.kind is Kind.WITHDRAWN and record.reason in texts.HELD
        kind = None if held or not_started(record) else record.kind
        found = texts.which(record, contract) if record.overruled else ""
        facts["reason"] = record.review or found or (kind and str(kind)) or record.reason
    if record.code:
        facts["error_code"] = texts.clean(record.code, 80)
    if record.related_ref:
        facts["related_ref"] = texts.clean(record.related_ref, 200)
    wait_s = _retry_after_s(record, contract, now)
    if wait_s is not None:
        facts["retry_after_s"] = wait_s
    if record.state is State.UNKNOWN and record.evidence is Evidence.WORKING:
        facts["accepted"] = True
    if record.maybe_twice:
        facts["maybe_twice"] = True
    if record.disputed:
        facts["disputed"] = True
    if items:
        facts["items"] = _shown(items)
    if len(items) > MOST_ITEMS:
        facts["more_items"] = len(items) - MOST_ITEMS
    return facts


def facts_of(
    known: Sequence[Known],
    now: float,
    *,
    wish: tuple[str, str] = ("done", ""),
    backward: bool = False,
    items: Mapping[str, Sequence[Mapping[str, Any]]] = MappingProxyType({}),
    chains: Mapping[str, Around] = MappingProxyType({}),
) -> dict[str, Any]:
    """The facts object of a turn, or of one action.

    :param backward: a chain in it goes back. What reverses another action is no part of the wish.
    :param items: of each action that is a batch, by its id, what is known of its items.
    :param chains: those that the actions are in, by their ids.
    """
    parts = {
        language: [
            _part_now(record, contract, language, chains) for record, contract in _wished(known)
        ]
        for language in texts.LANGUAGES
    }
    backward = backward or (len(known) == 1 and _goes_back(known[0][0], chains))
    entries = [
        entry
        for record, contract in known
        for entry in (
            allowed(record, contract, now, chains[record.chain])
            if record.chain in chains
            else next_allowed(record, contract, now)
        )
    ]
    single = len(known) == 1 and not (backward and known[0][0].state is State.CONFIRMED)
    say = {
        language: texts.say(known[0][0], known[0][1], language)
        if single
        else workflow_say(parts[language], language, wish, backward=backward)
        for language in texts.LANGUAGES
    }
    return {
        "workflow_state": str(workflow_state(parts["en"], backward=backward)),
        "actions": [
            action_facts(record, contract, now, items.get(record.id, ()))
            for record, contract in known
        ],
        "next_allowed": list(dict.fromkeys(entries)),
        "say": say,
    }


def _wished(known: Sequence[Known]) -> Sequence[Known]:
    """Those of several that are part of the wish: not what reverses, nor what was undone alone."""
    if len(known) == 1:
        return known
    left = [
        (record, contract)
        for record, contract in known
        if not (contract.undoes or (is_own(record) and record.state is State.COMPENSATED))
    ]
    return left or [(record, contract) for record, contract in known if not contract.undoes]


def _part_now(
    record: ActionRecord, contract: Contract, language: str, chains: Mapping[str, Around]
) -> Part:
    """Its share; of what is just being undone alone, nobody says that it is done."""
    part = part_of(record, contract, language)
    undoing = record.state is State.CONFIRMED and _goes_back(record, chains)
    return part._replace(state=State.SENT) if undoing else part


def _goes_back(record: ActionRecord, chains: Mapping[str, Around]) -> bool:
    """Whether the action is being undone, or was, in a chain of its own."""
    around = chains.get(record.chain)
    return is_own(record) and around is not None and around.chain.backward


def _shown(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            name: texts.clean(value, 200) if isinstance(value, str) else value
            for name, value in item.items()
        }
        for item in items[:MOST_ITEMS]
    ]


def part_of(record: ActionRecord, contract: Contract, language: str = "en") -> Part:
    """An action's share in the wish it belongs to."""
    state, final = as_found(record)
    return Part(
        name=texts.name_of(contract, language),
        state=state,
        final=final,
        essential=not contract.best_effort,
        in_review=unsettled(record),
        waits=record.state is State.REJECTED and not_started(record),
        kept=contract.best_effort and contract.undo is None,
        partly=record.state is State.CONFIRMED and record.reason in PARTLY,
    )


def _after_hold(record: ActionRecord) -> list[str]:
    """Nothing was sent: what is on its way is waited for, what is missing is asked for."""
    if record.reason in ("context_pending", "context_in_doubt", "rate_used_up"):
        return [WAIT, CALL_AGAIN]
    return [ASK_PERSON, CALL_AGAIN]


def _after_refusal(record: ActionRecord, contract: Contract, now: float) -> list[str]:
    if not record.final:
        goes_on = record.review is None and sends_left(record, contract, now)
        return [*([WAIT] if goes_on else []), MARK_PENDING, MANUAL_REVIEW]
    match record.kind:
        case Kind.INVALID:
            return [CORRECT_ARGUMENTS, ASK_PERSON]
        case Kind.WITHDRAWN if not_started(record):
            return [WAIT, ASK_PERSON] if record.reason.startswith(WAITS_FOR) else [ASK_PERSON]
        case Kind.WITHDRAWN | Kind.ABSENT:
            return [CALL_AGAIN, ASK_PERSON]
        case Kind.TOOL_ERROR:
            return [MANUAL_REVIEW]
        case _:
            return [ASK_PERSON]


def _retry_after_s(record: ActionRecord, contract: Contract, now: float) -> float | None:
    working = record.evidence is Evidence.WORKING
    at = record.ask_at if working else resend_at(record, contract)
    if record.terminal or record.review is not None or at is None or at <= now:
        return None
    return round(at - now, 1)
