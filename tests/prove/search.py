"""Breadth-first search over the production rules, with the provider's contract inside the model.

    python -m tests.prove.search [--size small|gate|long] [--variant WORD] [--every]

A state is counted once, in its canonical form: processes have no names, times are relative, and what
no rule reads is nothing. The first violation that is found has a shortest trace.
"""

import argparse
import gc
import sys
import time
from array import array
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from ascertain.errors import IllegalTransition
from ascertain.model.tables import NOTES, RULES, Event, State
from ascertain.rules.decide import Reason
from ascertain.rules.lost import PERHAPS_SENT, SEND_RESTORED
from ascertain.testing import invariants as inv
from tests.prove.failover import FAIL_OVER, FailoverMachine
from tests.prove.machine import Machine, Next
from tests.prove.production import NOW, OUTCOMES, Production
from tests.prove.provider import HISTORY
from tests.prove.variants import VARIANTS, sized

NO_SUCCESSOR, BAD = -1, -2
# Sends that are written after the fact, as what a lost history may have or has held.
NOT_SENT = (PERHAPS_SENT, SEND_RESTORED)


@dataclass
class Found:
    """A violation, and the states that lead there."""

    violations: list
    trace: list

    @property
    def invariant(self):
        return self.violations[0].invariant

    @property
    def steps(self):
        return len(self.trace) - 1


@dataclass
class Report:
    """What a search saw. `found`: the first violation. `others`: the first of each kind."""

    name: str
    states: int = 0
    transitions: int = 0
    depth: int = 0
    seconds: float = 0.0
    complete: bool = True
    rows: Counter = field(default_factory=Counter)
    reasons: Counter = field(default_factory=Counter)
    views: set = field(default_factory=set)
    ends: Counter = field(default_factory=Counter)
    found: Found | None = None
    others: dict = field(default_factory=dict)

    def __str__(self):
        return (
            f"{self.name:52} {self.states:9,} states {self.transitions:10,} transitions "
            f"depth {self.depth:3} {self.seconds:6.1f} s{'' if self.complete else ' (cut)'}"
        )


def added(reports):
    """All reports as one."""
    total = Report("in all")
    for report in reports:
        total.states += report.states
        total.transitions += report.transitions
        total.seconds += report.seconds
        total.depth = max(total.depth, report.depth)
        total.complete &= report.complete
        total.rows += report.rows
        total.reasons += report.reasons
        total.views |= report.views
    return total


def hits(report):
    """How often each row of the table was taken and each reason given, as lines."""
    lines = [f"  {report.rows[rule.start, rule.event]:12,}  {rule.name}" for rule in RULES + NOTES]
    return [*lines, *(f"  {report.reasons[reason]:12,}  {reason}" for reason in Reason)]


class Search:
    """One run over one variant.

    `limit`: stop adding states there (then coming to rest is not judged). `every`: go on after a
    violation, without its successors, to find the first of each kind.
    """

    def __init__(self, variant, *, limit=None, every=False):
        self.variant = variant
        self.limit = limit
        self.every = every
        names = tuple(f"p{at}" for at in range(variant.processes))
        epochs = FAIL_OVER in variant.kinds
        self.production = Production(variant.contract, names, epochs=epochs)
        self.machine = (FailoverMachine if epochs else Machine)(variant, self.production)
        self._judged = {}
        self._edges = {}

    def run(self):
        """Explore, then let every state come to rest."""
        began = time.perf_counter()
        collecting = gc.isenabled()
        gc.disable()  # millions of tuples, none of them in a circle
        try:
            report = self._explore(Report(self.variant.name))
        finally:
            if collecting:
                gc.enable()
        report.seconds = time.perf_counter() - began
        report.views = self.production.views
        return report

    def _explore(self, report):
        start = self.machine.start()
        rows = report.rows
        rows[None, Event.PREPARE] += 1
        rows[State.PREPARED, Event.SEND] += 1
        self._index = index = {start: 0}
        self._order = order = [start]
        self._parents, depths = array("q", [NO_SUCCESSOR]), array("l", [0])
        awake, asleep = array("q"), array("q")
        at = transitions = 0
        wrong = set()
        if self._judge(start):
            report.found = Found(self._judge(start), [start])
            return report
        while at < len(order):
            if at in wrong:
                awake.append(BAD)
                asleep.append(BAD)
                at += 1
                continue
            first = first_asleep = (9, NO_SUCCESSOR)
            for made in self._next(order[at]):
                label, rank, new, write, frozen, reason, heard, fenced, withheld = made
                transitions += 1
                if reason is not None:
                    report.reasons[reason] += 1
                bad = self._written(write, order[at], heard, rows) if write else ()
                if fenced and not bad:
                    story = "a write was taken from a former holder of the lease"
                    bad = [inv.Violation(invariant=inv.SINGLE_WINNER, action="a1", story=story)]
                if withheld and write and not bad:
                    bad = inv.held_back(self.production.records[write[1]], write[2])
                if label[0] == "takes the action" and not bad:
                    bad = self._taken(order[at])
                where = index.get(new)
                if where is None:
                    if self.limit and len(order) >= self.limit:
                        report.complete = False
                        continue
                    where = index[new] = len(order)
                    order.append(new)
                    self._parents.append(at)
                    depths.append(depths[at] + 1)
                    bad = bad or self._judge(new)
                    if bad:
                        wrong.add(where)
                if bad:
                    self._note(report, bad, [*self._path(at), new])
                    if not self.every:
                        break
                if rank is not None:
                    if rank < first[0]:
                        first = (rank, where)
                    if not frozen and rank < first_asleep[0]:
                        first_asleep = (rank, where)
            if report.found:
                break
            awake.append(first[1])
            asleep.append(first_asleep[1])
            at += 1
        report.states, report.transitions, report.depth = len(order), transitions, max(depths)
        if report.found is None and report.complete:
            self._come_to_rest(awake, report)
            self._come_to_rest(asleep, report)
        return report

    def _note(self, report, bad, trace):
        found = Found(list(bad), trace)
        if not self.every:
            report.found = report.found or found
        kind = (bad[0].invariant, bad[0].story)
        report.others.setdefault(kind, found)

    # ------------------------------------------------------------------------------------ invariants

    def _judge(self, state):
        """What must hold in every state."""
        for hand in state.hands:
            if hand.turn and self.machine.turns.things[hand.turn][0] < 0:
                return [
                    inv.Violation(
                        invariant=inv.BUDGET, action="a1", story="more sends than the turn has"
                    )
                ]
        record = self.production.records[state.record]
        if record.suspect and not state.epoch:  # who has ended in a lost history, nobody knows
            found = inv.suspects_are_senders(record, self._senders(state))
            if found:
                return found
        key = (state.record, state.memory[0], bool(state.epoch))
        found = self._judged.get(key)
        if found is None:
            effects = self._effects(state)
            found = inv.somebody_comes_back(record, left=self._left(state.record))
            found += inv.asked_within_budget(record, self.variant.contract)
            if self.variant.honest:
                if record.terminal or not state.epoch:
                    found += inv.no_lie(record, effects, receipts=True)
                harmless = self.variant.harmless
                found += inv.no_duplicate_effect(record, effects, harmless=harmless)
            self._judged[key] = found
        return found

    def _taken(self, state):
        """What must hold of a take-over."""
        record = self.production.records[state.record]
        return inv.leases_hold(record, NOW, self.machine.gone(state))

    def _senders(self, state):
        """Who may still send, and whom nobody has proven gone yet."""
        names = self.production.names
        senders = {f"{names[one.process]}#{one.attempt % HISTORY}" for one in state.hands}
        for name, lives in zip(names, state.alive, strict=True):
            if not lives:
                senders |= {f"{name}#{attempt}" for attempt in range(1, 9)}
        return senders

    def _effects(self, state):
        keys = self.machine.keys.things
        return [
            inv.WorldEffect(key=keys[key], ref=f"T{at}", sending=str(attempt))
            for at, (key, attempt, _) in enumerate(state.memory[0], 1)
        ]

    def _left(self, number):
        record = self.production.records[number]
        return (
            self.variant.contract.best_effort
            and record.state in (State.UNKNOWN, State.REJECTED)
            and self.production.decision(number).reason is Reason.LEFT_OPEN
        )

    def _next(self, state):
        """The successors; a move that the table refuses is one that would have been made."""
        try:
            yield from self.machine.successors(state)
        except IllegalTransition as refused:
            self._refused = str(refused).partition(" Next:")[0]
            yield Next(("writes what the table refuses",), None, state, (state.record, -1, ()))

    def _written(self, write, state, heard, rows):
        """What must hold of every write."""
        before, after, drafts = write
        for draft in drafts:
            rows[draft.start, draft.event] += 1
        refused = state.refused
        key = (
            before,
            after,
            tuple((draft.event, draft.reason) for draft in drafts),
            heard,
            refused,
        )
        found = self._edges.get(key)
        if found is None:
            found = self._edges[key] = self._edge(before, after, drafts, heard, refused)
        return found

    def _edge(self, before, after, drafts, heard, refused):
        if after < 0:
            story = f"the table refused it: {self._refused}"
            return [inv.Violation(invariant=inv.SINGLE_WINNER, action="a1", story=story)]
        was, now = self.production.records[before], self.production.records[after]
        contract = self.variant.contract
        found = inv.single_winner(was, now)
        found += inv.projection(was.state, now, drafts, final=bool(was.final))
        found += inv.key_stability(was, now)
        found += inv.gone_is_gone(was, now, drafts)
        if any(draft.event is Event.SEND and draft.reason not in NOT_SENT for draft in drafts):
            found += inv.within_budget(was, now, contract, NOW)
            if refused:
                found += inv.repeat_after_refusal(was, contract, NOW)
        found += inv.final_means_final(was, now, drafts)
        if heard:
            found += inv.no_lost_answer(was, now, OUTCOMES[heard])
        opened = [draft.reason for draft in drafts if draft.reason.startswith("review:")]
        if opened and self.variant.honest:
            found += inv.heals(was, contract, opened[0].removeprefix("review:"), NOW)
        return found

    def _come_to_rest(self, pointers, report):
        """From every state, if nothing goes wrong any more, the action ends well."""
        done = bytearray(len(pointers))
        for start in range(len(pointers)):
            path, at = [], start
            while at >= 0 and not done[at]:
                done[at] = 1
                path.append(at)
                at = pointers[at]
            bad = []
            if at == NO_SUCCESSOR:
                bad = self._at_rest(path[-1], report)
            elif at >= 0 and done[at] == 1:
                record = self.production.records[self._order[at].record]
                story = f"goes round in circles, {record.state}"
                bad = [
                    inv.Violation(invariant=inv.BOUNDED_RESOLUTION, action=record.id, story=story)
                ]
            for one in path:
                done[one] = 2
            if bad and (self.every or not report.found):
                trace = self._path(start) + [self._order[one] for one in path[1:]]
                self._note(report, bad, trace)

    def _at_rest(self, at, report):
        state = self._order[at]
        record = self.production.records[state.record]
        left = self._left(state.record)
        effects = self._effects(state)
        bad = inv.bounded_resolution(record, left=left)
        bad += inv.waits_for_a_reason(record, self.production.decision(state.record))
        if self.variant.heals and record.review is not None and record.open:
            story = f"waits for a person ({record.review}), and need not"
            bad.append(inv.Violation(invariant=inv.HEALS, action=record.id, story=story))
        if self.variant.contract.lookup is not None:
            bad += inv.double_noticed(record, effects)
        end = "left" if left else "review" if record.review else str(record.state)
        disputed = " (disputed)" if record.disputed else ""
        report.ends[f"{end}{disputed}, {len(effects)} effects"] += 1
        return bad

    # ----------------------------------------------------------------------------------------- story

    def _path(self, at):
        steps = []
        while at >= 0:
            steps.append(self._order[at])
            at = self._parents[at]
        return steps[::-1]

    def story(self, found):
        """A violation as a story; processes keep their names throughout."""
        lines = [f"{self.variant.name}: {'; '.join(map(str, found.violations))}"]
        lines.append(f"   0. {'a call stores its intent and sends attempt 1':46} by p0")
        named = tuple(range(self.variant.processes))
        for at, (before, after) in enumerate(pairwise(found.trace), 1):
            label = next(one.label for one in self._next(before) if one.state == after)
            order = self.machine.order
            words = " ".join(map(str, label))
            if label[0] in PROCESSES:
                words = " ".join((f"p{named[label[1]]}", label[0], *map(str, label[2:])))
            was = self._record_as(before, named)
            named = tuple(named[old] for old in order)
            change = self._difference(before, after, was, self._record_as(after, named))
            lines.append(f"  {at:2}. {words:46} {change}".rstrip())
        return "\n".join(lines)

    def _record_as(self, state, named):
        back = tuple(named.index(at) for at in range(len(named)))
        return self.production.records[self.production.renamed(state.record, back)]

    def _difference(self, before, after, old, new):
        parts = [
            f"{name}={getattr(new, name)}"
            for name in TOLD
            if getattr(old, name) != getattr(new, name)
        ]
        count = len(after.memory[0])
        if count > len(before.memory[0]):
            parts.append(f"=> the world has {count} effect{'s' * (count > 1)}")
        return " ".join(parts)


PROCESSES = (
    "goes on", "leaves", "is answered", "records", "dies", "takes the action", "is not permitted"
)  # fmt: skip
TOLD = (
    "state", "final", "kind", "attempt", "doubt", "provider_ref", "evidence", "refused", "review",
    "disputed", "suspect", "due_at", "unanswered",
)  # fmt: skip


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="gate", help="small, gate, long, or a number of faults")
    parser.add_argument("--variant", default="", help="a word of the variant's name")
    parser.add_argument("--limit", type=int, help="states per variant")
    parser.add_argument("--every", action="store_true", help="the first violation of each kind")
    options = parser.parse_args(arguments)
    reports = []
    for variant in sized(VARIANTS, options.size):
        if options.variant not in variant.name:
            continue
        search = Search(variant, limit=options.limit, every=options.every)
        report = search.run()
        reports.append(report)
        print(report, flush=True)
        print("      ends:", "; ".join(f"{n} {end}" for end, n in sorted(report.ends.items())))
        for found in report.others.values():
            print(search.story(found), flush=True)
    total = added(reports)
    print(total, *hits(total), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
