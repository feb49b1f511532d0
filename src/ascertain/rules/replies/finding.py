"""What a reply says that the ledger does not."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ascertain.model.record import Record

WHY: dict[str, str] = {
    "submitted_without_evidence": "It says that it was done; nothing proves that.",
    "not_done_while_unknown": "It says that it was not done; nobody knows that yet.",
    "not_done_although_confirmed": "It says that it was not done; it is confirmed.",
    "more_than_receipt": "It says more than the provider's receipt does.",
    "reversed_without_evidence": "It says that it was undone; nothing proves that.",
    "doubted_although_settled": "It says that it is not known; it is.",
    "invites_repeat": "It invites a repeat of something that may have happened.",
    "unknown_reference": "It names a reference that no record of this conversation has.",
    "reference_of_another": "It gives one action the reference of another one.",
    "no_such_action": "It speaks of an action that is not on record.",
    "state_differs": "The state that it gives is not the one on record.",
    "reference_differs": "The reference that it gives is not the one on record.",
    "workflow_differs": "What it says of the whole wish is not what its actions come to.",
    "unreadable_claim": "It is no claim that could be checked.",
}


class Finding(Record):
    """One thing in a reply that contradicts the ledger.

    :param rule: a stable id, one of :data:`WHY`.
    :param said: the words, or the claim, as they were given.
    :param actions: ids of the actions that it speaks of; empty where there is none.
    :param known: what is on record about them, in a few words for machines and logs.
    :param say: the sentence to say instead, in the language of the reply.
    """

    rule: str
    said: str
    actions: tuple[str, ...] = ()
    known: str = ""
    say: str = ""

    @property
    def why(self) -> str:
        """The rule in one sentence."""
        return WHY[self.rule]

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "actions": list(self.actions), "why": self.why}
