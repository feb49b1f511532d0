"""`ascertain show` and `why`: how an action came to stand as it does, and what comes next."""

import json
import re
import sqlite3
import sys
import time

import pytest

from ascertain.model.tables import RULES
from ascertain.store.open import open_ledger
from tests.cli import shop as shops
from tests.cli.test_actions import width_of

LEDGER = ("--ledger", "sqlite:///ledger.db")


def test_the_timeline_has_every_event_with_time_who_move_and_evidence(cli, ledger):
    done = cli("show", ledger["confirmed"], *LEDGER)
    assert done.code == 0
    assert "nothing --prepare--> prepared" in done.out
    assert "prepared --send--> sent" in done.out
    assert "sent --confirm--> confirmed" in done.out
    assert "The provider answered and named its reference. [receipt]" in done.said
    assert "reference T900" in done.said


def test_a_lost_answer_is_told_with_its_evidence_its_contract_and_what_is_due(cli, ledger):
    done = cli("show", ledger["unknown"], *LEDGER)
    assert "sent --lose--> unknown" in done.out
    assert "No answer came in time; the request may have been carried out. [timeout]" in done.said
    assert "look-up by key, absence final after 1 min" in done.said
    assert re.search(r"1 attempt, 1 send, 1 in doubt, \d+ look-ups?", done.said)
    assert re.search(r"next look-up, (in|due)", done.said), (
        "filled a while ago, it may be due by now"
    )
    assert "told en Not confirmed as submitted yet; it is being checked." in done.said
    assert "told zh-CN 暂未确认提交" in done.said


@pytest.mark.parametrize("name", ["confirmed", "rejected", "unknown", "review"])
def test_a_story_fits_80_columns(cli, ledger, name):
    for command in ("show", "why"):
        lines = cli(command, ledger[name], *LEDGER).out.splitlines()
        assert max(map(width_of, lines)) <= 80


def test_the_story_as_json_holds_all_of_it(cli, ledger):
    story = json.loads(cli("show", ledger["review"], *LEDGER, "--json").out)
    assert story["action"]["id"] == ledger["review"]
    assert story["action"]["state"] == "unknown"
    assert [event["event"] for event in story["events"]] == ["prepare", "send", "lose", "note"]
    assert story["events"][2]["by"] == "call"
    assert story["events"][2]["at_utc"].endswith("Z")
    assert story["contract"]["tool"] == "send_mail"
    assert story["next"]["what"] == "review"
    assert story["next"]["reason"] == "cannot_ask"
    assert set(story["say"]) == {"en", "zh-CN"}


def test_an_id_may_be_given_by_its_beginning_if_that_is_unique(cli, ledger):
    whole = ledger["unknown"]
    others = [other for name, other in ledger.items() if name != "unknown"]
    short = next(
        whole[:n] for n in range(1, 25) if not any(o.startswith(whole[:n]) for o in others)
    )
    assert json.loads(cli("show", short.upper(), *LEDGER, "--json").out)["action"]["id"] == whole


def test_a_beginning_of_several_ids_is_refused_and_names_them(cli, ledger):
    done = cli("show", ledger["unknown"][:4], *LEDGER, "--json")
    assert done.code == 2
    told = json.loads(done.out)
    assert told["error"] == "ambiguous_id"
    assert set(told["actions"]) == set(ledger.values())


@pytest.mark.parametrize("command", ["show", "why"])
@pytest.mark.parametrize("wrong", ["ffff", "no such id!", "0" * 24])
def test_an_id_that_there_is_not(cli, ledger, command, wrong):
    done = cli(command, wrong, *LEDGER)
    assert done.code == 3
    assert "code: action_not_found" in done.err
    assert "next: `ascertain actions` lists them." in done.complained


@pytest.mark.parametrize(
    "name, rule, because, then",
    [
        (
            "confirmed", "sent --confirm--> confirmed",
            "the provider answered and named its reference",
            "next: look-up",
        ),
        (
            "rejected", "sent --reject--> rejected",
            "the tool said that the provider refused",
            "next: nothing: what is known is final.",
        ),
        (
            "unknown", "sent --lose--> unknown",
            "no answer came in time",
            "the provider has no record yet, but a late arrival is possible.",
        ),
        (
            "review", "sent --lose--> unknown",
            "no answer came in time",
            "next: a person decides: the answer was lost, and the provider can neither be asked",
        ),
    ],
)  # fmt: skip
def test_why_names_the_rule_the_reason_and_what_comes_next(cli, ledger, name, rule, because, then):
    done = cli("why", ledger[name], *LEDGER)
    assert done.code == 0
    assert rule in done.said
    assert because in done.said
    assert then in done.said
    row = next(row for row in RULES if row.name == rule)
    assert row.why in done.said
    assert done.said.count(". ") == 0, "one sentence"
    told = json.loads(cli("why", ledger[name], *LEDGER, "--json").out)
    assert (told["rule"], told["why"]) == (rule, row.why)


def test_what_was_only_observed_asks_for_nothing(cli, here):
    shop = shops.make()
    shop.pay("ann")
    shop.app.close()
    (found,) = json.loads(cli("actions", *LEDGER, "--json").out)["actions"]
    said = cli("show", found["id"], *LEDGER).said
    assert "nothing: it was only observed; nobody acts on it" in said
    assert "told en" not in said, "the caller said what it said"


def test_a_buried_action_is_told_by_what_was_kept(cli, ledger):
    store = open_ledger("sqlite:///ledger.db")
    assert store.bury(closed_before=time.time() + 60) == 1
    store.close()
    done = cli("show", ledger["rejected"], *LEDGER)
    assert done.code == 0
    assert "Its events have been removed" in done.out
    why = cli("why", ledger["rejected"], *LEDGER)
    assert "is rejected for good, and its events have been removed" in why.said
    assert "Its events" not in cli("show", ledger["confirmed"], *LEDGER).out


def test_what_a_provider_is_still_working_on_is_told_with_its_handle(cli, here):
    shop = shops.make()
    with shop.app.session("chat-42", principal="u7", tenant="acme", turn="m1"):
        ticket = shop.create_ticket("ACCEPTED")
    shop.app.close()
    said = cli("show", ticket.id, *LEDGER).said
    assert "handle job-7" in said
    assert "principal u7, session chat-42, turn m1, tenant acme" in said
    assert "next look-up, in 1 h: the provider accepted it and is still working" in said
    assert "told en The inspection is accepted and in progress." in said


def test_an_action_names_the_one_that_it_replaces(cli, here):
    shop = shops.make()
    ids = []
    for turn in ("m1", "m2"):
        with shop.app.session("chat-42", principal="u7", turn=turn):
            ids.append(shop.create_ticket("REFUSED").id)
    shop.app.close()
    assert f"replaces action {ids[0]}" in cli("show", ids[1], *LEDGER).said


def test_without_its_contract_nobody_can_say_what_comes_next(cli, ledger, here):
    db = sqlite3.connect(here / "ledger.db", isolation_level=None)
    db.execute("DELETE FROM contract")
    db.close()
    said = cli("show", ledger["unknown"], *LEDGER).said
    assert "contract not in this ledger" in said
    assert "next unclear: its contract is not in this ledger" in said
    assert "told en" not in said


def test_a_send_whose_process_was_killed_is_said_to_be_gone(cli, spawn, shop, here):
    spawn("-c", agent("KILLED"), command=sys.executable).wait(timeout=20)
    (found,) = json.loads(cli("actions", *LEDGER, "--json").out)["actions"]
    assert found["state"] == "sent"
    said = cli("show", found["id"], *LEDGER).said
    assert "which is gone" in said
    assert "next the answer counts as lost: its sender is gone" in said


def agent(order_id):
    """Source of a process that makes one call."""
    return (
        "from shop import app\n"
        "with app.session('chat-42', principal='u7') as session:\n"
        f"    session.call('create_ticket', {{'order_id': {order_id!r}}})\n"
    )
