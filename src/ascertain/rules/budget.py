"""Bounds, in two halves; and when the next thing may happen.

The turn half bounds one call. The action half bounds the action over restarts and layers. Nothing
here reads a clock or rolls dice: `now` and `dice` are arguments.
"""

from __future__ import annotations

from typing import NamedTuple

from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract, Repeat
from ascertain.model.outcome import Evidence, Kind


class Turn(NamedTuple):
    """What one call may still spend: sends, and until when (ledger clock)."""

    sends_left: int
    until: float

    def spend(self) -> Turn:
        """The turn after one more send."""
        return Turn(self.sends_left - 1, self.until)


def last_send_at(record: ActionRecord, contract: Contract) -> float | None:
    """Until when the action may be sent at all; None while it was never sent.

    The key's lifetime less its margin, counted from the first send, and the horizon.
    """
    if record.first_sent_at is None:
        return None
    horizon = contract.budget.horizon_s
    if contract.key_lifetime_s is not None:
        horizon = min(horizon, contract.key_lifetime_s - contract.key_margin_s)
    return record.first_sent_at + horizon


def sends_left(record: ActionRecord, contract: Contract, now: float) -> bool:
    """Whether the action half allows one more send, hidden retries included."""
    until = last_send_at(record, contract)
    if until is not None and now >= until:
        return False
    return max(record.attempt, record.sends) < contract.budget.sends


def repeat_settles(record: ActionRecord, contract: Contract) -> bool:
    """Whether a refusal in hand leaves a doubt that one more repeat by key can end.

    By promise (`refusal_final_after`), and only once nobody may still send what is in doubt. A key
    that the provider knows with other arguments is refused alike for ever, and what is not wanted
    any more is not sent again.
    """
    return (
        contract.refusal_final_after_s is not None
        and contract.repeat is Repeat.BY_KEY
        and not record.suspect
        and record.kind not in (Kind.KEY_REUSE, Kind.WITHDRAWN)
    )


def resend_at(record: ActionRecord, contract: Contract) -> float | None:
    """When it may be sent again at the earliest; None: at once.

    After a refusal that did not speak for the attempts in doubt, not before one would.
    """
    after_s = contract.refusal_final_after_s
    if not record.refused or after_s is None or record.last_possible_at is None:
        return record.not_before_at
    return max(record.last_possible_at + after_s, record.not_before_at or 0.0)


def may_ask(record: ActionRecord, contract: Contract, now: float) -> bool:
    """Whether the action half allows one more look-up.

    The horizon bounds how long absence or work in progress is watched, a little beyond the last
    possible send, so that absence can still become final. It never forbids to ask for an answer
    that nobody has had yet: a ledger that was left alone for days asks first.
    """
    if record.unanswered >= contract.budget.unanswered:
        return False
    if record.first_sent_at is None or record.evidence in (Evidence.NOT_ASKED, Evidence.UNANSWERED):
        return True
    settling = (contract.lookup.absence_final_after_s or 0.0) if contract.lookup else 0.0
    last = max(record.first_sent_at + contract.budget.horizon_s, record.last_possible_at or 0.0)
    return now < last + 2 * settling + contract.budget.send_deadline_s


def manual_until(record: ActionRecord, contract: Contract, at_most: float) -> float:
    """Until when a call may be released that was taken as manual work.

    As long as it is wanted, where the contract says how long that is; else until ``at_most``: that
    its caller's turn is over does not make it unwanted, for its caller was told that it waits.
    """
    return at_most if contract.send_by_s is None else min(at_most, record.send_by_at)


def repeatable(contract: Contract) -> bool:
    """Whether the contract makes a repeat safe (lifetime and budget are judged apart)."""
    return contract.repeat is not Repeat.NEVER


def backoff_s(contract: Contract, tries: int, dice: float) -> float:
    """Seconds to wait before the next try: exponential, capped, between half and full.

    :param tries: how many have been made.
    :param dice: a random number in [0, 1).
    """
    budget = contract.budget
    full = min(budget.backoff_max_s, budget.backoff_s * (1 << min(max(tries - 1, 0), 20)))
    return full * (0.5 + dice / 2)
