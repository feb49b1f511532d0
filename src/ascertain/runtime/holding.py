"""Calls and late sends that wait for a person: approvals, and breakers that are open."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from ascertain.flow.call import Hold
from ascertain.flow.effects import Cleared, Permission, Withheld
from ascertain.model.action import ActionRecord
from ascertain.model.contract import Approval, Contract
from ascertain.rules import approval as rules
from ascertain.rules import breaker
from ascertain.rules.approval import Granted, NotGranted
from ascertain.rules.decide import Held
from ascertain.runtime.hands import Hands, log
from ascertain.runtime.invoke import Asked
from ascertain.runtime.registry import Entry


def waits_for_anything(entry: Entry) -> bool:
    """Whether sends of this tool can wait for more than permission."""
    return entry.contract.breaker is not None or entry.contract.approval is not Approval.NONE


def hold(hands: Hands, entry: Entry, asked: Asked | None) -> Hold | None:
    """Whether a new call is to be stored and not sent.

    :param asked: what the server's rule of approval may look at; None where there is no rule.
    :raises LedgerError: how the breakers stand cannot be read; nothing was sent.
    """
    contract = entry.contract
    if contract.approval is not Approval.NONE and _rule_asks(entry, asked):
        return _for_approval(hands, contract)
    if contract.breaker is None:
        return None
    if hands.breaking.stale:
        hands.breaking.refresh()
    return None if hands.breaking.is_closed(contract) else _for_circuit(hands, contract)


async def hold_async(hands: Hands, entry: Entry, asked: Asked | None) -> Hold | None:
    """The same on the running loop, which never waits for the ledger."""
    contract = entry.contract
    if contract.approval is not Approval.NONE and await _rule_asks_async(entry, asked):
        return _for_approval(hands, contract)
    if contract.breaker is None or (
        not hands.breaking.stale and hands.breaking.is_closed(contract)
    ):
        return None
    from asyncio import get_running_loop

    loop = get_running_loop()
    if hands.breaking.stale:
        await loop.run_in_executor(None, hands.breaking.refresh)
    if hands.breaking.is_closed(contract):
        return None
    return await loop.run_in_executor(None, _for_circuit, hands, contract)


def cleared(hands: Hands, entry: Entry, record: ActionRecord) -> Permission:
    """Whether a late send that is permitted may go now: by an approval, and by the breaker."""
    contract = hands.contract_of(record, entry) or entry.contract
    given: Permission = "yes"
    if contract.approval is not Approval.NONE:
        found = _approval(hands, record, contract)
        if isinstance(found, NotGranted):
            return Withheld(held=Held.APPROVAL, why=found.why, until=record.send_by_at)
        if found is not None:
            given = Cleared(approval=found.n)
    if contract.breaker is not None:
        if hands.breaking.stale:
            hands.breaking.refresh()
        withheld = hands.breaking.admit(contract, contract.budget.send_deadline_s + hands.lease_s)
        if withheld is not None:
            return withheld
    return given


def _approval(
    hands: Hands, record: ActionRecord, contract: Contract
) -> Granted | NotGranted | None:
    """The approval that holds now, by the events alone and only if their chain holds."""
    broken = next(hands.ledger.verify(record.id), None)
    if broken is not None:
        log.error("%s: its approval cannot be relied on: %s", record.tool, broken)
        return NotGranted(why=rules.INVALID)
    events = hands.ledger.events(record.id)
    if not rules.asked_for(contract, events):
        return None
    arguments = hands.ledger.arguments(record.id) or ""
    digest = rules.digest_of(hands.mac, record, arguments)
    return rules.granted(events, digest, now=hands.clock())


def _for_approval(hands: Hands, contract: Contract) -> Hold:
    within_s = contract.approval_within_s
    if contract.send_by_s is not None:
        within_s = min(within_s, contract.send_by_s)
    digest = partial(rules.digest_of, hands.mac)
    return Hold(why=rules.WAITS, until=hands.clock() + within_s, digest=digest)


def _for_circuit(hands: Hands, contract: Contract) -> Hold | None:
    covers_s = contract.budget.send_deadline_s + hands.lease_s
    if hands.breaking.admit(contract, covers_s) is None:
        return None
    rule = contract.breaker
    by_then_s = rule.manual_s if rule is not None else 0.0
    if contract.send_by_s is not None:
        by_then_s = min(by_then_s, contract.send_by_s)
    return Hold(why=breaker.WAITS, until=hands.clock() + by_then_s)


def _rule_asks(entry: Entry, asked: Asked | None) -> bool:
    """Whether the server's rule wants an approval; one that breaks has not done without."""
    if entry.approval is None:
        return True
    try:
        return entry.approval(asked) is not False
    except Exception:
        return _unruled(entry)


async def _rule_asks_async(entry: Entry, asked: Asked | None) -> bool:
    if entry.approval is None:
        return True
    try:
        said: Any = entry.approval(asked)
        return (await said if inspect.isawaitable(said) else said) is not False
    except Exception:
        return _unruled(entry)


def _unruled(entry: Entry) -> bool:
    log.exception("%s: its rule of approval broke, so a person is asked", entry.name)
    return True
