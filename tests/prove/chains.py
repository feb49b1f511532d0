"""L0 for chains: three ordered steps and their undos, under every order of what may happen.

The rules are the production's: the gate, `turns`, `course`, `decide`, the flow of a worker, and the
rooms that write beside an action. Restated here are only the queries that those rooms ask, the
provider, and time: any hand may rest for as long as it likes, and any lease may end meanwhile.

What an undo does at its own provider is one of four things: confirmed, refused, without an answer
(and then either, later), or not begun because its permission cannot be checked.
"""

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ascertain.errors import UnknownTool
from ascertain.flow import pursue as flow_pursue
from ascertain.flow import recover as flow_recover
from ascertain.flow.effects import Ask, Inquire, Invoke, Permit, Picture, Setting, Survey, Undo
from ascertain.model.chain import Around, ChainRecord, Direction, Member, Steers, Weight
from ascertain.model.contract import Budget, Contract, LookupPromise, Repeat
from ascertain.model.operations import Advance, Advanced, Lost
from ascertain.model.outcome import Effect as Known
from ascertain.model.outcome import Kind, Outcome, Report
from ascertain.model.tables import By, Event, State
from ascertain.model.words import Absent, Found
from ascertain.rules import chain as rules
from ascertain.rules import fold
from ascertain.store.chains import ROOMS
from ascertain.testing import invariants
from tests.prove.production import PREPARED

NOW, STEPS = 1000.0, ("a", "b", "c")
ASKING = Contract(
    tool="t", noun="t", undo="undo", repeat=Repeat.BY_KEY,
    lookup=LookupPromise(fences="key"), budget=Budget(sends=9, unanswered=9),
)  # fmt: skip
BLIND = replace(ASKING, lookup=None, repeat=Repeat.NEVER)
OUTCOMES = {
    "confirmed": Outcome(effect=Known.CONFIRMED, reason="ok", provider_ref="R"),
    "refused": Outcome(effect=Known.REFUSED, reason="no", kind=Kind.BUSINESS),
    "throttled": Outcome(effect=Known.REFUSED, reason="later", kind=Kind.THROTTLED, retryable=True),
    "lost": Outcome(effect=Known.UNKNOWN, reason="timeout"),
}


class Hand(NamedTuple):
    """A worker with one action in hand, and what it was answered; stale once it was taken over."""

    step: str
    basis: int
    replies: tuple = ()
    stale: bool = False


class World(NamedTuple):
    """One state of everything. `undone`: how often each step was really reversed."""

    way: str
    stopped: bool
    records: tuple  # of each step, None: never called
    undos: tuple  # the undo of each step, None: none
    undone: tuple
    gated: frozenset
    hands: tuple
    faults: int
    orders: int
    kept: tuple = (0, 0, 0)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """`contracts`: of the steps. `undo`: what may become of an undo. `orders`: turn, stop, keep."""

    name: str
    contracts: tuple = (ASKING, ASKING, ASKING)
    undo: tuple = ("confirmed", "lost", "not begun")
    outcomes: tuple = ("confirmed", "refused", "lost")
    faults: int = 1
    orders: tuple = ()
    known: bool = True
    late: bool = False


@dataclass
class Seen:
    """What a search has seen."""

    states: int = 0
    edges: int = 0
    reasons: Counter = field(default_factory=Counter)
    rows: Counter = field(default_factory=Counter)
    ends: Counter = field(default_factory=Counter)
    wrong: list = field(default_factory=list)
    by_hand: int = 0


class Search:
    """Breadth first over one variant; stops at the first violation."""

    def __init__(self, variant, limit=2_000_000):
        self.variant, self.limit = variant, limit
        self.things, self.numbers, self.memo = [], {}, {}
        self.found = Seen()

    # ---------------------------------------------------------------------------------- records

    def number(self, record):
        """The number of a record, without what grows for ever."""
        plain = record.changed(n=0, fence=0, attempt=min(record.attempt, 2), sends=0, asked=0,
                               doubt=min(record.doubt, 1), reason=record.reason[:24])  # fmt: skip
        if plain not in self.numbers:
            self.numbers[plain] = len(self.things)
            self.things.append(plain)
        return self.numbers[plain]

    def record(self, number):
        return None if number is None else self.things[number]

    def contract(self, step):
        return self.variant.contracts[STEPS.index(step)]

    def member(self, step, kept=0):
        at = STEPS.index(step)
        return Member("c", step, step, at + 1, Weight.ESSENTIAL, STEPS[:at], "", kept)

    def chain(self, world):
        return ChainRecord(
            "c", "t", "u", "s", "n", "", "", "", "", NOW, Direction(world.way),
            turned_at=NOW if world.way == "backward" else None,
            stopped_at=NOW if world.stopped else None,
        )  # fmt: skip

    def around(self, world):
        members = [
            (self.member(step, world.kept[at]), self.record(world.records[at]))
            for at, step in enumerate(STEPS)
            if world.records[at] is not None
        ]
        members += [
            (Member("c", f"undo:{step}", f"undo:{step}", 9, Weight.ESSENTIAL, (), step),
             self.record(world.undos[at]))
            for at, step in enumerate(STEPS)
            if world.undos[at] is not None
        ]  # fmt: skip
        return Around(self.chain(world), tuple(members))

    def start(self):
        return World("forward", False, (None,) * 3, (None,) * 3, (0,) * 3, frozenset(), (),
                     self.variant.faults, len(self.variant.orders))  # fmt: skip

    # ------------------------------------------------------------------------------- the ledger

    def written(self, world, action_id, after, sends=False):
        """The world after an event of an action: the rooms of the production, on this state."""
        box = [self.put(world, action_id, after)]

        def run(name, *values):
            now = box[0]
            match name:
                case "chain_by_id":
                    return [tuple(self.chain(now))]
                case "member_of":
                    found = self.around(now).member(values[1])
                    if found is None:
                        return []
                    rest = (found.weight.value, "[]", found.undoes, found.kept)
                    return [(*found[:4], *rest)]
                case "turn_chain":
                    box[0] = now._replace(way="backward")
                case "wake_all" | "wake_confirmed":
                    for at, step in enumerate(STEPS):
                        one = self.record(now.records[at])
                        if one is None or one.lease_owner is not None or one.final:
                            continue
                        asleep = one.due_at is None or one.due_at > NOW
                        waits = one.state is State.CONFIRMED and one.review is None
                        wanted = waits if name == "wake_confirmed" else not one.final
                        if asleep and wanted and one.state is not State.COMPENSATED:
                            box[0] = self.put(box[0], step, one.changed(due_at=NOW))
                case "wake_one":
                    one = self.record(now.records[STEPS.index(values[0])])
                    if one.lease_owner is None and one.state in (State.CONFIRMED, State.UNKNOWN):
                        box[0] = self.put(now, values[0], one.changed(due_at=NOW))
                case _:
                    raise AssertionError(name)
            return []

        steers = Steers(chain="c", sends=sends)
        ROOMS[Steers].write(run, after.changed(id=action_id), steers)
        return box[0]

    def put(self, world, action_id, record):
        what = "undos" if action_id.startswith("undo:") else "records"
        at = STEPS.index(action_id.removeprefix("undo:"))
        numbers = list(getattr(world, what))
        numbers[at] = self.number(record)
        return world._replace(**{what: tuple(numbers)})

    # --------------------------------------------------------------------------------- a worker

    def flow(self, hand):
        """The next effect of the worker's flow, after all that it was answered."""
        key = (hand.step, hand.basis, hand.replies)
        if key not in self.memo:
            setting = Setting(
                contract=self.contract(hand.step), sender="w", clock=lambda: NOW,
                dice=lambda: 0.0, lease_s=9.0,
            )  # fmt: skip
            reasons = []
            heard = flow_pursue.decide

            def listening(view):
                decision = heard(view)
                reasons.append(decision.reason)
                return decision

            flow_pursue.decide = listening
            try:
                self.memo[key] = (*self._effect(setting, hand), tuple(reasons))
            finally:
                flow_pursue.decide = heard
        return self.memo[key]

    def _effect(self, setting, hand):
        flow, reply = flow_recover.recover(setting, self.record(hand.basis), None), None
        for answer in (None, *hand.replies):
            reply = answer
            try:
                if answer == ("raise",):
                    effect = flow.throw(UnknownTool("not here"))
                else:
                    effect = flow.send(self._reply(reply))
                while isinstance(effect, (Inquire, Permit, Picture)):
                    effect = flow.send(
                        frozenset() if isinstance(effect, Inquire)
                        else "yes" if isinstance(effect, Permit) else None
                    )  # fmt: skip
            except StopIteration:
                return (None,)
        return (effect,)

    def _reply(self, answer):
        match answer:
            case ("written", number):
                return Advanced(record=self.record(number))
            case ("blocked", number):
                return Lost(record=self.record(number), blocked=rules.TURNED)
            case ("undo", number):
                return self.record(number)
            case ("said", word):
                return Report(value={"found": Found("R"), "absent": Absent}[word])
            case _:
                return answer

    # -------------------------------------------------------------------------------- successors

    def successors(self, world):
        yield from self._calls(world)
        yield from self._landings(world)
        yield from self._undos(world)
        for at, hand in enumerate(world.hands):
            rest = world.hands[:at] + world.hands[at + 1 :]
            yield from self._works(world, hand, rest)
            if world.faults:
                yield f"{hand.step}: the worker dies", self._freed(
                    world._replace(hands=rest, faults=world.faults - 1), hand
                )  # fmt: skip
        yield from self._takes(world)
        yield from self._orders(world)

    def _calls(self, world):
        """The caller: the gate, and later the write that looks at the direction again."""
        for at, step in enumerate(STEPS):
            if world.records[at] is not None:
                continue
            needs = {name: self.record(world.records[STEPS.index(name)]) for name in STEPS[:at]}
            if step not in world.gated and not rules.gate(needs):
                yield f"{step}: through the gate", world._replace(gated=world.gated | {step})
            if step in world.gated:
                born = PREPARED.changed(id=step, chain="c", state=State.PREPARED)
                if rules.blocks(self.chain(world), self.member(step)):
                    made = fold.withdraw(born, by=By.CALL, reason=rules.TURNED, now=NOW).after
                else:
                    made = fold.send(born, self.contract(step), sender="p", lease_until=NOW + 9,
                                     now=NOW, by=By.CALL).after  # fmt: skip
                    self._forward(world, step)
                    for name, one in needs.items():
                        if one is None or one.state not in (State.CONFIRMED, State.COMPENSATED):
                            self.found.wrong.append(f"{step} starts before {name} is confirmed")
                yield f"{step}: called", self.written(world, step, made)

    def _landings(self, world):
        """An attempt under way ends, one way or another; a lost one may have happened."""
        for at, step in enumerate(STEPS):
            record = self.record(world.records[at])
            if record is None or record.state is not State.SENT or record.lease_owner != "p":
                continue
            for name in self.variant.outcomes:
                move = fold.settle(record, self.contract(step), OUTCOMES[name], now=NOW, wait_s=0)
                self._rows(move.drafts)
                new = world._replace(hands=self._stale(world.hands, step))
                yield f"{step}: {name}", self.written(new, step, move.after)

    @staticmethod
    def _stale(hands, step):
        """Somebody else moved the action: whoever has it in hand writes nothing more."""
        changed = [hand._replace(stale=True) if hand.step == step else hand for hand in hands]
        return tuple(sorted(changed, key=repr))

    def _undos(self, world):
        """An undo without an answer is found, or found refused, by its own recovery."""
        for at, step in enumerate(STEPS):
            undo = self.record(world.undos[at])
            if undo is not None and undo.state is State.UNKNOWN and undo.review is None:
                for name in ("confirmed", "refused", "given up"):
                    yield f"{step}: its undo is {name}", self._undo_ends(world, step, undo, name)

    def _undo_ends(self, world, step, undo, name):
        at = STEPS.index(step)
        if name == "confirmed":
            undone = list(world.undone)
            undone[at] += 1
            world = world._replace(undone=tuple(undone))
            after = undo.changed(state=State.CONFIRMED, provider_ref="U", due_at=None)
        elif name == "refused":
            after = undo.changed(state=State.REJECTED, final=1, kind=Kind.BUSINESS, due_at=None)
        else:
            after = undo.changed(review="cannot_ask", due_at=None)
        return self.written(world, f"undo:{step}", after)

    def _takes(self, world):
        """A due action is leased; a lease that ends while its holder rests is a fault."""
        for at, step in enumerate(STEPS):
            record = self.record(world.records[at])
            if record is None or record.due_at is None:
                continue
            busy = [hand for hand in world.hands if hand.step == step and not hand.stale]
            held = record.lease_owner is not None
            cost = int(held)
            if len(world.hands) >= 2 or world.faults < cost or (held and not busy and not cost):
                continue
            taken = fold.take(record, owner="w", until=NOW + 9)
            hands = self._stale(world.hands, step)
            new = self.put(world, step, taken)
            hand = Hand(step, self.number(taken))
            yield f"{step}: taken", new._replace(
                hands=tuple(sorted((*hands, hand), key=repr)), faults=world.faults - cost
            )  # fmt: skip

    def _freed(self, world, hand):
        """Its lease ends: somebody may take it."""
        at = STEPS.index(hand.step)
        record = self.record(world.records[at])
        if hand.stale or record.lease_owner != "w":
            return world
        return self.put(world, hand.step, record.changed(lease_owner=None, lease_until=None,
                                                         due_at=NOW))  # fmt: skip

    def _works(self, world, hand, rest):
        """One thing that a worker does: look, ask, undo, write."""
        effect, *_, reasons = self.flow(hand)
        for reason in reasons:
            self.found.reasons[reason] += 1

        def answered(new, *replies):
            grown = hand._replace(replies=(*hand.replies, *replies))
            return new._replace(hands=tuple(sorted((*rest, grown), key=repr)))

        match effect:
            case None:
                yield f"{hand.step}: done", self._let_go(world._replace(hands=rest), hand)
            case Survey():
                yield f"{hand.step}: looks", answered(world, self.around(world))
            case Ask():
                for word in ("found", "absent"):
                    yield f"{hand.step}: {word}", answered(world, ("said", word))
            case Undo():
                yield from self._undoing(world, hand, answered)
            case Advance():
                yield from self._writes(world, hand, rest, effect, answered)
            case Invoke():
                if hand.stale:  # somebody took it over: its answer would come late
                    yield f"{hand.step}: overtaken", world._replace(hands=rest)
                    return
                # sent again: what comes of it lands as the caller's attempt does
                at = STEPS.index(hand.step)
                mine = self.record(world.records[at]).changed(lease_owner="p")
                left = world._replace(hands=rest)
                yield f"{hand.step}: sent again", self.put(left, hand.step, mine)
            case _:
                raise AssertionError(effect)

    def _undoing(self, world, hand, answered):
        step, at = hand.step, STEPS.index(hand.step)
        if not self.variant.known:
            yield f"{step}: nobody knows how to undo it", answered(world, ("raise",))
            return
        undo = self.record(world.undos[at])
        if undo is not None:  # one intent, one action: whoever comes again finds it
            yield f"{step}: its undo is found", answered(world, ("undo", world.undos[at]))
            return
        born = PREPARED.changed(id=f"undo:{step}", chain="c")
        why = rules.blocks(self.chain(world), Member("c", "u", "u", 9, Weight.ESSENTIAL, (), step))
        original = self.record(world.records[at])
        why = why or rules.unwanted(original, self.member(step, world.kept[at]))
        if why:
            made = fold.withdraw(born, by=By.CALL, reason=why, now=NOW).after
            new = self.written(world, f"undo:{step}", made)
            yield f"{step}: its undo is not made", answered(new, ("undo", new.undos[at]))
            return
        self._in_reverse(world, step)
        for name in self.variant.undo:
            if name == "not begun":
                yield f"{step}: its undo is not begun", answered(world, None)
                continue
            born = born.changed(state=State.UNKNOWN, attempt=1, due_at=NOW)
            new = self.put(world, f"undo:{step}", born)
            if name != "lost":
                new = self._undo_ends(new, step, born, name)
            yield f"{step}: its undo is {name}", answered(new, ("undo", new.undos[at]))

    def _writes(self, world, hand, rest, effect, answered):
        step, at = hand.step, STEPS.index(hand.step)
        if hand.stale:
            yield f"{step}: overtaken", world._replace(hands=rest)
            return
        sends = any(draft.event is Event.SEND for draft in effect.drafts)
        if sends and rules.blocks(self.chain(world), self.member(step)):
            yield f"{step}: not sent any more", answered(world, ("blocked", world.records[at]))
            return
        if sends:
            self._forward(world, step)
        self._judge(world, self.record(world.records[at]), effect, step)
        self._rows(effect.drafts)
        new = self.put(world, step, effect.after)
        if effect.drafts:
            new = self.written(world, step, effect.after, sends)
        yield f"{step}: writes", answered(new, ("written", self.number(effect.after)))

    def _let_go(self, world, hand):
        return world

    def _orders(self, world):
        """A person turns the chain, stops it, decides that a step stays, or reverses it by hand."""
        if not world.orders:
            return
        spent = world._replace(orders=world.orders - 1)
        if (
            "turn" in self.variant.orders
            and world.way == "forward"
            and any(number is not None for number in world.records)
        ):
            box = self._woken(spent._replace(way="backward"))
            yield "the person turns it back", box
        if "stop" in self.variant.orders and not world.stopped:
            yield "the person stops it", self._woken(spent._replace(stopped=True))
        for at, step in enumerate(STEPS):
            record = self.record(world.records[at])
            case = record is not None and record.review is not None
            if "keep" in self.variant.orders and case and record.state is State.CONFIRMED:
                kept = tuple(1 if n == at else one for n, one in enumerate(world.kept))
                after = rules.keep(record, evidence="e", now=NOW).after
                hands = self._stale(world.hands, step)
                new = self.written(spent._replace(kept=kept, hands=hands), step, after)
                yield f"{step}: the person keeps it", new
            if "by hand" in self.variant.orders and record is not None:
                yield from self._reversed_by_hand(spent, step, record)

    def _reversed_by_hand(self, world, step, record):
        """A person undoes it; who holds it still, and rests, has lost its lease by then."""
        cost, at = int(record.lease_owner is not None), STEPS.index(step)
        if rules.not_by_hand(record, self.around(world)) or world.faults < cost:
            return
        move = rules.by_hand(record, evidence="e", now=NOW)
        self._settled(record, move.after, move.drafts)
        undone = tuple(one + int(n == at) for n, one in enumerate(world.undone))
        hands = self._stale(world.hands, step)
        self.found.by_hand += 1
        new = world._replace(undone=undone, hands=hands, faults=world.faults - cost)
        yield f"{step}: the person reverses it", self.written(new, step, move.after)

    def _woken(self, world):
        for at, step in enumerate(STEPS):
            one = self.record(world.records[at])
            if (
                one is not None
                and not one.final
                and one.lease_owner is None
                and (one.state is not State.COMPENSATED)
            ):
                world = self.put(world, step, one.changed(due_at=NOW))
        return world

    # --------------------------------------------------------------------------------- judgement

    def _rows(self, drafts):
        for draft in drafts:
            self.found.rows[draft.start, draft.event] += 1

    def _forward(self, world, step):
        if world.way == "backward" or world.stopped:
            self.found.wrong.append(f"{step} is sent forward in a chain that is {world.way}")

    def _in_reverse(self, world, step):
        """What is undone has nothing after it that happened, or may have."""
        if world.stopped and self.record(world.undos[STEPS.index(step)]) is None:
            self.found.wrong.append(f"{step} is undone in a chain that was stopped")
        contract = self.contract(step)
        record = self.record(world.records[STEPS.index(step)])
        if world.kept[STEPS.index(step)]:
            self.found.wrong.append(f"{step} is undone, and a person said that it stays")
        if contract.undo is None:
            self.found.wrong.append(f"{step} is undone, and nothing reverses it")
        if self.variant.late:
            self.found.wrong.append(f"{step} is undone after its time")
        if record.state is State.UNKNOWN and contract.undo_by != "key":
            self.found.wrong.append(f"{step} is undone, and nobody knows that it happened")
        for at in range(STEPS.index(step) + 1, 3):
            after = self.record(world.records[at])
            if after is None or world.kept[at]:
                continue
            if after.state is not State.COMPENSATED and not after.final:
                self.found.wrong.append(f"{step} is undone while {STEPS[at]} is {after.state}")

    def _judge(self, world, before, effect, step):
        after = effect.after
        self._settled(before, after, effect.drafts)
        undo = self.record(world.undos[STEPS.index(step)])
        if after.state is State.COMPENSATED and (undo is None or undo.state is not State.CONFIRMED):
            self.found.wrong.append(f"{step} is compensated, and its undo is not confirmed")

    def _settled(self, before, after, drafts):
        for violation in (
            *invariants.single_winner(before, after),
            *invariants.projection(before.state, after, drafts, final=bool(before.final)),
        ):
            self.found.wrong.append(str(violation))

    def _state(self, world):
        """What must hold of every state."""
        for at, step in enumerate(STEPS):
            record = self.record(world.records[at])
            if world.undone[at] > 1:
                yield f"{step} was undone {world.undone[at]} times"
            if record is None:
                continue
            refused = record.state is State.REJECTED and record.final
            if refused and record.kind in (Kind.BUSINESS, Kind.ABSENT) and world.way != "backward":
                yield f"{step} was refused, and the chain goes on"

    def _rest(self, world):
        """What must hold when nothing more happens: each is settled, or somebody is told."""
        told = any(
            record is not None and record.review is not None
            for record in map(self.record, world.records)
        )
        for at, step in enumerate(STEPS):
            record = self.record(world.records[at])
            if record is None or world.kept[at] or told or world.stopped:
                continue
            if record.open and record.state is not State.COMPENSATED:
                yield f"{step} stays {record.state}, and nobody comes back to it"
            if world.way == "backward" and record.state is State.CONFIRMED:
                yield f"{step} stays confirmed in a chain that goes back, and nobody is told"

    def run(self):
        """Search; `found.wrong` is empty where everything holds."""
        found = self.found
        first = self.start()
        seen, queue = {first: None}, deque([first])
        while queue and not found.wrong and found.states < self.limit:
            world = queue.popleft()
            found.states += 1
            found.wrong += self._state(world)
            moved = False
            for label, after in self.successors(world):
                moved = moved or ("dies" not in label and "person" not in label)
                found.edges += 1
                if after not in seen:
                    seen[after] = (world, label)
                    queue.append(after)
                if found.wrong:
                    found.wrong.append(self.story(seen, world, label))
                    return found
            if not moved:
                found.wrong += self._rest(world)
                found.ends[self._end(world)] += 1
            if found.wrong:
                found.wrong.append(self.story(seen, world, ""))
        return found

    def _end(self, world):
        states = [record and str(record.state) for record in map(self.record, world.records)]
        return f"{world.way}{' stopped' if world.stopped else ''}: {' '.join(map(str, states))}"

    @staticmethod
    def story(seen, world, label):
        lines = [label] if label else []
        while seen.get(world) is not None:
            world, before = seen[world]
            lines.append(before)
        return "  <-  ".join(lines)


ONE = ("confirmed",)
VARIANTS = [
    Variant(name="three steps, workers that die", outcomes=("confirmed", "refused"), undo=ONE),
    Variant(name="undos without an answer", outcomes=("confirmed", "refused"), faults=0,
            undo=("confirmed", "lost", "not begun")),
    Variant(name="answers that are lost", undo=ONE, faults=0),
    Variant(name="refused for a while", outcomes=("confirmed", "throttled", "refused"), undo=ONE),
    Variant(name="undos that are refused", undo=("confirmed", "refused"), orders=("keep",),
            outcomes=("confirmed", "refused"), faults=0),
    Variant(
        name="the middle one is irreversible", orders=("keep",), faults=0,
        contracts=(ASKING, replace(ASKING, undo=None), ASKING), undo=ONE,
    ),
    Variant(
        name="a person reverses it by hand", orders=("by hand",), outcomes=("confirmed", "refused"),
        undo=("confirmed", "refused", "lost"),
    ),
    Variant(
        name="a person reverses what is irreversible", orders=("by hand", "keep"), faults=0,
        contracts=(ASKING, replace(ASKING, undo=None), ASKING), undo=ONE,
    ),
    Variant(name="too late", undo=ONE, outcomes=("confirmed", "refused"),
            contracts=(replace(ASKING, undo_within_s=0.0),) * 3, late=True),
    Variant(name="nobody knows how", known=False, outcomes=("confirmed", "refused")),
    Variant(name="reversed by key, and nobody can ask", undo=ONE, faults=0, orders=("turn",),
            contracts=(replace(BLIND, undo_by="key"),) * 3),
    Variant(name="nobody can ask", contracts=(BLIND,) * 3, undo=ONE, orders=("turn",), faults=0),
    Variant(name="a person stops it", orders=("stop",), undo=ONE, faults=0,
            outcomes=("confirmed", "refused", "throttled")),
    Variant(name="a person turns it", orders=("turn",), undo=ONE, faults=0,
            outcomes=("confirmed", "throttled")),
]  # fmt: skip
