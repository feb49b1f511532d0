"""The production rules and flows, called for real, one step at a time, and remembered.

Records are made canonical before they are numbered. The clock always reads `NOW`: when time passes,
every time in a record moves back instead, so that two histories that differ only by the hour are
one state. Fields that no rule reads are set to nothing.

The flows of `ascertain.flow` are driven here from one durable write to the next. A flow is cut at
the places where it holds nothing but the action as it stands: before a look-up's answer, before an
attempt's outcome, and between two writes.
"""

from contextlib import contextmanager
from dataclasses import dataclass, replace

from ascertain.flow import attempt as flow_attempt
from ascertain.flow import call as flow_call
from ascertain.flow import pursue as flow_pursue
from ascertain.flow import recover as flow_recover
from ascertain.flow.effects import Ask, Inquire, Invoke, Pause, Permit, Relate, Setting
from ascertain.model.action import ActionRecord
from ascertain.model.epoch import ONLY, TIMELINE, Epoch
from ascertain.model.operations import Advance, Advanced, Lost, Reserve, Reserved, Take
from ascertain.model.outcome import Effect, Kind, Outcome, Report
from ascertain.model.tables import State
from ascertain.model.words import Absent, Found, Processing, Refused
from ascertain.rules import arrivals, evidence
from ascertain.rules.budget import Turn
from ascertain.rules.decide import decide
from ascertain.rules.view import view_of

NOW = 1000
LEASE = 2  # how long a take-over lasts
ASKING = 3  # a look-up is answered within this time, or never
BEFORE = 0  # when whatever was sent before a fail-over was sent
KEPT, LOST = 1, 2  # of attempts then: whether the ledger still knows them


@dataclass(frozen=True, slots=True)
class Step:
    """What a flow does next: at most one write, and where it then stands.

    `then`: `attempt`, `ask`, `go_on`, `taken` (before the suspects are looked at), `wait`, `end`.
    `reason`: of the decision behind it. `permit`: whether permission was asked for.
    """

    after: int | None
    drafts: tuple
    then: str
    turn: tuple | None = None
    reason: object = None
    permit: bool = False


def _outcomes():
    refused = Effect.REFUSED
    plain = {
        "refused": Outcome(effect=refused, reason="refused", kind=Kind.BUSINESS, code="NO"),
        "throttled": Outcome(
            effect=refused, reason="throttled", kind=Kind.THROTTLED, code="LATER", retryable=True
        ),
        "in_progress": Outcome(
            effect=refused, reason="in_progress", kind=Kind.IN_PROGRESS, retryable=True
        ),
        "exists": Outcome(
            effect=refused, reason="exists", kind=Kind.ALREADY_EXISTS, related_ref="T1"
        ),
        "accepted": Outcome(
            effect=Effect.ACCEPTED, reason="accepted", handle="job-1", ask_after_s=1
        ),
        "unknown": Outcome(effect=Effect.UNKNOWN, reason="timeout"),
    }
    for n in (1, 2, 3, 4):
        plain[f"ok T{n}"] = Outcome(effect=Effect.CONFIRMED, reason="ok", provider_ref=f"T{n}")
    twice = {f"{name}, sent twice": one._replace(sends=2) for name, one in plain.items()}
    nothing = {
        "not_sent": Outcome(effect=Effect.NOT_SENT, reason="refused_connection", retryable=True,
                            sends=0),
        "broken": Outcome(
            effect=Effect.NOT_SENT, reason="tool_error", kind=Kind.TOOL_ERROR, sends=0
        ),
        "fenced": Outcome(effect=Effect.NOT_SENT, reason="fenced"),
    }  # fmt: skip
    return plain | twice | nothing


OUTCOMES = _outcomes()


def _said(answer):
    """The report of a look-up that gave this answer."""
    word, _, rest = answer.partition(" ")
    match word:
        case "found":
            ref, count = rest.split(" x")
            return Report(value=Found(ref, count=int(count)))
        case "absent":
            return Report(value=Absent)
        case "working":
            return Report(value=Processing(ask_after_s=1.0))
        case "refused":
            return Report(value=Refused("NO"))
        case _:
            return Report(error=TimeoutError("no answer"))


class Production:
    """Numbers records, and remembers what the production code made of them."""

    def __init__(self, contract, names, *, epochs=False):
        self.contract = contract
        self.names = names
        self.epochs = epochs
        self.records = []
        self.views = set()
        self._numbers = {}
        self._memo = {}
        settling = (contract.lookup.absence_final_after_s or 0) if contract.lookup else 0
        tail = 2 * settling + contract.budget.send_deadline_s + 1
        self.long_ago_s = contract.budget.horizon_s + tail
        self._first = NOW - self.long_ago_s
        self._last = NOW - (tail + ASKING)

    # ------------------------------------------------------------------------------- canonical form

    def number(self, record):
        """The number of a record in its canonical form."""
        record = self._canonical(record)
        found = self._numbers.get(record)
        if found is None:
            found = self._numbers[record] = len(self.records)
            self.records.append(record)
        return found

    def _canonical(self, r):
        changes = {
            "created_at": 0.0, "updated_at": 0.0, "last_sent_at": None, "asked_at": None, "asked": 0,
            "reason": "", "code": None, "related_ref": None, "handle": None, "n": 0, "fence": 0,
            "head": b"", "review_at": None,
            "first_sent_at": _floor(r.first_sent_at, self._first),
            "last_possible_at": _floor(r.last_possible_at, self._last),
            "ask_at": _future(r.ask_at), "not_before_at": _future(r.not_before_at),
            "due_at": _floor(r.due_at, NOW), "send_by_at": _floor(r.send_by_at, NOW),
            "lease_until": _floor(r.lease_until, NOW),
            "suspect": ",".join(sorted(name for name in r.suspect.split(",") if name)),
        }  # fmt: skip
        if r.state is State.SENT:
            changes |= self._while_sent(r)
        if self.epochs:
            changes["last_sent_at"] = _side(r.last_sent_at)
        if not r.refused and not r.final:
            changes["kind"] = None
        if r.state is not State.SENT and (r.lease_until is None or r.lease_until <= NOW):
            changes["lease_owner"] = changes["lease_until"] = None
        if r.terminal and r.due_at is None:
            for name in ("first_sent_at", "last_possible_at", "ask_at", "not_before_at"):
                changes[name] = None
            for name in ("sends", "doubt", "unanswered", "refused"):
                changes[name] = 0
        return r._replace(**changes)

    def _while_sent(self, r):
        """Of two times only this is read: whether this attempt's refusal speaks for all in doubt."""
        after, last, mine = self.contract.refusal_final_after_s, r.last_possible_at, r.last_sent_at
        if after is None or last is None or mine is None:
            return {"last_sent_at": None, "last_possible_at": None}
        return {
            "last_sent_at": NOW,
            "last_possible_at": NOW - (after if mine - last >= after else 0),
        }

    def later(self, number):
        """The same record one unit of time later."""
        key = ("later", number)
        found = self._memo.get(key)
        if found is None:
            r = self.records[number]
            moved = {
                name: None if getattr(r, name) is None else getattr(r, name) - 1
                for name in (
                    "first_sent_at", "last_sent_at", "last_possible_at", "ask_at", "not_before_at",
                    "due_at", "send_by_at", "lease_until",
                )
            }  # fmt: skip
            found = self._memo[key] = self.number(r._replace(**moved))
        return found

    def crossed(self, number):
        """The same record, seen from the history that follows."""
        r = self.records[number]
        return self.number(r if r.last_sent_at is None else r._replace(last_sent_at=BEFORE))

    def renamed(self, number, order):
        """The same record with its senders' names exchanged: `order[new] = old`."""
        key = ("renamed", number, order)
        found = self._memo.get(key)
        if found is None:
            r = self.records[number]
            new = {self.names[old]: self.names[at] for at, old in enumerate(order)}

            def rename(sender):
                owner, mark, attempt = sender.partition("#")
                return new.get(owner, owner) + mark + attempt  # some have no name

            suspects = ",".join(rename(name) for name in r.suspect.split(",") if name)
            owner = r.lease_owner and rename(r.lease_owner)
            found = self._memo[key] = self.number(r._replace(suspect=suspects, lease_owner=owner))
        return found

    # ---------------------------------------------------------------------------------------- flows

    def _setting(self, process, asked_at=None, epoch=()):
        readings = [] if asked_at is None else [asked_at]
        return Setting(
            contract=self.contract, sender=self.names[process], dice=lambda: 0.0, lease_s=1,
            clock=lambda: readings.pop() if readings else NOW, epoch=lambda: epoch_of(epoch),
        )  # fmt: skip

    def born(self, prepared, turn):
        """A call's first commit: the intent and its first attempt."""
        wanted = flow_call.Wanted(
            record=prepared, arguments="{}", contract_json="{}", rebuild=lambda previous: previous
        )
        flow = flow_call.call(self._setting(0), wanted, Turn(*turn))
        effect = next(flow)
        assert isinstance(effect, Reserve)
        then = flow.send(Reserved(record=effect.record, via="new"))
        assert isinstance(then, Invoke)
        return Step(self.number(effect.record), effect.drafts, "attempt", (turn[0] - 1, turn[1]))

    def go_on(self, number, process, start, turn, gone, permit="yes", epoch=()):
        """Run `recover` (`start` is "taken") or `pursue` through its next write."""
        key = ("go_on", number, process, start, turn, gone, permit, epoch)
        found = self._memo.get(key)
        if found is None:
            record = self.records[number]
            turns = None if turn is None else Turn(*turn)
            setting = self._setting(process, epoch=epoch)
            if start == "taken":
                flow = flow_recover.recover(setting, record, turns)
            else:
                flow = flow_pursue.pursue(setting, record, turns)
            reasons = []
            with decisions_heard(flow_pursue, reasons, self.views):
                found = self._run(flow, turn, gone, permit, reasons)
            self._memo[key] = found
        return found

    def _run(self, flow, turn, gone, permit, reasons):
        step = Step(None, (), "end")
        reply, asked = None, False
        while True:
            try:
                effect = flow.send(reply)
            except StopIteration:
                return step
            wrote = step.after is not None
            match effect:
                case Inquire(senders):
                    if wrote:
                        return replace(step, then="taken", turn=turn)
                    reply = frozenset(name for name in senders if name.partition("#")[0] in gone)
                case Permit():
                    if wrote:
                        return replace(step, then="go_on", turn=turn)
                    reply, asked = permit, True
                case Advance():
                    if wrote:
                        return replace(step, then="go_on", turn=turn)
                    reason = reasons[-1] if reasons else None
                    step = Step(
                        self.number(effect.after), effect.drafts, "end", None, reason, asked
                    )
                    reply = Advanced(record=effect.after)
                case Invoke():
                    return replace(step, then="attempt", turn=_spent(turn))
                case Ask():
                    if wrote:
                        return replace(step, then="go_on", turn=turn)
                    return Step(None, (), "ask", turn, reasons[-1])
                case Pause():
                    return replace(step, then="go_on" if wrote else "wait", turn=turn)
                case _:
                    raise AssertionError(effect)

    def join(self, number, process, turn, gone):
        """What a second caller of the same intent does: `take`, `wait` or `end`."""
        key = ("join", number, process, turn, gone)
        found = self._memo.get(key)
        if found is None:
            flow = flow_call._join(self._setting(process), self.records[number], Turn(*turn))
            reasons, reply = [], None
            with decisions_heard(flow_call, reasons, self.views):
                try:
                    while isinstance(effect := flow.send(reply), Inquire):
                        reply = frozenset(name for name in effect.senders if name in gone)
                    then = "take" if isinstance(effect, Take) else "wait"
                except StopIteration:
                    then = "end"
            found = Step(None, (), then, turn, reasons[0] if reasons else None)
            self._memo[key] = found
        return found

    def land(
        self, number, process, attempt, same_fence, snapshot, outcome, turn, live, old=0, epoch=()
    ):  # fmt: skip
        """The sender writes what its attempt taught.

        `snapshot`: the record that it stands on, if the ledger will take a write on that; else the
        ledger says how the action stands now (`number`), and the write is made again on that.
        `old`: `KEPT` or `LOST`, of an attempt that was sent before the epoch.
        """
        key = (
            "land",
            number,
            process,
            attempt,
            same_fence,
            snapshot,
            outcome,
            turn,
            live,
            old,
            epoch,
        )
        found = self._memo.get(key)
        if found is None:
            current = self.records[number]
            held = current if snapshot is None else self.records[snapshot]
            mine = held
            if snapshot is None or not same_fence:
                mine = held._replace(
                    state=State.SENT, final=0, attempt=attempt, fence=0 if same_fence else -1
                )
            if old:
                mine = mine._replace(last_sent_at=BEFORE if old == KEPT else BEFORE - 1)
            turns = None if turn is None else Turn(*turn)
            known = [() if old else epoch]
            setting = self._setting(process)._replace(epoch=lambda: epoch_of(known[0]))
            flow = flow_attempt.make_attempt(setting, mine, turns)
            next(flow)
            known[0] = epoch
            with outcome_of(OUTCOMES[outcome]):
                effect = flow.send(Report(live=live))
            if isinstance(effect, Relate):
                effect = flow.send(True)
            if snapshot is None:
                effect = flow.send(Lost(record=current))
            after = effect.after
            then = "end" if _result(flow, Advanced(record=after)).stop else "go_on"
            if turns and after.terminal:
                then = "end"
            found = self._memo[key] = Step(self.number(after), effect.drafts, then, turn)
        return found

    def answered(self, number, process, asked_at, answer, turn):
        """The asker writes what the provider said."""
        key = ("answered", number, process, asked_at, answer, turn)
        found = self._memo.get(key)
        if found is None:
            turns = None if turn is None else Turn(*turn)
            flow = flow_pursue.look_up(
                self._setting(process, asked_at), self.records[number], turns
            )
            next(flow)
            effect = flow.send(_said(answer))
            goes_on = effect.after.lease_owner == self.names[process]
            found = self._memo[key] = Step(
                self.number(effect.after), effect.drafts, "go_on" if goes_on else "end", turn
            )
        return found

    def verdict(self, number, said, gone, epoch=()):
        """A person's verdict, "not done" or a reference; None where it is refused."""
        key = ("verdict", number, said, gone, epoch)
        if key not in self._memo:
            record = self.records[number]
            made = None
            dead = [one for one in record.suspect.split(",") if one.partition("#")[0] in gone]
            if said != "not done":
                made = evidence.verdict_confirmed(
                    record, self.contract, provider_ref=said, evidence="", now=NOW
                )
            elif dead:
                made = evidence.clear_suspects(record, dead, now=NOW)
            elif not (
                arrivals.may_still_arrive(record, self.contract, now=NOW)
                or (arrivals.missing_may_arrive_until(record, self.contract, epoch_of(epoch), 1) or NOW) > NOW
            ):  # fmt: skip
                made = evidence.verdict_not_done(record, evidence="", now=NOW)
            self._memo[key] = made and Step(self.number(made.after), made.drafts, "end")
        return self._memo[key]

    def decision(self, number):
        """What a worker decides for the action as it stands."""
        key = ("decision", number)
        found = self._memo.get(key)
        if found is None:
            found = decide(view_of(self.records[number], self.contract, NOW, None))
            self._memo[key] = found
        return found


@contextmanager
def decisions_heard(flow, reasons, views):
    """Note what a flow decides on, and why."""
    judge = flow.decide

    def heard(view):
        views.add(view)
        decision = judge(view)
        reasons.append(decision.reason)
        return decision

    flow.decide = heard
    try:
        yield
    finally:
        flow.decide = judge


@contextmanager
def outcome_of(outcome):
    """What an attempt taught is chosen by the search; how it is read off the wire is not its matter."""
    read = flow_attempt.classify
    flow_attempt.classify = lambda report, contract, now: outcome
    try:
        yield
    finally:
        flow_attempt.classify = read


def _result(flow, reply):
    try:
        flow.send(reply)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("an attempt ends with one write")


def _spent(turn):
    return None if turn is None else (turn[0] - 1, turn[1])


def epoch_of(ages):
    """The epoch that began, and whose last kept commit was written, so long ago."""
    if not ages:
        return ONLY
    began, kept = ages
    return Epoch(id="e2", n=2, why=TIMELINE, began_at=NOW - began, kept_at=NOW - kept)


def _side(at):
    """On which side of a fail-over that was."""
    return None if at is None else BEFORE if at <= BEFORE else NOW


def _floor(at, floor):
    return None if at is None else max(at, floor)


def _future(at):
    return None if at is None or at <= NOW else at


PREPARED = ActionRecord(
    id="a1", tenant="t", tool="create_ticket", principal="u7", session="s", opening="o", turn="1",
    slot="1", chain="", call_id=None, parent=None, replaces=None, intent="i", ordinal="",
    exact="", wording="", key="K", contract="d", mode="guard", created_at=NOW, send_by_at=NOW + 4,
)  # fmt: skip
