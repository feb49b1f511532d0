"""`ascertain sli`: sessions that completed their chained calls, over windows, with burn rates."""

import json

import pytest

from ascertain.model.contract import Contract
from ascertain.model.outcome import Kind
from ascertain.model.tables import State
from ascertain.report.sli import UNDER_WAY_S, Grade, grade, windows
from ascertain.report.wishes import Found, Member, Wish
from tests.cli import shop as shops
from tests.laws.records import NOW, record

LEDGER = ("--ledger", "sqlite:///ledger.db")
TOOL = Contract(tool="t", noun="t")
DONE = {"state": State.CONFIRMED, "attempt": 1}
REFUSED = {"state": State.REJECTED, "final": 1, "kind": Kind.BUSINESS}
BLOCKED = {
    "state": State.REJECTED, "final": 1, "kind": Kind.WITHDRAWN, "reason": "context_missing"
}  # fmt: skip
LOST = {"state": State.UNKNOWN}


def wish(*states, id="w", session="s", age_s=UNDER_WAY_S + 1, is_chain=True):
    members = tuple(
        Member(
            record=record(id=f"{id}-{n}", session=session, created_at=NOW - age_s, **changes),
            contract=TOOL,
        )
        for n, changes in enumerate(states)
    )
    return Wish(id=id, is_chain=is_chain, members=members)


@pytest.mark.parametrize(
    "states, age_s, expected",
    [
        ([DONE, DONE], 0, Grade.COMPLETED),
        ([DONE, REFUSED], 0, Grade.REFUSED),
        ([DONE, BLOCKED], 0, Grade.BROKEN),
        ([DONE, LOST], UNDER_WAY_S - 1, Grade.UNDER_WAY),
        ([DONE, LOST], UNDER_WAY_S + 1, Grade.BROKEN),
        ([DONE, {**LOST, "review": "asked"}], 0, Grade.BROKEN),
        ([{"state": State.COMPENSATED}, REFUSED], 0, Grade.REFUSED),
    ],
)
def test_req_S10_what_a_chain_counts_as(states, age_s, expected):
    assert grade(wish(*states, age_s=age_s), NOW) is expected


def test_req_S10_a_call_that_was_corrected_gives_way_to_its_correction():
    first = {"state": State.REJECTED, "final": 1, "kind": Kind.INVALID}
    corrected = wish(first, {**DONE, "replaces": "w-0"})
    assert grade(corrected, NOW) is Grade.COMPLETED


def test_req_S10_a_session_is_complete_when_all_its_chains_are():
    found = [
        wish(DONE, DONE, id="a", session="1"), wish(DONE, LOST, id="b", session="1"),
        wish(DONE, DONE, id="c", session="2"), wish(DONE, REFUSED, id="d", session="3"),
        wish(DONE, LOST, id="e", session="4", age_s=1),
        wish(LOST, id="single", session="5", is_chain=False),
    ]  # fmt: skip
    (one,) = windows(Found(wishes=tuple(found), scanned=11), [("1h", 3600.0)], NOW)
    assert (one.sessions.valid, one.sessions.under_way) == (3, 1)
    assert one.sessions.sli == pytest.approx(2 / 3)
    assert one.wishes.sli == pytest.approx(3 / 4)
    assert one.wishes.burn_rate(0.99) == pytest.approx(25)
    assert one.broken == ("b",)


def test_req_S10_each_window_counts_what_began_in_it():
    found = [wish(DONE, DONE, id="new", age_s=60), wish(DONE, LOST, id="old", age_s=7200)]
    hour, day = windows(
        Found(wishes=tuple(found), scanned=4), [("1h", 3600.0), ("1d", 86400.0)], NOW
    )
    assert (hour.wishes.sli, hour.wishes.burn_rate(0.99)) == (1.0, 0.0)
    assert day.wishes.sli == 0.5


def test_req_S10_nothing_to_count_is_no_hundred_per_cent():
    (one,) = windows(Found(wishes=(), scanned=0), [("1h", 3600.0)], NOW)
    assert (one.sessions.sli, one.sessions.burn_rate(0.99)) == (None, None)


def talk(*sessions):
    shop = shops.make()
    for name, calls in sessions:
        with shop.app.session(name, principal="u7"):
            for call in calls:
                call(shop)
    shop.app.close()


def ticket(shop):
    shop.create_ticket("A123")


def mail(shop):
    shop.send_mail("ann")


def note(shop):
    shop.send_note("hello")


def test_req_S10_the_command_exits_with_1_where_errors_come_too_fast(cli, here):
    talk(("fine", [ticket, note]), ("alone", [ticket]))
    done = cli("sli", *LEDGER)
    assert done.code == 0, done.complained
    assert "1h sessions 100.00% 0.00 1" in done.said
    assert "read 3 actions" in done.said
    talk(("stuck", [ticket, mail]))
    done = cli("sli", *LEDGER)
    assert done.code == 1
    assert "Broken: stuck" in done.said
    told = json.loads(cli("sli", "--window", "1h,3d", *LEDGER, "--json").out)
    assert [one["window"] for one in told["windows"]] == ["1h", "3d"]
    sessions = told["windows"][0]["sessions"]
    assert (sessions["sli"], sessions["broken"]) == (0.5, 1)
    assert sessions["burn_rate"] == pytest.approx(50)
    assert cli("sli", "--objective", "0.4", *LEDGER).code == 0
