"""Judges recordings, one conversation after another, and counts what was seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascertain.model.contract import Contract
from ascertain.replay.audit.answers import ORDER, Trust
from ascertain.replay.audit.calls import Seen, seen_calls, turns_of
from ascertain.replay.audit.finding import Finding, Kind
from ascertain.replay.audit.repeats import repeats
from ascertain.replay.audit.statements import misstatements
from ascertain.replay.formats import open_recording
from ascertain.replay.formats.conversation import Conversation, Utterance


@dataclass(slots=True)
class Audit:
    """What was read, and what was found.

    :param without_arguments: writes whose arguments were not recorded, so that they could not be
        compared. :param replies: messages of the model that could be checked.
    """

    formats: dict[str, str] = field(default_factory=dict[str, str])
    conversations: int = 0
    calls: int = 0
    writes: int = 0
    replies: int = 0
    without_arguments: int = 0
    unanswered: int = 0
    effects: Counter[str] = field(default_factory=Counter[str])
    findings: list[Finding] = field(default_factory=list[Finding])

    def at_least(self, trust: Trust) -> list[Finding]:
        """The findings that are at least as sure, the surest first."""
        wanted = [f for f in self.findings if ORDER[f.trust] >= ORDER[trust]]
        return sorted(wanted, key=lambda f: -ORDER[f.trust])

    def as_dict(self, trust: Trust) -> dict[str, Any]:
        shown = self.at_least(trust)
        return {
            "formats": self.formats, "conversations": self.conversations, "calls": self.calls,
            "writes": self.writes, "replies": self.replies, "unanswered": self.unanswered,
            "without_arguments": self.without_arguments, "effects": dict(self.effects),
            "counts": {str(kind): sum(f.kind is kind for f in shown) for kind in Kind},
            "less_sure": len(self.findings) - len(shown),
            "findings": [finding.as_dict() for finding in shown],
        }  # fmt: skip


def audit(
    files: Iterable[str | Path], contracts: Mapping[str, Contract], format: str | None = None
) -> Audit:
    """Judge recordings by themselves; no ledger is asked, and nothing is sent.

    :param contracts: of the tools that are known, by name.
    :param format: of all files; by default found out for each.
    :raises RecordingError: a file cannot be read; names it, the line and what was expected.
    """
    seen = Audit()
    for file in files:
        opened = open_recording(file, format)
        seen.formats[str(file)] = opened.format
        for conversation in opened.conversations:
            seen.findings += judged(str(file), conversation, contracts, seen)
    return seen


def judged(
    file: str, conversation: Conversation, contracts: Mapping[str, Contract], seen: Audit
) -> Iterator[Finding]:
    """What is wrong in one conversation; ``seen`` is added to."""
    calls = list(seen_calls(conversation, contracts))
    turns = turns_of(conversation.entries)
    _count(conversation, calls, seen)

    def wish(of: Seen) -> str:
        return " ".join(
            entry.text
            for entry, turn in zip(conversation.entries, turns, strict=True)
            if turn == of.turn and isinstance(entry, Utterance) and entry.role == "user"
        )

    for one in repeats(calls, wish):
        yield Finding(
            kind=one.kind, rule=str(one.kind), trust=one.trust, file=file, line=conversation.line,
            conversation=conversation.id, turn=one.later.turn, tool=one.later.call.tool,
            sentence=one.sentence, effect=one.later.effect.said, reasons=one.reasons,
            evidence=one.evidence,
        )  # fmt: skip
    for place, entry in enumerate(conversation.entries):
        if not isinstance(entry, Utterance) or entry.role != "assistant":
            continue
        for wrong in misstatements(entry, place, turns[place], calls):
            about = wrong.about[-1] if wrong.about else None
            yield Finding(
                kind=Kind.FALSE_STATEMENT, rule=wrong.contradiction.rule, trust=wrong.trust,
                file=file, line=conversation.line, conversation=conversation.id, turn=turns[place],
                tool="" if about is None else about.call.tool, sentence=wrong.contradiction.why,
                effect="" if about is None else about.effect.said, reasons=wrong.reasons[1:],
                evidence=wrong.evidence, say=wrong.contradiction.say,
            )  # fmt: skip


def _count(conversation: Conversation, calls: list[Seen], seen: Audit) -> None:
    writes = [one for one in calls if one.effect.writes]
    seen.conversations += 1
    seen.calls += len(calls)
    seen.writes += len(writes)
    seen.unanswered += sum(one.answer is None for one in writes)
    seen.without_arguments += sum(one.call.args is None for one in writes)
    seen.effects.update({one.call.tool: str(one.effect.by) for one in calls}.values())
    seen.replies += sum(
        isinstance(entry, Utterance) and entry.role == "assistant" for entry in conversation.entries
    )
