"""What an audit finds in a recorded conversation, what it leaves alone, and how sure it is."""

import json

import pytest

from ascertain.model.contract import Contract, Repeat
from ascertain.replay.audit.answers import Known, Trust, read
from ascertain.replay.audit.judge import audit
from ascertain.replay.effects import By, effect_of
from ascertain.replay.formats.conversation import ToolAnswer
from tests.replay.test_formats import FOLDER, SAMPLES, SPOKEN

ORDER = {"order_id": "A123"}
TIMEOUT = "Error: request timed out"
ONCE = {"ticket_id": "T900"}


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


def asks(*calls):
    """The model asks for calls: (id, tool, arguments)."""
    return {
        "role": "assistant",
        "tool_calls": [
            {"id": named, "function": {"name": tool, "arguments": json.dumps(args)}}
            for named, tool, args in calls
        ],
    }


def told(id, answer):
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return {"role": "tool", "tool_call_id": id, "content": text}


def call(id, tool, args, answer):
    return [asks((id, tool, args)), told(id, answer)]


@pytest.fixture
def findings(tmp_path):
    """The findings of a conversation, as (kind, confidence)."""

    def judge(*messages, contracts=None):
        path = tmp_path / "chat.json"
        path.write_text(json.dumps([m for one in messages for m in as_list(one)]))
        return audit([path], contracts or {}).at_least(Trust.LOW)

    return judge


def as_list(one):
    return one if isinstance(one, list) else [one]


def kinds(found):
    return [(str(one.kind), str(one.trust)) for one in found]


def twice(first, second=ONCE, *, tool="create_ticket", one=ORDER, other=ORDER, between=()):
    return [
        user("Please open a ticket."),
        *call("c1", tool, one, first),
        *between,
        *call("c2", tool, other, second),
    ]


# ---------------------------------------------------------------------------------- the samples


@pytest.mark.parametrize("format", SPOKEN)
def test_every_format_shows_a_blind_retry_a_duplicate_and_a_false_statement(format):
    seen = audit([FOLDER / SPOKEN[format]], {})
    assert (seen.conversations, seen.calls, seen.writes, seen.replies) == (1, 6, 5, 3)
    found = {str(one.kind): one for one in seen.at_least(Trust.MEDIUM)}
    assert len(seen.findings) == len(found) == 3
    retry, twin = found["blind_retry"], found["probable_duplicate"]
    false = found["false_statement"]
    assert (retry.tool, retry.turn) == ("create_ticket", 1)
    assert "timed out" in retry.sentence
    assert [one.what for one in retry.evidence] == ["call", "answer", "call", "answer"]
    assert (twin.tool, twin.turn) == ("send_notice", 3)
    assert (false.tool, false.turn, false.rule) == ("refund_payment", 2, "not_done_while_unknown")
    assert false.evidence[-1].quote == "Unfortunately the refund failed."
    assert "Not confirmed" in false.say


def test_calls_alone_show_what_was_repeated_and_no_statement():
    seen = audit([FOLDER / SAMPLES["calls"]], {})
    assert kinds(seen.at_least(Trust.LOW)) == [
        ("probable_duplicate", "high"), ("blind_retry", "medium"),
    ]  # fmt: skip
    assert seen.replies == 0


def test_many_files_are_judged_together():
    seen = audit([FOLDER / file for file in SAMPLES.values()], {})
    assert sorted(seen.formats.values()) == sorted(SAMPLES)
    assert len(seen.findings) == 3 * len(SPOKEN) + 2


# ------------------------------------------------------------------------------------ repeats


@pytest.mark.parametrize(
    "answer, trust",
    [
        (TIMEOUT, "high"),
        ("ReadTimeout: HTTPSConnectionPool(...): Read timed out.", "high"),
        ({"error": "connection reset by peer"}, "high"),
        ({"status_code": 503, "error": "x"}, "high"),
        ("HTTP 502 Bad Gateway", "high"),
        ("请求超时", "high"),
        ("", "medium"),
        ("Error: something went wrong", "low"),
    ],
)
def test_a_write_again_after_an_answer_that_proves_nothing_is_a_blind_retry(
    findings, answer, trust
):
    (found,) = findings(*twice(answer))
    assert kinds([found]) == [("blind_retry", trust)]
    assert found.reasons[0] == "the arguments are the same"
    assert "guessed to be a write from its verb (create)" in found.effect


def test_a_write_again_after_it_was_confirmed_is_a_probable_duplicate(findings):
    assert kinds(findings(*twice(ONCE, {"ticket_id": "T901"}))) == [
        ("probable_duplicate", "medium")
    ]


def test_two_side_by_side_are_a_probable_duplicate(findings):
    both = asks(("c1", "create_ticket", ORDER), ("c2", "create_ticket", ORDER))
    (found,) = findings(user("Go on."), both, told("c1", ONCE), told("c2", {"ticket_id": "T901"}))
    assert found.kind == "probable_duplicate"
    assert "side by side" in found.sentence


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": 422, "message": "no such order"}},
        "Error: order not found",
        "ConnectError: connection refused",
        {"success": False, "error": "card declined"},
    ],
)
def test_after_a_refusal_a_second_try_is_none_of_our_business(findings, answer):
    assert findings(*twice(answer)) == []


def test_the_next_wish_of_the_person_is_another_matter(findings):
    again = [user("Please open another one."), *call("c2", "create_ticket", ORDER, ONCE)]
    assert (
        findings(user("Open a ticket."), call("c1", "create_ticket", ORDER, TIMEOUT), again) == []
    )


def test_reads_may_be_repeated(findings):
    assert findings(*twice(TIMEOUT, tool="get_order")) == []
    assert findings(*twice(ONCE, tool="order_status")) == []


def test_other_arguments_are_another_call(findings):
    assert findings(*twice(TIMEOUT, other={"order_id": "A124"})) == []
    assert findings(*twice(TIMEOUT, one={"amount": 1}, other={"amount": True})) == []


def test_another_wording_is_the_same_call_and_less_sure(findings):
    one, other = {**ORDER, "issue": "noise"}, {**ORDER, "issue": "it crackles"}
    (found,) = findings(*twice(TIMEOUT, one=one, other=other))
    assert kinds([found]) == [("blind_retry", "medium")]
    assert found.reasons[0] == "the arguments differ in wording only: issue"
    assert kinds(findings(*twice(ONCE, one=one, other=other))) == [("probable_duplicate", "low")]


def test_a_text_alone_is_no_wording_of_anything(findings):
    assert findings(*twice(TIMEOUT, one={"text": "a"}, other={"text": "b"})) == []


def test_a_retry_by_the_same_key_is_not_blind_and_one_by_a_new_key_is(findings):
    one = {**ORDER, "idempotency_key": "k1"}
    assert findings(*twice(TIMEOUT, one=one, other=one)) == []
    (found,) = findings(*twice(TIMEOUT, one=one, other={**ORDER, "idempotency_key": "k2"}))
    assert kinds([found]) == [("blind_retry", "high")]
    assert "it went under another idempotency key" in found.reasons


def test_a_look_in_between_makes_it_less_sure(findings):
    look = call("r1", "get_ticket", ORDER, {"tickets": []})
    (found,) = findings(*twice(TIMEOUT, between=look))
    assert kinds([found]) == [("blind_retry", "low")]
    assert "get_ticket was asked in between" in found.reasons
    assert "get_ticket" in found.evidence[2].quote


def test_one_answer_given_twice_may_have_been_known_again(findings):
    (found,) = findings(*twice(ONCE, ONCE))
    assert "the provider may have known it again" in found.reasons[-1]


def test_who_asks_for_two_gets_two(findings):
    (found,) = findings(user("I need two tickets."), *twice(ONCE, {"ticket_id": "T901"})[1:])
    assert found.trust == "low"
    assert found.reasons[-1] == "the person may have asked for more than one"


def test_three_tries_are_two_findings_each_against_the_one_before(findings):
    again = call("c3", "create_ticket", ORDER, ONCE)
    assert kinds(findings(*twice(TIMEOUT, TIMEOUT), again)) == [("blind_retry", "high")] * 2


def test_a_guarded_tool_repeats_nothing_blindly(findings):
    facts = {"workflow_state": "awaiting_confirmation", "actions": [{"state": "unknown"}]}
    assert findings(*twice(facts, facts)) == []


def test_a_name_that_says_nothing_is_taken_for_a_write_and_not_believed(findings):
    (found,) = findings(*twice(TIMEOUT, tool="zap"))
    assert kinds([found]) == [("blind_retry", "low")]
    assert "its name says nothing" in found.effect


# ---------------------------------------------------------------------------------- by contract


def contract(**said):
    return {"create_ticket": Contract(tool="create_ticket", noun="ticket", **said)}


def test_a_contract_says_what_is_the_same(findings):
    one, other = {**ORDER, "colour": "red"}, {**ORDER, "colour": "blue"}
    assert findings(*twice(TIMEOUT, one=one, other=other)) == []
    (found,) = findings(
        *twice(TIMEOUT, one=one, other=other), contracts=contract(identity=("order_id",))
    )
    assert found.kind == "blind_retry"
    assert found.effect == "a write by its contract"
    other = {"order_id": "A124", "colour": "red"}
    known = contract(identity=("order_id",))
    assert findings(*twice(TIMEOUT, one=one, other=other), contracts=known) == []


def test_a_contract_makes_a_duplicate_sure(findings):
    assert kinds(findings(*twice(ONCE, {"ticket_id": "T901"}), contracts=contract())) == [
        ("probable_duplicate", "high")
    ]


def test_a_contract_says_what_only_reads_and_what_may_be_repeated(findings):
    assert findings(*twice(TIMEOUT), contracts=contract(access="read")) == []
    assert findings(*twice(TIMEOUT), contracts=contract(repeat=Repeat.BY_NATURE)) == []


def test_a_contract_is_found_by_the_tool_s_own_name(findings):
    (found,) = findings(*twice(TIMEOUT, tool="mcp__crm__create_ticket"), contracts=contract())
    assert found.effect == "a write by its contract"


# ------------------------------------------------------------------------------------ statements


def statement(findings, answer, text, tool="create_ticket"):
    return findings(user("Please."), call("c1", tool, ORDER, answer), said(text))


@pytest.mark.parametrize(
    "answer, text, rule",
    [
        (TIMEOUT, "I have submitted your ticket.", "submitted_without_evidence"),
        (TIMEOUT, "Your ticket was not created.", "not_done_while_unknown"),
        (TIMEOUT, "抱歉，工单提交失败。", "not_done_while_unknown"),
        (TIMEOUT, "工单已提交。", "submitted_without_evidence"),
        ("Error: order not found", "Your ticket has been created.", "submitted_without_evidence"),
        (ONCE, "Unfortunately the ticket was not created.", "not_done_although_confirmed"),
        (TIMEOUT, "Please submit the ticket again.", "invites_repeat"),
    ],
)
def test_a_statement_that_the_answer_does_not_support(findings, answer, text, rule):
    (found,) = statement(findings, answer, text)
    assert (found.kind, found.rule, found.tool) == ("false_statement", rule, "create_ticket")
    assert found.trust == "medium"
    assert [one.what for one in found.evidence] == ["call", "answer", "said"]
    assert found.say


@pytest.mark.parametrize(
    "answer, text",
    [
        (ONCE, "Your ticket T900 is submitted."),
        (TIMEOUT, "It is not known yet whether the ticket was created; I am checking."),
        (TIMEOUT, "工单是否提交成功暂未确认，正在核实。"),
        ("Error: order not found", "The ticket was not created: there is no such order."),
        (ONCE, "Have a nice day."),
    ],
)
def test_a_statement_that_is_true(findings, answer, text):
    assert statement(findings, answer, text) == []


def test_a_statement_is_held_against_what_was_known_when_it_was_made(findings):
    early = [
        asks(("c1", "create_ticket", ORDER)),
        said("Your ticket is created."),
        told("c1", ONCE),
    ]
    (found,) = findings(user("Please."), early)
    assert found.rule == "submitted_without_evidence"
    assert "no answer had come yet" in found.reasons[0]


def test_a_sentence_about_this_wish_is_not_excused_by_an_earlier_one(findings):
    found = findings(
        user("Open a ticket."), call("c1", "create_ticket", ORDER, ONCE),
        user("Refund it."), call("c2", "refund_payment", ORDER, TIMEOUT), said("Done."),
    )  # fmt: skip
    assert [(one.rule, one.tool) for one in found] == [
        ("submitted_without_evidence", "refund_payment")
    ]


def test_without_a_write_nothing_is_said_of_one(findings):
    assert statement(findings, TIMEOUT, "I have sent it.", tool="get_order") == []


def test_a_reference_that_nobody_gave_is_told_with_little_trust(findings):
    found = statement(findings, ONCE, "Your ticket number is T777.")
    assert [(one.rule, one.trust) for one in found] == [("unknown_reference", "low")]


def test_quotes_are_capped_and_steer_no_terminal(findings):
    evil = {**ORDER, "issue": "\x1b[31m" + "x" * 5000}
    (found,) = findings(*twice(TIMEOUT, one=evil, other=evil))
    assert all(len(one.quote) <= 200 and "\x1b" not in one.quote for one in found.evidence)


# --------------------------------------------------------------------------- answers and effects


@pytest.mark.parametrize(
    "answer, known",
    [
        (None, Known.UNKNOWN),
        (ToolAnswer("", "", ""), Known.UNKNOWN),
        (ToolAnswer("", "null", ""), Known.UNKNOWN),
        (ToolAnswer("", "ok", ""), Known.CONFIRMED),
        (ToolAnswer("", '{"id": "T1", "note": "timeout in room 3"}', ""), Known.CONFIRMED),
        (ToolAnswer("", "A long story of a timeout. " * 20, ""), Known.CONFIRMED),
        (ToolAnswer("", "", "", True, "TimeoutError"), Known.UNKNOWN),
        (ToolAnswer("", "", "", True, "503"), Known.UNKNOWN),
        (ToolAnswer("", "order not found", "", True), Known.REFUSED),
        (ToolAnswer("", '{"error": {"code": 409}}', ""), Known.UNKNOWN),
        (ToolAnswer("", '{"status": 404, "error": "x"}', ""), Known.REFUSED),
        (ToolAnswer("", '{"ok": false, "error": "broken pipe"}', ""), Known.UNKNOWN),
    ],
)
def test_an_answer_proves_what_stands_in_it(answer, known):
    assert read(answer).known is known


@pytest.mark.parametrize(
    "tool, writes, by",
    [
        ("create_ticket", True, By.VERB),
        ("getOrder", False, By.VERB),
        ("mcp__crm__list_tickets", False, By.VERB),
        ("order_status", False, By.VERB),
        ("file_search", False, By.VERB),
        ("book_flight", True, By.VERB),
        ("get_or_create_user", True, By.VERB),
        ("crm.tickets.delete", True, By.VERB),
        ("frobnicate", True, By.NOTHING),
    ],
)
def test_a_tool_is_guessed_from_its_verb(tool, writes, by):
    effect = effect_of(tool, "", {})
    assert (effect.writes, effect.by) == (writes, by)


def test_the_recording_s_word_comes_before_the_verb():
    assert effect_of("create_ticket", "read", {}) == (False, By.RECORDING, "")
