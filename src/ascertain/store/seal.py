"""The hash chain of an action. The format is described in ``docs/reference/chain.md`` and is final.

Each event's hash is an HMAC over the hash before it and everything the event says. What was known
after a write (``stand``) and salted commitments of the payload (``covers``) are among it, so that
the row, its history and its payload cannot be changed apart, while the payload can be erased.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from json.encoder import JSONEncoder, encode_basestring_ascii
from operator import itemgetter
from typing import Any

from ascertain.errors import IllegalTransition
from ascertain.model.action import ActionRecord, Draft
from ascertain.model.tables import NOTES, RULES, Event, State
from ascertain.store.rows import AT, IDENTITY, STATE_TEXT

GENESIS = bytes(32)
NOTHING = bytearray()

_quote: Callable[[str], str] = encode_basestring_ascii
_encode = JSONEncoder(
    ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":")
).encode
_identity = itemgetter(*(AT[name] for name in IDENTITY))
_known = itemgetter(
    *(
        AT[name]
        for name in (
            "state", "final", "kind", "code", "provider_ref", "related_ref", "disputed",
            "maybe_twice",
        )
    )
)  # fmt: skip
_MOVES = {(rule.start, rule.event, rule.end): rule.unless_final for rule in RULES + NOTES}
_DIRECT = {(rule.start, rule.end) for rule in RULES}
_STORED_MOVES = {(start or "", event, end) for start, event, end in _MOVES}
_EVENT_TEXT: dict[Any, str] = {event: event.value for event in Event}

EventRow = tuple[Any, ...]
"""The columns of table ``event``, in order."""


def chain_key(secret: bytes) -> bytes:
    """The key of the chain, apart from the key of the intents."""
    return hmac.digest(secret, b"ascertain chain 1", "sha256")


def commitment(salt: bytes, body: str) -> bytes:
    """What stands in the chain for a payload: it tells nothing once the salt is erased."""
    return hashlib.sha256(salt + body.encode()).digest()


def detail_json(detail: dict[str, Any]) -> str:
    """The detail of an event, as stored."""
    return _encode(detail) if detail else "{}"


def origin_of(record: ActionRecord) -> str:
    """Everything that is fixed at birth, as the first event covers it."""
    return _encode(_identity(record))


def stand_of(record: ActionRecord) -> str:
    """What is known of the action, as the last event of each write covers it."""
    state, final, kind, code, provider_ref, related_ref, disputed, maybe_twice = _known(record)
    return (
        f'["{STATE_TEXT[state]}",{final:d},{_text(kind)},{_text(code)},{_text(provider_ref)},'
        f"{_text(related_ref)},{disputed:d},{maybe_twice:d}]"
    )


def event_hash(key: bytes, previous: bytes, row: Sequence[Any], *, origin: str = "") -> bytes:
    """The hash of one event.

    :param row: as in table ``event``; its hash is not read.
    :param origin: of the first event only.
    """
    action_id, n, start, event, end, by, reason, attempt, fence, at, detail, _, stand, covers = row
    said = (
        f'[{_quote(action_id)},{n},"{start}","{event}","{end}",{_quote(by)},{_quote(reason)},'
        f'{attempt:d},{fence:d},{at!r},{_quote(detail)},{_quote(stand)},"{covers.hex()}",'
        f"{_quote(origin)}]"
    )
    return hmac.digest(key, previous + said.encode("ascii"), "sha256")


def seal_events(
    key: bytes,
    record: ActionRecord,
    drafts: Sequence[Draft],
    *,
    n: int,
    head: bytes,
    covers: bytes = b"",
    born: bool = False,
) -> tuple[list[EventRow], bytes]:
    """The rows of these events, and the new head.

    :param n: number of events before. :param head: of the chain before.
    :param covers: commitment of the payload: of the arguments with a birth, else of the result.
    """
    rows: list[EventRow] = []
    last = n + len(drafts)
    for draft in drafts:
        n += 1
        start, event, end, by, reason, attempt, detail = draft
        brings_payload = n == 1 if born else n == last
        row = (
            record.id, n, STATE_TEXT[start], _EVENT_TEXT[event], STATE_TEXT[end], str(by),
            str(reason), attempt, record.fence, float(record.updated_at), detail_json(detail), b"",
            stand_of(record) if n == last else "", covers if brings_payload else b"",
        )  # fmt: skip
        head = event_hash(key, head, row, origin=origin_of(record) if born and n == 1 else "")
        rows.append((*row[:11], bytearray(head), row[12], bytearray(row[13])))
    return rows, head


def check_moves(before: ActionRecord | None, after: ActionRecord, drafts: Sequence[Draft]) -> None:
    """Refuse what the transition table does not have.

    :raises IllegalTransition: and what is wrong.
    """
    state: State | None = before.state if before else None
    final = bool(before.final) if before else False
    for draft in drafts:
        unless_final = _MOVES.get((draft.start, draft.event, draft.end))
        if unless_final is None or draft.start != state:
            raise IllegalTransition(
                f"Action {after.id} is {state or 'not born'}: "
                f"{draft.start or 'nothing'} --{draft.event}--> {draft.end} is no move from there."
            )
        if unless_final and final and draft.event is not Event.NOTE:
            raise IllegalTransition(
                f"Action {after.id} is rejected for good; it is not sent again."
            )
        state, final = draft.end, final and draft.end is State.REJECTED
    if state != after.state:
        raise IllegalTransition(
            f"Action {after.id}: the events end in {state or 'nothing'}, "
            f"the record in {after.state}."
        )
    if before is not None and not drafts and _known(before) != _known(after):
        raise IllegalTransition(f"Action {after.id}: what is known changes only with an event.")


def is_move(start: str, event: str, end: str) -> bool:
    """Whether the transition table has this row (words as stored)."""
    return (start, event, end) in _STORED_MOVES


def is_direct(start: State, end: State) -> bool:
    """Whether one row of the table leads there, or nothing moves."""
    return start == end or (start, end) in _DIRECT


def tombstone_seal(key: bytes, record: ActionRecord, n: int, head: bytes, stand: str) -> bytes:
    """The seal of a tombstone over what it keeps."""
    kept = [
        record.id, record.tenant, record.tool, record.session, record.slot, record.call_id,
        record.replaces, record.intent, record.ordinal, record.exact, record.wording, record.key,
        record.contract, float(record.created_at), n, head.hex(), stand,
    ]  # fmt: skip
    return hmac.digest(key, b"tombstone" + _encode(kept).encode("ascii"), "sha256")


def _text(value: str | None) -> str:
    return "null" if value is None else _quote(value)
