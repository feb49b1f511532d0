"""The grammar of moves: how an action is changed, and the event that says so.

Everything that changes an action goes through :func:`move` (a row of the transition table) or
:func:`note` (evidence that moves nothing). What several rules share stands here once.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, NamedTuple

from ascertain.errors import IllegalTransition
from ascertain.model.action import ActionRecord, Draft
from ascertain.model.contract import Contract
from ascertain.model.operations import Claim, ClaimBy
from ascertain.model.outcome import Evidence, Outcome
from ascertain.model.tables import By, Event, step


class Move(NamedTuple):
    """How the action stands next, the events that lead there, and the reference it claims."""

    after: ActionRecord
    drafts: tuple[Draft, ...]
    claim: Claim | None = None


_DETAILS = {
    "kind": "kind", "code": "code", "ref": "provider_ref", "related": "related_ref",
    "http": "http_status", "request_id": "request_id", "sends": "sends",
    "retry_after_s": "retry_after_s", "handle": "handle", "not_now": "not_now",
}  # fmt: skip
_detailed = itemgetter(*(Outcome._fields.index(name) for name in _DETAILS.values()))

FREE: dict[str, Any] = {"lease_owner": None, "lease_until": None}


def move(
    record: ActionRecord, event: Event, by: By, reason: str, now: float, /, *,
    detail: dict[str, Any] | None = None, **changes: Any,
) -> Move:  # fmt: skip
    """A row of the transition table. (Positional-only, so that many keywords are quick to pass.)

    :raises IllegalTransition: the table has no such row.
    """
    end = step(record.state, event, final=bool(record.final))
    if end is None:
        raise IllegalTransition(f"{record.state} --{event}--> has no row (action {record.id}).")
    changes["state"], changes["reason"], changes["updated_at"] = end, reason, now
    after = record.changed_by(changes)
    draft = Draft(record.state, event, end, by, reason, after.attempt, detail or {})
    return Move(after, (draft,))


def note(
    record: ActionRecord, by: By, reason: str, now: float, detail: dict[str, Any], /,
    **changes: Any,
) -> Move:  # fmt: skip
    """Evidence that moves nothing."""
    after = record.changed(updated_at=now, **changes)
    draft = Draft(record.state, Event.NOTE, record.state, by, reason, record.attempt, detail)
    return Move(after, (draft,))


def dispute(record: ActionRecord, why: str, now: float, detail: dict[str, Any], by: By) -> Move:
    """Evidence against a settled action: never rewritten, never dropped."""
    opened = record.changed(
        disputed=1, review=record.review or why, review_at=record.review_at or now
    )
    return note(opened, by, why, now, detail)


def confirm(
    record: ActionRecord, contract: Contract, outcome: Outcome, by: By, now: float, /,
    **changes: Any,
) -> Move:  # fmt: skip
    recount = contract.recount_s
    changes.update(closed())
    if recount is not None:
        changes["due_at"] = now + recount
        changes["ask_at"] = now + recount
    if outcome.several_effects:
        changes.update(review="several_effects", review_at=now)
    elif outcome.not_now:
        changes.update(review="items_later", review_at=now)
    confirmed = move(
        record, Event.CONFIRM, by, outcome.reason, now, detail=detail_of(outcome),
        provider_ref=outcome.provider_ref, evidence=Evidence.NOT_ASKED, kind=None, code=None,
        refused=0, **changes,
    )  # fmt: skip
    return claiming(confirmed, contract, ClaimBy.ANSWER, outcome.provider_ref)


def claiming(made: Move, contract: Contract, by: ClaimBy, provider_ref: str | None) -> Move:
    """The same move, with a claim to the reference where a record does not say whose it is."""
    if provider_ref is None or not contract.by_fields:
        return made
    return made._replace(claim=Claim(by, provider_ref))


def reject(record: ActionRecord, outcome: Outcome, now: float) -> Move:
    return move(
        record, Event.REJECT, By.CALL, outcome.reason, now, detail=detail_of(outcome),
        final=int(not outcome.retryable), kind=outcome.kind, code=outcome.code,
        related_ref=outcome.related_ref, doubt=0, **closed(),
    )  # fmt: skip


def closed() -> dict[str, Any]:
    """What every end has in common."""
    return {
        **FREE, "due_at": None, "ask_at": None, "not_before_at": None, "review": None,
        "review_at": None,
    }  # fmt: skip


def detail_of(outcome: Outcome) -> dict[str, Any]:
    found = {
        name: value
        for name, value in zip(_DETAILS, _detailed(outcome), strict=True)
        if value is not None
    }
    if outcome.several_effects:
        found["several"] = True
    return found


def differs(known: str | None, new: str | None) -> bool:
    return known is not None and new is not None and known != new


def join_suspect(suspects: str, sender: str) -> str:
    if not sender or sender in suspects.split(","):
        return suspects
    return f"{suspects},{sender}" if suspects else sender


def without_suspect(suspects: str, sender: str) -> str:
    return ",".join(name for name in suspects.split(",") if name and name != sender)
