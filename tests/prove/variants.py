"""The runs of the search: contract, provider, what may go wrong, and how often."""

from dataclasses import dataclass, replace

from ascertain.model.action import ActionRecord
from ascertain.model.contract import Budget, Contract, LookupPromise, OnUnknown, Repeat
from tests.prove.ledger import Ledger
from tests.prove.production import NOW, PREPARED
from tests.prove.provider import Provider

SETTLING = 2
BUDGET = Budget(
    turn_sends=1, turn_s=1, sends=3, unanswered=2, horizon_s=9, send_deadline_s=1, backoff_s=2,
    backoff_max_s=2,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One run.

    `faults`: how many of `kinds` may happen in all. `provable`: a dead process is proven gone.
    `zombie`: how long after its commit an attempt may still leave (None: for ever).
    `overdue`: how long after its promise a request may still arrive (0: the promise is kept).
    """

    name: str
    contract: Contract
    provider: Provider
    faults: int = 3
    kinds: frozenset = frozenset()
    processes: int = 3
    provable: bool = True
    zombie: int | None = None
    overdue: int = 0
    away: int = 12
    verdicts: int = 0
    joins: int = 0
    turn: tuple = (1, NOW + 1)
    withdraws: bool = False
    twice: frozenset = frozenset()
    ledger: Ledger = Ledger()
    prepared: ActionRecord = PREPARED

    @property
    def honest(self):
        return self.overdue == 0

    @property
    def harmless(self):
        return self.contract.repeat is Repeat.HARMLESS

    def but(self, **changes):
        return replace(self, **changes)


def contract(*, lookup=True, fences=False, settling=SETTLING, budget=BUDGET, **more):
    promise = LookupPromise(absence_final_after_s=settling, fences=fences) if lookup else None
    return Contract(
        tool="create_ticket",
        noun="ticket",
        lookup=promise,
        budget=budget,
        recount_after_s=4,
        **more,
    )


COMMON = frozenset({"crash", "pause", "away", "lost", "slow", "live", "refuse", "throttle", "not_sent"})
ASK = frozenset({"silent", "lag"})

KEY_LOOKUP = Variant(
    name="key and look-up",
    contract=contract(repeat=Repeat.BY_KEY),
    provider=Provider(dedup=True, lookup=True),
    kinds=COMMON | ASK | {"copy", "work"},
)
KEY_ONLY = Variant(
    name="key only",
    contract=contract(repeat=Repeat.BY_KEY, lookup=False),
    provider=Provider(dedup=True),
    kinds=COMMON | {"copy", "work"},
)
LOOKUP_ONLY = Variant(
    name="look-up only",
    contract=contract(),
    provider=Provider(lookup=True),
    kinds=COMMON | ASK | {"work", "copy"},
)
FENCING = Variant(
    name="fencing look-up",
    contract=contract(fences=True, settling=None),
    provider=Provider(lookup=True, fence="key"),
    kinds=COMMON | {"silent", "work"},
)
NEITHER = Variant(
    name="neither",
    contract=contract(lookup=False),
    provider=Provider(),
    kinds=COMMON | {"work", "copy"},
    verdicts=1,
)

VARIANTS = [KEY_LOOKUP, KEY_ONLY, LOOKUP_ONLY, FENCING, NEITHER]
