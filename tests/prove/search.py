"""Breadth-first search over the production rules, with the provider's contract inside the model.

python -m tests.prove.search [--faults N] [--variant NAME] [--seconds S]
"""

from __future__ import annotations

import argparse
import sys
import time
from array import array
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from ascertain.model.tables import Event, State
from ascertain.rules.decide import Reason
from ascertain.testing import invariants as inv
from tests.prove.machine import Machine
from tests.prove.production import NOW, Production
from tests.prove.variants import VARIANTS


ACTS = ("goes on", "answers", "records", "dies", "takes", "leaves")


@dataclass
class Found:
    violations: list
    trace: list


@dataclass
class Report:
    """What a search saw."""

    name: str
    states: int = 0
    transitions: int = 0
    depth: int = 0
    seconds: float = 0.0
    complete: bool = True
    rows: Counter = field(default_factory=Counter)
    reasons: Counter = field(default_factory=Counter)
    ends: Counter = field(default_factory=Counter)
    found: Found | None = None
    others: dict = field(default_factory=dict)


class Search:
    def __init__(self, variant, limit=None, every=False):
        self.variant = variant
        self.every = every
        names = tuple(f"p{at}" for at in range(variant.processes))
        self.production = Production(variant.contract, names)
        self.machine = Machine(variant, self.production)
        self.limit = limit
        self._states = {}
        self._edges = {}

    def run(self):
        """Explore; stop at the first violation (its trace is a shortest one)."""
        began = time.perf_counter()
        report = Report(self.variant.name)
        start = self.machine.start()
        index = {start: 0}
        order = [start]
        parents, calm, sleepy = array("q", [-1]), array("q"), array("q")
        depths = array("h", [0])
        rows = report.rows
        rows[(None, Event.PREPARE)] += 1
        rows[(State.PREPARED, Event.SEND)] += 1
        at = 0
        dead = set()
        bad = self._judge(start)
        while at < len(order) and not bad:
            state = order[at]
            if at in dead:
                calm.append(-2)
                sleepy.append(-2)
                at += 1
                continue
            best = best_sleepy = None
            for label, rank, frozen, write, new in self.machine.successors(state):
                report.transitions += 1
                bad = self._written(write, rows) if write else ()
                where = index.get(new)
                if where is None:
                    if self.limit and len(order) >= self.limit:
                        report.complete = False
                        continue
                    where = index[new] = len(order)
                    order.append(new)
                    parents.append(at)
                    depths.append(depths[at] + 1)
                    bad = bad or self._judge(new)
                if bad and self.every:
                    kind = (bad[0].invariant, bad[0].story)
                    if kind not in report.others:
                        steps = [*self._path(order, parents, at), new]
                        report.others[kind] = Found(list(bad), steps)
                    bad = ()
                    if order[-1] == new and where == len(order) - 1:
                        dead.add(where)
                if bad:
                    steps = [*self._path(order, parents, at), new]
                    report.found = Found(list(bad), steps)
                    break
                if rank is not None:
                    if best is None or rank < best[0]:
                        best = (rank, where)
                    if not frozen and (best_sleepy is None or rank < best_sleepy[0]):
                        best_sleepy = (rank, where)
            calm.append(-1 if best is None else best[1])
            sleepy.append(-1 if best_sleepy is None else best_sleepy[1])
            at += 1
        report.states, report.depth = len(order), max(depths)
        if report.found is None and report.complete:
            for pointers in (calm, sleepy):
                self._come_to_rest(order, parents, pointers, report)
                if report.found:
                    break
        report.reasons = self.production.reasons
        report.seconds = time.perf_counter() - began
        return report

    # ------------------------------------------------------------------------------------ invariants

    def _judge(self, state):
        key = (state[0], state[3][0])
        found = self._states.get(key)
        if found is None:
            record = self.production.records[key[0]]
            effects = self._effects(key[1])
            contract = self.variant.contract
            found = inv.somebody_comes_back(record, left=self._left(key[0]))
            if self.variant.honest:
                found += inv.no_lie(record, effects)
                harmless = self.variant.harmless
                found += inv.no_duplicate_effect(record, effects, harmless=harmless)
            self._states[key] = found
        return found

    def _effects(self, effects):
        return [
            inv.WorldEffect(key=self.machine.keys.things[key], ref=f"T{at}", sending=str(attempt))
            for at, (key, attempt, _) in enumerate(effects, 1)
        ]

    def _left(self, number):
        record = self.production.records[number]
        return (
            self.variant.contract.best_effort
            and record.state in (State.UNKNOWN, State.REJECTED)
            and self.production.decision(number).reason is Reason.LEFT_OPEN
        )

    def _written(self, write, rows):
        before, after, drafts = write
        for draft in drafts:
            rows[(draft.start, draft.event)] += 1
        key = (before, after, tuple((draft.event, draft.reason) for draft in drafts))
        found = self._edges.get(key)
        if found is None:
            found = self._edges[key] = self._edge(before, after, drafts)
        return found

    def _edge(self, before, after, drafts):
        was, now = self.production.records[before], self.production.records[after]
        found = inv.single_winner(was, now)
        found += inv.projection(was.state, now, drafts, final=bool(was.final))
        found += inv.key_stability(was, now)
        if any(draft.event is Event.SEND for draft in drafts):
            found += inv.within_budget(was, now, self.variant.contract, NOW)
        reviews = [draft.reason for draft in drafts if draft.reason.startswith("review:")]
        if reviews and self.variant.honest:
            reason = reviews[0].removeprefix("review:")
            found += inv.heals(was, self.variant.contract, reason, NOW)
        return found

    def _come_to_rest(self, order, parents, pointers, report):
        """From every state, if nothing goes wrong any more, the action ends well."""
        done = bytearray(len(order))
        for start in range(len(order)):
            path, at = [], start
            while at >= 0 and not done[at]:
                done[at] = 1
                path.append(at)
                at = pointers[at]
            circle = at >= 0 and done[at] == 1
            bad = []
            if circle:
                record = self.production.records[order[at][0]]
                bad = [
                    inv.Violation(
                        invariant=inv.BOUNDED_RESOLUTION, action=record.id,
                        story=f"goes round in circles, {record.state}",
                    )
                ]  # fmt: skip
                path_end = at
            elif at == -2 or (path and pointers[path[-1]] == -2):
                path_end = at
            elif at == -1:
                path_end = path[-1]
                bad = self._at_rest(order[path_end], report)
            for one in path:
                done[one] = 2
            if bad and self.every and (bad[0].invariant, bad[0].story) in report.others:
                continue
            if bad:
                steps = self._path(order, parents, start)
                while start != path_end:
                    following = pointers[start]
                    steps.append(order[following])
                    start = following
                if self.every:
                    report.others[(bad[0].invariant, bad[0].story)] = Found(bad, steps)
                    continue
                report.found = Found(bad, steps)
                return

    def _at_rest(self, state, report):
        number, effects = state[0], state[3][0]
        record = self.production.records[number]
        left = self._left(number)
        bad = inv.bounded_resolution(record, left=left)
        if self.variant.contract.lookup is not None:
            bad += inv.double_noticed(record, self._effects(effects))
        end = (
            "review" if record.review and not record.terminal else "left" if left else record.state
        )
        report.ends[f"{end}{' disputed' if record.disputed else ''}, {len(effects)} effect"] += 1
        return bad

    # ----------------------------------------------------------------------------------------- story

    def _path(self, order, parents, at):
        steps = []
        while at >= 0:
            steps.append(order[at])
            at = parents[at]
        return steps[::-1]

    def story(self, found):
        """A violation as a story, step by step; processes keep their names throughout."""
        lines = [f"{self.variant.name}: {'; '.join(map(str, found.violations))}"]
        lines.append(f"   0. {'a call stores its intent, and that it sends':48} {self._say()}")
        named = tuple(range(self.variant.processes))
        for at, (before, after) in enumerate(pairwise(found.trace), 1):
            for label, _, _, _, there in self.machine.successors(before):
                if there == after:
                    order = self.machine.order
                    break
            words = " ".join(
                f"p{named[word]}" if type(word) is int and which == 1 and label[0] in ACTS
                else str(word)
                for which, word in enumerate(label)
            )  # fmt: skip
            was, now = self._named(before, named), None
            named = tuple(named[old] for old in order)
            now = self._named(after, named)
            lines.append(f"  {at:2}. {words:48} {self._difference(before, after, was, now)}")
        return "\n".join(lines)

    def _named(self, state, named):
        """The record under the names that the processes had at first."""
        back = tuple(named.index(at) for at in range(len(named)))
        return self.production.records[self.production.renamed(state[0], back)]

    def _say(self):
        record = self.production.records[self.machine.start()[0]]
        return f"{record.state} attempt {record.attempt}"

    def _difference(self, before, after, old, new):
        parts = [
            f"{name}={_short(getattr(new, name))}"
            for name in new._fields
            if getattr(old, name) != getattr(new, name)
            and not (isinstance(getattr(new, name), float | int) and name.endswith("_at"))
        ]
        if before[3] != after[3]:
            parts.append(f"provider={after[3]}")
        if before[2] != after[2]:
            parts.append(f"net={after[2]}")
        return " ".join(parts)


def _short(value):
    return value - NOW if isinstance(value, float | int) and value > NOW - 100 else value


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--variant")
    parser.add_argument("--faults", type=int)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--every", action="store_true")
    options = parser.parse_args(arguments)
    total = Counter()
    for variant in VARIANTS:
        if options.variant and options.variant not in variant.name:
            continue
        if options.faults is not None:
            variant = variant.but(faults=options.faults)
        search = Search(variant, options.limit, options.every)
        report = search.run()
        total["states"] += report.states
        total["transitions"] += report.transitions
        print(
            f"{report.name:38} {report.states:9,} states {report.transitions:11,} transitions "
            f"depth {report.depth:3} {report.seconds:6.1f} s"
            f"{'' if report.complete else ' (cut)'}  records {len(search.production.records)}",
            flush=True,
        )
        for end, count in sorted(report.ends.items()):
            print("     ", count, end)
        if report.found:
            print(search.story(report.found))
        for found in report.others.values():
            print(search.story(found))
    print(dict(total))


if __name__ == "__main__":
    main(sys.argv[1:])
