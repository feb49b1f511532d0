"""Whose a reference is, where a record does not say it (look-ups by fields).

The store asks these inside the transaction that writes a confirmation, so that of two that claim
one reference one wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from ascertain.model.action import ActionRecord
from ascertain.model.operations import ClaimBy
from ascertain.model.outcome import Answer, Evidence
from ascertain.model.tables import State
from ascertain.rules.evidence import ANOTHERS
from ascertain.rules.moves import differs


def stands_against(claim: ClaimBy, held: ClaimBy, holder: ActionRecord) -> bool:
    """Whether another action, which has the reference, keeps the claim from being written.

    A look-up's word never takes a reference from anybody. An answer of its own takes it from whom
    anything less gave it, and a person from anybody, once that action is disputed: evidence against
    what is settled is never dropped.

    :param claim: on whose word it is claimed. :param held: on whose word ``holder`` has it.
    """
    match claim:
        case ClaimBy.LOOKUP:
            return True
        case ClaimBy.ANSWER:
            return held is not ClaimBy.ANSWER and not holder.disputed
        case ClaimBy.VERDICT:
            return not holder.disputed
        case _:
            assert_never(claim)


def is_shared(claim: ClaimBy, held: ClaimBy) -> bool:
    """Whether the provider itself gave one reference to two: both stand, the first keeps it."""
    return claim is ClaimBy.ANSWER and held is ClaimBy.ANSWER


def may_be_rival(other: ActionRecord, since: float) -> bool:
    """Whether the record that a look-up found may be this other action's, which looks the same.

    It was sent and may have taken effect, and has no reference of its own to prove which one.

    :param since: our first send; what was confirmed before it is not in the look-up's window.
    """
    if other.first_sent_at is None:
        return False
    if other.state is State.CONFIRMED:
        return other.provider_ref is None and other.updated_at >= since
    return other.state in (State.SENT, State.UNKNOWN)


def needs_others(record: ActionRecord, answer: Answer) -> bool:
    """Whether what a look-up by fields found can only be judged beside the actions that look alike.

    What is settled is contradicted by a second record, or by another reference; unless that record
    is another action's.
    """
    if not answer.found or not record.terminal:
        return False
    more = answer.count > 1 or differs(record.provider_ref, answer.provider_ref)
    return more or record.state is State.REJECTED


def discounted(record: ActionRecord, answer: Answer, others: Sequence[ActionRecord]) -> Answer:
    """What a look-up by fields found of a settled action, without what is known to be others'.

    A record that another action of ours has by its reference is no effect of this one. One that
    may be the effect of an action in doubt says nothing, until that one is settled. Where the
    look-up does not name all that it found, it is taken to have looked no further back than our
    first send.

    :param others: the actions with the same identity whose effects may be among what was found.
    """
    since, shown = record.first_sent_at or record.created_at, answer.provider_ref
    holders = [other for other in others if _has_reference(other, record)]
    refs = {other.provider_ref for other in holders}
    within = {one.provider_ref for one in holders if (one.last_sent_at or 0.0) >= since} | {shown}
    theirs = len(refs & (set(answer.refs) or within))
    settled = record.state is not State.REJECTED
    named = not answer.refs or record.provider_ref in (None, *answer.refs)
    mine = int(settled and named)
    strange = shown not in refs and (not settled or differs(record.provider_ref, shown))
    beyond = max(answer.count - theirs - mine, int(strange))  # what no action of ours accounts for
    if not beyond:
        if mine and answer.count > theirs:
            return replace(answer, provider_ref=record.provider_ref or shown, count=1)
        return Answer(evidence=Evidence.UNANSWERED, reason="reference_taken")
    if beyond <= sum(may_be_rival(other, since) for other in others):
        return Answer(evidence=Evidence.UNANSWERED, reason="rival_in_doubt")
    own = record.provider_ref if mine and shown in refs else shown
    if own in refs:
        own = next((ref for ref in answer.refs if ref not in refs), own)
    return replace(answer, provider_ref=own, count=min(answer.count, mine + beyond))


def _has_reference(other: ActionRecord, record: ActionRecord) -> bool:
    """Whether the other action is known to have another reference than this one."""
    done = other.state in (State.CONFIRMED, State.COMPENSATED) and not other.overruled
    return (
        done
        and other.review != ANOTHERS
        and other.provider_ref is not None
        and other.provider_ref != record.provider_ref
    )
