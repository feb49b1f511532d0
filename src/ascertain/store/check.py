"""Does the record of an action hold: its chain, its state, its payload?"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.rules.mac import Mac
from ascertain.store.seal import (
    GENESIS,
    EventRow,
    commitment,
    event_hash,
    is_move,
    origin_of,
    stand_of,
    tombstone_seal,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """How far the chain had come when the events were removed."""

    n: int
    head: bytes
    stand: str
    seal: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """All that a ledger holds of one action.

    :param payloads: what -> (salt, body).
    """

    record: ActionRecord
    events: Sequence[EventRow]
    payloads: Mapping[str, tuple[bytes, str]] = field(default_factory=dict[str, tuple[bytes, str]])
    tombstone: Tombstone | None = None


def check_action(mac: Mac, stored: Stored) -> Iterator[str]:
    """Yield one sentence for each thing that does not hold.

    :param mac: of the chain.
    """
    record, tombstone = stored.record, stored.tombstone
    n, head, state, stand = 0, GENESIS, "", ""
    if tombstone is not None:
        n, head, stand = tombstone.n, tombstone.head, tombstone.stand
        state = _state_in(stand)
        if not hmac.compare_digest(tombstone.seal, tombstone_seal(mac, record, n, head, stand)):
            yield f"Action {record.id}: its tombstone has been changed."
    for row in stored.events:
        event_n, start, event, end = row[1:5]
        if event_n != n + 1:
            yield f"Action {record.id}: {_missing(n + 1, event_n)}."
        n = event_n
        if start != state:
            yield f"Action {record.id}: event {n} starts from {_said(start)}, not {_said(state)}."
        if not is_move(start, event, end):
            yield f"Action {record.id}: event {n} ({start} --{event}--> {end}) is no legal move."
        origin = origin_of(record) if n == 1 else ""
        if not _follows(mac, head, row, origin):
            also = " or the identity of the action" if n == 1 else ""
            yield f"Action {record.id}: event {n}{also} has been changed or does not follow."
        head, state, stand = row[11], end, row[12] or stand
    yield from _check_row(stored, n, head, state, stand)
    yield from _check_payloads(stored)


def _follows(mac: Mac, previous: bytes, row: EventRow, origin: str) -> bool:
    action_id, n, start, event, end, by, reason, attempt, fence, at, detail, head, stand, covers = (
        row
    )
    try:
        expected = event_hash(
            mac, previous, action_id, n, start, event, end, by, reason, attempt, fence, at, detail,
            stand, covers, origin,
        )  # fmt: skip
        return hmac.compare_digest(head, expected)
    except (ValueError, TypeError, AttributeError):  # of a form that we do not write
        return False


def _check_row(stored: Stored, n: int, head: bytes, state: str, stand: str) -> Iterator[str]:
    record = stored.record
    if n != record.n:
        yield f"Action {record.id}: it counts {record.n} events, but {n} are there."
    if not hmac.compare_digest(head, record.head):
        yield f"Action {record.id}: the head of its chain is not the hash of its last event."
    if state != record.state:
        yield f"Action {record.id}: it says {record.state}, its events say {_said(state)}."
    elif stand != stand_of(record):
        yield (
            f"Action {record.id}: what is known of it was changed without an event: "
            f"{stand_of(record)} instead of {stand}."
        )


def _check_payloads(stored: Stored) -> Iterator[str]:
    record = stored.record
    covers: dict[str, bytes] = {}
    for row in stored.events:
        if row[13]:
            covers["args" if row[1] == 1 else "result"] = row[13]
    for what, (salt, body) in stored.payloads.items():
        if what not in covers:
            if stored.tombstone is None or what == "result":
                yield f"Action {record.id}: no event speaks of its {_WHAT[what]}."
        elif not hmac.compare_digest(covers[what], commitment(salt, body)):
            yield f"Action {record.id}: its {_WHAT[what]} have been changed."
    if record.open and "args" in covers and "args" not in stored.payloads:
        yield f"Action {record.id}: it is open, and its arguments are missing."


_WHAT = {"args": "arguments", "result": "result data"}


def _missing(first: int, found: Any) -> str:
    if found <= first:
        return f"event {found} does not belong there"
    return (
        f"event {first} is missing"
        if found == first + 1
        else f"events {first} to {found - 1} are missing"
    )


def _said(state: str) -> str:
    return state or "nothing"


def _state_in(stand: str) -> str:
    return stand[2:].split('"', 1)[0]
