"""A guarded read: nothing is recorded before the wire, and it is retried in bounds."""

import pytest

from ascertain.flow.call import read
from ascertain.flow.effects import Invoke, Pause
from ascertain.model.outcome import Kind, Report, WireTrace
from ascertain.model.tables import State
from ascertain.rules.budget import Turn
from tests.flow.stage import (
    INTERRUPTED,
    LOST_ANSWER,
    NOW,
    SEARCH,
    Stage,
    passes,
    prepared,
    refused,
)

ANSWER = Report(value={"orders": []}, result='{"orders":[]}')


def play(stage, turn=None):
    return stage.play(read(stage.setting, prepared(mode="read"), turn or stage.turn()))


def test_a_read_writes_nothing_before_the_wire_and_nothing_after_it():
    stage = Stage(SEARCH).on(Invoke, ANSWER)
    ended = play(stage)
    assert stage.story == ["invoke, 5 s"]
    assert (ended.record.state, ended.how, ended.report) == (State.CONFIRMED, "new", ANSWER)


def test_req_F07_a_read_without_an_answer_is_tried_again_and_then_is_unavailable_never_unknown():
    stage = Stage(SEARCH).on(Invoke, *[LOST_ANSWER] * 4)
    ended = play(stage)
    assert stage.story == [
        "invoke, 5 s", "pause, 1 s", "invoke, 5 s", "pause, 2 s", "invoke, 5 s", "pause, 4 s",
        "invoke, 5 s",
    ]  # fmt: skip
    record = ended.record
    assert (record.state, record.final, record.kind) == (State.REJECTED, 0, Kind.UNAVAILABLE)
    assert record.attempt == 4


def test_a_read_that_is_answered_at_the_second_try_is_confirmed():
    stage = Stage(SEARCH).on(Invoke, LOST_ANSWER, ANSWER)
    assert play(stage).record.state is State.CONFIRMED
    assert stage.story == ["invoke, 5 s", "pause, 1 s", "invoke, 5 s"]


def test_a_read_waits_as_long_as_the_provider_says():
    later = refused("SLOW", kind="throttled", retryable=True, retry_after_s=9.0)
    stage = Stage(SEARCH).on(Invoke, later, ANSWER)
    play(stage)
    assert stage.story == ["invoke, 5 s", "pause, 9 s", "invoke, 5 s"]


def test_a_read_does_not_wait_beyond_its_turn():
    later = refused("SLOW", kind="throttled", retryable=True, retry_after_s=30.0)
    stage = Stage(SEARCH).on(Invoke, later)
    ended = play(stage)
    assert stage.story == ["invoke, 5 s"]
    assert (ended.record.state, ended.record.final) == (State.REJECTED, 0)


def test_a_definite_refusal_of_a_read_is_final_and_not_tried_again():
    stage = Stage(SEARCH).on(Invoke, refused("NO_SUCH_ORDER", kind="invalid"))
    ended = play(stage)
    assert stage.story == ["invoke, 5 s"]
    record = ended.record
    assert (record.state, record.final, record.code) == (State.REJECTED, 1, "NO_SUCH_ORDER")


@pytest.mark.parametrize("left_s, deadline", [(3.0, "3"), (-1.0, "0")])
def test_a_read_ends_with_its_turn(left_s, deadline):
    stage = Stage(SEARCH).on(Invoke, ANSWER)
    play(stage, turn=Turn(2, NOW + left_s))
    assert stage.story == [f"invoke, {deadline} s"]


def test_an_interrupted_read_is_not_tried_again():
    stage = Stage(SEARCH).on(Invoke, INTERRUPTED)
    ended = play(stage)
    assert stage.story == ["invoke, 5 s"]
    assert ended.record.state is State.REJECTED


def test_a_read_whose_pause_is_interrupted_is_not_tried_again():
    stage = Stage(SEARCH).on(Invoke, LOST_ANSWER).on(Pause, False)
    ended = play(stage)
    assert stage.story == ["invoke, 5 s", "pause, 1 s"]
    assert (ended.record.state, ended.record.attempt) == (State.REJECTED, 1)


def test_a_read_that_turned_out_to_write_is_told_as_the_write_that_it_was():
    trace = WireTrace(sends=1, left=True, unsafe=True, targets=("POST crm.example/x",))
    stage = Stage(SEARCH).on(Invoke, Report(error=TimeoutError(), trace=trace))
    ended = play(stage)
    assert (ended.record.state, ended.record.reason) == (State.UNKNOWN, "unsafe_read")
    assert stage.story == ["invoke, 5 s"], "it is not tried again as a read"


def test_the_time_that_a_try_took_counts():
    stage = Stage(SEARCH).on(Invoke, passes(29.5, LOST_ANSWER))
    play(stage)
    assert stage.story == ["invoke, 5 s"]
