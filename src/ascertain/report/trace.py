"""Five questions to a chain that went wrong, answered from the ledger alone.

Was the input complete? Was there context before each call? Are the arguments what was received? Was
anything overwritten, or too old? When was each result written back, and how late?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ascertain.model.tables import Event
from ascertain.report.provenance import Provenance, Used, provenance_of
from ascertain.report.reasons import sentence_of
from ascertain.report.story import Story, story_of
from ascertain.report.wishes import Wish
from ascertain.report.words import clock, iso, joined, span
from ascertain.store.ledger import Ledger
from ascertain.values.misfit import is_object

QUESTIONS: dict[str, str] = {
    "input": "Was the input complete?",
    "context": "Was the context there before the call?",
    "arguments": "Are the arguments what was received?",
    "overwritten": "Was anything overwritten, or too old?",
    "written": "When was the result written back, and how late?",
}
_BLOCKED = "context_"
_BLOCKED_FOR_AGE = frozenset({"context_stale", "context_expired"})
_ENDS = frozenset({Event.CONFIRM, Event.REJECT, Event.WITHDRAW, Event.COMPENSATE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """``fine``: nothing to see; False: look here; None: the ledger cannot tell (yet)."""

    about: str
    fine: bool | None
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """One action and the answers about it, in the order of the questions."""

    story: Story
    answers: tuple[Answer, ...]
    written_at: float | None
    late_s: float | None

    def as_dict(self) -> dict[str, Any]:
        record = self.story.record
        return {
            "action": record.id,
            "tool": record.tool,
            "state": str(record.state),
            "provenance": _birth(self.story).as_dict(),
            "written_at": self.written_at,
            "written_at_utc": iso(self.written_at),
            "late_s": self.late_s,
            "answers": [
                {"about": a.about, "fine": a.fine, "sentence": a.sentence} for a in self.answers
            ],
        }


def trace(ledger: Ledger, wish: Wish, now: float) -> list[Traced]:
    """Ask the five questions of every action of a wish, in order; cost: its events."""
    stories = [story_of(ledger, member.record, now) for member in wish.members]
    return [_traced(story, stories[place + 1 :]) for place, story in enumerate(stories)]


def _traced(story: Story, after: list[Story]) -> Traced:
    written = _written(story)
    begun = _begun(story)
    late_s = None if written is None or begun is None else written - begun
    answers = (
        _input(story),
        _before(story),
        _arguments(story),
        _overwritten(story, after),
        _write_back(story, after, written, late_s),
    )
    return Traced(
        story=story,
        answers=tuple(
            Answer(about=about, fine=fine, sentence=sentence)
            for about, (fine, sentence) in zip(QUESTIONS, answers, strict=True)
        ),
        written_at=written,
        late_s=late_s,
    )


_Said = tuple[bool | None, str]


def _input(story: Story) -> _Said:
    record = story.record
    if record.reason.startswith(_BLOCKED):
        return False, f"No: {sentence_of(record.reason)}"
    if not story.moments:
        return None, "Its events and arguments have been removed."
    given = story.arguments
    names = list(given) if is_object(given) else []
    filled = [name for name in _birth(story).filled if name in names]
    told = [name for name in names if name not in filled]
    parts = [f"{joined(told)} from the call"] if told else []
    parts += [f"{joined(filled)} from the context"] if filled else []
    return True, f"Yes: {' and '.join(parts) or 'it takes none'}."


def _before(story: Story) -> _Said:
    birth = _birth(story)
    tiers = [one.words for one in birth.tiers]
    if story.record.reason.startswith(_BLOCKED):
        return False, f"No: {'; '.join(tiers) or story.record.reason}."
    if not story.moments:
        return None, "Its events have been removed."
    told = [*(one.words for one in birth.used), *tiers]
    return True, f"Yes: {'; '.join(told)}." if told else "It took nothing from the context."


def _arguments(story: Story) -> _Said:
    record = story.record
    if story.arguments is None:
        return None, "They have been removed; what is left is their digest."
    times = "never sent" if not record.attempt else f"sent {record.attempt} times with the same"
    times = "sent once with these" if record.attempt == 1 else times
    digest = record.exact or record.intent
    return True, f"Stored before the first send, never changed; {times}. Digest {digest}."


def _overwritten(story: Story, after: list[Story]) -> _Said:
    birth = _birth(story)
    old = [one for one in birth.tiers if one.too_old]
    if story.record.reason in _BLOCKED_FOR_AGE:
        return False, f"Yes: {sentence_of(story.record.reason)}"
    if old:
        keys = joined(sorted({one.key for one in old if one.key})) or "what it had read"
        return False, f"Yes, before the call: {keys} was too old or had changed, and was read anew."
    later = [
        f"{one.key} was version {one.version} here and {other} later"
        for one in birth.used
        if (other := _version_later(one, after)) is not None
    ]
    if later:
        return True, f"Not before the call; since then: {'; '.join(later)}."
    return True, "No." if birth.used else "It took nothing from the context."


def _write_back(
    story: Story, after: list[Story], written: float | None, late_s: float | None
) -> _Said:
    if written is None:
        state = story.record.state
        return (None if story.record.open else False), f"Not yet: it is {state}."
    words = f"At {clock(written)}"
    words += "" if late_s is None else f", {span(late_s)} after the call was stored"
    following = next((one.record.created_at for one in after), None)
    if following is not None and following < written:
        return False, f"{words}; the next call had begun {span(written - following)} before."
    return True, f"{words}."


def _written(story: Story) -> float | None:
    """When its outcome, and what it provides, was committed: in one transaction."""
    for moment in story.moments:
        if moment.event.event in _ENDS:
            return moment.event.at
    return None


def _begun(story: Story) -> float | None:
    return story.moments[0].event.at if story.moments else None


def _birth(story: Story) -> Provenance:
    """What the first event says of where the arguments came from."""
    return provenance_of(story.moments[0].detail) if story.moments else Provenance()


def _version_later(one: Used, after: list[Story]) -> Any:
    for story in after:
        for other in _birth(story).used:
            if other.key == one.key and other.version != one.version:
                return other.version
    return None
