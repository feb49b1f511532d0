"""Fail-over to a standby that lost commits: real servers, a real provider, effects counted."""

import json
import logging
from types import SimpleNamespace

import pytest

from ascertain.errors import MayStillArrive
from ascertain.model.epoch import TIMELINE
from ascertain.report.examine import examine
from ascertain.testing.crash import point
from ascertain.testing.world import FIVE_CONTRACTS, World
from tests.postgres.pair import Pair
from tests.postgres.shop import BUDGET, FIVE, Shop


@pytest.fixture(scope="module")
def world():
    with World(dict(FIVE_CONTRACTS)) as world:
        yield world


@pytest.fixture(scope="module")
def after(world):
    """A shop whose ledger has failed over to a standby that lacks its last five actions."""
    pair = Pair()
    shop = Shop(pair.url(), world.url)
    kept = {name: shop.call(name, "kept") for name in FIVE}
    pair.cut()
    lost = {name: shop.call(name, "lost") for name in FIVE}
    before = pair.timeline(pair.primary)
    pair.fail_over()
    yield SimpleNamespace(pair=pair, shop=shop, kept=kept, lost=lost, before=before)
    shop.close()
    pair.remove()


@pytest.fixture
def pair(world):
    """A pair whose stream is cut, after a first call."""
    pair = Pair()
    pair.shop = Shop(pair.url(), world.url)
    pair.shop.call("neither", f"first of {id(pair)}")
    pair.cut()
    yield pair
    pair.shop.close()
    pair.remove()


@pytest.fixture
def later(monkeypatch):
    """Let time pass for a shop."""

    def pass_until(shop, at):
        clock = shop.app.hands.clock
        monkeypatch.setattr(shop.app.hands, "clock", lambda: max(clock(), at))
        monkeypatch.setattr(shop.app.hands, "_settings", {})

    return pass_until


def effects(world, contract, order):
    return [effect.ref for effect in world.effects(contract, order=order)]


def history(shop):
    checks = examine(shop.app.ledger, shop.app.hands.clock()).checks
    return next(check for check in checks if check.name == "history")


def test_nothing_is_doubled_and_nothing_untrue_is_said(after, world, caplog):
    """What is known by key is done again by the same key; what is blind goes to a person."""
    shop, lost, kept, standby = after.shop, after.lost, after.kept, after.pair.standby
    assert {str(action.state) for action in lost.values()} == {"confirmed"}, "it was acknowledged"
    ids = [action.record.id for action in lost.values()]
    assert after.pair.ask(standby, "SELECT id FROM action WHERE id = ANY(%s)", ids) == []
    assert after.pair.timeline(standby) == after.before + 1

    with caplog.at_level(logging.WARNING, logger="ascertain"):
        again = {name: shop.call(name, "lost") for name in FIVE}
    for name in FIVE:
        assert effects(world, name, "lost") == [lost[name].provider_ref], "one effect, whatever"
    told = {name: (str(one.state), one.provider_ref) for name, one in again.items()}
    blind = told.pop("neither")
    assert told == {name: ("confirmed", lost[name].provider_ref) for name in told}
    assert blind == ("unknown", None), "the ledger cannot know it, and says no more than that"
    assert shop.stand("neither", "lost") == [("unknown", "cannot_ask")]
    sends = world.arrivals("lookup_only", order="lost", method="POST")
    assert len(sends) == 1, "it was found by its key, and not sent again"

    for name in FIVE:
        same = shop.call(name, "kept")
        assert (same.how, same.provider_ref) == ("replayed", kept[name].provider_ref)
    logged = [json.loads(one.message) for one in caplog.records if "ledger_epoch" in one.message]
    (noticed,) = logged
    assert (noticed["why"], noticed["timeline"]) == (TIMELINE, after.before + 1)
    assert noticed["missing"] in ids, "this process was told of a commit that is not there"
    assert history(shop).verdict == "bad"
    assert "was acknowledged, and is lost" in history(shop).sentence
    assert list(shop.app.ledger.verify()) == []


def test_what_is_new_is_not_sent_blindly_until_the_horizon_is_over(after, world, later):
    """It may have been asked for before: nobody can tell a new intent from one that is missing."""
    shop = Shop(after.pair.url(), world.url)  # another process: it knows what the ledger says
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
    later(shop, shop.app.ledger.epoch.began_at + BUDGET.horizon_s)
    assert str(shop.call("neither", "a day later").state) == "confirmed"
    assert history(shop).verdict == "ok"
    shop.close()


def test_a_person_ends_what_nobody_can_find_out(after, world, later):
    """By a reference, or by "not done" once nothing of it can arrive any more."""
    shop = Shop(after.pair.url(), world.url)
    ref = after.lost["neither"].provider_ref
    done, other = shop.call("neither", "lost"), shop.call("neither", "never")
    shop.app.resolve(done.id, confirmed=ref, evidence="seen in the shop's list")
    assert shop.stand("neither", "lost") == [("confirmed", None)]
    with pytest.raises(MayStillArrive) as early:
        shop.app.resolve(other.id, not_done=True, evidence="not in the shop's list")
    later(shop, early.value.context["until"])
    shop.app.resolve(other.id, not_done=True, evidence="not in the shop's list")
    assert shop.stand("neither", "never") == [("rejected", None)]
    assert effects(world, "neither", "never") == []
    shop.close()


def test_an_answer_that_comes_after_the_fail_over_is_told_to_the_operator(pair, world, caplog):
    """Its action is missing: the caller hears unknown, the log has key and reference."""
    shop = pair.shop
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


def test_what_was_decided_before_is_decided_anew_until_somebody_vouches(pair, world):
    """Between the decision to send and its commit the ledger becomes another one."""
    shop, ledger = pair.shop, pair.shop.app.ledger
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

    assert ledger.settle_epoch(ledger.epoch.id, "ann", shop.app.hands.clock())
    assert not ledger.settle_epoch(ledger.epoch.id, "bob", shop.app.hands.clock()), "once"
    ledger._link._epoch_seen_at = 0.0  # as if five seconds had passed
    shop.call("key_only", "anything that is written")
    assert str(shop.call("neither", "after that").state) == "confirmed"
    assert "ann vouches" in history(shop).sentence
