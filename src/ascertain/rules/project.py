"""The state of a wish, derived from its actions. Never stored by hand.

A different type from an action's state on purpose: a notice without an answer must not turn a
fulfilled order into a failed one.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from ascertain.model.tables import State
from ascertain.rules.texts import WORKFLOW


class WorkflowState(StrEnum):
    """What a person's wish has come to."""

    NOT_STARTED = "not_started"
    RUNNING = "running"
    COMPLETED = "completed"
    PARTIALLY_COMPLETED = "partially_completed"
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    COMPENSATING = "compensating"
    COMPENSATED = "compensated"
    NEEDS_REVIEW = "needs_review"
    REFUSED = "refused"


class Part(NamedTuple):
    """One action's share in the wish."""

    name: str
    state: State
    final: bool = False
    essential: bool = True
    in_review: bool = False
    waits: bool = False
    kept: bool = False
    partly: bool = False


def workflow_state(
    parts: Sequence[Part], *, backward: bool = False, left: bool = False
) -> WorkflowState:
    """Derive the state of the wish.

    Essential actions decide; best-effort ones only make it partial. Where all are best effort,
    they decide among themselves.

    :param backward: its chain goes back; then every part counts, for each has to be undone.
    :param left: its code did not come to its end, so that nobody knows what was still to come.
    """
    if not parts:
        return WorkflowState.NOT_STARTED
    if backward:
        return _backward(parts)
    essential = [part for part in parts if part.essential] or list(parts)
    states = {part.state for part in essential}
    if any(part.in_review for part in essential):
        return WorkflowState.NEEDS_REVIEW
    if State.UNKNOWN in states:
        return WorkflowState.AWAITING_CONFIRMATION
    if states & {State.PREPARED, State.SENT} or any(_trying(part) for part in essential):
        return WorkflowState.RUNNING
    if any(part.state is State.REJECTED and not part.waits for part in essential):
        return WorkflowState.REFUSED
    if State.REJECTED in states:  # not started yet: it waits for another step
        begun = any(not part.waits for part in parts)
        return WorkflowState.RUNNING if begun else WorkflowState.NOT_STARTED
    if State.COMPENSATED in states:
        return WorkflowState.COMPENSATED
    if not left and all(part.state is State.CONFIRMED and not part.partly for part in parts):
        return WorkflowState.COMPLETED
    return WorkflowState.PARTIALLY_COMPLETED


def _backward(parts: Sequence[Part]) -> WorkflowState:
    """What is still confirmed, or may have happened, is not undone yet; a person's case first."""
    if any(part.in_review for part in parts):
        return WorkflowState.NEEDS_REVIEW
    if any(_to_undo(part) for part in parts):
        return WorkflowState.COMPENSATING
    undone = any(part.state is State.COMPENSATED for part in parts)
    return WorkflowState.COMPENSATED if undone else WorkflowState.REFUSED


def workflow_say(
    parts: Sequence[Part],
    language: str = "en",
    wish: tuple[str, str] = ("done", ""),
    *,
    backward: bool = False,
    left: bool = False,
) -> str:
    """The wish in one sentence. ``wish`` is what being fulfilled is called, (en, zh-CN)."""
    chinese = language.startswith("zh")
    state = workflow_state(parts, backward=backward, left=left)
    done = [part.name for part in parts if part.state is State.CONFIRMED]
    pending = [part.name for part in parts if part.state is not State.CONFIRMED]
    joined = "、".join(pending) if chinese else ", ".join(pending)
    text = WORKFLOW[_which(state, left=left and bool(done), pending=bool(pending))][int(chinese)]
    word = wish[int(chinese)] or ("" if chinese else "done")
    values = {
        "{wish}": word,
        "{Wish}": f"{word[:1].upper()}{word[1:]}",
        "{pending}": joined,
        "{done}": ("、" if chinese else ", ").join(done),
    }
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def _which(state: WorkflowState, *, left: bool, pending: bool) -> str:
    """The sentence for a state."""
    if left and state in (WorkflowState.PARTIALLY_COMPLETED, WorkflowState.NEEDS_REVIEW):
        return "left"
    declined = state is WorkflowState.PARTIALLY_COMPLETED and not pending
    return "partly_declined" if declined else state


def _to_undo(part: Part) -> bool:
    if part.kept or part.state is State.COMPENSATED:
        return False
    if not part.essential:
        return part.state is State.CONFIRMED  # one that may have happened holds nothing up
    return part.state is not State.REJECTED or _trying(part)


def _trying(part: Part) -> bool:
    return part.state is State.REJECTED and not part.final
