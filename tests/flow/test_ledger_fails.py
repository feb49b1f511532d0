"""The ledger fails in the middle of a turn: the caller is told what is known, not an exception.

An exception would be read as "nothing happened", and an effect may be under way.
"""

import pytest

from ascertain.errors import LedgerFull, LedgerLocked
from ascertain.flow.call import call
from ascertain.flow.effects import Ask, Await, Inquire, Invoke, Tell
from ascertain.flow.recover import recover
from ascertain.model.operations import Advance, Reserve, Reserved, Take
from ascertain.model.tables import State
from tests.flow.stage import (
    AS_USUAL,
    BLIND,
    KEYED,
    LOST_ANSWER,
    NEVER_LEFT,
    NO_RECORD,
    NOW,
    Stage,
    free,
    ok,
    prepared,
    refused,
    sent,
    unknown,
    wanted,
)

LOCKED = LedgerLocked("somebody holds it")
SILENT = "ledger_silent"


def called(stage):
    """A new call, in its turn."""
    return stage.play(call(stage.setting, wanted(), stage.turn())).record


def joined(stage):
    """A call that finds the action that the stage holds."""
    stage.on(Reserve, Reserved(record=stage.held, via="intent"))
    return stage.play(call(stage.setting, wanted(), stage.turn())).record


def told(stage):
    """What the operator's log has."""
    return [(one.event, dict(one.said)) for one in stage.all(Tell)]


@pytest.mark.parametrize(
    "stage",
    [
        Stage(held=sent()).on(Take, LOCKED),
        Stage(held=free(unknown())).on(Take, LOCKED),
        Stage(held=sent(suspect="there#1")).on(Inquire, LOCKED),
        Stage(held=sent()).on(Advance, LOCKED),
        Stage(held=free(unknown())).on(Ask, LOCKED),
        Stage(held=free(unknown())).on(Ask, NO_RECORD).on(Advance, LOCKED),
        Stage(KEYED, held=free(unknown())).on(Advance, LOCKED),
        Stage(KEYED, held=free(unknown())).on(Advance, AS_USUAL).on(Invoke, LOCKED),
        Stage(BLIND, held=sent()).on(Advance, AS_USUAL, LOCKED),
    ],
    ids=[
        "when it is taken", "when an unknown one is taken", "when its sender is looked for",
        "when it is given up", "while it is asked", "when the answer is recorded",
        "when it is sent again", "with the send recorded", "when it goes to a person",
    ],
)  # fmt: skip
def test_whoever_recovers_it_in_a_turn_is_told_unknown_with_the_reason(stage):
    record = joined(stage)
    assert (record.state, record.reason) == (State.UNKNOWN, SILENT)
    assert (record.lease_owner, record.provider_ref) == (None, None)
    (line,) = told(stage)
    assert line[0] == SILENT
    assert line[1]["ledger"] == "ledger_locked"


def test_who_waits_for_somebody_else_is_told_unknown_too():
    held = sent(lease_owner="there", lease_until=NOW + 12, due_at=NOW + 12)
    record = joined(Stage(held=held).on(Await, LOCKED))
    assert (record.state, record.reason) == (State.UNKNOWN, SILENT)


def test_a_lost_answer_of_the_own_send_stays_unknown_when_what_follows_cannot_be_written():
    stage = Stage(KEYED).on(Invoke, LOST_ANSWER).on(Advance, AS_USUAL, LedgerFull())
    record = called(stage)
    assert (record.state, record.attempt, record.reason) == (State.UNKNOWN, 1, SILENT)


def test_a_temporary_refusal_stays_one():
    """It is known that this was not done, whatever the ledger does next."""
    refusal = refused("LATER", kind="throttled")
    stage = Stage(KEYED).on(Invoke, refusal).on(Advance, AS_USUAL, LOCKED)
    record = called(stage)
    assert (record.state, record.final, record.reason) == (State.REJECTED, 0, SILENT)


def test_where_nothing_at_all_was_sent_the_error_is_raised():
    stage = Stage(KEYED).on(Invoke, NEVER_LEFT).on(Advance, AS_USUAL, LOCKED)
    with pytest.raises(LedgerLocked):
        called(stage)
    assert not told(stage)
    stage = Stage(held=free(prepared(attempt=1))).on(Take, LOCKED)
    with pytest.raises(LedgerLocked):
        joined(stage)


def test_what_has_been_settled_meanwhile_is_told_as_it_is():
    """The last write is known; only letting go of it could not be written."""
    stage = Stage(KEYED, held=free(unknown())).on(Invoke, ok())
    record = joined(stage)
    assert record.state is State.CONFIRMED


def test_a_worker_breaks_off_and_the_lease_runs_out():
    """It has nobody to tell; the action stays due, and is taken up again."""
    stage = Stage(KEYED, held=unknown()).on(Advance, LOCKED)
    with pytest.raises(LedgerLocked):
        stage.play(recover(stage.setting, stage.held, None))
