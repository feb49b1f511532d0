"""`ascertain review`: a person's cases: owner, deadline, permitted verdicts, evidence."""

import json

import pytest

from ascertain.model.operations import Advanced
from ascertain.model.tables import By
from ascertain.rules.cases import REVIEW_WITHIN_S
from ascertain.rules.chain import advance_of
from ascertain.rules.evidence import open_review
from ascertain.rules.moves import dispute
from ascertain.runtime.clock import LedgerClock
from ascertain.store.open import open_ledger
from ascertain.testing.conformance import samples
from tests.cli import shop as shops

LEDGER = ("--ledger", "sqlite:///ledger.db")


@pytest.fixture
def review(cli):
    def run(*words):
        return cli("review", *words, *LEDGER)

    return run


def told(done):
    assert done.code in (0, 1), done.complained
    return json.loads(done.out)


def test_req_F16_the_list_has_what_waits_for_a_person_and_nothing_else(review, ledger):
    (case,) = told(review("--json"))["cases"]
    assert case["action"] == ledger["review"]
    assert (case["owner"], case["overdue"]) == (None, False)
    assert case["by_at"] - case["opened_at"] == pytest.approx(REVIEW_WITHIN_S)
    assert case["verdicts"] == ["confirmed", "not_done"]
    done = review()
    assert done.code == 0
    assert "send_mail" in done.said
    assert "1 case" in done.said


def test_req_F16_a_case_carries_request_id_what_it_is_about_and_the_trail(review, ledger):
    case = told(review("show", ledger["review"], "--json"))
    assert case["request_id"] == case["story"]["action"]["key"]
    assert case["about"] == {"to": "ann"}
    assert [event["event"] for event in case["story"]["events"]][:3] == ["prepare", "send", "lose"]
    said = review("show", ledger["review"]).said
    assert f"request id {case['request_id']}" in said
    assert "about to ann" in said
    assert "owner nobody yet" in said
    assert "verdicts --confirmed REF, --not-done --evidence TEXT" in said
    assert "sent --lose--> unknown" in said


def test_req_F16_a_case_is_given_to_somebody_until_when(review, ledger):
    asked_at = LedgerClock()()
    case = told(review("assign", ledger["review"], "--to", "li", "--within", "4h", "--json"))
    assert case["owner"] == "li"
    assert case["by_at"] == pytest.approx(asked_at + 4 * 3600, abs=60)
    (listed,) = told(review("--json"))["cases"]
    assert listed["owner"] == "li"
    again = told(review("assign", ledger["review"], "--to", "wang", "--json"))
    assert again["owner"] == "wang"
    assert again["by_at"] == pytest.approx(case["by_at"])  # the deadline stands
    assert again["story"]["events"][-1]["reason"] == "review_assigned"


def test_a_case_that_is_overdue_is_said_by_the_exit_code(review, ledger):
    review("assign", ledger["review"], "--to", "li", "--within", "1ms")
    done = review()
    assert done.code == 1
    assert "1 overdue" in done.said
    assert told(review("--json"))["overdue"] == 1


def test_a_verdict_closes_the_case(review, ledger):
    done = review("verdict", ledger["review"], "--confirmed", "M77")
    assert done.code == 0, done.complained
    assert done.out.startswith("confirmed M77\n")
    assert "Nothing waits for a person" in review().said
    assert "It is no case" in review("show", ledger["review"]).said
    assert "verdicts none: it is settled" in review("show", ledger["review"]).said


WORDS = {
    "confirmed": ("--confirmed", "T1"),
    "not_done": ("--not-done", "--evidence", "asked Li"),
}


@pytest.mark.parametrize("name", ["confirmed", "rejected", "unknown", "review"])
@pytest.mark.parametrize("verdict", WORDS)
def test_req_F16_what_is_not_permitted_is_refused_and_what_is_permitted_is_taken_in_time(
    review, ledger, name, verdict
):
    case = told(review("show", ledger[name], "--json"))
    done = review("verdict", ledger[name], *WORDS[verdict])
    if verdict not in case["verdicts"]:
        assert done.code == 4
        return
    # "not done" may have to wait until nothing can arrive any more; nothing else stands against it
    assert done.code == 0 or "may still" in done.complained


@pytest.mark.parametrize("name", ["confirmed", "rejected", "unknown"])
def test_what_is_no_case_cannot_be_given_to_anybody(review, ledger, name):
    done = review("assign", ledger[name], "--to", "li")
    assert done.code == 4
    assert "is no case" in done.complained


@pytest.mark.parametrize(
    "words",
    [
        ("show",), ("assign",), ("verdict",), ("decide",),
        ("assign", "ID"), ("assign", "ID", "--to", " "), ("assign", "ID", "--to", "li",
         "--within", "soon"), ("assign", "ID", "--to", "li", "--within", "0s"),
        ("verdict", "ID"), ("verdict", "ID", "--confirmed", "T1", "--not-done"),
        ("verdict", "ID", "--not-done"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_bad_input_changes_nothing(review, ledger, words):
    before = told(review("show", ledger["review"], "--json"))["story"]["events"]
    done = review(*(ledger["review"] if word == "ID" else word for word in words))
    assert done.code == 2
    assert done.err.startswith("ascertain: ")
    assert told(review("show", ledger["review"], "--json"))["story"]["events"] == before


def test_a_case_that_there_is_not(review, ledger):
    assert review("show", "ffff").code == 3


def test_a_contradiction_is_a_case_in_which_both_verdicts_are_open(cli, review, shop, here):
    app = shops.make()
    with app.app.session("chat-42", principal="u7"):
        action = app.create_ticket("A123")
    app.app.close()
    twice = {"ref": "T950", "key": action.key, "order_id": "A123"}
    (here / "provider" / "T950.json").write_text(json.dumps(twice))
    assert cli("recount", shop).code == 1
    (case,) = told(review("--json"))["cases"]
    assert (case["reason"], case["disputed"]) == ("duplicate_effect", True)
    assert case["verdicts"] == ["confirmed", "not_done"]
    assert review("verdict", action.id, "--confirmed", "T900").code == 0
    assert told(review("--json"))["cases"] == []


def test_req_F24_a_verdict_against_what_is_settled_closes_the_case_and_is_what_is_said(
    cli, review, shop, here
):
    """Confirmed, gone at the provider, and a person finds that it was never made."""
    app = shops.make()
    with app.app.session("chat-42", principal="u7"):
        action = app.create_ticket("A123")
    app.app.close()
    (here / "provider" / "T900.json").unlink()
    clock = LedgerClock()
    ledger = open_ledger("sqlite:///ledger.db")
    record = ledger.get(action.id)
    gone = dispute(record, "confirmed_but_absent", clock(), {}, By.LOOKUP)
    samples.submit(ledger, advance_of(record, gone), Advanced)
    ledger.close()
    assert review("verdict", action.id, "--not-done", "--evidence", "asked Li").code == 0
    assert told(review("--json"))["cases"] == []
    assert told(cli("actions", "--review", "--json", *LEDGER))["actions"] == []
    shown = told(cli("show", action.id, "--json", *LEDGER))
    record = shown["action"]
    assert (record["state"], record["provider_ref"]) == ("confirmed", "T900"), "never rewritten"
    assert shown["say"]["en"] == "A person found that the inspection was not made."
    assert shown["say"]["zh-CN"] == "经人工核查，检测申请没有提交。"
    (wish,) = told(cli("chains", "--json", *LEDGER))["chains"]
    assert wish["state"] == "refused"
    assert cli("recount", shop).code == 0, "the provider agrees with what the person found"
    (here / "provider" / "T900.json").write_text(
        json.dumps({"ref": "T900", "key": action.key, "order_id": "A123"})
    )
    assert cli("recount", shop).code == 1
    (case,) = told(review("--json"))["cases"]
    assert case["reason"] == "found_after_settled", "evidence against the person opens it again"


def test_what_may_be_more_than_one_effect_is_as_it_should_be_or_one_too_many(review, here):
    """A case that nothing contradicts; it can be ended, and never silently."""
    app = shops.make()
    with app.app.session("chat-42", principal="u7"):
        ids = [app.create_ticket(order).id for order in ("A1", "A2")]
        plain = app.create_ticket("A3").id
    app.app.close()
    ledger = open_ledger("sqlite:///ledger.db")
    for one in ids:
        record = ledger.get(one)
        opened = open_review(record, reason="several_effects", now=LedgerClock()())
        samples.submit(ledger, advance_of(record, opened), Advanced)
    ledger.close()
    assert {tuple(case["verdicts"]) for case in told(review("--json"))["cases"]} == {
        ("confirmed", "too_many")
    }
    assert review("verdict", ids[0], "--not-done", "--evidence", "x").code == 4
    assert review("verdict", plain, "--too-many", "--evidence", "x").code == 4
    assert review("verdict", ids[0], "--too-many").code == 2
    assert review("verdict", ids[0], "--confirmed", "T900").code == 0
    assert review("verdict", ids[1], "--too-many", "--evidence", "two mails").code == 0
    (case,) = told(review("--json"))["cases"]
    assert (case["action"], case["reason"], case["disputed"]) == (ids[1], "one_too_many", True)
    assert "more effects" in case["sentence"]
    assert review("verdict", ids[1], "--confirmed", "T901", "--evidence", "put right").code == 0
    assert told(review("--json"))["cases"] == []
