"""A person's verdict on an action, checked like everything else that moves it."""

from __future__ import annotations

from datetime import datetime
from math import ceil
from typing import assert_never

from ascertain.errors import (
    ActionNotFound,
    LedgerError,
    MayStillArrive,
    NotAllowed,
    ReferenceTaken,
    SenderMayBeAlive,
)
from ascertain.model.action import ActionRecord
from ascertain.model.chain import Around, Keeps, Turns
from ascertain.model.contract import Contract
from ascertain.model.operations import Advanced, Beside, ClaimBy, Contested, Reply
from ascertain.model.tables import By, State
from ascertain.rules import arrivals, cases, chain, fold, left
from ascertain.rules import evidence as rules
from ascertain.rules.cases import SEVERAL, Verdict
from ascertain.rules.chain import advance_of
from ascertain.rules.context import brought_by
from ascertain.rules.lost import is_nameless
from ascertain.rules.moves import Move
from ascertain.rules.news.items import LATER
from ascertain.rules.said import check_said
from ascertain.runtime import sender
from ascertain.runtime.hands import Hands


def resolve(
    hands: Hands,
    action_id: str,
    *,
    confirmed: str | None = None,
    not_done: bool = False,
    too_many: bool = False,
    undone: bool = False,
    turn_back: bool = False,
    kept: bool = False,
    evidence: str = "",
) -> ActionRecord:
    """Write a verdict.

    :raises ActionNotFound: there is no such action.
    :raises ContractError: not exactly one verdict, or one without what it needs.
    :raises SenderMayBeAlive: "not done" while an earlier sender may still send.
    :raises MayStillArrive: "not done" while what was sent may still be on its way.
    :raises ReferenceTaken: the reference is another action's, by an answer or a person's word.
    :raises NotAllowed: the action is settled, somebody is at work on it, or its own undo is.
    """
    said = check_said({
        Verdict.CONFIRMED: confirmed is not None, Verdict.NOT_DONE: not_done,
        Verdict.TOO_MANY: too_many, Verdict.UNDONE: undone, Verdict.TURN_BACK: turn_back,
        Verdict.KEPT: kept,
    }, confirmed, evidence)  # fmt: skip
    record = hands.ledger.get(action_id)
    if record is None:
        raise ActionNotFound(f"There is no action {action_id!r} in {hands.ledger.url}.")
    now = hands.clock()
    if said is Verdict.TURN_BACK or (said is Verdict.KEPT and record.review == left.CASE):
        _refuse_unleft(record)
        turns = (Turns(chain=record.chain, reason="left"),) if said is Verdict.TURN_BACK else ()
        move = left.decided(record, said, evidence=evidence, now=now)
        return write(hands, record, move, beside=turns)
    if said is Verdict.KEPT:
        _refuse_unturned(record, _around(hands, record))
        move = chain.keep(record, evidence=evidence, now=now)
        return write(hands, record, move, beside=(Keeps(chain=record.chain),))
    record = _closed_attempt(hands, record)
    match said:
        case Verdict.UNDONE:
            _refuse_by_hand(record, _around(hands, record))
            return write(hands, record, chain.by_hand(record, evidence=evidence, now=now))
        case Verdict.TOO_MANY:
            _refuse_counted(record)
            return write(hands, record, cases.too_many(record, evidence=evidence, now=now))
        case Verdict.CONFIRMED:
            _refuse_settled(record, confirms=True)
            _refuse_unsent(record)
            _refuse_temporary(record)
            move = rules.verdict_confirmed(
                record, _contract(hands, record), provider_ref=confirmed or "", evidence=evidence,
                now=now,
            )  # fmt: skip
            return _claim(hands, record, move)
        case Verdict.NOT_DONE:
            _refuse_settled(record, confirms=False)
            record = _refuse_while_alive(hands, record)
            _refuse_while_under_way(hands, record, now)
            move = rules.verdict_not_done(record, evidence=evidence, now=now)
            return write(hands, record, move)
        case _:
            assert_never(said)


def _around(hands: Hands, record: ActionRecord) -> Around | None:
    return hands.ledger.chains.around(record.chain) if record.chain else None


def _refuse_unleft(record: ActionRecord) -> None:
    """A chain that goes on, or has ended, is turned by who made the wish."""
    if record.review != left.CASE:
        raise NotAllowed(
            f"Action {record.id} is no case of a chain whose code did not come to its end.",
            next_step="Turn a chain that goes on by chain.turn_back(reason).",
        )


def _refuse_unturned(record: ActionRecord, around: Around | None) -> None:
    """What could not be undone stays as it is: only where something is undone at all."""
    member = around.member(record.id) if around is not None else None
    turned = around is not None and around.chain.backward
    if member is None or member.undoes or not turned or record.state is not State.CONFIRMED:
        raise NotAllowed(f"Action {record.id} is not a confirmed step of a chain that goes back.")


def _refuse_by_hand(record: ActionRecord, around: Around | None) -> None:
    """Nobody undoes by hand what is being undone, or was."""
    why = chain.not_by_hand(record, around)
    if why in ("no_step", "not_confirmed"):
        raise NotAllowed(
            f"Action {record.id} is not a confirmed step of a chain that goes back, as it stands.",
            next_step="Turn its chain back first: chain.turn_back(reason).",
        )
    undo = around.undo_of(record.id) if around is not None else None
    if why and undo is not None:
        raise NotAllowed(
            f"Action {record.id} has an undo of its own, {undo.id}, which is {undo.state}.",
            next_step="Say first what became of that one"
            f" (`ascertain review show {undo.id}`); where it is confirmed, there is nothing to do.",
        )


def write(
    hands: Hands, before: ActionRecord, move: Move, beside: tuple[Beside, ...] = ()
) -> ActionRecord:
    """Write a move from outside a flow.

    :raises NotAllowed: somebody was quicker.
    """
    reply = _written(hands, before, move, beside)
    if not isinstance(reply, Advanced):
        raise NotAllowed("The action has just moved on; look at it again.")
    return reply.record


def _brought(hands: Hands, before: ActionRecord, move: Move) -> tuple[Beside, ...]:
    """What the session gets to know by a verdict: the reference, where a key is the reference."""
    contract = hands.contract_of(before, hands.registry.find(before.tool))
    if contract is None:
        return ()
    limit, now = hands.context_limit_bytes, hands.clock()
    brings = brought_by(contract, before, move.after, None, limit_bytes=limit, now=now)
    return () if brings is None else (brings,)


def _written(
    hands: Hands, before: ActionRecord, move: Move, beside: tuple[Beside, ...] = ()
) -> Reply:
    told = (*beside, *_brought(hands, before, move))
    operation = advance_of(before, move, None, told, hands.ledger.epoch.id)
    reply = hands.committer.commit(operation)
    hands.written(operation, reply)
    return reply


def _claim(hands: Hands, before: ActionRecord, move: Move) -> ActionRecord:
    """Write a confirmation; whom only a look-up gave the same reference is disputed first."""
    reply = _written(hands, before, move)
    if isinstance(reply, Contested):
        assert move.claim is not None  # it is what was contested
        other, ref = reply.other, move.claim.provider_ref
        if reply.by is not ClaimBy.LOOKUP:
            word = "a person's verdict" if reply.by is ClaimBy.VERDICT else "the provider's answer"
            raise ReferenceTaken(
                f"{ref} is the reference of action {other.id} by {word}.", action=other.id
            )
        now = hands.clock()
        doubt = rules.contradicted(other, provider_ref=ref, owner=before.id, now=now, by=By.PERSON)
        write(hands, other, doubt)
        return write(hands, before, move)
    if not isinstance(reply, Advanced):
        raise NotAllowed("The action has just moved on; look at it again.")
    return reply.record


def _contract(hands: Hands, record: ActionRecord) -> Contract:
    contract = hands.contract_of(record, hands.registry.find(record.tool))
    if contract is None:
        raise LedgerError(f"The contract of action {record.id} is not in the ledger.")
    return contract


def _closed_attempt(hands: Hands, record: ActionRecord) -> ActionRecord:
    """A verdict never speaks over an attempt under way; one whose lease is gone is lost first."""
    now = hands.clock()
    owner = record.lease_owner or ""
    gone = not owner or sender.is_gone(owner)
    if not gone and record.lease_until is not None and record.lease_until > now:
        raise SenderMayBeAlive(
            f"Action {record.id} is being worked on for up to {record.lease_until - now:.0f} s.",
            next_step="Try again after that.",
        )
    if record.state is not State.SENT:
        return record
    suspect = "" if gone else f"{owner}#{record.attempt}"
    given_up = fold.lose(record, reason="lease_expired", suspect=suspect, now=now, by=By.WORKER)
    return write(hands, record, given_up)


def _refuse_settled(record: ActionRecord, *, confirms: bool) -> None:
    seen_to = confirms and record.review in (SEVERAL, LATER)
    if record.terminal and not record.disputed and not seen_to:
        raise NotAllowed(
            f"Action {record.id} is {record.state}, not disputed; what is known is never rewritten."
        )


def _refuse_counted(record: ActionRecord) -> None:
    """Only of what is confirmed, and may be more than one effect, can one be too many."""
    if record.state is not State.CONFIRMED or (record.review != SEVERAL and not record.disputed):
        raise NotAllowed(
            f"Action {record.id} is {record.state}, and no case of more than one effect.",
            next_step=f"`ascertain review show {record.id}` names the verdicts that it takes.",
        )


def _refuse_unsent(record: ActionRecord) -> None:
    """What was never sent cannot have happened by it, whatever was done by hand meanwhile."""
    if record.state is State.PREPARED:
        raise NotAllowed(
            f"Nothing of action {record.id} was sent, so it cannot be confirmed.",
            next_step="If it was done by hand, say --not-done and name it in the evidence.",
        )


def _refuse_temporary(record: ActionRecord) -> None:
    """A refusal for a while is definite: it was not done. It can only be withdrawn."""
    if record.state is State.REJECTED and not record.final:
        raise NotAllowed(
            f"Action {record.id} was refused for a while ({record.kind}): it was not done.",
            next_step="--not-done --evidence TEXT ends it, so that it can be wished anew.",
        )


def _refuse_while_under_way(hands: Hands, record: ActionRecord, now: float) -> None:
    """Nobody can know that it was not done while a request may still be on its way."""
    contract = hands.contract_of(record, hands.registry.find(record.tool))
    if contract is None:
        contract = Contract(tool=record.tool, noun=record.tool)  # of which nothing is known
    sent, missing = (
        arrivals.may_arrive_until(record, contract),
        arrivals.missing_may_arrive_until(record, contract, hands.ledger.epoch, hands.lease_s),
    )
    until = max((one for one in (sent, missing) if one is not None), default=None)
    if until is None or until <= now:
        return
    at = datetime.fromtimestamp(until).astimezone()
    raise MayStillArrive(
        f"What was sent of action {record.id} may still take effect until {at:%Y-%m-%d %H:%M:%S}.",
        next_step=f"Look at the provider again in {ceil(until - now)} s, then say it again; or "
        "confirm with a reference if it is there.",
        until=until,
    )


def _refuse_while_alive(hands: Hands, record: ActionRecord) -> ActionRecord:
    """Nobody can know that it was not done while a sender may still send.

    That one is gone is written down: what it sent until then is on its way from now on.
    """
    suspects = [name for name in record.suspect.split(",") if name and not is_nameless(name)]
    alive = [name for name in suspects if not sender.is_gone(name)]
    if alive:
        host, _, _, pid, *_ = alive[0].split("/")
        raise SenderMayBeAlive(
            f"The process {pid} on {host} sent attempt {alive[0].rpartition('#')[2]} and may still "
            "be alive.",
            next_step=f"Stop that process (kill {pid} on {host}), then say it again.",
        )
    if suspects:
        record = write(hands, record, rules.clear_suspects(record, suspects, now=hands.clock()))
    # one whose name the ledger has lost can never be proven gone: a person's word has to do, once
    # what it sent cannot arrive any more
    return record.changed(suspect="")
