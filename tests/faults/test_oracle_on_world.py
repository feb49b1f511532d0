"""The oracle on a real World: a small careful sender passes in every cell, careless ones do not.

The careful sender is a stand-in, written here in the plainest way. It shows that the required ends
can be reached at all; the careless ones show that the oracle tells what they break.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from ascertain.testing.world import FIVE_CONTRACTS, FOURTEEN, Behaviour, Provider, World
from tests.faults.evidence import Cell, Promise, Said, Statement, read_evidence
from tests.faults.oracle import faults
from tests.testing.world_caller import look_up, post

SETTLING_S, DEADLINE_S, SENDS = 0.9, 0.6, 3
PROMISES = {
    name: Promise(
        key=provider.honours_key,
        key_lifetime_s=provider.key_lifetime_s if provider.honours_key else None,
        lookup=provider.lookup,
        fences=provider.lookup_fences,
        absence_final_after_s=SETTLING_S if provider.lookup else None,
        sends=SENDS,
        send_deadline_s=DEADLINE_S,
    )
    for name, provider in FIVE_CONTRACTS.items()
}
SHORT = {"slow_deadline": {"seconds": 0.8}, "slow_lease": {"seconds": 0.9}}
PLAYED = [
    Behaviour(behaviour.name, **{**behaviour.params, **SHORT.get(behaviour.name, {})})
    for variants in FOURTEEN.values()
    for behaviour in variants
] + [
    Behaviour("late_execution", seconds=0.4),
    Behaviour("hang_no_effect"),
    Behaviour("empty_body"),
    Behaviour("validation_422"),
    Behaviour("unprocessed_503"),
]
REFUSALS = {
    "OPEN_TICKET_EXISTS": "already_exists",
    "REFUSED_BY_POLICY": "business",
    "VALIDATION": "invalid",
    "UNAUTHORISED": "auth",
    "FORBIDDEN": "auth",
}


@dataclass
class Sender:
    """Sends one intent to its end, carefully, or with one rule broken."""

    world: World
    collection: str
    order: str
    broken: str = ""
    keys: list = field(default_factory=list)
    told: list = field(default_factory=list)

    def run(self):
        promise = PROMISES[self.collection]
        for n in range(SENDS):
            self.keys.append(f"{self.order}-{n if self.broken == 'new-key' else 0}")
            heard = post(
                self.world, self.collection, {"order": self.order}, self.keys[-1], DEADLINE_S
            )
            closed_at = time.time()  # the last moment at which this attempt could have been sent
            body = heard.body if heard.end == "whole" and heard.body else {}
            code = body.get("error", {}).get("code")
            if heard.end == "whole" and heard.http in (200, 201) and body and code is None:
                return self.confirmed(body["ref"], promise)
            if code in REFUSALS and n == 0:
                related = body["error"].get("ref")
                return self.say("rejected", final=True, kind=REFUSALS[code], related_ref=related)
            if self.broken == "say-rejected":
                return self.say("rejected", final=True)
            self.tell("unknown")
            advice = heard.headers.get("retry-after", "0")
            wait_s = float(advice) if advice.isdecimal() else 60.0  # a date: not worth reading here
            again_at = time.time() + (DEADLINE_S if code == "in_progress" else wait_s)
            if promise.lookup and not promise.key:
                found = self.settle(promise, closed_at)
                if found is not None:
                    return found
            elif not promise.key and self.broken != "blind-resend":
                return self.say("unknown", review_open=True, review_opened=True)
            if wait_s > 2:
                return self.say("unknown", planned=True)
            self.world.wait_until(lambda at=again_at: time.time() >= at)
        return self.say("unknown", review_open=True, review_opened=True)

    def settle(self, promise, closed_at):
        """Look up until there is a word; None: proven absent, and the key may be sent again."""
        last = self.broken == "absent-at-once"
        while True:
            rows = look_up(self.world, self.collection, self.keys[-1]).body
            if rows:
                return self.confirmed(rows[0]["ref"], promise)
            if promise.fences:
                return self.say("rejected", final=True, kind="absent")
            if last:
                return None
            self.world.wait_until(lambda: time.time() >= closed_at + SETTLING_S)
            last = True

    def confirmed(self, ref, promise):
        noticed = False
        if promise.lookup and not promise.key and self.broken != "never-recount":
            noticed = len(look_up(self.world, self.collection, self.keys[-1]).body) > 1
        return self.say("confirmed", provider_ref=ref, noticed=noticed)

    def tell(self, state, **more):
        now = time.time()
        self.told.append(Statement(asked_at=now, at=now, state=state, **more))

    def say(self, state, *, final=False, provider_ref=None, **more):
        self.tell(state, final=final, provider_ref=provider_ref)
        said = {"final": final, "provider_ref": provider_ref, **more}
        return Said(state=state, key=self.keys[-1], told=tuple(self.told), **said)


def send(world, collection, behaviour, broken=""):
    """Play one cell to what its sender says in the end."""
    order = f"{collection}/{broken}/{behaviour.name}/{time.monotonic_ns()}"
    world.script(collection, {"order": order}, [behaviour])
    return order, Sender(world, collection, order, broken).run()


def judge(world, collection, behaviour, order, said):
    """Return what the oracle finds wrong with it, once nothing is on its way any more."""
    evidence = read_evidence(world.db_path, collection, {"order": order}, said.key)
    assert evidence.posts, "nothing was sent: the cell tests nothing"
    assert not evidence.still_to_land
    cell = Cell(promise=PROMISES[collection], behaviours=(behaviour.name,))
    return faults(cell, evidence, said)


def play(world, collection, behaviour, broken=""):
    order, said = send(world, collection, behaviour, broken)
    world.wait_idle()
    return judge(world, collection, behaviour, order, said)


@pytest.fixture(scope="module")
def world():
    with World(FIVE_CONTRACTS) as running:
        yield running


def test_a_careful_sender_ends_every_cell_as_required(world):
    cells = [(contract, behaviour) for contract in FIVE_CONTRACTS for behaviour in PLAYED]
    with ThreadPoolExecutor(32) as players:
        ends = list(players.map(lambda cell: send(world, *cell), cells))
    world.wait_idle()
    found = [judge(world, *cell, *end) for cell, end in zip(cells, ends, strict=True)]
    story = [
        f"{contract} x {behaviour.name} {behaviour.params}: {'; '.join(sentences)}"
        for (contract, behaviour), sentences in zip(cells, found, strict=True)
        if sentences
    ]
    assert not story, "\n".join(story)


@pytest.mark.parametrize(
    "broken, contract, behaviour, words",
    [
        ("new-key", "key_only", Behaviour("reply_lost"), "KeyStability"),
        ("new-key", "key_only", Behaviour("reply_lost"), "2 effects by our doing"),
        ("blind-resend", "neither", Behaviour("reply_lost"), "2 effects by our doing"),
        ("blind-resend", "neither", Behaviour("request_lost"), "blind resend"),
        ("say-rejected", "key_only", Behaviour("error_500_after"), "NoLie"),
        ("say-rejected", "neither", Behaviour("late_execution", seconds=0.1), "NoLie"),
        ("say-rejected", "neither", Behaviour("request_lost"), "proves nothing"),
        ("absent-at-once", "lookup_only", Behaviour("late_execution", seconds=0.4), "by our doing"),
        ("absent-at-once", "lookup_only", Behaviour("lookup_misses_first"), "by our doing"),
        ("never-recount", "lookup_only", Behaviour("duplicate_delivery"), "no notice"),
    ],
    ids=str,
)
def test_a_careless_sender_is_found_out(world, broken, contract, behaviour, words):
    assert words in "\n".join(play(world, contract, behaviour, broken))
    assert play(world, contract, behaviour) == [], "the careful sender does no better here"


def test_a_provider_that_breaks_its_settling_promise_is_told_apart(world):
    late = Behaviour("late_execution", seconds=1.6)  # promised: 0.9 s
    found = play(world, "lookup_only", late)
    assert [sentence.partition(" (")[0] for sentence in found] == ["NoDuplicateEffect: 2 effects"]
    assert "and no notice" in found[0]


def test_the_evidence_is_what_the_world_wrote_down():
    with World({"tickets": Provider(lookup_fences=True)}) as world:
        fields = {"order": "A1"}
        world.script("tickets", fields, ["business_refusal", Behaviour("throttled"), "reply_lost"])
        ends = [post(world, "tickets", fields, "k").end for _ in range(4)]
        assert ends == ["whole", "whole", "reset", "whole"]
        look_up(world, "tickets", "k")
        post(world, "tickets", {"order": "A2"}, "other")
        world.script("tickets", {"order": "A1"}, [Behaviour("accepted_202", seconds=60)])
        post(world, "tickets", fields, "k2")
        evidence = read_evidence(world.db_path, "tickets", fields)
        assert [(p.answered, p.code, p.retry_after_s) for p in evidence.posts] == [
            ("409", "OPEN_TICKET_EXISTS", None),
            ("429", "THROTTLED", 60),
            ("reset", None, None),
            ("201", None, None),
            ("202", None, None),
        ]
        assert [(look.answered, look.code) for look in evidence.lookups] == [("200", "found")]
        assert [(e.ref, e.key) for e in evidence.effects] == [("T900", "k")]
        assert evidence.keys == {"k", "k2"}
        assert (evidence.placed, evidence.still_to_land) == ({"T850"}, 1)
