"""Ask every provider for its own record of recent actions, and compare (reads only, in bounds)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

from ascertain.errors import ContractError
from ascertain.flow.recount import recount as one
from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract
from ascertain.model.record import Record
from ascertain.rules import recount as rules
from ascertain.rules import texts
from ascertain.rules.recount import Difference, Row, Said
from ascertain.runtime.aio import AsyncDriver
from ascertain.runtime.bodies import Bodies
from ascertain.runtime.durations import seconds
from ascertain.runtime.hands import Hands, log
from ascertain.runtime.registry import Entry
from ascertain.store.ledger import Filter

SINCE = "7d"
LIMIT = 1000
RATE = 20.0
CONCURRENCY = 8
_PAGE = 200


class Bounds(Record):
    """What a recount looks at, and how fast it asks.

    :param tool: only actions of this tool. :param since_s: only those made within so many seconds.
    :param limit: at most so many actions, the newest.
    :param rate: look-ups per second, over all providers together.
    :param concurrency: how many look-ups may wait for an answer at once.
    """

    tool: str | None = None
    since_s: float = 7 * 86400.0
    limit: int = LIMIT
    rate: float = RATE
    concurrency: int = CONCURRENCY


class Recount(Record):
    """What a recount found.

    :param scanned: how many actions were read, from the newest on.
    :param more: whether the limit left some out.
    """

    rows: tuple[Row, ...]
    scanned: int
    more: bool

    @property
    def asked(self) -> int:
        return sum(row.said is not Said.NOT_ASKED for row in self.rows)

    @property
    def differing(self) -> list[Row]:
        """The actions of which two views differ."""
        return [row for row in self.rows if row.differences]

    @property
    def unanswered(self) -> list[Row]:
        """The actions whose provider gave no answer: of them nothing can be said."""
        return [row for row in self.rows if row.said is Said.NO_ANSWER]

    @property
    def agrees(self) -> bool:
        """Whether nothing differs, and every provider that was asked answered."""
        return not self.differing and not self.unanswered


def bounds_of(
    *, tool: str | None, since: str | float, limit: int, rate: float, concurrency: int
) -> Bounds:
    """Check what a person or a program asked for.

    :raises ContractError: a bound that makes no sense.
    """
    since_s = seconds(since, "since")
    if since_s is None or since_s <= 0:
        raise ContractError(f"since={since!r}: a recount looks at the last hours or days.")
    for name, value in (("limit", limit), ("rate", rate), ("concurrency", concurrency)):
        if not 0 < value < float("inf"):
            raise ContractError(f"{name}={value!r} must be a number above 0.")
    return Bounds(tool=tool, since_s=since_s, limit=limit, rate=rate, concurrency=concurrency)


async def recount(
    hands: Hands, bodies: Bodies, bounds: Bounds, tell: Callable[[Row], None] | None = None
) -> Recount:
    """Compare, action by action, what the person is told, the ledger, and the provider.

    :param tell: is told each row as it comes in.
    """
    if bounds.tool is not None:
        hands.registry.get(bounds.tool)
    loop = asyncio.get_running_loop()
    scan = await loop.run_in_executor(None, _scan, hands, bounds)
    pace = _Pace(bounds.rate)
    # beyond the threads that are free a sync look-up would not run, and count as no answer
    room = asyncio.Semaphore(max(1, min(bounds.concurrency, bodies.room_beside(0))))

    async def row_of(record: ActionRecord) -> Row:
        async with room:
            row = await _compare(hands, bodies, record, pace)
        _log(row)
        if tell is not None:
            tell(row)
        return row

    rows = await asyncio.gather(*(row_of(record) for record in scan.records))
    return Recount(rows=tuple(rows), scanned=scan.read, more=scan.more)


class _Scan(Record, kw_only=False):
    records: list[ActionRecord]
    read: int
    more: bool


def _scan(hands: Hands, bounds: Bounds) -> _Scan:
    """The newest guarded writes within the bounds; reads on from the newest, and no further."""
    since = hands.clock() - bounds.since_s
    found: list[ActionRecord] = []
    read = 0
    for record in _newest(hands):
        if record.created_at < since:
            break
        read += 1
        entry = hands.registry.find(record.tool)
        wanted = bounds.tool in (None, record.tool)
        if not wanted or record.mode != "guard" or (entry and entry.contract.is_read):
            continue
        if len(found) == bounds.limit:
            return _Scan(found, read, more=True)
        found.append(record)
    return _Scan(found, read, more=False)


def _newest(hands: Hands) -> Iterator[ActionRecord]:
    before: str | None = None
    while True:
        page = hands.ledger.find(Filter(before_id=before, limit=_PAGE))
        yield from page
        if len(page) < _PAGE:
            return
        before = page[-1].id


async def _compare(hands: Hands, bodies: Bodies, record: ActionRecord, pace: _Pace) -> Row:
    loop = asyncio.get_running_loop()
    entry = hands.registry.find(record.tool)
    look = await loop.run_in_executor(None, _look, hands, record, entry)
    answer = None
    after, why = record, look.why
    if entry is not None and look.contract is not None and not why:
        await pace.wait()
        flow = one(hands.setting(entry, look.contract), record)
        after, answer = await AsyncDriver(hands, entry, bodies).drive(flow)
        why = "in_hand" if answer is None else ""
    differences: list[Difference] = []
    if look.contract is not None and answer is not None:
        now = hands.clock()
        differences = rules.against_provider(after, look.contract, answer, now, before=record)
    notes = list(look.broken)
    if look.broken:
        differences.append(Difference.LEDGER_DIFFERS)
    wrong = [] if look.contract is None else rules.against_person(after, look.contract)
    if wrong:
        differences.append(Difference.TOLD_DIFFERS)
        notes += wrong
    return Row(
        record=after,
        before=record.state,
        said=rules.said(answer),
        why=why,
        provider_ref=None if answer is None else answer.provider_ref,
        count=None if answer is None or not answer.found else answer.count,
        differences=tuple(differences),
        notes=tuple(notes),
        told="" if look.contract is None else texts.say(after, look.contract),
    )


class _Look(Record, kw_only=False):
    contract: Contract | None
    why: str
    broken: tuple[str, ...]


def _look(hands: Hands, record: ActionRecord, entry: Entry | None) -> _Look:
    """All that one has to read before the provider is asked."""
    contract = hands.contract_of(record, entry)
    why = rules.why_not_asked(record, None if entry is None else contract, hands.clock())
    if not why and hands.ledger.arguments(record.id) is None:
        why = "removed"
    return _Look(contract, why, tuple(hands.ledger.verify(record.id)))


def _log(row: Row) -> None:
    """One line for each action that was asked for: ids, codes and the provider's final count."""
    if row.said is Said.NOT_ASKED or not log.isEnabledFor(logging.INFO):
        return
    record = row.record
    line = {
        "event": "recount", "action": record.id, "tool": record.tool, "key": record.key,
        "state": str(record.state), "attempt": record.attempt, "sends": record.sends,
        "said": str(row.said), "count": row.count,
        "differences": [str(rule) for rule in row.differences],
    }  # fmt: skip
    log.info(json.dumps(line))


class _Pace:
    """Lets through so many a second."""

    def __init__(self, rate: float) -> None:
        self._step_s = 1.0 / rate
        self._next_at = 0.0

    async def wait(self) -> None:
        now = asyncio.get_running_loop().time()
        at = max(now, self._next_at)
        self._next_at = at + self._step_s
        if at > now:
            await asyncio.sleep(at - now)


def as_dict(found: Recount) -> dict[str, Any]:
    """For machines."""
    return {
        "scanned": found.scanned,
        "more": found.more,
        "asked": found.asked,
        "agrees": found.agrees,
        "differences": sum(len(row.differences) for row in found.rows),
        "unanswered": len(found.unanswered),
        "actions": [_row_as_dict(row) for row in found.rows],
    }


def _row_as_dict(row: Row) -> dict[str, Any]:
    record = row.record
    return {
        "action": record.id,
        "tool": record.tool,
        "key": record.key,
        "before": str(row.before),
        "state": str(record.state),
        "provider_ref": record.provider_ref,
        "disputed": bool(record.disputed),
        "review": record.review,
        "told": row.told,
        "provider": {
            "said": str(row.said),
            "ref": row.provider_ref,
            "count": row.count,
            "not_asked": row.why or None,
        },
        "settled": row.settled,
        "differences": [
            {"rule": str(rule), "sentence": rules.SENTENCES[rule]} for rule in row.differences
        ],
        "notes": list(row.notes),
    }
