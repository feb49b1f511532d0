"""L0 for what stands before a send: approvals of one exact call, and breakers.

The rules and what the runtime makes of them are the production's; restated here are who writes
events, the provider, two processes, and time.
"""

import json

from ascertain.model.action import EventRecord
from ascertain.model.breaker import Breaker, BreakerRecord, Circuit
from ascertain.model.contract import Approval, Budget, Contract, Repeat
from ascertain.model.tables import By, Event, State
from ascertain.rules import approval, fold
from ascertain.rules.breaker import News
from ascertain.rules.mac import prepared_hmac
from ascertain.runtime.breaking import Breaking
from ascertain.testing import invariants as inv
from tests.prove.production import PREPARED

NOW = 1000.0
MAC = prepared_hmac(b"secret")

# ---------------------------------------------------------------------------------------- approvals

ASKS = Contract(
    tool="t", noun="t", repeat=Repeat.BY_KEY, approval=Approval.ALWAYS, budget=Budget(sends=5)
)
WITHIN_S = 10.0
ASKED = '{"amount":1}'


class Held:
    """One action that waits for its approval, and all that was written of it."""

    def __init__(self):
        self.now = NOW
        self.arguments, self.approved = ASKED, set()
        self.record = PREPARED.changed(
            id="a", send_by_at=NOW + WITHIN_S, review=approval.WAITS, review_at=NOW
        )
        self.events = []
        detail = approval.request_detail(self.record, self.digest())
        self.write("prepared", Event.PREPARE, By.CALL, detail)

    @property
    def intact(self):
        return self.arguments == ASKED

    def digest(self):
        return approval.digest_of(MAC, self.record, self.arguments)

    def write(self, reason, event, by, detail):
        n = len(self.events) + 1
        self.events.append(EventRecord(
            "a", n, None, event.value, self.record.state.value, by.value, reason,
            self.record.attempt, 0, self.now, json.dumps(detail), b"",
        ))  # fmt: skip

    def approve(self, by):
        """Somebody writes an approval: a person of what is shown, or whoever can write events."""
        move = approval.approve(
            self.record, digest=self.digest(), by="li", until=NOW + WITHIN_S, now=self.now
        )
        if by is By.PERSON:
            self.record = move.after
            self.approved.add(self.arguments)
        self.write(approval.APPROVED, Event.NOTE, by, move.drafts[0].detail)

    def send(self):
        """As the flow does right before each send; what is not granted is not sent."""
        if self.record.state not in (State.PREPARED, State.UNKNOWN):
            return
        number = None
        if approval.asked_for(ASKS, self.events):
            found = approval.granted(self.events, self.digest(), now=self.now)
            if isinstance(found, approval.NotGranted):
                return
            number = found.n
        move = fold.send(
            self.record, ASKS, sender="p", lease_until=self.now + 5, now=self.now, by=By.WORKER,
            approval=number,
        )  # fmt: skip
        self.record = move.after
        self.write("send", Event.SEND, By.WORKER, move.drafts[0].detail)
        if self.arguments not in self.approved:
            yield f"sent {self.arguments}, which nobody approved"


def approvals(choose):
    """A person, somebody with a database shell, other arguments, time, and sends, in any order."""
    held = Held()
    for _ in range(5):
        what = choose("rest", "approve", "forge", "change", "wait", "send", "lose")
        match what:
            case "rest":
                return
            case "approve" if held.record.review in approval.CASES:
                # what was changed in the database does not verify, so nobody can approve it
                if held.now < held.record.send_by_at and held.intact:
                    held.approve(By.PERSON)
            case "forge":
                held.approve(By.WORKER)
            case "change":
                held.arguments = '{"amount":1000}'
            case "wait":
                held.now += WITHIN_S
            case "send":
                yield from held.send()
            case "lose" if held.record.state is State.SENT:
                lost = fold.lose(
                    held.record, reason="timeout", suspect="", now=held.now, by=By.CALL, wait_s=0
                )
                held.record = lost.after
            case _:
                return  # nothing of the kind is possible now
        yield from map(str, inv.approved_sends(held.record, held.events))


# --------------------------------------------------------------------------------- circuit breakers

RULE = Breaker(after=2, within_s=100.0, cool_down_s=10.0, defects=2)
BROKEN = Contract(tool="t", noun="t", breaker=RULE)
PROBE_S = 5.0


class Rows:
    """The ledger's rows of breakers: compared and set."""

    def __init__(self):
        self.rows, self.written = {}, []
        self.breakers = self

    def all(self):
        return list(self.rows.values())

    def turn(self, before, after):
        current = self.rows.get(after.name, BreakerRecord(after.name))
        if current.n != before.n:
            return current
        self.rows[after.name] = after
        self.written.append((current.circuit, after.circuit))
        return after


class Office:
    """Two processes that send to one provider, and hear of each other through the ledger."""

    def __init__(self):
        self.now = NOW
        self.ledger = Rows()
        self.processes = [Breaking(self.ledger, lambda: self.now, lambda _: False) for _ in "ab"]
        self.silent_in_a_row, self.opened_at, self.probing_until = 0, None, None

    def look(self):
        for one in self.processes:
            one.refresh()

    def send(self, at):
        """Whether the process lets a send through; judged by what everybody has seen."""
        self.look()
        process = self.processes[at]
        through = process.is_closed(BROKEN) or process.admit(BROKEN, PROBE_S) is None
        wrong = []
        if through and self.opened_at is not None:
            if self.now < self.opened_at + RULE.cool_down_s:
                wrong.append("sent by itself while the breaker is open")
            if self.probing_until is not None and self.now < self.probing_until:
                wrong.append("two sends try it at once")
            self.probing_until = self.now + PROBE_S
        return through, wrong

    def hear(self, at, news, *, through):
        """The provider spoke, or did not: to a send of this process, or to a question."""
        process = self.processes[at]
        process.hear(BROKEN, news, self.now)
        silent = news in (News.SILENT, News.DEFECT)
        tried = self.opened_at is not None and through
        if silent and (tried or self.opened_at is None):
            self.silent_in_a_row += 1
            if tried or self.silent_in_a_row >= RULE.after:
                self.opened_at, self.probing_until = self.now, None
        elif news in (News.DEFINITE, News.FOUND) and (through or self.opened_at is None):
            self.silent_in_a_row = 0
            if tried:
                self.opened_at = self.probing_until = None


def breakers(choose):
    """Sends that are answered or not, in two processes, and time; then everything is well again."""
    office = Office()
    for _ in range(5):
        what = choose("rest", "silent", "definite", "defect", "waiting", "cool", "short")
        if what == "rest":
            break
        if what in ("cool", "short"):
            office.now += 2 * RULE.cool_down_s if what == "cool" else 1.0
            continue
        at = choose(0, 1) if office.opened_at is not None else 0
        through, wrong = office.send(at)
        yield from wrong
        if through and what != "waiting":
            office.hear(at, News(what), through=True)
        office.look()
        yield from _stands(office)
    yield from _mends(office)


def _stands(office):
    """What the ledger says is what everybody has seen."""
    row = office.ledger.rows.get("t")
    is_open = row is not None and row.circuit is not Circuit.CLOSED
    if office.opened_at is not None and not is_open:
        yield "silence after silence, and the breaker is closed"
    if office.opened_at is None and is_open:
        yield "a definite answer, and the breaker is not closed"


def _mends(office):
    """A provider that answers again is sent to again, after a while."""
    for _ in range(3):
        office.now += 3 * RULE.cool_down_s
        through, wrong = office.send(0)
        yield from wrong
        if through:
            office.hear(0, News.DEFINITE, through=True)
            office.look()
            yield from _stands(office)
            if office.processes[1].admit(BROKEN, PROBE_S) is not None:
                yield "the provider answers, and the other process holds what it would send"
            return
    yield "the provider answers again, and nothing is ever sent to it"
