"""A fail-over in the search: a standby is cut off, and takes the ledger's place some time later.

What was written since it was cut off is gone from the ledger, and not from the world: requests are
on their way, senders run, processes stand on what is not there any more. In a state:

* `standby` is `(record, moved, takes, age)` from the cut to the fail-over: what it holds, whether
  an event was written since, how many leases were given since (0 where an event was), how long ago;
* `epoch` is `(began, kept)` after it: how long ago it began, and the last commit that came over.

In a hand `cut` is its basis as the standby sees it, and after the fail-over `old` says whether the
ledger still knows its attempt (`KEPT`, `LOST`).

What the model assumes beside what `machine` says: a ledger fails over once; a write is compared
with the history that it stands on, not with how long that is; a send is compared with the epoch in
which it was decided; everybody hears of the new epoch with its first write; and where a person says
"not done", no sender that is missing has rested beyond its lease: none of them can be asked.
"""

from tests.prove.machine import ATTEMPT, CURRENT, SINCE, STALE, Machine, Next
from tests.prove.production import KEPT, LOST

FAIL_OVER = "fail_over"


class FailoverMachine(Machine):
    """The successors of a state where the ledger may fail over."""

    def __init__(self, variant, production):
        super().__init__(variant, production)
        # What may be longer ago than any rule counts is as long ago.
        self._long = int(production.long_ago_s)
        self._keys_end = variant.contract.key_lifetime_s is not None

    def successors(self, state):
        """Everything that may happen next, and the two halves of a fail-over."""
        yield from super().successors(state)
        if state.standby:
            yield Next(("the standby takes over",), None, self._failed_over(state))
        elif not state.epoch and self.may(state, FAIL_OVER):
            hands = [hand._replace(cut=hand.basis) for hand in state.hands]
            new = self._form(
                state, hands=hands, standby=(state.record, 0, 0, 0), faults=state.faults - 1
            )
            yield Next(("the standby is cut off",), None, new)

    def _failed_over(self, state):
        record, _, takes, age = state.standby
        record = self.production.crossed(record)
        hands = []
        for hand in state.hands:
            lost = hand.cut == SINCE
            basis = STALE if lost else self._moved(hand.cut, self.production.crossed)
            fence = self._fence(hand, basis, takes, lost=lost)
            if basis > CURRENT:
                n_same, fence_same, snapshot = self.bases.things[basis]
                basis = self._basis_of(n_same, fence_same, snapshot, record)
            if basis == STALE and self.leaves(hand):
                continue
            unaware = hand.kind == ATTEMPT or self.ledger.ignores_epochs
            old = (LOST if lost else KEPT) if unaware else 0
            hands.append(hand._replace(basis=basis, same_fence=fence, old=old, cut=SINCE))
        kept = age if self._keys_end else 0
        return self._form(state, record=record, hands=hands, standby=(), epoch=(0, kept), refused=0)

    def _fence(self, hand, basis, takes, *, lost):
        """How its fence stands in the history that follows."""
        if lost:
            return -takes or 1
        if basis > CURRENT:
            return self.bases.things[basis][1]
        return 1 if basis == CURRENT else int(hand.same_fence == 1)

    # ----------------------------------------------------------------- while the standby is cut off

    def _form(self, state, **changes):
        new = super()._form(state, **changes)
        if new.standby and self.order != self._plain:
            record = self.production.renamed(new.standby[0], self.order)
            new = new._replace(standby=(record, *new.standby[1:]))
        return new

    def _standby(self, state, *, n_moved=False, taken=False):
        if not state.standby:
            return ()
        record, moved, takes, age = state.standby
        if n_moved or moved:
            return record, 1, 0, age
        return record, 0, takes + taken, age

    def _taker(self, hand, standby, after):
        """Its lease is ahead of the standby's, until another one is given there."""
        if not standby or standby[1]:
            return hand
        return hand._replace(cut=self.bases.code((True, -standby[2], after)))

    def _then(self, state, hand, step):
        made = super()._then(state, hand, step)
        if not state.standby or step.drafts or hand.cut < CURRENT:
            return made
        cut = hand.cut
        if step.after is not None:
            fence_same = 1 if cut == CURRENT else self.bases.things[cut][1]
            cut = self.bases.code((True, fence_same, step.after))
        return [one._replace(cut=cut) for one in made]

    def _later(self, state):
        later = {}
        if state.standby:
            record, moved, takes, age = state.standby
            age = min(age + 1, self._long) if self._keys_end else 0
            later["standby"] = (self.production.later(record), moved, takes, age)
        if state.epoch:
            later["epoch"] = tuple(min(age + 1, self._long) for age in state.epoch)
        return later
