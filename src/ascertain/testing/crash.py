"""Kill the process before and after every effect, and see whether the truth survives.

``crash_everywhere`` forks: a child makes the call and is killed with SIGKILL at one crash point; a
second child recovers, as a fresh process would after a power cut, and may be killed too. The parent
then looks at the ledger and at the world. Nothing is simulated but the moment.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ascertain.flow.effects import (
    Admit,
    Alike,
    Ask,
    Attend,
    Await,
    Fetch,
    Inquire,
    Invoke,
    Look,
    Pause,
    Permit,
    Picture,
    Relate,
    Settle,
    Survey,
    Tell,
    Undo,
    Vet,
)
from ascertain.model.operations import Advance, Reserve, Take

EFFECTS: tuple[type, ...] = (
    Reserve, Advance, Take, Invoke, Ask, Pause, Await, Inquire, Permit, Relate, Tell, Survey, Undo,
    Picture,
)  # fmt: skip

# What a call in its session's context does before it.
GATE_EFFECTS: tuple[type, ...] = (Look, Settle, Fetch, Vet)
# And where that call is a step of a chain.
STEP_EFFECTS: tuple[type, ...] = (Admit,)
# What is settled, where a look-up by fields found more than its own record.
COUNT_EFFECTS: tuple[type, ...] = (Alike,)
# And what it depends on is under way.
WAIT_EFFECTS: tuple[type, ...] = (Attend,)


def _points(effects: tuple[type, ...]) -> frozenset[str]:
    sides = ("before", "after")
    return frozenset(f"{kind.__name__.lower()}.{side}" for kind in effects for side in sides)


POINTS: frozenset[str] = _points(EFFECTS)
GATE_POINTS: frozenset[str] = _points(GATE_EFFECTS)
STEP_POINTS: frozenset[str] = _points(STEP_EFFECTS)
COUNT_POINTS: frozenset[str] = _points(COUNT_EFFECTS)
WAIT_POINTS: frozenset[str] = _points(WAIT_EFFECTS)


def point(effect: object, side: str) -> str:
    """The name of a crash point: ``invoke.before``, ``advance.after``."""
    return f"{type(effect).__name__.lower()}.{side}"


@dataclass(slots=True)
class Plan:
    """Kill this process when the ``at``-th crash point is reached (from 1; 0: never).

    Give it to an app: ``app.hands.on_effect = Plan(at=3)``. Names of the points that were passed
    are written to ``trace_fd`` as they are passed, so that they survive the kill.
    """

    at: int
    trace_fd: int | None = None
    passed: int = field(default=0)

    def __call__(self, side: str, effect: object) -> None:
        self.passed += 1
        if self.trace_fd is not None:
            os.write(self.trace_fd, f"{point(effect, side)}\n".encode())
        if self.passed == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Crash:
    """One run: where the first and the second process were killed (None: they were not)."""

    first: str | None
    second: str | None
    passed: tuple[str, ...]

    def __str__(self) -> str:
        again = f", and again at {self.second}" if self.second else ""
        return f"killed at {self.first}{again}" if self.first else "not killed"


def crash_everywhere(
    call: Callable[[Plan], Any],
    recover: Callable[[Plan], Any],
    *,
    twice: bool = False,
    before: Callable[[], Any] | None = None,
    most: int = 200,
) -> Iterator[Crash]:
    """Kill ``call`` at its first crash point, then its second, ... until it ends by itself.

    Each is followed by ``recover`` in a fresh process. With ``twice``, recovery is killed at each
    of its own points as well, and then run once more. Yields after each, for the caller to judge.

    :param call: makes the app, sets ``app.hands.on_effect = plan``, makes the call, closes.
    :param recover: makes the app, sets the plan, recovers what is due.
    :param before: run in this process before each round (a new order, say).
    :raises RuntimeError: a child that broke instead of ending or being killed.
    """
    for at in range(1, most + 1):
        if before is not None:
            before()
        first = run_killed(call, at)
        killed = bool(first) and first[-1] != ENDED
        if not killed:
            yield Crash(None, None, tuple(first))
            return
        if not twice:
            passed = run_killed(recover, 0)
            yield Crash(first[-1], None, tuple(first + passed))
            continue
        for again in range(1, most + 1):
            if again > 1:
                if before is not None:
                    before()
                first = run_killed(call, at)
            second = run_killed(recover, again)
            ended = not second or second[-1] == ENDED
            if not ended:
                run_killed(recover, 0)
            yield Crash(first[-1], None if ended else second[-1], tuple(first + second))
            if ended:
                break


ENDED = "ended"


def run_killed(work: Callable[[Plan], Any], at: int) -> list[str]:
    """Run ``work`` in a forked child that is killed at its ``at``-th point.

    :returns: the points it passed; the last is ``ended`` where it was not killed.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _child(work, Plan(at=at, trace_fd=writing), writing)
    os.close(writing)
    with os.fdopen(reading) as trace:
        passed = [name for name in trace.read().splitlines() if name]
    _, how = os.waitpid(pid, 0)
    if not (os.WIFSIGNALED(how) and os.WTERMSIG(how) == signal.SIGKILL) and how != 0:
        raise RuntimeError(f"The child broke instead of being killed (wait status {how}).")
    return passed


def _child(work: Callable[[Plan], Any], plan: Plan, writing: int) -> NoReturn:
    code = 1
    try:
        work(plan)
        os.write(writing, f"{ENDED}\n".encode())
        code = 0
    except BaseException:  # a forked child must never return into the parent's code
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()
    finally:
        os._exit(code)
