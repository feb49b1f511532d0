"""Take up an action that nobody works on: after a crash, an expired lease, a spent turn."""

from __future__ import annotations

from ascertain.flow import pace
from ascertain.flow.effects import Flow, Setting, advance, inquire
from ascertain.flow.pursue import look_up, pursue
from ascertain.model.action import ActionRecord
from ascertain.model.operations import Advanced
from ascertain.model.rate import Ticket
from ascertain.model.tables import By, State
from ascertain.rules import evidence, fold
from ascertain.rules.budget import Turn
from ascertain.rules.moves import Move


def recover(
    setting: Setting, taken: ActionRecord, turn: Turn | None, ticket: Ticket | None = None
) -> Flow[ActionRecord]:
    """Go on with an action just leased.

    :param ticket: a turn at the provider that was taken with it, where a rate is declared.
    """
    record: ActionRecord | None = taken
    if taken.state is State.SENT:
        record = yield from _lose(setting, taken)
    if record is not None and record.suspect:
        record = yield from _clear(setting, record)
    if record is None:
        yield from pace.give_back(setting, ticket)
        return taken
    ended, _ = yield from pursue(setting, record, turn, ticket)
    return ended


def inspect(setting: Setting, taken: ActionRecord) -> Flow[ActionRecord]:
    """Ask the provider once because somebody wants to know; nothing is sent."""
    record: ActionRecord | None = taken
    if taken.state is State.SENT:
        record = yield from _lose(setting, taken)
    if record is None:
        return taken
    # somebody waits for it: like a caller it waits for a turn at the provider
    patience_s = min(setting.contract.budget.turn_s, setting.lease_s)
    going = yield from pace.go(setting, None, Turn(0, setting.clock() + patience_s))
    record, lost = yield from look_up(setting, record, None, going.ticket)
    if lost:
        return record
    due_at = None if record.terminal and record.due_at is None else setting.clock()
    reply = yield from advance(record, fold.hold(record, due_at=due_at, now=setting.clock()))
    return reply.record


def _lose(setting: Setting, taken: ActionRecord) -> Flow[ActionRecord | None]:
    """An expired lease is a lost answer. Never a reason to run again.

    Its sender became a suspect when the lease was taken over; one that is proven gone is none.
    """
    suspects = tuple(name for name in taken.suspect.split(",") if name)
    gone = (yield from inquire(suspects)) if suspects else frozenset[str]()
    left = ",".join(name for name in suspects if name not in gone)
    move = fold.lose(
        taken.changed(suspect=left),
        reason="lease_expired",
        suspect="",
        now=setting.clock(),
        by=By.WORKER,
        keep_lease=True,
    )
    return (yield from _write(taken, move))


def _clear(setting: Setting, record: ActionRecord) -> Flow[ActionRecord | None]:
    senders = tuple(record.suspect.split(","))
    gone = yield from inquire(senders)
    if not gone:
        return record
    return (yield from _write(record, evidence.clear_suspects(record, gone, now=setting.clock())))


def _write(before: ActionRecord, move: Move) -> Flow[ActionRecord | None]:
    reply = yield from advance(before, move)
    return reply.record if isinstance(reply, Advanced) else None
