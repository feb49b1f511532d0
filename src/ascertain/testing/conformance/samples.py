"""Actions and operations to try a store with. Times are seconds; ``NOW`` is when they begin."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ascertain.model.action import ActionRecord, Draft
from ascertain.model.outcome import Kind
from ascertain.model.tables import By, Event, State
from ascertain.store.ids import new_id
from ascertain.store.ledger import (
    Advance,
    Claim,
    ClaimBy,
    Ledger,
    Lookalike,
    Operation,
    Reply,
    Reserve,
)

NOW = 1_800_000_000.25
LEASE_S = 30.0
ARGUMENTS = '{"issue":"noise in the left ear","order_id":"A123"}'
RESULT = '{"ticket_id":"T900"}'
CONTRACT = '{"tool":"create_ticket"}'

_serial = itertools.count(1)


def wanted(intent: str = "intent-1", slot: str = "turn-1", **changes: Any) -> ActionRecord:
    """An action as a call would prepare it, not yet stored."""
    serial = next(_serial)
    record = ActionRecord(
        id=new_id(), tenant="", tool="create_ticket", principal="u7", session="chat-42",
        opening="opening-1", turn=slot, slot=slot, chain="", call_id=None, parent=None,
        replaces=None, intent=intent, ordinal="", exact="exact-1", wording="wording-1",
        key=f"key-{serial}", contract="contract-1", mode="guard", created_at=NOW,
        send_by_at=NOW + 60, updated_at=NOW,
    )  # fmt: skip
    return record._replace(**changes)


def draft(start: State | None, event: Event, end: State, **changes: Any) -> Draft:
    """An event about to be written, with something in every field."""
    values = Draft(start, event, end, By.CALL, f"why-{event}", 1, {"http_status": 200})
    return values._replace(**changes)


PREPARE = draft(None, Event.PREPARE, State.PREPARED, attempt=0, detail={})
SEND = draft(State.PREPARED, Event.SEND, State.SENT)


def reserve(
    record: ActionRecord, *more: Draft, arguments: str = ARGUMENTS, result: str | None = None
) -> Reserve:
    """Store an intent, prepared or whatever the further events make of it."""
    drafts = (PREPARE, *more)
    return Reserve(
        record=record._replace(state=drafts[-1].end),
        drafts=drafts,
        arguments=arguments,
        contract_json=CONTRACT,
        result=result,
    )


def reserve_sent(
    record: ActionRecord, *, owner: str = "caller", at: float = NOW, fields: str = ""
) -> Reserve:
    """Store an intent and its first send, under a lease."""
    sent = record._replace(
        attempt=1, fence=1, first_sent_at=at, last_sent_at=at, last_possible_at=at + 5,
        lease_owner=owner, lease_until=at + LEASE_S, due_at=at + LEASE_S, updated_at=at,
    )  # fmt: skip
    return looking_like(reserve(sent, SEND), fields)


def looking_like(stored: Reserve, fields: str) -> Reserve:
    """The same of a tool whose look-up goes by fields; '' is a tool whose look-up does not."""
    return stored._replace(beside=(Lookalike(fields=fields),)) if fields else stored


def advance(
    before: ActionRecord,
    event: Event,
    end: State,
    *,
    result: str | None = None,
    detail: dict[str, Any] | None = None,
    **changes: Any,
) -> Advance:
    """One move of a stored action; the lease is let go."""
    closed: dict[str, Any] = {"lease_owner": None, "lease_until": None, "due_at": None}
    after = before._replace(state=end, updated_at=before.updated_at + 1, **{**closed, **changes})
    said = draft(before.state, event, end, attempt=before.attempt)
    return Advance(
        before=before,
        after=after,
        drafts=(said if detail is None else said._replace(detail=detail),),
        result=result,
    )


def confirm(before: ActionRecord, ref: str = "T900", **changes: Any) -> Advance:
    """The provider gave a definite answer."""
    return advance(
        before, Event.CONFIRM, State.CONFIRMED, result=RESULT, provider_ref=ref, **changes
    )


def claim(before: ActionRecord, ref: str, by: ClaimBy, **changes: Any) -> Advance:
    """The same on somebody's word, where a record does not say whose it is."""
    return confirm(before, ref, **changes)._replace(claim=Claim(by, ref))


def reject(before: ActionRecord, kind: Kind = Kind.BUSINESS, *, final: int = 1) -> Advance:
    """The provider refused."""
    return advance(before, Event.REJECT, State.REJECTED, kind=kind, final=final, code="NO")


def lose(before: ActionRecord, *, due_at: float | None = NOW + 1) -> Advance:
    """No definite answer."""
    return advance(before, Event.LOSE, State.UNKNOWN, due_at=due_at, doubt=before.doubt + 1)


def note(before: ActionRecord, **changes: Any) -> Advance:
    """Evidence that moves nothing."""
    return advance(before, Event.NOTE, before.state, **changes)


def submit(ledger: Ledger, operation: Operation, expected: type[Any]) -> Any:
    """Submit one operation; its reply must be of this kind."""
    (reply,) = ledger.submit([operation])
    return must(reply, expected)


def must(reply: Reply, expected: type[Any]) -> Any:
    """The reply, if it is of this kind; else the story of what came instead."""
    if isinstance(reply, Exception) and not issubclass(expected, Exception):
        raise AssertionError(f"{expected.__name__} was expected; came {reply!r}") from reply
    assert isinstance(reply, expected), f"{expected.__name__} was expected; came {reply!r}"
    return reply


def records(replies: Sequence[Reply], expected: type[Any]) -> list[ActionRecord]:
    """The records in replies that must all be of this kind."""
    return [must(reply, expected).record for reply in replies]
