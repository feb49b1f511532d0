"""Who is asked in a recount, what an answer means, and what contradicts the ledger."""

from dataclasses import replace

import pytest

from ascertain.model.action import OVERRULED
from ascertain.model.contract import Budget, Contract, LookupPromise
from ascertain.model.outcome import Answer, Evidence
from ascertain.model.tables import State
from ascertain.rules.recount import Difference, Said, against_provider, said, why_not_asked
from tests.laws.records import NOW, record

ASKED = Contract(
    tool="create_ticket", noun="ticket", budget=Budget(unanswered=3),
    lookup=LookupPromise(absence_final_after_s=10.0),
)  # fmt: skip
CONFIRMED = {"state": State.CONFIRMED, "attempt": 1, "provider_ref": "T900"}
UNKNOWN = {"state": State.UNKNOWN, "attempt": 1}


@pytest.mark.parametrize(
    "contract, how, why",
    [
        (None, CONFIRMED, "tool_unknown"),
        (ASKED, {}, "never_sent"),
        (replace(ASKED, lookup=None), CONFIRMED, "no_lookup"),
        (ASKED, {**UNKNOWN, "unanswered": 3}, "budget_spent"),
        (ASKED, {**UNKNOWN, "unanswered": 2}, ""),
        (ASKED, CONFIRMED, ""),
    ],
)
def test_it_is_said_why_nobody_is_asked(contract, how, why):
    assert why_not_asked(record(**how), contract, NOW) == why


def test_the_budget_of_what_is_settled_forbids_no_question():
    """It bounds how an open action goes on by itself; here a person asks about a closed one."""
    assert why_not_asked(record(**CONFIRMED, unanswered=3), ASKED, NOW) == ""


@pytest.mark.parametrize(
    "answer, word",
    [
        (None, Said.NOT_ASKED),
        (Answer(found=True, provider_ref="T900"), Said.FOUND),
        (Answer(refused=True), Said.REFUSED),
        (Answer(evidence=Evidence.ABSENT), Said.ABSENT),
        (Answer(evidence=Evidence.WORKING), Said.WORKING),
        (Answer(evidence=Evidence.UNANSWERED), Said.NO_ANSWER),
    ],
)
def test_an_answer_in_one_word(answer, word):
    assert said(answer) is word


def differences(answer, contract=ASKED, now=NOW + 60, **how):
    asked = record(**{**CONFIRMED, "last_possible_at": NOW, **how})
    return against_provider(asked, contract, answer, now, before=asked)


ABSENT = Answer(evidence=Evidence.ABSENT)


@pytest.mark.parametrize("after_s, found", [(9.9, []), (10.0, [Difference.CONFIRMED_BUT_ABSENT])])
def test_absence_contradicts_a_confirmation_once_it_is_final(after_s, found):
    assert differences(ABSENT, now=NOW + after_s) == found


def test_absence_that_is_never_final_contradicts_nothing():
    never = replace(ASKED, lookup=LookupPromise(absence_final_after_s=None))
    assert differences(ABSENT, never, now=NOW + 1e9) == []
    assert differences(ABSENT, replace(ASKED, lookup=None), now=NOW + 1e9) == []


def test_a_provider_that_refused_what_is_confirmed_contradicts_at_once():
    assert differences(Answer(refused=True), now=NOW) == [Difference.CONFIRMED_BUT_ABSENT]


@pytest.mark.parametrize("evidence", [Evidence.WORKING, Evidence.UNANSWERED])
def test_silence_and_work_contradict_nothing(evidence):
    assert differences(Answer(evidence=evidence)) == []


def test_several_records_are_more_than_one_effect_unless_they_may_be_anybodys():
    two = Answer(found=True, provider_ref="T900", count=2)
    by_fields = replace(ASKED, lookup=LookupPromise(by="fields"))
    assert differences(two) == [Difference.EXTRA_EFFECTS]
    assert differences(two, by_fields) == [Difference.EXTRA_EFFECTS]
    assert differences(two, by_fields, state=State.UNKNOWN, provider_ref=None) == []
    assert differences(two, state=State.UNKNOWN, provider_ref=None) == [Difference.EXTRA_EFFECTS]


@pytest.mark.parametrize(
    "answer, found",
    [
        (ABSENT, []),
        (Answer(found=True, provider_ref="T900"), [Difference.NOT_DONE_BUT_FOUND]),
    ],
    ids=["it agrees", "it speaks against it"],
)
def test_what_a_person_found_is_what_the_provider_is_compared_with(answer, found):
    """Confirmed on record, and overruled: the provider's silence agrees, its record does not."""
    before = record(**CONFIRMED, disputed=OVERRULED)
    after = before._replace(disputed=1)
    assert against_provider(after, ASKED, answer, NOW + 60, before=before) == found
    assert against_provider(before, ASKED, answer, NOW + 60) == found
