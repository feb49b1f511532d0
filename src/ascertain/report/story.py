"""The story of one action: what is known, how that came about, and what comes next."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

from ascertain.errors import LookupAnswer
from ascertain.model.action import ActionRecord, EventRecord
from ascertain.model.contract import Contract
from ascertain.model.tables import Event, Rule, State, rule_of
from ascertain.report.asked import AskedFor, asked_for
from ascertain.report.promises import promises_of
from ascertain.report.reading import contract_of, is_observed
from ascertain.report.reasons import sentence_of
from ascertain.report.shown import Shown, shown
from ascertain.report.upcoming import Upcoming, upcoming
from ascertain.report.words import MOVES, WHO, day_and_time, iso
from ascertain.rules import texts
from ascertain.runtime import sender
from ascertain.store.ledger import Burial, Ledger

BORN = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One event, readable.

    :param rule: the row of the transition table; None: the table of this release has no such row.
    :param evidence: short phrases. :param detail: the same as it is stored.
    """

    event: EventRecord
    rule: Rule | None
    who: str
    move: str
    sentence: str
    evidence: tuple[str, ...]
    detail: dict[str, Any]

    @property
    def moves(self) -> bool:
        """Whether it changed what is known (a note does not)."""
        return self.event.event != Event.NOTE

    @property
    def is_defect(self) -> bool:
        """Whether it tells of a look-up whose own code must be put right."""
        return self.event.reason == LookupAnswer.code

    @property
    def arrow(self) -> str:
        """The row as people say it: ``sent --lose--> unknown``."""
        event = self.event
        if not self.moves:
            return f"{event.end}, noted"
        return f"{event.start or BORN} --{event.event}--> {event.end}"

    def as_dict(self) -> dict[str, Any]:
        event = self.event
        return {
            "n": event.n,
            "at": event.at,
            "at_utc": iso(event.at),
            "by": event.by,
            "start": event.start,
            "event": event.event,
            "end": event.end,
            "move": self.move,
            "why": self.rule.why if self.rule else None,
            "reason": event.reason,
            "sentence": self.sentence,
            "attempt": event.attempt,
            "evidence": list(self.evidence),
            "detail": self.detail,
            "hash": event.hash.hex(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """All there is to say about one action.

    :param asked: what a person is asked to approve, where the action waits for that.
    :param burial: how its history was removed from the ledger; None: it was not.
    All of it is masked as the contract says (see :mod:`ascertain.report.shown`).

    :param arguments: what was to be sent. :param result: what came back.
    :param told: what the person is told, by language; empty where the contract is gone, and for
        what was only observed: there the caller said what it said.
    """

    record: ActionRecord
    contract: Contract | None
    arguments: Any
    result: Any
    moments: tuple[Moment, ...]
    upcoming: Upcoming
    told: dict[str, str]
    now: float
    asked: AskedFor | None = None
    burial: Burial | None = None

    @property
    def removed(self) -> str:
        """What became of its events, as people say it; empty where they are there."""
        if self.moments:
            return ""
        if self.burial is None or self.burial.archive is None:
            return "its events have been removed"
        when = "" if self.burial.at is None else f" on {day_and_time(self.burial.at)}"
        return f"it was archived{when} in {self.burial.archive}"

    def as_dict(self) -> dict[str, Any]:
        contract = self.contract
        return {
            "action": record_as_dict(self.record),
            "arguments": self.arguments,
            "result": self.result,
            "contract": None if contract is None else json.loads(contract.as_json()),
            "promises": [] if contract is None else promises_of(contract),
            "events": [moment.as_dict() for moment in self.moments],
            "next": self.upcoming.as_dict(),
            "say": self.told,
            **({} if self.asked is None else {"approval": self.asked.as_dict()}),
            **({} if self.burial is None else {"removed": burial_as_dict(self.burial)}),
        }


def story_of(ledger: Ledger, record: ActionRecord, now: float) -> Story:
    """Read everything about this action.

    :param now: seconds since the epoch, on the ledger's clock.
    """
    contract = contract_of(ledger, record)
    seen = shown(ledger, record, contract)
    record = seen.record
    return Story(
        record=record,
        contract=contract,
        arguments=seen.arguments,
        result=seen.result,
        moments=tuple(moment_of(event, seen) for event in ledger.events(record.id)),
        upcoming=upcoming(record, contract, now, gone=holder_is_gone(record)),
        told={} if contract is None or is_observed(record) else told(record, contract),
        now=now,
        asked=asked_for(ledger, record, contract, seen.arguments),
        burial=ledger.burial(record.id) if record.terminal else None,
    )


def holder_is_gone(record: ActionRecord) -> bool:
    """Whether who holds the lease can never act again, as far as can be told from here."""
    return record.lease_owner is not None and sender.is_gone(record.lease_owner)


def told(record: ActionRecord, contract: Contract) -> dict[str, str]:
    """What the person is told, in every language."""
    return {language: texts.say(record, contract, language) for language in texts.LANGUAGES}


def record_as_dict(record: ActionRecord) -> dict[str, Any]:
    """The record as plain JSON."""
    values = record._asdict()
    values["head"] = record.head.hex()
    values["open"] = record.open
    return values


def burial_as_dict(burial: Burial) -> dict[str, Any]:
    """How its history was removed, as plain JSON."""
    return {"at": burial.at, "at_utc": iso(burial.at), "archive": burial.archive}


def moment_of(event: EventRecord, seen: Shown) -> Moment:
    """Make one event of this action readable."""
    detail = seen.cover(_detail(event.detail))
    rule = _rule(event)
    kind = rule.event if rule is not None else None
    return Moment(
        event=event,
        rule=rule,
        who=WHO.get(event.by, event.by),
        move=MOVES[kind] if kind is not None else event.event,
        sentence=sentence_of(event.reason),
        evidence=tuple(evidence_words(detail)),
        detail=detail,
    )


def evidence_words(detail: dict[str, Any]) -> list[str]:
    """What came with an event, in short phrases."""
    known = [_phrase(name, detail[name]) for name in _PHRASES if detail.get(name) is not None]
    others = [f"{name} {value}" for name, value in detail.items() if name not in _PHRASES]
    return [phrase for phrase in (*known, *others) if phrase]


_PHRASES = {
    "ref": "reference {}",
    "related": "existing record {}",
    "http": "HTTP {}",
    "kind": "kind {}",
    "code": "code {}",
    "handle": "handle {}",
    "sends": "{} sends",
    "count": "records with our key: {}",
    "retry_after_s": "retry after {} s",
    "several": "several effects in one body",
    "late_attempt": "from attempt {}",
    "request_id": "provider's request id {}",
    "evidence": "evidence: {}",
    "returned": "it returned {}",
    "who": "by {}",
    "approval": "call {}",
    "approved_in": "approved in event {}",
    "until": "until {}",
}


def _phrase(name: str, value: Any) -> str:
    if name == "until":
        return f"until {day_and_time(float(value))}"
    if name == "sends" and value == 1:
        return ""  # one send is one attempt; there is nothing to say
    return _PHRASES[name].replace("{}", str(value))


def _rule(event: EventRecord) -> Rule | None:
    try:
        start = None if event.start is None else State(event.start)
        return rule_of(start, Event(event.event))
    except (KeyError, ValueError):
        return None


def _detail(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {"unreadable": text}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {"unreadable": text}
