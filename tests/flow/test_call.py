"""A guarded write: what is written before the wire, what after it, and what is never sent."""

from dataclasses import replace

import pytest

from ascertain.errors import IntentConflict, LedgerFull
from ascertain.flow.call import call
from ascertain.flow.effects import Ask, Invoke, Pause, Permit, Relate
from ascertain.model.operations import Advance, MustReplace, Reserve, Reserved
from ascertain.model.outcome import Evidence, Kind, Report
from ascertain.model.tables import By, Event, State
from ascertain.model.words import Accepted
from tests.flow.stage import (
    BLIND,
    INTERRUPTED,
    KEYED,
    LEASE_S,
    LOST_ANSWER,
    ME,
    NEVER_LEFT,
    NO_RECORD,
    NOW,
    STILL_RUNNING,
    Stage,
    found,
    meanwhile,
    ok,
    passes,
    prepared,
    refused,
    unknown,
    wanted,
)


def play(stage, turn=None, record=None, **said):
    return stage.play(call(stage.setting, wanted(record, **said), turn or stage.turn()))


def test_req_F01_a_write_is_two_commits_with_the_send_between_them():
    stage = Stage().on(Invoke, ok())
    ended = play(stage)
    assert stage.story == ["reserve: prepare, send", "invoke, 5 s", "write: confirm"]
    assert (ended.record.state, ended.record.provider_ref, ended.how) == (
        "confirmed",
        "T900",
        "new",
    )
    assert ended.record == stage.held


def test_before_the_wire_the_ledger_holds_the_attempt_its_sender_and_its_lease():
    stage = Stage().on(Invoke, ok())
    play(stage)
    (reserved,) = stage.all(Reserve)
    record = reserved.record
    assert (record.state, record.attempt, record.first_sent_at) == (State.SENT, 1, NOW)
    assert (record.lease_owner, record.lease_until) == (ME, NOW + 5 + LEASE_S)
    assert record.due_at == record.lease_until
    born, send = reserved.drafts
    assert born == (None, Event.PREPARE, State.PREPARED, By.CALL, "prepared", 0, {})
    assert (send.start, send.end, send.by, send.attempt) == ("prepared", State.SENT, By.CALL, 1)
    (invoked,) = stage.all(Invoke)
    assert invoked.record.n == 2, "the body runs for what the ledger gave back"


def test_the_result_is_written_with_the_confirmation_and_with_nothing_else():
    for report, result in ((ok(), '{"ticket":"T900"}'), (refused(), None)):
        stage = Stage().on(Invoke, report)
        play(stage)
        (write,) = stage.all(Advance)
        assert write.result == result


def test_a_result_without_a_confirmation_is_not_kept():
    """The body returned, but without the receipt that its contract demands."""
    contract = replace(BLIND, receipt="id", receipt_required=True)
    stage = Stage(contract).on(Invoke, Report(value={"state": "ok"}, result='{"state":"ok"}'))
    ended = play(stage)
    assert ended.record.state is State.UNKNOWN
    assert {write.result for write in stage.all(Advance)} == {None}


def test_a_send_whose_permission_took_the_turn_has_no_time_left():
    stage = Stage(KEYED).on(Invoke, LOST_ANSWER, LOST_ANSWER).on(Permit, passes(40, "yes"))
    play(stage)
    assert stage.story[4:7] == ["permit", "write: send", "invoke, 0 s"]


def test_the_send_ends_with_the_turn_where_that_comes_first():
    stage = Stage().on(Invoke, ok())
    play(stage, turn=stage.turn(seconds=1.5))
    assert stage.story[1] == "invoke, 1.5 s"


def test_when_nothing_can_be_written_nothing_is_sent():
    stage = Stage().on(Reserve, LedgerFull())
    with pytest.raises(LedgerFull):
        play(stage)
    assert stage.story == ["reserve: prepare, send (LedgerFull)"]


def test_what_is_denied_is_recorded_and_never_sent():
    stage = Stage()
    ended = play(stage, denied=(Kind.AUTH, "consent"))
    assert stage.story == ["reserve: prepare, withdraw"]
    record = ended.record
    assert (record.state, record.final, record.kind) == (State.REJECTED, 1, Kind.AUTH)
    assert (record.reason, record.attempt, ended.report) == ("consent", 0, None)


def test_req_F21_a_new_action_names_the_one_it_replaces_and_gets_a_key_of_its_own():
    earlier = prepared(id="a0", key="K0", state=State.REJECTED, final=1)
    stage = Stage().on(Reserve, MustReplace(previous=earlier)).on(Invoke, ok())
    ended = play(stage)
    assert stage.story == [
        "reserve: prepare, send", "reserve: prepare, send", "invoke, 5 s", "write: confirm",
    ]  # fmt: skip
    assert (ended.record.replaces, ended.record.key) == ("a0", "K after K0")


# ---------------------------------------------------------------------------- what is known already


@pytest.mark.parametrize("via", ["intent", "call_id"])
def test_req_F09_a_settled_intent_is_told_again_and_not_sent(via):
    settled = unknown(state=State.CONFIRMED, provider_ref="T900", lease_owner=None)
    stage = Stage().on(Reserve, Reserved(record=settled, via=via))
    ended = play(stage)
    assert stage.story == ["reserve: prepare, send"]
    assert (ended.record, ended.how) == (settled, "replayed")


def test_a_final_refusal_that_still_binds_is_told_again_and_not_sent():
    refusal = prepared(state=State.REJECTED, final=1, kind=Kind.BUSINESS, exact="y", attempt=1)
    stage = Stage().on(Reserve, Reserved(record=refusal, via="bound"))
    ended = play(stage)
    assert stage.story == ["reserve: prepare, send"]
    assert (ended.record, ended.how) == (refusal, "bound")


@pytest.mark.parametrize(
    "living", [unknown(exact="y"), unknown(exact="y", state=State.CONFIRMED, provider_ref="T1")]
)
def test_req_F20_other_exact_arguments_for_a_living_intent_are_a_conflict(living):
    stage = Stage().on(Reserve, Reserved(record=living, via="intent"))
    with pytest.raises(IntentConflict, match="with other arguments") as conflict:
        play(stage)
    assert stage.story == ["reserve: prepare, send"], "nothing was sent, and nothing else written"
    assert conflict.value.context == {"action": "a1", "state": str(living.state)}


def test_an_open_intent_is_helped_to_its_end():
    stage = Stage(held=unknown(lease_owner=None)).on(Ask, found("T901"))
    stage.on(Reserve, Reserved(record=stage.held, via="intent"))
    ended = play(stage)
    assert (ended.record.state, ended.record.provider_ref, ended.how) == (
        "confirmed", "T901", "joined",
    )  # fmt: skip
    assert not stage.all(Invoke)


# ----------------------------------------------------------------------------------- after the wire


def test_req_F03_a_lost_answer_is_asked_for_before_anything_is_sent_again():
    stage = Stage().on(Invoke, LOST_ANSWER).on(Ask, found())
    ended = play(stage)
    assert stage.story == [
        "reserve: prepare, send", "invoke, 5 s", "write: lose", "ask, 5 s", "write: confirm",
    ]  # fmt: skip
    assert ended.record.state is State.CONFIRMED
    assert stage.attempts == [1]


def test_the_lease_is_kept_while_the_turn_goes_on_so_that_no_worker_starts_beside_it():
    stage = Stage().on(Invoke, LOST_ANSWER).on(Ask, found())
    play(stage)
    lost, _ = stage.all(Advance)
    assert (lost.after.state, lost.after.lease_owner) == (State.UNKNOWN, ME)
    assert lost.after.lease_until == lost.after.due_at == NOW + 30 + LEASE_S


def test_req_F08_what_the_provider_does_not_have_yet_is_sent_again_with_the_same_key():
    stage = Stage().on(Invoke, LOST_ANSWER, ok()).on(Ask, NO_RECORD)
    ended = play(stage)
    assert stage.story == [
        "reserve: prepare, send", "invoke, 5 s", "write: lose", "ask, 5 s", "write: absent",
        "pause, 1 s", "permit", "write: send", "invoke, 5 s", "write: confirm",
    ]  # fmt: skip
    assert {effect.record.key for effect in stage.all(Invoke)} == {"K"}
    assert (ended.record.attempt, ended.outcome.effect) == (2, "confirmed")


def test_what_can_only_be_repeated_is_sent_again_after_a_pause():
    stage = Stage(KEYED).on(Invoke, LOST_ANSWER, ok())
    play(stage)
    assert stage.story == [
        "reserve: prepare, send", "invoke, 5 s", "write: lose", "pause, 1 s", "permit",
        "write: send", "invoke, 5 s", "write: confirm",
    ]  # fmt: skip


def test_what_can_be_neither_asked_nor_repeated_waits_for_a_person():
    stage = Stage(BLIND).on(Invoke, LOST_ANSWER)
    ended = play(stage)
    assert stage.story == [
        "reserve: prepare, send", "invoke, 5 s", "write: lose", "write: review:cannot_ask",
    ]  # fmt: skip
    assert (ended.record.state, ended.record.review) == (State.UNKNOWN, "cannot_ask")
    assert ended.record.lease_owner is None


def test_the_turn_ends_when_its_sends_are_spent_and_the_background_has_a_time():
    stage = Stage(KEYED).on(Invoke, LOST_ANSWER)
    ended = play(stage, turn=stage.turn(sends=1))
    assert stage.story[2:] == ["write: lose", "write: lease and times"]
    record = ended.record
    assert (record.state, record.lease_owner, record.due_at) == (State.UNKNOWN, None, NOW + 1)


def test_a_lost_answer_that_took_the_whole_turn_is_left_to_the_background():
    stage = Stage(KEYED).on(Invoke, passes(30, LOST_ANSWER))
    ended = play(stage)
    assert stage.story[2:] == ["write: lose", "write: lease and times"]
    assert (ended.record.lease_owner, ended.record.due_at) == (None, NOW + 31)


def test_what_never_left_is_prepared_again_and_sent_within_the_turn():
    stage = Stage().on(Invoke, NEVER_LEFT, ok())
    play(stage)
    assert stage.story == [
        "reserve: prepare, send", "invoke, 5 s", "write: unsend", "pause, 1 s", "permit",
        "write: send", "invoke, 5 s", "write: confirm",
    ]  # fmt: skip


def test_a_definite_refusal_ends_the_call():
    stage = Stage().on(Invoke, refused("CLOSED"))
    ended = play(stage)
    assert stage.story == ["reserve: prepare, send", "invoke, 5 s", "write: reject"]
    assert (ended.record.final, ended.record.code, ended.record.due_at) == (1, "CLOSED", None)


def test_what_was_accepted_is_neither_asked_nor_sent_again_before_its_time():
    stage = Stage().on(Invoke, Report(value=Accepted("job-1", ask_after_s=3.0)))
    ended = play(stage)
    assert stage.story[2:] == ["write: lose", "write: lease and times"]
    assert (ended.record.evidence, ended.record.handle) == (Evidence.WORKING, "job-1")
    assert ended.record.due_at == NOW + 3


# ----------------------------------------------------------------------------- interrupted, running


def test_an_interrupted_caller_leaves_an_honest_record_and_does_no_more():
    stage = Stage().on(Invoke, INTERRUPTED)
    ended = play(stage)
    assert stage.story == ["reserve: prepare, send", "invoke, 5 s", "write: lose"]
    record = ended.record
    assert (record.state, record.lease_owner, record.due_at) == (State.UNKNOWN, None, NOW)


def test_an_interrupted_caller_stops_even_where_its_own_process_has_taken_the_action_over():
    def given_up(stage):
        stage.taken_over(ME)
        stage.somebody(state=State.UNKNOWN, doubt=1)

    stage = Stage(KEYED).on(Invoke, meanwhile(given_up, INTERRUPTED))
    ended = play(stage)
    assert stage.story[2:] == ["write: lose (lost)", "write: late_unknown"]
    assert (ended.record.state, ended.record.lease_owner) == (State.UNKNOWN, ME)


def test_a_body_that_still_runs_is_given_up_and_remembered_as_one_that_may_send():
    stage = Stage().on(Invoke, STILL_RUNNING)
    ended = play(stage)
    assert stage.story == ["reserve: prepare, send", "invoke, 5 s", "write: lose"]
    record = ended.record
    assert (record.state, record.suspect, record.lease_owner) == (State.UNKNOWN, f"{ME}#1", None)
    assert (record.doubt, record.not_before_at) == (1, NOW + 1)


def test_a_pause_that_is_interrupted_ends_the_turn():
    stage = Stage(KEYED).on(Invoke, LOST_ANSWER).on(Pause, False)
    ended = play(stage)
    assert stage.story[3:] == ["pause, 1 s", "write: lease and times"]
    assert (ended.record.lease_owner, ended.record.due_at) == (None, NOW + 1)
    assert not stage.all(Permit)


# ---------------------------------------------------------------------------------- related records


def test_a_record_that_a_refusal_names_is_told_only_where_it_is_the_callers():
    for mine, told in ((True, "T7"), (False, None)):
        stage = Stage(KEYED).on(Relate, mine)
        stage.on(Invoke, refused("EXISTS", kind="business", related_ref="T7"))
        ended = play(stage)
        assert stage.story == [
            "reserve: prepare, send", "invoke, 5 s", "relate: T7", "write: reject",
        ]  # fmt: skip
        assert ended.record.related_ref == told


# ------------------------------------------------------------------------------ somebody is quicker


def test_req_U07_a_result_that_comes_after_a_take_over_lands_on_its_own_action_and_nobody_goes_on():
    """The worker took the lease over and gave the attempt up while the body still ran."""

    def given_up(stage):
        stage.taken_over("worker")
        stage.somebody(state=State.UNKNOWN, doubt=1)

    stage = Stage().on(Invoke, meanwhile(given_up, ok()))
    ended = play(stage)
    assert stage.story == [
        "reserve: prepare, send", "invoke, 5 s", "write: confirm (lost)", "write: confirm",
    ]  # fmt: skip
    assert (ended.record.state, ended.record.provider_ref) == (State.CONFIRMED, "T900")
    assert ended.record == stage.held


def test_a_lost_answer_after_a_take_over_leaves_the_action_to_who_has_it():
    def given_up(stage):
        stage.taken_over("worker")
        stage.somebody(state=State.UNKNOWN, doubt=1, evidence=Evidence.NOT_ASKED)

    stage = Stage().on(Invoke, meanwhile(given_up, LOST_ANSWER))
    ended = play(stage)
    assert stage.story[2:] == ["write: lose (lost)", "write: late_unknown"]
    assert (ended.record.state, ended.record.lease_owner) == (State.UNKNOWN, "worker")
    assert stage.attempts == [1]


def test_a_lost_answer_after_a_take_over_gives_the_attempt_up_and_frees_the_lease():
    """Nobody has given it up yet: it closes itself, and whoever took it over goes on."""
    stage = Stage().on(Invoke, meanwhile(lambda stage: stage.taken_over("worker"), LOST_ANSWER))
    ended = play(stage)
    assert stage.story[2:] == ["write: lose (lost)", "write: lose"]
    record = ended.record
    assert (record.state, record.lease_owner, record.due_at) == (State.UNKNOWN, None, NOW)


def test_a_lost_answer_that_somebody_has_given_up_already_is_noted_and_the_turn_is_over():
    """At its deadline, under the same lease: the keeper of deadlines was quicker."""

    def at_its_deadline(stage):
        stage.somebody(state=State.UNKNOWN, doubt=1, lease_owner=None, suspect=f"{ME}#1")

    stage = Stage().on(Invoke, meanwhile(at_its_deadline, LOST_ANSWER))
    ended = play(stage)
    assert stage.story[2:] == ["write: lose (lost)", "write: late_unknown"]
    assert (ended.record.suspect, ended.record.doubt) == ("", 1)


def test_what_is_under_way_in_a_second_attempt_is_not_closed_by_the_first():
    def sent_again(stage):
        stage.somebody(state=State.SENT, attempt=2, doubt=1)

    stage = Stage().on(Invoke, meanwhile(sent_again, LOST_ANSWER))
    ended = play(stage)
    assert stage.story[2:4] == ["write: lose (lost)", "write: late_unknown"]
    assert (ended.record.state, ended.record.attempt) == (State.SENT, 2)
    assert stage.attempts == [1]


def test_a_late_confirmation_of_what_was_confirmed_otherwise_is_kept_as_a_dispute():
    def settled(stage):
        stage.taken_over("worker")
        stage.somebody(state=State.CONFIRMED, provider_ref="T1", lease_owner=None)

    stage = Stage().on(Invoke, meanwhile(settled, ok("T2")))
    ended = play(stage)
    assert stage.story[2:] == ["write: confirm (lost)", "write: duplicate_effect"]
    record = ended.record
    assert (record.state, record.provider_ref, record.disputed) == (State.CONFIRMED, "T1", 1)


def test_the_first_resend_waits_for_its_permission_and_a_quicker_worker_prevents_it():
    stage = Stage(KEYED).on(Invoke, LOST_ANSWER)
    stage.on(Permit, meanwhile(lambda stage: stage.taken_over("worker"), "yes"))
    ended = play(stage)
    assert stage.story[3:] == ["pause, 1 s", "permit", "write: send (lost)"]
    assert ended.record.state is State.UNKNOWN
    assert stage.attempts == [1]


def test_the_answer_to_a_look_up_that_somebody_outran_is_dropped_and_nothing_is_sent():
    stage = Stage().on(Invoke, LOST_ANSWER)
    stage.on(Ask, meanwhile(lambda stage: stage.taken_over("worker"), NO_RECORD))
    ended = play(stage)
    assert stage.story[3:] == ["ask, 5 s", "write: absent (lost)"]
    assert ended.record == stage.held
    assert stage.attempts == [1]
