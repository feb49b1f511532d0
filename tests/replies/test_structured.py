"""`verify_claims` on structured replies, and both checks on what the library itself says."""

import pytest

from ascertain.model.outcome import Evidence, Kind
from ascertain.model.tables import State
from ascertain.rules.facts import facts_of
from ascertain.rules.replies.check import ALLOWED, check_reply, standing
from ascertain.rules.replies.finding import WHY, Finding
from ascertain.rules.replies.structured import verify_claims
from ascertain.rules.replies.words import Claim
from ascertain.rules.texts import LANGUAGES, WORKFLOW, say
from tests.laws.records import NOW
from tests.replies.settings import BESIDE, SETTINGS, TICKET, of, ticket

CONFIRMED = SETTINGS["confirmed"]
ORDER = SETTINGS["order"]


def rules(reply, known):
    return [finding.rule for finding in verify_claims(reply, known)]


def claim(**said):
    return {"actions": [{"name": "create_ticket", **said}]}


# ------------------------------------------------------------------------- what the library says


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_req_F20_what_the_library_itself_says_is_never_found_fault_with(setting, language):
    known = SETTINGS[setting]
    for record, contract in known:
        said = say(record, contract, language)
        assert check_reply(said, [(record, contract)]) == [], said
    if known:
        assert verify_claims(facts_of(known, NOW), known) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "changes",
    [
        {"state": State.UNKNOWN, "review": "asked"},
        {"state": State.UNKNOWN, "evidence": Evidence.ABSENT},
        {"state": State.CONFIRMED},
        *({"state": State.REJECTED, "final": 1, "kind": kind} for kind in Kind),
    ],
)
def test_req_F20_nor_is_any_other_sentence_of_the_library(changes, language):
    known = of(TICKET, attempt=1, **changes)
    assert check_reply(say(*known, language), [known]) == []


@pytest.mark.parametrize("setting", [name for name, known in SETTINGS.items() if known])
def test_the_sentence_that_is_offered_instead_is_right_itself(setting):
    known = SETTINGS[setting]
    wrong = ("I have also booked an appointment.", "退款已到账。", "Please submit it again, T123.")
    for said in wrong:
        for finding in check_reply(said, known, **BESIDE[setting]):
            assert finding.say
            assert check_reply(finding.say, known, **BESIDE[setting]) == [], finding.say


def test_the_sentence_to_say_instead_is_in_the_language_of_the_reply():
    (english,) = check_reply("The ticket has been submitted.", SETTINGS["unknown"])
    assert english.say == "Not confirmed as submitted yet; it is being checked."
    (chinese,) = check_reply("检测申请已提交。", SETTINGS["unknown"])
    assert chinese.say == "暂未确认提交。"
    (nothing,) = check_reply("工单创建成功。", [])
    assert nothing.say == WORKFLOW["not_started"][1]


# ---------------------------------------------------------------------------- structured replies


@pytest.mark.parametrize(
    "reply, known, found",
    [
        (claim(state="confirmed", provider_ref="T900"), "confirmed", []),
        (claim(state="confirmed"), "unknown", ["state_differs"]),
        (claim(state="rejected"), "unknown", ["state_differs"]),
        (claim(state="confirmed"), "disputed", ["state_differs"]),
        (claim(provider_ref="T901"), "confirmed", ["reference_differs"]),
        (claim(provider_ref="T900"), "unknown", ["reference_differs"]),
        (claim(related_ref="T850"), "exists", []),
        (claim(provider_ref="T850"), "exists", ["reference_differs"]),
        ({"actions": [{"name": "refund"}]}, "confirmed", ["no_such_action"]),
        ({"actions": [{"id": "create_ticket", "state": "unknown"}]}, "unknown", []),
        ({"actions": [{"id": "nobody"}]}, "unknown", ["no_such_action"]),
        ({"actions": [{"name": "shipment", "provider_ref": "R5"}]}, "order",
         ["reference_of_another"]),
        ({"workflow_state": "partially_completed"}, "order", []),
        ({"workflow_state": "completed"}, "order", ["workflow_differs"]),
        ({"workflow_state": "splendid"}, "order", ["unreadable_claim"]),
        ({"actions": "all of them"}, "order", ["unreadable_claim"]),
        ({"actions": ["all", {"name": 7}, {"state": "confirmed"}]}, "order",
         ["unreadable_claim"] * 3),
        ({"actions": [{"name": "notice", "state": 3}]}, "order", ["unreadable_claim"]),
        ({"say": "The ticket is submitted."}, "unknown", ["submitted_without_evidence"]),
        ({"say": {"en": "Done!", "zh-CN": "已提交。"}}, "unknown",
         ["submitted_without_evidence"] * 2),
        ({}, "unknown", []),
    ],
)  # fmt: skip
def test_req_F20_a_structured_reply_is_held_against_the_record(reply, known, found):
    assert rules(reply, SETTINGS[known]) == found


def test_two_actions_of_one_tool_answer_for_one_claim_each():
    two = [
        *ticket(state=State.CONFIRMED, provider_ref="T900"),
        of(TICKET, id="second", state=State.UNKNOWN),
    ]
    both = {"actions": [{"name": "create_ticket", "state": s} for s in ("unknown", "confirmed")]}
    assert verify_claims(both, two) == []
    twice = {"actions": [{"name": "create_ticket", "state": "confirmed"}] * 2}
    (finding,) = verify_claims(twice, two)
    assert (finding.rule, finding.actions) == ("state_differs", ("second",))


def test_an_action_that_is_claimed_twice_is_held_against_the_record_both_times():
    """Nothing is left for the second claim; it is not taken for another action's, nor believed."""
    said = [{"id": "create_ticket", "state": state} for state in ("confirmed", "rejected")]
    (finding,) = verify_claims({"actions": said}, CONFIRMED)
    assert (finding.rule, finding.actions) == ("state_differs", ("create_ticket",))
    (finding,) = verify_claims({"actions": said[::-1]}, CONFIRMED)
    assert '"rejected"' in finding.said


def test_a_finding_says_what_is_known_and_what_to_say():
    (finding,) = verify_claims(claim(state="confirmed"), SETTINGS["unknown"], language="zh-CN")
    assert finding.as_dict() == {
        "rule": "state_differs",
        "said": '{"name": "create_ticket", "state": "confirmed"}',
        "actions": ["create_ticket"],
        "known": "state unknown",
        "say": "暂未确认提交。",
        "why": WHY["state_differs"],
    }


# --------------------------------------------------------------------------------- small print


def test_every_standing_says_what_may_be_said():
    assert {standing(pair) for known in SETTINGS.values() for pair in known} <= set(ALLOWED)
    assert all(Claim.OUTCOME not in allowed for allowed in ALLOWED.values())


@pytest.mark.parametrize(
    "said",
    [
        "The ticket has been sub\u200bmitted.",
        "\uff34he \uff54icket was \uff43reated.",
        "The ticket has **been** _submitted_.",
        "I\u2019ve submitted the ticket.",
    ],
)
def test_characters_in_disguise_do_not_help(said):
    found = check_reply(said, SETTINGS["unknown"])
    assert [finding.rule for finding in found] == ["submitted_without_evidence"]


def test_a_long_reply_takes_time_in_proportion_to_its_length():
    assert check_reply("and " * 50_000, SETTINGS["unknown"]) == []
    assert check_reply("a" * 200_000 + "!", SETTINGS["order"]) == []
    assert check_reply("T1, " * 50_000, SETTINGS["order"]) == []
    assert check_reply("not " * 20_000 + "submitted", SETTINGS["unknown"]) == []


def test_what_a_finding_quotes_is_harmless_and_short():
    (finding,) = check_reply("The ticket\x1b[31m is done " + "x" * 900, SETTINGS["unknown"])
    assert "\x1b" not in finding.said
    assert len(finding.said) <= 300
    assert isinstance(finding, Finding)
