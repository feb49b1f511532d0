"""L0 for claims: two actions that look alike, where a record does not say whose it is.

The rules, the flows and the ledger's conditions are the production's (the ledger is the pure model
of the store's conformance suite); restated here are the provider and the person, who may err.
What a person's word alone has made of an action is not judged by the world, only by its like.
"""

from ascertain.flow.attempt import make_attempt
from ascertain.flow.effects import Ask, Invoke, Setting
from ascertain.flow.pursue import look_up
from ascertain.model.action import Draft
from ascertain.model.contract import Budget, Contract, LookupPromise, Repeat
from ascertain.model.operations import Advance, ClaimBy, Contested, Lookalike, Reserve
from ascertain.model.outcome import Report
from ascertain.model.tables import By, Event, State
from ascertain.model.words import Absent, Found, Receipt
from ascertain.rules import evidence, fold
from ascertain.rules.chain import advance_of
from ascertain.testing import invariants as inv
from ascertain.testing.conformance.pure_model import PureLedger
from tests.prove.production import PREPARED

NOW = 1000.0
MADE = ("answer", "bare", "lost")  # how an attempt may end whose effect came about
BORN = Draft(None, Event.PREPARE, State.PREPARED, By.CALL, "prepared", 0, {})
BUDGET = Budget(sends=3, unanswered=9)
BY_FIELDS = Contract(
    tool="book", noun="pickup", budget=BUDGET, repeat=Repeat.NEVER,
    lookup=LookupPromise(by="fields", absence_final_after_s=1e6),
)  # fmt: skip


class Desk:
    """Two actions that look alike, at a provider whose records do not say whose they are."""

    def __init__(self):
        self.ledger, self.now = PureLedger(), NOW
        self.effects = {"a": [], "b": []}
        self.made_at = {}
        self.mistaken = set()  # what a person's word alone has made of it
        self.setting = Setting(
            contract=BY_FIELDS, sender="p", clock=lambda: self.now, dice=lambda: 0.0, lease_s=9.0
        )

    def record(self, name):
        return self.ledger.actions.get(name)

    def send(self, name):
        sent = fold.send(
            PREPARED.changed(id=name, intent=name, send_by_at=NOW + 99), BY_FIELDS, sender="p",
            lease_until=self.now + 9, now=self.now, by=By.CALL,
        )  # fmt: skip
        self.ledger.submit(Reserve(
            record=sent.after, drafts=(BORN, *sent.drafts), arguments="{}", contract_json="{}",
            beside=(Lookalike(fields="same"),),
        ))  # fmt: skip

    def happens(self, name):
        self.effects[name].append(inv.WorldEffect(key=name, ref=f"R{name}", sending=name))
        self.made_at[f"R{name}"] = self.now

    def seen_by(self, name):
        """What a look-up shows: all that fits the fields and is not older than its first send."""
        since = self.record(name).first_sent_at
        return [ref for ref, at in self.made_at.items() if at >= since]

    def drive(self, flow, said):
        """A flow of the production on this ledger; `said` is what the provider says."""
        reply = None
        while True:
            try:
                effect = flow.send(reply)
            except StopIteration:
                return
            match effect:
                case Invoke() | Ask():
                    reply = said
                case Advance():
                    reply = self.ledger.submit(effect)
                case _:
                    raise AssertionError(effect)

    def person(self, name, ref):
        """A person gives an action this reference, as `resolve` does it."""
        record = self.record(name)
        move = evidence.verdict_confirmed(
            record, BY_FIELDS, provider_ref=ref, evidence="e", now=self.now
        )
        reply = self.ledger.submit(advance_of(record, move))
        if isinstance(reply, Contested) and reply.by is ClaimBy.LOOKUP:
            doubt = evidence.contradicted(
                reply.other, provider_ref=ref, owner=name, now=self.now, by=By.PERSON
            )
            self.ledger.submit(advance_of(reply.other, doubt))
            self.ledger.submit(advance_of(record, move))
        self.mistaken.add(name)

    def judged(self):
        records = list(self.ledger.actions.values())
        yield from map(str, inv.one_reference_each(records))
        for record in records:
            if record.id not in self.mistaken:
                yield from map(str, inv.no_lie(record, self.effects[record.id]))


def claims(choose):
    """Sends, answers with and without a reference, look-ups and a person, in every order."""
    desk, heard = Desk(), set()
    for _ in range(8):
        desk.now += 1
        moves = ["rest"]
        for name in "ab":
            record = desk.record(name)
            if record is None:
                moves.append(f"send {name}")
            elif record.state is State.SENT and name not in heard:
                made = desk.effects[name]
                moves += [f"{what} {name}" for what in (MADE if made else ("makes", "gone"))]
            elif record.state is State.UNKNOWN:
                moves.append(f"ask {name}")
                moves += [f"person {name}"] if desk.made_at else []
            elif record.disputed:
                moves.append(f"person {name}")
        what, _, name = choose(*moves).partition(" ")
        match what:
            case "rest":
                return list(desk.judged())
            case "send":
                desk.send(name)
            case "makes":
                desk.happens(name)
            case "answer" | "bare" | "lost" | "gone":
                heard.add(name)
                words = {"answer": Receipt(f"R{name}"), "bare": True}
                said = Report(value=words[what]) if what in words else Report(error=TimeoutError())
                desk.drive(make_attempt(desk.setting, desk.record(name), None), said)
            case "ask":
                refs = desk.seen_by(name)
                said = Found(refs[0], count=len(refs)) if refs else Absent
                desk.drive(look_up(desk.setting, desk.record(name), None), Report(value=said))
            case "person":
                desk.person(name, choose(*desk.made_at))
        wrong = list(desk.judged())
        if wrong:
            return wrong
    return []
