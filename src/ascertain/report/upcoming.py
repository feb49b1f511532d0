"""What comes next for an action, when, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract
from ascertain.model.tables import State
from ascertain.report.reading import is_observed
from ascertain.report.reasons import sentence_of
from ascertain.report.words import ago, iso, lowered, sender_words
from ascertain.rules.budget import resend_at
from ascertain.rules.decide import Decision, What, decide
from ascertain.rules.view import view_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Upcoming:
    """What comes next.

    :param what: a decision's word (``look_up``, ``resend``, ``review``, ``done``, ...), or
        ``in_hand`` (somebody is at work on it), ``lose`` (its sender's lease has run out),
        ``nothing`` (observed only), ``unclear`` (its contract is not in the ledger).
    :param reason: a stable code. :param sentence: the same in words.
    :param at: seconds since the epoch; None: no time is set.
    """

    what: str
    reason: str
    sentence: str
    at: float | None = None

    @property
    def title(self) -> str:
        """The decision as people say it."""
        return _TITLES.get(self.what, self.what.replace("_", " "))

    def in_words(self, now: float) -> str:
        """As a part of a sentence: ``look-up, in 2 s: the answer was lost; ...``."""
        when = "" if self.at is None else f", {'due ' if self.at <= now else ''}{ago(self.at, now)}"
        return f"{self.title}{when}: {lowered(self.sentence)}"

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "at_utc": iso(self.at)}


_TITLES = {
    "look_up": "look-up",
    "lose": "the answer counts as lost",
    "in_hand": "somebody is at work on it",
    "review": "a person decides",
    "done": "nothing",
    "close": "close it as not done",
}


def upcoming(
    record: ActionRecord, contract: Contract | None, now: float, *, gone: bool = False
) -> Upcoming:
    """What comes next, as the worker would decide it now.

    :param gone: who holds the lease is proven gone, so that it holds no longer.
    """
    if is_observed(record):
        return Upcoming(
            what="nothing", reason="observed", sentence="It was only observed; nobody acts on it."
        )
    if contract is None:
        return Upcoming(
            what="unclear", reason="no_contract", sentence="Its contract is not in this ledger."
        )
    if record.lease_until is not None and record.lease_until > now and not gone:
        return Upcoming(
            what="in_hand",
            reason="in_flight",
            sentence=f"The lease of {sender_words(record.lease_owner or '')} still holds.",
            at=record.lease_until,
        )
    if record.review is not None:
        return Upcoming(what="review", reason=record.review, sentence=sentence_of(record.review))
    if record.state is State.SENT:
        return Upcoming(
            what="lose",
            reason="lease_expired",
            sentence="Its sender is gone." if gone else "The lease of its sender has run out.",
            at=None if gone else record.due_at,
        )
    decision = decide(view_of(record, contract, now, None))
    return Upcoming(
        what=str(decision.what),
        reason=str(decision.reason),
        sentence=decision.sentence,
        at=_due_at(record, contract, decision),
    )


def _due_at(record: ActionRecord, contract: Contract, decision: Decision) -> float | None:
    match decision.what:
        case What.LOOK_UP:
            return record.ask_at or record.due_at
        case What.SEND | What.RESEND:
            return resend_at(record, contract) or record.due_at
        case What.CLOSE | What.WITHDRAW:
            return record.due_at
        case _:
            return None
