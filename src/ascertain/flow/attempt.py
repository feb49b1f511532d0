"""One attempt, from a durable ``send`` to a recorded outcome."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ascertain.errors import (
    ActionNotFound,
    AscertainError,
    IllegalTransition,
    LedgerClosed,
    LedgerCorrupt,
    LedgerNewer,
)
from ascertain.flow import pace
from ascertain.flow.effects import Flow, Setting, advance, invoke, pause, relate, tell
from ascertain.model.action import ActionRecord
from ascertain.model.epoch import Epoch
from ascertain.model.operations import Advanced, Beside, Contested, Lost
from ascertain.model.outcome import Effect, Outcome, Report
from ascertain.model.rate import Ticket
from ascertain.model.tables import By, State
from ascertain.model.words import Items
from ascertain.rules import evidence, fold, lost
from ascertain.rules.budget import Turn, backoff_s
from ascertain.rules.context import brought_by
from ascertain.rules.moves import FREE, Move
from ascertain.rules.news.classify import classify

OBSERVED = "observe"

NOT_RECORDED = "answer_not_recorded"
LEDGER_SILENT = "ledger_silent"
RETRY_FIRST_S, RETRY_MOST_S = 0.05, 1.0
# Trying again is of no use.
_HOPELESS = (ActionNotFound, IllegalTransition, LedgerClosed, LedgerCorrupt, LedgerNewer)


class Landed(NamedTuple):
    """The action after the attempt, the news, and whether the flow must stop here."""

    record: ActionRecord
    report: Report
    outcome: Outcome
    stop: bool


def make_attempt(
    setting: Setting, record: ActionRecord, turn: Turn | None, ticket: Ticket | None = None
) -> Flow[Landed]:
    """Run the body for an attempt that is durable, and record what it taught us.

    :param ticket: its turn at the provider, where a rate is declared.
    """
    budget = setting.contract.budget
    deadline_s = budget.send_deadline_s
    if turn is not None:
        deadline_s = max(0.0, min(deadline_s, turn.until - setting.clock()))
    report = yield from invoke(record, deadline_s)
    answered_at = setting.clock()
    outcome = classify(report, setting.contract, now=answered_at)
    over = pace.answered(setting, ticket, report, answered_at)
    if outcome.related_ref is not None and not (yield from relate(record, outcome.related_ref)):
        outcome = outcome._replace(related_ref=None)  # somebody else's record is not told
    landed = yield from land(setting, record, report, outcome, turn, over)
    stop = report.interrupt is not None or landed.lease_owner != setting.sender
    return Landed(landed, report, outcome, stop)


def land(
    setting: Setting,
    record: ActionRecord,
    report: Report,
    outcome: Outcome,
    turn: Turn | None = None,
    over: tuple[Beside, ...] = (),
) -> Flow[ActionRecord]:
    """Write the outcome of ``record``'s attempt on its own action, however late it comes.

    :param over: what is written beside it because the request is over.

    Where the ledger does not take it, the action is returned as unknown, with the reason
    ``answer_not_recorded`` and no lease: nobody goes on from what is not written.
    """
    mine = record
    while True:
        epoch = setting.epoch()
        move = _judge(setting, mine, record, report, outcome, turn, epoch)
        if mine.mode == OBSERVED:
            move = move._replace(after=move.after.changed(due_at=None))  # nobody acts on it
        told = outcome.effect is Effect.CONFIRMED or isinstance(report.value, Items)
        result = report.result if told else None
        beside = over
        if setting.contract.provides:
            beside = (*over, *brought(setting, record, move, result))
        try:
            reply = yield from advance(record, move, result, beside=beside, epoch=epoch.id)
            if isinstance(reply, Contested):
                # ours by the provider's own answer; then it is tried again
                yield from _contradict(setting, mine, reply, outcome)
        except AscertainError as error:
            written = partial(advance, record, move, result, beside=beside, epoch=epoch.id)
            insisted = yield from _insist(setting, mine, move, written, error)
            if isinstance(insisted, AscertainError):
                return (yield from _give_up(record, mine, outcome, insisted))
            reply = insisted
        if isinstance(reply, Advanced):
            return reply.record
        record = reply.record


def brought(
    setting: Setting, record: ActionRecord, move: Move, result: str | None
) -> tuple[Beside, ...]:
    """What a move brings to its session: what the tool provides, once it is confirmed."""
    brings = brought_by(
        setting.contract, record, move.after, result,
        limit_bytes=setting.context_limit_bytes, now=setting.clock(),
    )  # fmt: skip
    return () if brings is None else (brings,)


def _contradict(
    setting: Setting, mine: ActionRecord, contest: Contested, outcome: Outcome
) -> Flow[None]:
    """Another action was given what is ours; that one is disputed before we are written.

    If we die in between, it stays disputed and ours stays unknown: nobody says too much.
    """
    assert outcome.provider_ref is not None  # it was claimed
    move = evidence.contradicted(
        contest.other, provider_ref=outcome.provider_ref, owner=mine.id, now=setting.clock()
    )
    yield from advance(contest.other, move)


def told_without_ledger(record: ActionRecord, error: AscertainError) -> Flow[ActionRecord]:
    """What a caller is told when the ledger fails in the middle of its turn: what is known so far.

    Unknown, where an effect may be under way: an exception would be read as "nothing happened".

    :raises AscertainError: the same one, where nothing at all has been sent.
    """
    if record.state is State.PREPARED:
        raise error
    yield from tell(record, LEDGER_SILENT, {"state": str(record.state), "ledger": error.code})
    known = State.UNKNOWN if record.state is State.SENT else record.state
    return record.changed(state=known, reason=LEDGER_SILENT, **FREE)


def sender_of(setting: Setting, record: ActionRecord) -> str:
    """The name under which this attempt's sender is suspected while it may be alive."""
    return f"{setting.sender}#{record.attempt}"


def _insist(
    setting: Setting,
    mine: ActionRecord,
    move: Move,
    written: Callable[[], Flow[Advanced | Lost | Contested]],
    error: AscertainError,
) -> Flow[Advanced | Lost | Contested | AscertainError]:
    """Try to write the same again while our lease lasts; returns the last error where that ends.

    An observed caller is never held, and neither is one that was interrupted.
    """
    until = mine.lease_until if mine.mode != OBSERVED else None
    wait_s = RETRY_FIRST_S
    while until is not None and not isinstance(error, _HOPELESS):
        left_s = until - setting.clock()
        if left_s <= 0 or not (yield from pause(min(left_s, wait_s * (0.5 + setting.dice() / 2)))):
            break
        wait_s = min(RETRY_MOST_S, 2 * wait_s)
        try:
            reply = yield from written()
        except AscertainError as again:
            error = again
            continue
        if _stands(move.after, reply.record):
            return Advanced(record=reply.record)  # now, or when the error came
        return reply
    return error


def _give_up(
    record: ActionRecord, mine: ActionRecord, outcome: Outcome, error: AscertainError
) -> Flow[ActionRecord]:
    """Only the operator's log keeps the answer; the caller is told no more than is written."""
    said = {
        "effect": outcome.effect, "reason": outcome.reason, "provider_ref": outcome.provider_ref,
        "related_ref": outcome.related_ref, "handle": outcome.handle, "code": outcome.code,
        "ledger": error.code,
    }  # fmt: skip
    yield from tell(mine, NOT_RECORDED, {name: str(one) for name, one in said.items() if one})
    if record.state in (State.SENT, State.UNKNOWN):
        return record.changed(state=State.UNKNOWN, reason=NOT_RECORDED, **FREE)
    return record  # somebody else has settled it, which stands


def _stands(written: ActionRecord, found: ActionRecord) -> bool:
    """Whether the ledger holds what we wrote (it numbers and chains the events itself)."""
    return written.changed(n=found.n, head=found.head) == found


def _judge(
    setting: Setting,
    mine: ActionRecord,
    record: ActionRecord,
    report: Report,
    outcome: Outcome,
    turn: Turn | None,
    epoch: Epoch,
) -> Move:
    now = setting.clock()
    sender = sender_of(setting, mine)
    before = lost.is_of_before(mine.last_sent_at, epoch)
    # in a history that has lost a part, attempts and leases are numbered once more
    current = record.state is State.SENT and (
        (record.attempt, record.fence, record.last_sent_at)
        == (mine.attempt, mine.fence, mine.last_sent_at)
    )  # fmt: skip
    if not current:
        return evidence.late(
            record,
            setting.contract,
            outcome,
            attempt=mine.attempt,
            sender=sender,
            now=now,
            live=report.live,
            sent_at=mine.last_sent_at,
            before=before,
        )
    wait_s = backoff_s(setting.contract, record.attempt, setting.dice())
    if report.live:
        return fold.lose(
            record, reason=outcome.reason, suspect=sender, now=now, by=By.CALL, wait_s=wait_s
        )
    known = lost.not_alone(record, outcome) if before else record
    move = fold.settle(known, setting.contract, outcome, now=now, wait_s=wait_s)
    if move.after.open and report.interrupt is None and turn is not None:
        # the turn goes on: keep the lease, so that no worker starts beside us
        until = turn.until + setting.lease_s
        after = move.after.changed(lease_owner=setting.sender, lease_until=until, due_at=until)
        return move._replace(after=after)
    return move
