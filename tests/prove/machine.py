"""Everything that may happen next: workers, the network, the provider, a person, time.

A hand is what a process is in the middle of. It stands on the action as it was when it last read or
wrote it (its *basis*); the ledger takes its write only if nobody has moved the action since. That is
how a paused process is here: a hand may rest for as long as it likes, before the wire or after it,
and then go on as if nothing had been.

What the model assumes, and the rules may therefore rely on:

* the provider keeps its contract (`provider`), except in variants that say otherwise;
* a flow decides and writes at one instant of the ledger's clock; it may rest before and after;
* a look-up that has begun is answered within `production.ASKING`, or its answer is never used;
* a process that is gone never comes back; at least one process lives;
* where keys expire, nothing stays longer between its commit and its arrival than the margin says.
"""

from typing import NamedTuple

from ascertain.model.tables import State
from tests.prove.production import ASKING, LEASE, NOW
from tests.prove.provider import ABANDONED, COPY, HISTORY, NOTHING, ONE

TAKEN, GOING, ATTEMPT, ASKED = range(4)
READY, WAITING = range(2)
# Of a basis; `SINCE`: it came about in what a standby that was cut off lacks.
CURRENT, STALE, SINCE = 0, -1, -2

# What comes first where nothing goes wrong any more.
HEARD, ARRIVED, SENT, FINISHED, WENT_ON, ANSWERED, GAVE_UP, TOOK, WAITED = range(9)


class State_(NamedTuple):
    """One state of everything.

    `record`: number of the action's canonical record (see `production`). `hands`, sorted. `net`:
    requests on their way. `memory`: the provider's. `alive`: for each process whether it lives.
    `refused`: a refusal for good was heard while nothing was under way. `standby`, `epoch`: see
    `failover`. The others say how much may still happen.
    """

    record: int
    hands: tuple
    net: tuple
    memory: tuple
    alive: tuple
    faults: int
    verdicts: int
    joins: int
    refused: int = 0
    standby: tuple = ()
    epoch: tuple = ()


class Hand(NamedTuple):
    """What a process is in the middle of; whole numbers only, so that hands can be sorted.

    `word`: the reply that has come (0: none). `turn`, `basis`: codes. `age`: of a look-up, or since
    the commit of an attempt where that matters. `inner`: the client has sent by itself again.
    `ghost`: it was given up while it ran. `same_fence`: no lease was given since (below 0: so many
    must be given in this history until it looks like that). `old`, `cut`: see `failover`.
    """

    kind: int
    process: int
    attempt: int = 0
    stage: int = READY
    word: int = 0
    turn: int = 0
    basis: int = CURRENT
    key: int = 0
    age: int = 0
    inner: int = 0
    ghost: int = 0
    same_fence: int = 1
    old: int = 0
    cut: int = SINCE


class Next(NamedTuple):
    """A successor. `rank`: None where something goes wrong, else lower comes first.

    `write`: `(before, after, drafts)` or None. `frozen`: it needs a sender to wake that had lost its
    lease. `reason`: of the decision that was taken, or None. `heard`: the outcome that a sender
    writes, or "". `fenced`: it was written by a hand whose lease somebody had taken over.
    `withheld`: it was told that it must not send.
    """

    label: tuple
    rank: int | None
    state: State_
    write: tuple | None = None
    frozen: bool = False
    reason: object = None
    heard: str = ""
    fenced: bool = False
    withheld: bool = False


def overtaken(same):
    """How a fence stands after one more lease was given: like `Hand.same_fence`."""
    return 0 if same >= 0 else same + 1 or 1


class Codes:
    """Whole numbers for things."""

    def __init__(self, first):
        self.things = [first]
        self._codes = {first: 0}

    def code(self, thing):
        found = self._codes.get(thing)
        if found is None:
            found = self._codes[thing] = len(self.things)
            self.things.append(thing)
        return found


class Machine:
    """The successors of a state under one variant."""

    def __init__(self, variant, production):
        self.variant = variant
        self.production = production
        self.ledger = variant.ledger
        self.provider = variant.provider
        self.processes = variant.processes
        self.words = Codes("")
        self.turns = Codes(None)
        self.bases = Codes(None)
        self.keys = Codes(variant.prepared.key)
        self.order = tuple(range(self.processes))
        self._plain = self.order
        self._forms = {}
        self._marks = {}

    def start(self):
        """The state after the caller's first commit."""
        step = self.production.born(self.variant.prepared, self.variant.turn)
        hand = Hand(ATTEMPT, 0, attempt=1, turn=self.turns.code(step.turn))
        state = State_(
            step.after, (), (), NOTHING, (1,) * self.processes, self.variant.faults,
            self.variant.verdicts, self.variant.joins,
        )  # fmt: skip
        return self._form(state, hands=[hand])

    # ------------------------------------------------------------------------------- canonical form

    def _form(self, state, **changes):
        """The state with changes, in the one form of all that differ in the processes' names only."""
        state = state._replace(**changes) if changes else state
        hands = tuple(sorted(state.hands))
        key = (state.record, hands, state.alive)
        found = self._forms.get(key)
        if found is None:
            found = self._forms[key] = self._renamed(*key)
        record, hands, alive, self.order = found
        return State_(record, hands, tuple(sorted(state.net)), state.memory, alive, *state[5:])

    def _renamed(self, record, hands, alive):
        marks = self._marks_of(record)
        held = [[] for _ in self._plain]
        for hand in hands:
            held[hand.process].append((hand.kind, *hand[2:]))
        order = tuple(
            sorted(
                self._plain,
                key=lambda at: (1 - alive[at], -len(held[at]), held[at], marks[at]),
            )
        )
        if order == self._plain:
            return record, hands, alive, order
        place = [order.index(at) for at in self._plain]
        moved = [
            hand._replace(
                process=place[hand.process], basis=self._basis_renamed(hand.basis, order),
                cut=self._basis_renamed(hand.cut, order),
            )
            for hand in hands
        ]  # fmt: skip
        record = self.production.renamed(record, order)
        return record, tuple(sorted(moved)), tuple(alive[old] for old in order), order

    def _marks_of(self, record):
        """What the record says of each process: owner or not, and which attempts are suspected."""
        found = self._marks.get(record)
        if found is None:
            stored = self.production.records[record]
            suspects = stored.suspect.split(",")
            found = self._marks[record] = tuple(
                (stored.lease_owner != name, *(s for s in suspects if s.startswith(f"{name}#")))
                for name in self.production.names
            )
            found = self._marks[record] = tuple(
                (mark[0], *(s.partition("#")[2] for s in mark[1:])) for mark in found
            )
        return found

    def _basis_renamed(self, basis, order):
        if basis <= CURRENT:
            return basis
        n_same, fence_same, snapshot = self.bases.things[basis]
        return self.bases.code((n_same, fence_same, self.production.renamed(snapshot, order)))

    # ------------------------------------------------------------------------------------- the ledger

    def _others(self, hands, before, after, *, n_moved, taken=False):
        """The other hands after a write: most no longer stand on what the ledger holds."""
        left = []
        for hand in hands:
            if hand.basis == STALE:
                still = overtaken(hand.same_fence) if taken else hand.same_fence
                left.append(hand._replace(same_fence=still) if still != hand.same_fence else hand)
                continue
            n_same, fence_same, snapshot = (
                (True, True, before) if hand.basis == CURRENT else self.bases.things[hand.basis]
            )
            n_same = n_same and not n_moved
            fence_same = overtaken(fence_same) if taken else fence_same
            if self.ledger.hopeless(n_same, fence_same):
                if hand.cut < CURRENT and self.leaves(hand):
                    continue  # whatever it writes will be refused
                code = STALE
            else:
                code = self._basis_of(n_same, fence_same, snapshot, after)
            still = overtaken(hand.same_fence) if taken else hand.same_fence
            left.append(hand._replace(basis=code, same_fence=still))
        return left

    def leaves(self, hand):
        """Whether a hand whose write will be refused has nothing else to do."""
        return hand.kind in (TAKEN, GOING) or (hand.kind == ASKED and not self.provider.fence)

    def _basis_of(self, n_same, fence_same, snapshot, record):
        """The code of a basis, as the ledger holds this record."""
        if n_same and fence_same == 1 and snapshot == record:
            return CURRENT
        return self.bases.code((n_same, fence_same, snapshot))

    def _standby(self, state, *, n_moved=False, taken=False):
        """What is known of the standby after a write."""
        return state.standby

    def _basis(self, hand, record):
        """The record that a hand's write stands on, or None where the ledger refuses it."""
        if hand.basis == CURRENT:
            return record
        if hand.basis == STALE:
            return None
        n_same, fence_same, snapshot = self.bases.things[hand.basis]
        records = self.production.records
        taken = self.ledger.takes(n_same, fence_same, records[snapshot], records[record])
        return snapshot if taken else None

    def _stepped(self, state, hand, rest, step, label, rank, *, faults=0, add=()):
        """The successor in which a flow's step is written."""
        if step.after is None:
            after, write, hands = state.record, None, list(rest)
        else:
            after, write = step.after, (state.record, step.after, step.drafts)
            hands = self._others(rest, state.record, after, n_moved=bool(step.drafts))
        if hand is not None:
            hands += self._then(state, hand, step)
        hands += add
        new = self._form(
            state, record=after, hands=hands, faults=state.faults - faults,
            standby=self._standby(state, n_moved=bool(step.drafts)),
        )  # fmt: skip
        fenced = hand is not None and hand.basis > CURRENT and not self.bases.things[hand.basis][1]
        fenced = fenced and self._basis(hand, state.record) is not None
        return Next(label, rank, new, write, reason=step.reason, fenced=fenced)

    def _then(self, state, hand, step):
        """Where the hand stands after its step."""
        turn = self.turns.code(step.turn)
        match step.then:
            case "end":
                return []
            case "taken":
                return [Hand(TAKEN, hand.process, turn=turn)]
            case "go_on":
                return [Hand(GOING, hand.process, turn=turn)]
            case "attempt":
                sent = self.production.records[step.after]
                key = self.keys.code(sent.key)
                number = sent.attempt + (HISTORY if state.epoch else 0)
                return [Hand(ATTEMPT, hand.process, attempt=number, turn=turn, key=key)]
            case "ask":
                return [Hand(ASKED, hand.process, turn=turn)]

    # ------------------------------------------------------------------------------------ successors

    def successors(self, state):
        """Everything that may happen next, as `Next`."""
        last = None
        for at, hand in enumerate(state.hands):
            if hand != last:
                rest = state.hands[:at] + state.hands[at + 1 :]
                yield from self._moves[hand.kind](self, state, hand, rest)
            last = hand
        yield from self._network(state)
        yield from self._processes(state)
        yield from self._person(state)
        yield from self._time(state)

    def may(self, state, fault):
        """Whether this may go wrong now."""
        return state.faults > 0 and fault in self.variant.kinds

    def gone(self, state):
        """Names of processes that are proven gone."""
        if not self.variant.provable:
            return frozenset()
        return frozenset(
            name
            for name, lives in zip(self.production.names, state.alive, strict=True)
            if not lives
        )

    def _going(self, state, hand, rest):
        basis = self._basis(hand, state.record)
        label = ("goes on", hand.process)
        if basis is None:
            yield Next(("leaves", hand.process), WENT_ON, self._form(state, hands=rest))
            return
        start = "taken" if hand.kind == TAKEN else "going"
        turn = self.turns.things[hand.turn]
        epoch = self._known_epoch(state, hand)
        gone = self.gone(state)
        step = self.production.go_on(basis, hand.process, start, turn, gone, epoch=epoch)
        if step.then != "wait":
            yield self._stepped(state, hand, rest, step, label, WENT_ON)
        if step.permit:
            for word in self.variant.permits:
                if self.may(state, "permit"):
                    other = self.production.go_on(
                        basis, hand.process, start, turn, gone, word, epoch
                    )
                    label = ("is not permitted", hand.process, getattr(word, "why", word))
                    made = self._stepped(state, hand, rest, other, label, None, faults=1)
                    yield made._replace(withheld=True)

    def _known_epoch(self, state, hand):
        """The epoch in which it decides: what was decided in another one is not written."""
        return () if hand.old and self.ledger.ignores_epochs else state.epoch

    def _asked(self, state, hand, rest):
        basis = self._basis(hand, state.record)
        if hand.word == 0:
            attempt = self.production.records[state.record].attempt
            for memory, word, fault in self.provider.look_up(state.memory, hand.key, attempt):
                if fault is None or self.may(state, fault):
                    told = hand._replace(word=self.words.code(word))
                    new = self._form(
                        state, hands=[*rest, told], memory=memory,
                        faults=state.faults - (fault is not None),
                    )  # fmt: skip
                    yield Next(
                        ("is answered", hand.process, word),
                        ANSWERED if fault is None else None,
                        new,
                    )
        elif basis is None:
            yield Next(("leaves", hand.process), HEARD, self._form(state, hands=rest))
        else:
            word = self.words.things[hand.word]
            turn = self.turns.things[hand.turn]
            step = self.production.answered(basis, hand.process, NOW - hand.age, word, turn)
            made = self._stepped(state, hand, rest, step, ("records", hand.process, word), HEARD)
            yield self._noted(made, step, word)

    def _attempt(self, state, hand, rest):
        number = hand.attempt
        if hand.stage == READY:
            yield from self._leave(state, hand, rest)
            for word in ("not_sent", "broken"):
                if self.may(state, word):
                    label = ("attempt fails before the wire", number, word)
                    yield self._land(state, hand, rest, word, label, None, faults=1)
        elif hand.word:
            word = self.words.things[hand.word]
            yield self._land(state, hand, rest, word, ("attempt hears", number, word), HEARD)
            if self.may(state, "lost"):
                label = ("attempt does not hear", number, word)
                yield self._land(state, hand, rest, "unknown", label, None, faults=1)
        elif not any(one[0] == number and one[3] == ONE for one in state.net):
            label = ("attempt hears nothing", number)
            yield self._land(state, hand, rest, "unknown", label, GAVE_UP)
        elif self.may(state, "slow"):
            label = ("attempt gives up", number)
            yield self._land(state, hand, rest, "unknown", label, None, faults=1)
        if hand.stage == WAITING and not hand.inner and self.may(state, "retry"):
            yield self._sent_anew(state, hand, rest)
        live = "live" if hand.basis == CURRENT else "live, taken over"
        if not hand.ghost and self.may(state, live):
            ghost = hand._replace(basis=STALE, turn=0, ghost=1)
            label = ("attempt is given up alive", number)
            yield self._land(state, hand, rest, "unknown", label, None, faults=1, ghost=ghost)

    def _leave(self, state, hand, rest):
        """The request leaves: also long after the lease has run out."""
        zombie = self.variant.zombie
        if zombie is not None and hand.age > zombie:
            return
        left = self.provider.transit if zombie is None else zombie - hand.age
        stored = self.production.records[state.record]
        late = hand.basis != CURRENT or (stored.lease_until or NOW) <= NOW
        new = self._form(
            state, hands=[*rest, hand._replace(stage=WAITING, age=0)],
            net=(*state.net, (hand.attempt, hand.key, left, ONE)),
        )  # fmt: skip
        label = ("attempt wakes and is sent" if late else "attempt is sent", hand.attempt)
        yield Next(label, SENT, new, frozen=late)

    def _sent_anew(self, state, hand, rest):
        """The client sends again by itself, and tells only of the last time."""
        net = tuple(
            (*one[:3], ABANDONED) if one[0] == hand.attempt and one[3] == ONE else one
            for one in state.net
        )
        again = (hand.attempt, hand.key, self.provider.transit, ONE)
        new = self._form(
            state, hands=[*rest, hand._replace(inner=1, word=0)], net=(*net, again),
            faults=state.faults - 1,
        )  # fmt: skip
        return Next(("the client sends again by itself", hand.attempt), None, new)

    def _land(self, state, hand, rest, word, label, rank, *, faults=0, ghost=None):
        twice = f"{word}, sent twice"
        step = self.production.land(
            state.record, hand.process, hand.attempt % HISTORY, hand.same_fence == 1,
            self._basis(hand, state.record), twice if hand.inner else word,
            self.turns.things[hand.turn], ghost is not None, hand.old, state.epoch,
        )  # fmt: skip
        add = [ghost] if ghost is not None else []
        made = self._stepped(state, hand, rest, step, label, rank, faults=faults, add=add)
        heard = twice if hand.inner else word
        if hand.old and not word.startswith("ok"):
            heard = ""  # of attempts that the ledger lacks, a no is no news
        return self._noted(made, step, word)._replace(heard=heard)

    def _noted(self, made, step, word):
        """A refusal for good is remembered, to see that nothing is sent after it."""
        after = self.production.records[step.after]
        refused = word in ("refused", "exists") and after.state is not State.SENT
        if (refused or made.state.refused) and after.open != bool(made.state.refused):
            return made._replace(state=made.state._replace(refused=int(after.open)))
        return made

    def _network(self, state):
        last = None
        for at, request in enumerate(state.net):
            if request == last:
                continue
            last = request
            net = state.net[:at] + state.net[at + 1 :]
            attempt, key, left, copy = request
            for memory, word, fault in self.provider.deliver(state.memory, request):
                if fault is not None and not self.may(state, fault):
                    continue
                told = self._told(state.hands, request, word)
                after = state._replace(
                    hands=told, memory=memory, faults=state.faults - (fault is not None)
                )
                what = ("a request", "its copy", "an abandoned request")[copy]
                rank = ARRIVED if fault is None else None
                yield Next((f"{what} arrives", attempt, word), rank, self._form(after, net=net))
                if word.startswith("ok") and copy == ONE and self.may(after, "copy"):
                    more = (*net, (attempt, key, left, COPY))
                    new = self._form(after, net=more, faults=after.faults - 1)
                    yield Next(("a request arrives, and is doubled", attempt, word), None, new)
            if self.may(state, "lost"):
                new = self._form(state, net=net, faults=state.faults - 1)
                yield Next(("a request is lost", attempt), None, new)
        for memory, word, fault in self.provider.finish(state.memory):
            if fault is None or self.may(state, fault):
                new = self._form(state, memory=memory, faults=state.faults - (fault is not None))
                rank = FINISHED if fault is None else None
                yield Next(("accepted work ends", word), rank, new)

    def _told(self, hands, request, word):
        """The reply travels to whoever still waits for it."""
        if request[3] != ONE:
            return hands
        code = self.words.code(word)
        return [
            hand._replace(word=code)
            if hand.kind == ATTEMPT and hand.attempt == request[0] and hand.stage == WAITING
            else hand
            for hand in hands
        ]

    def _processes(self, state):
        stored = self.production.records[state.record]
        gone = self.gone(state)
        free = stored.lease_until is None or stored.lease_until <= NOW or stored.lease_owner in gone
        due = stored.due_at is not None and (stored.due_at <= NOW or stored.lease_owner in gone)
        if self.ledger.ignores_leases:
            due = free = stored.due_at is not None
        due = due and free
        dies = self.may(state, "crash") and sum(state.alive) > 1
        if not (due or dies or state.joins):
            return
        marks = self._marks_of(state.record)
        idle = set()
        for process, lives in enumerate(state.alive):
            if not lives:
                continue
            mine = [hand for hand in state.hands if hand.process == process]
            if not mine:
                if marks[process] in idle:
                    continue
                idle.add(marks[process])
            if dies:
                yield self._dies(state, process)
            # an attempt that was given up runs beside whatever else the process does
            if any(hand.kind != ATTEMPT or hand.basis == CURRENT for hand in mine):
                continue
            if due:
                yield self._take(state, process, 0)
            if state.joins and stored.open and free:
                turn = self.variant.turn
                does = self.production.join(state.record, process, turn, gone)
                if does.then == "take":
                    taken = self._take(state, process, self.turns.code(turn))
                    yield taken._replace(reason=does.reason)

    def _dies(self, state, process):
        alive = tuple(lives and at != process for at, lives in enumerate(state.alive))
        hands = [hand for hand in state.hands if hand.process != process]
        new = self._form(state, hands=hands, alive=tuple(map(int, alive)), faults=state.faults - 1)
        return Next(("dies", process), None, new)

    def _take(self, state, process, turn):
        stored = self.production.records[state.record]
        names = self.production.names
        until = NOW + LEASE if not turn else self.turns.things[turn][1] + 1
        after = self.production.number(self.ledger.take(stored, names[process], until))
        hands = self._others(state.hands, state.record, after, n_moved=False, taken=True)
        standby = self._standby(state, taken=True)
        hands.append(self._taker(Hand(TAKEN, process, turn=turn), standby, after))
        joins = state.joins - bool(turn)
        new = self._form(state, record=after, hands=hands, joins=joins, standby=standby)
        rank = None if turn else TOOK
        return Next(("takes the action", process), rank, new, (state.record, after, ()))

    def _taker(self, hand, standby, after):
        """A hand that has just taken the action."""
        return hand

    def _person(self, state):
        """A person looks at the provider, sees what is there, and says so."""
        stored = self.production.records[state.record]
        effects, keys, jobs, _ = state.memory
        undecided = (State.UNKNOWN, State.PREPARED, State.REJECTED)
        if not state.verdicts or stored.terminal or stored.state not in undecided:
            return
        if jobs or any(entry[1] == "work" for entry in keys):
            return  # the provider says that it is working on it
        if stored.state is not State.UNKNOWN and effects:
            return
        said = f"T{len(effects)}" if effects else "not done"
        step = self.production.verdict(state.record, said, self.gone(state), state.epoch)
        if step is not None:
            cleared = step.drafts[0].reason == "sender_gone"
            label = (
                ("a person sees that the sender is gone",) if cleared else ("a person says", said)
            )
            left = state._replace(verdicts=state.verdicts - (not cleared))
            yield self._stepped(left, None, state.hands, step, label, None)

    def _time(self, state):
        """Time passes, unless something must happen before."""
        if any(request[2] <= -self.variant.overdue for request in state.net):
            return  # it arrives now, or never
        # A live process that lets its lease run out was paused, and so was every worker where
        # nobody takes what is due: that is something gone wrong.
        stored = self.production.records[state.record]
        until = stored.lease_until
        idle = stored.due_at == NOW and (until is None or until == NOW)
        paused = until == NOW + 1 and any(hand.basis == CURRENT for hand in state.hands)
        if idle and not state.hands and not state.net and self.may(state, "away"):
            yield self._away(state)
        costs = int(paused or idle)
        if costs and not self.may(state, "pause"):
            return
        aged = [self._aged(hand) for hand in state.hands]
        if None in aged:
            return
        new = self._form(
            state, record=self.production.later(state.record), hands=aged,
            net=tuple((one[0], one[1], one[2] - 1, one[3]) for one in state.net),
            memory=self.provider.later(state.memory), faults=state.faults - costs,
            **self._later(state),
        )  # fmt: skip
        if new != state:
            yield Next(("time passes",), None if costs else WAITED, new)

    def _aged(self, hand):
        """The hand one unit later; None where it must act before."""
        zombie = self.variant.zombie
        if hand.kind == ASKED:
            if hand.age >= ASKING:
                return None
            hand = hand._replace(age=hand.age + 1)
        elif hand.kind == ATTEMPT and hand.stage == READY and zombie is not None:
            hand = hand._replace(age=min(hand.age + 1, zombie + 1))
        if hand.turn:
            sends, until = self.turns.things[hand.turn]
            hand = hand._replace(turn=self.turns.code((sends, max(until - 1, NOW))))
        if hand.basis > CURRENT or hand.cut > CURRENT:
            hand = hand._replace(
                basis=self._moved(hand.basis, self.production.later),
                cut=self._moved(hand.cut, self.production.later),
            )
        return hand

    def _moved(self, basis, move):
        """A basis whose record is moved."""
        if basis <= CURRENT:
            return basis
        n_same, fence_same, snapshot = self.bases.things[basis]
        return self.bases.code((n_same, fence_same, move(snapshot)))

    def _later(self, state):
        """What else is later then."""
        return {}

    def _away(self, state):
        """For a long time no worker runs at all."""
        new = state
        for _ in range(self.variant.away):
            record, memory = self.production.later(new.record), self.provider.later(new.memory)
            new = new._replace(record=record, memory=memory, **self._later(new))
        new = self._form(new, faults=state.faults - 1)
        return Next(("nobody is there for long",), None, new)

    _moves = {TAKEN: _going, GOING: _going, ATTEMPT: _attempt, ASKED: _asked}
