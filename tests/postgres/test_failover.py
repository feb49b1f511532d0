"""Fail-over to a standby that lost commits: real servers, a real provider, effects counted."""

import json
import logging

import httpx
import pytest

from ascertain import Absent, Ascertain, Budget, Found, key
from ascertain.errors import MayStillArrive
from ascertain.model.epoch import TIMELINE
from ascertain.report.examine import examine
from ascertain.store.ledger import Filter
from ascertain.testing.crash import point
from ascertain.testing.world import FIVE_CONTRACTS, World
from tests.postgres.pair import Pair

FIVE = list(FIVE_CONTRACTS)
SECRET = b"the secret of a shop with a standby"
BUDGET = Budget(turn_s=3.0, turn_sends=2, sends=4, send_deadline_s=1.0, backoff_s=0.05)
SETTLING_S, LEASE_S = 0.2, 0.25


class Shop:
    """One tool for each of the five contracts, on the ledger of a pair of servers."""

    def __init__(self, pair, world):
        self.app = Ascertain(pair.url(), secret=SECRET, worker="none", lease_s=LEASE_S)
        self.client = self.app.watch(httpx.Client(base_url=world.url, timeout=5.0))
        self.answered = lambda: None  # what happens between the effect and the end of the body
        self.tools = {name: self._tool(name) for name in FIVE}

    def _tool(self, name):
        provider = FIVE_CONTRACTS[name]
        promises = {"key_lifetime": "24h"} if provider.honours_key else {}

        @self.app.tool(
            name=f"create_{name}", noun=name, identity=["order"], once_per="principal",
            budget=BUDGET, breaker=False, **promises,
        )  # fmt: skip
        def create(order: str) -> dict:
            reply = self.client.post(
                f"/{name}", json={"order": order}, headers={"Idempotency-Key": key()}
            )
            self.answered()
            return reply.raise_for_status().json()

        if provider.lookup:

            @create.lookup(absence_final_after=SETTLING_S, fences=provider.lookup_fences)
            def find(action):
                rows = self.client.get(f"/{name}", params={"request": action.key})
                rows = rows.raise_for_status().json()
                return Found(rows[0]["ref"], count=len(rows)) if rows else Absent

        return create

    def call(self, contract, order):
        with self.app.session(f"chat-{order}", principal="u7"):
            return self.tools[contract](order=order)

    def stand(self, contract, order):
        """State and case, as the ledger has them now."""
        query = Filter(session=f"chat-{order}", tool=f"create_{contract}")
        return [(str(one.state), one.review) for one in self.app.ledger.find(query)]

    def close(self):
        self.app.close()
        self.client.close()


@pytest.fixture(scope="module")
def world():
    with World(dict(FIVE_CONTRACTS)) as world:
        yield world


@pytest.fixture
def pair():
    pair = Pair()
    yield pair
    pair.remove()


@pytest.fixture
def open_shop(pair, world):
    opened = []

    def open_it():
        opened.append(Shop(pair, world))
        return opened[-1]

    yield open_it
    for shop in opened:
        shop.close()


def effects(world, contract, order):
    return [effect.ref for effect in world.effects(contract, order=order)]


def test_after_a_fail_over_that_lost_commits_nothing_is_doubled_and_nothing_untrue_is_said(
    pair, open_shop, world, caplog
):
    """What is known by key is done again by the same key; what is blind goes to a person."""
    shop = open_shop()
    kept = {name: shop.call(name, "kept") for name in FIVE}
    pair.cut()
    lost = {name: shop.call(name, "lost") for name in FIVE}
    assert {str(action.state) for action in lost.values()} == {"confirmed"}, "it was acknowledged"
    before = pair.timeline(pair.primary)
    pair.fail_over()
    ids = [action.record.id for action in lost.values()]
    assert pair.ask(pair.standby, "SELECT id FROM action WHERE id = ANY(%s)", ids) == []
    assert pair.timeline(pair.standby) == before + 1

    with caplog.at_level(logging.WARNING, logger="ascertain"):
        again = {name: shop.call(name, "lost") for name in FIVE}
    for name in FIVE:
        assert effects(world, name, "lost") == [lost[name].provider_ref], "one effect, whatever"
    told = {name: (str(one.state), one.provider_ref) for name, one in again.items()}
    blind = told.pop("neither")
    assert told == {name: ("confirmed", lost[name].provider_ref) for name in told}
    assert blind == ("unknown", None), "the ledger cannot know it, and says no more than that"
    assert shop.stand("neither", "lost") == [("unknown", "cannot_ask")]
    asked_first = [one.method for one in world.arrivals("lookup_only", order="lost")]
    assert asked_first == ["POST"], "it was found by its key, and not sent again"

    for name in FIVE:
        same = shop.call(name, "kept")
        assert (same.how, same.provider_ref) == ("replayed", kept[name].provider_ref)
    (noticed,) = [
        json.loads(one.message) for one in caplog.records if "ledger_epoch" in one.message
    ]
    assert (noticed["epoch"], noticed["why"], noticed["timeline"]) == (2, TIMELINE, before + 1)
    assert noticed["missing"] in ids, "this process was told of a commit that is not there"
    assert list(shop.app.ledger.verify()) == []


def test_what_is_new_after_such_a_fail_over_is_not_sent_blindly_until_the_horizon_is_over(
    pair, open_shop, world
):
    """It may have been asked for before: nobody can tell a new intent from one that is missing."""
    open_shop().call("neither", "before")
    pair.cut()
    pair.fail_over()
    shop = open_shop()  # another process: all it knows is what the ledger says
    for name in FIVE:
        shop.call(name, "new")
    shop.app.recover()
    stands = {name: shop.stand(name, "new") for name in FIVE}
    counts = {name: len(effects(world, name, "new")) for name in FIVE}
    assert stands == {
        "key_and_lookup": [("confirmed", None)],
        "key_only": [("confirmed", None)],
        "lookup_only": [("unknown", "sender_may_live")],
        "fencing_lookup": [("rejected", None)],
        "neither": [("unknown", "cannot_ask")],
    }
    assert counts == {
        "key_and_lookup": 1, "key_only": 1, "lookup_only": 0, "fencing_lookup": 0, "neither": 0,
    }  # fmt: skip
    anew = shop.call("fencing_lookup", "new")  # the former key is dead, so this is another one
    assert (str(anew.state), len(effects(world, "fencing_lookup", "new"))) == ("confirmed", 1)

    checks = {one.name: one for one in examine(shop.app.ledger, shop.app.hands.clock()).checks}
    history = checks["history"]
    assert history.verdict == "warn"
    assert "Epoch 2, on timeline 2" in history.sentence
    assert "may be missing" in history.sentence

    (epoch, first) = shop.app.ledger.epochs()
    assert (epoch.n, epoch.why, first.n, first.timeline) == (2, TIMELINE, 1, 1)
    moved = shop.app.hands.clock
    shop.app.hands.clock = lambda: moved() + BUDGET.horizon_s
    shop.app.hands._settings.clear()
    assert str(shop.call("neither", "a day later").state) == "confirmed"


def test_a_person_ends_what_nobody_can_find_out(pair, open_shop, world):
    """By a reference, or by "not done" once nothing of it can arrive any more."""
    shop = open_shop()
    shop.call("neither", "first")
    pair.cut()
    done = shop.call("neither", "done")
    pair.fail_over()
    one, other = shop.call("neither", "done"), shop.call("neither", "never")
    shop.app.resolve(one.id, confirmed=done.provider_ref, evidence="seen in the shop's list")
    assert shop.stand("neither", "done") == [("confirmed", None)]
    with pytest.raises(MayStillArrive) as early:
        shop.app.resolve(other.id, not_done=True, evidence="not in the shop's list")
    moved = shop.app.hands.clock
    shop.app.hands.clock = lambda: max(moved(), early.value.context["until"])
    shop.app.resolve(other.id, not_done=True, evidence="not in the shop's list")
    assert shop.stand("neither", "never") == [("rejected", None)]
    assert effects(world, "neither", "never") == []


def test_an_answer_that_comes_after_the_fail_over_is_told_to_the_operator(
    pair, open_shop, world, caplog
):
    """Its action is missing: the caller hears unknown, the log has key and reference."""
    shop = open_shop()
    shop.call("neither", "a first one")
    pair.cut()
    shop.answered = pair.fail_over
    with caplog.at_level(logging.ERROR, logger="ascertain"):
        action = shop.call("neither", "under way")
    shop.answered = lambda: None
    (ref,) = effects(world, "neither", "under way")
    assert str(action.state) == "unknown"
    (line,) = [json.loads(one.message) for one in caplog.records if "answer_not" in one.message]
    assert (line["event"], line["provider_ref"]) == ("answer_not_recorded", ref)
    assert str(shop.call("neither", "under way").state) == "unknown"
    assert effects(world, "neither", "under way") == [ref]


def test_what_was_decided_before_the_fail_over_is_decided_anew(pair, open_shop, world):
    """Between the decision to send and its commit the ledger becomes another one."""
    shop = open_shop()
    shop.call("neither", "warm")
    pair.cut()
    seen = []

    def once(side, effect):
        if point(effect, side) == "reserve.before" and not seen:
            seen.append("failed over")
            pair.fail_over()

    shop.app.hands.on_effect = once
    action = shop.call("neither", "in between")
    shop.app.hands.on_effect = None
    assert (seen, str(action.state)) == (["failed over"], "unknown")
    assert effects(world, "neither", "in between") == []


def test_a_switch_over_of_which_a_person_knows_that_nothing_was_lost(pair, open_shop, world):
    """Somebody vouches for it, and blind calls go on."""
    shop = open_shop()
    shop.call("neither", "one")
    pair.fail_over()  # the standby has everything
    assert str(shop.call("neither", "two").state) == "unknown"
    ledger = shop.app.ledger
    assert ledger.settle_epoch(ledger.epoch.id, "ann", shop.app.hands.clock())
    assert not ledger.settle_epoch(ledger.epoch.id, "bob", shop.app.hands.clock()), "once"
    ledger._link._epoch_seen_at = 0.0  # as if five seconds had passed
    shop.call("key_only", "anything that is written")
    assert str(shop.call("neither", "three").state) == "confirmed"
    checks = {one.name: one for one in examine(ledger, shop.app.hands.clock()).checks}
    assert "ann vouches" in checks["history"].sentence
