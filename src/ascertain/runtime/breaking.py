"""Circuit breakers at work: what this process has seen, and what all processes know.

Silence is counted in memory, so that nothing is written while nothing changes. A breaker that turns
is written to the ledger; others see it within a second. In this process it holds at once.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from ascertain.errors import LedgerError, NotAllowed
from ascertain.flow.effects import Withheld
from ascertain.model.action import Draft
from ascertain.model.breaker import BreakerRecord, Circuit
from ascertain.model.contract import Contract
from ascertain.rules import breaker as rules
from ascertain.rules.breaker import News, Tally
from ascertain.rules.decide import Held
from ascertain.runtime import sender
from ascertain.runtime.clock import Clock
from ascertain.store.ledger import Ledger

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

log = logging.getLogger("ascertain")

LOOK_S = 1.0


class Breaking:
    """The breakers of one app.

    :param asked: whether the provider behind a contract can be asked (look-up, or a read).
    """

    def __init__(self, ledger: Ledger, clock: Clock, asked: Callable[[Contract], bool]) -> None:
        self._ledger = ledger
        self._clock = clock
        self._asked = asked
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._known: dict[str, BreakerRecord] = {}
        self._tallies: dict[str, Tally] = {}
        self.definite_at: dict[str, float] = {}  # by tool, when its last definite answer came
        self._turned: deque[tuple[BreakerRecord, BreakerRecord]] = deque()
        self._writing = threading.Lock()
        self._look_at = float("-inf")

    def _after_fork(self) -> None:
        """A child has seen nothing yet, and its parent's threads may have held the locks."""
        if self._pid != os.getpid():
            self._begin_anew()

    @property
    def idle(self) -> bool:
        """Whether good news would change nothing, because nothing bad has been seen."""
        return not self._known and not self._tallies

    @property
    def stale(self) -> bool:
        """Whether somebody should look at the ledger again; at most once a second."""
        return monotonic() >= self._look_at

    def refresh(self) -> None:
        """Read how the breakers stand.

        :raises LedgerError: they cannot be read.
        """
        self._after_fork()
        if self._look_at > 0:
            self._look_at = monotonic() + LOOK_S  # one caller reads; others go on meanwhile
        found = self._ledger.breakers.all()
        with self._lock:
            for record in found:
                mine = self._known.get(record.name)
                if mine is None or record.n >= mine.n:
                    self._known[record.name] = record
        self._look_at = monotonic() + LOOK_S

    def is_closed(self, contract: Contract) -> bool:
        """Whether automatic sends go, as far as is known here."""
        if not self._known:
            return True
        record = self._known.get(rules.name_of(contract))
        return record is None or record.circuit is Circuit.CLOSED

    def admit(self, contract: Contract, lease_s: float) -> Withheld | None:
        """Let one send through, or say until when it is withheld. May write: one send probes.

        :param lease_s: how long that send may take.
        """
        name = rules.name_of(contract)
        record = self._known.get(name)
        if record is None or record.circuit is Circuit.CLOSED:
            return None
        now = self._clock()
        asked = self._asked(contract)
        if rules.free_to_probe(record, now, asked=asked):
            after = rules.probed(record, sender.me(), now + lease_s, now)
            if after is not None and self._write(record, after) == after:
                return None
            record = self._known[name]
        return Withheld(
            held=Held.CIRCUIT, why=rules.WAITS, until=rules.next_at(record, now, asked=asked),
            ask=record.circuit is Circuit.OPEN and now >= (record.cool_at or now),
        )  # fmt: skip

    def happened(self, contract: Contract, draft: Draft, sent_at: float | None) -> None:
        """An event was written; on a loop nothing waits for what is written because of it.

        :param sent_at: when the attempt that it speaks of was sent.
        """
        news = rules.news_of(draft)
        if news is not None:
            self.hear(contract, news, sent_at)

    def hear(self, contract: Contract, news: News, sent_at: float | None = None) -> None:
        """The provider spoke, or was silent."""
        rule = contract.breaker
        good = news is not News.SILENT and news is not News.DEFECT
        if news is News.DEFINITE or news is News.FOUND:
            self.definite_at[contract.tool] = self._clock()
        if rule is None or (good and self.idle):
            return
        self._after_fork()
        name = rules.name_of(contract)
        now = self._clock()
        with self._lock:
            record = self._known.get(name) or BreakerRecord(name)
            after: BreakerRecord | None
            if record.circuit is Circuit.CLOSED:
                tally = rules.tallied(
                    self._tallies.get(name, rules.NOTHING), rule, news, now, sent_at=sent_at,
                    definite_at=self.definite_at.get(contract.tool),
                )  # fmt: skip
                self._keep(name, tally)
                why = rules.trips(tally, rule)
                after = rules.opened(record, rule, why, now) if why else None
            else:
                after = rules.heard(record, news, rule, now)
            if after is None:
                return
            self._known[name] = after
            self._tallies.pop(name, None)
        self._write_beside(record, after)

    def settle(self) -> None:
        """Write what has turned and is not written yet; called before the ledger is closed."""
        self._after_fork()
        self._write_turned()

    def close(self, name: str, by: str) -> BreakerRecord:
        """A person closes a breaker.

        :raises NotAllowed: it is closed, or somebody turned it at the same moment.
        """
        record = next((r for r in self._ledger.breakers.all() if r.name == name), None)
        after = None if record is None else rules.closed_by(record, by, self._clock())
        if record is None or after is None:
            raise NotAllowed(
                f"The breaker {name!r} is not open.", next_step="`ascertain breakers` lists them."
            )
        if self._write(record, after) != after:
            raise NotAllowed("Somebody has just turned it; look at it again.")
        with self._lock:
            self._tallies.pop(name, None)
        return after

    def _keep(self, name: str, tally: Tally) -> None:
        if tally == rules.NOTHING:
            self._tallies.pop(name, None)
        else:
            self._tallies[name] = tally

    def _write_beside(self, before: BreakerRecord, after: BreakerRecord) -> None:
        """Write it, in the order in which it turned, and not on an event loop."""
        self._turned.append((before, after))
        loop = _loop()
        if loop is None:
            self._write_turned()
        else:
            loop.run_in_executor(None, self._write_turned)

    def _write_turned(self) -> None:
        with self._writing:
            while self._turned:
                before, after = self._turned.popleft()
                try:
                    self._write(before, after)
                except LedgerError:
                    self._forget(after.name)
                    log.exception("%s: that the breaker turned could not be written", after.name)

    def _write(self, before: BreakerRecord, after: BreakerRecord) -> BreakerRecord:
        found = self._ledger.breakers.turn(before, after)
        if found != after:
            with self._lock:
                self._known[found.name] = found  # somebody was quicker, and what is written holds
            return found
        with self._lock:
            known = self._known.get(found.name)
            if known is None or found.n >= known.n:
                self._known[found.name] = found
        if found.circuit is not before.circuit:
            line = {
                "event": "breaker", "breaker": after.name, "from": str(before.circuit),
                "to": str(after.circuit), "why": after.why, "by": after.by or None,
            }  # fmt: skip
            log.warning(json.dumps(line))
        return found

    def _forget(self, name: str) -> None:
        """What could not be written holds for nobody; the ledger is read again."""
        with self._lock:
            self._known.pop(name, None)
        self._look_at = float("-inf")


def _loop() -> AbstractEventLoop | None:
    """The loop that this thread runs, if it runs one."""
    if "asyncio" not in sys.modules:
        return None  # and it is most of what an import costs
    from asyncio import get_running_loop

    try:
        return get_running_loop()
    except RuntimeError:
        return None
