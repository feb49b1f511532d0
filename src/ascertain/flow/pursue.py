"""Drive an action under our lease until it ends, its turn does, or something is due later.

The caller's turn and the worker's pass run the same loop; only their patience differs.
"""

from __future__ import annotations

from dataclasses import dataclass

from ascertain.errors import AscertainError
from ascertain.flow import pace
from ascertain.flow.attempt import brought, make_attempt, told_without_ledger
from ascertain.flow.compensate import UNDO_CASES, UNDO_LOOK_S, compensate, open_case
from ascertain.flow.effects import (
    Cleared,
    Flow,
    Setting,
    Withheld,
    advance,
    alike,
    ask,
    await_other,
    pause,
    permit,
    survey,
)
from ascertain.model.action import ActionRecord
from ascertain.model.chain import Around
from ascertain.model.epoch import ANOTHER_EPOCH, Epoch
from ascertain.model.operations import Advanced, Beside, Contested, Lost
from ascertain.model.outcome import Answer, Evidence, Outcome, Report
from ascertain.model.rate import Ticket
from ascertain.model.session import StillNeeds
from ascertain.model.tables import By, State
from ascertain.model.words import FoundItems, NotSent
from ascertain.rules import breaker, budget, claims, evidence, fold, lost
from ascertain.rules.budget import Turn, backoff_s
from ascertain.rules.chain import STOPPED, TURNED
from ascertain.rules.decide import Decision, Held, Reason, What, decide
from ascertain.rules.gate import GateReason
from ascertain.rules.moves import Move
from ascertain.rules.news.classify import judge_lookup
from ascertain.rules.view import view_of

ENDS_WITHOUT = (What.WITHDRAW, What.CLOSE)  # what is said then is that it was not done
PASS_STEPS = 8  # what a worker does for one action before it turns to the next


def pursue(
    setting: Setting, record: ActionRecord, turn: Turn | None, ticket: Ticket | None = None
) -> Flow[tuple[ActionRecord, Outcome | None]]:
    """Go on from a leased action; returns how it stands, and the outcome if our send settled it.

    Where the ledger fails, a caller is told what is known so far; a worker's pass breaks, and the
    lease runs out.

    :param ticket: a turn at the provider for the first request; what is not used is given back.
    :raises AscertainError: the ledger failed, in a worker's pass or before anything was sent.
    """
    stand = Stand(record=record, ticket=ticket)
    ended = yield from _pursue(setting, stand, turn)
    yield from pace.give_back(setting, stand.ticket)
    return ended


def _pursue(
    setting: Setting, stand: Stand, turn: Turn | None
) -> Flow[tuple[ActionRecord, Outcome | None]]:
    for _ in range(PASS_STEPS if turn is None else 1_000):
        if turn is not None and stand.record.terminal:
            return stand.record, stand.outcome
        try:
            turn = yield from _once(setting, stand, turn)
        except AscertainError as error:
            if turn is None:
                raise
            return (yield from told_without_ledger(stand.record, error)), stand.outcome
        if stand.ended:
            return stand.record, stand.outcome
    return (yield from _let_go(setting, stand.record, setting.clock())), stand.outcome


@dataclass(slots=True, kw_only=True)
class Stand:
    """How far a pass has come: the action as last written, and what our last send taught.

    :param ticket: a turn at the provider that is in hand.
    """

    record: ActionRecord
    outcome: Outcome | None = None
    ended: bool = False
    ticket: Ticket | None = None

    def end(self, record: ActionRecord) -> None:
        """Nothing more is done in this pass."""
        self.record, self.ended = record, True

    def spend(self) -> Ticket | None:
        """The turn in hand, which is used now."""
        ticket, self.ticket = self.ticket, None
        return ticket


def _once(setting: Setting, stand: Stand, turn: Turn | None) -> Flow[Turn | None]:
    """Do what is decided now; returns the turn that is left."""
    record, now, epoch = stand.record, setting.clock(), setting.epoch()
    around = yield from survey(record)
    decision = decide(view_of(record, setting.contract, now, turn, around))
    if decision.what in ENDS_WITHOUT and lost.may_lack_attempt(record, setting.contract, epoch):
        yield from _doubt(setting, stand, turn, epoch, wanted=decision.what is What.CLOSE)
        return turn
    if decision.what not in (What.SEND, What.RESEND, What.LOOK_UP):
        stand.end((yield from _undo_or_end(setting, record, decision, around)))
        return turn
    asks = decision.what is What.LOOK_UP
    if not asks and lost.at_risk(record, setting.contract, epoch, now):
        yield from _doubt(setting, stand, turn, epoch)
        return turn
    at = record.ask_at if asks else budget.resend_at(record, setting.contract)
    if at is not None and at > now:
        patient = record.evidence is not Evidence.WORKING
        in_time = turn is not None and patient and at < turn.until
        if not (in_time and (yield from pause(at - now))):
            stand.end((yield from _come_back(setting, record, at)))
        return turn  # time has passed: decide anew
    if stand.ticket is None:
        going = yield from pace.go(setting, None, turn)
        if not going.may:
            stand.end((yield from _come_back(setting, record, going.at)))
            return turn
        stand.ticket = going.ticket
        if going.ticket is not None:
            return turn  # it may have been waited for: with the turn in hand, decide anew
    if asks:
        stand.record, over = yield from look_up(setting, record, turn, stand.spend())
        stand.ended = over or stand.record.lease_owner != setting.sender
        return turn
    reply = yield from _send(setting, record, turn, around, epoch)
    if not isinstance(reply, Advanced):
        stand.ended = not (isinstance(reply, Lost) and reply.blocked)
        if isinstance(reply, Lost) and reply.blocked == ANOTHER_EPOCH:
            # as it stands there; our lease is lost perhaps
            stand.record = (yield from await_other(record, 0.0)) or record
            stand.ended = stand.record.lease_owner != setting.sender
        return turn  # its chain has just turned: decide anew; or somebody was quicker
    sent = reply.record
    if sent.state is not State.SENT:
        stand.end(sent)
        return turn
    stand.record, turn = sent, turn.spend() if turn is not None else None
    landed = yield from make_attempt(setting, sent, turn, stand.spend())
    stand.record, stand.outcome, stand.ended = landed.record, landed.outcome, landed.stop
    return turn


def _doubt(
    setting: Setting, stand: Stand, turn: Turn | None, epoch: Epoch, *, wanted: bool = True
) -> Flow[None]:
    """It would be sent or ended, and may have been sent in a history that is lost: it is unknown.

    :param wanted: False: nobody waits for it any more.
    """
    record, now = stand.record, setting.clock()
    move = lost.perhaps_sent(
        record, setting.contract, epoch, sender=setting.sender,
        lease_until=record.lease_until or now + setting.lease_s, lease_s=setting.lease_s, now=now,
        by=By.CALL if turn is not None else By.WORKER, wanted=wanted,
    )  # fmt: skip
    reply = yield from advance(record, move)
    stand.record, stand.ended = reply.record, not isinstance(reply, Advanced)


def look_up(
    setting: Setting, record: ActionRecord, turn: Turn | None, ticket: Ticket | None = None
) -> Flow[tuple[ActionRecord, bool]]:
    """Ask the provider once and record its answer.

    True where somebody else was quicker, it may not be asked before later, or who would ask was
    interrupted: then nobody asked.
    """
    going = yield from pace.go(setting, ticket, turn)
    if not going.may:
        return (yield from _come_back(setting, record, going.at)), True
    asked_at = setting.clock()
    deadline_s = setting.contract.budget.send_deadline_s
    if turn is not None:
        deadline_s = max(0.05, min(deadline_s, turn.until - asked_at))
    report = yield from ask(record, deadline_s)
    if _nobody_asked(report):
        yield from pace.give_back(setting, going.ticket)
        return (yield from _let_go(setting, record, asked_at)), True
    answer = yield from judged(setting, record, report)
    now = setting.clock()
    over = pace.answered(setting, going.ticket, report, now)
    asked = record.asked if answer.evidence is Evidence.ABSENT else record.unanswered
    wait_s = backoff_s(setting.contract, asked + 1, setting.dice())
    move = evidence.answered(
        record, setting.contract, answer, asked_at=asked_at, now=now, wait_s=wait_s
    )
    # of a batch that stays open, what is known of its items so far is kept too
    told = answer.found or isinstance(report.value, FoundItems)
    result = report.result if told and record.state is State.UNKNOWN else None
    kept = _keep(setting, move, record)
    beside = (*over, *brought(setting, record, move, result))
    reply = yield from advance(record, kept, result, beside=beside)
    if isinstance(reply, Contested):
        assert move.claim is not None  # it is what was contested
        move = evidence.contested(
            record, setting.contract, reply, move.claim.provider_ref,
            asked_at=asked_at, now=setting.clock(), wait_s=wait_s,
        )  # fmt: skip
        reply = yield from advance(record, _keep(setting, move, record), beside=over)
    return reply.record, not isinstance(reply, Advanced)


def _nobody_asked(report: Report) -> bool:
    """Whether the caller was interrupted before the question left: it is no look-up that counts."""
    return report.interrupt is not None and isinstance(report.error, NotSent)


def judged(setting: Setting, record: ActionRecord, report: Report) -> Flow[Answer]:
    """What a look-up said, without what it found by its fields that is known to be others'."""
    answer = judge_lookup(report, setting.contract)
    if not setting.contract.by_fields or not claims.needs_others(record, answer):
        return answer
    others = yield from alike(record)
    return answer if others is None else claims.discounted(record, answer, others)


def _undo_or_end(
    setting: Setting, record: ActionRecord, decision: Decision, around: Around | None
) -> Flow[ActionRecord]:
    """End this pass: where its chain goes back, by undoing it or by handing it to a person."""
    if around is not None and decision.what is What.COMPENSATE:
        return (yield from compensate(setting, record, around))
    new_case = decision.what is What.REVIEW and record.review is None
    if around is not None and new_case and decision.reason in UNDO_CASES:
        return (yield from open_case(setting, record, around, decision))
    return (yield from _end(setting, record, decision))


def _send(
    setting: Setting, record: ActionRecord, turn: Turn | None, around: Around | None, epoch: Epoch
) -> Flow[Advanced | Lost | Contested]:
    """Make one more attempt durable, after permission is checked again."""
    now = setting.clock()
    beside: tuple[Beside, ...] = ()
    if record.state is State.PREPARED and setting.contract.context_keys:
        beside = (StillNeeds(now=now),)
    permission = yield from permit(record)
    match permission:
        case Withheld():
            held = yield from _hold_back(setting, record, turn, permission, around)
            return Advanced(record=held)
        case "no":
            if record.state is State.PREPARED:
                move = fold.withdraw(record, by=By.WORKER, reason="permission", now=now)
            else:
                move = evidence.open_review(record, reason="permission", now=now)
        case "unknown":
            move = fold.hold(record, due_at=now + setting.contract.budget.backoff_max_s, now=now)
        case _:
            covers = setting.contract.budget.send_deadline_s
            move = fold.send(
                record,
                setting.contract,
                sender=setting.sender,
                lease_until=now + covers + setting.lease_s,
                now=now,
                by=By.CALL if turn is not None else By.WORKER,
                approval=permission.approval if isinstance(permission, Cleared) else None,
            )
    reply = yield from advance(record, move, beside=beside, epoch=epoch.id)
    if isinstance(reply, Lost) and reply.blocked not in ("", TURNED, STOPPED, ANOTHER_EPOCH):
        move = fold.withdraw(record, by=By.WORKER, reason=str(GateReason.STALE), now=now)
        reply = yield from advance(record, move)
    return reply


def _hold_back(
    setting: Setting,
    record: ActionRecord,
    turn: Turn | None,
    withheld: Withheld,
    around: Around | None,
) -> Flow[ActionRecord]:
    """It would be sent now, and must not be: decided anew, knowing that."""
    now = setting.clock()
    until = max(now, withheld.until)
    decision = decide(view_of(record, setting.contract, now, turn, around, held=withheld.held))
    match decision.what:
        case What.LOOK_UP if withheld.ask:
            unanswered = record.unanswered
            record, over = yield from look_up(setting, record, turn)
            if over or record.lease_owner != setting.sender:
                return record
            # an answer may have let one send through; come back soon, and not at once for ever
            soon = setting.clock() + setting.contract.budget.backoff_s
            answered = record.unanswered == unanswered
            return (yield from _let_go(setting, record, soon if answered else until))
        case What.LOOK_UP | What.HOLD:
            return (yield from _let_go(setting, record, until))
        case What.REVIEW if withheld.held is Held.CIRCUIT:
            manual_s = setting.contract.breaker.manual_s if setting.contract.breaker else 0.0
            by_then = budget.manual_until(record, setting.contract, now + manual_s)
            move = breaker.taken_by_hand(record, until=by_then, now=now)
        case What.REVIEW:
            move = evidence.open_review(record, reason=withheld.why, now=now)
            if record.state is State.PREPARED:
                move = move._replace(after=move.after.changed(due_at=record.send_by_at))
        case _:
            return (yield from _end(setting, record, decision))
    reply = yield from advance(record, move)
    return reply.record


def _come_back(setting: Setting, record: ActionRecord, at: float) -> Flow[ActionRecord]:
    """Let go until ``at``; what would no longer be wanted by then is withdrawn at once."""
    if record.state is State.PREPARED and at >= record.send_by_at:
        return (yield from _end(setting, record, Decision(What.WITHDRAW, Reason.NOT_WANTED)))
    return (yield from _let_go(setting, record, at))


def _end(setting: Setting, record: ActionRecord, decision: Decision) -> Flow[ActionRecord]:
    """Write what a decision that ends this pass says."""
    now = setting.clock()
    match decision.what:
        case What.CLOSE:
            move = fold.close_absent(record, now=now)
        case What.WITHDRAW:
            reason = str(decision.reason)
            by = By.CALL if record.state is State.PREPARED else By.WORKER
            move = fold.withdraw(record, by=by, reason=reason, now=now)
        case What.REVIEW if record.review is None:
            move = evidence.open_review(record, reason=str(decision.reason), now=now)
        case What.HOLD if decision.reason is Reason.TURN_SPENT:
            return (yield from _let_go(setting, record, _next_at(record, setting)))
        case What.HOLD if decision.reason is Reason.UNDO_WAITS:
            return (yield from _let_go(setting, record, now + UNDO_LOOK_S))  # or when it is woken
        case _:
            # a case that holds back what was not sent ends with the time in which it was wanted
            waits = record.state is State.PREPARED and decision.what is What.REVIEW
            move = fold.hold(record, due_at=record.send_by_at if waits else None, now=now)
    reply = yield from advance(record, move)
    return reply.record


def _next_at(record: ActionRecord, setting: Setting) -> float:
    """When the background should go on with an action whose turn is spent: it may send."""
    now = setting.clock()
    at = budget.resend_at(record, setting.contract) or now
    last = budget.last_send_at(record, setting.contract)
    return max(now, at if last is None else min(at, last))


def _let_go(setting: Setting, record: ActionRecord, due_at: float | None) -> Flow[ActionRecord]:
    """Release the lease; the next due time wakes a worker."""
    now = setting.clock()
    reply = yield from advance(record, fold.hold(record, due_at=due_at or now, now=now))
    return reply.record


def _keep(setting: Setting, move: Move, record: ActionRecord) -> Move:
    """An action that stays open stays under our lease, if we have it."""
    if not move.after.open or record.lease_owner != setting.sender:
        return move
    after = move.after.changed(
        lease_owner=setting.sender, lease_until=record.lease_until, due_at=record.lease_until
    )
    return move._replace(after=after)
