"""Cases for a person, with all that a decision needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.report.reading import is_observed, walk
from ascertain.report.reasons import sentence_of
from ascertain.report.story import Story, story_of
from ascertain.report.words import iso, sender_words
from ascertain.rules import cases as rules
from ascertain.rules.cases import Handed, Verdict
from ascertain.rules.chain import not_by_hand
from ascertain.rules.lost import is_nameless
from ascertain.runtime import sender
from ascertain.store.ledger import Filter, Ledger
from ascertain.values.misfit import is_object

CONTRADICTS = "Evidence contradicts what was settled."


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case.

    :param story: the action's, masked: its trail is the evidence.
    :param about: its identity arguments, such as the order's id.
    :param waits_for: senders that may still send, so that "not done" cannot be said yet.
    """

    story: Story
    handed: Handed
    opened_at: float
    verdicts: tuple[str, ...]
    about: dict[str, Any]
    waits_for: tuple[str, ...]
    now: float

    @property
    def record(self) -> ActionRecord:
        return self.story.record

    @property
    def reason(self) -> str:
        return rules.reason_of(self.record)

    @property
    def sentence(self) -> str:
        """Why a person has to look at it."""
        return CONTRADICTS if self.reason == rules.CONTRADICTION else sentence_of(self.reason)

    @property
    def overdue(self) -> bool:
        return self.now > self.handed.by_at

    def as_dict(self, *, trail: bool = False) -> dict[str, Any]:
        """For machines; ``trail`` adds all that is known of the action."""
        record = self.record
        told: dict[str, Any] = {
            "action": record.id,
            "tool": record.tool,
            "state": str(record.state),
            "disputed": bool(record.disputed),
            "reason": self.reason,
            "sentence": self.sentence,
            "owner": self.handed.owner or None,
            "opened_at": self.opened_at,
            "opened_at_utc": iso(self.opened_at),
            "by_at": self.handed.by_at,
            "by_at_utc": iso(self.handed.by_at),
            "overdue": self.overdue,
            "verdicts": list(self.verdicts),
            "waits_for": list(self.waits_for),
            "request_id": record.key,
            "provider_request_ids": list(self.handed.request_ids),
            "provider_ref": record.provider_ref,
            "related_ref": record.related_ref,
            "about": self.about,
            "items": list(self.handed.items),
            "principal": record.principal,
            "session": record.session,
            "chain": record.chain or None,
        }
        return {**told, "story": self.story.as_dict()} if trail else told


def cases(ledger: Ledger, now: float) -> Iterator[Case]:
    """All cases, newest action first; cost grows with the cases, by their own index."""
    for record in walk(ledger, Filter(review_only=True)):
        if not is_observed(record):
            yield case_of(ledger, record, now)


def case_of(ledger: Ledger, record: ActionRecord, now: float) -> Case:
    """One case, with its story."""
    story = story_of(ledger, record, now)
    handed = rules.handed(record, ledger.events(record.id))
    alive = [
        sender_words(name)
        for name in record.suspect.split(",")
        if name and not is_nameless(name) and not sender.is_gone(name)
    ]
    return Case(
        story=story,
        handed=handed,
        opened_at=record.updated_at if record.review_at is None else record.review_at,
        verdicts=_verdicts(ledger, record, handed),
        about=_about(story),
        waits_for=tuple(alive),
        now=now,
    )


def _verdicts(ledger: Ledger, record: ActionRecord, handed: Handed) -> tuple[str, ...]:
    """What its state permits, what its chain does, and what came with the case."""
    said = [str(verdict) for verdict in rules.permitted(record)]
    if record.chain and not not_by_hand(record, ledger.chains.around(record.chain)):
        said.append(Verdict.UNDONE)
    return tuple(dict.fromkeys((*said, *handed.verdicts)))


def _about(story: Story) -> dict[str, Any]:
    """What the action is about: the arguments that make it the intent it is."""
    names = () if story.contract is None else story.contract.identity
    given = story.arguments
    if not is_object(given):
        return {}
    return {name: given[name] for name in (names or given) if name in given}
