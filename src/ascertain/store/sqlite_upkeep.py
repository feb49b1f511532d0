"""Verifying and burying, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from ascertain.rules.mac import Mac
from ascertain.store.check import Stored, Tombstone, check_action
from ascertain.store.rows import to_record
from ascertain.store.seal import tombstone_seal
from ascertain.store.sqlite_file import LedgerFile, run

_AT_ONCE = 200


def verify(file: LedgerFile, mac: Mac, action_id: str | None) -> Iterator[str]:
    """Check one action or all; see :meth:`~ascertain.store.ledger.Ledger.verify`."""
    if action_id is not None:
        yield from _check_some(file, mac, [action_id])
        return
    last = ""
    while True:
        with file.reading() as db:
            ids = [row[0] for row in run(db, "ids_after", last, _AT_ONCE)]
        if not ids:
            break
        yield from _check_some(file, mac, ids)
        last = ids[-1]
    with file.reading() as db:
        orphans = [row[0] for row in run(db, "orphans")]
    for orphan in orphans:
        yield f"Action {orphan}: it has been deleted; events or payload of it are still there."


def bury(file: LedgerFile, mac: Mac, closed_before: float, limit: int) -> int:
    """Reduce closed actions to tombstones; see :meth:`~ascertain.store.ledger.Ledger.bury`."""
    # The search reads everything, so it does not hold the lock that writers wait for.
    with file.reading() as db:
        ids = [row[0] for row in run(db, "closed", closed_before, limit)]
    buried = 0
    for start in range(0, len(ids), _AT_ONCE):
        with file.transaction() as db:
            db.execute("PRAGMA secure_delete = ON")  # erased is erased, in the file's pages too
            try:
                some = ids[start : start + _AT_ONCE]
                buried += sum(_bury_one(db, mac, one, closed_before) for one in some)
            finally:
                db.execute("PRAGMA secure_delete = OFF")
    return buried


def _bury_one(db: sqlite3.Connection, mac: Mac, action_id: str, closed_before: float) -> bool:
    stored = _stored(db, action_id)
    if stored is None or stored.tombstone is not None or not stored.record.terminal:
        return False
    record = stored.record
    still_closed = record.updated_at < closed_before and record.due_at is None
    if not still_closed or record.review is not None or record.disputed:
        return False
    if any(check_action(mac, stored)):
        return False  # evidence of tampering is not removed
    stand = stored.events[-1][12]
    seal = tombstone_seal(mac, record, record.n, record.head, stand)
    run(db, "bury_seal", action_id, record.n, record.head, stand, seal)
    run(db, "bury_events", action_id)
    run(db, "bury_payload", action_id)
    run(db, "forget_lookalike", action_id)
    run(db, "bury_row", action_id)
    if record.chain:
        run(db, "bury_chain", record.chain)
    return True


def _check_some(file: LedgerFile, mac: Mac, ids: list[str]) -> Iterator[str]:
    said: list[str] = []
    with file.reading() as db:
        db.execute("BEGIN")  # one moment for the row, its events and its payload
        try:
            for action_id in ids:
                stored = _stored(db, action_id)
                if stored is None:
                    said.append(f"Action {action_id}: there is none.")
                else:
                    said.extend(check_action(mac, stored))
        finally:
            if db.in_transaction:
                db.execute("COMMIT")
    yield from said


def _stored(db: sqlite3.Connection, action_id: str) -> Stored | None:
    row = run(db, "by_id", action_id).fetchone()
    if row is None:
        return None
    payloads: dict[str, tuple[bytes, str]] = {}
    for what in ("args", "result"):
        found = run(db, "payload_of", action_id, what).fetchone()
        if found is not None:
            payloads[what] = (found[1], found[0])
    grave = run(db, "tombstone_of", action_id).fetchone()
    return Stored(
        record=to_record(row),
        events=run(db, "events_of", action_id).fetchall(),
        payloads=payloads,
        tombstone=Tombstone(n=grave[0], head=grave[1], stand=grave[2], seal=grave[3])
        if grave
        else None,
    )
