"""Approval: bound to one exact call, for a while, and used by its one effect.

What was approved is named by a digest of everything that the provider would see and of whose wish
it is. The record of it is events of the action, which its hash chain covers: a column that says
"approved" would prove nothing.

Nothing is sent without an approval that still holds at that moment: the first send uses it, and a
further send of the same key is the same effect. When nothing of a send left, or the provider
refused for a while, the approval is still there until it expires; then it takes a new one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from ascertain.model.action import ActionRecord, EventRecord
from ascertain.model.contract import Approval, Contract
from ascertain.model.outcome import Kind
from ascertain.model.tables import By, Event, State
from ascertain.rules.mac import Mac
from ascertain.rules.moves import FREE, Move, closed, move, note

WAITS = "approval"
EXPIRED = "approval_expired"
INVALID = "approval_invalid"
CASES = (WAITS, EXPIRED, INVALID)
APPROVED = "approved"
DECLINED = "declined"


class Granted(NamedTuple):
    """An approval that holds: the number of its event, who gave it, and until when."""

    n: int
    by: str
    until: float


class NotGranted(NamedTuple):
    """Why there is none: ``approval``, ``approval_expired`` or ``approval_invalid``."""

    why: str


def digest_of(mac: Mac, record: ActionRecord, arguments: str) -> str:
    """The name of one exact call: 128 bits over action, tool, key, whose wish, and arguments.

    Keyed, so that nobody who sees it can try which arguments it is made of: some are masked.

    :param mac: of the intents.
    :param arguments: canonical JSON of all of them, identity, exact and wording.
    """
    said = [
        record.id, record.tenant, record.tool, record.key, record.principal, record.session,
        record.contract, arguments,
    ]  # fmt: skip
    text = json.dumps(said, ensure_ascii=True, separators=(",", ":"))
    return mac(b"approval\x1f" + text.encode())[:16].hex()


def request_detail(record: ActionRecord, digest: str) -> dict[str, Any]:
    """What the first event of an action says that waits for its approval."""
    return {"approval": digest, "until": record.send_by_at}


def asked_for(contract: Contract, events: Sequence[EventRecord]) -> bool:
    """Whether this action needs an approval: by contract, or by what its first event says."""
    if contract.approval is Approval.ALWAYS:
        return True
    if contract.approval is Approval.NONE:
        return False
    return not events or "approval" in _detail(events[0])


def granted(events: Sequence[EventRecord], digest: str, *, now: float) -> Granted | NotGranted:
    """The approval that holds now. The chain of the events must have been verified.

    :param events: all of the action, oldest first. :param digest: of the call as it is stored now.
    """
    found = NotGranted(why=WAITS)
    for event in reversed(events):
        if event.event != Event.NOTE or event.reason != APPROVED or event.by != By.PERSON:
            continue
        detail = _detail(event)
        if detail.get("approval") != digest:
            found = NotGranted(why=INVALID)
            continue
        until, by = detail.get("until"), detail.get("who")
        if not isinstance(until, int | float) or not isinstance(by, str):
            found = NotGranted(why=INVALID)
        elif not now < until:
            found = NotGranted(why=EXPIRED)
        else:
            return Granted(event.n, by, float(until))
    return found


def approve(
    record: ActionRecord, *, digest: str, by: str, until: float, now: float
) -> Move:  # the checks are the caller's: who, what and when
    """A person approves; the next send may go."""
    detail = {"approval": digest, "who": by, "until": until}
    send_by_at = until if record.state is State.PREPARED else record.send_by_at
    return note(
        record, By.PERSON, APPROVED, now, detail, review=None, review_at=None, due_at=now,
        send_by_at=send_by_at, **FREE,
    )  # fmt: skip


def decline(record: ActionRecord, *, by: str, why: str, now: float) -> Move:
    """A person declines what was not sent: it is over, and it is not asked for again."""
    detail = {"who": by} | ({"evidence": why} if why else {})
    return move(
        record, Event.WITHDRAW, By.PERSON, DECLINED, now, detail=detail, final=1, kind=Kind.AUTH,
        **closed(),
    )  # fmt: skip


def is_last_word(events: Sequence[EventRecord], reason: str, *, by: str, digest: str = "") -> bool:
    """Whether just this is the last that a person said: whoever says it again has not heard so.

    :param events: of the action, oldest first. :param reason: of the event that it would write.
    """
    last = next((event for event in reversed(events) if event.by == By.PERSON), None)
    if last is None or last.reason != reason:
        return False
    detail = _detail(last)
    return detail.get("who") == by and (not digest or detail.get("approval") == digest)


def _detail(event: EventRecord) -> dict[str, Any]:
    try:
        found = json.loads(event.detail)
    except ValueError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
