"""Five questions to a chain that went wrong, answered from the ledger alone.

Was the input complete? Was there context before each call? Are the arguments what was received? Was
anything overwritten, or too old? When was each result written back, and how late?
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ascertain.model.tables import Event
from ascertain.report.reasons import sentence_of
from ascertain.report.story import Moment, Story, story_of
from ascertain.report.wishes import Wish
from ascertain.report.words import clock, iso, joined, span
from ascertain.store.ledger import Ledger
from ascertain.values.misfit import is_array, is_object

QUESTIONS: dict[str, str] = {
    "input": "Was the input complete?",
    "context": "Was the context there before the call?",
    "arguments": "Are the arguments what was received?",
    "overwritten": "Was anything overwritten, or too old?",
    "written": "When was the result written back, and how late?",
}
_BLOCKED = "context_"
_TOO_OLD = frozenset({"stale", "stale_context", "context_stale", "expired", "context_expired"})
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
            "context": _context(self.story),
            "gate": _gate(self.story),
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
    filled = list(_context(story))
    told = [name for name in names if name not in filled]
    parts = [f"{joined(told)} from the call"] if told else []
    parts += [f"{joined(filled)} from the context"] if filled else []
    return True, f"Yes: {' and '.join(parts) or 'it takes none'}."


def _before(story: Story) -> _Said:
    waits = [_tier(one) for one in _gate(story)]
    used = [_source(name, one) for name, one in _context(story).items()]
    if story.record.reason.startswith(_BLOCKED):
        return False, f"No. {' '.join(waits)}".strip()
    if not story.moments:
        return None, "Its events have been removed."
    if not used and not waits:
        return True, "It took nothing from the context."
    return True, f"Yes: {'; '.join([*used, *waits])}."


def _arguments(story: Story) -> _Said:
    record = story.record
    if story.arguments is None:
        return None, "They have been removed; what is left is their digest."
    times = "never sent" if not record.attempt else f"sent {record.attempt} times with the same"
    times = "sent once with these" if record.attempt == 1 else times
    digest = record.exact or record.intent
    return True, f"Stored before the first send, never changed; {times}. Digest {digest}."


def _overwritten(story: Story, after: list[Story]) -> _Said:
    causes = [one for one in _gate(story) if str(one.get("cause")) in _TOO_OLD]
    if story.record.reason in _TOO_OLD:
        return False, f"Yes: {sentence_of(story.record.reason)}"
    if causes:
        keys = joined(sorted({str(one.get("key")) for one in causes}))
        return False, f"Yes, before the call: {keys} was too old or had changed, and was read anew."
    later = [
        f"{_key(one)} was version {one.get('version')} here and {other} later"
        for one in _context(story).values()
        if (other := _version_later(one, after)) is not None
    ]
    if later:
        return True, f"Not before the call; since then: {'; '.join(later)}."
    return True, "No." if _context(story) else "It took nothing from the context."


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


def _birth(story: Story) -> Moment | None:
    return story.moments[0] if story.moments else None


def _context(story: Story) -> dict[str, dict[str, Any]]:
    """What was filled in from the context, by parameter: key, version, source, age."""
    birth = _birth(story)
    found: Any = None if birth is None else birth.detail.get("context")
    if not is_object(found):
        return {}
    return {name: cast("dict[str, Any]", one) for name, one in found.items() if is_object(one)}


def _gate(story: Story) -> list[dict[str, Any]]:
    """Every tier that was taken before the call, in order."""
    birth = _birth(story)
    found: Any = None if birth is None else birth.detail.get("gate")
    return [one for one in found if is_object(one)] if is_array(found) else []


def _source(name: str, one: Mapping[str, Any]) -> str:
    words = f"{name} is {_key(one)} version {one.get('version')}"
    words += f" of {one['from']}" if one.get("from") else ""
    age_s = one.get("age_s")
    return f"{words}, {span(float(age_s))} old" if isinstance(age_s, int | float) else words


def _tier(one: Mapping[str, Any]) -> str:
    waited_s = one.get("waited_s")
    waited = f" for {span(float(waited_s))}" if isinstance(waited_s, int | float) else ""
    return f"{one.get('tier')} {one.get('key')}{waited} ({one.get('cause')})"


def _key(one: Mapping[str, Any]) -> str:
    return str(one.get("key"))


def _version_later(one: Mapping[str, Any], after: list[Story]) -> Any:
    for story in after:
        for other in _context(story).values():
            if other.get("key") == one.get("key") and other.get("version") != one.get("version"):
                return other.get("version")
    return None
