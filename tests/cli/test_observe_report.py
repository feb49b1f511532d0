"""`ascertain observe-report`: what was seen, and what guarding would have prevented."""

import json
import sys

import pytest

from ascertain import Refused
from tests.cli import shop as shops

LEDGER = ("--ledger", "sqlite:///ledger.db")


@pytest.fixture
def shop(here):
    made = shops.make()
    yield made
    made.app.close()


def lose(shop, to):
    with pytest.raises(TimeoutError):
        shop.pay(to, how="lost")


def report(cli, *words):
    return json.loads(cli("observe-report", *LEDGER, *words, "--json").out)


def test_req_S17_calls_that_are_well_need_no_guard(cli, shop):
    shop.pay("ann")
    shop.pay("bob")
    done = cli("observe-report", *LEDGER)
    assert done.code == 0
    assert done.out.startswith("2 calls observed\n")
    assert "Nothing was seen that guarding would have changed." in done.said


def test_req_S17_an_empty_ledger_has_nothing_to_report(cli, shop):
    shop.app.open()
    assert cli("observe-report", *LEDGER).code == 0


def test_where_nothing_was_observed_it_is_said_how_to(cli, ledger):
    """Guarded calls are no observed ones: silence is not the news that all is well."""
    done = cli("observe-report", *LEDGER)
    assert done.code == 0
    assert "Nothing was observed, so nothing can be said: put @app.observe on" in done.said
    assert "Nothing was seen that guarding would have changed" not in done.said


def test_req_S17_a_repeat_of_what_was_confirmed_is_listed_with_its_times(cli, shop):
    shop.pay("ann")
    shop.pay("ann")
    done = cli("observe-report", *LEDGER)
    assert done.code == 1
    assert "after a call that was confirmed by then; this one ended confirmed." in done.said
    (again,) = report(cli)["again"]
    assert again["earlier_at"] < again["later_at"]
    assert again["guarded"] == "turn", "this code knows no turns, so that is said"
    assert "no turns are known here" in done.said


def test_req_S17_within_a_turn_guarding_gives_back_the_first_answer(cli, shop):
    with shop.app.session("chat-42", principal="u7", turn="m1"):
        shop.pay("ann")
        shop.pay("ann")
    with shop.app.session("chat-42", principal="u7", turn="m2"):
        shop.pay("ann")
    assert [found["guarded"] for found in report(cli)["again"]] == ["replay", "new"]
    said = cli("observe-report", *LEDGER).said
    assert "1 call repeated what was already confirmed: guarding would have given back" in said
    assert "1 call repeated in another turn what was already confirmed" in said


def test_req_S17_another_principal_is_another_intent(cli, shop):
    for principal in ("u7", "u8"):
        with shop.app.session("chat-42", principal=principal):
            shop.pay("ann")
    assert report(cli)["again"] == []


def test_req_S17_a_repeat_after_a_lost_answer_is_a_duplicate_in_waiting(cli, shop):
    lose(shop, "ann")
    shop.pay("ann")
    done = cli("observe-report", *LEDGER)
    assert done.code == 1
    assert "No answer came in time" in done.said
    assert "The caller called again after" in done.said
    found = report(cli)
    (lost,) = found["lost"]
    assert lost["again"] == [found["again"][0]["later"]]
    assert found["again"][0]["guarded"] == "join"
    assert "1 answer was lost" in done.said


def test_req_S17_a_lost_answer_that_nobody_minded(cli, shop):
    lose(shop, "ann")
    done = cli("observe-report", *LEDGER)
    assert done.code == 1
    assert "The caller left it at that." in done.said
    assert report(cli)["tools"] == [
        {
            "tool": "pay", "calls": 1, "confirmed": 0, "rejected": 0, "lost": 1, "hidden": 0,
            "extra_sends": 0, "errors": {"timeout": 1},
        }
    ]  # fmt: skip


def test_req_S17_a_call_after_a_refusal_is_no_repeat(cli, shop):
    with pytest.raises(Refused):
        shop.pay("ann", how="refused")
    shop.pay("ann")
    found = report(cli)
    assert (found["again"], found["lost"]) == ([], [])
    assert found["tools"][0]["rejected"] == 1


def test_req_S17_guarded_calls_are_not_in_the_report(cli, shop):
    with shop.app.session("chat-42", principal="u7"):
        shop.create_ticket("A123")
        shop.send_mail("ann")
    assert report(cli)["calls"] == 0


KILLED = """
import os, signal
from ascertain import Ascertain
app = Ascertain("sqlite:///ledger.db", worker="none")

@app.observe()
def pay(to: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)

pay("ann")
"""


def test_req_S17_a_process_that_was_killed_in_its_call_lost_the_answer(cli, spawn):
    assert spawn("-c", KILLED, command=sys.executable).wait(timeout=20) == -9
    (lost,) = report(cli)["lost"]
    assert lost["reason"] == "lease_expired"


HIDDEN = """
import httpx
from ascertain import Ascertain
app = Ascertain("sqlite:///ledger.db", worker="none")
crm = app.watch(httpx.Client())

@app.observe()
def pay(to: str) -> dict[str, str]:
    for _ in range(3):
        reply = crm.post("{url}/tickets", json={{"to": to}})
    return reply.json()

pay("ann")
"""


def test_req_F14_sends_below_an_attempt_are_counted(cli, spawn, make_world):
    world = make_world()
    assert spawn("-c", HIDDEN.format(url=world.url), command=sys.executable).wait(20) == 0
    found = report(cli)
    assert (found["tools"][0]["hidden"], found["tools"][0]["extra_sends"]) == (1, 2)
    assert "1 call sent more than once below (2 sends too many)" in cli(
        "observe-report", *LEDGER
    ).said  # fmt: skip


@pytest.mark.parametrize("since, calls", [("1h", 1), ("2020-01-01", 1), ("2099-01-01T08:00", 0)])
def test_req_S17_only_what_came_since(cli, shop, since, calls):
    shop.pay("ann")
    assert report(cli, "--since", since)["calls"] == calls


def test_a_since_that_means_nothing(cli, shop):
    shop.app.open()
    done = cli("observe-report", *LEDGER, "--since", "yesterday")
    assert done.code == 2
    assert "neither a length of time nor a date" in done.complained


def test_a_long_list_is_cut_and_says_so(cli, shop):
    for _ in range(22):
        shop.pay("ann")
    assert "... and 1 more (--json has all)" in cli("observe-report", *LEDGER).out
    assert len(report(cli)["again"]) == 21


def test_the_report_fits_80_columns(cli, shop):
    lose(shop, "ann")
    shop.pay("ann")
    shop.pay("ann")
    assert max(map(len, cli("observe-report", *LEDGER).out.splitlines())) <= 80
