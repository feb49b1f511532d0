"""Whose a reference is, where a record does not say it."""

from dataclasses import replace

import pytest

from ascertain.model.action import OVERRULED
from ascertain.model.contract import Budget, Contract, LookupPromise, Repeat
from ascertain.model.operations import Claim, ClaimBy, Contested
from ascertain.model.outcome import Answer, Effect, Evidence, Outcome
from ascertain.model.tables import By, Event, State
from ascertain.rules import evidence, fold
from ascertain.rules.claims import is_shared, may_be_rival, stands_against
from ascertain.testing.invariants import NO_LIE, one_reference_each
from tests.laws.records import NOW, record

LOOKUP, ANSWER, VERDICT = ClaimBy.LOOKUP, ClaimBy.ANSWER, ClaimBy.VERDICT
BY_FIELDS = Contract(
    tool="t", noun="t", budget=Budget(backoff_max_s=60.0),
    lookup=LookupPromise(by="fields", absence_final_after_s=10.0),
)  # fmt: skip
BY_KEY = replace(BY_FIELDS, lookup=LookupPromise(absence_final_after_s=10.0))
UNKNOWN = record(
    state=State.UNKNOWN, attempt=1, sends=1, doubt=1, first_sent_at=NOW - 30,
    last_possible_at=NOW - 20, reason="timeout",
)  # fmt: skip
SENT = UNKNOWN._replace(state=State.SENT, doubt=0)
HOLDER = record(id="a2", state=State.CONFIRMED, provider_ref="T1", attempt=1)
FOUND = Answer(found=True, reason="found", provider_ref="T1")
OK = Outcome(effect=Effect.CONFIRMED, reason="http_201", provider_ref="T1")


def contested(before, by, claimed_at=None, *, asked_at=NOW, contract=BY_FIELDS):
    contest = Contested(record=before, other=HOLDER, by=by, claimed_at=claimed_at)
    return evidence.contested(
        before, contract, contest, "T1", asked_at=asked_at, now=NOW, wait_s=2.0
    )


def reasons(made):
    return [draft.reason for draft in made.drafts]


# --------------------------------------------------------------------------------- who claims what


def test_every_confirmation_claims_its_reference_on_somebodys_word():
    answer = fold.settle(SENT, BY_FIELDS, OK, now=NOW, wait_s=1.0)
    late = evidence.late(UNKNOWN, BY_FIELDS, OK, attempt=1, sender="", now=NOW)
    look_up = evidence.answered(UNKNOWN, BY_FIELDS, FOUND, asked_at=NOW, now=NOW, wait_s=1.0)
    verdict = evidence.verdict_confirmed(
        UNKNOWN, BY_FIELDS, provider_ref="T1", evidence="seen", now=NOW
    )
    made = [answer, late, look_up, verdict]
    assert [one.claim for one in made] == [
        Claim(by, "T1") for by in (ANSWER, ANSWER, LOOKUP, VERDICT)
    ]


def test_a_person_who_stands_by_what_is_confirmed_claims_what_is_on_record():
    disputed = HOLDER._replace(disputed=1)
    made = evidence.verdict_confirmed(
        disputed, BY_FIELDS, provider_ref="T7", evidence="seen", now=NOW
    )
    assert made.claim == Claim(VERDICT, "T1")


@pytest.mark.parametrize("before", [HOLDER, record(state=State.REJECTED, final=1, attempt=1)])
def test_a_late_answer_claims_its_reference_whatever_was_settled(before):
    late = OK._replace(provider_ref="T2")
    made = evidence.late(before, BY_FIELDS, late, attempt=1, sender="", now=NOW)
    assert (made.claim, made.after.disputed) == (Claim(ANSWER, "T2"), 1)
    assert made.after.provider_ref == before.provider_ref


def test_a_late_second_effect_that_is_harmless_is_claimed_too():
    harmless = replace(BY_FIELDS, repeat=Repeat.HARMLESS)
    late = OK._replace(provider_ref="T2")
    made = evidence.late(HOLDER, harmless, late, attempt=1, sender="", now=NOW)
    assert (made.claim, made.after.maybe_twice) == (Claim(ANSWER, "T2"), 1)


def test_where_a_record_says_whose_it_is_nothing_is_claimed():
    for contract in (BY_KEY, replace(BY_KEY, lookup=None)):
        assert fold.settle(SENT, contract, OK, now=NOW, wait_s=1.0).claim is None


def test_without_a_reference_there_is_nothing_to_claim():
    nameless = OK._replace(provider_ref=None)
    made = fold.settle(SENT, BY_FIELDS, nameless, now=NOW, wait_s=1.0)
    assert (made.after.state, made.claim) == (State.CONFIRMED, None)


def test_what_neither_confirms_nor_names_a_reference_claims_nothing():
    again = evidence.answered(HOLDER, BY_FIELDS, FOUND, asked_at=NOW, now=NOW, wait_s=1.0)
    no = evidence.verdict_not_done(UNKNOWN, evidence="seen", now=NOW)
    assert (again.claim, no.claim) == (None, None)


# ---------------------------------------------------------------------------------- who gives way


@pytest.mark.parametrize("claim", list(ClaimBy))
@pytest.mark.parametrize("held", list(ClaimBy))
@pytest.mark.parametrize("disputed", [0, 1])
def test_who_keeps_a_reference_against_whom(claim, held, disputed):
    keeps = stands_against(claim, held, HOLDER._replace(disputed=disputed))
    gives_way = {
        LOOKUP: False,
        ANSWER: bool(disputed) or held is ANSWER,
        VERDICT: bool(disputed),
    }
    assert keeps is not gives_way[claim]


def test_only_two_answers_share_a_reference():
    shared = {(claim, held) for claim in ClaimBy for held in ClaimBy if is_shared(claim, held)}
    assert shared == {(ANSWER, ANSWER)}


@pytest.mark.parametrize(
    "other, rival",
    [
        (UNKNOWN, True),
        (SENT, True),
        (UNKNOWN._replace(evidence=Evidence.ABSENT_FINAL), True),
        (record(state=State.PREPARED), False),
        (record(state=State.PREPARED, first_sent_at=NOW - 9), False),
        (record(state=State.REJECTED, first_sent_at=NOW - 9), False),
        (record(state=State.REJECTED, final=1, first_sent_at=NOW - 9), False),
        (HOLDER._replace(first_sent_at=NOW - 9), False),
        (HOLDER._replace(first_sent_at=NOW - 9, provider_ref=None, updated_at=NOW), True),
        (HOLDER._replace(first_sent_at=NOW - 9, provider_ref=None, updated_at=NOW - 3), False),
        (record(state=State.COMPENSATED, first_sent_at=NOW - 9), False),
    ],
)
def test_who_may_have_caused_the_record(other, rival):
    assert may_be_rival(other, NOW - 2) is rival


# ----------------------------------------------------------------------------- what the loser knows


def test_a_rival_leaves_it_unanswered_and_it_is_asked_again():
    made = contested(UNKNOWN, None)
    after = made.after
    assert (after.state, after.provider_ref, after.reason) == ("unknown", None, "rival_in_doubt")
    assert (after.evidence, after.unanswered, after.ask_at) == (Evidence.UNANSWERED, 1, NOW + 2)
    assert (after.asked, after.asked_at) == (1, NOW)
    (draft,) = made.drafts
    assert (draft.event, draft.by, draft.reason) == (Event.NOTE, By.LOOKUP, "rival_in_doubt")
    assert draft.detail == {"ref": "T1", "action": "a2"}


def test_the_same_is_told_once_and_counted_each_time():
    first = contested(UNKNOWN, None).after
    second = contested(first, None)
    assert (second.drafts, second.after.unanswered) == ((), 2)
    assert reasons(contested(first, LOOKUP, NOW)) == ["reference_taken"]


def test_a_first_contest_is_told_after_a_silence_too():
    silent = UNKNOWN._replace(evidence=Evidence.UNANSWERED, unanswered=1)
    assert reasons(contested(silent, None)) == ["rival_in_doubt"]


def test_what_a_look_up_took_while_we_were_in_doubt_may_be_ours():
    """Not absence: which of the two it was is for a person to say."""
    after = contested(UNKNOWN, LOOKUP, NOW - 29.9).after
    assert (after.evidence, after.reason, after.unanswered) == (
        Evidence.UNANSWERED, "reference_taken", 1,
    )  # fmt: skip


@pytest.mark.parametrize(
    "by, claimed_at", [(LOOKUP, NOW - 30), (ANSWER, NOW - 1), (VERDICT, NOW - 1)]
)
def test_what_is_anothers_for_certain_is_absence_as_strong_as_the_contract_makes_it(by, claimed_at):
    final = contested(UNKNOWN, by, claimed_at)
    assert (final.after.evidence, final.after.reason) == (
        Evidence.ABSENT_FINAL, "reference_taken",
    )  # fmt: skip
    assert reasons(final) == ["reference_taken", "absent_final"]
    early = contested(UNKNOWN, by, claimed_at, asked_at=NOW - 10.1)
    assert early.after.evidence is Evidence.ABSENT
    suspected = contested(UNKNOWN._replace(suspect="p#1"), by, claimed_at)
    assert suspected.after.evidence is Evidence.ABSENT_UNFENCED
    never = replace(BY_FIELDS, lookup=LookupPromise(by="fields"))
    watched = contested(UNKNOWN, by, claimed_at, contract=never)
    assert watched.after.evidence is Evidence.ABSENT
    assert contested(watched.after, by, claimed_at, contract=never).drafts == ()


# --------------------------------------------------------------------------- whom an answer refutes


def test_whom_an_answer_refutes_is_disputed_and_never_rewritten():
    made = evidence.contradicted(HOLDER, provider_ref="T1", owner="a1", now=NOW)
    after = made.after
    assert (after.state, after.provider_ref, after.disputed) == (State.CONFIRMED, "T1", 1)
    assert (after.review, after.review_at) == ("reference_of_another", NOW)
    assert made.drafts[0].detail == {"ref": "T1", "action": "a1"}


def test_not_done_does_not_make_confirmed_again_what_another_has():
    refuted = evidence.contradicted(HOLDER, provider_ref="T1", owner="a1", now=NOW).after
    after = evidence.verdict_not_done(refuted, evidence="the list has one", now=NOW).after
    assert (after.disputed, after.review, after.due_at) == (OVERRULED, None, None)


def test_two_confirmed_by_one_record_are_a_lie_unless_one_says_that_it_is_disputed():
    first, second = HOLDER, HOLDER._replace(id="a3")
    (wrong,) = one_reference_each([first, second])
    assert (wrong.invariant, wrong.action) == (NO_LIE, "a3")
    apart = [second._replace(**{name: "x"}) for name in ("tool", "tenant", "provider_ref")]
    for other in (
        *apart, first, second._replace(disputed=1), second._replace(state=State.UNKNOWN),
        second._replace(provider_ref=None),
    ):  # fmt: skip
        assert one_reference_each([first, other, other]) == []
