"""The ledger's record of one intent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from ascertain.model.outcome import Evidence, Kind
from ascertain.model.tables import Event, State, terminal

OVERRULED = 2
"""What ``disputed`` is once a person has found against the state; 1 while nobody has decided."""


class ActionRecord(NamedTuple):
    """One action as the ledger holds it; the field order is the column order.

    A tuple, because one is built for every row read on the hot path. Times are seconds of the
    ledger's clock. ``slot`` is the turn where the intent is once per session, else empty: with
    ``intent`` it is unique among live actions. ``n`` counts events and is what a concurrent writer
    must find unchanged; ``fence`` grows with every take-over. ``not_before_at`` bounds the next
    send and ``ask_at`` the next look-up; ``suspect`` names senders that were given up but may still
    be alive.
    """

    # who wishes what
    id: str
    tenant: str
    tool: str
    principal: str
    session: str
    opening: str
    turn: str
    slot: str
    chain: str
    call_id: str | None
    parent: str | None
    replaces: str | None
    intent: str
    ordinal: str
    exact: str
    wording: str
    key: str
    contract: str
    mode: str
    created_at: float
    send_by_at: float
    # what is known
    state: State = State.PREPARED
    final: int = 0
    kind: Kind | None = None
    reason: str = ""
    code: str | None = None
    attempt: int = 0
    sends: int = 0
    doubt: int = 0
    provider_ref: str | None = None
    related_ref: str | None = None
    handle: str | None = None
    evidence: Evidence = Evidence.NOT_ASKED
    asked: int = 0
    unanswered: int = 0
    refused: int = 0
    disputed: int = 0
    maybe_twice: int = 0
    review: str | None = None
    review_at: float | None = None
    # when
    updated_at: float = 0.0
    first_sent_at: float | None = None
    last_sent_at: float | None = None
    last_possible_at: float | None = None
    asked_at: float | None = None
    ask_at: float | None = None
    not_before_at: float | None = None
    due_at: float | None = None
    # who works on it
    lease_owner: str | None = None
    lease_until: float | None = None
    fence: int = 0
    suspect: str = ""
    # its history
    n: int = 0
    head: bytes = b""

    def changed(self, **changes: Any) -> ActionRecord:
        """The record with some fields changed; like ``_replace``, at a third of its cost.

        :raises KeyError: there is no such field.
        """
        return self.changed_by(changes)

    def changed_by(self, changes: Mapping[str, Any]) -> ActionRecord:
        """The same, for changes that are in one mapping already.

        :raises KeyError: there is no such field.
        """
        values = list(self)
        for name, value in changes.items():
            values[_AT[name]] = value
        return as_record(values)

    @property
    def terminal(self) -> bool:
        """Whether what is known can never be rewritten."""
        return terminal(self.state, final=bool(self.final))

    @property
    def overruled(self) -> bool:
        """Whether a person found the opposite of what is settled, and closed the case.

        The state is never rewritten; what is said follows what was found.
        """
        return self.disputed == OVERRULED

    @property
    def open(self) -> bool:
        """Whether the action still has to end in a known truth."""
        return not self.terminal


# `_make` at half its cost: without its check of the length, which is right by construction.
as_record: Callable[[Iterable[Any]], ActionRecord]
as_record = partial(tuple.__new__, ActionRecord)  # pyright: ignore[reportUnknownMemberType]
_AT = {name: place for place, name in enumerate(ActionRecord._fields)}


class Draft(NamedTuple):
    """An event about to be written: the move and why. The store adds number, time and hash."""

    start: State | None
    event: Event
    end: State
    by: str
    reason: str
    attempt: int
    detail: dict[str, Any]


class EventRecord(NamedTuple):
    """An event as written. ``detail`` is opaque JSON; ``hash`` chains to the event before it."""

    action_id: str
    n: int
    start: str | None
    event: str
    end: str
    by: str
    reason: str
    attempt: int
    fence: int
    at: float
    detail: str
    hash: bytes
