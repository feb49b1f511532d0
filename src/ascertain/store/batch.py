"""One transaction of a ledger: operations in, replies out; the order of work for every backend."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ascertain.errors import ActionNotFound, IllegalTransition, LedgerFull
from ascertain.model.action import ActionRecord, Draft
from ascertain.model.tables import Event
from ascertain.rules.identity import match
from ascertain.rules.mac import Mac
from ascertain.store import claims
from ascertain.store.access import Run, first
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
    Told,
)
from ascertain.store.rows import Values, same_identity, to_record, with_chain
from ascertain.store.seal import (
    GENESIS,
    EventRow,
    check_moves,
    commitment,
    is_direct,
    seal_events,
)
from ascertain.store.taking import take
from ascertain.store.tally import Counts, Tally, add, put

SALT_BYTES = 16
_NUL, _REPLACED = "\0", "\ufffd"
_TOLD = ("provider_ref", "related_ref", "handle", "code")

Work = list[tuple[int, "Prepared"]]
"""Operations that can be written, each with its place among those that were submitted."""


class Prepared(NamedTuple):
    """An operation with all that can be worked out before the ledger is locked.

    :param statement: what the backend made of the row.
    :param alone: to be written by itself: among others it was not, since it meets what is stored.
    """

    operation: Operation
    record: ActionRecord | None = None
    statement: Any = None
    events: Sequence[EventRow] = ()
    payloads: Sequence[Values] = ()
    starts: bool = False
    alone: bool = False


class Forms(Protocol):
    """How a backend writes a row; worked out before the ledger is locked."""

    def insert(self, record: ActionRecord, /) -> Any:
        """A row to insert."""
        ...

    def advance(self, before: ActionRecord, record: ActionRecord, /) -> Any:
        """A row to change, if it still stands as it did before."""
        ...


def prepare_all(
    mac: Mac, forms: Forms, operations: Sequence[Operation], replies: list[Reply | None]
) -> Work:
    """Check and seal operations; one that cannot be written gets its error as reply.

    :param mac: of the chain.
    :returns: the others, each with its place.
    """
    work: Work = []
    salts = os.urandom(SALT_BYTES * len(operations))
    for place, operation in enumerate(operations):
        salt = salts[SALT_BYTES * place : SALT_BYTES * (place + 1)]
        try:
            work.append((place, _prepare(mac, forms, salt, operation)))
        except Exception as error:
            replies[place] = error
    return work


def _prepare(mac: Mac, forms: Forms, salt: bytes, operation: Operation) -> Prepared:
    match operation:
        case Advance():
            return _prepare_advance(mac, forms, salt, operation)
        case Reserve():
            return _prepare_reserve(mac, forms, salt, operation)
        case Take() | Alone():
            return Prepared(operation)


def _prepare_reserve(mac: Mac, forms: Forms, salt: bytes, operation: Reserve) -> Prepared:
    record, drafts = storable(operation.record), operation.drafts
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
    statement = forms.insert(record)
    return Prepared(operation, record, statement, events, payloads, starts=record.open)


def _prepare_advance(mac: Mac, forms: Forms, salt: bytes, operation: Advance) -> Prepared:
    before, record, drafts = operation.before, storable(operation.after), operation.drafts
    claim = operation.claim
    if claim is not None and _NUL in claim.provider_ref:
        ref = claim.provider_ref.replace(_NUL, _REPLACED)
        operation = operation._replace(claim=claim._replace(provider_ref=ref))
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
    for draft in drafts:
        starts |= draft.event is Event.SEND
    statement = forms.advance(before, record)
    return Prepared(operation, record, statement, events, payloads, starts)


def storable(record: ActionRecord) -> ActionRecord:
    """The record without the one character that not every database can keep in a text.

    It can only come from a provider; an answer must not be lost for it.
    """
    if _NUL not in f"{record.provider_ref}{record.related_ref}{record.handle}{record.code}":
        return record
    told = {name: getattr(record, name) for name in _TOLD}
    return record.changed_by({
        name: text.replace(_NUL, _REPLACED) for name, text in told.items() if text is not None
    })  # fmt: skip


def _payload(action_id: str, what: str, salt: bytes, body: str) -> tuple[bytes, tuple[Values, ...]]:
    """The commitment of a payload, and its row."""
    return commitment(salt, body), ((action_id, what, bytearray(salt), body),)


class Batch(ABC):
    """Operations being written inside a transaction that the caller begins and ends.

    :ivar in_doubt: a backend that commits with its last statement is just doing so: an error now
        does not say that nothing was written.
    """

    in_doubt = False

    tally: Tally | None = None
    """What this process counts for those who watch."""

    def __init__(self, run: Run, known_contracts: set[str], *, may_start: bool) -> None:
        """:param may_start: whether there is room for anything that would be sent."""
        self._run = run
        self._known_contracts = known_contracts
        self._may_start = may_start
        self._intents: set[str] = set()
        self._events: list[EventRow] = []
        self._payloads: list[Values] = []
        self.new_contracts: dict[str, str] = {}
        self.counts: Counts = Counter()
        self.counts_written: Counts = Counter()
        self.waited: list[str] = []
        """Actions moved for whose news somebody waits."""

    # -------------------------------------------------------------- what a backend does its own way

    @abstractmethod
    def _insert(self, statement: Any) -> bool:
        """Insert an action; False: its call id is known, or a live action has its slot."""

    @abstractmethod
    def _change(self, statement: Any) -> bool:
        """Change an action; False: it does not stand as it did."""

    @abstractmethod
    def _lease(self, leases: Sequence[Values]) -> None:
        """Give each action (owner, until, fence, suspect, id) its lease."""

    @abstractmethod
    def _put_events(self, rows: Sequence[EventRow]) -> None: ...
    @abstractmethod
    def _put_payloads(self, rows: Sequence[Values]) -> None: ...

    # ----------------------------------------------------------------------------------------------

    def write_all(self, work: Work, replies: list[Reply | None]) -> None:
        """Write them in order, each with its reply.

        A backend may leave some without one: those are to be written by themselves.
        """
        self.look(work)
        for place, prepared in work:
            replies[place] = self.write(prepared)
        self.flush()

    def look(self, work: Work) -> None:
        """See which of the intents that are to be stored are known; asked once for all."""
        wanted = [
            prepared.record.intent
            for _, prepared in work
            if prepared.record is not None and isinstance(prepared.operation, Reserve)
        ]
        if wanted:
            rows = self._run("intents_stored", compact_json(wanted))
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
                return take(self._run, self._lease, operation)
            case Alone():
                return Told(value=ALONE[type(operation)](self._run, operation))

    def flush(self) -> None:
        """Write the events, payloads and contracts of all, and what has been counted."""
        self._put_events(self._events)
        self._put_payloads(self._payloads)
        for digest in sorted(self.new_contracts):  # in one order, whoever writes them
            self._run("put_contract", digest, self.new_contracts[digest])
        if self.tally is not None:
            self.counts_written = self.tally.due(self.counts)
            put(self._run, self.counts_written)

    # ------------------------------------------------------------------------------------ reserve

    def _reserve(self, operation: Reserve, prepared: Prepared) -> Reply:
        record = prepared.record
        assert record is not None
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
        if not self._insert(prepared.statement):
            return self._stored(record) or IllegalTransition(f"Action {record.id} exists already.")
        self._intents.add(record.intent)
        if record.contract not in self._known_contracts:
            self.new_contracts[record.contract] = operation.contract_json
        told = self._write_beside(record, operation.beside)
        self._keep(record, operation.drafts, prepared)
        return Reserved(record, "new", told)

    def _stored(self, wanted: ActionRecord) -> Reply | None:
        if wanted.call_id is not None:
            call = (wanted.session, wanted.tenant, wanted.call_id)
            row = first(self._run("by_call_id", *call))
            if row is not None:
                return Reserved(record=to_record(row), via="call_id")
        rows = self._run("by_intent", wanted.intent)
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
        if operation.beside:
            blocked = self._blocking(before, operation.beside)
            if blocked is not None:
                row = first(self._run("by_id", before.id))
                return Lost(record=to_record(row) if row else before, blocked=blocked.why)
        if operation.claim is not None:
            contested = claims.contest(self._run, before, operation.claim)
            if contested is not None:
                return contested
        if len(operation.drafts) > 1 and not is_direct(before.state, record.state):
            for draft in operation.drafts[:-1]:
                if draft.start is not draft.end:
                    through = (draft.end.value, before.id, before.n, before.fence)
                    self._run("pass_through", *through)
        if not self._change(prepared.statement):
            row = first(self._run("by_id", before.id))
            if row is None:
                return ActionNotFound(f"There is no action {before.id} in the ledger.")
            return Lost(record=to_record(row))
        told = self._write_beside(record, operation.beside)
        if operation.claim is not None:
            claims.keep(self._run, record, operation.claim)
        self._keep(record, operation.drafts, prepared)
        return Advanced(record, told)

    # ------------------------------------------------------------------------------------- beside

    def _blocking(self, record: ActionRecord, beside: Sequence[Beside]) -> Blocked | None:
        """The first of these that does not hold just now."""
        for one in beside:
            why = ROOMS[type(one)].blocks(self._run, record, one)
            if why:
                return Blocked(by=one, why=why)
        return None

    def _write_beside(self, record: ActionRecord, beside: Sequence[Beside]) -> tuple[Any, ...]:
        told: tuple[Any, ...] = ()
        for one in beside:
            told += ROOMS[type(one)].write(self._run, record, one) or ()
        return told

    def _keep(self, record: ActionRecord, drafts: Sequence[Draft], prepared: Prepared) -> None:
        add(self.counts, record, drafts)
        self._events.extend(prepared.events)
        self._payloads.extend(prepared.payloads)


def _no_room() -> LedgerFull:
    return LedgerFull("Less space is free than the ledger's floor; nothing new is begun.")
