"""Evidence about an action: look-ups, late results, senders proven gone, a person's verdict.

Only evidence moves `unknown`. Evidence against a settled action never rewrites it and is never
dropped: it is stored, marks the action disputed and opens a case.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ascertain.model.action import OVERRULED, ActionRecord
from ascertain.model.contract import Contract, Repeat
from ascertain.model.operations import ClaimBy, Contested
from ascertain.model.outcome import Answer, Effect, Evidence, Kind, Outcome
from ascertain.model.tables import By, Event, State
from ascertain.rules.cases import as_found
from ascertain.rules.fold import settle, withdraw
from ascertain.rules.lost import not_alone, restored
from ascertain.rules.moves import (
    FREE,
    Move,
    claiming,
    closed,
    confirm,
    detail_of,
    differs,
    dispute,
    join_suspect,
    move,
    note,
    reject,
    without_suspect,
)

ANOTHERS = "reference_of_another"


def answered(
    record: ActionRecord, contract: Contract, answer: Answer, *, asked_at: float, now: float,
    wait_s: float, by: By = By.LOOKUP,
) -> Move:  # fmt: skip
    """A look-up spoke about this action's key.

    :param asked_at: when the look-up *began*; absence speaks for that moment.
    """
    record = record.changed(asked=record.asked + 1, asked_at=asked_at, updated_at=now)
    if answer.found:
        return _found(record, contract, answer, now, by)
    if record.state is not State.UNKNOWN:
        return _checked(record, contract, answer, now, wait_s, by)
    if answer.refused:
        return move(
            record, Event.REJECT, by, answer.reason or "lookup_refused", now,
            final=1, kind=answer.kind or Kind.BUSINESS, code=answer.code,
            related_ref=answer.related_ref, doubt=0, **closed(),
        )  # fmt: skip
    match answer.evidence:
        case Evidence.ABSENT:
            return _absent(record, contract, asked_at, now, wait_s)
        case Evidence.WORKING:
            ask_at = now + (answer.ask_after_s or 5.0)
            return _evidence(record, Evidence.WORKING, "working", now, ask_at=ask_at)
        case _:
            # silence does not take back that the provider is working on it
            working = record.evidence is Evidence.WORKING
            return _evidence(
                record, Evidence.WORKING if working else Evidence.UNANSWERED,
                answer.reason or "no_answer", now, detail=_defect(answer),
                unanswered=record.unanswered + 1, ask_at=now + wait_s,
            )  # fmt: skip


def contested(
    record: ActionRecord, contract: Contract, contest: Contested, provider_ref: str, *,
    asked_at: float, now: float, wait_s: float,
) -> Move:  # fmt: skip
    """The one record that fits our fields may not be ours, so it is no evidence that we happened.

    It is evidence that we did *not* (as strong as the contract makes absence) only where it is
    somebody else's for certain: by an answer or a person's word, or since before our first send.

    :param contest: what the ledger said to our claim. :param provider_ref: of the record.
    :param asked_at: when the look-up began.
    """
    record = record.changed(asked=record.asked + 1, asked_at=asked_at, updated_at=now)
    detail = {"ref": provider_ref, "action": contest.other.id}
    reason = "rival_in_doubt" if contest.by is None else "reference_taken"
    told = note(record, By.LOOKUP, reason, now, detail, reason=reason)
    if _is_anothers(record, contest):
        absent = _absent(told.after, contract, asked_at, now, wait_s)
        return absent._replace(drafts=told.drafts + absent.drafts) if absent.drafts else absent
    after = told.after.changed(
        evidence=Evidence.UNANSWERED, unanswered=record.unanswered + 1, ask_at=now + wait_s
    )
    known = record.evidence is Evidence.UNANSWERED and record.reason == reason
    return Move(after, () if known else told.drafts)


def _is_anothers(record: ActionRecord, contest: Contested) -> bool:
    """Whether the record cannot be ours."""
    if contest.by is None:
        return False
    if contest.by is not ClaimBy.LOOKUP:
        return True
    claimed_at, sent_at = contest.claimed_at, record.first_sent_at
    return claimed_at is not None and sent_at is not None and claimed_at <= sent_at


def contradicted(
    holder: ActionRecord, *, provider_ref: str, owner: str, now: float, by: By = By.CALL
) -> Move:
    """What was taken for this action's reference is another's, by its own answer or by a person.

    :param owner: the id of the action whose reference it is.
    """
    detail = {"ref": provider_ref, "action": owner}
    return dispute(holder, ANOTHERS, now, detail, by)


def late(
    record: ActionRecord,
    contract: Contract,
    outcome: Outcome,
    *,
    attempt: int,
    sender: str,
    now: float,
    live: bool = False,
    sent_at: float | None = None,
    before: bool = False,
) -> Move:
    """A result came after its attempt had been given up; it still lands on its own action.

    :param live: the body was given up again, and may still send: nothing was learned.
    :param sent_at: when its attempt was sent. :param before: that was in a history of which the
        ledger may lack a part, so numbers of attempts may have been given twice.
    """
    if live:
        detail = {"late_attempt": attempt}
        suspect = record.suspect if record.terminal else join_suspect(record.suspect, sender)
        return note(record, By.CALL, "still_running", now, detail, suspect=suspect)
    same = record.attempt == attempt and (not before or record.last_sent_at == sent_at)
    if same or not before:
        record = record.changed(suspect=without_suspect(record.suspect, sender))
    record = record.changed(updated_at=now)
    if record.state is State.SENT and same:
        # somebody has taken the lease over, and not given the attempt up yet: it closes itself
        known = not_alone(record, outcome) if before else record
        return settle(known, contract, outcome, now=now, wait_s=contract.budget.backoff_s)
    missing = record.attempt < attempt or (before and not same)
    counted = record.state is State.SENT or (
        record.state is State.UNKNOWN and record.attempt >= attempt
    )
    if missing and record.open and not counted:
        number = max(attempt, record.attempt + 1)  # its own may have been given to another one
        return restored(record, contract, outcome, number, sent_at, now)
    # one was counted when it was given up
    record = record.changed(sends=record.sends + max(0, outcome.sends - 1))
    if record.terminal:
        return _late_on_settled(record, contract, outcome, attempt, now)
    if outcome.effect is Effect.CONFIRMED and record.state in (State.UNKNOWN, State.SENT):
        record = record.changed(last_possible_at=now)
        return confirm(record, contract, outcome, By.CALL, now)
    # it was counted as doubt when it was given up; a definite word takes that back, unless the
    # client had sent by itself again, and tells only of the last time, or sends may be lost
    definite = record.attempt >= attempt and not before and _is_definite(outcome)
    doubt = max(0, record.doubt - 1) if definite else record.doubt
    if missing and outcome.effect in (Effect.UNKNOWN, Effect.ACCEPTED):
        doubt += 1  # of this one nothing was counted
    record = record.changed(doubt=doubt, last_possible_at=now)
    if record.state is State.UNKNOWN and doubt == 0 and definite:
        if outcome.effect is Effect.REFUSED and not outcome.retryable:
            return reject(record, outcome, now)
        record = record.changed(evidence=Evidence.ABSENT_FINAL, review=None, review_at=None)
    elif record.state is State.UNKNOWN and outcome.effect is Effect.REFUSED:
        # refused for good, however much another attempt is in doubt: not sent again
        refused = bool(record.refused) or not outcome.retryable
        record = record.changed(
            refused=int(refused),
            kind=record.kind if outcome.retryable else outcome.kind,
            code=record.code if outcome.retryable else outcome.code,
        )
    record = _unsuspected(record, now)
    due = record.due_at if record.state is State.SENT else now
    detail = {**detail_of(outcome), "late_attempt": attempt}
    return note(record, By.CALL, f"late_{outcome.effect}", now, detail, due_at=due)


def _is_definite(outcome: Outcome) -> bool:
    """Whether it says for certain that its own attempt had no effect."""
    refused = outcome.effect is Effect.REFUSED and outcome.sends <= 1
    return refused or outcome.effect is Effect.NOT_SENT


def clear_suspects(record: ActionRecord, gone: Iterable[str], *, now: float) -> Move:
    """Earlier senders are proven gone: what is absent now stays absent."""
    suspect = record.suspect
    for sender in gone:
        suspect = without_suspect(suspect, sender)
    cleared = record.changed(suspect=suspect, last_possible_at=now)
    return note(_unsuspected(cleared, now), By.WORKER, "sender_gone", now, {})


def _unsuspected(record: ActionRecord, now: float) -> ActionRecord:
    """Nobody may send any more; somebody may have just before the end, so it is asked once more."""
    if record.suspect or record.evidence is not Evidence.ABSENT_UNFENCED:
        return record
    due_at = now if record.due_at is None else record.due_at
    return record.changed(evidence=Evidence.NOT_ASKED, due_at=due_at)


def open_review(record: ActionRecord, *, reason: str, now: float, by: By = By.WORKER) -> Move:
    """Hand the action to a person; what is known does not change."""
    opened = record.changed(review=reason, review_at=now, due_at=None, **FREE)
    return note(opened, by, f"review:{reason}", now, {})


def verdict_confirmed(
    record: ActionRecord, contract: Contract, *, provider_ref: str, evidence: str, now: float
) -> Move:
    """A person found that it happened.

    Of a confirmed action it is the reference on record that the person stands by, and what it did
    is as it should be. What is settled otherwise is overruled, and never rewritten.
    """
    detail = {"evidence": evidence}
    if record.state is State.CONFIRMED:
        told = note(_decided(record, 0), By.PERSON, "verdict_confirmed", now, detail)
        return claiming(told, contract, ClaimBy.VERDICT, record.provider_ref)
    if record.terminal:
        detail["ref"] = provider_ref
        told = note(_decided(record, OVERRULED), By.PERSON, "verdict_confirmed", now, detail)
        return claiming(told, contract, ClaimBy.VERDICT, provider_ref)
    confirmed = move(
        record, Event.CONFIRM, By.PERSON, "verdict_confirmed", now,
        detail=detail, provider_ref=provider_ref, doubt=0, disputed=0, **closed(),
    )  # fmt: skip
    return claiming(confirmed, contract, ClaimBy.VERDICT, provider_ref)


def verdict_not_done(record: ActionRecord, *, evidence: str, now: float) -> Move:
    """A person found that it did not happen and will not.

    What was never sent, or refused for a while, is withdrawn: it may be wished anew. What is
    confirmed is overruled: the case is closed, and it is never said to be confirmed again.
    """
    detail = {"evidence": evidence}
    if record.state is State.PREPARED or (record.state is State.REJECTED and record.open):
        return withdraw(record, by=By.PERSON, reason="verdict_not_done", now=now, detail=detail)
    if record.terminal:
        against = OVERRULED if record.state is State.CONFIRMED else 0
        return note(_decided(record, against), By.PERSON, "verdict_not_done", now, detail)
    return move(
        record, Event.REJECT, By.PERSON, "verdict_not_done", now,
        detail=detail, final=1, kind=Kind.ABSENT, doubt=0, disputed=0, **closed(),
    )  # fmt: skip


def _decided(record: ActionRecord, disputed: int) -> ActionRecord:
    """A settled action whose case a person has closed."""
    return record.changed(disputed=disputed, review=None, review_at=None, due_at=None)


def _found(record: ActionRecord, contract: Contract, answer: Answer, now: float, by: By) -> Move:
    double = answer.count > 1
    detail = {"ref": answer.provider_ref, "count": answer.count}
    if record.overruled and not (double and record.state is not State.CONFIRMED):
        if record.state is State.CONFIRMED:
            return dispute(record, "found_after_settled", now, detail, by)
        return note(record, by, "checked", now, detail)
    if record.state is State.CONFIRMED:
        counted = record.changed(evidence=Evidence.COUNTED, due_at=None, ask_at=None, **FREE)
        if double or differs(record.provider_ref, answer.provider_ref):
            return dispute(counted, "duplicate_effect", now, detail, by)
        return note(counted._replace(doubt=0), by, "recounted", now, detail)
    if record.terminal:
        return dispute(record, "found_after_settled", now, detail, by)
    if record.state is not State.UNKNOWN:
        return note(record, by, "found_early", now, detail)
    if contract.by_fields and double:
        # two records fit the fields: which one is ours cannot be told
        return _evidence(
            record, Evidence.UNANSWERED, "several_match", now,
            unanswered=record.unanswered + 1, ask_at=now + contract.budget.backoff_max_s,
        )  # fmt: skip
    recount = contract.recount_s
    later = None if recount is None or double else now + recount
    changes = {**closed(), "due_at": later, "ask_at": later}
    if double:
        changes.update(disputed=1, review="duplicate_effect", review_at=now)
    found = move(
        record, Event.CONFIRM, by, "found_by_lookup", now, detail=detail,
        provider_ref=answer.provider_ref, kind=None, code=None, refused=0,
        evidence=Evidence.NOT_ASKED if later else Evidence.COUNTED, **changes,
    )  # fmt: skip
    found = _partly(found) if answer.partly else found
    return claiming(found, contract, ClaimBy.LOOKUP, answer.provider_ref)


def _partly(found: Move) -> Move:
    """A confirmation that does not speak for every item of its batch."""
    reason = "found_partly"
    drafts = tuple(draft._replace(reason=reason) for draft in found.drafts)
    return found._replace(after=found.after.changed(reason=reason), drafts=drafts)


def _absent(
    record: ActionRecord, contract: Contract, asked_at: float, now: float, wait_s: float
) -> Move:
    promise = contract.lookup
    assert promise is not None  # a look-up was made
    if promise.fences:
        return _evidence(record, Evidence.ABSENT_FINAL, "absent_fenced", now, ask_at=None)
    if record.evidence is Evidence.WORKING:
        # the work has just ended, one way or the other; what it did may show only after a while
        record = record.changed(last_possible_at=now)
    settling = promise.absence_final_after_s
    settled_at = None if settling is None else (record.last_possible_at or now) + settling
    if settled_at is None or asked_at < settled_at:
        # it may show long before its absence would be final
        ask_at = now + wait_s if settled_at is None else max(min(settled_at, now + wait_s), now)
        return _evidence(record, Evidence.ABSENT, "absent", now, ask_at=ask_at)
    if record.suspect:
        return _evidence(record, Evidence.ABSENT_UNFENCED, "absent_unfenced", now, ask_at=None)
    return _evidence(record, Evidence.ABSENT_FINAL, "absent_final", now, ask_at=None)


def _checked(
    record: ActionRecord, contract: Contract, answer: Answer, now: float, wait_s: float, by: By
) -> Move:
    """A look-up that did not find a settled action: a count that came to nothing, or no answer."""
    if record.state is State.SENT:
        return note(
            record, by, "asked_early", now, {}
        )  # absence says nothing while it is under way
    if answer.evidence is Evidence.UNANSWERED:
        again = record.changed(unanswered=record.unanswered + 1, ask_at=now + wait_s)
        again = again._replace(due_at=now + wait_s, **FREE)
        defect = _defect(answer)
        return note(again, by, answer.reason if defect else "no_answer", now, defect)
    counted = record.changed(evidence=Evidence.COUNTED, due_at=None, ask_at=None, **FREE)
    settling = None if contract.lookup is None else contract.lookup.absence_final_after_s
    last = record.last_possible_at
    settled = settling is not None and (last is None or now >= last + settling)
    denied = answer.refused or (answer.evidence is Evidence.ABSENT and settled)
    if as_found(record)[0] is State.CONFIRMED and denied:
        return dispute(counted, "confirmed_but_absent", now, {}, by)
    return note(counted, by, "checked", now, {})


def _late_on_settled(
    record: ActionRecord, contract: Contract, outcome: Outcome, attempt: int, now: float
) -> Move:
    detail = {**detail_of(outcome), "late_attempt": attempt}
    if outcome.effect is Effect.CONFIRMED:
        told = _confirmed_late(record, contract, outcome, now, detail)
        return claiming(told, contract, ClaimBy.ANSWER, outcome.provider_ref)
    return note(record, By.CALL, f"late_{outcome.effect}", now, detail)


def _confirmed_late(
    record: ActionRecord, contract: Contract, outcome: Outcome, now: float, detail: dict[str, Any]
) -> Move:
    if record.state is State.REJECTED:
        return dispute(record, "confirmed_after_rejected", now, detail, By.CALL)
    if not differs(record.provider_ref, outcome.provider_ref):
        return note(record, By.CALL, "late_confirmed", now, detail)
    if contract.repeat is Repeat.HARMLESS:
        return note(record, By.CALL, "harmless_double", now, detail, maybe_twice=1)
    return dispute(record, "duplicate_effect", now, detail, By.CALL)


_TOLD_ONCE = (Evidence.WORKING, Evidence.UNANSWERED, Evidence.ABSENT)


def _defect(answer: Answer) -> dict[str, Any]:
    """What a look-up returned that is no answer at all."""
    return {} if answer.code is None else {"returned": answer.code}


def _evidence(
    record: ActionRecord, evidence: Evidence, reason: str, now: float, /, *,
    detail: dict[str, Any] | None = None, **changes: Any,
) -> Move:  # fmt: skip
    """What a look-up showed; an event only where it differs from what was known, or has details."""
    after = record.changed(evidence=evidence, updated_at=now, **changes)
    if evidence is record.evidence and evidence in _TOLD_ONCE and not detail:
        return Move(after, ())
    return note(after, By.LOOKUP, reason, now, detail or {})
