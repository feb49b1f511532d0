"""One transaction of an SQLite ledger: operations in, replies out."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

from ascertain.errors import ActionNotFound, IllegalTransition, LedgerFull
from ascertain.model.action import ActionRecord
from ascertain.model.tables import Event
from ascertain.rules import fold
from ascertain.rules.identity import match
from ascertain.rules.mac import Mac
from ascertain.store import claims
from ascertain.store.beside import ALONE, ROOMS
from ascertain.store.compact import compact_json
from ascertain.store.ledger import (
    Advance,
    Advanced,
    Alone,
    Beside,
    Blocked,
    Lost,
    MustReplace,
    Operation,
    Reply,
    Reserve,
    Reserved,
    Take,
    Taken,
    Told,
)
from ascertain.store.rows import RowStatement, Values, plain, same_identity, to_record, with_chain
from ascertain.store.seal import (
    GENESIS,
    EventRow,
    check_moves,
    commitment,
    is_direct,
    seal_events,
)
from ascertain.store.sqlite_file import QUERIES, insert_many, run

SALT_BYTES = 16

_INSERT = RowStatement(QUERIES["insert_action"])
_ADVANCE = RowStatement(QUERIES["advance"], "before_n", "before_fence")


class Prepared(NamedTuple):
    """An operation with all that can be worked out before the ledger is locked."""

    operation: Operation
    record: ActionRecord | None = None
    statement: tuple[str, Values] | None = None
    events: Sequence[EventRow] = ()
    payloads: Sequence[Values] = ()
    starts: bool = False


def prepare_all(
    mac: Mac, operations: Sequence[Operation], replies: list[Reply | None]
) -> list[tuple[int, Prepared]]:
    """Check and seal operations; one that cannot be written gets its error as reply.

    :param mac: of the chain.
    :returns: the others, each with its place.
    """
    work: list[tuple[int, Prepared]] = []
    salts = os.urandom(SALT_BYTES * len(operations))
    for place, operation in enumerate(operations):
        salt = salts[SALT_BYTES * place : SALT_BYTES * (place + 1)]
        try:
            work.append((place, _prepare(mac, salt, operation)))
        except Exception as error:
            replies[place] = error
    return work


def _prepare(mac: Mac, salt: bytes, operation: Operation) -> Prepared:
    match operation:
        case Advance():
            return _prepare_advance(mac, salt, operation)
        case Reserve():
            return _prepare_reserve(mac, salt, operation)
        case Take() | Alone():
            return Prepared(operation)


def _prepare_reserve(mac: Mac, salt: bytes, operation: Reserve) -> Prepared:
    record, drafts = operation.record, operation.drafts
    check_moves(None, record, drafts)
    arguments, payloads = _payload(record.id, "args", salt, operation.arguments)
    result = b""
    if operation.result is not None:
        if len(drafts) < 2:
            raise IllegalTransition(f"Action {record.id}: a result comes with an event of its own.")
        result, more = _payload(record.id, "result", os.urandom(SALT_BYTES), operation.result)
        payloads += more
    events, head = seal_events(mac, record, drafts, 0, GENESIS, arguments=arguments, result=result)
    record = with_chain(record, len(drafts), head)
    statement = _INSERT.bind(plain(record))
    return Prepared(operation, record, statement, events, payloads, starts=record.open)


def _prepare_advance(mac: Mac, salt: bytes, operation: Advance) -> Prepared:
    before, record, drafts = operation.before, operation.after, operation.drafts
    if not same_identity(before, record):
        raise IllegalTransition(f"Action {before.id}: what is fixed at birth does not change.")
    check_moves(before, record, drafts)
    result: bytes = b""
    payloads: tuple[Values, ...] = ()
    starts = False
    if operation.result is not None:
        if not drafts:
            raise IllegalTransition(f"Action {before.id}: a result comes only with an event.")
        result, payloads = _payload(record.id, "result", salt, operation.result)
    n, head = before.n, before.head
    events, head = seal_events(mac, record, drafts, n, head, result=result)
    record = with_chain(record, n + len(drafts), head)
    values = plain(record)
    values += (n, before.fence)
    for draft in drafts:
        starts |= draft.event is Event.SEND
    statement = _ADVANCE.bind(values, final_changes=before.final != record.final)
    return Prepared(operation, record, statement, events, payloads, starts)


def _payload(action_id: str, what: str, salt: bytes, body: str) -> tuple[bytes, tuple[Values, ...]]:
    """The commitment of a payload, and its row."""
    return commitment(salt, body), ((action_id, what, bytearray(salt), body),)


class Batch:
    """Operations being written inside a transaction that the caller begins and ends."""

    def __init__(
        self, db: sqlite3.Connection, known_contracts: set[str], *, may_start: bool
    ) -> None:
        """:param may_start: whether there is room for anything that would be sent."""
        self._db = db
        self._known_contracts = known_contracts
        self._may_start = may_start
        self._intents: set[str] = set()
        self._events: list[EventRow] = []
        self._payloads: list[Values] = []
        self.new_contracts: set[str] = set()

    def look(self, work: Sequence[tuple[int, Prepared]]) -> None:
        """See which of the intents that are to be stored are known; asked once for all."""
        wanted = [
            prepared.record.intent
            for _, prepared in work
            if prepared.record is not None and isinstance(prepared.operation, Reserve)
        ]
        if wanted:
            rows = run(self._db, "intents_stored", compact_json(wanted))
            self._intents = {intent for (intent,) in rows}

    def write(self, prepared: Prepared) -> Reply:
        """Write one operation, all but its events and payload; returns its reply."""
        operation = prepared.operation
        if prepared.starts and not self._may_start and isinstance(operation, Advance):
            return _no_room()
        match operation:
            case Advance():
                return self._advance(operation, prepared)
            case Reserve():
                return self._reserve(operation, prepared)
            case Take():
                return self._take(operation)
            case Alone():
                return Told(value=ALONE[type(operation)](self._ask, operation))

    def flush(self) -> None:
        """Write the events and payloads of all."""
        insert_many(self._db, "insert_event", self._events)
        insert_many(self._db, "put_payload", self._payloads)

    # ------------------------------------------------------------------------------------ reserve

    def _reserve(self, operation: Reserve, prepared: Prepared) -> Reply:
        record = prepared.record
        assert record is not None
        assert prepared.statement is not None
        if prepared.starts and not self._may_start:
            return self._stored(record) or _no_room()
        if record.intent in self._intents:
            stored = self._stored(record)
            if stored is not None:
                return stored
        if operation.beside:
            blocked = self._blocking(record, operation.beside)
            if blocked is not None:
                return blocked
        if not self._db.execute(*prepared.statement).rowcount:
            return self._stored(record) or IllegalTransition(f"Action {record.id} exists already.")
        self._intents.add(record.intent)
        if record.contract not in self._known_contracts:
            run(self._db, "put_contract", record.contract, operation.contract_json)
            self.new_contracts.add(record.contract)
        self._write_beside(record, operation.beside)
        self._keep(prepared)
        return Reserved(record=record, via="new")

    def _stored(self, wanted: ActionRecord) -> Reply | None:
        if wanted.call_id is not None:
            call = (wanted.session, wanted.tenant, wanted.call_id)
            row = run(self._db, "by_call_id", *call).fetchone()
            if row is not None:
                return Reserved(record=to_record(row), via="call_id")
        rows = run(self._db, "by_intent", wanted.intent).fetchall()
        found, via = match(wanted, [to_record(row) for row in rows])
        if found is None:
            return None
        if via == "replace":
            return MustReplace(previous=found)
        return Reserved(record=found, via=via)

    # ------------------------------------------------------------------------------------ advance

    def _advance(self, operation: Advance, prepared: Prepared) -> Reply:
        before, record = operation.before, prepared.record
        assert record is not None
        assert prepared.statement is not None
        if operation.beside:
            blocked = self._blocking(before, operation.beside)
            if blocked is not None:
                row = run(self._db, "by_id", before.id).fetchone()
                return Lost(record=to_record(row) if row else before, blocked=blocked.why)
        if operation.claim is not None:
            contested = claims.contest(self._ask, before, operation.claim)
            if contested is not None:
                return contested
        if len(operation.drafts) > 1 and not is_direct(before.state, record.state):
            for draft in operation.drafts[:-1]:
                if draft.start is not draft.end:
                    run(
                        self._db, "pass_through", draft.end.value, before.id, before.n, before.fence
                    )
        if not self._db.execute(*prepared.statement).rowcount:
            row = run(self._db, "by_id", before.id).fetchone()
            if row is None:
                return ActionNotFound(f"There is no action {before.id} in the ledger.")
            return Lost(record=to_record(row))
        self._write_beside(record, operation.beside)
        if operation.claim is not None:
            claims.keep(self._ask, record, operation.claim)
        self._keep(prepared)
        return Advanced(record=record)

    # --------------------------------------------------------------------------------------- take

    def _take(self, operation: Take) -> Taken:
        now, until = operation.now, operation.lease_until
        tools = None if operation.tools is None else compact_json(sorted(operation.tools))
        gone = compact_json(sorted(operation.gone)) if operation.gone else None
        if operation.action_id is None:
            rows = run(self._db, "due", now, tools, operation.limit).fetchall()
            left = operation.limit - len(rows)
            if gone is not None and left > 0:
                rows += run(self._db, "due_of_gone", gone, now, tools, left).fetchall()
        else:
            one = operation.action_id
            rows = run(self._db, "due_one", one, now, gone or "[]", tools).fetchall()
        previous = tuple(to_record(row) for row in rows)
        records = tuple(
            fold.take(record, owner=operation.owner, until=until) for record in previous
        )
        for record in records:
            run(self._db, "lease", operation.owner, until, record.fence, record.suspect, record.id)
        return Taken(records=records, previous=previous)

    # ------------------------------------------------------------------------------------- beside

    def _blocking(self, record: ActionRecord, beside: Sequence[Beside]) -> Blocked | None:
        """The first of these that does not hold just now."""
        for one in beside:
            why = ROOMS[type(one)].blocks(self._ask, record, one)
            if why:
                return Blocked(by=one, why=why)
        return None

    def _write_beside(self, record: ActionRecord, beside: Sequence[Beside]) -> None:
        for one in beside:
            ROOMS[type(one)].write(self._ask, record, one)

    def _ask(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        return run(self._db, name, *values).fetchall()

    def _keep(self, prepared: Prepared) -> None:
        self._events.extend(prepared.events)
        self._payloads.extend(prepared.payloads)


def _no_room() -> LedgerFull:
    return LedgerFull("Less space is free than the ledger's floor; nothing new is begun.")
