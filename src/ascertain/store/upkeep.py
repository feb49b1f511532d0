"""Verifying: does what the ledger holds of its actions hold together?"""

from __future__ import annotations

from collections.abc import Iterator

from ascertain.rules.mac import Mac
from ascertain.store.access import Access, Run, first
from ascertain.store.check import Stored, Tombstone, check_action
from ascertain.store.rows import to_record

_AT_ONCE = 200


def verify(access: Access, mac: Mac, action_id: str | None) -> Iterator[str]:
    """Check one action or all; see :meth:`~ascertain.store.ledger.Ledger.verify`."""
    if action_id is not None:
        yield from _check_some(access, mac, [action_id])
        return
    last = ""
    while True:
        with access.asking() as run:
            ids = [row[0] for row in run("ids_after", last, _AT_ONCE)]
        if not ids:
            break
        yield from _check_some(access, mac, ids)
        last = ids[-1]
    with access.asking() as run:
        orphans = [row[0] for row in run("orphans")]
    for orphan in orphans:
        yield f"Action {orphan}: it has been deleted; events or payload of it are still there."


def _check_some(access: Access, mac: Mac, ids: list[str]) -> Iterator[str]:
    said: list[str] = []
    with access.one_moment() as run:  # for the row, its events and its payload
        for action_id in ids:
            stored = _stored(run, action_id)
            if stored is None:
                said.append(f"Action {action_id}: there is none.")
            else:
                said.extend(check_action(mac, stored))
    yield from said


def _stored(run: Run, action_id: str) -> Stored | None:
    row = first(run("by_id", action_id))
    if row is None:
        return None
    payloads: dict[str, tuple[bytes, str]] = {}
    for what in ("args", "result"):
        found = first(run("payload_of", action_id, what))
        if found is not None:
            payloads[what] = (found[1], found[0])
    grave = first(run("tombstone_of", action_id))
    return Stored(
        record=to_record(row),
        events=run("events_of", action_id),
        payloads=payloads,
        tombstone=Tombstone(n=grave[0], head=grave[1], stand=grave[2], seal=grave[3])
        if grave
        else None,
    )
