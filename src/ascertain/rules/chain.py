"""What a chain means for its actions: what may start, what turns it, what is undone and when."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from ascertain.errors import ContractError
from ascertain.model.action import ActionRecord
from ascertain.model.chain import Around, ChainRecord, Course, Joins, Member, Steers, Weight
from ascertain.model.contract import Contract
from ascertain.model.operations import Advance, Beside
from ascertain.model.outcome import Kind
from ascertain.model.tables import By, Event, State
from ascertain.rules.cases import Verdict
from ascertain.rules.moves import FREE, Move, closed, move, note

TURNED = "chain_turned_back"
STOPPED = "chain_stopped"
WAITS_FOR = "waits_for:"
HELD = "context_"
REVIEW_WITHIN_S = 86_400.0
UNWANTED = "undo_not_wanted"
BY_HAND = "undone_by_hand"
VERDICTS = (Verdict.KEPT,)

# A refusal that no correction helps turns the chain at once; others when its block is left.
_TURNS_AT_ONCE = frozenset({Kind.BUSINESS, Kind.ABSENT})


def chain_id(tenant: str, principal: str, session: str, name: str, ordinal: str) -> str:
    """The same wish of the same session is the same chain, in whatever process."""
    parts = f"{tenant}\x1f{principal}\x1f{session}\x1f{name}\x1f{ordinal}"
    return hashlib.blake2b(parts.encode(), digest_size=12).hexdigest()


def begins_own(contract: Contract) -> bool:
    """Whether a call that is in no chain begins one, so that its undo can be asked for.

    What brings context to a session is left out: others may have gone on from it.
    """
    return contract.undo_offered and not contract.provides


def is_own(record: ActionRecord) -> bool:
    """Whether the action's chain is its own: it has no other step."""
    return bool(record.chain) and record.chain == record.id


def is_alone(chain: ChainRecord) -> bool:
    """Whether it is the chain of a single call."""
    return chain.ordinal == chain.id


def own(record: ActionRecord) -> Joins:
    """The chain of a call that begins its own.

    No code has to come to its end, and no refusal turns it.

    :param record: about to be stored; its chain is named by its id.
    """
    chain = ChainRecord(
        id=record.chain, tenant=record.tenant, principal=record.principal, session=record.session,
        name=record.tool, ordinal=record.id, wish="done", wish_zh="", plan="",
        created_at=record.created_at,
    )  # fmt: skip
    member = Member(chain.id, record.id, record.tool, 1, Weight.BEST_EFFORT)
    return Joins(chain=chain, member=member)


def may_be_undone(record: ActionRecord, contract: Contract) -> bool:
    """Whether it began a chain of its own, so that its undo may have been asked for."""
    return begins_own(contract) and is_own(record)


def may_ask_undo(record: ActionRecord, contract: Contract, now: float) -> bool:
    """Whether a model may ask that a confirmed call is undone: by its reference, in time."""
    if not may_be_undone(record, contract) or record.provider_ref is None:
        return False
    deadline = undo_by_at(record, contract)
    free = not record.disputed and record.review is None
    return contract.undo is not None and free and (deadline is None or now < deadline)


def not_started(record: ActionRecord) -> bool:
    """Whether its chain, or its session's context, kept the step from being sent."""
    reason = record.reason
    return record.kind is Kind.WITHDRAWN and (
        reason.startswith((WAITS_FOR, HELD)) or reason in (TURNED, STOPPED, UNWANTED)
    )


def satisfied(record: ActionRecord) -> bool:
    """Whether what depends on the step may start.

    A refusal because it exists already, with the existing one checked to be the caller's, is as
    good as a confirmation: the flow goes on with that one.
    """
    return (record.state is State.CONFIRMED and not record.overruled) or _exists(record)


def gate(needs: Mapping[str, ActionRecord | None], coming: AbstractSet[str] = frozenset()) -> str:
    """Why a step must not start; '' where it may.

    :param needs: the steps that it depends on, as they stand; None: it was never called.
    :param coming: those that are under way, and do not count yet.
    """
    for step, record in needs.items():
        if step not in coming and (record is None or not satisfied(record)):
            return f"{WAITS_FOR}{step}"
    return ""


def under_way(record: ActionRecord, now: float) -> bool:
    """Whether somebody is sending the step just now, wherever that is.

    What is unknown is not: a person would not wait for it before the next step either.
    """
    return record.state is State.SENT and (record.lease_until or 0.0) > now


def blocks(chain: ChainRecord | None, member: Member | None) -> str:
    """Why nothing may be sent in the chain; '' where it may."""
    if chain is None:
        return ""
    if chain.stopped_at is not None:
        return STOPPED
    undoes = member is not None and bool(member.undoes)
    return TURNED if chain.backward and not undoes else ""


def unwanted(original: ActionRecord, place: Member | None) -> str:
    """Why an undo must not be begun, as what it reverses stands by now; '' where it may.

    A worker may have rested for longer than its lease, and a person settled it meanwhile.
    """
    kept = place is not None and bool(place.kept)
    undoable = original.state in (State.CONFIRMED, State.UNKNOWN)
    return "" if undoable and not kept else UNWANTED


def turns(record: ActionRecord, member: Member) -> str:
    """Why this end of a step turns its chain back at once; '' where it does not."""
    final = record.state is State.REJECTED and bool(record.final)
    if not final or member.undoes or member.weight is not Weight.ESSENTIAL:
        return ""
    return f"refused:{member.step}" if record.kind in _TURNS_AT_ONCE else ""


def uncorrected(around: Around) -> str:
    """Why the chain turns back when its forward part ends; '' where it does not.

    A refusal that a later call corrected counts no more; a step that was never started is none.
    """
    for step, (member, record) in around.steps().items():
        if member.weight is not Weight.ESSENTIAL or not_started(record) or _exists(record):
            continue
        if record.state is State.REJECTED and record.final:
            return f"refused:{step}"
    return ""


def course(record: ActionRecord, contract: Contract, around: Around | None, now: float) -> Course:
    """What the chain means for this action now."""
    mine = None if around is None else around.member(record.id)
    if around is None or mine is None or contract.is_read:
        return Course.FORWARD
    undo = around.undo_of(record.id)
    if undo is not None and undo.state is State.CONFIRMED and not undo.overruled:
        return _way(contract)
    if around.chain.stopped_at is not None:
        return Course.STOPPED
    if not around.chain.backward or mine.undoes:
        return Course.FORWARD
    if mine.kept:
        return Course.KEPT
    if _depended_on(mine, around):
        return Course.WAITS
    if undo is not None:
        return Course.STUCK if stuck(undo) else _way(contract)
    if contract.undo is None or (contract.undo_by != "key" and record.provider_ref is None):
        return Course.IRREVERSIBLE
    deadline = undo_by_at(record, contract)
    if deadline is not None and now >= deadline:
        return Course.TOO_LATE
    return _way(contract)


def undo_by_at(record: ActionRecord, contract: Contract) -> float | None:
    """Until when it may be undone, counted from the last send; None: without end."""
    if contract.undo_within_s is None or record.last_sent_at is None:
        return None
    return record.last_sent_at + contract.undo_within_s


def stuck(undo: ActionRecord) -> bool:
    """Whether an undo goes no further by itself."""
    return undo.review is not None or bool(undo.disputed) or (
        undo.state is State.REJECTED and bool(undo.final)
    )  # fmt: skip


def compensated(record: ActionRecord, undo: ActionRecord, now: float) -> Move:
    """Its compensating action is confirmed."""
    return move(
        record, Event.COMPENSATE, By.WORKER, "undone", now,
        detail={"undo": undo.id, "ref": undo.provider_ref}, doubt=0, **closed(),
    )  # fmt: skip


def undo_case(
    record: ActionRecord, undo: ActionRecord | None, *, reason: str, snapshot: Any, now: float
) -> Move:
    """It could not be undone by itself: a person gets everything that is known.

    The event keeps the original record, the undo's error, and the provider's own view of now.
    """
    detail: dict[str, Any] = {
        "original": {
            "id": record.id, "key": record.key, "ref": record.provider_ref,
            "state": str(record.state),
        },
        "undo": None if undo is None else {
            "id": undo.id, "key": undo.key, "state": str(undo.state),
            "kind": undo.kind and str(undo.kind), "code": undo.code,
            "reason": undo.review or undo.reason,
        },
        "snapshot": snapshot,
        "verdicts": list(VERDICTS),
        "review_by": now + REVIEW_WITHIN_S,
    }  # fmt: skip
    opened = record.changed(review=reason, review_at=now, due_at=None, **FREE)
    return note(opened, By.WORKER, f"review:{reason}", now, detail)


def keep(record: ActionRecord, *, evidence: str, now: float) -> Move:
    """A person decided that it stays as it is."""
    kept = record.changed(review=None, review_at=None, due_at=None)
    return note(kept, By.PERSON, "verdict_kept", now, {"evidence": evidence})


def not_by_hand(record: ActionRecord, around: Around | None) -> str:
    """Why a person's word that they undid the action cannot be taken; '' where it can.

    What is known of its own undo comes first: else it would be reversed by both.
    """
    mine = None if around is None else around.member(record.id)
    if around is None or mine is None or mine.undoes or not around.chain.backward:
        return "no_step"
    if record.state is not State.CONFIRMED or record.disputed:
        return "not_confirmed"
    undo = around.undo_of(record.id)
    if undo is None or undo.overruled:
        return ""
    if undo.state is State.CONFIRMED:
        return "undone_already"
    return "undo_open" if undo.open or undo.disputed else ""


def by_hand(record: ActionRecord, *, evidence: str, now: float) -> Move:
    """A person undid it by hand, and says how they know."""
    return move(
        record, Event.COMPENSATE, By.PERSON, BY_HAND, now,
        detail={"evidence": evidence}, doubt=0, **closed(),
    )  # fmt: skip


def advance_of(
    before: ActionRecord,
    move: Move,
    result: str | None = None,
    beside: tuple[Beside, ...] = (),
    epoch: str | None = None,
) -> Advance:
    """The operation that writes a move; an event in a chain is told to the chain.

    :param epoch: of a send: the epoch of the ledger in which it was decided.
    """
    if before.chain and move.drafts:
        sends = any(draft.event is Event.SEND for draft in move.drafts)
        beside += (Steers(chain=before.chain, sends=sends),)
    return Advance(
        before=before,
        after=move.after,
        drafts=move.drafts,
        result=result,
        beside=beside,
        claim=move.claim,
        epoch=epoch,
    )


def circle(needs: Mapping[str, Sequence[str]], step: str) -> bool:
    """Whether a step, directly or not, waits for itself."""
    seen: set[str] = set()
    following = list(needs.get(step, ()))
    while following:
        name = following.pop()
        if name == step:
            return True
        if name not in seen:
            seen.add(name)
            following += needs.get(name, ())
    return False


def check_order(steps: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """The steps in an order in which each comes after what it depends on.

    :raises ContractError: a step twice, one that depends on an unknown one, or a circle.
    """
    names = [name for name, _ in steps]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ContractError(f"The step {twice[0]!r} is declared twice; a step's name is its own.")
    needs = {name: list(after) for name, after in steps}
    for name, after in needs.items():
        unknown = [other for other in after if other not in needs]
        if unknown:
            raise ContractError(
                f"The step {name!r} comes after {unknown[0]!r}, which is no step of this chain."
            )
    order: list[str] = []
    while len(order) < len(needs):
        ready = [n for n in needs if n not in order and all(a in order for a in needs[n])]
        if not ready:
            circle = ", ".join(repr(name) for name in needs if name not in order)
            raise ContractError(f"The steps {circle} wait for each other in a circle.")
        order += ready
    return order


def _way(contract: Contract) -> Course:
    return Course.UNDO_BY_KEY if contract.undo_by == "key" else Course.UNDO


def _exists(record: ActionRecord) -> bool:
    return record.kind is Kind.ALREADY_EXISTS and record.related_ref is not None


def _depended_on(mine: Member, around: Around) -> bool:
    """Whether something that depends on the step happened, or may have, and is not undone.

    What is best effort holds nothing up.
    """
    for member, record in around.members:
        if member.undoes or member.kept or mine.step not in member.after:
            continue
        if member.weight is not Weight.ESSENTIAL:
            continue
        ended = record.state is State.REJECTED and record.final
        if not (ended or record.state is State.COMPENSATED):
            return True
    return False
