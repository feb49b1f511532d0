"""What an action is known to be after an attempt was made, given up or closed.

Each function takes the action as it stands and returns how it stands next, with the events that
lead there. Doubt is kept: a refusal speaks for its own attempt, so while an earlier attempt may
have happened the action stays unknown (unless the contract says that a refusal covers the key).
"""

from __future__ import annotations

from typing import Any, assert_never

from ascertain.model.action import ActionRecord, Draft
from ascertain.model.contract import Contract, Repeat
from ascertain.model.outcome import DUPLICATE_KINDS, Effect, Evidence, Kind, Outcome
from ascertain.model.tables import By, Event, State
from ascertain.rules.budget import repeat_settles
from ascertain.rules.moves import (
    FREE,
    Move,
    closed,
    confirm,
    detail_of,
    join_suspect,
    move,
    reject,
)


def send(
    record: ActionRecord, contract: Contract, *, sender: str, lease_until: float, now: float,
    by: By, approval: int | None = None,
) -> Move:  # fmt: skip
    """An attempt is about to leave; nothing of it has.

    While it is under way `last_possible_at` speaks of the attempts before it that are in doubt.

    :param approval: the event of the approval that it uses, where it needs one.
    """
    return move(
        record, Event.SEND, by, "send", now,
        detail=None if approval is None else {"approved_in": approval},
        attempt=record.attempt + 1,
        first_sent_at=now if record.first_sent_at is None else record.first_sent_at,
        last_sent_at=now, last_possible_at=record.last_possible_at if record.doubt else None,
        evidence=Evidence.NOT_ASKED, ask_at=None, not_before_at=None, handle=None, refused=0,
        final=0, kind=None, code=None,
        maybe_twice=int(
            bool(record.maybe_twice) or (record.doubt > 0 and contract.repeat is Repeat.HARMLESS)
        ),
        review=None, review_at=None,
        lease_owner=sender, lease_until=lease_until, due_at=lease_until,
    )  # fmt: skip


def settle(
    record: ActionRecord, contract: Contract, outcome: Outcome, *, now: float, wait_s: float
) -> Move:
    """The sender closes its own attempt with what it learned.

    :param wait_s: back-off before a next send; the provider may advise a longer time.
    """
    sends = record.sends + outcome.sends
    if outcome.effect is Effect.CONFIRMED:  # the usual end, in one step
        return confirm(record, contract, outcome, By.CALL, now, sends=sends, last_possible_at=now)
    covers = _speaks_for_all(record, contract, outcome)
    record = record.changed(sends=sends, last_possible_at=now)
    match outcome.effect:
        case Effect.REFUSED:
            return _refused(record, contract, outcome, now, wait_s, covers)
        case Effect.NOT_SENT:
            return _not_sent(record, outcome, now, wait_s)
        case Effect.ACCEPTED:
            at = now + (outcome.ask_after_s or 5.0)
            return _doubt(
                record, outcome, By.CALL, now, evidence=Evidence.WORKING, handle=outcome.handle,
                ask_at=at, not_before_at=at,
            )  # fmt: skip
        case Effect.UNKNOWN:
            return _doubt(record, outcome, By.CALL, now, not_before_at=now + _wait(outcome, wait_s))
        case _:
            assert_never(outcome.effect)


def answered(record: ActionRecord, read: ActionRecord, outcome: Outcome, now: float) -> Move:
    """A read that has its answer, as one write: sent and confirmed; nobody has to look at it again.

    :param record: as it would be stored before its send.
    :param read: how it ended, with its tries and sends.
    """
    changes: dict[str, Any] = {
        "state": State.CONFIRMED, "reason": outcome.reason, "attempt": max(1, read.attempt),
        "sends": read.sends, "provider_ref": outcome.provider_ref, "updated_at": now,
        "first_sent_at": now, "last_sent_at": now, "last_possible_at": now,
    }  # fmt: skip
    if outcome.several_effects:
        changes.update(review="several_effects", review_at=now)
    after = record.changed_by(changes)
    return Move(
        after,
        (
            Draft(State.PREPARED, Event.SEND, State.SENT, By.CALL, "send", 1, {}),
            Draft(
                State.SENT, Event.CONFIRM, State.CONFIRMED, By.CALL, outcome.reason, after.attempt,
                detail_of(outcome),
            ),
        ),
    )  # fmt: skip


def take(record: ActionRecord, *, owner: str, until: float) -> ActionRecord:
    """A lease for an action that nobody works on; no event.

    Whoever held the lease of a sent action is its sender, and a suspect from now on: the new owner
    may die before it writes :func:`lose`, and the next one would see only *its* name.
    """
    suspect, attempt = record.suspect, f"#{record.attempt}"
    known = any(name.endswith(attempt) for name in suspect.split(","))
    if record.state is State.SENT and record.lease_owner and not known:
        suspect = join_suspect(suspect, record.lease_owner + attempt)
    return record.changed(
        lease_owner=owner, lease_until=until, due_at=until, fence=record.fence + 1, suspect=suspect
    )


def lose(
    record: ActionRecord,
    *,
    reason: str,
    suspect: str,
    now: float,
    by: By,
    keep_lease: bool = False,
    wait_s: float = 0.0,
) -> Move:
    """Nobody knows what became of the attempt: an expired lease, a deadline that has passed.

    :param suspect: the sender, while it may still be alive; empty when it is proven gone.
    :param wait_s: back-off before a next send.
    """
    lease: dict[str, Any] = {} if keep_lease else {**FREE, "due_at": now}
    return move(
        record, Event.LOSE, by, reason, now,
        sends=record.sends + 1, doubt=record.doubt + 1, last_possible_at=now,
        not_before_at=now + wait_s if wait_s else None,
        evidence=Evidence.NOT_ASKED, suspect=join_suspect(record.suspect, suspect), **lease,
    )  # fmt: skip


def withdraw(
    record: ActionRecord, *, by: By, reason: str, now: float, detail: dict[str, Any] | None = None
) -> Move:
    """Nothing was sent, or all of it was refused for a while, and nobody waits for it any more."""
    return move(
        record, Event.WITHDRAW, by, reason, now, detail=detail,
        final=1, kind=Kind.WITHDRAWN, **closed(),
    )  # fmt: skip


def close_absent(record: ActionRecord, *, now: float) -> Move:
    """Its absence is final and nothing may be sent any more: it was not done."""
    kind = record.kind if record.refused and record.kind is not None else Kind.ABSENT
    return move(
        record, Event.REJECT, By.LOOKUP, "absence_final", now,
        final=1, kind=kind, doubt=0, **closed(),
    )  # fmt: skip


def hold(record: ActionRecord, *, due_at: float | None, now: float) -> Move:
    """Let go of the action until something is due; no event.

    An attempt under way stays due when its lease ends, whatever its holder thinks.
    """
    if record.state is State.SENT:
        return Move(record.changed(updated_at=now), ())
    return Move(record.changed(**FREE, due_at=due_at, updated_at=now), ())


def _speaks_for_all(record: ActionRecord, contract: Contract, outcome: Outcome) -> bool:
    """Whether a refusal of the attempt under way would, by promise, speak for the key.

    Either it is stored under the key; or this attempt was sent so late that what is in doubt had
    taken effect by then or never will (:func:`repeat_settles`), and would have been answered. A
    client that sent by itself again may have sent before that time.
    """
    if outcome.retryable:
        return False
    if contract.refusal_covers_key:
        return True
    after_s = contract.refusal_final_after_s
    last, mine = record.last_possible_at, record.last_sent_at
    if after_s is None or last is None or mine is None or outcome.sends > 1:
        return False
    return repeat_settles(record, contract) and mine >= last + after_s


def _refused(
    record: ActionRecord, contract: Contract, outcome: Outcome, now: float, wait_s: float,
    covers: bool, /,
) -> Move:  # fmt: skip
    # a client that sent by itself again tells only of the last time: the first is in doubt
    again = outcome.sends > 1
    if outcome.kind is Kind.IN_PROGRESS:
        # our own key is being worked on: ask, or come back with the same key, once that may be over
        patience_s = max(wait_s, contract.budget.send_deadline_s)
        at = now + _wait(outcome, wait_s if outcome.retry_after_s is not None else patience_s)
        return _doubt(record, outcome, By.CALL, now, not_before_at=at)
    if outcome.kind is Kind.KEY_REUSE:
        return _doubt(
            record, outcome, By.CALL, now, refused=1, kind=outcome.kind, code=outcome.code
        )
    if outcome.kind in DUPLICATE_KINDS and _may_be_ours(record, contract, outcome, covers=covers):
        return _doubt(
            record, outcome, By.CALL, now, reason="duplicate_refusal", refused=1,
            kind=outcome.kind, code=outcome.code, related_ref=outcome.related_ref,
        )  # fmt: skip
    if covers or not (record.doubt or again):
        refusal = reject(record, outcome, now)
        if outcome.retryable:
            at = now + _wait(outcome, wait_s)
            return refusal._replace(after=refusal.after.changed(due_at=at, not_before_at=at))
        return refusal
    # an earlier attempt may have happened: this refusal speaks only for its own
    return move(
        record, Event.LOSE, By.CALL, "refusal_not_covering", now, detail=detail_of(outcome),
        evidence=Evidence.NOT_ASKED, refused=int(not outcome.retryable), kind=outcome.kind,
        code=outcome.code, related_ref=outcome.related_ref, doubt=record.doubt + again,
        not_before_at=now + _wait(outcome, wait_s), due_at=now, ask_at=None, **FREE,
    )  # fmt: skip


def _may_be_ours(
    record: ActionRecord, contract: Contract, outcome: Outcome, *, covers: bool
) -> bool:
    """Whether "already exists" could speak of our own effect."""
    if covers and contract.repeat is Repeat.BY_KEY:
        return False  # our own effect would have been replayed, whichever attempt it was
    if record.doubt > 0 or outcome.sends > 1:
        return True
    # a provider that deduplicates by key would have replayed our own effect, not refused it
    return contract.repeat is not Repeat.BY_KEY and contract.lookup is not None


def _not_sent(record: ActionRecord, outcome: Outcome, now: float, wait_s: float) -> Move:
    at = now + _wait(outcome, wait_s)
    if record.doubt:
        return move(
            record, Event.LOSE, By.CALL, "not_sent_but_doubt", now, detail=detail_of(outcome),
            evidence=Evidence.NOT_ASKED, not_before_at=at, due_at=now, ask_at=None, **FREE,
        )  # fmt: skip
    # the key's lifetime runs from its first sending; only a first attempt takes that back
    first = None if record.attempt == 1 else record.first_sent_at
    unsent = move(
        record, Event.UNSEND, By.CALL, outcome.reason, now, detail=detail_of(outcome),
        not_before_at=at, due_at=at, first_sent_at=first, last_possible_at=None, **FREE,
    )  # fmt: skip
    if outcome.retryable:
        return unsent
    kind = outcome.kind or Kind.WITHDRAWN
    end = withdraw(unsent.after, by=By.CALL, reason=outcome.reason, now=now)
    return Move(end.after.changed(kind=kind), unsent.drafts + end.drafts)


def _doubt(
    record: ActionRecord,
    outcome: Outcome,
    by: By,
    now: float,
    /,
    *,
    reason: str = "",
    **changes: Any,
) -> Move:
    values: dict[str, Any] = {
        "doubt": record.doubt + 1, "evidence": Evidence.NOT_ASKED, "ask_at": None, "due_at": now,
        **FREE, **changes,
    }  # fmt: skip
    return move(
        record, Event.LOSE, by, reason or outcome.reason, now, detail=detail_of(outcome), **values
    )


def _wait(outcome: Outcome, wait_s: float) -> float:
    """Neither sooner than the provider advised nor than the back-off: "at once" is no loop."""
    return max(wait_s, outcome.retry_after_s or 0.0)
