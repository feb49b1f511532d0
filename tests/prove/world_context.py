"""L0 for a session's context: a call that needs what others are just now bringing.

The gate, its flow, and the rooms that read and write the context are the production's. Restated are
the tables that those rooms ask, the tools that provide the order, and time. Whenever the call
waits, looks or is stored, one thing may happen in the world.
"""

import json

from ascertain.errors import NotShown
from ascertain.flow import context as flow_context
from ascertain.flow.call import Wanted
from ascertain.flow.effects import Fetch, Invoke, Look, Looked, Setting, Settle, Vet
from ascertain.flow.gate import Need, Source
from ascertain.model.contract import Budget, Contract
from ascertain.model.operations import Advance, Advanced, Blocked, Reserve, Reserved
from ascertain.model.outcome import Report
from ascertain.model.session import Memory, Pledge, Provides, Remembered, SessionRecord
from ascertain.model.tables import State
from ascertain.rules import context as rules
from ascertain.rules.budget import Turn
from ascertain.rules.gate import Tiers
from ascertain.store.beside import ROOMS
from tests.prove.production import PREPARED

NOW, FRESH_S = 1000.0, 60.0
KEY = "order_id"
NEEDS = Contract(
    tool="refund", noun="refund", context={"order": KEY}, fresh_s={KEY: FRESH_S}, budget=Budget()
)
EITHER = Contract(tool="refund", noun="refund", either={"order": KEY}, budget=Budget())
BRINGS = Contract(tool="query", noun="order", provides={KEY: "order"}, budget=Budget())


class Provider:
    """One call that brings an order, begun at some moment: a read, or a write with a pledge."""

    def __init__(self, name, order, *, is_write, began_at, base):
        self.name, self.order, self.is_write = name, order, is_write
        self.began_at, self.base, self.stage = began_at, base, "executing"
        self.began, self.ended = 0, 0  # which of all things that happened

    @property
    def under_way(self):
        return self.stage in ("executing", "pending")


class Talk:
    """What the ledger remembers of one session, and what is under way in this process."""

    def __init__(self, choose, contract):
        self.choose, self.contract, self.now = choose, contract, NOW
        self.version, self.rows, self.pledges, self.providers = 0, [], [], []
        self.ticks = 0
        self.seen, self.sent, self.filled, self.left = [], None, {}, 5
        self.known = None
        self.setting = Setting(
            contract=contract, sender="me", clock=lambda: self.now, dice=lambda: 0.0, lease_s=7.0
        )

    # ---------------------------------------------------------------------------- the ledger's rows

    def run(self, name, *values):
        match name:
            case "session_of":
                return [("t", "s", "u7", self.version, "e", NOW, NOW, NOW + 1e6)]
            case "context_stand":
                _, _, key, version, action_id = values
                return self.stand(key, version, action_id)
            case "drop_pledge":
                dropped = [one for one in self.pledges if one.action_id == values[3]]
                self.pledges = [one for one in self.pledges if one not in dropped]
                return [(one.base,) for one in dropped]
            case "next_version":
                self.version += values[2]
                return [(self.version, 0)]
            case "put_context":
                _, _, key, version, value, why, writer, chain, base, began_at, at, _ = values
                late = int(any(row.version > base for row in self.counting()))
                self.rows.append(
                    Remembered(key, version, value, why, writer, chain, late, began_at, at)
                )
                return [(late, len(self.rows) - 1)]
            case "open_session":
                return []
            case _:
                raise AssertionError(name)
        return []

    def stand(self, key, version, action_id):
        """The session, what is current, and whether an open action will bring what comes after
        that version.
        """
        pledged = any(
            one.key == key and one.action_id != action_id and one.base >= version
            for one in self.pledges
        )
        newest = [row.version for row in self.counting()[-1:]] or [None]
        return [("u7", NOW + 1e6, version, 0, int(pledged)) for version in newest]

    def recently(self):
        """What this process knew a moment ago, unless it is itself about to learn more.

        Others may have written since: that is what the rooms look for.
        """
        under_way = any(one.under_way and not one.is_write for one in self.providers)
        known = None if under_way else self.known
        self.something()
        return known if known is not None and known.values else None

    def counting(self):
        return [row for row in self.rows if not row.superseded]

    def memory(self):
        made = SessionRecord("t", "s", "u7", self.version, "e", NOW, NOW, NOW + 1e6)
        return Memory(made, tuple(self.counting()[-1:]), tuple(self.pledges))

    # ------------------------------------------------------------------------------------ the world

    def begin(self, order, *, is_write):
        name = f"p{len(self.providers)}"
        one = Provider(name, order, is_write=is_write, began_at=self.now, base=self.version)
        self.providers.append(one)
        self.ticks += 1
        one.began = self.ticks
        if is_write:
            self.pledges.append(Pledge(KEY, name, self.version, State.SENT, 0))

    def ends(self, one, how):
        """Its answer comes, is written, or is lost."""
        if how in ("commits", "empty"):
            self.write(one, State.CONFIRMED, {"order": one.order} if how == "commits" else {})
        elif how == "refused":
            self.write(one, State.REJECTED, {"order": one.order})
            self.pledges = [p for p in self.pledges if p.action_id != one.name]
        elif how == "lost":
            self.write(one, State.UNKNOWN, {"order": one.order})
            self.pledges = [
                p._replace(state=State.UNKNOWN) if p.action_id == one.name else p
                for p in self.pledges
            ]
        one.stage = how
        self.ticks += 1
        one.ended = self.ticks

    def write(self, one, end, result):
        """What an outcome brings, as the flows make it: of a write by its move."""
        before = PREPARED.changed(id=one.name, state=State.SENT, last_sent_at=one.began_at)
        text = json.dumps(result)
        if one.is_write:
            brings = rules.brought_by(
                BRINGS, before, before.changed(state=end), text, limit_bytes=999, now=self.now
            )
        elif end is State.CONFIRMED:
            kept = rules.values_of(BRINGS, text, None, limit_bytes=999)
            brings = Provides(
                values=kept, now=self.now, began_at=one.began_at, limit_bytes=999, base=one.base
            )
        else:
            brings = None
        if brings is not None:
            ROOMS[Provides].write(self.run, before, brings)

    def something(self, *, time=True):
        """One thing may happen, as long as anything is left to happen.

        A flow decides and writes at one instant of the clock (`time`).
        """
        if self.left <= 0:
            return
        moves = ["nothing"]
        if len(self.providers) < 3:
            moves += ["a read begins", "a write begins"]
        for at, one in enumerate(self.providers):
            if one.stage == "executing":
                moves += [f"{at} pending", f"{at} refused"] + ([f"{at} lost"] * one.is_write)
            elif one.stage == "pending":
                moves += [f"{at} commits", f"{at} empty"]
        moves += ["it gets late"] if time else []
        what = self.choose(*moves)
        self.left -= 1
        match what.split(" ", 1):
            case ["a", begins]:
                self.begin(f"A{len(self.providers)}", is_write=begins.startswith("write"))
            case ["it", _]:
                self.now += FRESH_S + 1
            case [at, how] if at.isdigit():
                self.ends(self.providers[int(at)], how)

    # ------------------------------------------------------------------------------------- the call

    def need(self, given):
        def make(filled, chain):
            self.filled = dict(given) | dict(filled)
            wanted = Wanted(PREPARED.changed(id="r"), "{}", "{}", lambda earlier: earlier)
            return wanted, self.filled

        return Need(
            tenant="t", session="s", principal="u7", call_id="", given=given, expires_at=NOW + 1e6,
            epoch=lambda: "e", tiers=Tiers(wait_s=0.5, waits=2),
            sources=lambda key, found: (Source("query"),), elsewhere=frozenset({KEY}), make=make,
            held=lambda keys: make({}, "")[0], keys=(KEY,), recent=self.recently,
        )  # fmt: skip

    def play(self, given):
        """The call's flow; True where it was sent."""
        turn = Turn(1, self.now + 1e6)
        flow, reply = flow_context.write_in_context(self.setting, self.need(given), turn), None
        while True:
            try:
                effect = flow.send(reply)
            except (StopIteration, NotShown):
                return
            reply = self.reply(effect)

    def reply(self, effect):
        match effect:
            case Look():
                self.something()
                self.seen = [one for one in self.providers if one.under_way]
                pending = sum(one.stage == "pending" for one in self.seen)
                active = {KEY: (len(self.seen), pending)} if self.seen else {}
                history = tuple(row for row in self.rows if row.value is not None)
                return Looked(self.memory(), active, history)
            case Settle(seconds=seconds):
                self.something()
                return seconds
            case Fetch():
                self.begin(f"A{len(self.providers)}", is_write=False)
                one, how = self.providers[-1], self.choose("commits", "refused")
                self.ends(one, how)
                return how == "commits"
            case Vet():
                self.something()  # a person is asked, which takes its time
                return None
            case Reserve():
                return self.stored(effect)
            case Invoke():
                self.sent = self.filled
                return Report(value=True)
            case Advance():
                return Advanced(record=effect.after)
            case _:
                raise AssertionError(effect)

    def stored(self, effect):
        """The rooms of the production look once more, in the statement that stores it."""
        if effect.record.state is not State.SENT:
            return Reserved(record=effect.record, via="new")
        self.something(time=False)
        for one in effect.beside:
            why = ROOMS[type(one)].blocks(self.run, effect.record, one)
            if why:
                return Blocked(why=why, by=one)
        self.truth = (self.now, [(one, one.stage) for one in self.providers])
        return Reserved(record=effect.record, via="new")

    def judged(self):
        """NeverStaleContext: nothing that was asked later stands, or may come to stand, by then."""
        if self.sent is None:
            return
        at, providers = self.truth
        order = self.sent.get("order")
        brought = {one.order: one for one, stage in providers if stage == "commits"}
        used = brought.get(order)
        if used is None:
            yield f"sent {order}, which was not shown in this session"
            return
        if self.contract is EITHER:
            return  # the person said it, and was shown it
        if at - used.began_at > FRESH_S:
            yield f"sent {order}, which is older than its use allows"
        for one, stage in providers:
            if one.began < used.ended or stage == "refused":
                continue  # what was asked before it was written comes too late to replace it
            if stage in ("commits", "empty"):
                yield f"sent {order}, and what stands since is {one.order} ({stage})"
            if one.is_write or one in self.seen:
                yield f"sent {order} while {one.order} is {stage}"


def contexts(choose):
    """An old order is known, or none; the call needs an order while others bring one."""
    contract = {"filled": NEEDS, "either": EITHER}[choose("filled", "either")]
    talk = Talk(choose, contract)
    if choose("known", "nothing") == "known":
        talk.begin("A0", is_write=False)
        talk.ends(talk.providers[0], "commits")
    if choose("it knows", "it knows nothing") == "it knows":
        talk.known = talk.memory()
        talk.something()
    given = {} if contract is NEEDS else {"order": choose("A0", "A9")}
    if contract is EITHER:
        talk.left = 2
    talk.play(given)
    yield from talk.judged()
