"""What a call becomes: the intent, its key, and the action that is about to be stored."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from ascertain.flow.call import Wanted
from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract, OncePer
from ascertain.model.operations import Beside, Lookalike
from ascertain.rules.budget import Turn
from ascertain.rules.chain import begins_own, own
from ascertain.rules.identity import SINGLE, Scope, derive_key, intent_digest, slot_of
from ascertain.rules.mac import Mac
from ascertain.runtime.attempt import running
from ascertain.runtime.hands import Hands
from ascertain.runtime.layers import look_above
from ascertain.runtime.place import Place
from ascertain.runtime.registry import Entry
from ascertain.store.ids import new_id
from ascertain.values.arguments import Bound
from ascertain.values.canonical import digest, identity_text


class Options(NamedTuple):
    """What a caller may say about one call, beside its arguments.

    :param call_id: the framework's id of this call; the same id is the same action.
    :param ordinal: names an intended second of the same intent; never from model arguments.
    :param deadline_s: bounds this call, in seconds.
    :param place: its step in a chain.
    :param never_repeats: two calls never have one id: whatever is wished under it is that call. So
        it is with an engine's own ids, whose tries may each make up another identity.
    """

    call_id: str | None = None
    ordinal: str = ""
    deadline_s: float | None = None
    place: Place | None = None
    never_repeats: bool = False


NONE = Options()


GUARD, READ, OBSERVE = "guard", "read", "observe"
"""Modes of an action. Only a guarded write can be the same as another one."""


def held(
    hands: Hands,
    entry: Entry,
    scope: Scope,
    options: Options,
    turn: Turn,
    arguments: str,
    keys: tuple[str, ...],
) -> Wanted:
    """The action of a call that is not made; no later call is taken for it."""
    bound = Bound(dict.fromkeys(entry.signature.names), {}, arguments)
    action = wanted(hands, entry, bound, scope, options._replace(call_id=None), turn)
    action = _of_its_own(action, mode="read" if entry.contract.is_read else "guard")
    return action._replace(record=action.record.changed(code=",".join(keys), exact=""))


def wanted(
    hands: Hands,
    entry: Entry,
    bound: Bound,
    scope: Scope,
    options: Options,
    turn: Turn,
    *,
    mode: str = GUARD,
    joins: str | None = None,
) -> Wanted:
    """The action of a call, about to be stored.

    :param joins: the chain of what it has read, unless it is made in one; empty: it has read
        nothing, and begins one if it provides something; None: it knows no context.
    """
    look_above(entry)
    contract, mac = entry.contract, hands.mac
    identity, exact, wording = _digests(entry, bound)
    intent = intent_digest(contract, scope, identity, _ordinal(contract, options))
    slot = slot_of(contract, scope)
    key = derive_key(mac, contract, intent=intent, slot=slot, replaces_key=None)
    action_id = new_id()
    parent = running.get()
    now = hands.clock()
    send_by_s = contract.send_by_s
    call_id, ordinal = options.call_id, options.ordinal
    parent_id = None if parent is None else parent.action_id
    send_by_at = turn.until if send_by_s is None else now + send_by_s
    chain = scope.chain or joins or ""
    if joins == "" and contract.provides:
        chain = chain or action_id  # it is the first of what may follow from it
    alone = not chain and mode == GUARD and begins_own(contract)
    # by position: half the time of naming two dozen fields, for every call
    record = ActionRecord(
        action_id, scope.tenant, contract.tool, scope.principal, scope.session, scope.opening,
        scope.turn, slot, action_id if alone else chain, call_id, parent_id, None,
        intent if mode == GUARD else f"{intent}{SINGLE}{action_id}", ordinal, exact, wording, key,
        entry.contract_digest, mode, now, send_by_at,
        updated_at=now,
    )  # fmt: skip
    beside: tuple[Beside, ...] = ()
    if contract.by_fields:
        beside += (Lookalike(fields=digest(identity)),)
    if alone:
        beside += (own(record),)
    return Wanted(
        record=record,
        arguments=bound.text,
        contract_json=entry.contract_json,
        rebuild=partial(_replacing, mac, contract, intent, record),
        beside=beside,
        never_repeats=options.never_repeats,
    )


def _digests(entry: Entry, bound: Bound) -> tuple[str, str, str]:
    """Identity as text, and digests of the exact and the wording arguments.

    Exact arguments are compared as identity is: an amount of 10.0 is the amount 10.00.
    """
    values = bound.values
    identity, exact, wording = entry.roles
    return (
        identity_text({name: values[name] for name in identity}, entry.normalise),
        digest(identity_text({name: values[name] for name in exact})) if exact else "",
        digest(identity_text({name: values[name] for name in wording})) if wording else "",
    )


def _of_its_own(wanted: Wanted, *, mode: str) -> Wanted:
    """The same with an intent that no other call has."""
    record = wanted.record
    record = record.changed(intent=f"{record.intent}{SINGLE}{record.id}", mode=mode)
    return wanted._replace(record=record)


def _replacing(
    mac: Mac, contract: Contract, intent: str, record: ActionRecord, earlier: ActionRecord
) -> ActionRecord:
    """The record with the key that it gets where it replaces an earlier, rejected action."""
    slot = record.slot
    key = derive_key(mac, contract, intent=intent, slot=slot, replaces_key=earlier.key)
    return record.changed(key=key, replaces=earlier.id)


def _ordinal(contract: Contract, options: Options) -> str:
    """What tells intents with one identity apart; a step that was named is one of its own."""
    if options.place is None or contract.once_per is not OncePer.SESSION:
        return options.ordinal
    return f"{options.ordinal}\x1e{options.place.step}"
