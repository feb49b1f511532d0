"""What is asked before a call whose arguments come from its session's context."""

from __future__ import annotations

from ascertain.flow.call import Hold
from ascertain.flow.effects import Vet
from ascertain.model.contract import Approval
from ascertain.runtime.checks import Denied, denied, denied_async
from ascertain.runtime.hands import Hands
from ascertain.runtime.holding import hold, hold_async, waits_for_anything
from ascertain.runtime.invoke import asked_in
from ascertain.runtime.registry import Entry
from ascertain.runtime.scope import here


def vet(hands: Hands, entry: Entry, asked: Vet) -> Denied | Hold | None:
    """Permission, consent, preconditions; and whether it waits for a person."""
    session = here()
    wish = asked_in(entry, session.scope, asked.values)
    refusal = denied(entry, session, wish)
    if refusal is not None or entry.contract.is_read or not waits_for_anything(entry):
        return refusal
    return hold(hands, entry, wish)


async def vet_async(hands: Hands, entry: Entry, asked: Vet) -> Denied | Hold | None:
    """The same, for checks that may be coroutines."""
    session = here()
    wish = asked_in(entry, session.scope, asked.values)
    refusal = await denied_async(entry, session, wish)
    if refusal is not None or entry.contract.is_read or not waits_for_anything(entry):
        return refusal
    return await hold_async(hands, entry, wish)


def is_vetted(hands: Hands, entry: Entry) -> bool:
    """Whether anything has to be asked before a call of the tool, as things are now."""
    contract = entry.contract
    if entry.consent or entry.permission or entry.preconditions:
        return True
    if contract.is_read or not waits_for_anything(entry):
        return False
    breaking = hands.breaking
    return contract.approval is not Approval.NONE or (
        breaking.stale or not breaking.is_closed(contract)
    )
