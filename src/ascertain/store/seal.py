"""The hash chain of an action. The format is described in ``docs/reference/chain.md`` and is final.

Each event's hash is an HMAC over the hash before it and everything the event says. What was known
after a write (``stand``) and salted commitments of the payload (``covers``) are among it, so that
the row, its history and its payload cannot be changed apart, while the payload can be erased.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from json.encoder import encode_basestring_ascii
from operator import itemgetter
from typing import Any

from ascertain.errors import IllegalTransition
from ascertain.model.action import ActionRecord, Draft
from ascertain.model.tables import NOTES, RULES, State
from ascertain.rules.mac import Mac, prepared_hmac
from ascertain.store.compact import compact_json
from ascertain.store.rows import AT, IDENTITY, STATE_TEXT

GENESIS = bytes(32)

_quote: Callable[[str], str] = encode_basestring_ascii
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

_DIRECT = {(rule.start, rule.end) for rule in RULES}
_WORDS = {
    (rule.start, rule.event, rule.end): (STATE_TEXT[rule.start], rule.event.value, rule.end.value)
    for rule in RULES + NOTES
}
_MOVES = {move: (*words, "\n".join(words)) for move, words in _WORDS.items()}
_NOT_FROM_FINAL = {(rule.start, rule.event, rule.end) for rule in RULES if rule.unless_final}
_STORED_MOVES = frozenset(_WORDS.values())
_LINE_BREAKS = 13

EventRow = tuple[Any, ...]
"""The columns of table ``event``, in order."""


def chain_mac(secret: bytes) -> Mac:
    """HMAC-SHA256 under the key of the chain, which is another than that of the intents."""
    return prepared_hmac(prepared_hmac(secret)(b"ascertain chain 1"))


def commitment(salt: bytes, body: str) -> bytes:
    """What stands in the chain for a payload: it tells nothing once the salt is erased."""
    return hashlib.sha256(salt + body.encode()).digest()


def origin_of(record: ActionRecord) -> str:
    """Everything that is fixed at birth, as the first event covers it."""
    return compact_json(_identity(record))


def stand_of(record: ActionRecord) -> str:
    """What is known of the action, as the last event of each write covers it."""
    state, final, kind, code, provider_ref, related_ref, disputed, maybe_twice = _known(record)
    return (
        f'["{STATE_TEXT[state]}",{final:d},{_text(kind)},{_text(code)},{_text(provider_ref)},'
        f"{_text(related_ref)},{disputed:d},{maybe_twice:d}]"
    )


def event_hash(
    mac: Mac,
    previous: bytes,
    action_id: str,
    n: int,
    start: str,
    event: str,
    end: str,
    by: str,
    reason: str,
    attempt: int,
    fence: int,
    at: float,
    detail: str,
    stand: str,
    covers: bytes,
    origin: str,
) -> bytes:
    """The hash of one event: of the one before, and of all that this one says.

    :param origin: what is fixed at birth, with the first event only.
    :raises ValueError: a value holds a line break, which none that was written by us does.
    """
    moved = f"{start}\n{event}\n{end}"
    return _hashed(
        mac, previous, _quote(action_id), n, moved, by, reason, attempt, f"{fence}\n{at}", detail,
        stand, covers, origin,
    )  # fmt: skip


def _hashed(
    mac: Mac,
    previous: bytes,
    action_id: str,
    n: int,
    moved: str,
    by: str,
    reason: str,
    attempt: int,
    fenced_at: str,
    detail: str,
    stand: str,
    covers: bytes,
    origin: str,
) -> bytes:
    """The hash of an event of which some lines are text already: they are those of others too."""
    said = (
        f"{action_id}\n{n}\n{moved}\n{_quote(by)}\n{_quote(reason)}\n{attempt}\n{fenced_at}\n"
        f"{detail}\n{stand}\n{covers.hex()}\n{origin}"
    )
    if said.count("\n") != _LINE_BREAKS:
        raise ValueError("A value holds a line break.")
    return mac(previous + said.encode())


def seal_events(
    mac: Mac,
    record: ActionRecord,
    drafts: Sequence[Draft],
    n: int,
    head: bytes,
    *,
    arguments: bytes = b"",
    result: bytes = b"",
) -> tuple[list[EventRow], bytes]:
    """The rows of these events, and the new head.

    :param n: number of events before; 0: the action is born. :param head: of the chain before.
    :param arguments: commitment of the arguments, in the first event of all.
    :param result: commitment of the result, in the last event of this write.
    """
    rows: list[EventRow] = []
    last = n + len(drafts)
    action_id, fence, at = record.id, int(record.fence), float(record.updated_at)
    quoted, fenced_at = _quote(action_id), f"{fence}\n{at}"
    for draft in drafts:
        n += 1
        start, event, end, moved = _MOVES[draft[:3]]
        by, reason, attempt = str(draft.by), str(draft.reason), int(draft.attempt)
        detail = compact_json(draft.detail) if draft.detail else "{}"
        stand = stand_of(record) if n == last else ""
        covered = arguments if n == 1 else (result if n == last else b"")
        origin = origin_of(record) if n == 1 else ""
        head = _hashed(
            mac, head, quoted, n, moved, by, reason, attempt, fenced_at, detail, stand, covered,
            origin,
        )  # fmt: skip
        rows.append((
            action_id, n, start, event, end, by, reason, attempt, fence, at, detail,
            bytearray(head), stand, bytearray(covered),
        ))  # fmt: skip
    return rows, head


def check_moves(before: ActionRecord | None, after: ActionRecord, drafts: Sequence[Draft]) -> None:
    """Refuse what the transition table does not have.

    :raises IllegalTransition: and what is wrong.
    """
    state: State | None = before.state if before else None
    final = before.final if before else 0
    for draft in drafts:
        move = draft[:3]
        if move not in _MOVES or draft.start != state:
            raise IllegalTransition(
                f"Action {after.id} is {state or 'not born'}: "
                f"{draft.start or 'nothing'} --{draft.event}--> {draft.end} is no move from there."
            )
        if final and move in _NOT_FROM_FINAL:
            raise IllegalTransition(f"Action {after.id} is rejected for good; it stays so.")
        state = draft.end
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


def tombstone_seal(mac: Mac, record: ActionRecord, n: int, head: bytes, stand: str) -> bytes:
    """The seal of a tombstone over what it keeps."""
    kept = [
        record.id, record.tenant, record.tool, record.session, record.slot, record.call_id,
        record.replaces, record.intent, record.ordinal, record.exact, record.wording, record.key,
        record.contract, float(record.created_at), n, head.hex(), stand,
    ]  # fmt: skip
    return mac(b"tombstone" + compact_json(kept).encode())


def _text(value: str | None) -> str:
    return "null" if value is None else _quote(value)
