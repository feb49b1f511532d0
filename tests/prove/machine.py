"""Everything that may happen next: workers, the network, the provider, a person, time.

A state is `(record, hands, net, memory, alive, faults, verdicts, joins)`:

* `record`: number of the action's canonical record (see `production`).
* `hands`: what processes are in the middle of, sorted; each a tuple of whole numbers (see `HAND`).
* `net`: requests on their way. `memory`: the provider's (see `provider`).
* `alive`: for each process whether it lives. The others: how much may still go wrong.

A hand stands on the action as it was when it last read or wrote it (its *basis*); the ledger takes
its write only if nobody has moved the action since. That is how a paused process is here: any hand
may rest for as long as it likes, before the wire or after, and then go on as if nothing had been.
"""

from typing import NamedTuple

from ascertain.model.tables import State
from tests.prove.production import ASKING, LEASE, NOW

TAKEN, GOING, ATTEMPT, ASKED = range(4)
READY, WAITING = range(2)
CURRENT, STALE = 0, -1


class Hand(NamedTuple):
    """`owner`: index of the process whose lease had run out, -1: none."""

    kind: int
    process: int
    attempt: int = 0
    stage: int = 0
    word: int = 0
    turn: int = 0
    basis: int = CURRENT
    key: int = 0
    age: int = 0
    inner: int = 0
    same_fence: int = 1
    owner: int = -1


class Codes:
    """Whole numbers for things, so that states are small and can be sorted."""

    def __init__(self, first):
        self.things = [first]
        self.codes = {first: 0}

    def code(self, thing):
        found = self.codes.get(thing)
        if found is None:
            found = self.codes[thing] = len(self.things)
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
        self.keys = Codes("K")
        self.order = ()

    def start(self):
        """The state after the caller's first commit."""
        step = self.production.born(self.variant.prepared, self.variant.turn)
        turn = self.turns.code(step.turn)
        hand = Hand(ATTEMPT, 0, attempt=1, turn=turn)
        return self.canonical(
            step.after, [hand], (), ((), (), (), 0), (1,) * self.processes,
            self.variant.faults, self.variant.verdicts, self.variant.joins,
        )  # fmt: skip

    # ------------------------------------------------------------------------------- canonical form

    def canonical(self, record, hands, net, memory, alive, faults, verdicts, joins):
        """One form for all states that differ only in which process is called what."""
        marks = []
        stored = self.production.records[record]
        owner, suspect = stored.lease_owner, stored.suspect
        names = self.production.names
        for at in range(self.processes):
            mine = sorted((hand[0], *hand[2:11]) for hand in hands if hand[1] == at)
            named = sum(1 for hand in hands if hand[11] == at)
            name = names[at]
            suspects = tuple(one for one in suspect.split(",") if one.startswith(name))
            marks.append(
                (1 - alive[at], [-len(mine), mine], owner != name,
                 tuple(one[len(name):] for one in suspects), named, at)
            )  # fmt: skip
        marks.sort()
        order = self.order = tuple(mark[-1] for mark in marks)
        if order != tuple(range(self.processes)):
            place = {old: new for new, old in enumerate(order)}
            record = self.production.renamed(record, order)
            hands = [
                hand._replace(
                    process=place[hand.process], owner=place.get(hand.owner, -1),
                    basis=self._renamed(hand.basis, order),
                )
                for hand in hands
            ]  # fmt: skip
            alive = tuple(alive[old] for old in order)
        hands = tuple(sorted(hands))
        return record, hands, tuple(sorted(net)), memory, alive, faults, verdicts, joins

    def _renamed(self, basis, order):
        if basis <= 0:
            return basis
        n_same, fence_same, snapshot = self.bases.things[basis]
        moved = self.production.renamed(snapshot, order)
        return self.bases.code((n_same, fence_same, moved))

    # ------------------------------------------------------------------------------------- the ledger

    def others(self, hands, before, *, n_moved, taken, record):
        """The other hands after a write: most of them no longer stand on what the ledger holds."""
        left = []
        for hand in hands:
            kind, basis = hand.kind, hand.basis
            if basis == STALE:
                left.append(hand if not taken else hand._replace(same_fence=0))
                continue
            n_same, fence_same, snapshot = (
                (True, True, before) if basis == CURRENT else self.bases.things[basis]
            )
            n_same, fence_same = n_same and not n_moved, fence_same and not taken
            if self.ledger.hopeless(n_same, fence_same):
                if kind in (TAKEN, GOING) or (kind == ASKED and not self.provider.fence):
                    continue  # whatever it writes will be refused, and it leaves
                code = STALE
            elif n_same and fence_same and snapshot == record:
                code = CURRENT
            else:
                code = self.bases.code((n_same, fence_same, snapshot))
            same = hand.same_fence and not taken
            left.append(hand._replace(basis=code, same_fence=int(same)))
        return left

    def basis(self, hand, record):
        """The record that a hand's write stands on, or None where the ledger refuses it."""
        if hand.basis == CURRENT:
            return record
        if hand.basis == STALE:
            return None
        n_same, fence_same, snapshot = self.bases.things[hand.basis]
        records = self.production.records
        taken = self.ledger.takes(n_same, fence_same, records[snapshot], records[record])
        return snapshot if taken else None

    def next_hand(self, hand, step):
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
                return [Hand(ATTEMPT, hand.process, attempt=sent.attempt, turn=turn, key=key)]
            case _:
                return [Hand(ASKED, hand.process, attempt=0, turn=turn)]

    # ------------------------------------------------------------------------------------ successors

    def successors(self, state):
        """Yield `(label, rank, frozen, write, state)`.

        `rank`: lower comes first where nothing goes wrong any more; None: something goes wrong.
        `frozen`: a sender wakes that had lost its lease. `write`: `(before, after, drafts)` or None.
        """
        yield from self._hands(state)
        yield from self._network(state)
        yield from self._processes(state)
        yield from self._person(state)
        yield from self._time(state)

    def _hands(self, state):
        record, hands, *_ = state
        last = None
        for at, hand in enumerate(hands):
            if hand == last:
                continue
            last = hand
            rest = hands[:at] + hands[at + 1 :]
            if hand.kind == ATTEMPT:
                yield from self._attempt(state, hand, rest)
            elif hand.kind == ASKED:
                yield from self._asked(state, hand, rest)
            else:
                yield from self._going(state, hand, rest)

    def _write(self, state, hand, rest, step, label, rank, *, faults=0, frozen=False, taken=False):
        """The successor in which a step is written."""
        record, _, net, memory, alive, left, verdicts, joins = state
        if step.after is None:
            after, write, hands = record, None, list(rest)
        else:
            after, write = step.after, (record, step.after, step.drafts)
            hands = self.others(rest, record, n_moved=bool(step.drafts), taken=taken, record=after)
        hands += self.next_hand(hand, step) if hand is not None else []
        new = self.canonical(after, hands, net, memory, alive, left - faults, verdicts, joins)
        return label, rank, frozen, write, new

    def _going(self, state, hand, rest):
        record = state[0]
        basis = self.basis(hand, record)
        if basis is None:
            yield self._keep(state, rest, (), ("leaves", hand.process), 4)
            return
        names = self.production.names
        owner = names[hand.owner] if hand.owner >= 0 else None
        step = self.production.go_on(
            basis, hand.process, "taken" if hand.kind == TAKEN else "going", owner,
            self.turns.things[hand.turn], self._gone(state),
        )  # fmt: skip
        if step.then != "wait":
            yield self._write(state, hand, rest, step, ("goes on", hand.process), 4)

    def _gone(self, state):
        if not self.variant.provable:
            return frozenset()
        names = self.production.names
        return frozenset(name for name, lives in zip(names, state[4], strict=True) if not lives)

    def _asked(self, state, hand, rest):
        record, _, net, memory, alive, faults, verdicts, joins = state
        if hand.word == 0:
            attempt = self.production.records[record].attempt
            for after, word, fault in self.provider.look_up(memory, hand.key, attempt):
                if not self._may(fault, faults):
                    continue
                told = hand._replace(word=self.words.code(word))
                new = self.canonical(
                    record, [*rest, told], net, after, alive, faults - (fault is not None),
                    verdicts, joins,
                )  # fmt: skip
                rank = 5 if fault is None else None
                yield ("answers", hand.process, word), rank, False, None, new
            return
        basis = self.basis(hand, record)
        if basis is None:
            yield self._keep(state, rest, (), ("leaves", hand.process), 0)
            return
        word = self.words.things[hand.word]
        step = self.production.answered(
            basis, hand.process, NOW - hand.age, word, self.turns.things[hand.turn]
        )
        yield self._write(state, hand, rest, step, ("records", hand.process, word), 0)

    def _keep(self, state, rest, add, label, rank, *, faults=0, frozen=False):
        record, _, net, memory, alive, left, verdicts, joins = state
        new = self.canonical(
            record, [*rest, *add], net, memory, alive, left - faults, verdicts, joins
        )
        return label, rank, frozen, None, new

    def _may(self, fault, faults):
        return fault is None or (faults > 0 and fault in self.variant.kinds)

    def _attempt(self, state, hand, rest):
        faults = state[5]
        number = hand.attempt
        if hand.stage == READY:
            yield from self._leave(state, hand, rest)
            for word, fault in (("not_sent", "not_sent"), ("broken", "broken")):
                if self._may(fault, faults):
                    yield self._land(state, hand, rest, word, ("fails before", number, word), None)
        elif hand.word:
            word = self.words.things[hand.word]
            yield self._land(state, hand, rest, word, ("hears", number, word), 0, faults=0)
            if self._may("lost", faults):
                lost = ("does not hear", number, word)
                yield self._land(state, hand, rest, "unknown", lost, None)
        else:
            way = [one for one in state[2] if one[0] == number]
            if not way:
                silent = ("hears nothing", number)
                yield self._land(state, hand, rest, "unknown", silent, 6, faults=0)
            elif self._may("slow", faults):
                yield self._land(state, hand, rest, "unknown", ("gives up", number), None)
        live = hand.basis == CURRENT and self._may("live", faults)
        if live and self.production.records[state[0]].state is State.SENT:
            label = ("is given up alive", number)
            yield self._land(state, hand, rest, "unknown", label, None, live=True)

    def _leave(self, state, hand, rest):
        """The request leaves: also long after the lease has run out."""
        record, _, net, memory, alive, faults, verdicts, joins = state
        zombie = self.variant.zombie
        if zombie is not None and hand.age > zombie:
            return
        left = self.provider.transit if zombie is None else zombie - hand.age
        request = (hand.attempt, hand.key, left, 0)
        stored = self.production.records[record]
        late = hand.basis != CURRENT or (stored.lease_until or NOW) <= NOW
        sent = hand._replace(stage=WAITING, age=0)
        new = self.canonical(
            record, [*rest, sent], (*net, request), memory, alive, faults, verdicts, joins
        )
        yield ("sends", hand.attempt, hand.process, late), 2, late, None, new

    def _land(self, state, hand, rest, word, label, rank, *, faults=1, live=False):
        record = state[0]
        if hand.inner and word in self.variant.twice:
            word = f"{word}, sent twice"
        basis = self.basis(hand, record)
        step = self.production.land(
            record, hand.process, hand.attempt, bool(hand.same_fence), basis, word,
            self.turns.things[hand.turn], live,
        )  # fmt: skip
        made = self._write(state, hand, rest, step, label, rank, faults=faults)
        if not live:
            return made
        ghost = hand._replace(basis=STALE, turn=0)
        _, net, memory, alive, left, verdicts, joins = made[4][1:]
        hands = self.others(rest, record, n_moved=True, taken=False, record=step.after)
        new = self.canonical(
            step.after, [*hands, ghost], state[2], memory, state[4], left, verdicts, joins
        )
        return label, rank, False, made[3], new

    def _network(self, state):
        record, hands, net, memory, alive, faults, verdicts, joins = state
        last = None
        for at, request in enumerate(net):
            if request == last:
                continue
            last = request
            rest = net[:at] + net[at + 1 :]
            for after, word, fault in self.provider.deliver(memory, request):
                if not self._may(fault, faults) or (request[3] and fault):
                    continue
                told = self._tell(hands, request, word)
                new = self.canonical(
                    record, told, rest, after, alive, faults - (fault is not None), verdicts, joins
                )
                rank = 1 if fault is None else None
                yield ("arrives", request[0], word, *request[3:]), rank, False, None, new
                if word.startswith("ok") and not request[3] and self._may("copy", faults):
                    copy = (request[0], request[1], request[2], 1)
                    new = self.canonical(
                        record, told, (*rest, copy), after, alive, faults - 1, verdicts, joins
                    )
                    yield ("arrives", request[0], word, "and stays"), None, False, None, new
            if self._may("lost", faults):
                new = self.canonical(
                    record, hands, rest, memory, alive, faults - 1, verdicts, joins
                )
                yield ("is lost", request[0]), None, False, None, new
        for after, word, fault in self.provider.finish(memory):
            if self._may(fault, faults):
                new = self.canonical(
                    record, hands, net, after, alive, faults - (fault is not None), verdicts, joins
                )
                yield ("finishes", word), 3 if fault is None else None, False, None, new

    def _tell(self, hands, request, word):
        """The reply travels to whoever still waits for it."""
        if request[3]:
            return hands
        told = []
        for hand in hands:
            if hand.kind == ATTEMPT and hand.attempt == request[0] and hand.stage == WAITING:
                hand = hand._replace(word=self.words.code(word))
            told.append(hand)
        return told

    def _processes(self, state):
        record, hands, net, memory, alive, faults, verdicts, joins = state
        stored = self.production.records[record]
        free = stored.lease_until is None or stored.lease_until <= NOW
        due = stored.due_at is not None and stored.due_at <= NOW
        tried = set()
        for process in range(self.processes):
            if not alive[process]:
                continue
            mine = tuple(hand[0:1] + hand[2:] for hand in hands if hand.process == process)
            same = (mine, stored.lease_owner == self.production.names[process],
                    tuple(one for one in stored.suspect.split(",")
                          if one.startswith(self.production.names[process])))  # fmt: skip
            if same in tried:
                continue
            tried.add(same)
            if self._may("crash", faults) and sum(alive) > 1:
                left = [hand for hand in hands if hand.process != process]
                lives = tuple(int(lives and at != process) for at, lives in enumerate(alive))
                new = self.canonical(record, left, net, memory, lives, faults - 1, verdicts, joins)
                yield ("dies", process), None, False, None, new
            busy = any(hand.process == process and hand.kind != ATTEMPT for hand in hands)
            busy = busy or any(hand.process == process and hand.basis == CURRENT for hand in hands)
            if busy:
                continue
            if due and (free or self.ledger.ignores_leases):
                yield self._take(state, process, 0, joins)
            if joins and stored.open:
                turn = self.variant.turn
                if self.production.join(record, process, turn) == "take" and due and free:
                    yield self._take(state, process, self.turns.code(turn), joins - 1)

    def _take(self, state, process, turn, joins):
        record, hands, net, memory, alive, faults, verdicts, _ = state
        stored = self.production.records[record]
        names = self.production.names
        after = self.ledger.take(stored, names[process], NOW + LEASE)
        number = self.production.number(after)
        owner = names.index(stored.lease_owner) if stored.lease_owner else -1
        if stored.state is not State.SENT:
            owner = -1
        left = self.others(hands, record, n_moved=False, taken=True, record=number)
        left.append(Hand(TAKEN, process, turn=turn, owner=owner))
        new = self.canonical(number, left, net, memory, alive, faults, verdicts, joins)
        return ("takes", process), None if turn else 7, False, (record, number, ()), new

    def _person(self, state):
        record, hands, net, memory, alive, faults, verdicts, joins = state
        stored = self.production.records[record]
        if not verdicts or not stored.open or stored.state is State.SENT:
            return
        if stored.state is State.PREPARED and not self.variant.withdraws:
            return
        mine = [f"T{at}" for at, _ in enumerate(memory[0], 1)]
        said = mine[0] if mine else "not done"
        if said != "not done" and stored.state is not State.UNKNOWN:
            return
        step = self.production.verdict(record, said)
        if step is None:
            return
        left = self.others(hands, record, n_moved=True, taken=False, record=step.after)
        new = self.canonical(step.after, left, net, memory, alive, faults, verdicts - 1, joins)
        write = (record, step.after, step.drafts)
        yield ("a person says", said), None, False, write, new

    def _time(self, state):
        record, hands, net, memory, alive, faults, verdicts, joins = state
        overdue = -self.variant.overdue
        if any(request[2] <= overdue for request in net):
            return
        # A live process that lets its lease run out was paused, and so was every worker where
        # nobody takes what is due: that is something gone wrong.
        stored = self.production.records[record]
        until = stored.lease_until
        paused = until == NOW + 1 and any(hand.basis == CURRENT for hand in hands)
        idle = stored.due_at == NOW and (until is None or until == NOW)
        if idle and not hands and not net and self._may("away", faults):
            yield self._away(state)
        paused = paused or idle
        if paused and not self._may("pause", faults):
            return
        aged = []
        zombie = self.variant.zombie
        for hand in hands:
            if hand.kind == ASKED:
                if hand.age >= ASKING:
                    return
                hand = hand._replace(age=hand.age + 1)
            elif hand.kind == ATTEMPT and hand.stage == READY and zombie is not None:
                hand = hand._replace(age=min(hand.age + 1, zombie + 1))
            if hand.turn:
                sends, until = self.turns.things[hand.turn]
                hand = hand._replace(turn=self.turns.code((sends, max(until - 1, NOW))))
            if hand.basis > 0:
                n_same, fence_same, snapshot = self.bases.things[hand.basis]
                moved = self.production.later(snapshot)
                hand = hand._replace(basis=self.bases.code((n_same, fence_same, moved)))
            aged.append(hand)
        moved = tuple((one[0], one[1], one[2] - 1, one[3]) for one in net)
        new = self.canonical(
            self.production.later(record), aged, moved, self.provider.later(memory), alive,
            faults - paused, verdicts, joins,
        )  # fmt: skip
        if new != state:
            yield ("time",), None if paused else 8, False, None, new

    def _away(self, state):
        """For a long time no worker runs at all."""
        record, hands, net, memory, alive, faults, verdicts, joins = state
        for _ in range(self.variant.away):
            record = self.production.later(record)
            memory = self.provider.later(memory)
        new = self.canonical(record, hands, net, memory, alive, faults - 1, verdicts, joins)
        return ("nobody is there for long",), None, False, None, new
