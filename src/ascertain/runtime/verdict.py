"""A person's verdict on an action, checked like everything else that moves it."""

from __future__ import annotations

from ascertain.errors import ActionNotFound, ContractError, NotAllowed, SenderMayBeAlive
from ascertain.model.action import ActionRecord
from ascertain.model.operations import Advance, Advanced
from ascertain.model.tables import By, State
from ascertain.rules import evidence as rules
from ascertain.rules import fold
from ascertain.rules.moves import Move
from ascertain.runtime import sender
from ascertain.runtime.hands import Hands


def resolve(
    hands: Hands, action_id: str, *, confirmed: str | None, not_done: bool, evidence: str
) -> ActionRecord:
    """Write a verdict.

    :raises ActionNotFound: there is no such action.
    :raises ContractError: not exactly one verdict, or one without what it needs.
    :raises SenderMayBeAlive: "not done" while an earlier sender may still send.
    :raises NotAllowed: the action is settled, or somebody is at work on it.
    """
    if (confirmed is None) == (not not_done):
        raise ContractError(
            "Say exactly one of: confirmed with a reference, or not done with evidence.",
            next_step="--confirmed REF | --not-done --evidence TEXT",
        )
    if confirmed is not None and not confirmed.strip():
        raise ContractError("A confirmation names the provider's reference.")
    if not_done and not evidence.strip():
        raise ContractError("'Not done' needs evidence: how do you know?")
    record = hands.ledger.get(action_id)
    if record is None:
        raise ActionNotFound(f"There is no action {action_id!r} in {hands.ledger.url}.")
    record = _closed_attempt(hands, record)
    now = hands.clock()
    _refuse_settled(record)
    _refuse_temporary(record)
    if confirmed is not None:
        _refuse_unsent(record)
        move = rules.verdict_confirmed(record, provider_ref=confirmed, evidence=evidence, now=now)
    else:
        _refuse_while_alive(record)
        move = rules.verdict_not_done(record, evidence=evidence, now=now)
    return write(hands, record, move)


def write(hands: Hands, before: ActionRecord, move: Move) -> ActionRecord:
    """Write a move from outside a flow.

    :raises NotAllowed: somebody was quicker.
    """
    operation = Advance(before=before, after=move.after, drafts=move.drafts)
    reply = hands.committer.commit(operation)
    if not isinstance(reply, Advanced):
        raise NotAllowed("The action has just moved on; look at it again.")
    hands.written(operation, reply)
    return reply.record


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
    lost = fold.lose(record, reason="lease_expired", suspect=suspect, now=now, by=By.WORKER)
    return write(hands, record, lost)


def _refuse_settled(record: ActionRecord) -> None:
    if record.terminal and not record.disputed:
        raise NotAllowed(
            f"Action {record.id} is {record.state}, not disputed; what is known is never rewritten."
        )


def _refuse_unsent(record: ActionRecord) -> None:
    """What was never sent cannot have happened by it, whatever was done by hand meanwhile."""
    if record.state is State.PREPARED:
        raise NotAllowed(
            f"Nothing of action {record.id} was sent, so it cannot be confirmed.",
            next_step="If it was done by hand, say --not-done and name it in the evidence.",
        )


def _refuse_temporary(record: ActionRecord) -> None:
    """A refusal for a while is definite already: it was not done, and may be called again."""
    if record.state is State.REJECTED and not record.final and not record.disputed:
        raise NotAllowed(
            f"Action {record.id} was refused for a while ({record.kind}): it was not done.",
            next_step="There is nothing to decide; a new call tries it again.",
        )


def _refuse_while_alive(record: ActionRecord) -> None:
    """Nobody can know that it was not done while a sender may still send."""
    alive = [name for name in record.suspect.split(",") if name and not sender.is_gone(name)]
    if alive:
        host, _, _, pid, *_ = alive[0].split("/")
        raise SenderMayBeAlive(
            f"The process {pid} on {host} sent attempt {alive[0].rpartition('#')[2]} and may still "
            "be alive.",
            next_step=f"Stop that process (kill {pid} on {host}), then say it again.",
        )
