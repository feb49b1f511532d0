"""How PostgreSQL writes the rows of a batch: few statements, whatever the number of operations.

What stands for itself (most intents, most outcomes) goes in groups, one statement for all new
actions and one for all moves, with their events and payloads. What is checked beside an action, or
meets another operation of the same batch, is written by itself, in its place. A batch that is one
group is one round trip: it is committed with its last statement. What was not written then, since
it met something that is stored, has no reply yet: it is written by itself afterwards.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from ascertain.model.action import ActionRecord
from ascertain.model.epoch import ANOTHER_EPOCH, OfEpoch
from ascertain.store.batch import Batch, Prepared, Work
from ascertain.store.compact import compact_json
from ascertain.store.ledger import (
    Advance,
    Advanced,
    Blocked,
    Lost,
    Reply,
    Reserve,
    Reserved,
    Take,
)
from ascertain.store.names import chains_of, stands_on
from ascertain.store.postgres_columns import Columns
from ascertain.store.postgres_queries import ACTION, EVENT, MOVED, PAYLOAD
from ascertain.store.postgres_session import PostgresSession, Step
from ascertain.store.postgres_trip import Rows
from ascertain.store.rows import AT, MOVING, Values, plain
from ascertain.store.seal import EventRow, is_direct
from ascertain.store.tally import add

_FIRST_MOVING = AT[MOVING[0]]
_OF_ACTIONS = (Reserve, Advance)
_LEASE = ("owner", "until", "fence", "suspect", "id")


class PostgresForms:
    """Rows as they come into arrays."""

    def insert(self, record: ActionRecord) -> Values:
        """A row to insert."""
        return tuple(plain(record))

    def advance(self, before: ActionRecord, record: ActionRecord) -> Values:
        """A row to change, if it still stands as it did before."""
        return (record.id, before.n, before.fence, before.head, *plain(record)[_FIRST_MOVING:])


class _Part(NamedTuple):
    """Operations that are written together; or one, in its place."""

    work: Work
    together: bool


class PostgresBatch(Batch):
    """Begins its transaction with its first statements."""

    def __init__(self, session: PostgresSession, known_contracts: set[str], epoch: str) -> None:
        """:param epoch: of the ledger behind this session; a send of another one is not written."""
        super().__init__(session.run, known_contracts, may_start=True)
        self._epoch = epoch
        self._session = session
        self._opening: list[Step] | None = None

    def write_all(self, work: Work, replies: list[Reply | None]) -> None:
        """Write them in order, each with its reply."""
        work = [one for one in work if self._is_of_now(*one, replies)]
        if not work:
            return
        parts = list(self._parts(work))
        counting = self.tally is not None and self.tally.is_due
        if len(parts) == 1 and parts[0].together and not counting and not self._has_news(work):
            self._write_at_once(work, replies)
            return
        self._opening = self._locks(work, parts)
        for together, some in groupby(parts, key=attrgetter("together")):
            if together:
                for part in some:
                    self._write_group(part.work, replies)
                continue
            self._open()
            with self._session.flowing():
                for part in some:
                    ((place, prepared),) = part.work
                    replies[place] = self.write(prepared)
        rest = self._events or self._payloads or self.new_contracts or counting
        with self._session.flowing() if rest else nullcontext():
            self.flush()

    def _is_of_now(self, place: int, prepared: Prepared, replies: list[Reply | None]) -> bool:
        """Whether it was decided in this epoch; else it has its reply: to decide anew."""
        operation = prepared.operation
        if not isinstance(operation, _OF_ACTIONS) or operation.epoch in (None, self._epoch):
            return True
        if isinstance(operation, Reserve):
            replies[place] = Blocked(by=OfEpoch(), why=ANOTHER_EPOCH)
        else:
            replies[place] = Lost(record=operation.before, blocked=ANOTHER_EPOCH)
        return False

    def _parts(self, work: Work) -> Iterator[_Part]:
        """The operations in order: as many together as have nothing to do with each other."""
        group: Work = []
        touched: set[Hashable] = set()
        for place, prepared in work:
            keys = _keys(prepared)
            if _is_plain(prepared) and touched.isdisjoint(keys):
                group.append((place, prepared))
                touched.update(keys)
                continue
            if group:
                yield _Part(group, together=True)
            group, touched = [], set()
            yield _Part([(place, prepared)], together=False)
        if group:
            yield _Part(group, together=True)

    def _locks(self, work: Work, parts: Sequence[_Part]) -> list[Step]:
        """What comes first: to lock what the operations stand on, in one order whoever does it."""
        operations = [prepared.operation for _, prepared in work]
        chains = sorted({chain for operation in operations for chain in chains_of(operation)})
        apart = [part.work[0][1] for part in parts if not part.together]
        steps = _names(prepared for _, prepared in work)
        if apart:
            ids = sorted({one for operation in operations for one in _changed(operation)})
            if chains or len(ids) > 1:
                steps.append(("hold_all", (compact_json(ids), compact_json(chains))))
        wanted = [
            prepared.record.intent
            for prepared in apart
            if prepared.record is not None and isinstance(prepared.operation, Reserve)
        ]
        if wanted:
            steps.append(("intents_stored", (compact_json(wanted),)))
        return steps

    def _open(self) -> None:
        """Begin, unless a group has begun already."""
        steps, self._opening = self._opening, None
        if steps is not None:
            self._opened(steps, self._session.together(steps, begin=True))

    def _opened(self, steps: Sequence[Step], told: Sequence[Rows]) -> None:
        for (name, _), rows in zip(steps, told, strict=False):
            if name == "intents_stored":
                self._intents = {intent for (intent,) in rows}

    # ---------------------------------------------------------------------------------- in groups

    def _write_at_once(self, group: Work, replies: list[Reply | None]) -> None:
        """Write and commit in one round trip; what was not written has no reply."""
        for place, prepared in group:
            replies[place] = _reply(prepared)
        new = [prepared for _, prepared in group if isinstance(prepared.operation, Reserve)]
        before = _names(new)  # a plain move stands on nothing but its row
        self.in_doubt = True
        told = self._session.together([*before, *_steps(group)], begin=False)
        self.in_doubt = False
        done = self._done(told[len(before) :])
        for place, prepared in group:
            if not self._counted(prepared, done):
                replies[place] = None

    def _write_group(self, group: Work, replies: list[Reply | None]) -> None:
        """Write in the transaction, which begins with it unless it has begun."""
        opening, self._opening = self._opening, None
        before = opening or []
        assert opening is not None or self._session.in_transaction
        told = self._session.together([*before, *_steps(group)], begin=opening is not None)
        self._opened(before, told)
        done = self._done(told[len(before) :])
        for place, prepared in group:
            record, operation = prepared.record, prepared.operation
            assert record is not None
            if isinstance(operation, Reserve):
                self._intents.add(record.intent)  # there is one now, ours or the one that was first
            if not self._counted(prepared, done):
                replies[place] = self.write(prepared)
                continue
            replies[place] = _reply(prepared)
            if isinstance(operation, Reserve) and record.contract not in self._known_contracts:
                self.new_contracts[record.contract] = operation.contract_json

    def _has_news(self, work: Work) -> bool:
        """Whether there is a contract among them that the ledger may not have."""
        return any(
            prepared.record is not None
            and isinstance(prepared.operation, Reserve)
            and prepared.record.contract not in self._known_contracts
            for _, prepared in work
        )

    def _done(self, told: Sequence[Rows]) -> set[str]:
        """The actions that were written."""
        rows = [row for found in told for row in found]
        self._moved(rows)
        return {row[0] for row in rows}

    def _counted(self, prepared: Prepared, done: set[str]) -> bool:
        record, operation = prepared.record, prepared.operation
        assert record is not None
        assert isinstance(operation, _OF_ACTIONS)
        if record.id not in done:
            return False
        add(self.counts, record, operation.drafts)
        return True

    # ---------------------------------------------------------------------------------- one by one

    def _insert(self, statement: Values) -> bool:
        return bool(self._run("insert_action", ACTION.json([statement])))

    def _change(self, statement: Values) -> bool:
        rows = self._run("advance", MOVED.json([statement]))
        self._moved(rows)
        return bool(rows)

    def _moved(self, rows: Rows) -> None:
        """Whom to ring once it is committed."""
        for row in rows:
            if row[-1] == 1:
                self.waited.append(row[0])

    def _lease(self, leases: Sequence[Values]) -> None:
        if leases:
            ordered = sorted(leases, key=lambda lease: str(lease[-1]))
            self._run(
                "lease", compact_json([dict(zip(_LEASE, one, strict=True)) for one in ordered])
            )

    def _put_events(self, rows: Sequence[EventRow]) -> None:
        if rows:
            self._run("insert_event", EVENT.json(rows))

    def _put_payloads(self, rows: Sequence[Values]) -> None:
        if rows:
            self._run("put_payload", PAYLOAD.json(rows))


def _is_plain(prepared: Prepared) -> bool:
    """Whether nothing has to be read before it is written."""
    operation = prepared.operation
    if prepared.alone:
        return False
    match operation:
        case Reserve():
            return not operation.beside
        case Advance(before=before, after=after, drafts=drafts):
            direct = len(drafts) < 2 or is_direct(before.state, after.state)
            return direct and not operation.beside and operation.claim is None
        case _:
            return False


def _names(some: Iterable[Prepared]) -> list[Step]:
    """What locks all that these stand on by its name."""
    names = {name for prepared in some for name in stands_on(prepared.operation)}
    return [("lock_names", (compact_json(sorted(names)),))] if names else []


def _steps(group: Work) -> list[Step]:
    """The statements that write a group."""
    if len(group) == 1:
        return [_lone(group[0][1])]
    new = [one for _, one in group if isinstance(one.operation, Reserve)]
    moves = [one for _, one in group if isinstance(one.operation, Advance)]
    steps: list[Step] = []
    if new:
        steps.append(("write_new", _arrays(ACTION, new)))
    if moves:
        steps.append(("write_moves", _arrays(MOVED, moves)))
    return steps


def _lone(prepared: Prepared) -> Step:
    """The statement that writes one operation."""
    is_new = isinstance(prepared.operation, Reserve)
    return "write_one_new" if is_new else "write_one_move", (
        (ACTION if is_new else MOVED).json([prepared.statement]),
        EVENT.json(prepared.events),
        PAYLOAD.json(prepared.payloads),
    )


def _arrays(rows: Columns, group: Sequence[Prepared]) -> tuple[str, ...]:
    """All that a statement writes; its rows in the order in which they are locked."""
    events = [event for prepared in group for event in prepared.events]
    payloads = [payload for prepared in group for payload in prepared.payloads]
    return (
        *rows.literals([prepared.statement for prepared in sorted(group, key=_id)]),
        *EVENT.literals(events),
        *PAYLOAD.literals(payloads),
    )


def _reply(prepared: Prepared) -> Reply:
    assert prepared.record is not None
    if isinstance(prepared.operation, Reserve):
        return Reserved(record=prepared.record, via="new")
    return Advanced(record=prepared.record)


def _id(prepared: Prepared) -> str:
    assert prepared.record is not None
    return prepared.record.id


def _keys(prepared: Prepared) -> tuple[Hashable, ...]:
    """What an operation reads or writes: operations of one group have none in common."""
    record = prepared.record
    if record is None:
        return ()
    if record.call_id is None:
        return record.id, record.intent
    return record.id, record.intent, (record.session, record.tenant, record.call_id)


def _changed(operation: object) -> Iterator[str]:
    """The actions that an operation names."""
    match operation:
        case Advance():
            yield operation.before.id
        case Take() if operation.action_id is not None:
            yield operation.action_id
        case _:
            pass
