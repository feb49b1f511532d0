"""Undo what is confirmed in a chain that goes back, each by an action of its own.

The action's own recovery drives it, under the action's lease. What reverses it has its own key and
its own states; the original is compensated only when that one is confirmed.
"""

from __future__ import annotations

import json
from typing import Any

from ascertain.errors import ArgumentsRemoved, UnknownTool
from ascertain.flow import pace
from ascertain.flow.effects import Flow, Setting, advance, picture, undo
from ascertain.model.action import ActionRecord
from ascertain.model.chain import Around
from ascertain.model.outcome import Report
from ascertain.model.tables import State
from ascertain.rules import chain, fold
from ascertain.rules.decide import Decision, Reason

UNDO_CASES = frozenset({Reason.UNDO_STUCK, Reason.IRREVERSIBLE, Reason.UNDO_TOO_LATE})
UNDO_LOOK_S = 5.0
NOT_HERE_S = 60.0

REMOVED = "undo_removed"
NO_PICTURE = "could not be read"
MOST_CHARACTERS = 4_000


def compensate(setting: Setting, record: ActionRecord, around: Around) -> Flow[ActionRecord]:
    """Begin or go on with the undo, and write what has come of it."""
    reversing = around.undo_of(record.id)
    if reversing is None or reversing.open:
        try:
            reversing = yield from undo(record, around)
        except UnknownTool as error:
            why = REMOVED if isinstance(error, ArgumentsRemoved) else "tool_unknown"
            return (yield from _not_known(setting, record, reversing, why))
    now = setting.clock()
    if reversing is None:
        move = fold.hold(record, due_at=now + NOT_HERE_S, now=now)
    elif reversing.state is State.CONFIRMED:
        move = chain.compensated(record, reversing, now)
    elif chain.not_started(reversing):
        move = fold.hold(record, due_at=None, now=now)  # the chain was stopped meanwhile
    elif chain.stuck(reversing) and record.review is None:
        return (yield from _case(setting, record, reversing, str(Reason.UNDO_STUCK)))
    else:
        # it has its own recovery, whose end wakes this one
        move = fold.hold(record, due_at=now + UNDO_LOOK_S, now=now)
    reply = yield from advance(record, move)
    return reply.record


def _not_known(
    setting: Setting, record: ActionRecord, reversing: ActionRecord | None, why: str
) -> Flow[ActionRecord]:
    """No process here can begin it: somebody is told, once."""
    if record.review is None:
        return (yield from _case(setting, record, reversing, why))
    reply = yield from advance(record, fold.hold(record, due_at=None, now=setting.clock()))
    return reply.record


def open_case(
    setting: Setting, record: ActionRecord, around: Around, decision: Decision
) -> Flow[ActionRecord]:
    """It cannot be undone by itself: hand it to a person, with what the provider shows now."""
    reversing = around.undo_of(record.id)
    return (yield from _case(setting, record, reversing, str(decision.reason)))


def _case(
    setting: Setting, record: ActionRecord, reversing: ActionRecord | None, reason: str
) -> Flow[ActionRecord]:
    report = None
    if reason != REMOVED:  # else nobody could tell the snapshot what to look for
        going = yield from pace.go(setting, None, None)
        if not going.may:
            move = fold.hold(record, due_at=going.at, now=setting.clock())
            return (yield from advance(record, move)).record
        report = yield from picture(record, setting.contract.budget.send_deadline_s)
        yield from pace.give_back(setting, going.ticket, report)
    move = chain.undo_case(
        record, reversing, reason=reason, snapshot=_shown(report), now=setting.clock()
    )
    reply = yield from advance(record, move)
    return reply.record


def _shown(report: Report | None) -> Any:
    """The picture as data; that there is none is said, never left out."""
    if report is None or report.error is not None or report.live:
        return NO_PICTURE
    try:
        text = json.dumps(report.value, allow_nan=False)
    except (TypeError, ValueError):
        return NO_PICTURE
    return json.loads(text) if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS]
