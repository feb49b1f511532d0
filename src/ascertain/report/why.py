"""Why an action stands as it does, in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ascertain.report.reasons import sentence_of
from ascertain.report.story import Moment, Story
from ascertain.report.words import ago, lowered


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """The rule that led here, and what comes next.

    :param rule: the row's name, ``sent --lose--> unknown``; empty where the events are gone.
    :param sentence: all of it, for people.
    """

    action_id: str
    state: str
    rule: str
    rule_why: str
    reason: str
    reason_sentence: str
    next: dict[str, Any]
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        return {
            "action": self.action_id,
            "state": self.state,
            "rule": self.rule,
            "why": self.rule_why,
            "reason": self.reason,
            "reason_sentence": self.reason_sentence,
            "next": self.next,
            "sentence": self.sentence,
        }


def why(story: Story) -> Why:
    """Say why, from the last event that moved the action and the decision that follows."""
    record = story.record
    last = next((moment for moment in reversed(story.moments) if moment.moves), None)
    reason = last.event.reason if last is not None else record.reason
    rule = last.rule if last is not None else None
    sentence = "; ".join(
        [
            f"{record.tool} {_because(story, last)}",
            *_since_then(story, last),
            f"next: {story.upcoming.in_words(story.now)}",
        ]
    )
    return Why(
        action_id=record.id,
        state=str(record.state),
        rule=rule.name if rule is not None else "",
        rule_why=rule.why if rule is not None else "",
        reason=reason,
        reason_sentence=sentence_of(reason),
        next=story.upcoming.as_dict(),
        sentence=f"{sentence}.",
    )


def _state(story: Story) -> str:
    record = story.record
    words = str(record.state)
    if record.final:
        words += " for good"
    elif record.state == "rejected":
        words += " for now"
    if record.provider_ref:
        words += f" ({record.provider_ref})"
    return words


def _because(story: Story, last: Moment | None) -> str:
    state = _state(story)
    if last is None:
        said = lowered(sentence_of(story.record.reason))
        return f"is {state}, and {story.removed}: {said}"
    event = last.event
    because = lowered(last.sentence)
    rule_why = last.rule.why if last.rule is not None else "by a rule that this release lacks"
    return (
        f"became {state} {ago(event.at, story.now)} by {last.arrow} ({rule_why}): "
        f"{because}{_attempt(event.attempt, story.record.attempt)}"
    )


def _attempt(attempt: int, attempts: int) -> str:
    return f" (attempt {attempt} of {attempts})" if attempts > 1 else ""


def _since_then(story: Story, last: Moment | None) -> list[str]:
    """The newest evidence after the move: it moved nothing, but it decides what comes next."""
    newest = story.moments[-1] if story.moments else None
    if newest is None or newest is last:
        return []
    since = [one for one in story.moments if last is None or one.event.n > last.event.n]
    defect = next((one for one in reversed(since) if one.is_defect), None)
    told = [defect] if defect is not None else []
    if newest is not defect and newest.event.reason != f"review:{story.upcoming.reason}":
        told.append(newest)  # else what comes next says the same
    return [f"since then: {_said(one)}" for one in told]


def _said(moment: Moment) -> str:
    """The sentence; of a defect also what it was."""
    said = lowered(moment.sentence)
    return f"{said} ({'; '.join(moment.evidence)})" if moment.is_defect else said
