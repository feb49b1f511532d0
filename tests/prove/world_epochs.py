"""L0 for what is called after a fail-over: which epoch it is, and what a call may say in it.

The flow of a call, its rules, and how an epoch is noticed are the production's (the ledger is the
pure model of the store's conformance suite, copied where the standby is cut off). Restated here are
the tables that tell of epochs, the provider, and who calls what when. An intent is called again
only while it is pursued: within the horizon.
"""

import copy
from math import inf

from ascertain.flow import call as flow_call
from ascertain.flow.effects import Ask, Inquire, Invoke, Pause, Permit, Setting
from ascertain.model.contract import Budget, Contract, LookupPromise, Repeat
from ascertain.model.epoch import ANOTHER_EPOCH, OfEpoch
from ascertain.model.operations import Advance, Blocked, Lost, Reserve, Take
from ascertain.model.outcome import Report
from ascertain.model.tables import State
from ascertain.model.words import Absent, Found, Receipt
from ascertain.rules.budget import Turn
from ascertain.store.epochs import Acknowledged, meet
from ascertain.testing.conformance.pure_model import PureLedger
from tests.prove.production import PREPARED

NOW, HORIZON_S, LIFE_S, PAST_S = 1000.0, 100.0, 50.0, 20.0
BUDGET = Budget(turn_sends=1, turn_s=1.0, sends=5, horizon_s=HORIZON_S, send_deadline_s=1.0)
CONTRACTS = {
    "blind": Contract(tool="t", noun="t", budget=BUDGET),
    "keyed": Contract(
        tool="t", noun="t", budget=BUDGET, repeat=Repeat.BY_KEY, key_lifetime_s=LIFE_S,
        key_margin_s=1.0,
    ),
    "fenced": Contract(
        tool="t", noun="t", budget=BUDGET,
        lookup=LookupPromise(absence_final_after_s=None, fences="key"),
    ),
}  # fmt: skip


class Server:
    """One server's copy of the ledger, as it answers queries about epochs."""

    def __init__(self, clock):
        self.clock, self.ledger, self.epochs = clock, PureLedger(), []
        self.system, self.timeline, self.kept_at = "s", 1, None

    def run(self, name, *values):
        match name:
            case "whereabouts":
                return [(self.system, self.timeline, self.kept_at, self.clock())]
            case "epochs":
                return [tuple(row) for row in self.epochs[::-1][: values[0]]]
            case "stands_at":
                record = self.ledger.actions.get(values[0])
                return [(1,)] if record is not None and record.n >= values[1] else []
            case "epoch_there":
                return [(1,)] if any(row[0] == values[0] for row in self.epochs) else []
            case "open_epoch":
                self.epochs.append([*values, None, ""])
                return [(1,)]
            case "miss":
                (row,) = [row for row in self.epochs if row[0] == values[0]]
                row[8] = values[1]
                return []
            case _:
                raise AssertionError(name)


class Client:
    """A process: the server that it writes to, the epoch that it knows, what it was told."""

    def __init__(self, server, name):
        self.name, self.acknowledged = name, Acknowledged()
        self.connect(server, None)

    def connect(self, server, known):
        self.server = server
        self.epoch = meet(server.run, known, self.acknowledged, self.name)

    def commit(self, operation):
        asked = getattr(operation, "epoch", None)
        if asked not in (None, self.epoch.id):
            if isinstance(operation, Reserve):
                return Blocked(by=OfEpoch(), why=ANOTHER_EPOCH)
            return Lost(record=operation.before, blocked=ANOTHER_EPOCH)
        reply = self.server.ledger.submit(operation)
        record = getattr(reply, "record", None)
        if record is not None and record.n:
            self.acknowledged = Acknowledged(record.id, record.n)
        return reply


class Shop:
    """One tool, its provider, and a ledger that may go on with another history."""

    def __init__(self, contract):
        self.now, self.contract = NOW, contract
        self.effects, self.seen_at, self.dead = {}, {}, set()
        self.count, self.answers = 0, []
        self.primary = Server(lambda: self.now)
        self.standby = None

    def cut(self):
        self.standby = copy.copy(self.primary)
        self.standby.ledger = copy.deepcopy(self.primary.ledger)
        self.standby.epochs = copy.deepcopy(self.primary.epochs)
        self.standby.kept_at = self.now

    def take_over(self, how):
        """The standby has a timeline of its own; a copy of the disk has not."""
        match how:
            case "promoted":
                self.standby.timeline += 1
            case "restored elsewhere":
                self.standby.system = "another one"
        self.primary = self.standby

    # ------------------------------------------------------------------------------- the provider

    def sent(self, key, wish):
        known = self.seen_at.get(key, -inf) + LIFE_S > self.now
        keyed = self.contract.repeat is Repeat.BY_KEY
        if key in self.dead:
            return Report(error=TimeoutError())  # it says that the key is dead, and no more
        if not (keyed and known):
            self.effects.setdefault(wish, []).append(f"T{sum(map(len, self.effects.values()))}")
            self.seen_at[key] = self.now
        return Report(value=Receipt(self.effects[wish][-1]))

    def asked(self, key, wish):
        if key in self.seen_at:
            return Report(value=Found(self.effects[wish][-1]))
        self.dead.add(key)
        return Report(value=Absent)

    # ------------------------------------------------------------------------------------- a call

    def call(self, client, wish, *, before_commit=None):
        """Somebody calls; how the action stands then."""
        self.count += 1
        name = f"{client.name}{self.count}"
        prepared = self.prepared(name, wish, None)
        wanted = flow_call.Wanted(
            prepared, "{}", "{}", lambda earlier: self.prepared(name, wish, earlier)
        )
        setting = Setting(
            contract=self.contract, sender=client.name, clock=lambda: self.now, dice=lambda: 0.0,
            lease_s=1.0, epoch=lambda: client.epoch,
        )  # fmt: skip
        flow, reply = flow_call.call(setting, wanted, Turn(1, self.now + 1)), None
        while True:
            try:
                effect = flow.send(reply)
            except StopIteration as end:
                return end.value.record
            match effect:
                case Reserve() | Advance() | Take():
                    if before_commit is not None:
                        before_commit()
                        before_commit = None
                    reply = client.commit(effect)
                case Invoke(record):
                    reply = self.sent(record.key, wish)
                case Ask(record):
                    reply = self.asked(record.key, wish)
                case Pause():
                    reply = False
                case Permit():
                    reply = "yes"
                case Inquire():
                    reply = frozenset()
                case _:
                    raise AssertionError(effect)

    def prepared(self, name, wish, earlier):
        """What a call would store; its key is derived from what is wished."""
        return PREPARED.changed(
            id=name if earlier is None else f"{name}+", intent=wish, slot=wish,
            key=f"{wish}{'' if earlier is None else f'/{earlier.key}'}",
            replaces=None if earlier is None else earlier.id, created_at=self.now,
            send_by_at=self.now + 1,
        )  # fmt: skip


def epochs(choose):
    """A wish before the cut or after it, another history, and calls of it and of a new one."""
    name = choose(*CONTRACTS)
    when = choose("lost", "kept", "never")
    shop = Shop(CONTRACTS[name])
    near = Client(shop.primary, "near")
    if when == "kept":
        shop.call(near, "old")
    shop.cut()
    shop.now += PAST_S  # what is missing was written later than the last that came over
    if when == "lost":
        shop.call(near, "old")
    how = choose("promoted", "restored elsewhere", "an older copy")
    blocked = choose("between", "in the middle") == "in the middle"

    def breaks():
        known = near.epoch
        shop.take_over(how)
        near.connect(shop.primary, known)

    began_at = shop.now
    if not blocked:
        breaks()
    said = {}
    late = far = None
    for _ in range(3):
        moves = ["old", "new", "later", "vouch", "somebody else"]
        what = choose("rest", *moves)
        if what == "rest":
            break
        if what == "later":
            if blocked:
                return
            late = shop.now = began_at + choose(LIFE_S + 1, HORIZON_S + 1)
            continue
        if what == "vouch":
            # whoever says that nothing was lost has to be right
            if when == "lost" or blocked:
                return
            shop.primary.epochs[-1][9:] = [shop.now, "ann"]
            for one in filter(None, (near, far)):  # they hear of it
                one.connect(shop.primary, one.epoch)
            continue
        if what == "somebody else":
            # of an older copy only those know who miss something, until one of them has written
            if blocked or (how == "an older copy" and len(shop.primary.epochs) < 2):
                return
            far = Client(shop.primary, "far")
            continue
        if what == "old" and shop.now > began_at + HORIZON_S:
            return  # nobody pursues it any more
        hook, blocked = (breaks if blocked else None), False
        record = shop.call(far or near, what, before_commit=hook)
        if hook and far:
            return
        before = said.get(what)
        said[what] = record
        yield from _judged(shop, said)
        vouched = bool(shop.primary.epochs[-1][10])
        free = name == "keyed" and shop.now < began_at + LIFE_S - PAST_S - 2
        over = late is not None and shop.now > began_at + HORIZON_S
        if before is not None and before.final and record.state is not State.CONFIRMED:
            yield "what was found not to be done cannot be done any more"
        if (
            what == "new"
            and before is None
            and (free or vouched or over)
            and record.state is not State.CONFIRMED
        ):
            yield f"a wish that cannot be missing is {record.state}, and could have been sent"


def _judged(shop, said):
    for wish, record in said.items():
        made = shop.effects.get(wish, [])
        if len(made) > 1:
            yield f"{wish} was done twice: {made}"
        if record.state is State.CONFIRMED and record.provider_ref not in made:
            yield f"{wish} is said to be {record.provider_ref}, and there is {made}"
        if record.state is State.REJECTED and record.final and made:
            yield f"{wish} is said not to be done, and there is {made}"
