"""The guarded call that reverses an action: whose wish it is, its intent, its key, its bounds."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ascertain.errors import ArgumentsRemoved, AscertainError, ContractError, UnknownTool
from ascertain.flow.call import Hold, Wanted
from ascertain.model.action import ActionRecord
from ascertain.model.chain import Around, Joins, Member, Weight
from ascertain.model.contract import OncePer
from ascertain.model.operations import Lookalike
from ascertain.model.outcome import Kind
from ascertain.model.words import Undone
from ascertain.rules.budget import Turn
from ascertain.rules.chain import undo_by_at
from ascertain.rules.identity import Scope, derive_key, intent_digest
from ascertain.runtime.attempt import Attempt
from ascertain.runtime.durations import seconds
from ascertain.runtime.hands import Hands
from ascertain.runtime.invoke import Asked, asked_of
from ascertain.runtime.promises import contract_of
from ascertain.runtime.registry import Entry, check_contract, refuse_async_checks
from ascertain.store.ids import new_id
from ascertain.values.arguments import Signature
from ascertain.values.canonical import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

WAYS = ("reference", "key")


class Begun(NamedTuple):
    """An undo about to be called."""

    entry: Entry
    wanted: Wanted
    turn: Turn
    values: dict[str, Any]


def begin(hands: Hands, record: ActionRecord, around: Around) -> Begun:
    """What to call in order to reverse the action.

    Its intent is the original action, once: however often it is begun, it is one action.

    :raises UnknownTool: this process does not know how to reverse it.
    :raises ArgumentsRemoved: it is so old that its arguments are not stored any more.
    """
    contract = hands.contract_of(record, hands.registry.find(record.tool))
    entry = None if contract is None else hands.registry.find(contract.undo or "")
    if contract is None or entry is None or entry.contract.undoes != record.tool:
        raise UnknownTool(f"No tool that reverses {record.tool} is registered here.")
    if hands.ledger.arguments(record.id) is None:
        raise ArgumentsRemoved(f"The arguments of action {record.id} have been removed.")
    undone = Undone(
        action_id=record.id, tool=record.tool, key=record.key, provider_ref=record.provider_ref,
        arguments=hands.arguments_json(record),
    )  # fmt: skip
    bound = entry.signature.bind((undone,))
    deadline = undo_by_at(record, contract)
    wanted = _wanted(hands, entry, record, around, bound.text, deadline)
    return Begun(entry, wanted, _turn(hands, entry, record), bound.values)


def for_rule(begun: Begun) -> Asked | None:
    """What the server's rule of approval may look at, where the compensation has one."""
    return None if begun.entry.approval is None else asked_of(begun.wanted.record, begun.values)


def judged(begun: Begun, permitted: str, hold: Hold | None) -> Begun | None:
    """The undo once its permission is checked: refused on record, or not begun where unknown.

    :param hold: it waits for a person as every send of its tool does, while it can still be undone.
    """
    match permitted:
        case "yes" if hold is not None:
            until = min(hold.until, begun.wanted.record.send_by_at)
            return begun._replace(wanted=begun.wanted._replace(hold=hold._replace(until=until)))
        case "yes":
            return begun
        case "no":
            denied = (Kind.AUTH, "permission")
            return begun._replace(wanted=begun.wanted._replace(denied=denied))
        case _:
            return None


def _wanted(
    hands: Hands,
    entry: Entry,
    record: ActionRecord,
    around: Around,
    arguments: str,
    deadline: float | None,
) -> Wanted:
    contract, now = entry.contract, hands.clock()
    scope = Scope(
        tenant=record.tenant, principal=record.principal, session=record.session,
        turn=record.turn, opening=record.opening, chain=record.chain,
    )  # fmt: skip
    intent = intent_digest(contract, scope, record.id, "")
    key = derive_key(hands.mac, contract, intent=intent, slot="", replaces_key=None)
    action = ActionRecord(
        id=new_id(), tenant=scope.tenant, tool=contract.tool, principal=scope.principal,
        session=scope.session, opening=scope.opening, turn=scope.turn, slot="", chain=scope.chain,
        call_id=None, parent=None, replaces=None, intent=intent, ordinal="", exact="", wording="",
        key=key, contract=entry.contract_digest, mode="guard", created_at=now,
        send_by_at=now + contract.budget.horizon_s if deadline is None else deadline,
        updated_at=now,
    )  # fmt: skip

    def replacing(earlier: ActionRecord) -> ActionRecord:
        key = derive_key(hands.mac, contract, intent=intent, slot="", replaces_key=earlier.key)
        return action.changed(key=key, replaces=earlier.id)

    lookalike = (Lookalike(fields=digest(record.id)),) if contract.by_fields else ()
    mine = around.member(record.id)
    assert mine is not None
    member = Member(
        around.chain.id, action.id, f"undo:{mine.step}", len(around.members) + 1,
        Weight.ESSENTIAL, (), record.id,
    )  # fmt: skip
    return Wanted(
        record=action,
        arguments=arguments,
        contract_json=entry.contract_json,
        rebuild=replacing,
        beside=(Joins(chain=around.chain, member=member), *lookalike),
    )


def _turn(hands: Hands, entry: Entry, record: ActionRecord) -> Turn:
    """It ends under the lease of the action that it reverses."""
    now, budget = hands.clock(), entry.contract.budget
    until = now + budget.turn_s
    if record.lease_until is not None:
        until = min(until, record.lease_until)
    return Turn(budget.turn_sends, until)


class Way(NamedTuple):
    """How a tool is reversed, as it was declared."""

    within_s: float | None
    by: str


def declare(
    original: Entry, function: Callable[..., Any], way: Way, said: Mapping[str, Any]
) -> Entry:
    """The entry of a compensating tool, and the promise of the tool that it reverses.

    :raises ContractError: a read, a compensation of a compensation, a second one, an async one for
        a sync tool, or a function whose one parameter is no :class:`~ascertain.Undone`.
    """
    name = original.name
    if original.contract.is_read:
        raise ContractError(f"{name} is a read; there is nothing to undo.")
    if original.contract.undoes:
        raise ContractError(
            f"{name} reverses {original.contract.undoes}; a compensation has no compensation.",
            next_step="What a compensation did wrong is for a person to decide.",
        )
    if original.contract.undo is not None:
        raise ContractError(f"{name} is reversed by {original.contract.undo} already.")
    if way.by not in WAYS:
        raise ContractError(f"{name}: a compensation goes by 'reference' or 'key', not {way.by!r}.")
    if inspect.iscoroutinefunction(function) and not original.is_async:
        raise ContractError(
            f"{name} is a sync tool; its compensation must be a plain function too."
        )
    tool = said.get("name") or function.__name__
    if tool == name:
        raise ContractError(f"{name} cannot reverse itself.")
    signature = Signature.of(function, hidden=(Attempt,))
    if len(signature.names) != 1:
        raise ContractError(
            f"{tool}: a compensation takes one parameter, the action to reverse (Undone).",
            next_step=f"Declare it as: def {function.__name__}(undone: Undone) -> dict",
        )
    (parameter,) = signature.names
    _check_takes_undone(tool, signature, parameter)
    promises = {"noun": tool, **said}
    contract = replace(
        contract_of(tool, promises), undoes=name, once_per=OncePer.TENANT,
        redact=(parameter,) if original.contract.redact else (),
    )  # fmt: skip
    check_contract(contract, signature)
    entry = Entry(
        contract=contract, body=function, signature=signature, codec=signature.result,
        is_async=inspect.iscoroutinefunction(function),
    )  # fmt: skip
    entry.permission = said.get("permission")
    entry.preconditions = dict(said.get("preconditions", {}))
    rule = said.get("approval")
    entry.approval = rule if callable(rule) else None
    refuse_async_checks(entry)
    return entry


def _check_takes_undone(tool: str, signature: Signature, parameter: str) -> None:
    """Refuse a parameter that would not be given what is stored for it, when it comes to that.

    :raises ContractError: it cannot hold an :class:`~ascertain.Undone`, or gives back another type.
    """
    sample = Undone(action_id="", tool="", key="", provider_ref=None, arguments={})
    try:
        again = signature.restore(signature.bind((sample,)).text)[parameter]
    except AscertainError as error:
        cause = f"it cannot be given one by position ({error.message.rstrip('.')})"
    else:
        if isinstance(again, Undone):
            return
        cause = f"it would be given {type(again).__name__} where the arguments are read back"
    raise ContractError(
        f"{tool}: the parameter {parameter!r} of a compensation is the action to reverse, an "
        f"Undone, and {cause}.",
        next_step=f"Annotate it: `from ascertain import Undone`, then ({parameter}: Undone).",
        parameter=parameter,
    )


def way_of(within: float | str | None, by: str) -> Way:
    """The way as it was said."""
    return Way(within_s=seconds(within, "within"), by=by)
