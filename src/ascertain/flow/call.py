"""One guarded call, from an intent to a known truth or an honest unknown.

A write costs two durable commits: the intent with its send, then the outcome. A read costs none
before the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, NamedTuple

from ascertain.errors import AscertainError, IntentConflict
from ascertain.flow import pace
from ascertain.flow.attempt import make_attempt, told_without_ledger
from ascertain.flow.effects import Flow, Setting, await_other, inquire, invoke, pause, reserve, take
from ascertain.flow.pursue import pursue
from ascertain.flow.recover import recover
from ascertain.model.action import ActionRecord, Draft
from ascertain.model.booking import Spends
from ascertain.model.chain import Joins
from ascertain.model.epoch import Epoch, OfEpoch
from ascertain.model.operations import Beside, Blocked, MustReplace, Reserve, Take
from ascertain.model.outcome import Effect, Kind, Outcome, Report
from ascertain.model.rate import Ticket
from ascertain.model.tables import By, Event, State
from ascertain.rules import approval, fold, lost
from ascertain.rules.budget import Turn, backoff_s
from ascertain.rules.decide import What, decide
from ascertain.rules.identity import same_intent
from ascertain.rules.moves import Move
from ascertain.rules.news.classify import classify
from ascertain.rules.rate import USED_UP
from ascertain.rules.view import view_of

BORN = Draft(None, Event.PREPARE, State.PREPARED, By.CALL, "prepared", 0, {})


def born(told: Mapping[str, Any]) -> Draft:
    """The first event of an action that has something to tell of how it came about."""
    return Draft(None, Event.PREPARE, State.PREPARED, By.CALL, "prepared", 0, dict(told))


class Hold(NamedTuple):
    """Why a call is stored and not sent: it waits for a person, under a case of its own.

    :param why: the case, ``approval`` or ``circuit_open``. :param until: for how long.
    :param digest: names the exact call that is to be approved, of its record and arguments.
    """

    why: str
    until: float
    digest: Callable[[ActionRecord, str], str] | None = None


class Wanted(NamedTuple):
    """A call about to be reserved.

    :param record: the prepared action. :param rebuild: the same with the key that it gets when it
        replaces an earlier, finally rejected action.
    :param denied: why it must not be sent (permission, precondition): recorded, never sent.
    :param beside: what has to hold, or to be written, when the intent is stored.
    :param told: what the first event says of how the call came about.
    :param hold: why it is not sent before a person says so.
    :param unsure: its arguments are those of a moment ago. The ledger checks them as it stores the
        action, and not where it finds one that is stored: that is then no answer.
    :param good_until: until when it may go by what it has read; nothing is waited for beyond that.
    :param never_repeats: its call id is nobody else's, whatever is wished under it.
    """

    record: ActionRecord
    arguments: str
    contract_json: str
    rebuild: Callable[[ActionRecord], ActionRecord]
    denied: tuple[Kind, str] | None = None
    beside: tuple[Beside, ...] = ()
    told: Mapping[str, Any] | None = None
    hold: Hold | None = None
    unsure: bool = False
    good_until: float = inf
    never_repeats: bool = False

    @property
    def born(self) -> Draft:
        """The first event."""
        return BORN if self.told is None else born(self.told)


class Ended(NamedTuple):
    """How a call ended. ``how``: new, replayed, joined, bound, blocked, unsure.

    Unsure: another action is stored, and may not be the one that was meant (:class:`Wanted`).

    :param report: only of our own send.
    :param blocked: nothing was stored, and ``record`` is what would have been.
    """

    record: ActionRecord
    how: str
    report: Report | None = None
    outcome: Outcome | None = None
    blocked: Blocked | None = None


def call(setting: Setting, wanted: Wanted, turn: Turn) -> Flow[Ended]:
    """Make a guarded write.

    :raises IntentConflict: the intent is alive with other exact arguments; nothing was sent.
    """
    prepared = wanted.record
    replaced: ActionRecord | None = None
    ticket: Ticket | None = None
    while True:
        epoch = setting.epoch()
        first = _first_move(setting, prepared, wanted, turn, epoch, replaced)
        leaves = first.after.state is State.SENT
        spends = pace.spends(setting, first, ticket) if leaves else ()
        reply = yield from reserve(
            Reserve(
                record=first.after,
                drafts=first.drafts,
                arguments=wanted.arguments,
                contract_json=wanted.contract_json,
                beside=(*wanted.beside, *spends),
                epoch=epoch.id,
            )
        )
        if isinstance(reply, Blocked):
            if isinstance(reply.by, OfEpoch):
                continue  # decided in another epoch of the ledger than the one at hand
            if isinstance(reply.by, Spends):
                patience = turn._replace(until=min(turn.until, wanted.good_until))
                going = yield from pace.go(setting, None, patience)
                ticket = going.ticket
                if not going.may:
                    wanted = wanted._replace(denied=(Kind.WITHDRAWN, USED_UP))
                continue
            yield from pace.give_back(setting, ticket)
            ticket = None
            if not isinstance(reply.by, Joins):
                return Ended(prepared, "blocked", blocked=reply)
            # its chain goes back or was stopped: it is on record, and never sent
            wanted = wanted._replace(denied=(Kind.WITHDRAWN, reply.why))
            continue
        if not isinstance(reply, MustReplace):
            break
        replaced = reply.previous
        prepared = wanted.rebuild(replaced)
    if reply.via != "new" or reply.record.state is not State.SENT:
        yield from pace.give_back(setting, ticket)
    if reply.via != "new":
        if wanted.unsure:
            return Ended(prepared, "unsure")
        sure = wanted.never_repeats
        known = _again(setting, prepared, reply.record, reply.via, turn, never_repeats=sure)
        return (yield from known)
    if reply.record.state is State.UNKNOWN:  # what may have been sent in a history that is lost
        record, later = yield from pursue(setting, reply.record, turn)
        return Ended(record, "new", None, later)
    if reply.record.state is not State.SENT:
        return Ended(reply.record, "new")
    turn = turn.spend()
    ticket = spends[0].ticket if spends else ticket
    landed = yield from make_attempt(setting, reply.record, turn, ticket)
    record, outcome = landed.record, landed.outcome
    if not (record.terminal or landed.stop):
        record, later = yield from pursue(setting, record, turn)
        outcome = later or outcome
    return Ended(record, "new", landed.report, outcome)


def read(setting: Setting, record: ActionRecord, turn: Turn) -> Flow[Ended]:
    """Make a guarded read: retried in bounds, never unknown, nothing recorded before the wire."""
    budget = setting.contract.budget
    tries = 0
    while True:
        tries += 1
        going = yield from pace.go(setting, None, turn)
        if not going.may:
            outcome = _no_turn(going.at - setting.clock())
            return Ended(_as_read(record, outcome, tries - 1), "new", None, outcome)
        deadline_s = min(budget.send_deadline_s, max(0.0, turn.until - setting.clock()))
        report = yield from invoke(record, deadline_s)
        outcome = classify(report, setting.contract, now=setting.clock())
        yield from pace.give_back(setting, going.ticket, report)
        wait_s = backoff_s(setting.contract, tries, setting.dice())
        wait_s = max(wait_s, outcome.retry_after_s or 0.0)  # "at once" is no invitation to a loop
        again = (
            outcome.retryable
            and report.interrupt is None
            and tries < budget.sends
            and setting.clock() + wait_s < turn.until
        )
        if not again:
            return Ended(_as_read(record, outcome, tries), "new", report, outcome)
        if not (yield from pause(wait_s)):
            return Ended(_as_read(record, outcome, tries), "new", report, outcome)


def _no_turn(wait_s: float) -> Outcome:
    """A read that was not made: its provider may not be asked more often."""
    return Outcome(
        Effect.NOT_SENT, USED_UP, kind=Kind.THROTTLED, retryable=True,
        retry_after_s=max(0.0, wait_s), sends=0,
    )  # fmt: skip


_READ_ENDS = {
    Effect.CONFIRMED: State.CONFIRMED,
    Effect.UNKNOWN: State.UNKNOWN,
    Effect.ACCEPTED: State.UNKNOWN,
}


def _first_move(
    setting: Setting, prepared: ActionRecord, wanted: Wanted, turn: Turn, epoch: Epoch,
    replaced: ActionRecord | None,
) -> Move:  # fmt: skip
    """How the intent is stored: on its way, refused before anything is sent, or waiting; unknown
    where the ledger may have lost that it was sent before.
    """
    now = setting.clock()
    if wanted.denied is not None:
        kind, reason = wanted.denied
        move = fold.withdraw(prepared, by=By.CALL, reason=reason, now=now)
        return Move(move.after.changed(kind=kind), (wanted.born, *move.drafts))
    if wanted.hold is not None:
        return _held(prepared, wanted, wanted.hold, now)
    if lost.at_risk(prepared, setting.contract, epoch, now, replaced):
        move = lost.perhaps_sent(
            prepared, setting.contract, epoch, sender=setting.sender,
            lease_until=turn.until + setting.lease_s, lease_s=setting.lease_s, now=now, by=By.CALL,
        )  # fmt: skip
        return Move(move.after, (wanted.born, *move.drafts))
    lease_until = now + setting.contract.budget.send_deadline_s + setting.lease_s
    move = fold.send(
        prepared, setting.contract, sender=setting.sender, lease_until=lease_until, now=now,
        by=By.CALL,
    )  # fmt: skip
    return Move(move.after, (wanted.born, *move.drafts))


def _held(prepared: ActionRecord, wanted: Wanted, hold: Hold, now: float) -> Move:
    """Stored under a case; what is asked for is said in the first event, which is covered."""
    held = prepared.changed(
        reason=hold.why, review=hold.why, review_at=now, send_by_at=hold.until, due_at=hold.until
    )
    detail: dict[str, object] = {"until": hold.until}
    if hold.digest is not None:
        detail = approval.request_detail(held, hold.digest(held, wanted.arguments))
    born = wanted.born
    return Move(held, (born._replace(reason=hold.why, detail={**born.detail, **detail}),))


def _again(
    setting: Setting, wanted: ActionRecord, found: ActionRecord, via: str, turn: Turn,
    *, never_repeats: bool,
) -> Flow[Ended]:  # fmt: skip
    """The intent is known already: return what is known, or help it to an end."""
    refuse_another(wanted, found, via, never_repeats=never_repeats)
    if found.terminal:
        return Ended(found, "bound" if via == "bound" else "replayed")
    record = yield from _join(setting, found, turn)
    return Ended(record, "joined")


def refuse_another(
    wanted: ActionRecord, found: ActionRecord, via: str, *, never_repeats: bool
) -> None:
    """Refuse what would be told the record of another call.

    :raises IntentConflict: ``found`` is another wish under the same call id, or has other exact
        arguments.
    """
    if via == "call_id" and not same_intent(found, wanted) and not never_repeats:
        raise IntentConflict(
            f"This call id belongs to another call, of {found.tool} (action {found.id}).",
            next_step="Give each call an id of its own; where a framework's ids repeat, the id of "
            "the message belongs to it.",
            action=found.id,
            state=str(found.state),
        )
    if found.exact != wanted.exact and via != "bound":
        raise IntentConflict(
            f"{found.tool} is already {found.state} with other arguments (action {found.id}).",
            action=found.id,
            state=str(found.state),
        )


def _join(setting: Setting, record: ActionRecord, turn: Turn) -> Flow[ActionRecord]:
    """Wait for whoever works on it, or recover it; where the ledger fails, tell what was known.

    :raises AscertainError: the ledger failed, and nothing has been sent so far.
    """
    ended = False
    while record.open and not ended:
        try:
            record, ended = yield from _once(setting, record, turn)
        except AscertainError as error:
            return (yield from told_without_ledger(record, error))
    return record


def _once(setting: Setting, record: ActionRecord, turn: Turn) -> Flow[tuple[ActionRecord, bool]]:
    """Wait once for somebody else, or take the action over; True where that is all for now."""
    now = setting.clock()
    if now >= turn.until:
        return record, True
    holder = record.lease_owner
    holds = holder is not None and (record.lease_until or 0.0) > now
    gone = (yield from inquire((holder,))) if holder is not None and holds else frozenset[str]()
    if holds and not gone:
        patience_s = min(turn.until, record.lease_until or now) - now
        seen = yield from await_other(record, patience_s)
        return seen or record, seen is None
    decision = decide(view_of(record, setting.contract, now, turn))
    if decision.what is What.REVIEW or (
        decision.what is What.HOLD and record.state is not State.SENT
    ):
        return record, True
    taken = yield from take(
        Take(
            owner=setting.sender,
            now=now,
            lease_until=turn.until + setting.lease_s,
            gone=gone,
            action_id=record.id,
        )
    )
    if taken.records:
        return (yield from recover(setting, taken.records[0], turn)), True
    seen = yield from await_other(record, min(0.05, turn.until - now))
    return seen or record, seen is None


def _as_read(record: ActionRecord, outcome: Outcome, tries: int) -> ActionRecord:
    """A read's end. One that turned out to write may be unknown, and is said to be."""
    state = _READ_ENDS.get(outcome.effect, State.REJECTED)
    return record.changed(
        state=state,
        final=int(state is State.REJECTED and not outcome.retryable),
        kind=outcome.kind,
        code=outcome.code,
        reason=outcome.reason,
        attempt=tries,
        sends=record.sends + outcome.sends,
        provider_ref=outcome.provider_ref,
    )
