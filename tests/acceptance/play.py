"""Play one acceptance sample against the library, with a provider in this process.

Time is the ledger's clock, moved by hand to whatever is due next; nothing waits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ascertain import Absent, Accepted, Ascertain, Budget, Found, Refused, Undone, key
from ascertain.model.action import ActionRecord
from ascertain.report.export import Selection, exported
from ascertain.rules.recount import Row
from ascertain.store.ledger import Filter
from tests.acceptance.samples import DEFINITE, Sample
from tests.ledgers import ledger_url

# The first wait is longer than a turn: a call never waits, a worker goes on once time has moved.
BUDGET = Budget(
    turn_sends=1, turn_s=4.0, sends=3, unanswered=2, backoff_s=30.0, backoff_max_s=60.0,
    send_deadline_s=5.0,
)  # fmt: skip
SETTLING_S = 10.0
SECRET = b"acceptance samples, always alike"
PERSON = "ann@example.org"
REDACTED = ("person",)
MOST_PASSES = 60
PROMISES: dict[str, dict[str, Any]] = {
    "reserve_stock": {"key_lifetime": "24h"},
    "charge_card": {},
    "create_shipment": {"key_lifetime": "24h", "refusal_covers_key": True},
}
UNDOES: dict[str, dict[str, Any]] = {
    "reserve_stock": {},
    "charge_card": {"by": "key"},
    "create_shipment": {"within": "1h"},
}


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_750_000_000.0

    def __call__(self) -> float:
        return self.now


class Provider:
    """Does what the sample says once, and behaves ever after."""

    def __init__(self, sample: Sample, keyed: bool) -> None:
        self.sample, self.keyed = sample, keyed
        self.effects: list[tuple[str, str]] = []
        self.undone: list[str] = []
        self.sends, self.asked = 0, 0

    def post(self, sent_key: str) -> Any:
        self.sends += 1
        call = self.sample.call if self.sends == 1 else "confirmed"
        match call:
            case "business_refusal":
                raise Refused("NOT_POSSIBLE")
            case "retryable_refusal":
                raise Refused("BUSY", kind="throttled", retryable=True, retry_after_s=30)
            case "lost_request":
                raise TimeoutError
            case "lost_reply":
                if self.sample.lookup != "refused":  # else the answer that was lost is a refusal
                    self._do(sent_key)
                raise TimeoutError
            case "accepted":
                if self.sample.lookup != "refused":
                    self._do(sent_key)
                return Accepted("job-1", ask_after_s=30)
            case _:
                return {"id": self._do(sent_key)}

    def _do(self, sent_key: str) -> str:
        if self.keyed:
            for ref, with_key in self.effects:
                if with_key == sent_key:
                    return ref
        ref = f"R{len(self.effects) + 1}"
        self.effects.append((ref, sent_key))
        return ref

    def look_up(self, sent_key: str) -> Any:
        self.asked += 1
        match self.sample.lookup:
            case "no_answer":
                raise ConnectionError
            case "refused":
                return Refused("NOT_POSSIBLE")
            case "absent" if self.asked == 1:
                return Absent
        refs = [ref for ref, with_key in self.effects if with_key == sent_key]
        return Found(refs[0], count=len(refs)) if refs else Absent

    def reverse(self, of: str) -> Any:
        match self.sample.undo:
            case "refused":
                raise Refused("TOO_LATE_TO_UNDO")
            case "lost":
                self.undone.append(of)
                raise TimeoutError
            case _:
                self.undone.append(of)
                return {"id": f"U{len(self.undone)}"}


class Played(NamedTuple):
    """What a sample came to.

    :param lines: the action log as it is exported, oldest action first.
    :param shown: what the ledger and the person are told before the chain goes back, and after.
    """

    sample: Sample
    provider: Provider
    lines: list[dict[str, Any]]
    shown: list[tuple[str, str, str, str]]
    counted: Row | None
    broken: list[str]


def app_of(sample: Sample, provider: Provider, folder: Path, clock: Clock) -> tuple[Any, Any]:
    """An app with the sample's tool."""
    app = Ascertain(ledger_url(f"{folder}/ledger.db"), worker="none", secret=SECRET, clock=clock)

    @app.tool(
        name=sample.tool, identity=["order_id"], redact=REDACTED, budget=BUDGET,
        **PROMISES[sample.tool],
    )  # fmt: skip
    def make(order_id: str, person: str) -> dict:
        return provider.post(key())

    if sample.lookup != "not_offered":

        @make.lookup(absence_final_after=SETTLING_S)
        def find(action: Any) -> Any:
            return provider.look_up(action.key)

    @make.compensate(name=f"undo_{sample.tool}", budget=BUDGET, **UNDOES[sample.tool])
    def reverse(undone: Undone) -> dict:
        return provider.reverse(undone.provider_ref or "what has our key")

    return app, make


def play(sample: Sample, folder: Path) -> Played:
    """Call; let workers finish; recount where the answer was definite; go back; finish again."""
    clock = Clock()
    provider = Provider(sample, keyed="key_lifetime" in PROMISES[sample.tool])
    app, make = app_of(sample, provider, folder, clock)
    try:
        shown = []
        with app.session("s", principal="u7") as session, session.chain("order A123") as wish:
            make(order_id="A123", person=PERSON)
        _settle(app, clock)
        clock.now += SETTLING_S
        counted = None
        if sample.call in (*DEFINITE, "business_refusal"):
            rows = app.recount(rate=1e6).rows if sample.lookup != "not_offered" else ()
            counted = rows[0] if rows else None
        shown.append(_told("forward", wish, make))
        wish.turn_back("the order was cancelled")
        _settle(app, clock)
        shown.append(_told("backward", wish, make))
        query = Filter(limit=10)
        lines = list(exported(app.ledger, Selection(query=query), clock()))[::-1]
        broken = list(app.ledger.verify())
        return Played(sample, provider, lines, shown, counted, broken)
    finally:
        app.close()


def _told(direction: str, wish: Any, tool: Any) -> tuple[str, str, str, str]:
    return direction, str(wish.state), wish.say("en"), wish.say("zh-CN")


def _settle(app: Ascertain, clock: Clock) -> None:
    """Move time to what is due, until nothing is."""
    for _ in range(MOST_PASSES):
        due = [at for at in (app.ledger.next_due_at(), app.ledger.chains.next_due_at()) if at]
        if not due:
            return
        clock.now = max(clock.now + 0.001, *due)
        app.recover()
    open_ends: list[ActionRecord] = app.ledger.find(Filter(limit=10))
    raise AssertionError(f"still due: {[(one.tool, one.state, one.reason) for one in open_ends]}")
