"""`ascertain approve` and `ascertain breakers`: a person's word on calls that wait."""

import json

import pytest

from ascertain import Ascertain, Breaker, Budget, State

LEDGER = ("--ledger", "sqlite:///ledger.db")
ONCE = Budget(turn_sends=1, turn_s=1.0, send_deadline_s=0.5)


class Till:
    """A tool that waits for approval, and one whose provider is silent."""

    def __init__(self):
        self.paid = []
        self.silent = True
        self.app = Ascertain("sqlite:///ledger.db", worker="none", lease_s=0.3)

        @self.app.tool(identity=["order"], approval=True, redact=["card"], budget=ONCE)
        def refund(order: str, amount: int, card: str) -> dict:
            self.paid.append((order, amount))
            return {"id": "R1"}

        @self.app.tool(identity=["n"], breaker=Breaker(after=2), budget=ONCE)
        def notify(n: int) -> dict:
            if self.silent:
                raise TimeoutError
            return {"id": f"N{n}"}

        self.refund, self.notify = refund, notify

    def call(self, tool, **arguments):
        with self.app.session("chat", principal="u7"):
            return tool(**arguments)


@pytest.fixture
def till(here):
    till = Till()
    yield till
    till.app.close()


@pytest.fixture
def waits(till):
    return till.call(till.refund, order="A1", amount=50, card="4111-1111").id


@pytest.fixture
def held(till):
    for n in range(2):
        till.call(till.notify, n=n)
    return till.call(till.notify, n=9).id


def test_show_says_what_is_to_be_approved_and_masks_what_is_personal(cli, waits, till):
    shown = cli("show", waits, *LEDGER)
    assert till.app.approval_digest(waits) in shown.said
    assert 'to approve amount 50; card "[masked]"; order "A1"' in shown.said
    assert "4111" not in shown.out
    asked = json.loads(cli("show", waits, *LEDGER, "--json").out)["approval"]
    assert asked["arguments"] == {"order": "A1", "amount": 50, "card": "[masked]"}
    assert asked["digest"] == till.app.approval_digest(waits)


def test_what_is_approved_by_its_digest_is_sent_by_the_worker(cli, waits, till):
    digest = till.app.approval_digest(waits)
    done = cli("approve", waits, "--by", "li", "--digest", digest, *LEDGER)
    assert (done.code, till.paid) == (0, [])
    assert "a person approved this exact call" in done.said
    till.app.recover()
    assert till.paid == [("A1", 50)]
    shown = cli("show", waits, *LEDGER).said
    assert "by li" in shown
    assert "approved in event 2" in shown


def test_another_digest_is_refused_and_nothing_is_written(cli, waits, till):
    done = cli("approve", waits, "--by", "li", "--digest", "0" * 32, *LEDGER)
    assert done.code == 4
    assert "another call was looked at" in done.complained
    assert len(till.app.ledger.events(waits)) == 1


def test_what_is_declined_is_withdrawn_with_the_reason(cli, waits, till):
    done = cli(
        "approve", waits, "--by", "li", "--decline", "--evidence", "twice", *LEDGER, "--json"
    )
    told = json.loads(done.out)
    assert (told["action"]["state"], told["action"]["reason"]) == ("rejected", "declined")
    assert told["events"][-1]["evidence"] == ["evidence: twice", "by li"]
    assert cli("approve", waits, "--by", "li", "--decline", *LEDGER).code == 4


@pytest.mark.parametrize(
    "words",
    [("--by", "li"), ("--digest", "x"), ("--by", "li", "--decline", "--release"), ()],
    ids=" ".join,
)
def test_wrong_usage_does_nothing(cli, waits, till, words):
    assert cli("approve", waits, *words, *LEDGER).code == 2
    assert len(till.app.ledger.events(waits)) == 1


def test_breakers_are_listed_and_a_person_closes_one(cli, held, till):
    listed = cli("breakers", *LEDGER)
    assert listed.code == 1
    assert "open notify" in listed.said
    assert "Too many sends in a row had no definite answer" in listed.said
    assert cli("breakers", "--close", "notify", *LEDGER).code == 2
    assert cli("breakers", "--close", "other", "--by", "li", *LEDGER).code == 4
    assert cli("breakers", "--close", "notify", "--by", "li", *LEDGER).code == 0
    (told,) = json.loads(cli("breakers", *LEDGER, "--json").out)["breakers"]
    assert (told["circuit"], told["by"]) == ("closed", "li")


def test_no_breaker_has_ever_opened(cli, waits):
    listed = cli("breakers", *LEDGER)
    assert (listed.code, listed.said) == (0, "No breaker has ever opened.")


def test_what_came_while_it_was_open_is_released_once_it_is_closed(cli, held, till):
    refused = cli("approve", held, "--by", "li", "--release", *LEDGER)
    assert refused.code == 4
    assert "is not closed" in refused.complained
    cli("breakers", "--close", "notify", "--by", "li", *LEDGER)
    till.silent = False
    till.app.hands.breaking.refresh()
    till.app.recover()
    assert till.app.action(held).state is State.PREPARED
    assert cli("approve", held, "--by", "li", "--release", *LEDGER).code == 0
    till.app.recover()
    assert till.app.action(held).state is State.CONFIRMED


def test_what_waits_is_not_confirmed_by_hand_but_may_be_said_to_be_done_elsewhere(cli, held, till):
    done = cli("resolve", held, "--confirmed", "N77", *LEDGER)
    assert done.code == 4
    assert "cannot be confirmed" in done.complained
    done = cli("resolve", held, "--not-done", "--evidence", "done by hand: N77", *LEDGER)
    assert done.code == 0
    assert till.app.action(held).kind == "withdrawn"


def test_the_doctor_says_which_tools_are_closed(cli, held):
    checks = json.loads(cli("doctor", *LEDGER, "--json").out)["checks"]
    (said,) = [check for check in checks if check["name"] == "breakers"]
    assert said["verdict"] == "warn"
    assert said["sentence"].startswith("notify is open: Too many sends")
