"""L0 for chains that their code leaves: what a worker makes of them, and what is said meanwhile.

The rules are the production's; restated are the code, which may come to its end, break, die or live
on, the two columns of the chain's row that say so, and time.
"""

from ascertain.model.chain import LEFT, Around, ChainRecord, Direction, Member, Weight
from ascertain.model.contract import Contract
from ascertain.model.outcome import Kind
from ascertain.model.tables import State
from ascertain.rules import chain_facts, left
from ascertain.rules.cases import Verdict
from ascertain.rules.left import LEFT_S, LONGEST_S, LeftWhat
from ascertain.rules.project import WorkflowState
from tests.prove.production import PREPARED

NOW = 1000.0
CONTRACT = Contract(tool="t", noun="stock")
ENDS = {
    "confirmed": {"state": State.CONFIRMED, "provider_ref": "R"},
    "refused": {"state": State.REJECTED, "final": 1, "kind": Kind.INVALID, "reason": "no"},
}


class Wish:
    """A chain of two steps at most, and its row."""

    def __init__(self):
        self.now, self.members, self.stepped_at = NOW, (), NOW
        self.chain = ChainRecord("c", "t", "u", "s", "n", "", "", "", "", NOW)

    @property
    def around(self):
        return Around(self.chain, self.members)

    def step(self, name, end, weight):
        record = PREPARED.changed(id=name, chain="c", attempt=1, updated_at=self.now, **ENDS[end])
        member = Member("c", name, name, len(self.members) + 1, weight)
        self.members, self.stepped_at = (*self.members, (member, record)), self.now
        self.chain = self.chain._replace(due_at=self.now + LEFT_S, owner="p")

    def state(self):
        return chain_facts.chain_state(self.around, lambda _: CONTRACT)

    def put(self, after):
        self.members = tuple((m, after if r.id == after.id else r) for m, r in self.members)

    def looked_at(self, *, gone):
        """A worker finds it due, and writes what is decided."""
        found = left.judge_left(self.around, self.now, gone=gone)
        match found.what:
            case LeftWhat.WAIT:
                self.chain = self.chain._replace(due_at=found.until)
            case LeftWhat.END:
                self.chain = self.chain._replace(due_at=None)
            case LeftWhat.TURN:
                self.chain = self.chain._replace(
                    direction=Direction.BACKWARD, turned_at=self.now, reason=found.reason
                )
            case LeftWhat.CASE:
                move = left.left_case(found.record, self.around, now=self.now)
                self.put(move.after)
                self.chain = self.chain._replace(due_at=None, reason=LEFT)
        return found.what

    def cases(self):
        return [record for _, record in self.members if record.review == left.CASE]


def chains_left(choose):
    """Steps; how the code ends, or does not; then time, and workers that look."""
    wish = Wish()
    for name in "ab"[: choose(1, 2)]:
        wish.step(name, choose(*ENDS), choose(Weight.ESSENTIAL, Weight.BEST_EFFORT))
        if wish.state() is WorkflowState.COMPLETED:
            yield "it is called done while its code is at work"
    ends = choose("comes to its end", "breaks", "dies", "lives on")
    if ends == "comes to its end":
        wish.chain = wish.chain._replace(due_at=None, owner="")
    if ends == "breaks":
        wish.chain = wish.chain._replace(due_at=wish.now + LEFT_S, owner="")
    for _ in range(3):
        wish.now += choose(1.0, LEFT_S + 1, LONGEST_S + 1)
        if wish.chain.due_at is not None and wish.chain.due_at <= wish.now:
            wish.looked_at(gone=ends != "lives on")
        yield from _judged(wish, ends)
        if wish.cases() and choose("keeps it", "waits") == "keeps it":
            (case,) = wish.cases()
            move = left.decided(case, Verdict.KEPT, evidence="e", now=wish.now)
            wish.put(move.after)
            if wish.state() is WorkflowState.COMPLETED:
                yield "it is called done, and its code never came to its end"
            return


def _judged(wish, ends):
    quiet_s = wish.now - wish.stepped_at
    state, turned = wish.state(), wish.chain.backward
    acted = bool(wish.cases()) or turned
    if ends == "comes to its end" and acted:
        yield "somebody is asked about a wish whose code came to its end"
    if ends != "comes to its end" and state is WorkflowState.COMPLETED:
        yield "it is called done, and its code never came to its end"
    patience_s = LONGEST_S if ends == "lives on" else LEFT_S
    if acted and quiet_s < patience_s:
        yield "it may still be run again, and is taken from its code"
    if len(wish.cases()) > 1:
        yield "two cases of one wish"
    refused = [
        record for member, record in wish.members
        if record.state is State.REJECTED and member.weight is Weight.ESSENTIAL
    ]  # fmt: skip
    if turned and not refused:
        yield "it is undone, and nobody was asked"
    made = [record for _, record in wish.members if record.state is State.CONFIRMED]
    over = wish.chain.due_at is None or turned
    if ends != "comes to its end" and over and made and not acted:
        yield "something stands of what was left, and nobody is told"
    if wish.cases() and refused:
        yield "a person is asked where leaving the block would have turned it"
