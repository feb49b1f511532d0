"""What an audit finds, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ascertain.replay.audit.answers import Trust
from ascertain.rules.texts import clean

QUOTED = 200  # characters of a message or an answer that are quoted


class Kind(StrEnum):
    """What is wrong."""

    BLIND_RETRY = "blind_retry"
    PROBABLE_DUPLICATE = "probable_duplicate"
    FALSE_STATEMENT = "false_statement"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """One piece of evidence.

    :param what: call, answer or said. :param where: its place in the recording.
    """

    what: str
    where: str
    quote: str

    def as_dict(self) -> dict[str, Any]:
        return {"what": self.what, "where": self.where, "quote": self.quote}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing found in a recorded conversation.

    :param rule: of a false statement, the rule that it breaks; else the kind again.
    :param turn: the person's how many-th wish it is in, from 1. :param effect: how it is known that
        the tool writes. :param reasons: what makes it more or less sure.
    :param say: of a false statement: what could have been said instead.
    """

    kind: Kind
    rule: str
    trust: Trust
    file: str
    line: int
    conversation: str
    turn: int
    tool: str
    sentence: str
    effect: str
    reasons: tuple[str, ...]
    evidence: tuple[Exhibit, ...]
    say: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": str(self.kind), "rule": self.rule, "confidence": str(self.trust),
            "file": self.file, "line": self.line, "conversation": self.conversation,
            "turn": self.turn, "tool": self.tool, "sentence": self.sentence,
            "effect": self.effect, "reasons": list(self.reasons),
            "evidence": [exhibit.as_dict() for exhibit in self.evidence], "say": self.say,
        }  # fmt: skip


def exhibit(what: str, where: str, text: str) -> Exhibit:
    """A piece of evidence, quoted harmlessly and capped."""
    return Exhibit(what=what, where=where, quote=clean(" ".join(text.split()), QUOTED))
