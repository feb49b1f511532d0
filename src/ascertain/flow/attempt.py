"""One attempt, from a durable ``send`` to a recorded outcome."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ascertain.flow.effects import Flow, Setting, advance, invoke, relate
from ascertain.model.action import ActionRecord
from ascertain.model.operations import Advanced
from ascertain.model.outcome import Effect, Outcome, Report
from ascertain.model.tables import By, State
from ascertain.rules import evidence, fold
from ascertain.rules.budget import Turn, backoff_s
from ascertain.rules.moves import Move
from ascertain.rules.news.classify import classify

OBSERVED = "observe"


@dataclass(frozen=True, slots=True)
class Landed:
    """The action after the attempt, the news, and whether the flow must stop here."""

    record: ActionRecord
    report: Report
    outcome: Outcome
    stop: bool


def make_attempt(setting: Setting, record: ActionRecord, turn: Turn | None) -> Flow[Landed]:
    """Run the body for an attempt that is durable, and record what it taught us."""
    budget = setting.contract.budget
    deadline_s = budget.send_deadline_s
    if turn is not None:
        deadline_s = max(0.0, min(deadline_s, turn.until - setting.clock()))
    report = yield from invoke(record, deadline_s)
    outcome = classify(report, setting.contract, now=setting.clock())
    if outcome.related_ref is not None and not (yield from relate(record, outcome.related_ref)):
        outcome = replace(outcome, related_ref=None)  # somebody else's record is not told
    landed = yield from land(setting, record, report, outcome, turn)
    stop = report.interrupt is not None or landed.lease_owner != setting.sender
    return Landed(landed, report, outcome, stop)


def land(
    setting: Setting,
    record: ActionRecord,
    report: Report,
    outcome: Outcome,
    turn: Turn | None = None,
) -> Flow[ActionRecord]:
    """Write the outcome of ``record``'s attempt on its own action, however late it comes."""
    mine = record
    while True:
        move = _judge(setting, mine, record, report, outcome, turn)
        if mine.mode == OBSERVED:
            move = move._replace(after=move.after.changed(due_at=None))  # nobody acts on it
        result = report.result if outcome.effect is Effect.CONFIRMED else None
        reply = yield from advance(record, move, result)
        if isinstance(reply, Advanced):
            return reply.record
        record = reply.record


def sender_of(setting: Setting, record: ActionRecord) -> str:
    """The name under which this attempt's sender is suspected while it may be alive."""
    return f"{setting.sender}#{record.attempt}"


def _judge(
    setting: Setting,
    mine: ActionRecord,
    record: ActionRecord,
    report: Report,
    outcome: Outcome,
    turn: Turn | None,
) -> Move:
    now = setting.clock()
    sender = sender_of(setting, mine)
    current = record.state is State.SENT and (record.attempt, record.fence) == (
        mine.attempt,
        mine.fence,
    )
    if not current:
        return evidence.late(
            record, setting.contract, outcome, attempt=mine.attempt, sender=sender, now=now
        )
    if report.live:
        return fold.lose(record, reason=outcome.reason, suspect=sender, now=now, by=By.CALL)
    wait_s = backoff_s(setting.contract, record.attempt, setting.dice())
    move = fold.settle(record, setting.contract, outcome, now=now, wait_s=wait_s)
    if move.after.open and report.interrupt is None and turn is not None:
        # the turn goes on: keep the lease, so that no worker starts beside us
        until = turn.until + setting.lease_s
        after = move.after.changed(lease_owner=setting.sender, lease_until=until, due_at=until)
        return move._replace(after=after)
    return move
