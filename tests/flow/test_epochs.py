"""A ledger goes on with another history: what was decided in one epoch is not done in another."""

from ascertain.flow.call import call
from ascertain.flow.effects import Invoke
from ascertain.flow.pursue import pursue
from ascertain.model.epoch import ANOTHER_EPOCH, TIMELINE, Epoch, OfEpoch
from ascertain.model.operations import Advance, Blocked, Lost, MustReplace, Reserve
from ascertain.model.tables import State
from tests.flow.stage import (
    BLIND,
    KEYED,
    ME,
    NOW,
    Lands,
    Stage,
    meanwhile,
    ok,
    prepared,
    refused,
    wanted,
)

NEXT = Epoch(id="e2", n=2, why=TIMELINE, began_at=NOW - 5, kept_at=NOW - 10)
WAITS = {"lease_owner": ME, "lease_until": NOW + 20, "due_at": NOW + 20, "n": 1, "fence": 1}


def waiting(contract, **changes):
    """An action of the history before, which was never sent as far as this one knows."""
    return Stage(contract, held=prepared(**WAITS, created_at=NOW - 20, **changes))


def pursued(stage, turn=None):
    record, _ = stage.play(pursue(stage.setting, stage.held, turn))
    return record


def broken_off(stage):
    """The server is another one by now, and what was to be written is not."""
    stage.epoch = NEXT


def decided_before(stage, then=broken_off):
    return meanwhile(then, Lost(record=stage.held, blocked=ANOTHER_EPOCH))


def test_what_may_have_been_sent_blindly_in_a_lost_history_goes_to_a_person():
    for turn in (None, Stage().turn()):
        stage = waiting(BLIND)
        stage.epoch = NEXT
        record = pursued(stage, turn)
        assert stage.story[0] == "write: send, lose"
        first = stage.all(Advance)[0]
        assert [draft.reason for draft in first.drafts] == ["perhaps_sent", "history_lost"]
        assert (record.state, stage.attempts) == (State.UNKNOWN, [])
        assert record.review is not None


def test_a_keyed_send_that_was_decided_before_is_decided_anew_and_made_once():
    stage = waiting(KEYED)
    stage.on(Advance, decided_before(stage)).on(Invoke, ok())
    assert pursued(stage).state is State.CONFIRMED
    sends = [one for one in stage.all(Advance) if one.after.state is State.SENT]
    assert [one.epoch for one in sends] == ["", "e2"]
    assert stage.attempts == [2], "once, and as one that may be the second"


def test_a_blind_send_that_was_decided_before_is_not_made_at_all():
    stage = waiting(BLIND)
    stage.on(Advance, decided_before(stage))
    record = pursued(stage)
    assert (record.state, stage.attempts) == (State.UNKNOWN, [])
    assert record.review is not None


def test_what_nobody_waits_for_any_more_may_have_been_sent_and_is_not_sent_again():
    """It would be withdrawn, as one of which nothing was ever sent."""
    stage = waiting(KEYED, send_by_at=NOW - 1)
    stage.epoch = NEXT
    record = pursued(stage)
    assert stage.story[0] == "write: send, lose"
    assert (record.state, stage.attempts) == (State.UNKNOWN, [])
    assert record.review is not None


def test_whoever_has_lost_its_lease_with_the_history_leaves_the_action_alone():
    def taken(stage):
        broken_off(stage)
        stage.taken_over()

    stage = waiting(KEYED)
    stage.on(Advance, decided_before(stage, taken))
    record = pursued(stage)
    assert (record.lease_owner, record.state, stage.attempts) == ("there", State.PREPARED, [])


# ---------------------------------------------------------------------------------- of a new call


def called(stage, **changes):
    return stage.play(call(stage.setting, wanted(prepared(**changes)), stage.turn())).record


def test_a_new_blind_call_that_a_lost_history_may_hold_is_unknown_from_the_first():
    stage = Stage(BLIND)
    stage.epoch = NEXT
    record = called(stage)
    assert stage.story[0] == "reserve: prepare, send, lose"
    assert (record.state, record.review is not None, stage.attempts) == (State.UNKNOWN, True, [])


def test_a_new_keyed_call_is_sent_as_ever():
    stage = Stage(KEYED).on(Invoke, ok())
    stage.epoch = NEXT
    assert called(stage).state is State.CONFIRMED
    assert stage.attempts == [1]


def test_an_intent_that_was_to_be_stored_in_another_epoch_is_decided_anew():
    blocked = Blocked(by=OfEpoch(), why=ANOTHER_EPOCH)
    stage = Stage(BLIND).on(Reserve, meanwhile(broken_off, blocked))
    record = called(stage)
    assert [one.epoch for one in stage.all(Reserve)] == ["", "e2"]
    assert (record.state, stage.attempts) == (State.UNKNOWN, [])


def test_a_call_that_replaces_one_that_ended_in_this_history_is_sent():
    """Nothing that replaces that one can be missing."""
    before = prepared(id="a0", state=State.REJECTED, final=1, updated_at=NOW - 1)
    stage = Stage(BLIND).on(Reserve, MustReplace(previous=before)).on(Invoke, ok())
    stage.epoch = NEXT
    assert called(stage).state is State.CONFIRMED
    assert stage.attempts == [1]


class Elsewhere(Lands):
    """The ledger is another one by now, which holds the same; nothing is written there."""

    def __call__(self, stage):
        self._happens(stage)
        return Lost(record=stage.held, blocked=ANOTHER_EPOCH)


def test_an_answer_that_was_judged_in_the_history_before_is_judged_anew():
    """A refusal is an end in the one, and no proof in the other."""

    def later(stage):
        stage.epoch = NEXT._replace(began_at=NOW + 1)

    stage = Stage(BLIND).on(Invoke, refused()).on(Advance, Elsewhere(later))
    record = called(stage)
    first, second = stage.all(Advance)[:2]
    assert (first.after.state, first.epoch) == (State.REJECTED, "")
    assert (second.after.state, second.epoch) == (State.UNKNOWN, "e2")
    assert (record.state, stage.attempts) == (State.UNKNOWN, [1])
