"""Whether a call has what it needs of its session's context. Pure: no clock, no I/O.

What is being prepared is waited for, in tiers and never for ever; what is missing or too old is
read anew by the tool that provides it; else the person is asked. What is in doubt is said to be,
and not waited for: only evidence ends a doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, assert_never

from ascertain.model.record import Record
from ascertain.model.session import KeyState, SessionState


class Tiers(Record):
    """How far a call goes by itself to get what it needs.

    :param wait_s: how long one wait is. :param waits: how many there are.
    :param reads: whether the gate may run a read tool that provides what is missing.
    """

    wait_s: float = 0.5
    waits: int = 3
    reads: bool = True


class Fill(StrEnum):
    """How a missing value could be had without asking the person."""

    NONE = "none"
    TOOL = "tool"
    READ = "read"


class KeyView(NamedTuple):
    """One key that a call needs, as the gate sees it.

    :param stale: it is older than this use allows.
    :param needed: whether the call must not be made without it.
    :param fill: a read that can be run now; a tool that somebody else may be about to call; none.
    """

    state: KeyState
    stale: bool = False
    needed: bool = True
    fill: Fill = Fill.NONE


class GateWhat(StrEnum):
    """What the gate does next."""

    GO = "go"
    WAIT = "wait"
    READ = "read"
    HOLD = "hold"


class GateReason(StrEnum):
    """Why a call is held; recorded with it."""

    READY = "ready"
    MISSING = "context_missing"
    PENDING = "context_pending"
    IN_DOUBT = "context_in_doubt"
    STALE = "context_stale"


class GateStep(NamedTuple):
    """The next step. ``key`` is the place of the key that it is about."""

    what: GateWhat
    reason: GateReason
    key: int = -1


_READY = GateStep(GateWhat.GO, GateReason.READY)
_WEIGHT = (GateWhat.GO, GateWhat.READ, GateWhat.WAIT, GateWhat.HOLD)


def judge(keys: Sequence[KeyView], *, waited: int, waits: int) -> GateStep:
    """The next step for a call that needs these keys.

    :param waited: how many waits of ``waits`` have been taken.

    A hold comes before a wait, and a wait before a read: nothing is begun for a call that will not
    be made, and what a read would bring may be on its way.
    """
    worst = _READY
    for place, view in enumerate(keys):
        step = _of(view, waited, waits)
        if _WEIGHT.index(step.what) > _WEIGHT.index(worst.what) or (
            step.what is worst.what is GateWhat.HOLD and step.reason is GateReason.IN_DOUBT
        ):
            worst = GateStep(step.what, step.reason, place)
    return worst


def _of(view: KeyView, waited: int, waits: int) -> GateStep:
    match view.state:
        case KeyState.READY if not view.stale:
            return _READY
        case KeyState.EXECUTING | KeyState.PENDING:
            if waited < waits:
                return GateStep(GateWhat.WAIT, GateReason.PENDING)
            return _without(view, GateReason.PENDING)
        case KeyState.IN_DOUBT:
            return _without(view, GateReason.IN_DOUBT)
        case KeyState.READY | KeyState.EXPIRED:
            return _anew(view, GateReason.STALE, first=waited == 0 < waits)
        case KeyState.MISSING:
            return _anew(view, GateReason.MISSING, first=waited == 0 < waits)
        case _:
            assert_never(view.state)


def _anew(view: KeyView, reason: GateReason, *, first: bool) -> GateStep:
    if not view.needed:
        return _READY
    if view.fill is Fill.READ:
        return GateStep(GateWhat.READ, reason)
    if view.fill is Fill.TOOL and first:
        return GateStep(GateWhat.WAIT, reason)  # calls that were made together begin one by one
    return GateStep(GateWhat.HOLD, reason)


def _without(view: KeyView, reason: GateReason) -> GateStep:
    return GateStep(GateWhat.HOLD, reason) if view.needed else _READY


# ------------------------------------------------------------------------------------------- states


class KeyFacts(NamedTuple):
    """All that the state of a key depends on.

    :param executing: tools that provide it and are under way, here or elsewhere.
    :param pending: those of them whose answer is in hand.
    :param doubted: open actions that provide it and of which nobody knows what they did.
    :param has_value: there is one. :param expired: it is too old.
    """

    executing: int = 0
    pending: int = 0
    doubted: int = 0
    has_value: bool = False
    expired: bool = False


def key_state(facts: KeyFacts) -> KeyState:
    """The state of one key."""
    if facts.pending:
        return KeyState.PENDING
    if facts.executing:
        return KeyState.EXECUTING
    if facts.doubted:
        return KeyState.IN_DOUBT
    if not facts.has_value:
        return KeyState.MISSING
    return KeyState.EXPIRED if facts.expired else KeyState.READY


def session_state(keys: Sequence[KeyState]) -> SessionState:
    """The state of a session: a result pending, else a tool executing, else ready, else idle."""
    if KeyState.PENDING in keys:
        return SessionState.TOOL_RESULT_PENDING
    if KeyState.EXECUTING in keys:
        return SessionState.TOOL_EXECUTING
    if KeyState.READY in keys:
        return SessionState.CONTEXT_READY
    return SessionState.IDLE
