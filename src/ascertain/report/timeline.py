"""A wish over time: what each action was, moment by moment, and every event in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ascertain.model.tables import State
from ascertain.report.story import Moment, Story, story_of
from ascertain.report.wishes import Wish
from ascertain.store.ledger import Ledger

# One character for each state; colour only repeats it.
MARKS: dict[str, str] = {
    State.PREPARED: "·",
    State.SENT: "─",
    State.UNKNOWN: "?",
    State.CONFIRMED: "■",
    State.REJECTED: "×",
    State.COMPENSATED: "◂",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One action: for each slice of time its state at the end of it; None: not yet, or settled."""

    story: Story
    slices: tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """``begin_at`` and ``end_at`` are seconds since the epoch; ``moments`` are in order of time."""

    begin_at: float
    end_at: float
    bars: tuple[Bar, ...]
    moments: tuple[tuple[Story, Moment], ...]


def timeline_of(ledger: Ledger, wish: Wish, now: float, *, width: int) -> Timeline:
    """Read the wish's events; those of a removed action are gone."""
    stories = [story_of(ledger, member.record, now) for member in wish.members]
    moments = [(story, moment) for story in stories for moment in story.moments]
    moments.sort(key=lambda pair: pair[1].event.at)
    begin_at = min([wish.began_at, *(moment.event.at for _, moment in moments)])
    last_at = max([wish.changed_at, *(moment.event.at for _, moment in moments)])
    end_at = max(now if wish.is_open else last_at, begin_at + 0.001)
    step_s = (end_at - begin_at) / width
    ends = [begin_at + step_s * (place + 1) for place in range(width)]
    bars = tuple(Bar(story=story, slices=_slices(story, ends)) for story in stories)
    return Timeline(begin_at=begin_at, end_at=end_at, bars=bars, moments=tuple(moments))


def _slices(story: Story, ends: Sequence[float]) -> tuple[str | None, ...]:
    """A settled action is drawn once, where it was settled."""
    moves = [moment.event for moment in story.moments if moment.moves]
    found: list[str | None] = []
    drawn = 0
    for at in ends:
        past = sum(event.at <= at for event in moves)
        if not past:
            found.append(None)
            continue
        is_last = past == len(moves)
        settled = is_last and story.record.terminal and drawn == past
        found.append(None if settled else moves[past - 1].end)
        drawn = past
    if moves and all(one is None for one in found):
        found[-1] = moves[-1].end
    return tuple(found)
