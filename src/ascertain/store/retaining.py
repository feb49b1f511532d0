"""Removing what is closed and old: into an archive first, and then down to a tombstone.

An action is old once all that it belongs to has ended before a given time: itself, its chain, its
session, and the time within which it may be undone. Each batch is read in one moment, kept, and
removed in a transaction of its own that looks again; a process that is killed anywhere leaves every
action in the ledger, in the archive, or in both.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.model.tables import State
from ascertain.rules.mac import Mac
from ascertain.store.access import Access, Run, first
from ascertain.store.check import Stored, check_action
from ascertain.store.filed import Filed, Keep
from ascertain.store.ledger import Burial, Retained
from ascertain.store.rows import to_record
from ascertain.store.seal import tombstone_seal

SEARCHED_AT_ONCE = 1000
REMOVED_AT_ONCE = 100


def old(access: Access, closed_before: float) -> Iterator[list[ActionRecord]]:
    """The actions that may be removed, oldest first, page by page; changes nothing."""
    contracts: dict[str, str | None] = {}
    for ids in _pages(access, closed_before):
        with access.one_moment() as run:
            wanted = set(ids)
            page = [
                record
                for record in map(to_record, run("records_in", ids[0], ids[-1]))
                if record.id in wanted
                and not _may_be_undone(record, _contract(run, record, contracts), closed_before)
            ]
        yield page


def retain(
    access: Access,
    mac: Mac,
    *,
    closed_before: float,
    keep: Keep | None,
    at: float | None = None,
    limit: int | None = None,
) -> Iterator[Retained]:
    """Keep and remove what is old; see :meth:`~ascertain.store.ledger.Ledger.retain`.

    :param keep: where to; None: nothing is kept, only the tombstones stay.
    :param at: the time on the ledger's clock, for the tombstones.
    """
    left = float("inf") if limit is None else limit
    contracts: dict[str, str | None] = {}
    grave = Burial(at, keep.name if keep is not None else None)
    for ids in _pages(access, closed_before):
        done = 0
        while done < len(ids) and left > 0:
            some = ids[done : done + int(min(left, REMOVED_AT_ONCE))]
            done += len(some)
            filed, damaged, undoable = _read(access, mac, some, closed_before, contracts)
            if keep is not None and filed:
                keep.append(filed)
            removed = _remove(access, mac, filed, closed_before, grave)
            yield Retained(tuple(removed), tuple(damaged), undoable)
            left -= len(removed)
        if left <= 0:
            return


def _pages(access: Access, closed_before: float) -> Iterator[list[str]]:
    """Ids of closed actions, in order. Each search reads so many actions, whatever it finds."""
    last = ""
    while True:
        with access.asking() as run:
            page = [row[0] for row in run("ids_after", last, SEARCHED_AT_ONCE)]
            if not page:
                return
            ids = [row[0] for row in run("closed", page[0], page[-1], closed_before)]
        last = page[-1]
        if ids:
            yield ids


def _read(
    access: Access, mac: Mac, ids: list[str], closed_before: float, contracts: dict[str, str | None]
) -> tuple[list[Filed], list[str], int]:
    filed: list[Filed] = []
    damaged: list[str] = []
    undoable = 0
    with access.one_moment() as run:
        for stored in _stored_in(run, ids):
            wrong = list(check_action(mac, stored))
            damaged += wrong  # evidence of tampering is not removed
            contract = _contract(run, stored.record, contracts)
            if _may_be_undone(stored.record, contract, closed_before):
                undoable += 1
            elif not wrong:
                filed.append(Filed(stored, contract, *_place(run, stored.record)))
    return filed, damaged, undoable


def _stored_in(run: Run, ids: list[str]) -> list[Stored]:
    """All that there is of these; what lies between them is read too, and is little."""
    wanted, between = set(ids), (ids[0], ids[-1])
    events: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for row in run("events_in", *between):
        events[row[0]].append(row)
    payloads: dict[str, dict[str, tuple[bytes, str]]] = defaultdict(dict)
    for action_id, what, salt, body in run("payloads_in", *between):
        payloads[action_id][what] = (salt, body)
    return [
        Stored(record=to_record(row), events=events[row[0]], payloads=payloads[row[0]])
        for row in run("records_in", *between)
        if row[0] in wanted
    ]


def _remove(
    access: Access, mac: Mac, filed: Sequence[Filed], closed_before: float, grave: Burial
) -> list[ActionRecord]:
    """Reduce to tombstones those that still are as they were read, and still are old."""
    if not filed:
        return []
    between = (filed[0].stored.record.id, filed[-1].stored.record.id)
    with access.erasing() as run:
        heads = {action_id: (n, head) for action_id, n, head in run("hold_range", *between)}
        still = {row[0] for row in run("closed", *between, closed_before)}
        removed = [
            stored
            for stored, *_ in filed
            if (record := stored.record).id in still
            and heads.get(record.id) == (record.n, record.head)
        ]
        for stored in removed:
            _bury(run, mac, stored, grave)
    return [stored.record for stored in removed]


def _bury(run: Run, mac: Mac, stored: Stored, grave: Burial) -> None:
    record, stand = stored.record, stored.events[-1][12]
    seal = tombstone_seal(mac, record, record.n, record.head, stand)
    run("bury_seal", record.id, record.n, record.head, stand, seal, grave.at, grave.archive)
    run("bury_events", record.id)
    run("bury_payload", record.id)
    run("forget_lookalike", record.id)
    run("bury_row", record.id)
    if record.chain:
        run("bury_chain", record.chain)


def _place(run: Run, record: ActionRecord) -> tuple[tuple[Any, ...] | None, tuple[Any, ...] | None]:
    if not record.chain:
        return None, None
    return (
        first(run("chain_by_id", record.chain)),
        first(run("member_of", record.chain, record.id)),
    )


def _contract(run: Run, record: ActionRecord, known: dict[str, str | None]) -> str | None:
    if record.contract not in known:
        row = first(run("contract_of", record.contract))
        known[record.contract] = row[0] if row else None
    return known[record.contract]


def _may_be_undone(record: ActionRecord, contract: str | None, since: float) -> bool:
    """Whether the time within which it may be undone had not ended by then.

    Without an end of its own it ends with its chain: nothing else undoes by itself.
    """
    if contract is None or record.state is not State.CONFIRMED or record.last_sent_at is None:
        return False
    promised: dict[str, Any] = json.loads(contract)
    within_s = promised.get("undo_within_s") if promised.get("undo") else None
    return within_s is not None and record.last_sent_at + within_s >= since
