"""Evidence: look-ups, late results, proof that a sender is gone, a person's verdict."""

from dataclasses import replace
from math import inf

import pytest

from ascertain.model.action import OVERRULED
from ascertain.model.contract import Budget, Contract, LookupPromise, Repeat
from ascertain.model.outcome import Answer, Effect, Evidence, Kind, Outcome
from ascertain.model.tables import By, Event, State
from ascertain.rules import arrivals, cases, chain, evidence, facts, moves, texts
from ascertain.rules.project import workflow_state
from ascertain.rules.replies.check import standing
from tests.laws.records import NOW, record

BUDGET = Budget(send_deadline_s=5.0, backoff_s=1.0, backoff_max_s=60.0)
BLIND = Contract(tool="t", noun="t", budget=BUDGET)
ASKED = replace(BLIND, lookup=LookupPromise(absence_final_after_s=10.0))
KEYED = replace(ASKED, repeat=Repeat.BY_KEY)
LATE = replace(BLIND, repeat=Repeat.BY_KEY, refusal_final_after_s=10.0)
UNKNOWN = record(
    state=State.UNKNOWN, attempt=1, sends=1, doubt=1, first_sent_at=NOW - 30,
    last_possible_at=NOW - 20, lease_owner="p", lease_until=NOW + 9, due_at=NOW + 9,
    reason="timeout",
)  # fmt: skip
SENT = UNKNOWN._replace(state=State.SENT, doubt=0)
CONFIRMED = record(
    state=State.CONFIRMED, attempt=1, sends=1, doubt=1, provider_ref="T1", first_sent_at=NOW - 30,
    lease_owner="p", lease_until=NOW + 9, due_at=NOW, ask_at=NOW,
)  # fmt: skip
REJECTED = record(state=State.REJECTED, final=1, attempt=1, kind=Kind.BUSINESS, due_at=None)

FOUND = Answer(found=True, reason="found", provider_ref="T1")
ABSENT = Answer(evidence=Evidence.ABSENT, reason="absent")
WORKING = Answer(evidence=Evidence.WORKING, reason="working", ask_after_s=30.0)
DEFECT = Answer(evidence=Evidence.UNANSWERED, reason="lookup_answer", code="NoneType")
SILENCE = Answer(evidence=Evidence.UNANSWERED, reason="timeout")
DENIED = Answer(refused=True, reason="lookup_refused", kind=Kind.INVALID, code="NO")
WAIT_S = 2.0


def asked(before, answer, contract=ASKED, *, took_s=0.0, by=By.LOOKUP):
    return evidence.answered(
        before, contract, answer, asked_at=NOW - took_s, now=NOW, wait_s=WAIT_S, by=by
    )


def reason(made):
    (draft,) = made.drafts
    return draft.reason


# -------------------------------------------------------------------------------------- it is found


def test_req_U03_what_the_look_up_finds_is_confirmed_with_its_reference():
    made = asked(UNKNOWN._replace(refused=1, kind=Kind.BUSINESS, code="NO"), FOUND, KEYED)
    after = made.after
    assert (after.state, after.provider_ref, reason(made)) == ("confirmed", "T1", "found_by_lookup")
    assert (after.refused, after.kind, after.code, after.asked) == (0, None, None, 1)
    assert (after.due_at, after.lease_owner, after.evidence) == (None, None, Evidence.COUNTED)
    assert made.drafts[0].detail == {"ref": "T1", "count": 1}
    assert made.drafts[0].by is By.LOOKUP


def test_where_a_double_is_possible_what_was_found_is_counted_again_later():
    after = asked(UNKNOWN, FOUND).after
    assert (after.due_at, after.ask_at, after.evidence) == (NOW + 20, NOW + 20, Evidence.NOT_ASKED)


def test_two_records_with_our_key_are_a_confirmed_double_that_a_person_sees():
    after = asked(UNKNOWN, replace(FOUND, count=2)).after
    assert (after.state, after.disputed, after.review) == ("confirmed", 1, "duplicate_effect")
    assert (after.review_at, after.due_at, after.evidence) == (NOW, None, Evidence.COUNTED)


def test_two_records_that_fit_the_fields_confirm_nothing():
    by_fields = replace(BLIND, lookup=LookupPromise(by="fields"))
    made = asked(UNKNOWN, replace(FOUND, count=2), by_fields)
    after = made.after
    assert (after.state, after.evidence, after.unanswered) == ("unknown", Evidence.UNANSWERED, 1)
    assert (after.ask_at, reason(made)) == (NOW + 60, "several_match")


def test_one_record_that_fits_the_fields_confirms():
    by_fields = replace(BLIND, lookup=LookupPromise(by="fields"))
    assert asked(UNKNOWN, FOUND, by_fields).after.state is State.CONFIRMED


def test_found_while_the_send_is_under_way_is_noted_and_left_to_the_sender():
    for state in (State.SENT, State.PREPARED):
        made = asked(UNKNOWN._replace(state=state), FOUND)
        assert (made.after.state, reason(made)) == (state, "found_early")
        assert made.after.provider_ref is None


def test_req_F24_found_after_it_was_settled_as_not_done_is_a_dispute():
    for before in (REJECTED, record(state=State.COMPENSATED)):
        made = asked(before, FOUND)
        assert (made.after.state, made.after.disputed) == (before.state, 1)
        assert reason(made) == "found_after_settled"


def test_a_count_of_one_settles_the_doubt():
    made = asked(CONFIRMED, FOUND)
    after = made.after
    assert (reason(made), after.doubt, after.evidence) == ("recounted", 0, Evidence.COUNTED)
    assert (after.due_at, after.ask_at, after.lease_owner) == (None, None, None)


@pytest.mark.parametrize("answer", [replace(FOUND, count=2), replace(FOUND, provider_ref="T2")])
def test_a_count_of_two_or_another_reference_is_a_dispute(answer):
    made = asked(CONFIRMED, answer)
    assert (made.after.disputed, reason(made)) == (1, "duplicate_effect")
    assert (made.after.provider_ref, made.after.due_at) == ("T1", None)


# ------------------------------------------------------------------------------------ it is refused


def test_a_provider_that_keeps_refusals_says_that_it_was_not_done():
    made = asked(UNKNOWN, replace(DENIED, related_ref="T7"))
    after = made.after
    assert (after.state, after.final, after.kind) == (State.REJECTED, 1, Kind.INVALID)
    assert (after.code, after.related_ref, after.doubt) == ("NO", "T7", 0)
    assert reason(made) == "lookup_refused"


def test_a_refusal_without_more_words_is_one_of_business():
    made = asked(UNKNOWN, Answer(refused=True))
    assert (made.after.kind, reason(made)) == (Kind.BUSINESS, "lookup_refused")


# ------------------------------------------------------------------------------------- it is absent


def absent(contract=ASKED, took_s=0.0, **changes):
    return asked(UNKNOWN._replace(**changes), ABSENT, contract, took_s=took_s)


def test_req_F10_absence_is_final_once_the_settling_time_after_the_last_possible_send_is_over():
    made = absent(last_possible_at=NOW - 10)
    assert (made.after.evidence, reason(made)) == (Evidence.ABSENT_FINAL, "absent_final")
    assert (made.after.state, made.after.ask_at) == (State.UNKNOWN, None)


def test_req_F10_before_that_it_is_absent_and_asked_again():
    made = absent(last_possible_at=NOW - 9.5)
    assert (made.after.evidence, reason(made)) == (Evidence.ABSENT, "absent")
    assert NOW < made.after.ask_at <= NOW + 0.5, "once its absence would be final"


def test_absence_speaks_for_the_moment_when_the_look_up_began():
    assert absent(last_possible_at=NOW - 12, took_s=3.0).after.evidence is Evidence.ABSENT
    assert absent(last_possible_at=NOW - 12, took_s=2.0).after.evidence is Evidence.ABSENT_FINAL


def test_what_began_too_early_is_asked_again_at_once():
    assert absent(last_possible_at=NOW - 12, took_s=3.0).after.ask_at == NOW


def test_where_nothing_is_known_of_the_last_send_the_time_counts_from_now():
    after = absent(last_possible_at=None).after
    assert after.evidence is Evidence.ABSENT


def test_without_a_settling_time_absence_never_becomes_final():
    made = absent(replace(BLIND, lookup=LookupPromise()), last_possible_at=NOW - 1e6)
    assert (made.after.evidence, made.after.ask_at) == (Evidence.ABSENT, NOW + WAIT_S)


def test_req_F10_while_a_sender_may_still_live_absence_is_not_final():
    made = absent(suspect="q#1")
    assert (made.after.evidence, reason(made)) == (Evidence.ABSENT_UNFENCED, "absent_unfenced")


@pytest.mark.parametrize("fences", ["key", "attempt"])
def test_a_look_up_that_fences_makes_absence_final_at_once_whoever_lives(fences):
    contract = replace(BLIND, lookup=LookupPromise(fences=fences))
    made = absent(contract, suspect="q#1", last_possible_at=NOW)
    assert (made.after.evidence, reason(made)) == (Evidence.ABSENT_FINAL, "absent_fenced")


def test_work_that_has_just_ended_may_show_only_after_a_while():
    made = absent(evidence=Evidence.WORKING, last_possible_at=NOW - 1000)
    assert made.after.evidence is Evidence.ABSENT
    assert made.after.last_possible_at == NOW


# ----------------------------------------------------------------------------- working, and silence


@pytest.mark.parametrize("said_s, at", [(30.0, NOW + 30), (None, NOW + 5)])
def test_work_in_progress_is_asked_for_by_the_providers_schedule(said_s, at):
    made = asked(UNKNOWN, replace(WORKING, ask_after_s=said_s))
    assert (made.after.evidence, made.after.ask_at) == (Evidence.WORKING, at)
    assert reason(made) == "working"


def test_req_U04_silence_is_no_absence_and_is_counted():
    made = asked(UNKNOWN, SILENCE)
    after = made.after
    assert (after.state, after.evidence) == (State.UNKNOWN, Evidence.UNANSWERED)
    assert (after.unanswered, after.ask_at, reason(made)) == (1, NOW + WAIT_S, "timeout")


def test_silence_without_a_reason_has_one():
    assert reason(asked(UNKNOWN, Answer(evidence=Evidence.UNANSWERED))) == "no_answer"


def test_silence_does_not_take_back_that_the_provider_is_working_on_it():
    after = asked(UNKNOWN._replace(evidence=Evidence.WORKING), SILENCE).after
    assert (after.evidence, after.unanswered) == (Evidence.WORKING, 1)


@pytest.mark.parametrize(
    "known, answer", [(Evidence.WORKING, WORKING), (Evidence.UNANSWERED, SILENCE)]
)
def test_the_same_answer_again_is_no_new_event(known, answer):
    made = asked(UNKNOWN._replace(evidence=known), answer)
    assert made.drafts == ()
    assert (made.after.evidence, made.after.asked) == (known, 1)


# --------------------------------------------------------------------- a question about the settled


def test_a_count_without_an_answer_is_made_again():
    made = asked(CONFIRMED, SILENCE)
    after = made.after
    assert (after.state, after.unanswered, reason(made)) == (State.CONFIRMED, 1, "no_answer")
    assert (after.due_at, after.ask_at, after.lease_owner) == (NOW + WAIT_S, NOW + WAIT_S, None)


@pytest.mark.parametrize("answer", [ABSENT, DENIED])
def test_req_F24_confirmed_but_the_provider_does_not_have_it_is_a_dispute(answer):
    made = asked(CONFIRMED, answer)
    assert (made.after.state, made.after.disputed) == (State.CONFIRMED, 1)
    assert (reason(made), made.after.evidence) == ("confirmed_but_absent", Evidence.COUNTED)


@pytest.mark.parametrize(
    "before, answer, contract",
    [
        # absence without a settling time is never final, ...
        (CONFIRMED, ABSENT, replace(BLIND, lookup=LookupPromise())),
        (CONFIRMED, ABSENT, BLIND),
        # ... work in progress contradicts nothing, ...
        (CONFIRMED, WORKING, ASKED),
        # ... and what was settled as not done is indeed absent.
        (REJECTED, ABSENT, ASKED),
        (REJECTED, DENIED, ASKED),
    ],
)
def test_what_contradicts_nothing_is_noted(before, answer, contract):
    made = asked(before, answer, contract)
    assert (made.after.state, made.after.disputed) == (before.state, 0)
    assert (reason(made), made.after.due_at, made.after.ask_at) == ("checked", None, None)


@pytest.mark.parametrize("answer", [ABSENT, DENIED, SILENCE, WORKING])
def test_absence_says_nothing_while_the_send_is_under_way(answer):
    made = asked(SENT, answer)
    assert (made.after.state, reason(made)) == (State.SENT, "asked_early")
    assert (made.after.evidence, made.after.due_at) == (Evidence.NOT_ASKED, NOW + 9)


# ------------------------------------------------------------------------------------- late results


def late(before, effect, contract=ASKED, *, attempt=1, sender="p#1", live=False, **said):
    outcome = Outcome(effect=effect, **{"reason": "r", **said})
    return evidence.late(
        before, contract, outcome, attempt=attempt, sender=sender, now=NOW, live=live
    )


def test_req_U07_a_late_confirmation_settles_what_was_unknown():
    made = late(UNKNOWN._replace(suspect="p#1,q#2"), Effect.CONFIRMED, provider_ref="T1")
    after = made.after
    assert (after.state, after.provider_ref, after.suspect) == (State.CONFIRMED, "T1", "q#2")
    assert made.drafts[0].by is By.CALL


def test_a_late_confirmation_ends_an_attempt_that_somebody_else_has_under_way():
    after = late(SENT._replace(attempt=2), Effect.CONFIRMED, provider_ref="T1").after
    assert (after.state, after.lease_owner) == (State.CONFIRMED, None)


def test_a_late_confirmation_of_what_is_prepared_again_moves_nothing():
    made = late(record(attempt=1), Effect.CONFIRMED, provider_ref="T1")
    assert (made.after.state, reason(made)) == (State.PREPARED, "late_confirmed")


def test_a_taken_over_attempt_that_nobody_gave_up_yet_closes_itself():
    made = late(SENT._replace(fence=3, suspect="p#1"), Effect.UNKNOWN)
    after = made.after
    assert (after.state, after.doubt, after.suspect) == (State.UNKNOWN, 1, "")
    assert (after.not_before_at, after.sends) == (NOW + 1, 2)


def test_the_only_attempt_that_is_refused_late_was_refused():
    made = late(UNKNOWN, Effect.REFUSED, kind=Kind.BUSINESS, code="CLOSED")
    after = made.after
    assert (after.state, after.final, after.code) == (State.REJECTED, 1, "CLOSED")


@pytest.mark.parametrize(
    "effect, said", [(Effect.REFUSED, {"retryable": True}), (Effect.NOT_SENT, {"sends": 0})]
)
def test_the_only_attempt_that_did_not_happen_may_be_made_again(effect, said):
    before = UNKNOWN._replace(review="cannot_ask", review_at=NOW - 9)
    made = late(before, effect, **said)
    after = made.after
    assert (after.state, after.doubt, after.evidence) == (State.UNKNOWN, 0, Evidence.ABSENT_FINAL)
    assert (after.review, after.review_at, after.due_at) == (None, None, NOW)
    assert reason(made) == f"late_{effect}"
    assert made.drafts[0].detail["late_attempt"] == 1


def test_req_U02_a_late_refusal_takes_back_its_own_doubt_only():
    made = late(UNKNOWN._replace(doubt=2, attempt=2), Effect.REFUSED, kind=Kind.INVALID, code="NO")
    after = made.after
    assert (after.state, after.doubt, after.refused) == (State.UNKNOWN, 1, 1)
    assert (after.kind, after.code, after.evidence) == (Kind.INVALID, "NO", Evidence.NOT_ASKED)


def test_a_late_temporary_refusal_in_doubt_forbids_nothing():
    before = UNKNOWN._replace(doubt=2, kind=Kind.BUSINESS, code="OLD")
    after = late(before, Effect.REFUSED, retryable=True, kind=Kind.THROTTLED, code="NEW").after
    assert (after.doubt, after.refused, after.kind, after.code) == (1, 0, Kind.BUSINESS, "OLD")
    refused = late(before._replace(refused=1), Effect.REFUSED, retryable=True).after
    assert refused.refused == 1, "what was refused for good stays so"


def test_a_client_that_sent_again_by_itself_takes_back_no_doubt():
    after = late(UNKNOWN, Effect.REFUSED, sends=3, kind=Kind.BUSINESS).after
    assert (after.state, after.doubt, after.refused) == (State.UNKNOWN, 1, 1)
    assert after.sends == 3, "one of the three was counted when it was given up"


@pytest.mark.parametrize("effect", [Effect.UNKNOWN, Effect.ACCEPTED])
def test_a_late_result_that_is_not_definite_leaves_the_doubt(effect):
    made = late(UNKNOWN, effect, sends=0)
    after = made.after
    assert (after.state, after.doubt, after.sends) == (State.UNKNOWN, 1, 1)
    assert (after.last_possible_at, after.due_at) == (NOW, NOW)
    assert reason(made) == f"late_{effect}"


def test_a_late_word_about_an_earlier_attempt_does_not_make_the_present_one_due():
    after = late(SENT._replace(attempt=2, doubt=1), Effect.NOT_SENT, sends=0).after
    assert (after.state, after.doubt, after.due_at) == (State.SENT, 0, NOW + 9)


def test_when_the_last_suspect_has_ended_absence_is_asked_for_once_more():
    before = UNKNOWN._replace(suspect="p#1", evidence=Evidence.ABSENT_UNFENCED)
    assert late(before, Effect.UNKNOWN).after.evidence is Evidence.NOT_ASKED
    still = before._replace(suspect="p#1,q#2")
    assert late(still, Effect.UNKNOWN).after.evidence is Evidence.ABSENT_UNFENCED


@pytest.mark.parametrize(
    "before, suspect",
    [(UNKNOWN, "p#1"), (SENT._replace(suspect="q#2"), "q#2,p#1"), (CONFIRMED, "")],
)
def test_a_body_that_is_given_up_again_is_a_suspect_while_that_matters(before, suspect):
    made = late(before, Effect.UNKNOWN, live=True)
    assert (made.after.state, made.after.suspect) == (before.state, suspect)
    assert reason(made) == "still_running"
    assert made.after.doubt == before.doubt


# ----------------------------------------------------------------------------- late, and against it


def test_req_F24_a_late_confirmation_of_what_was_rejected_is_a_dispute():
    made = late(REJECTED, Effect.CONFIRMED, provider_ref="T2")
    assert (made.after.state, made.after.disputed) == (State.REJECTED, 1)
    assert reason(made) == "confirmed_after_rejected"
    assert made.drafts[0].detail == {"ref": "T2", "sends": 1, "late_attempt": 1}


def test_req_F24_a_late_second_reference_is_a_dispute():
    made = late(CONFIRMED, Effect.CONFIRMED, provider_ref="T2")
    assert (made.after.provider_ref, made.after.disputed) == ("T1", 1)
    assert reason(made) == "duplicate_effect"


def test_where_a_double_is_harmless_it_is_noted_and_said():
    harmless = replace(ASKED, repeat=Repeat.HARMLESS)
    made = late(CONFIRMED, Effect.CONFIRMED, harmless, provider_ref="T2")
    assert (made.after.disputed, made.after.maybe_twice) == (0, 1)
    assert reason(made) == "harmless_double"


@pytest.mark.parametrize(
    "before, effect, said",
    [
        (CONFIRMED, Effect.CONFIRMED, {"provider_ref": "T1"}),
        (CONFIRMED, Effect.CONFIRMED, {}),
        (CONFIRMED, Effect.REFUSED, {}),
        (REJECTED, Effect.REFUSED, {}),
        (REJECTED, Effect.UNKNOWN, {}),
    ],
)
def test_a_late_word_that_contradicts_nothing_is_stored(before, effect, said):
    made = late(before, effect, **said)
    assert (made.after.state, made.after.disputed) == (before.state, 0)
    assert reason(made) == f"late_{effect}"


# ------------------------------------------------------------------------------- senders and people


@pytest.mark.parametrize("before", [UNKNOWN, CONFIRMED])
def test_a_look_up_that_returned_no_answer_is_told_each_time_with_what_it_was(before):
    """A defect of its own code: waiting does not heal it; it does not hide behind a time-out."""
    for known in (Evidence.NOT_ASKED, Evidence.UNANSWERED):
        made = asked(before._replace(evidence=known), DEFECT)
        assert reason(made) == "lookup_answer"
        assert made.drafts[0].detail == {"returned": "NoneType"}
        assert made.after.unanswered == 1
    assert asked(UNKNOWN._replace(evidence=Evidence.UNANSWERED), SILENCE).drafts == ()


def test_a_late_confirmation_was_possible_until_it_came():
    """What is not found then may still have to settle, counted from now."""
    assert late(SENT._replace(attempt=2), Effect.CONFIRMED).after.last_possible_at == NOW


def test_senders_that_are_gone_are_suspects_no_more():
    before = UNKNOWN._replace(suspect="p#1,q#2,r#3", evidence=Evidence.ABSENT_UNFENCED)
    made = evidence.clear_suspects(before, frozenset({"p#1", "q#2"}), now=NOW)
    after = made.after
    assert (after.suspect, after.last_possible_at) == ("r#3", NOW)
    assert (after.evidence, reason(made)) == (Evidence.ABSENT_UNFENCED, "sender_gone")


@pytest.mark.parametrize("due_at, then", [(None, NOW), (NOW + 7, NOW + 7)])
def test_when_all_are_gone_absence_is_asked_for_once_more(due_at, then):
    before = UNKNOWN._replace(suspect="p#1", evidence=Evidence.ABSENT_UNFENCED, due_at=due_at)
    after = evidence.clear_suspects(before, ["p#1"], now=NOW).after
    assert (after.suspect, after.evidence, after.due_at) == ("", Evidence.NOT_ASKED, then)


def test_a_case_is_opened_with_its_reason_and_frees_the_lease():
    made = evidence.open_review(UNKNOWN, reason="cannot_ask", now=NOW)
    after = made.after
    assert (after.state, after.review, after.review_at) == (State.UNKNOWN, "cannot_ask", NOW)
    assert (after.due_at, after.lease_owner, reason(made)) == (None, None, "review:cannot_ask")
    assert made.drafts[0].by is By.WORKER
    by_person = evidence.open_review(UNKNOWN, reason="asked", now=NOW, by=By.PERSON)
    assert by_person.drafts[0].by is By.PERSON


@pytest.mark.parametrize(
    "before, contract, may",
    [
        (SENT, ASKED, True),
        (UNKNOWN._replace(suspect="p#1", last_possible_at=None), ASKED, True),
        (UNKNOWN._replace(last_possible_at=None), ASKED, False),
        (UNKNOWN._replace(last_possible_at=NOW, evidence=Evidence.ABSENT_FINAL), ASKED, False),
        # As long as absence takes to be final, ...
        (UNKNOWN._replace(last_possible_at=NOW - 9.9), ASKED, True),
        (UNKNOWN._replace(last_possible_at=NOW - 10), ASKED, False),
        # ... else as long as a send takes.
        (UNKNOWN._replace(last_possible_at=NOW - 4.9), BLIND, True),
        (UNKNOWN._replace(last_possible_at=NOW - 5), BLIND, False),
        (UNKNOWN._replace(last_possible_at=NOW - 5), replace(BLIND, lookup=LookupPromise()), False),
        # ... or as long as a refusal takes to speak for the key.
        (UNKNOWN._replace(last_possible_at=NOW - 9.9), LATE, True),
        (UNKNOWN._replace(last_possible_at=NOW - 10), LATE, False),
        # What was refused, even for a while, is not on its way.
        (REJECTED._replace(final=0, last_possible_at=NOW), BLIND, False),
    ],
)
def test_nobody_can_say_not_done_while_something_may_still_arrive(before, contract, may):
    assert arrivals.may_still_arrive(before, contract, now=NOW) is may


@pytest.mark.parametrize(
    "before, contract, until",
    [
        (SENT, ASKED, inf),
        (UNKNOWN._replace(suspect="p#1"), ASKED, inf),
        (UNKNOWN._replace(last_possible_at=NOW), ASKED, NOW + 10),
        (UNKNOWN._replace(last_possible_at=NOW), BLIND, NOW + 5),
        (
            UNKNOWN._replace(last_possible_at=NOW),
            replace(ASKED, refusal_final_after_s=30),
            NOW + 30,
        ),
        (UNKNOWN._replace(last_possible_at=None), ASKED, None),
    ],
)
def test_until_when_something_may_arrive_can_be_told(before, contract, until):
    assert arrivals.may_arrive_until(before, contract) == until


def test_a_person_who_found_it_confirms_it():
    before = UNKNOWN._replace(review="asked", review_at=NOW - 9)
    made = evidence.verdict_confirmed(before, BLIND, provider_ref="T9", evidence="mail", now=NOW)
    after = made.after
    assert (after.state, after.provider_ref, after.doubt) == (State.CONFIRMED, "T9", 0)
    assert (after.review, after.due_at, made.drafts[0].detail) == (None, None, {"evidence": "mail"})
    assert (made.drafts[0].event, made.drafts[0].by) == (Event.CONFIRM, By.PERSON)


@pytest.mark.parametrize(
    "before, verdict",
    [
        (CONFIRMED, lambda r: evidence.verdict_confirmed(
            r, BLIND, provider_ref="T1", evidence="seen", now=NOW)),
        (REJECTED, lambda r: evidence.verdict_not_done(r, evidence="seen", now=NOW)),
    ],
)  # fmt: skip
def test_a_verdict_on_what_is_settled_ends_the_dispute_and_rewrites_nothing(before, verdict):
    disputed = before._replace(disputed=1, review="duplicate_effect", review_at=NOW - 9)
    made = verdict(disputed)
    after = made.after
    assert (after.state, after.provider_ref) == (before.state, before.provider_ref)
    assert (after.disputed, after.review, after.review_at, after.due_at) == (0, None, None, None)
    assert made.drafts[0].detail == {"evidence": "seen"}


COMPENSATED = CONFIRMED._replace(state=State.COMPENSATED)


@pytest.mark.parametrize(
    "before, verdict, counts_as, said",
    [
        (CONFIRMED, lambda r: evidence.verdict_not_done(r, evidence="seen", now=NOW),
         (State.REJECTED, True), "A person found that the thing was not made."),
        (REJECTED, lambda r: evidence.verdict_confirmed(
            r, BLIND, provider_ref="T7", evidence="seen", now=NOW),
         (State.CONFIRMED, False), "A person found that the thing was submitted."),
        (COMPENSATED, lambda r: evidence.verdict_confirmed(
            r, BLIND, provider_ref="T1", evidence="seen", now=NOW),
         (State.CONFIRMED, False), "A person found that the thing was submitted."),
    ],
    ids=["confirmed", "rejected", "compensated"],
)  # fmt: skip
def test_a_verdict_against_what_is_settled_overrules_it_and_rewrites_nothing(
    before, verdict, counts_as, said
):
    """The case is closed; the state stays, and is never said again."""
    disputed = before._replace(disputed=1, review="duplicate_effect", review_at=NOW - 9)
    made = verdict(disputed)
    after = made.after
    assert (after.state, after.final) == (before.state, before.final)
    assert after.provider_ref == before.provider_ref
    assert after.overruled
    assert (after.review, after.review_at, after.due_at) == (None, None, None)
    assert not cases.in_review(after)
    assert cases.as_found(after) == counts_as
    assert texts.say(after, replace(BLIND, noun="thing")) == said
    assert [draft.event for draft in made.drafts] == [Event.NOTE]
    assert standing((after, BLIND)) == {State.CONFIRMED: "confirmed"}.get(counts_as[0], "refused")
    assert facts.next_allowed(after, BLIND, NOW) == ["ask_person"]
    assert workflow_state([facts.part_of(after, BLIND)]) is not workflow_state(
        [facts.part_of(before, BLIND)]
    )


def test_new_evidence_opens_the_case_of_what_was_overruled_again():
    disputed = CONFIRMED._replace(disputed=1, review="duplicate_effect", review_at=NOW - 9)
    overruled = evidence.verdict_not_done(disputed, evidence="seen", now=NOW).after
    again = moves.dispute(overruled, "duplicate_effect", NOW + 5, {}, By.LOOKUP).after
    assert (again.disputed, again.review, again.overruled) == (1, "duplicate_effect", False)
    assert cases.in_review(again)


@pytest.mark.parametrize(
    "before, answer, disputed",
    [
        (CONFIRMED, ABSENT, OVERRULED),
        (CONFIRMED, FOUND, 1),
        (REJECTED, FOUND, OVERRULED),
        (REJECTED, ABSENT, 1),
    ],
)
def test_a_look_up_that_agrees_with_the_person_is_no_news_and_another_opens_the_case(
    before, answer, disputed
):
    overruled = before._replace(
        disputed=OVERRULED, last_possible_at=NOW - 60, due_at=None, lease_owner=None
    )
    after = asked(overruled, answer).after
    assert (after.state, after.disputed) == (before.state, disputed)
    assert cases.in_review(after) is (disputed == 1)


def test_a_step_that_was_overruled_lets_nothing_begin_and_an_undo_undoes_nothing():
    assert chain.satisfied(CONFIRMED)
    assert not chain.satisfied(CONFIRMED._replace(disputed=OVERRULED))
    assert chain.stuck(CONFIRMED._replace(disputed=OVERRULED))


def test_one_too_many_is_a_contradiction_until_somebody_says_that_it_is_put_right():
    several = CONFIRMED._replace(review="several_effects", review_at=NOW - 9)
    assert cases.permitted(several) == ("confirmed", "too_many")
    right = evidence.verdict_confirmed(several, BLIND, provider_ref="T1", evidence="", now=NOW)
    assert (right.after.disputed, right.after.review) == (0, None)
    made = cases.too_many(several, evidence="two mails", now=NOW)
    after = made.after
    assert (after.state, after.disputed, after.review) == (State.CONFIRMED, 1, "one_too_many")
    assert made.drafts[0].by is By.PERSON
    ended = evidence.verdict_confirmed(after, BLIND, provider_ref="T1", evidence="", now=NOW).after
    assert (ended.disputed, ended.review) == (0, None)


def test_a_person_who_found_that_it_did_not_happen_settles_it_for_good():
    made = evidence.verdict_not_done(UNKNOWN, evidence="called them", now=NOW)
    after = made.after
    assert (after.state, after.final, after.kind) == (State.REJECTED, 1, Kind.ABSENT)
    assert (after.doubt, reason(made)) == (0, "verdict_not_done")
    assert made.drafts[0].by is By.PERSON


@pytest.mark.parametrize(
    "before",
    [record(), REJECTED._replace(final=0, kind=Kind.THROTTLED, review="budget_spent", due_at=NOW)],
    ids=["never sent", "refused for a while"],
)
def test_a_person_withdraws_what_nobody_waits_for_any_more(before):
    made = evidence.verdict_not_done(before, evidence="no longer wanted", now=NOW)
    after, draft = made.after, made.drafts[0]
    assert (after.state, after.final, after.kind) == (State.REJECTED, 1, Kind.WITHDRAWN)
    assert (after.review, after.due_at) == (None, None)
    assert (draft.event, draft.by) == (Event.WITHDRAW, By.PERSON)
    assert draft.detail == {"evidence": "no longer wanted"}


@pytest.mark.parametrize("since_s, disputed", [(9.0, 0), (10.0, 1)])
def test_a_recount_before_the_settling_time_disputes_nothing(since_s, disputed):
    """What is confirmed may not show yet; only an absence that is final speaks against it."""
    confirmed = CONFIRMED._replace(last_possible_at=NOW - since_s)
    assert asked(confirmed, ABSENT).after.disputed == disputed
