"""Taking up what somebody left: a lost lease is a lost answer, and evidence comes first."""

from dataclasses import replace

import pytest

from ascertain.flow.effects import Ask, Inquire, Invoke, Permit
from ascertain.flow.recover import inspect, recover
from ascertain.model.contract import LookupPromise
from ascertain.model.operations import Advance
from ascertain.model.outcome import Evidence
from ascertain.model.tables import By, State
from tests.flow.stage import (
    ASKED,
    KEYED,
    KEYED_ASKED,
    LOST_ANSWER,
    ME,
    NO_RECORD,
    NOW,
    Stage,
    found,
    meanwhile,
    ok,
    sent,
    unknown,
)

TAKEN = {"lease_owner": ME, "lease_until": NOW + 20, "due_at": NOW + 20, "fence": 1}
GONE = frozenset({"there#1"})


def recovered(stage, turn=None):
    return stage.play(recover(stage.setting, stage.held, turn))


def inspected(stage):
    return stage.play(inspect(stage.setting, stage.held))


# --------------------------------------------------------------------------------- an expired lease


def test_req_U01_an_expired_lease_is_a_lost_answer_and_the_provider_is_asked_before_anything_else():
    stage = Stage(held=sent(**TAKEN, suspect="there#1")).on(Ask, found())
    record = recovered(stage)
    assert stage.story[:4] == [
        "inquire: there#1", "write: lose", "inquire: there#1", "ask, 5 s",
    ]  # fmt: skip
    lost = stage.all(Advance)[0]
    assert (lost.drafts[0].reason, lost.drafts[0].by) == ("lease_expired", By.WORKER)
    assert (record.state, record.provider_ref) == (State.CONFIRMED, "T900")
    assert not stage.all(Invoke)


def test_the_lease_just_taken_is_kept_when_the_attempt_is_given_up():
    stage = Stage(held=sent(**TAKEN)).on(Ask, found())
    recovered(stage)
    lost = stage.all(Advance)[0]
    assert (lost.after.lease_owner, lost.after.lease_until) == (ME, NOW + 20)


def test_a_sender_that_is_proven_gone_is_no_suspect_any_more():
    stage = Stage(held=sent(**TAKEN, suspect="there#1")).on(Inquire, GONE).on(Ask, found())
    recovered(stage)
    assert stage.story[:3] == ["inquire: there#1", "write: lose", "ask, 5 s"]
    assert stage.all(Advance)[0].after.suspect == ""


def test_of_several_suspects_only_those_that_are_gone_are_forgotten():
    stage = Stage(held=sent(**TAKEN, suspect="there#1,far#2")).on(Inquire, GONE, frozenset())
    stage.on(Ask, found())
    record = recovered(stage)
    assert stage.story[2] == "inquire: far#2"
    assert record.suspect == "far#2"


def test_when_the_attempt_closed_itself_just_before_nobody_goes_on():
    stage = Stage(held=sent(**TAKEN, suspect="there#1"))
    taken = stage.held

    def lands_by_itself(stage):
        stage.somebody(state=State.CONFIRMED, provider_ref="T900", lease_owner=None)

    stage.on(Inquire, meanwhile(lands_by_itself, frozenset()))
    record = recovered(stage)
    assert stage.story == ["inquire: there#1", "write: lose (lost)"]
    assert record == taken


# --------------------------------------------------------------------------- suspects of an unknown


def test_an_unknown_action_without_suspects_is_pursued_at_once():
    stage = Stage(held=unknown()).on(Ask, found())
    assert recovered(stage).state is State.CONFIRMED
    assert stage.story[0] == "ask, 5 s"


def test_req_F10_once_its_sender_is_gone_what_was_absent_is_asked_for_once_more():
    held = unknown(suspect="there#1", evidence=Evidence.ABSENT_UNFENCED)
    stage = Stage(ASKED, held=held).on(Inquire, GONE).on(Ask, NO_RECORD)
    recovered(stage)
    assert stage.story[:3] == ["inquire: there#1", "write: sender_gone", "ask, 5 s"]
    assert stage.all(Advance)[0].after.suspect == ""


def test_while_its_sender_may_live_absence_leads_to_a_person_and_not_to_a_send():
    held = unknown(suspect="there#1", evidence=Evidence.ABSENT_UNFENCED)
    stage = Stage(ASKED, held=held)
    record = recovered(stage)
    assert stage.story == ["inquire: there#1", "write: review:sender_may_live"]
    assert (record.review, record.lease_owner) == ("sender_may_live", None)


def test_who_loses_the_action_while_suspects_are_cleared_leaves_it():
    stage = Stage(held=unknown(suspect="there#1"))
    taken = stage.held
    stage.on(Inquire, meanwhile(lambda stage: stage.taken_over("elsewhere"), GONE))
    assert recovered(stage) == taken
    assert stage.story == ["inquire: there#1", "write: sender_gone (lost)"]


def test_the_worker_sends_again_only_after_permission_and_in_its_own_name():
    stage = Stage(KEYED, held=unknown()).on(Invoke, ok())
    record = recovered(stage)
    assert stage.story == ["permit", "write: send", "invoke, 5 s", "write: confirm"]
    assert stage.all(Advance)[0].drafts[0].by is By.WORKER
    assert (record.state, record.attempt) == (State.CONFIRMED, 2)


# --------------------------------------------------------------------------------------- a question


def test_a_question_is_asked_once_and_sends_nothing():
    """Absence is final, and even so: who asks only wants to know."""
    stage = Stage(held=unknown(last_possible_at=NOW - 100)).on(Ask, NO_RECORD)
    record = inspected(stage)
    assert stage.story == ["ask, 5 s", "write: absent_final", "write: lease and times"]
    assert not stage.all(Invoke) + stage.all(Permit)
    assert (record.lease_owner, record.due_at) == (None, NOW), "the background goes on"


def test_a_question_about_an_expired_lease_gives_the_attempt_up_first():
    stage = Stage(held=sent(**TAKEN)).on(Ask, found("T901"))
    record = inspected(stage)
    assert stage.story == ["write: lose", "ask, 5 s", "write: confirm", "write: lease and times"]
    assert (record.provider_ref, record.due_at) == ("T901", None)


def test_a_question_whose_action_closed_itself_asks_nothing():
    stage = Stage(held=sent(**TAKEN, suspect="there#1"))
    taken = stage.held
    stage.on(Inquire, meanwhile(lambda stage: stage.somebody(state=State.UNKNOWN), frozenset()))
    assert inspected(stage) == taken
    assert stage.story == ["inquire: there#1", "write: lose (lost)"]


def test_a_question_whose_action_moved_meanwhile_tells_how_it_stands_and_writes_no_more():
    def confirmed(stage):
        stage.somebody(state=State.CONFIRMED, provider_ref="T1", lease_owner=None)

    stage = Stage(held=unknown()).on(Ask, meanwhile(confirmed, NO_RECORD))
    record = inspected(stage)
    assert stage.story == ["ask, 5 s", "write: absent (lost)"]
    assert (record.state, record.provider_ref) == (State.CONFIRMED, "T1")


def test_a_question_without_an_answer_leaves_the_action_due():
    stage = Stage(held=unknown()).on(Ask, LOST_ANSWER)
    record = inspected(stage)
    assert (record.evidence, record.unanswered) == (Evidence.UNANSWERED, 1)
    assert (record.lease_owner, record.due_at) == (None, NOW)


@pytest.mark.parametrize("contract, due_at", [(ASKED, NOW), (KEYED_ASKED, None)])
def test_a_question_that_settles_it_leaves_a_count_of_the_effects_to_the_background(
    contract, due_at
):
    """Where the provider does not deduplicate, its records are counted later."""
    stage = Stage(contract, held=unknown()).on(Ask, found())
    record = inspected(stage)
    assert record.state is State.CONFIRMED
    assert (record.due_at, record.ask_at) == (due_at, None if due_at is None else NOW + 20)


def test_a_fence_that_ends_the_key_closes_the_action_at_the_next_pass():
    contract = replace(KEYED_ASKED, lookup=LookupPromise(fences="key"))
    stage = Stage(contract, held=unknown()).on(Ask, NO_RECORD)
    record = recovered(stage)
    assert stage.story == ["ask, 5 s", "write: absent_fenced", "write: reject"]
    assert (record.state, record.final, record.kind) == (State.REJECTED, 1, "absent")
