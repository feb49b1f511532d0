"""What a person says of calls that wait: approve, decline, release."""

from __future__ import annotations

import hmac

from ascertain.errors import ActionNotFound, ContractError, NotAllowed
from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract
from ascertain.model.tables import State
from ascertain.rules import approval, breaker
from ascertain.runtime.hands import Hands
from ascertain.runtime.verdict import write


def approve(hands: Hands, action_id: str, *, by: str, digest: str) -> ActionRecord:
    """Approve one exact call; it is sent within moments, once permission is checked again.

    :raises ActionNotFound: there is no such action.
    :raises NotAllowed: it waits for no approval, the digest names another call, the time has
        passed, or whose wish it is cannot approve it.
    """
    record, contract = _waiting(hands, action_id, by)
    if record.review not in approval.CASES:
        raise NotAllowed(f"Action {record.id} waits for no approval; it is {record.state}.")
    if contract.approval_by_other and by == record.principal:
        raise NotAllowed(
            f"{record.tool} is approved by somebody else than {record.principal}, whose wish it is."
        )
    known = digest_of(hands, record)
    if not hmac.compare_digest(known.encode(), digest.strip().encode()):
        raise NotAllowed(
            f"The digest is not that of action {record.id}: another call was looked at.",
            next_step=f"Look at what it says now: ascertain show {record.id}",
        )
    broken = next(hands.ledger.verify(record.id), None)
    if broken is not None:
        raise NotAllowed(f"The record of it does not hold, so it cannot be approved. {broken}")
    now = hands.clock()
    until = record.send_by_at
    if record.state is not State.PREPARED:
        until = now + contract.approval_within_s  # what may have happened is tried again: anew
    if now >= until:
        raise NotAllowed(
            f"The time in which action {record.id} could be approved has passed.",
            next_step="It is withdrawn; the call can be made again.",
        )
    return write(hands, record, approval.approve(record, digest=known, by=by, until=until, now=now))


def decline(hands: Hands, action_id: str, *, by: str, why: str = "") -> ActionRecord:
    """Decline what waits: it is withdrawn, and nothing was sent.

    :raises ActionNotFound: there is no such action.
    :raises NotAllowed: it does not wait, or something of it was sent.
    """
    record, _ = _waiting(hands, action_id, by)
    if record.state is not State.PREPARED or record.review not in (*approval.CASES, breaker.WAITS):
        raise NotAllowed(
            f"Action {record.id} does not wait to be sent; it is {record.state}.",
            next_step=f"ascertain why {record.id}",
        )
    return write(hands, record, approval.decline(record, by=by, why=why, now=hands.clock()))


def release(hands: Hands, action_id: str, *, by: str) -> ActionRecord:
    """Let go a call that was taken as manual work while its breaker was open.

    :raises ActionNotFound: there is no such action.
    :raises NotAllowed: it was not taken so, the breaker is open still, or the time has passed.
    """
    record, contract = _waiting(hands, action_id, by)
    if record.state is not State.PREPARED or record.review != breaker.WAITS:
        raise NotAllowed(f"Action {record.id} is not manual work; it is {record.state}.")
    name = breaker.name_of(contract)
    if any(one.name == name and one.circuit != "closed" for one in hands.ledger.breakers.all()):
        raise NotAllowed(
            f"The breaker {name!r} is not closed, so it would not be sent.",
            next_step=f"Wait until the provider answers, or: ascertain breakers --close {name}",
        )
    now = hands.clock()
    if now >= record.send_by_at:
        raise NotAllowed(f"The time in which action {record.id} was wanted has passed.")
    return write(hands, record, breaker.release(record, by=by, now=now))


def digest_of(hands: Hands, record: ActionRecord) -> str:
    """The name of this exact call.

    :raises NotAllowed: its arguments are no longer stored.
    """
    arguments = hands.ledger.arguments(record.id)
    if arguments is None:
        raise NotAllowed(f"The arguments of action {record.id} are no longer stored.")
    return approval.digest_of(hands.mac, record, arguments)


def _waiting(hands: Hands, action_id: str, by: str) -> tuple[ActionRecord, Contract]:
    if not by.strip() or not by.isprintable():
        raise ContractError(f"Say who decides, as a plain text; got by={by!r:.40}.")
    record = hands.ledger.get(action_id)
    if record is None:
        raise ActionNotFound(f"There is no action {action_id!r} in {hands.ledger.url}.")
    contract = hands.contract_of(record, hands.registry.find(record.tool))
    if contract is None:
        raise NotAllowed(f"The contract of action {record.id} is not in the ledger.")
    return record, contract
