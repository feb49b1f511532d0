"""Whether a history of operations could have happened one after the other (linearizability).

The search of Wing and Gong, with what has been seen remembered (Lowe, Horn and Kroening): at each
moment any operation may come next whose beginning does not lie after the end of another that is
still to come. An operation without an end is *pending*: its caller never saw an answer, and it may
have taken effect at any time after its beginning, or never.

Objects that know nothing of each other are judged one by one: a history is linearizable exactly if
the part of each object is (Herlihy and Wing, locality). What one operation sees of several things
at once makes them one object.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import inf
from typing import Any, NamedTuple, Protocol


class Op(NamedTuple):
    """One operation as its caller saw it.

    :param kind: what was asked, a word of the model's. :param given: with which arguments.
    :param start: when it was asked (s), on a clock that all callers share.
    :param end: when its answer was there; inf while it is pending.
    :param seen: the answer; of a pending operation it says nothing.
    :param about: the object.
    """

    kind: str
    given: Any
    start: float
    end: float = inf
    seen: Any = None
    about: Hashable = None

    @property
    def pending(self) -> bool:
        """Whether no answer was seen."""
        return self.end == inf


class Model(Protocol):
    """What the object does when operations come one after the other."""

    initial: Hashable

    def step(self, state: Any, op: Op) -> Iterable[Hashable]:
        """The states in which it may be after the operation; none: it cannot have answered so.

        Whatever a pending operation may have done, it may be asked to do here.
        """
        ...


class Register:
    """One value: ``write`` gives it, ``read`` sees the one that was written last."""

    def __init__(self, initial: Hashable = None) -> None:
        self.initial = initial

    def step(self, state: Hashable, op: Op) -> Iterable[Hashable]:
        """A write is taken; a read must have seen what is there."""
        if op.kind == "write":
            return (op.given,)
        return (state,) if op.pending or op.seen == state else ()


class Unexplained(NamedTuple):
    """Where no order was found.

    :param about: the object. :param explained: so many operations could be put in order at best.
    :param stuck: which could have come next there, and none of them fits. :param state: the
        object's, there.
    """

    about: Hashable
    explained: int
    stuck: tuple[Op, ...]
    state: Hashable

    def __str__(self) -> str:
        lines = [f"{self.explained} operations of {self.about!r} explained, then, at {self.state}:"]
        return "\n  ".join([*lines, *map(str, self.stuck)])


def linearizable(history: Iterable[Op], model: Model | None = None) -> bool:
    """Whether one order of each object's operations explains every answer."""
    return unexplained(history, model) is None


def unexplained(history: Iterable[Op], model: Model | None = None) -> Unexplained | None:
    """The first object for whose answers there is no order; None: there is one for each."""
    apart: dict[Hashable, list[Op]] = {}
    for op in history:
        apart.setdefault(op.about, []).append(op)
    for about, ops in apart.items():
        found = _search(about, ops, model or Register())
        if found is not None:
            return found
    return None


class _Way(NamedTuple):
    """A way so far: all answered operations before ``first`` are in order, and those whose bits are
    set in ``ahead``, counted from there; of the pending ones those whose bits are set in ``late``.
    """

    first: int
    ahead: int
    late: int
    state: Hashable


def _search(about: Hashable, ops: Sequence[Op], model: Model) -> Unexplained | None:
    answered = sorted((op for op in ops if not op.pending), key=lambda op: op.start)
    pending = sorted((op for op in ops if op.pending), key=lambda op: op.start)
    ways = [_Way(0, 0, 0, model.initial)]
    seen = _Seen()
    best, deepest = -1, ways[0]
    while ways:
        way = ways.pop()
        if way.first == len(answered):
            return None
        if not seen.is_new(way):
            continue
        done = way.first + way.ahead.bit_count()
        if done > best:
            best, deepest = done, way
        soonest, next_ones = _next(answered, way)
        for place, op in enumerate(pending):  # tried last: most never did anything
            if op.start > soonest:
                break
            if not way.late >> place & 1:
                ways += [
                    way._replace(late=way.late | 1 << place, state=state)
                    for state in model.step(way.state, op)
                    if state != way.state  # what changes nothing may as well never happen
                ]
        for place in sorted(next_ones, key=lambda one: -answered[one].end):
            ways += [_with(way, place, state) for state in model.step(way.state, answered[place])]
    _, stuck = _next(answered, deepest)
    return Unexplained(about, best, tuple(answered[place] for place in stuck), deepest.state)


class _Seen:
    """Ways that were gone. One that comes to the same with fewer pending operations spent has all
    the ways out of one with more.
    """

    def __init__(self) -> None:
        self._late: dict[tuple[int, int, Hashable], list[int]] = {}

    def is_new(self, way: _Way) -> bool:
        """Whether it leads anywhere that none before it did; from now on it does not."""
        spent = self._late.setdefault((way.first, way.ahead, way.state), [])
        if any(late & way.late == late for late in spent):
            return False
        spent[:] = [late for late in spent if late & way.late != way.late]
        spent.append(way.late)
        return True


def _next(answered: Sequence[Op], way: _Way) -> tuple[float, list[int]]:
    """When the first of those still to come ends, and which of them may come next."""
    soonest = inf
    found: list[int] = []
    for place in range(way.first, len(answered)):
        op = answered[place]
        if op.start > soonest:
            break
        if not way.ahead >> (place - way.first) & 1:
            found.append(place)
            soonest = min(soonest, op.end)
    return soonest, found


def _with(way: _Way, place: int, state: Hashable) -> _Way:
    """The way with one more operation in its order."""
    first, ahead = way.first, way.ahead | 1 << (place - way.first)
    while ahead & 1:
        first, ahead = first + 1, ahead >> 1
    return _Way(first, ahead, way.late, state)
