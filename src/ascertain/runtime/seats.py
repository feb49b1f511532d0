"""The calls that are made in a chain just now, and who waits for one of them to end."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from ascertain.flow.call import Wanted
    from ascertain.model.action import ActionRecord
    from ascertain.model.chain import Around
    from ascertain.runtime.place import Place
    from ascertain.runtime.registry import Entry

News = Future[None]
_own: ContextVar[Seat | None] = ContextVar("ascertain_seat", default=None)
POLL_S = 0.03  # how often the ledger is asked about a step that another process makes


class Joined(Protocol):
    """A chain, as the calls that are made in it see it."""

    id: str

    def seated(self, place: Place | None) -> AbstractContextManager[Seat]:
        """The call of a step, while it is made; what depends on it waits for its end."""
        ...

    def made(self) -> Made:
        """What is made of it in this process just now."""
        ...

    def around(self) -> Around:
        """The chain, its members and their actions; nothing is written by looking."""
        ...

    def needs_look(self, entry: Entry, intent: str, seat: Seat) -> bool:
        """Whether the gate has to see the ledger: a step before is not known to be confirmed."""
        ...

    def admit(
        self, entry: Entry, wanted: Wanted, seat: Seat, made: Made, around: Around | None, *,
        last: bool,
    ) -> Wanted | Coming:  # fmt: skip
        """The call as a step of the chain; denied, where it must not start; or what it waits for.

        :raises ContractError: it depends on a step that the chain does not have.
        """
        ...

    def ended(self, seat: Seat, record: ActionRecord) -> None:
        """A step has come to this, as far as its call knows."""
        ...


@dataclass(slots=True, eq=False)
class Seat:
    """One call in its chain, while it is made.

    :ivar outer: the call in whose body it is made.
    :ivar step: its name there; '' while it is not known.
    """

    chain: Joined
    place: Place | None
    outer: Seat | None = None
    step: str = ""

    @property
    def within(self) -> frozenset[str]:
        """The steps whose bodies it is made in: none of them ends before it."""
        found: set[str] = set()
        seat = self.outer
        while seat is not None:
            if seat.chain is self.chain:
                found.add(seat.step)
            seat = seat.outer
        return frozenset(found)


class Made(NamedTuple):
    """The steps that are called in this process just now, or about to be.

    :param news: done as soon as one of the calls has ended.
    """

    steps: frozenset[str]
    news: News


class Coming(NamedTuple):
    """What a step depends on is under way: here, unless ``elsewhere``.

    :param news: done as soon as a call of the chain has ended in this process.
    """

    news: News
    elsewhere: bool

    def patience_s(self, left_s: float) -> float:
        """How long to wait before the chain is looked at again."""
        return min(left_s, POLL_S) if self.elsewhere else left_s


class Seats:
    """For any thread and task of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()
        self._named: set[str] = set()
        self._news: News = Future()

    def name(self, step: str) -> None:
        """A step is about to be called under this name."""
        with self._lock:
            self._named.add(step)

    def made(self) -> Made:
        """What is made just now. Who looks at the ledger after this, not before, misses no end."""
        with self._lock:
            return Made(frozenset(self._taken) | self._named, self._news)

    @contextmanager
    def taken(self, chain: Joined, place: Place | None) -> Generator[Seat]:
        """The call of a step runs inside."""
        seat = Seat(chain, place, _own.get())
        if place is not None:
            self.take(seat, place.step)
        token = _own.set(seat)
        try:
            yield seat
        finally:
            _own.reset(token)
            self._leave(seat)

    def take(self, seat: Seat, step: str) -> None:
        """The step that the call turned out to be."""
        if seat.step:
            return
        with self._lock:
            seat.step = step
            self._named.discard(step)
            self._taken[step] += 1

    def ring(self) -> None:
        """Whoever waits looks again."""
        with self._lock:
            news, self._news = self._news, Future()
        news.set_result(None)

    def _leave(self, seat: Seat) -> None:
        with self._lock:
            self._taken[seat.step] -= 1
            if self._taken[seat.step] <= 0:
                del self._taken[seat.step]
        self.ring()
