"""Going on from a leased action: the caller's turn and the worker's pass run the same loop."""

from dataclasses import replace

import pytest

from ascertain.flow.effects import Ask, Invoke, Pause, Permit
from ascertain.flow.pursue import PASS_STEPS, look_up, pursue
from ascertain.model.contract import LookupPromise, OnUnknown
from ascertain.model.operations import Advance
from ascertain.model.outcome import Evidence, Kind
from ascertain.model.tables import By, State
from ascertain.rules.budget import Turn
from tests.flow.stage import (
    ASKED,
    BLIND,
    KEYED,
    KEYED_ASKED,
    LEASE_S,
    LOST_ANSWER,
    ME,
    NO_RECORD,
    NOT_BEGUN,
    NOW,
    Stage,
    found,
    meanwhile,
    ok,
    passes,
    prepared,
    refused,
    unknown,
)

HELD = {"lease_owner": ME, "lease_until": NOW + 20, "due_at": NOW + 20, "n": 1, "fence": 1}


def pursued(stage, turn=None):
    record, _ = stage.play(pursue(stage.setting, stage.held, turn))
    return record


def asked(stage, turn=None):
    return stage.play(look_up(stage.setting, stage.held, turn))


def rejected_for_now(**changes):
    return prepared(
        **HELD, state=State.REJECTED, kind=Kind.THROTTLED, attempt=1, sends=1,
        first_sent_at=NOW - 5, not_before_at=NOW, **changes,
    )  # fmt: skip


# ----------------------------------------------------------------------------------------- look-ups


def test_a_look_up_that_finds_it_keeps_the_result_with_the_confirmation():
    stage = Stage(held=unknown()).on(Ask, found())
    record, lost = asked(stage)
    assert (record.state, lost) == (State.CONFIRMED, False)
    assert stage.all(Advance)[0].result == '{"ticket":"T900"}'


def test_a_count_of_the_effects_keeps_the_result_that_is_stored():
    held = prepared(**HELD, state=State.CONFIRMED, provider_ref="T900", attempt=1, ask_at=NOW)
    stage = Stage(ASKED, held=held).on(Ask, found())
    record, _ = asked(stage)
    assert stage.all(Advance)[0].result is None
    assert record.evidence is Evidence.COUNTED


def test_absence_is_counted_from_when_the_question_was_put_not_from_when_it_was_answered():
    held = unknown(last_possible_at=NOW - 8)
    stage = Stage(held=held).on(Ask, passes(4, NO_RECORD))
    record, _ = asked(stage)
    assert record.evidence is Evidence.ABSENT, "10 s had not passed when the look-up began"
    assert record.asked_at == NOW


@pytest.mark.parametrize(
    "turn, deadline",
    [(None, "5"), (Turn(1, NOW + 2), "2"), (Turn(1, NOW - 1), "0.05"), (Turn(1, NOW + 60), "5")],
)
def test_a_look_up_is_bounded_by_the_turn_and_always_has_a_moment(turn, deadline):
    stage = Stage(held=unknown()).on(Ask, found())
    asked(stage, turn)
    assert stage.story[0] == f"ask, {deadline} s"


def test_the_lease_is_kept_from_one_look_up_to_what_follows():
    stage = Stage(held=unknown()).on(Ask, NO_RECORD)
    record, _ = asked(stage)
    assert (record.lease_owner, record.lease_until, record.due_at) == (ME, NOW + 20, NOW + 20)


def test_a_look_up_without_a_lease_takes_none():
    stage = Stage(held=unknown(lease_owner="there")).on(Ask, NO_RECORD)
    record, _ = asked(stage)
    assert record.lease_owner == "there"


# --------------------------------------------------------------------------- waiting for its moment


def test_within_the_turn_it_waits_and_then_decides_anew():
    """While it waited the budget has run out: it is not sent any more."""
    contract = replace(KEYED, budget=replace(KEYED.budget, horizon_s=15.0))
    stage = Stage(contract, held=unknown(not_before_at=NOW + 4))
    record = pursued(stage, stage.turn())
    assert stage.story == ["pause, 4 s", "write: review:budget_spent"]
    assert record.review == "budget_spent"


def test_beyond_the_turn_it_is_left_to_the_background():
    stage = Stage(KEYED, held=unknown(not_before_at=NOW + 40))
    record = pursued(stage, stage.turn())
    assert stage.story == ["write: lease and times"]
    assert (record.lease_owner, record.due_at) == (None, NOW + 40)


def test_the_worker_does_not_wait_but_comes_back():
    stage = Stage(KEYED, held=unknown(not_before_at=NOW + 4))
    record = pursued(stage)
    assert stage.story == ["write: lease and times"]
    assert (record.lease_owner, record.due_at) == (None, NOW + 4)


def test_a_provider_that_works_on_it_is_asked_by_its_own_schedule_whatever_the_turn():
    stage = Stage(held=unknown(evidence=Evidence.WORKING, ask_at=NOW + 2))
    record = pursued(stage, stage.turn())
    assert stage.story == ["write: lease and times"]
    assert record.due_at == NOW + 2


def test_when_the_pause_is_interrupted_nothing_more_is_done():
    stage = Stage(KEYED, held=unknown(not_before_at=NOW + 4)).on(Pause, False)
    pursued(stage, stage.turn())
    assert stage.story == ["pause, 4 s", "write: lease and times"]


def test_a_question_that_never_left_because_its_caller_is_gone_is_not_counted():
    stage = Stage(ASKED, held=unknown()).on(Ask, NOT_BEGUN)
    record = pursued(stage, stage.turn())
    assert stage.story == ["ask, 5 s", "write: lease and times"]
    assert (record.asked, record.unanswered, record.lease_owner) == (0, 0, None)
    assert record.due_at == NOW, "the worker asks"


def test_what_would_no_longer_be_wanted_by_then_is_withdrawn_at_once():
    held = prepared(**HELD, not_before_at=NOW + 40, send_by_at=NOW + 35)
    stage = Stage(KEYED, held=held)
    record = pursued(stage)
    assert stage.story == ["write: withdraw"]
    assert (record.state, record.reason, record.kind) == (
        State.REJECTED, "not_wanted", Kind.WITHDRAWN,
    )  # fmt: skip


def test_what_will_still_be_wanted_by_then_waits():
    held = prepared(**HELD, not_before_at=NOW + 20)
    stage = Stage(KEYED, held=held)
    assert pursued(stage).due_at == NOW + 20


# --------------------------------------------------------------------------------------- permission


@pytest.mark.parametrize("turn, by", [(None, By.WORKER), (Turn(1, NOW + 30), By.CALL)])
def test_a_late_send_is_permitted_first_and_made_by_whoever_makes_it(turn, by):
    stage = Stage(KEYED, held=unknown()).on(Invoke, ok())
    pursued(stage, turn)
    assert stage.story[:3] == ["permit", "write: send", "invoke, 5 s"]
    made = stage.all(Advance)[0]
    assert (made.drafts[0].by, made.after.lease_until) == (by, NOW + 5 + LEASE_S)


def test_without_permission_what_never_left_is_withdrawn():
    stage = Stage(KEYED, held=prepared(**HELD)).on(Permit, "no")
    record = pursued(stage)
    assert stage.story == ["permit", "write: withdraw"]
    assert (record.state, record.final, record.reason) == (State.REJECTED, 1, "permission")


def test_without_permission_what_may_have_happened_goes_to_a_person():
    stage = Stage(KEYED, held=unknown()).on(Permit, "no")
    record = pursued(stage)
    assert stage.story == ["permit", "write: review:permission"]
    assert (record.state, record.review) == (State.UNKNOWN, "permission")


def test_where_permission_cannot_be_checked_it_is_held_and_comes_back():
    stage = Stage(KEYED, held=unknown()).on(Permit, "unknown")
    record = pursued(stage)
    assert stage.story == ["permit", "write: lease and times"]
    assert (record.state, record.lease_owner, record.due_at) == (State.UNKNOWN, None, NOW + 60)


@pytest.mark.parametrize("permission", ["yes", "no", "unknown"])
def test_whoever_was_quicker_meanwhile_prevents_the_send(permission):
    stage = Stage(KEYED, held=unknown())
    before = stage.held
    stage.on(Permit, meanwhile(lambda stage: stage.taken_over("elsewhere"), permission))
    assert pursued(stage) == before
    assert stage.story[1].endswith("(lost)")
    assert not stage.all(Invoke)


# ----------------------------------------------------------------------------------------- the ends


def test_a_turn_ends_when_the_action_is_settled():
    stage = Stage(ASKED, held=prepared(**HELD, state=State.CONFIRMED, provider_ref="T1"))
    assert pursued(stage, stage.turn()) == stage.held
    assert stage.story == [], "its count is the background's"


def test_the_worker_counts_the_effects_of_what_is_confirmed():
    held = prepared(**HELD, state=State.CONFIRMED, provider_ref="T900", attempt=1, ask_at=NOW)
    stage = Stage(ASKED, held=held).on(Ask, found())
    record = pursued(stage)
    assert stage.story == ["ask, 5 s", "write: recounted"]
    assert (record.lease_owner, record.due_at) == (None, None)


def test_what_is_settled_is_let_go_of_and_not_due_any_more():
    stage = Stage(KEYED, held=prepared(**HELD, state=State.CONFIRMED, provider_ref="T1"))
    record = pursued(stage)
    assert stage.story == ["write: lease and times"]
    assert (record.lease_owner, record.due_at) == (None, None)


def test_absence_that_is_final_closes_what_may_not_be_sent_any_more():
    contract = replace(KEYED_ASKED, budget=replace(KEYED_ASKED.budget, sends=1))
    stage = Stage(contract, held=unknown(evidence=Evidence.ABSENT_FINAL))
    record = pursued(stage)
    assert stage.story == ["write: reject"]
    assert (record.state, record.final, record.kind) == (State.REJECTED, 1, Kind.ABSENT)


def test_what_is_no_longer_wanted_is_withdrawn():
    stage = Stage(KEYED, held=prepared(**HELD, not_before_at=None, send_by_at=NOW - 1))
    record = pursued(stage)
    assert stage.story == ["write: withdraw"]
    assert record.reason == "not_wanted"


def test_a_case_is_opened_once():
    opened = unknown(review="asked", review_at=NOW - 60)
    for held, story in (
        (unknown(), "write: review:cannot_ask"), (opened, "write: lease and times"),
    ):  # fmt: skip
        stage = Stage(BLIND, held=held)
        record = pursued(stage)
        assert stage.story == [story]
        assert (record.lease_owner, record.due_at) == (None, None)
    assert (record.review, record.review_at) == ("asked", NOW - 60)


def test_best_effort_stays_open_and_is_not_due():
    stage = Stage(replace(BLIND, on_unknown=OnUnknown.LEAVE), held=unknown())
    record = pursued(stage)
    assert stage.story == ["write: lease and times"]
    assert (record.state, record.review, record.due_at) == (State.UNKNOWN, None, None)


def test_a_temporary_refusal_is_sent_again_with_the_same_key():
    stage = Stage(KEYED, held=rejected_for_now()).on(Invoke, ok())
    record = pursued(stage)
    assert stage.story == ["permit", "write: send", "invoke, 5 s", "write: confirm"]
    assert (record.key, record.attempt, record.final) == ("K", 2, 0)


def test_a_settled_refusal_during_the_pass_ends_it():
    stage = Stage(KEYED, held=rejected_for_now()).on(Invoke, refused("CLOSED"))
    record = pursued(stage)
    assert stage.story[2:] == ["invoke, 5 s", "write: reject"]
    assert record.final == 1


def test_an_attempt_of_the_worker_that_is_lost_comes_back_after_its_back_off():
    stage = Stage(KEYED, held=unknown()).on(Invoke, LOST_ANSWER)
    record = pursued(stage)
    assert stage.story[2:] == ["invoke, 5 s", "write: lose"]
    assert (record.lease_owner, record.due_at, record.not_before_at) == (None, NOW, NOW + 2)


# ------------------------------------------------------------------------------------ turn and pass


@pytest.mark.parametrize(
    "contract, held, due_at",
    [
        # by when its next send may be, ...
        (KEYED, unknown(not_before_at=NOW + 3), NOW + 3),
        (KEYED, unknown(), NOW),
        # ... whenever its next question is, ...
        (KEYED_ASKED, unknown(evidence=Evidence.ABSENT, ask_at=NOW + 9), NOW),
        # ... and before its key's lifetime ends.
        (replace(KEYED, key_lifetime_s=75.0), unknown(not_before_at=NOW + 8), NOW + 3),
        # What was never sent has no such end.
        (KEYED, prepared(**HELD, not_before_at=NOW + 6, send_by_at=NOW + 50), NOW + 6),
    ],
)
def test_a_spent_turn_leaves_a_time_at_which_the_background_goes_on(contract, held, due_at):
    stage = Stage(contract, held=held)
    record = pursued(stage, Turn(0, NOW + 30))
    assert stage.story == ["write: lease and times"]
    assert (record.lease_owner, record.due_at) == (None, due_at)


def test_a_turn_sends_as_often_as_it_may_and_no_more():
    stage = Stage(KEYED, held=unknown()).on(Invoke, LOST_ANSWER, LOST_ANSWER)
    record = pursued(stage, Turn(2, NOW + 30))
    assert stage.attempts == [2, 3]
    assert stage.story[-2:] == ["write: lose", "write: lease and times"]
    assert (record.state, record.lease_owner) == (State.UNKNOWN, None)


def test_one_pass_of_the_worker_takes_a_bounded_number_of_steps():
    contract = replace(ASKED, budget=replace(ASKED.budget, backoff_s=0.0))
    stage = Stage(contract, held=unknown()).on(Ask, *[LOST_ANSWER] * PASS_STEPS)
    record = pursued(stage)
    assert len(stage.all(Ask)) == PASS_STEPS
    assert stage.story[-1] == "write: lease and times"
    assert (record.lease_owner, record.due_at) == (None, NOW), "it is due again at once"


def test_a_look_up_that_fences_the_attempt_lets_the_same_key_be_sent_again():
    contract = replace(ASKED, lookup=LookupPromise(fences="attempt"))
    stage = Stage(contract, held=unknown()).on(Ask, NO_RECORD).on(Invoke, ok())
    record = pursued(stage, stage.turn())
    assert stage.story == [
        "ask, 5 s", "write: absent_fenced", "permit", "write: send", "invoke, 5 s",
        "write: confirm",
    ]  # fmt: skip
    assert (record.state, record.key) == (State.CONFIRMED, "K")
