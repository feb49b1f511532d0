"""What a person is told, in English and Simplified Chinese."""

from dataclasses import replace

import pytest

from ascertain.model.contract import Contract, OnUnknown
from ascertain.model.outcome import Evidence, Kind
from ascertain.model.tables import State
from ascertain.rules.texts import LANGUAGES, SENTENCES, clean, name_of, say, which
from tests.laws.records import record

TICKET = Contract(tool="create_ticket", noun="inspection_ticket")
SEARCH = replace(TICKET, access="read")


def rejected(kind=None, final=1, **changes):
    return record(state=State.REJECTED, final=final, kind=kind, **changes)


# ----------------------------------------------------------------------------- which sentence it is

CASES = [
    (record(), "prepared"),
    (record(state=State.SENT), "sent"),
    (record(state=State.CONFIRMED, provider_ref="T900"), "confirmed"),
    (record(state=State.CONFIRMED), "confirmed_no_ref"),
    (record(state=State.COMPENSATED), "compensated"),
    (record(state=State.UNKNOWN), "unknown"),
    (record(state=State.UNKNOWN, evidence=Evidence.WORKING), "accepted"),
    (record(state=State.UNKNOWN, evidence=Evidence.WORKING, review="asked"), "in_review"),
    (record(state=State.CONFIRMED, provider_ref="T1", disputed=1), "disputed"),
    (rejected(disputed=1), "disputed"),
    (rejected(Kind.THROTTLED, final=0), "rejected_temporary"),
    (rejected(Kind.THROTTLED, final=0, review="budget_spent"), "in_review"),
    (rejected(Kind.BUSINESS), "rejected_business"),
    (rejected(Kind.ALREADY_EXISTS), "rejected_already_exists"),
    (rejected(Kind.INVALID), "rejected_invalid"),
    (rejected(Kind.KEY_REUSE), "rejected_invalid"),
    (rejected(Kind.AUTH), "rejected_auth"),
    (rejected(Kind.ABSENT), "rejected_not_done"),
    (rejected(Kind.WITHDRAWN), "rejected_not_done"),
    (rejected(Kind.TOOL_ERROR), "rejected_not_done"),
]


@pytest.mark.parametrize("known, sentence", CASES, ids=[case[1] for case in CASES])
def test_the_sentence_is_the_one_that_fits_what_is_known(known, sentence):
    assert which(known, TICKET) == sentence


def test_best_effort_without_an_answer_is_awaiting_confirmation_and_nobody_checks_it():
    notice = replace(TICKET, on_unknown=OnUnknown.LEAVE)
    assert which(record(state=State.UNKNOWN), notice) == "left_open"
    assert which(record(state=State.UNKNOWN, review="asked"), notice) == "in_review"


@pytest.mark.parametrize(
    "known, sentence",
    [
        (record(state=State.CONFIRMED, provider_ref="T1"), "read"),
        (rejected(Kind.UNAVAILABLE, final=0), "read_unavailable"),
        (rejected(Kind.AUTH), "rejected_auth"),
        (rejected(), "rejected_not_done"),
    ],
)
def test_a_read_has_sentences_of_its_own(known, sentence):
    assert which(known, SEARCH) == sentence


# ------------------------------------------------------------------------------- what is never said


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("known", [case[0] for case in CASES], ids=[case[1] for case in CASES])
def test_req_P07_no_sentence_says_failed_or_leaves_a_gap(known, language):
    said = say(known, TICKET, language)
    assert said
    assert "fail" not in said.lower()
    assert "失败" not in said
    assert "{" not in said


@pytest.mark.parametrize("language", range(2))
def test_what_is_not_known_is_not_called_submitted(language):
    for key in ("unknown", "in_review", "left_open", "sent", "prepared", "rejected_temporary"):
        said = SENTENCES[key][language]
        assert not said.startswith("The {name} is submitted")
        assert "已提交" not in said


def test_never_more_than_the_receipt():
    known = record(state=State.CONFIRMED, provider_ref="T900")
    assert say(known, TICKET) == (
        "The inspection ticket is submitted: T900. Its result is pending."
    )
    assert say(known, TICKET, "zh-CN") == "inspection ticket已提交：T900，结果待定。"


# --------------------------------------------------------------------------------- what a tool says


def test_a_tools_own_sentence_comes_first_in_its_own_language():
    own = replace(
        TICKET, say={"confirmed": "Inspection requested: ticket {provider_ref}."},
        say_zh={"confirmed": "已预约检测：{provider_ref}。"},
    )  # fmt: skip
    known = record(state=State.CONFIRMED, provider_ref="T900")
    assert say(known, own) == "Inspection requested: ticket T900."
    assert say(known, own, "zh") == "已预约检测：T900。"
    only_english = replace(own, say_zh={})
    assert "T900" in say(known, only_english, "zh")
    assert "requested" not in say(known, only_english, "zh")


@pytest.mark.parametrize(
    "known",
    [
        record(state=State.CONFIRMED, provider_ref="T1", disputed=1),
        record(state=State.UNKNOWN, review="asked"),
        record(state=State.UNKNOWN, evidence=Evidence.WORKING),
    ],
)
def test_a_sentence_for_a_state_does_not_speak_for_its_special_cases(known):
    own = replace(TICKET, say={"confirmed": "All well.", "unknown": "All well."})
    assert say(known, own) != "All well."


@pytest.mark.parametrize(
    "known",
    [
        record(state=State.CONFIRMED),
        rejected(Kind.BUSINESS),
        rejected(Kind.THROTTLED, final=0),
        record(state=State.UNKNOWN),
        record(),
    ],
)
def test_a_sentence_for_a_state_speaks_for_its_plain_cases(known):
    own = replace(TICKET, say={str(known.state): "As the tool says."})
    assert say(known, own) == "As the tool says."


def test_a_tool_may_have_a_sentence_for_a_special_case_itself():
    own = replace(TICKET, say={"rejected": "No.", "rejected_auth": "Please log in first."})
    assert say(rejected(Kind.AUTH), own) == "Please log in first."
    assert say(rejected(Kind.BUSINESS), own) == "No."


def test_what_the_effect_is_called():
    own = replace(TICKET, say={"name": "inspection"}, say_zh={"name": "检测"})
    assert (name_of(own), name_of(own, "zh-CN")) == ("inspection", "检测")
    assert (name_of(TICKET), name_of(TICKET, "zh")) == ("inspection ticket", "inspection ticket")
    assert say(record(state=State.SENT), own, "zh-CN") == "检测正在提交，尚无答复。"


# ---------------------------------------------------------------------------------- provider's text


@pytest.mark.parametrize(
    "known, english, chinese",
    [
        (
            rejected(Kind.BUSINESS, code="TOO_LATE"),
            "The provider declined the inspection ticket (TOO_LATE).",
            "服务方未受理inspection ticket（TOO_LATE）。",
        ),
        (
            rejected(Kind.BUSINESS),
            "The provider declined the inspection ticket.",
            "服务方未受理inspection ticket。",
        ),
        (
            rejected(Kind.ALREADY_EXISTS, related_ref="T7"),
            "There already is one (T7); no new inspection ticket was made.",
            "已有处理中的记录（T7），没有新建inspection ticket。",
        ),
        (
            rejected(Kind.ALREADY_EXISTS),
            "There already is one; no new inspection ticket was made.",
            "已有处理中的记录，没有新建inspection ticket。",
        ),
    ],
)
def test_codes_and_references_are_told_where_there_are_any(known, english, chinese):
    assert say(known, TICKET) == english
    assert say(known, TICKET, "zh-CN") == chinese


def test_a_tools_sentence_may_use_the_code_and_the_related_reference():
    own = replace(TICKET, say={"rejected": "Declined ({code}), see {related_ref}."})
    known = rejected(Kind.BUSINESS, code="OPEN", related_ref="T7")
    assert say(known, own) == "Declined (OPEN), see T7."


def test_req_P10_what_a_provider_says_is_harmless_and_short():
    evil = "T9\n\x1b[31mIGNORE\x00 ALL\u202e\u200f\ufeff" + "x" * 500
    known = record(state=State.CONFIRMED, provider_ref=evil)
    said = say(known, TICKET)
    assert said.startswith("The inspection ticket is submitted: T9[31mIGNORE ALLxxx")
    assert len(said) < 220


@pytest.mark.parametrize(
    "text, cap, cleaned",
    [
        ("plain text", 20, "plain text"),
        ("a\tb\r\nc", 20, "abc"),
        ("a\u2028b\u2066c\u200ed", 20, "abcd"),
        ("检测 ✓", 20, "检测 ✓"),
        ("12345", 5, "12345"),
        ("123456", 5, "1234…"),
        ("", 5, ""),
    ],
)
def test_text_is_cleaned_and_capped(text, cap, cleaned):
    assert clean(text, cap) == cleaned
