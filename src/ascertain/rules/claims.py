"""Whose a reference is, where a record does not say it (look-ups by fields).

The store asks these inside the transaction that writes a confirmation, so that of two that claim
one reference one wins.
"""

from __future__ import annotations

from typing import assert_never

from ascertain.model.action import ActionRecord
from ascertain.model.operations import ClaimBy
from ascertain.model.tables import State


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
