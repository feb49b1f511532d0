"""`chains`, `chain`, `sessions`, `session`: wishes, as they are derived from their actions."""

import json

import pytest

from ascertain import Ascertain, Receipt
from tests.cli import shop as shops

LEDGER = ("--ledger", "sqlite:///ledger.db")


@pytest.fixture
def talked(here):
    """Two sessions: one with two turns and a chain, one in which something is in review."""
    shop = shops.make()
    with shop.app.session("chat-42", principal="u7", turn="t1"):
        shop.create_ticket("A123")
        shop.send_note("hello")
    with shop.app.session("chat-42", principal="u7", turn="t2"):
        shop.create_ticket("REFUSED")
    with shop.app.session("chat-43", principal="u8"):
        shop.send_mail("ann")
    session = shop.app.session("chat-44", principal="u9", turn="t1")
    session.scope = session.scope._replace(chain="order-7")
    with session:
        shop.create_ticket("B1")
        shop.create_ticket("B2")
    shop.app.close()


def told(done):
    assert done.code in (0, 1), done.complained
    return json.loads(done.out)


@pytest.fixture
def look(cli, talked):
    def run(*words):
        return cli(*words, *LEDGER)

    return run


def test_req_P03_what_a_wish_came_to_is_derived_from_its_actions(look):
    states = {wish["id"]: wish["state"] for wish in told(look("chains", "--json"))["chains"]}
    assert states == {
        "order-7": "completed",
        "chat-43": "needs_review",
        "chat-42/t2": "refused",
        "chat-42/t1": "partially_completed",
    }
    said = look("chains").said
    assert "4 wishes; read 6 actions of the last 7d" in said


@pytest.mark.parametrize(
    "words, ids",
    [
        (("--open",), ["chat-43", "chat-42/t1"]),
        (("--state", "completed"), ["order-7"]),
        (("--limit", "1"), ["order-7"]),
        (("--since", "1ms"), []),
    ],
    ids=" ".join,
)
def test_only_the_wishes_that_are_wanted(look, words, ids):
    assert [wish["id"] for wish in told(look("chains", *words, "--json"))["chains"]] == ids


def test_a_wish_is_drawn_over_time_with_every_event_in_order(look):
    done = look("chain", "chat-42/t1")
    assert done.code == 0
    (ticket,) = [line for line in done.out.splitlines() if line.endswith("confirmed T900")]
    (note,) = [line for line in done.out.splitlines() if line.endswith("unknown") and "?" in line]
    assert ticket.count("■") == 1  # settled once
    assert note.count("?") >= 3  # open until now
    events = told(look("chain", "chat-42/t1", "--json"))["events"]
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)
    assert [event["event"] for event in events[:3]] == ["prepare", "send", "confirm"]


def test_req_S05_a_chain_is_found_by_its_id(look):
    found = told(look("chain", "order-7", "--json"))["chain"]
    assert (found["chain"], found["session"], len(found["actions"])) == ("order-7", "chat-44", 2)


def test_a_session_shows_its_wishes_in_order_and_what_the_person_is_told(look):
    found = told(look("session", "chat-42", "--json"))
    assert [wish["id"] for wish in found["wishes"]] == ["chat-42/t1", "chat-42/t2"]
    said = look("session", "chat-42").said
    assert "turn chat-42/t1 partially_completed" in said
    assert "Inspection requested: ticket T900." in said
    assert "chain order-7 completed" in look("session", "chat-44").said


def test_sessions_say_what_is_open_in_them(look):
    found = {one["session"]: one for one in told(look("sessions", "--json"))["sessions"]}
    assert (found["chat-43"]["open"], found["chat-43"]["review"]) == (1, 1)
    assert (found["chat-42"]["actions"], found["chat-42"]["principals"]) == (3, ["u7"])
    assert "chat-44" not in look("sessions", "--open").said
    assert "3 sessions; read 6 actions" in look("sessions").said


@pytest.mark.parametrize("words", [("chain", "x"), ("trace", "chat-42/t9"), ("session", "x")])
def test_what_there_is_not(look, words):
    done = look(*words)
    assert done.code == 3
    assert "next: " in done.complained


@pytest.mark.parametrize(
    "words",
    [
        ("chains", "--state", "done"),
        ("sessions", "--since", "soon"),
        ("sli", "--window", "1h,soon"),
        ("sli", "--window", "0s"),
    ],
    ids=" ".join,
)
def test_bad_input(look, words):
    assert look(*words).code == 2


def test_what_is_redacted_stays_masked(cli, here):
    app = Ascertain("sqlite:///ledger.db", worker="none")

    @app.tool(identity=["phone"], redact=["phone"])
    def book_visit(phone: str) -> object:
        return Receipt(phone)

    with app.session("s", principal="u"):
        book_visit("+49 151 2345678")
    app.close()
    for words in (("chains",), ("chain", "s"), ("trace", "s"), ("session", "s"), ("sessions",)):
        for more in ((), ("--json",)):
            done = cli(*words, *more, *LEDGER)
            assert done.code == 0, done.complained
            assert "2345678" not in done.out
