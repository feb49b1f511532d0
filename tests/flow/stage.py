"""A stage for flows: it hands replies to their effects, and keeps the story of what they did.

Nothing is done. Time passes only where the stage says so, and the ledger is one action with the
ledger's own condition: a write whose basis has moved on is lost.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from ascertain.flow.call import Wanted
from ascertain.flow.effects import (
    Ask,
    Await,
    Effect,
    Flow,
    Inquire,
    Invoke,
    Pause,
    Permit,
    Picture,
    Relate,
    Setting,
    Survey,
    Tell,
    Undo,
)
from ascertain.model.action import ActionRecord, Draft
from ascertain.model.contract import Budget, Contract, LookupPromise, Repeat
from ascertain.model.epoch import ONLY
from ascertain.model.operations import Advance, Advanced, Lost, Reserve, Reserved, Take, Taken
from ascertain.model.outcome import Evidence, Report
from ascertain.model.tables import State
from ascertain.model.words import Absent, Found, NotSent, Receipt, Refused
from ascertain.rules import fold
from ascertain.rules.budget import Turn
from ascertain.testing import invariants

NOW = 1000.0
LEASE_S = 7.0
ME = "here"
BUDGET = Budget(turn_sends=2, turn_s=30.0, sends=4, send_deadline_s=5.0, backoff_s=2.0)

BLIND = Contract(tool="notify", noun="notice", budget=BUDGET)
KEYED = Contract(tool="pay", noun="payment", budget=BUDGET, repeat=Repeat.BY_KEY)
ASKED = Contract(
    tool="open_ticket", noun="ticket", budget=BUDGET,
    lookup=LookupPromise(absence_final_after_s=10.0),
)  # fmt: skip
KEYED_ASKED = Contract(
    tool="order", noun="order", budget=BUDGET, repeat=Repeat.BY_KEY,
    lookup=LookupPromise(absence_final_after_s=10.0),
)  # fmt: skip
SEARCH = Contract(tool="search", noun="orders", access="read", budget=BUDGET)

# ------------------------------------------------------------------------------------- what is said


def ok(ref: str = "T900", result: str | None = '{"ticket":"T900"}') -> Report:
    return Report(value=Receipt(ref), result=result)


def refused(code: str = "CLOSED", **said: Any) -> Report:
    return Report(error=Refused(code, **said))


def raised(error: BaseException) -> Report:
    return Report(error=error)


LOST_ANSWER = Report(error=TimeoutError())
NEVER_LEFT = Report(error=NotSent())
STILL_RUNNING = Report(error=TimeoutError("deadline"), live=True)
INTERRUPTED = Report(error=KeyboardInterrupt(), interrupt=KeyboardInterrupt())
NOT_BEGUN = Report(error=NotSent("interrupted"), interrupt=KeyboardInterrupt())
NO_RECORD = Report(value=Absent)


def found(ref: str = "T900", count: int = 1) -> Report:
    return Report(value=Found(ref, count=count), result='{"ticket":"T900"}')


# --------------------------------------------------------------------------------------- the action


def prepared(**changes: Any) -> ActionRecord:
    """An intent about to be reserved."""
    return ActionRecord(
        id="a1", tenant="t", tool="order", principal="u7", session="s", opening="o", turn="1",
        slot="1", chain="", call_id=None, parent=None, replaces=None, intent="i", ordinal="",
        exact="x", wording="", key="K", contract="d", mode="guard", created_at=NOW,
        send_by_at=NOW + 30.0,
    )._replace(**changes)  # fmt: skip


def sent(**changes: Any) -> ActionRecord:
    """An attempt that somebody else made and whose lease has just run out."""
    return prepared(
        state=State.SENT, attempt=1, first_sent_at=NOW - 12, last_sent_at=NOW - 12,
        last_possible_at=NOW, lease_owner="there", lease_until=NOW, due_at=NOW, n=2,
    )._replace(**changes)  # fmt: skip


def unknown(**changes: Any) -> ActionRecord:
    """An action whose answer was lost, under our lease."""
    return prepared(
        state=State.UNKNOWN, attempt=1, sends=1, doubt=1, first_sent_at=NOW - 12,
        last_sent_at=NOW - 12, last_possible_at=NOW, lease_owner=ME, lease_until=NOW + 20,
        due_at=NOW + 20, fence=1, n=3, evidence=Evidence.NOT_ASKED,
    )._replace(**changes)  # fmt: skip


def free(record: ActionRecord, **changes: Any) -> ActionRecord:
    """The same, and nobody works on it."""
    return record._replace(lease_owner=None, lease_until=None, due_at=NOW, **changes)


# ---------------------------------------------------------------------------------------- the stage

Reply = Any  # what an effect is answered with, an error to raise, or what happens then


class Stage:
    """Plays one flow at a time.

    ``on(Invoke, ok())`` says how the effects of a kind are answered, one after the other: with a
    reply, with an error that is raised, or with something that happens at that moment. Where it is
    not said, the ledger writes, permission is given, nobody is proven gone, and a pause takes its
    time; whoever invokes or asks without having been told how it goes ends the play.
    """

    def __init__(self, contract: Contract = KEYED_ASKED, held: ActionRecord | None = None) -> None:
        self.contract = contract
        self.now = NOW
        self.dice = 0.0
        self.held = held
        self.epoch = ONLY
        self.effects: list[Effect] = []
        self.story: list[str] = []
        self._says: defaultdict[type, deque[Reply]] = defaultdict(deque)

    @property
    def setting(self) -> Setting:
        return Setting(
            contract=self.contract, sender=ME, clock=lambda: self.now, dice=lambda: self.dice,
            lease_s=LEASE_S, epoch=lambda: self.epoch,
        )  # fmt: skip

    def turn(self, sends: int = 2, seconds: float = 30.0) -> Turn:
        return Turn(sends, self.now + seconds)

    def on(self, kind: type, *replies: Reply) -> Stage:
        self._says[kind].extend(replies)
        return self

    def play(self, flow: Flow[Any]) -> Any:
        """Drive the flow to its end; returns what it returns."""
        try:
            effect = next(flow)
            while True:
                reply = self._answer(effect)
                effect = flow.throw(reply) if isinstance(reply, Exception) else flow.send(reply)
        except StopIteration as stop:
            unsaid = {kind.__name__: len(said) for kind, said in self._says.items() if said}
            assert not unsaid, f"the play ended before {unsaid} were asked for: {self.story}"
            return stop.value

    def all(self, kind: type) -> list[Any]:
        """The effects of a kind, in order."""
        return [effect for effect in self.effects if isinstance(effect, kind)]

    @property
    def attempts(self) -> list[int]:
        return [effect.record.attempt for effect in self.all(Invoke)]

    # - what happens meanwhile ---------------------------------------------------------------------

    def somebody(self, **changes: Any) -> ActionRecord:
        """Somebody else moves the action, with an event."""
        assert self.held is not None
        self.held = self.held._replace(n=self.held.n + 1, **changes)
        return self.held

    def taken_over(self, owner: str = "there", **changes: Any) -> ActionRecord:
        """Somebody else takes the lease."""
        assert self.held is not None
        taken = fold.take(self.held, owner=owner, until=self.now + 20)
        self.held = taken._replace(**changes)
        return self.held

    # - replies ------------------------------------------------------------------------------------

    def _answer(self, effect: Effect) -> Reply:
        self.effects.append(effect)
        self.story.append(_in_words(effect))
        said = self._says[type(effect)]
        reply = said.popleft() if said else _by_itself
        if isinstance(reply, Lands):
            reply = reply(self)
        if reply is _by_itself:
            reply = self._plainly(effect)
        if isinstance(reply, Lost):
            self.story[-1] += " (lost)"
        if isinstance(reply, Exception):
            self.story[-1] += f" ({type(reply).__name__})"
        return reply

    def _plainly(self, effect: Effect) -> Reply:
        match effect:
            case Reserve(record=record, drafts=drafts):
                self.held = _written(None, record, drafts)
                return Reserved(record=self.held, via="new")
            case Advance():
                return self._advance(effect)
            case Take(owner=owner, lease_until=until, gone=gone, now=now):
                return self._take(owner, until, gone, now)
            case Pause(seconds):
                self.now += seconds
                return True
            case Await(record, seconds):
                assert self.held is not None
                if (self.held.n, self.held.fence) == (record.n, record.fence):
                    self.now += seconds
                return self.held
            case Inquire():
                return frozenset()
            case Permit():
                return "yes"
            case Relate():
                return True
            case Tell():
                return None
            case _:
                raise AssertionError(f"nobody said how this goes: {self.story}")

    def _advance(self, effect: Advance) -> Advanced | Lost:
        assert self.held is not None
        if (effect.before.n, effect.before.fence) != (self.held.n, self.held.fence):
            return Lost(record=self.held)
        self.held = _written(effect.before, effect.after, effect.drafts)
        return Advanced(record=self.held)

    def _take(self, owner: str, until: float, gone: frozenset[str], now: float) -> Taken:
        held = self.held
        assert held is not None
        holds = held.lease_owner is not None and (held.lease_until or 0.0) > now
        if held.terminal or (holds and held.lease_owner not in gone):
            return Taken(records=())
        self.held = fold.take(held, owner=owner, until=until)
        return Taken(records=(self.held,), previous=(held,))


class Lands:
    """Something happens at the moment of an effect; then the effect is answered."""

    def __init__(self, happens: Callable[[Stage], object], reply: Reply = None) -> None:
        self._happens = happens
        self._reply = reply

    def __call__(self, stage: Stage) -> Reply:
        self._happens(stage)
        return _by_itself if self._reply is None else self._reply


_by_itself: Any = object()


def passes(seconds: float, reply: Reply = None) -> Lands:
    """The effect takes so long."""

    def later(stage: Stage) -> None:
        stage.now += seconds

    return Lands(later, reply)


def meanwhile(happens: Callable[[Stage], object], reply: Reply = None) -> Lands:
    """Something happens just before the effect is answered."""
    return Lands(happens, reply)


AS_USUAL = meanwhile(lambda stage: None)


def _written(
    before: ActionRecord | None, after: ActionRecord, drafts: tuple[Draft, ...]
) -> ActionRecord:
    """What the ledger holds then; what no ledger would take ends the play."""
    start = None if before is None else before.state
    final = before is not None and bool(before.final)
    wrong = invariants.projection(start, after, drafts, final=final)
    wrong += invariants.single_winner(before, after) if before is not None else []
    wrong += invariants.key_stability(before, after)
    assert not wrong, wrong
    n = len(drafts) if before is None else before.n + len(drafts)
    return after._replace(n=n, head=f"{after.id}/{n}".encode())


def _in_words(effect: Effect) -> str:
    match effect:
        case Reserve(drafts=drafts):
            return f"reserve: {_events(drafts)}"
        case Advance(drafts=drafts):
            return f"write: {_events(drafts)}"
        case Take():
            return "take"
        case Invoke(_, deadline_s):
            return f"invoke, {deadline_s:g} s"
        case Ask(_, deadline_s):
            return f"ask, {deadline_s:g} s"
        case Pause(seconds):
            return f"pause, {seconds:g} s"
        case Await(_, seconds):
            return f"await, {seconds:g} s"
        case Inquire(senders):
            return f"inquire: {', '.join(senders)}"
        case Permit():
            return "permit"
        case Relate(_, related_ref):
            return f"relate: {related_ref}"
        case Survey():
            return "survey"
        case Undo():
            return "undo"
        case Picture():
            return "picture"
        case Tell(_, event, _):
            return f"tell: {event}"


def _events(drafts: tuple[Draft, ...]) -> str:
    """Each event with its reason where it is evidence only; no event is a lease or a time."""
    words = [d.reason if d.event == "note" else str(d.event) for d in drafts]
    return ", ".join(words) or "lease and times"


def wanted(record: ActionRecord | None = None, **said: Any) -> Wanted:
    """A call about to be reserved."""
    first = prepared() if record is None else record

    def rebuild(earlier: ActionRecord) -> ActionRecord:
        return first._replace(replaces=earlier.id, key=f"K after {earlier.key}")

    return Wanted(record=first, arguments="{}", contract_json="{}", rebuild=rebuild, **said)
