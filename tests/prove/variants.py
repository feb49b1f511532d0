"""The runs of the search: contract, provider, what may go wrong, and how often."""

from dataclasses import dataclass, replace

from ascertain.flow.effects import Withheld
from ascertain.model.action import ActionRecord
from ascertain.model.breaker import Breaker
from ascertain.model.contract import Budget, Contract, LookupPromise, OnUnknown, Repeat
from ascertain.rules.decide import Held
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
    `heals`: whatever of this goes wrong, no person is needed.
    `permits`: what may be said, beside "yes", when a late send asks whether it may go.
    """

    name: str
    contract: Contract
    provider: Provider
    faults: int = 2
    kinds: frozenset = frozenset()
    processes: int = 3
    provable: bool = True
    zombie: int | None = None
    overdue: int = 0
    away: int = 12
    verdicts: int = 0
    joins: int = 0
    turn: tuple = (1, NOW + 1)
    heals: bool = False
    permits: tuple = ("no", "unknown")
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


def contract(*, lookup=True, fences="", settling=SETTLING, budget=BUDGET, **more):
    promise = LookupPromise(absence_final_after_s=settling, fences=fences) if lookup else None
    return Contract(
        tool="create_ticket",
        noun="ticket",
        lookup=promise,
        budget=budget,
        recount_after_s=4,
        **more,
    )


COMMON = frozenset(
    {"crash", "pause", "away", "lost", "slow", "live", "refuse", "throttle", "not_sent", "broken",
     "work"}
)  # fmt: skip
ASK = frozenset({"silent", "lag"})
TURNS = frozenset({"crash", "slow", "lost", "throttle", "silent", "lag"})
# Work that ends after the recount is seen by nobody: a limit that is known.
RETRYING = (COMMON | ASK | {"retry"}) - {"work"}
EXPIRING = COMMON | ASK | {"copy"}

OPEN = Withheld(held=Held.CIRCUIT, why="circuit_open", until=NOW + 2)
OPEN_ASKING = Withheld(held=Held.CIRCUIT, why="circuit_open", until=NOW + 2, ask=True)
UNGIVEN = Withheld(held=Held.APPROVAL, why="approval", until=NOW)
GONE = Withheld(held=Held.APPROVAL, why="approval_expired", until=NOW)

KEY_LOOKUP = Variant(
    name="key and look-up",
    contract=contract(repeat=Repeat.BY_KEY),
    provider=Provider(dedup=True, lookup=True),
    kinds=COMMON | ASK | {"copy", "retry"},
)
KEY_ONLY = Variant(
    name="key only",
    contract=contract(repeat=Repeat.BY_KEY, lookup=False),
    provider=Provider(dedup=True),
    kinds=COMMON | {"copy", "retry"},
)
LOOKUP_ONLY = Variant(
    name="look-up only",
    contract=contract(),
    provider=Provider(lookup=True),
    kinds=COMMON | ASK | {"copy"},
)
FENCING = Variant(
    name="look-up that fences the key",
    contract=contract(fences="key", settling=None),
    provider=Provider(lookup=True, fence="key"),
    kinds=COMMON | {"silent"},
)
MARKS = Variant(
    name="look-up that fences attempts (sql.mark)",
    contract=contract(fences="attempt", settling=None),
    provider=Provider(lookup=True, fence="attempt", unique=True),
    kinds=COMMON | {"silent"},
)
NEITHER = Variant(
    name="neither",
    contract=contract(lookup=False, budget=replace(BUDGET, send_deadline_s=2)),
    provider=Provider(),
    kinds=COMMON | {"copy"},
    verdicts=1,
)
FIVE = [KEY_LOOKUP, KEY_ONLY, LOOKUP_ONLY, FENCING, MARKS, NEITHER]

COVERED = KEY_LOOKUP.but(
    name="key and look-up, refusals cover the key",
    contract=contract(repeat=Repeat.BY_KEY, refusal_covers_key=True),
    provider=Provider(dedup=True, lookup=True, covers=True),
    kinds=frozenset({"slow", "lost", "live", "crash", "refuse", "throttle", "silent", "lag"}),
)
COVERED_ONLY = KEY_ONLY.but(
    name="key only, refusals cover the key",
    contract=contract(repeat=Repeat.BY_KEY, lookup=False, refusal_covers_key=True),
    provider=Provider(dedup=True, covers=True),
)
LATE_REFUSALS = KEY_ONLY.but(
    name="key only, a late refusal speaks for all",
    contract=contract(repeat=Repeat.BY_KEY, lookup=False, refusal_final_after_s=SETTLING),
)
HEALING = LATE_REFUSALS.but(
    name="key only, a late refusal speaks for all: no person",
    contract=contract(
        repeat=Repeat.BY_KEY, lookup=False, refusal_final_after_s=SETTLING,
        budget=replace(BUDGET, sends=5, horizon_s=14),
    ),
    kinds=frozenset({"crash", "lost", "slow", "refuse"}),
    faults=3,
    heals=True,
)  # fmt: skip
EXPIRES = KEY_ONLY.but(
    name="key only, and it expires",
    contract=contract(repeat=Repeat.BY_KEY, lookup=False, key_lifetime_s=6, key_margin_s=2),
    provider=Provider(dedup=True, life=6),
    kinds=EXPIRING,
    zombie=1,
    away=4,
)
EXPIRES_LOOKUP = KEY_LOOKUP.but(
    name="key that expires, and look-up",
    contract=contract(repeat=Repeat.BY_KEY, key_lifetime_s=6, key_margin_s=2),
    provider=Provider(dedup=True, life=6, lookup=True),
    kinds=EXPIRING,
    zombie=1,
    away=4,
)
ELSEWHERE = LOOKUP_ONLY.but(name="look-up only, senders on other hosts", provable=False)
NEVER_FINAL = LOOKUP_ONLY.but(
    name="look-up only, absence never final", contract=contract(settling=None)
)
UNIQUE = LOOKUP_ONLY.but(
    name="look-up, and the provider refuses a second one",
    provider=Provider(lookup=True, unique=True),
    kinds=RETRYING,
)
RETRIES = LOOKUP_ONLY.but(name="look-up only, a client that sends again by itself", kinds=RETRYING)
LEFT = NEITHER.but(
    name="neither, best effort",
    contract=contract(lookup=False, on_unknown=OnUnknown.LEAVE),
    verdicts=0,
)
LEFT_LOOKUP = LOOKUP_ONLY.but(
    name="look-up only, best effort", contract=contract(on_unknown=OnUnknown.LEAVE)
)
HARMLESS = NEITHER.but(
    name="neither, a double is harmless",
    contract=contract(lookup=False, repeat=Repeat.HARMLESS),
    verdicts=0,
)
JUDGED = LOOKUP_ONLY.but(name="look-up only, and a person", verdicts=2, kinds=COMMON | ASK)
TURN = KEY_LOOKUP.but(
    name="key and look-up, a turn of two sends",
    turn=(2, NOW + 3),
    joins=1,
    kinds=TURNS,
)
TURN_LOOKUP = LOOKUP_ONLY.but(
    name="look-up only, a turn of two sends", turn=(2, NOW + 4), joins=1, kinds=TURNS
)
OVERRUN = LOOKUP_ONLY.but(
    name="look-up only, given up after it was taken over",
    kinds=frozenset({"pause", "live, taken over", "slow"}),
)
MUTE = LOOKUP_ONLY.but(
    name="look-up only, and it never answers",
    provider=Provider(lookup=True, mute=True),
    kinds=COMMON,
)
DYING = LOOKUP_ONLY.but(
    name="look-up only, senders that die", kinds=frozenset({"crash"}), heals=True
)
UNSENT = NEITHER.but(
    name="neither, connections that fail",
    kinds=frozenset({"not_sent", "throttle"}),
    verdicts=0,
    heals=True,
)
DENIED = KEY_LOOKUP.but(
    name="key and look-up, permission withdrawn",
    kinds=frozenset({"permit", "slow", "crash", "silent"}),
)
OPENED = KEY_LOOKUP.but(
    name="key and look-up, a breaker that opens",
    contract=contract(repeat=Repeat.BY_KEY, breaker=Breaker(manual_s=3)),
    kinds=frozenset({"permit", "not_sent", "throttle", "slow", "silent", "crash"}),
    permits=(OPEN, OPEN_ASKING),
)
OPENED_BLIND = NEITHER.but(
    name="neither, a breaker that opens",
    contract=contract(lookup=False, breaker=Breaker(manual_s=3)),
    kinds=frozenset({"permit", "not_sent", "throttle", "crash"}),
    permits=(OPEN,),
    verdicts=0,
)
UNAPPROVED = KEY_LOOKUP.but(
    name="key and look-up, an approval that is gone",
    kinds=frozenset({"permit", "not_sent", "throttle", "slow", "silent", "crash"}),
    permits=(UNGIVEN, GONE),
)
BROKEN = LOOKUP_ONLY.but(
    name="look-up only, a promise of settling that is broken", overdue=2,
    kinds=frozenset({"crash", "lost", "slow"}),
)  # fmt: skip
FAILED_OVER = [
    variant.but(
        name=f"{variant.name}, a fail-over", kinds=frozenset({"fail_over", *kinds.split()}),
        processes=2, verdicts=verdicts,
    )
    for variant, kinds, verdicts in (
        (KEY_LOOKUP, "slow lost not_sent throttle", 0),
        (KEY_ONLY, "slow live not_sent refuse", 0),
        (EXPIRES, "slow not_sent throttle", 0),
        (LOOKUP_ONLY, "slow crash not_sent", 0),
        (FENCING, "slow not_sent refuse", 0),
        (MARKS, "slow not_sent", 0),
        (NEITHER, "slow crash not_sent throttle refuse", 1),
    )
]  # fmt: skip
"""A ledger that fails over to a standby that lacks what was committed last."""

VARIANTS = [
    *FIVE, COVERED, COVERED_ONLY, LATE_REFUSALS, HEALING, EXPIRES, EXPIRES_LOOKUP, ELSEWHERE,
    NEVER_FINAL, UNIQUE, RETRIES, LEFT, LEFT_LOOKUP, HARMLESS, JUDGED, TURN, TURN_LOOKUP, OVERRUN,
    MUTE, DYING, UNSENT, DENIED, OPENED, OPENED_BLIND, UNAPPROVED, BROKEN, *FAILED_OVER,
]  # fmt: skip


def sized(variants, size):
    """The variants at a size: `small`, `gate`, `long`, or a number of faults.

    Small: at most one thing goes wrong; long: one more than at the gate.
    """
    if size == "gate":
        return variants
    if size == "small":
        return [variant.but(faults=min(1, variant.faults)) for variant in variants]
    if size == "long":
        return [variant.but(faults=variant.faults + 1) for variant in variants]
    return [variant.but(faults=int(size)) for variant in variants]
