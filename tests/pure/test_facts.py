"""All that a model receives: what is known, and a closed list of what may be done next."""

from dataclasses import replace

import pytest

from ascertain.model.contract import Budget, Contract, LookupPromise, OnUnknown
from ascertain.model.outcome import Evidence, Kind
from ascertain.model.tables import State
from ascertain.rules.facts import action_facts, facts_of, next_allowed, part_of, query
from tests.laws.records import NOW, record

BLIND = Contract(tool="send_notice", noun="notice")
ASKED = replace(BLIND, lookup=LookupPromise(), budget=Budget(unanswered=3))
SEARCH = Contract(tool="find_order", noun="order", access="read")
LOST = {"state": State.UNKNOWN, "attempt": 1, "first_sent_at": NOW - 5}


def allowed(contract, **changes):
    return next_allowed(record(**changes), contract, NOW)


def rejected(kind, **changes):
    return {"state": State.REJECTED, "final": 1, "kind": kind, **changes}


# ------------------------------------------------------------------------------------- what is next


def test_a_question_has_the_name_of_what_is_asked_for():
    assert query(ASKED) == "query_notice"


def test_req_P10_what_is_unknown_may_be_asked_for_marked_or_given_to_a_person():
    assert allowed(ASKED, **LOST) == ["query_notice", "mark_pending", "manual_review"]
    assert allowed(BLIND, **LOST) == ["mark_pending", "manual_review"]


def test_nothing_unknown_invites_to_call_again():
    for evidence in Evidence:
        assert "call_again" not in allowed(ASKED, **LOST, evidence=evidence)


def test_what_is_being_worked_on_may_also_be_waited_for():
    assert allowed(ASKED, **LOST, evidence=Evidence.WORKING) == [
        "query_notice", "wait", "mark_pending", "manual_review",
    ]  # fmt: skip


def test_when_the_questions_are_spent_none_is_offered():
    assert allowed(ASKED, **LOST, unanswered=3) == ["mark_pending", "manual_review"]


@pytest.mark.parametrize("state", [State.PREPARED, State.SENT])
def test_what_is_under_way_is_waited_for(state):
    assert allowed(ASKED, state=state) == ["wait", "mark_pending"]


@pytest.mark.parametrize("state", [State.CONFIRMED, State.COMPENSATED])
def test_after_what_is_settled_there_is_nothing_to_do(state):
    assert allowed(ASKED, state=state) == []


@pytest.mark.parametrize(
    "kind, entries",
    [
        (Kind.BUSINESS, ["ask_person"]),
        (Kind.ALREADY_EXISTS, ["ask_person"]),
        (Kind.AUTH, ["ask_person"]),
        (Kind.INVALID, ["correct_arguments", "ask_person"]),
        (Kind.WITHDRAWN, ["call_again", "ask_person"]),
        (Kind.ABSENT, ["call_again", "ask_person"]),
        (Kind.TOOL_ERROR, ["manual_review"]),
    ],
)
def test_after_a_final_refusal_its_kind_says_what_is_of_use(kind, entries):
    assert allowed(ASKED, **rejected(kind)) == entries


def test_a_temporary_refusal_is_waited_for():
    entries = allowed(ASKED, **rejected(Kind.THROTTLED, final=0))
    assert entries == ["wait", "mark_pending", "manual_review"]


@pytest.mark.parametrize(
    "changes",
    [{"attempt": 6}, {"review": "budget_spent"}, {"first_sent_at": NOW - 86400}],
    ids=["no send is left", "a person has it", "its time is over"],
)
def test_a_temporary_refusal_that_is_not_sent_again_is_not_waited_for(changes):
    entries = allowed(ASKED, **rejected(Kind.THROTTLED, final=0, **changes))
    assert entries == ["mark_pending", "manual_review"]


def test_contradicting_records_go_to_a_person_whatever_the_state():
    for state in State:
        entries = allowed(ASKED, state=state, disputed=1)
        assert entries == ["query_notice", "manual_review"]
        assert allowed(BLIND, state=state, disputed=1) == ["manual_review"]


@pytest.mark.parametrize(
    "changes, entries",
    [
        ({"state": State.CONFIRMED}, []),
        ({"state": State.REJECTED, "final": 0}, ["wait"]),
        ({"state": State.REJECTED, "final": 1}, ["ask_person"]),
    ],
)
def test_a_read_is_had_waited_for_or_asked_of_a_person(changes, entries):
    assert allowed(SEARCH, **changes) == entries


# --------------------------------------------------------------------------------------- one action


def test_a_confirmed_action_is_told_with_its_reference_and_without_a_reason():
    known = record(state=State.CONFIRMED, attempt=1, provider_ref="T900", reason="answered")
    assert action_facts(known, ASKED, NOW) == {
        "name": "t", "state": "confirmed", "provider_ref": "T900", "attempt": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"reason": "timeout"}, "timeout"),
        ({"reason": "refused", "kind": Kind.BUSINESS}, "business"),
        ({"reason": "refused", "kind": Kind.BUSINESS, "review": "cannot_ask"}, "cannot_ask"),
    ],
)
def test_the_reason_is_the_open_case_else_the_kind_else_the_last_word(changes, reason):
    assert action_facts(record(**LOST, **changes), ASKED, NOW)["reason"] == reason


def test_a_disputed_confirmation_says_why_and_that_it_is_disputed():
    known = record(
        state=State.CONFIRMED, provider_ref="T1", disputed=1, review="duplicate_effect"
    )  # fmt: skip
    facts = action_facts(known, ASKED, NOW)
    assert (facts["disputed"], facts["reason"]) == (True, "duplicate_effect")


def test_codes_and_the_callers_own_related_record_are_told():
    known = record(**rejected(Kind.ALREADY_EXISTS, code="OPEN_TICKET", related_ref="T7"))
    facts = action_facts(known, ASKED, NOW)
    assert (facts["error_code"], facts["related_ref"]) == ("OPEN_TICKET", "T7")


def test_what_was_accepted_and_what_may_be_double_is_said():
    working = action_facts(record(**LOST, evidence=Evidence.WORKING), ASKED, NOW)
    assert working["accepted"] is True
    assert "accepted" not in action_facts(record(**LOST), ASKED, NOW)
    settled = record(state=State.CONFIRMED, evidence=Evidence.WORKING, maybe_twice=1)
    facts = action_facts(settled, ASKED, NOW)
    assert "accepted" not in facts
    assert facts["maybe_twice"] is True


@pytest.mark.parametrize("many, told, more", [(200, 200, None), (201, 200, 1), (1000, 200, 800)])
def test_a_batch_is_told_item_by_item_and_how_many_more_there_are(many, told, more):
    """What the model reads has an end, and is never less than it says."""
    items = [{"item": f"A{n}", "state": "confirmed"} for n in range(many)]
    facts = action_facts(record(state=State.CONFIRMED, attempt=1), BLIND, NOW, items)
    assert (len(facts["items"]), facts.get("more_items")) == (told, more)
    assert facts["items"] == items[:told]


def test_req_P10_text_of_the_provider_is_cleaned_and_capped():
    evil = "\x1b[2J\u202e" + "r" * 500
    known = record(**rejected(Kind.BUSINESS), provider_ref=evil, code=evil, related_ref=evil)
    facts = action_facts(known, ASKED, NOW)
    caps = {"provider_ref": 200, "error_code": 80, "related_ref": 200}
    for name, cap in caps.items():
        assert len(facts[name]) == cap
        assert facts[name].startswith("[2Jrrr")
        assert facts[name].endswith("r…")


@pytest.mark.parametrize(
    "changes, wait_s",
    [
        ({"not_before_at": NOW + 12.34}, 12.3),
        ({"not_before_at": NOW}, None),
        ({"not_before_at": None}, None),
        ({"ask_at": NOW + 9}, None),
        ({"ask_at": NOW + 9, "not_before_at": NOW + 3, "evidence": Evidence.WORKING}, 9.0),
    ],
)
def test_the_time_to_wait_is_that_of_the_next_send_or_of_work_in_progress(changes, wait_s):
    assert action_facts(record(**LOST, **changes), ASKED, NOW).get("retry_after_s") == wait_s


def test_what_is_settled_or_with_a_person_is_not_waited_for_by_the_clock():
    settled = record(state=State.CONFIRMED, not_before_at=NOW + 9)
    in_review = record(**LOST, review="asked", not_before_at=NOW + 9)
    assert "retry_after_s" not in action_facts(settled, ASKED, NOW)
    assert "retry_after_s" not in action_facts(in_review, ASKED, NOW)


# --------------------------------------------------------------------------------- a turn's actions


def test_the_facts_of_one_action_speak_of_it():
    known = record(state=State.CONFIRMED, provider_ref="N1", attempt=1)
    assert facts_of([(known, BLIND)], NOW) == {
        "workflow_state": "completed",
        "actions": [{"name": "t", "state": "confirmed", "provider_ref": "N1", "attempt": 1}],
        "next_allowed": [],
        "say": {
            "en": "The notice is submitted: N1. Its result is pending.",
            "zh-CN": "notice已提交：N1，结果待定。",
        },
    }


def test_the_facts_of_several_actions_speak_of_the_wish():
    ticket = Contract(tool="create_ticket", noun="ticket")
    notice = replace(ASKED, on_unknown=OnUnknown.LEAVE, say_zh={"name": "通知"})
    known = [
        (record(state=State.CONFIRMED, provider_ref="T1"), ticket),
        (record(**LOST), notice),
        (record(**LOST), replace(notice, noun="mail")),
    ]
    facts = facts_of(known, NOW, wish=("inspection booked", "检测预约"))
    assert facts["workflow_state"] == "partially_completed"
    assert facts["next_allowed"] == ["query_notice", "mark_pending", "manual_review", "query_mail"]
    assert facts["say"] == {
        "en": "inspection booked, notice, mail awaiting confirmation",
        "zh-CN": "检测预约完成、通知、通知待确认",
    }
    assert [one["state"] for one in facts["actions"]] == ["confirmed", "unknown", "unknown"]


def test_a_turn_without_actions_has_not_started():
    facts = facts_of([], NOW)
    assert (facts["workflow_state"], facts["actions"]) == ("not_started", [])
    assert facts["say"]["en"] == "Nothing has been started."


@pytest.mark.parametrize(
    "changes, in_review",
    [({}, False), ({"review": "asked"}, True), ({"disputed": 1}, True)],
)
def test_a_part_is_in_review_while_a_case_is_open_or_records_contradict(changes, in_review):
    part = part_of(record(**LOST, **changes), BLIND)
    assert (part.in_review, part.essential, part.final) == (in_review, True, False)


def test_best_effort_is_not_essential_and_has_the_name_of_the_language():
    notice = replace(BLIND, on_unknown=OnUnknown.LEAVE, say_zh={"name": "通知"})
    part = part_of(record(**rejected(Kind.BUSINESS)), notice, "zh-CN")
    assert (part.essential, part.name, part.state, part.final) == (
        False, "通知", State.REJECTED, True,
    )  # fmt: skip
