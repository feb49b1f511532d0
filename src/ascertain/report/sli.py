"""How many chained wishes came to a known end, over windows of time, against what was promised.

S10's measure: sessions that completed their chained calls, of all sessions with chained calls; and
the same for each wish. From the ledger alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ascertain.report.wishes import Found, Wish
from ascertain.rules.project import WorkflowState

OBJECTIVE = 0.99
UNDER_WAY_S = 300.0
"""What is open and younger than this is neither good nor bad yet."""


class Grade(StrEnum):
    """What a wish counts as.

    * ``completed``: its essential calls are confirmed.
    * ``refused``: every call has a definite end, and it was not to be: declined, or undone again.
      The chain did what it could; it counts as good, and is told apart.
    * ``under_way``: open, and young enough.
    * ``broken``: a call was blocked, is still open, or waits for a person.
    """

    COMPLETED = "completed"
    REFUSED = "refused"
    UNDER_WAY = "under_way"
    BROKEN = "broken"


_ENDS: dict[WorkflowState, Grade] = {
    WorkflowState.COMPLETED: Grade.COMPLETED,
    WorkflowState.PARTIALLY_COMPLETED: Grade.COMPLETED,
    WorkflowState.REFUSED: Grade.REFUSED,
    WorkflowState.COMPENSATED: Grade.REFUSED,
    WorkflowState.NEEDS_REVIEW: Grade.BROKEN,
}
_BLOCKED = "context_"  # the reasons of a call that lacked what an earlier one should have left


def grade(wish: Wish, now: float) -> Grade:
    """What this wish counts as now."""
    if any(member.record.reason.startswith(_BLOCKED) for member in wish.counting):
        return Grade.BROKEN
    ended = _ENDS.get(wish.state)
    if ended is not None:
        return ended
    return Grade.UNDER_WAY if now - wish.began_at < UNDER_WAY_S else Grade.BROKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts by grade."""

    completed: int = 0
    refused: int = 0
    under_way: int = 0
    broken: int = 0

    @property
    def valid(self) -> int:
        """What counts: all but what is under way."""
        return self.completed + self.refused + self.broken

    @property
    def sli(self) -> float | None:
        """The share that is good; None: nothing counts yet."""
        return (self.completed + self.refused) / self.valid if self.valid else None

    def burn_rate(self, objective: float) -> float | None:
        """How many times faster than allowed the errors come; above 1 the objective is missed."""
        return None if self.sli is None else (1 - self.sli) / (1 - objective)

    def as_dict(self, objective: float) -> dict[str, Any]:
        return {
            "completed": self.completed,
            "refused": self.refused,
            "under_way": self.under_way,
            "broken": self.broken,
            "sli": self.sli,
            "burn_rate": self.burn_rate(objective),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One window: sessions, wishes, and the broken ones by id."""

    name: str
    seconds: float
    sessions: Tally
    wishes: Tally
    broken: tuple[str, ...]

    def as_dict(self, objective: float) -> dict[str, Any]:
        return {
            "window": self.name,
            "seconds": self.seconds,
            "sessions": self.sessions.as_dict(objective),
            "chains": self.wishes.as_dict(objective),
            "broken": list(self.broken),
        }


def windows(found: Found, wanted: Sequence[tuple[str, float]], now: float) -> list[Window]:
    """Measure each window over the wishes that began in it.

    :param wanted: name and length in seconds; ``found`` reaches back as far as the longest.
    """
    graded = [(wish, grade(wish, now)) for wish in found.wishes if wish.is_chained]
    return [
        _window(name, length, [(w, g) for w, g in graded if w.began_at >= now - length])
        for name, length in wanted
    ]


def _window(name: str, seconds: float, graded: list[tuple[Wish, Grade]]) -> Window:
    by_session: dict[tuple[str, str], list[Grade]] = defaultdict(list)
    for wish, one in graded:
        by_session[wish.first.tenant, wish.first.session].append(one)
    return Window(
        name=name,
        seconds=seconds,
        sessions=_tally(max(grades, key=_WORST.index) for grades in by_session.values()),
        wishes=_tally(one for _, one in graded),
        broken=tuple(wish.id for wish, one in graded if one is Grade.BROKEN),
    )


# a session counts as its worst wish
_WORST = (Grade.COMPLETED, Grade.REFUSED, Grade.UNDER_WAY, Grade.BROKEN)


def _tally(grades: Any) -> Tally:
    counts: dict[str, int] = defaultdict(int)
    for one in grades:
        counts[str(one)] += 1
    return Tally(**counts)
