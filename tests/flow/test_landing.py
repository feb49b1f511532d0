"""An answer in hand, and a ledger that does not take it: tried while the lease lasts, then told."""

import pytest

from ascertain.errors import (
    ActionNotFound,
    IllegalTransition,
    LedgerBusy,
    LedgerClosed,
    LedgerCorrupt,
    LedgerFull,
    LedgerLocked,
    LedgerNewer,
    LedgerReadOnly,
)
from ascertain.flow.attempt import NOT_RECORDED
from ascertain.flow.call import call
from ascertain.flow.effects import Ask, Invoke, Pause, Relate, Tell
from ascertain.flow.observe import observe
from ascertain.flow.recover import recover
from ascertain.model.operations import Advance
from ascertain.model.outcome import Report
from ascertain.model.tables import State
from ascertain.model.words import Accepted
from tests.flow.stage import (
    AS_USUAL,
    BLIND,
    KEYED,
    LOST_ANSWER,
    NOW,
    Stage,
    meanwhile,
    ok,
    passes,
    refused,
    unknown,
    wanted,
)

PROMPT = ["reserve: prepare, send", "invoke, 5 s"]


def play(stage):
    return stage.play(call(stage.setting, wanted(), stage.turn()))


def told(stage):
    (line,) = stage.all(Tell)
    return line


# -------------------------------------------------------------------------------- it is tried again


def test_an_answer_that_the_ledger_does_not_take_is_written_as_soon_as_it_does():
    stage = Stage().on(Invoke, ok()).on(Advance, LedgerFull(), LedgerBusy(), LedgerLocked())
    ended = play(stage)
    assert stage.story == [
        *PROMPT, "write: confirm (LedgerFull)", "pause, 0.025 s", "write: confirm (LedgerBusy)",
        "pause, 0.05 s", "write: confirm (LedgerLocked)", "pause, 0.1 s", "write: confirm",
    ]  # fmt: skip
    assert (ended.record.state, ended.record.provider_ref) == (State.CONFIRMED, "T900")
    assert stage.all(Advance)[-1].result == '{"ticket":"T900"}'


def test_each_try_writes_the_very_same():
    stage = Stage().on(Invoke, ok()).on(Advance, LedgerFull(), LedgerFull())
    play(stage)
    first, *others = stage.all(Advance)
    assert others == [first, first]


def test_the_pauses_grow_to_a_second_and_end_with_the_lease():
    stage = Stage().on(Invoke, passes(2, ok())).on(Advance, *[LedgerFull()] * 25)
    play(stage)
    pauses = [effect.seconds for effect in stage.all(Pause)]
    assert pauses[:7] == [0.025, 0.05, 0.1, 0.2, 0.4, 0.5, 0.5]
    assert max(pauses) == 0.5
    assert stage.now == pytest.approx(NOW + 12), "the lease lasted 12 s, of which the send took 2"
    assert len(stage.all(Advance)) == 1 + len(pauses)


def test_the_pauses_of_many_callers_are_spread():
    stage = Stage().on(Invoke, ok()).on(Advance, LedgerBusy(), LedgerBusy())
    stage.dice = 0.5
    play(stage)
    assert [effect.seconds for effect in stage.all(Pause)] == pytest.approx([0.0375, 0.075])


def test_the_turn_goes_on_once_it_is_written():
    stage = Stage(KEYED).on(Invoke, LOST_ANSWER, ok()).on(Advance, LedgerBusy())
    ended = play(stage)
    assert stage.story[2:6] == [
        "write: lose (LedgerBusy)", "pause, 0.025 s", "write: lose", "pause, 0.975 s",
    ]  # fmt: skip
    assert ended.record.state is State.CONFIRMED


# ----------------------------------------------------------------------------------- it is given up


def full_for_ever(report, contract=KEYED):
    """A ledger that takes the intent and nothing after it."""
    stage = Stage(contract).on(Invoke, passes(11.9, report))
    return stage.on(Advance, *[LedgerFull()] * 4)


def test_when_the_lease_ends_the_operator_is_told_and_the_caller_hears_unknown():
    stage = full_for_ever(ok())
    ended = play(stage)
    assert stage.story == [
        *PROMPT, "write: confirm (LedgerFull)", "pause, 0.025 s", "write: confirm (LedgerFull)",
        "pause, 0.05 s", "write: confirm (LedgerFull)", "pause, 0.025 s",
        "write: confirm (LedgerFull)", "tell: answer_not_recorded",
    ]  # fmt: skip
    record = ended.record
    assert (record.state, record.reason) == (State.UNKNOWN, "answer_not_recorded")
    assert (record.provider_ref, record.lease_owner) == (None, None), "no more than is written"
    assert stage.held.state is State.SENT, "the ledger still says what it did"


def test_the_line_names_the_action_its_key_and_the_reference():
    stage = full_for_ever(ok("T900"))
    play(stage)
    line = told(stage)
    assert (line.event, line.record.id, line.record.key) == (NOT_RECORDED, "a1", "K")
    assert line.said == {
        "effect": "confirmed", "reason": "said_receipt", "provider_ref": "T900",
        "ledger": "ledger_full",
    }  # fmt: skip


def test_the_line_keeps_what_else_a_person_needs_to_find_it():
    accepted = full_for_ever(Report(value=Accepted("job-1")))
    play(accepted)
    assert told(accepted).said["handle"] == "job-1"
    declined = full_for_ever(refused("EXISTS", related_ref="T7")).on(Relate, True)
    play(declined)
    said = told(declined).said
    assert (said["effect"], said["code"], said["related_ref"]) == ("refused", "EXISTS", "T7")


def test_nobody_goes_on_from_what_is_not_written():
    """The turn would ask, and send again: from an answer that the ledger does not have."""
    stage = Stage().on(Invoke, passes(12, LOST_ANSWER)).on(Advance, LedgerFull())
    ended = play(stage)
    assert stage.story[2:] == ["write: lose (LedgerFull)", "tell: answer_not_recorded"]
    assert ended.record.state is State.UNKNOWN
    assert not stage.all(Ask)
    assert stage.attempts == [1]


def test_a_second_attempt_that_is_not_recorded_ends_the_turn_too():
    stage = Stage(KEYED).on(Invoke, LOST_ANSWER, passes(12, ok()))
    stage.on(Advance, AS_USUAL, AS_USUAL, LedgerReadOnly())
    ended = play(stage)
    assert stage.story[-2:] == ["write: confirm (LedgerReadOnly)", "tell: answer_not_recorded"]
    assert (ended.record.state, ended.record.reason) == (State.UNKNOWN, NOT_RECORDED)
    assert told(stage).record.attempt == 2


def test_the_worker_leaves_it_to_the_end_of_its_lease():
    stage = Stage(KEYED, held=unknown()).on(Invoke, passes(12, ok()))
    stage.on(Advance, AS_USUAL, LedgerFull())
    record = stage.play(recover(stage.setting, stage.held, None))
    assert stage.story == [
        "permit", "write: send", "invoke, 5 s", "write: confirm (LedgerFull)",
        "tell: answer_not_recorded",
    ]  # fmt: skip
    assert record.reason == NOT_RECORDED
    assert (stage.held.state, stage.held.due_at) == (State.SENT, NOW + 12)


@pytest.mark.parametrize(
    "error", [ActionNotFound, IllegalTransition, LedgerClosed, LedgerCorrupt, LedgerNewer]
)
def test_where_trying_again_is_of_no_use_the_operator_is_told_at_once(error):
    stage = Stage(BLIND).on(Invoke, ok()).on(Advance, error())
    ended = play(stage)
    assert stage.story[2:] == [
        f"write: confirm ({error.__name__})", "tell: answer_not_recorded",
    ]  # fmt: skip
    assert told(stage).said["ledger"] == error.code
    assert ended.record.state is State.UNKNOWN


def test_hope_may_end_while_it_is_tried():
    stage = Stage(BLIND).on(Invoke, ok()).on(Advance, LedgerBusy(), LedgerClosed())
    play(stage)
    assert stage.story[2:] == [
        "write: confirm (LedgerBusy)", "pause, 0.025 s", "write: confirm (LedgerClosed)",
        "tell: answer_not_recorded",
    ]  # fmt: skip
    assert told(stage).said["ledger"] == "ledger_closed"


def test_an_interrupted_caller_is_not_held():
    stage = Stage().on(Invoke, ok()).on(Advance, LedgerFull()).on(Pause, False)
    ended = play(stage)
    assert stage.story[2:] == [
        "write: confirm (LedgerFull)", "pause, 0.025 s", "tell: answer_not_recorded",
    ]  # fmt: skip
    assert ended.record.reason == NOT_RECORDED


def test_a_defect_is_no_outage_and_is_raised():
    stage = Stage().on(Invoke, ok()).on(Advance, TypeError("not JSON"))
    with pytest.raises(TypeError):
        play(stage)
    assert not stage.all(Tell)


# ------------------------------------------------------------------- somebody was quicker meanwhile


def test_an_answer_that_comes_through_after_a_take_over_lands_as_a_late_one():
    def given_up(stage):
        stage.taken_over("worker")
        stage.somebody(state=State.UNKNOWN, doubt=1)

    stage = Stage().on(Invoke, ok()).on(Advance, LedgerFull(), meanwhile(given_up))
    ended = play(stage)
    assert stage.story[2:] == [
        "write: confirm (LedgerFull)", "pause, 0.025 s", "write: confirm (lost)", "write: confirm",
    ]  # fmt: skip
    assert (ended.record.state, ended.record.provider_ref) == (State.CONFIRMED, "T900")


def test_what_had_been_written_when_the_error_came_is_not_written_twice():
    """The commit stood, and only its acknowledgement was lost."""

    def written_all_the_same(stage):
        stage.held = stage.all(Advance)[0].after._replace(n=3, head=b"the ledger's own")

    stage = Stage().on(Invoke, ok())
    stage.on(Advance, meanwhile(written_all_the_same, LedgerLocked()))
    ended = play(stage)
    assert stage.story[2:] == [
        "write: confirm (LedgerLocked)", "pause, 0.025 s", "write: confirm (lost)",
    ]  # fmt: skip
    assert ended.record == stage.held


def test_what_somebody_has_settled_meanwhile_is_told_as_it_stands():
    def settled(stage):
        stage.taken_over("worker")
        stage.somebody(state=State.CONFIRMED, provider_ref="T1", lease_owner=None)
        stage.now += 12

    stage = Stage().on(Invoke, meanwhile(settled, ok("T2")))
    stage.on(Advance, AS_USUAL, LedgerFull())
    ended = play(stage)
    assert stage.story[2:] == [
        "write: confirm (lost)", "write: duplicate_effect (LedgerFull)",
        "tell: answer_not_recorded",
    ]  # fmt: skip
    assert ended.record == stage.held
    assert (ended.record.state, ended.record.provider_ref) == (State.CONFIRMED, "T1")
    assert told(stage).said["provider_ref"] == "T2"


# ----------------------------------------------------------------------------------------- observed


def watch(stage):
    return stage.play(observe(stage.setting, wanted(wanted().record._replace(mode="observe"))))


def test_an_observed_call_is_recorded_runs_unbounded_and_is_never_due():
    stage = Stage(BLIND).on(Invoke, LOST_ANSWER)
    ended = watch(stage)
    assert stage.story == ["reserve: prepare, send", "invoke, inf s", "write: lose"]
    assert (ended.record.state, ended.record.due_at, ended.how) == (State.UNKNOWN, None, "new")
    assert (stage.effects[0].record.due_at, ended.report) == (None, LOST_ANSWER)


def test_an_observed_call_keeps_its_result():
    stage = Stage(BLIND).on(Invoke, ok())
    assert watch(stage).record.state is State.CONFIRMED
    assert stage.all(Advance)[0].result == '{"ticket":"T900"}'


def test_an_observed_caller_is_never_held_by_the_ledger():
    stage = Stage(BLIND).on(Invoke, ok()).on(Advance, LedgerFull())
    ended = watch(stage)
    assert stage.story[2:] == ["write: confirm (LedgerFull)", "tell: answer_not_recorded"]
    assert ended.record.state is State.UNKNOWN
