"""`ascertain resolve`: a person's verdict, refused wherever nobody can know it yet."""

import json
import os
import re
import sys

import pytest

from tests.cli import shop as shops
from tests.cli.conftest import until

LEDGER = ("--ledger", "sqlite:///ledger.db")


def once_it_cannot_arrive(cli, *verdict):
    """The verdict, once what was sent is no longer on its way."""
    done = cli(*verdict)
    assert done.code == 0 or "code: may_still_arrive" in done.err or "may_still" in done.out
    return done if done.code == 0 else None


def state_of(cli, action_id):
    return json.loads(cli("show", action_id, *LEDGER, "--json").out)["action"]["state"]


def test_it_happened_by_the_providers_reference(cli, ledger):
    done = cli("resolve", ledger["review"], "--confirmed", "M77", *LEDGER)
    assert done.code == 0
    assert done.out.startswith("confirmed M77\n")
    assert "unknown --confirm--> confirmed" in done.said
    assert "a person found that it happened" in done.said
    assert state_of(cli, ledger["review"]) == "confirmed"


@pytest.mark.parametrize(
    "words, then",
    [
        (("--not-done",), "Say where you looked: --not-done --evidence TEXT."),
        (("--confirmed", " "), "Look it up at the provider: --confirmed REF."),
    ],
)
def test_a_verdict_that_lacks_something_says_what(cli, ledger, words, then):
    done = cli("resolve", ledger["review"], *words, *LEDGER)
    assert done.code == 2
    assert f"next: {then}" in done.complained


def test_it_did_not_happen_by_evidence_which_is_kept(cli, ledger):
    verdict = ("resolve", ledger["review"], "--not-done", "--evidence", "asked Li")
    done = until(lambda: once_it_cannot_arrive(cli, *verdict, *LEDGER, "--json"))
    told = json.loads(done.out)
    assert (told["action"]["state"], told["action"]["final"]) == ("rejected", 1)
    assert told["events"][-1]["by"] == "person"
    assert told["events"][-1]["evidence"] == ["evidence: asked Li"]
    assert "a person found that it did not happen" in told["sentence"]


@pytest.mark.parametrize("name", ["confirmed", "rejected"])
@pytest.mark.parametrize("verdict", [("--confirmed", "X1"), ("--not-done", "--evidence", "looked")])
def test_what_is_settled_is_never_rewritten(cli, ledger, name, verdict):
    done = cli("resolve", ledger[name], *verdict, *LEDGER)
    assert done.code == 4
    assert "what is known is never rewritten" in done.complained
    assert state_of(cli, ledger[name]) == name


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--confirmed", "T1", "--not-done", "--evidence", "x"),
        ("--evidence", "x"),
        ("--not-done",),
        ("--not-done", "--evidence", "  "),
        ("--confirmed", " "),
        ("--confirmed",),
    ],
    ids=" ".join,
)
def test_a_verdict_is_one_and_has_what_it_needs(cli, ledger, words):
    done = cli("resolve", ledger["review"], *words, *LEDGER)
    assert done.code == 2
    assert done.err.startswith("ascertain: ")
    assert state_of(cli, ledger["review"]) == "unknown"


def test_an_action_that_there_is_not(cli, ledger):
    assert cli("resolve", "ffff", "--confirmed", "T1", *LEDGER).code == 3


STUCK = """
from shop import app
with app.session("chat-42", principal="u7") as session:
    session.call("send_mail", {"to": "STUCK"})
"""


def test_not_done_is_refused_while_the_process_that_sent_it_lives(cli, spawn, shop, here):
    os.mkfifo(here / "stuck")  # the body reads from it, and nobody writes: it never ends
    child = spawn("-c", STUCK, command=sys.executable)

    def gave_up():
        done = cli("actions", *LEDGER, "--state", "unknown", "--json")
        return json.loads(done.out)["actions"] if done.code == 0 else None

    (found,) = until(gave_up)
    verdict = ("resolve", found["id"], "--not-done", "--evidence", "not in the outbox", *LEDGER)
    done = cli(*verdict)
    assert done.code == 4
    assert "code: sender_may_be_alive" in done.err
    assert f"process {child.pid}" in done.complained
    assert f"kill {child.pid}" in done.complained
    assert state_of(cli, found["id"]) == "unknown"

    said = cli("show", found["id"], *LEDGER).said
    assert f"may live process {child.pid} on" in said
    assert "(attempt 1): it could still send" in said

    child.kill()
    child.wait(timeout=10)
    done = cli(*verdict)
    assert done.code == 4, "what it sent just before its end may still arrive"
    assert "code: may_still_arrive" in done.err
    assert "Look at the provider again in" in done.complained
    assert "may live" not in cli("show", found["id"], *LEDGER).said, "that it is gone is written"
    assert until(lambda: once_it_cannot_arrive(cli, *verdict))
    assert state_of(cli, found["id"]) == "rejected"


def test_not_done_is_refused_while_a_request_may_be_on_its_way(cli, shop, here):
    """The contract says how long absence takes to be final: 60 s from the last possible send."""
    shop = shops.make()
    with shop.app.session("chat-42", principal="u7"):
        lost = shop.create_ticket("LOST-UNSEEN")
    shop.app.close()
    done = cli("resolve", lost.id, "--not-done", "--evidence", "not in the CRM", *LEDGER)
    assert done.code == 4
    assert "may still take effect until 20" in done.complained
    assert re.search(r"Look at the provider again in (59|60) s", done.complained)
    assert state_of(cli, lost.id) == "unknown"
    done = cli("resolve", lost.id, "--confirmed", "T7", *LEDGER)
    assert done.code == 0, "that it is there can be said at any time"


def test_what_was_refused_for_a_while_is_ended_by_a_person(cli, shop, here):
    """It is known not to be done: it cannot be confirmed, and need not be waited for."""
    shop = shops.make()
    with shop.app.session("chat-42", principal="u7"):
        busy = shop.create_ticket("BUSY")
    shop.app.close()
    done = cli("resolve", busy.id, "--confirmed", "T1", *LEDGER)
    assert done.code == 4
    assert "refused for a while (throttled): it was not done" in done.complained
    assert "--not-done --evidence TEXT ends it" in done.complained
    done = cli("resolve", busy.id, "--not-done", "--evidence", "no longer wanted", *LEDGER)
    assert done.code == 0
    assert "rejected --withdraw--> rejected" in done.said
    assert "nobody waits for it any more" in cli("why", busy.id, *LEDGER).said
    said = cli("show", busy.id, *LEDGER).said
    assert "withdrawn, final" in said
    assert "evidence: no longer wanted" in said


def test_that_it_happened_may_be_said_while_the_sender_lives(cli, spawn, shop, here):
    os.mkfifo(here / "stuck")
    spawn("-c", STUCK, command=sys.executable)
    (found,) = until(
        lambda: json.loads(
            cli("actions", *LEDGER, "--state", "unknown", "--json").out or '{"actions": []}'
        ).get("actions")
    )
    assert cli("resolve", found["id"], "--confirmed", "M1", *LEDGER).code == 0
