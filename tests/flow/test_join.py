"""A second caller of an open intent: waits for who works on it, or helps where nobody does."""

from dataclasses import replace

import pytest

from ascertain.flow.call import call
from ascertain.flow.effects import Ask, Await, Inquire, Invoke
from ascertain.model.contract import OnUnknown
from ascertain.model.operations import Reserve, Reserved, Take, Taken
from ascertain.model.outcome import Evidence
from ascertain.model.tables import State
from tests.flow.stage import (
    BLIND,
    KEYED,
    LEASE_S,
    ME,
    NO_RECORD,
    NOW,
    Stage,
    found,
    free,
    meanwhile,
    ok,
    passes,
    prepared,
    sent,
    unknown,
    wanted,
)

HELD = {"lease_owner": "there", "lease_until": NOW + 12, "due_at": NOW + 12}


def joined(stage, turn=None):
    """A call that finds the action that the stage holds."""
    stage.on(Reserve, Reserved(record=stage.held, via="intent"))
    ended = stage.play(call(stage.setting, wanted(), turn or stage.turn()))
    assert ended.how == "joined"
    assert stage.story.pop(0) == "reserve: prepare, send"
    return ended.record


def confirmed_by_who_holds_it(stage):
    stage.somebody(state=State.CONFIRMED, provider_ref="T900", lease_owner=None)


def test_while_a_living_caller_holds_the_lease_the_second_one_waits_for_its_answer():
    stage = Stage(held=sent(**HELD)).on(Await, meanwhile(confirmed_by_who_holds_it))
    record = joined(stage)
    assert stage.story == ["inquire: there", "await, 12 s"]
    assert (record.state, record.provider_ref) == (State.CONFIRMED, "T900")


def test_it_waits_no_longer_than_its_own_turn_and_tells_what_is_known_then():
    stage = Stage(held=sent(**HELD))
    record = joined(stage, turn=stage.turn(seconds=3.0))
    assert stage.story == ["inquire: there", "await, 3 s"]
    assert record == stage.held


def test_a_turn_that_is_over_waits_for_nothing():
    stage = Stage(held=sent(**HELD))
    joined(stage, turn=stage.turn(seconds=0.0))
    assert stage.story == []


def test_an_interrupted_wait_tells_what_was_known():
    stage = Stage(held=sent(**HELD))
    stage.on(Await, None)
    record = joined(stage)
    assert stage.story == ["inquire: there", "await, 12 s"]
    assert record.state is State.SENT


def test_req_U01_a_lease_that_ran_out_while_it_waited_is_taken_and_the_provider_is_asked():
    stage = Stage(held=sent(**HELD)).on(Ask, found())
    record = joined(stage)
    assert stage.story == [
        "inquire: there", "await, 12 s", "take", "inquire: there#1", "write: lose",
        "inquire: there#1", "ask, 5 s", "write: confirm",
    ]  # fmt: skip
    assert (record.state, record.provider_ref) == (State.CONFIRMED, "T900")
    assert not stage.all(Invoke), "an expired lease is no reason to run again"


def test_a_holder_that_is_proven_gone_is_not_waited_for():
    gone = frozenset({"there"})
    stage = Stage(held=sent(**HELD)).on(Inquire, gone, frozenset({"there#1"})).on(Ask, found())
    record = joined(stage)
    assert stage.story == [
        "inquire: there", "take", "inquire: there#1", "write: lose", "ask, 5 s", "write: confirm",
    ]  # fmt: skip
    (took,) = stage.all(Take)
    assert (took.owner, took.gone, took.action_id) == (ME, gone, "a1")
    assert took.lease_until == NOW + 30 + LEASE_S, "the lease covers the turn"
    assert record.state is State.CONFIRMED


def test_when_the_holder_changes_meanwhile_the_new_one_is_waited_for_too():
    stage = Stage(held=sent(**HELD))
    stage.on(
        Await,
        meanwhile(lambda stage: stage.taken_over("elsewhere", state=State.UNKNOWN)),
        meanwhile(confirmed_by_who_holds_it),
    )
    record = joined(stage)
    assert stage.story == ["inquire: there", "await, 12 s", "inquire: elsewhere", "await, 20 s"]
    assert record.state is State.CONFIRMED


def test_what_nobody_works_on_is_taken_and_recovered_within_the_turn():
    stage = Stage(held=free(unknown())).on(Ask, NO_RECORD).on(Invoke, ok())
    record = joined(stage)
    assert stage.story == [
        "take", "ask, 5 s", "write: absent", "permit", "write: send", "invoke, 5 s",
        "write: confirm",
    ]  # fmt: skip
    assert record.state is State.CONFIRMED


def test_who_comes_too_late_for_the_lease_waits_a_moment_and_looks_again():
    stage = Stage(held=free(unknown()))
    stage.on(Take, meanwhile(lambda stage: stage.taken_over("worker"), Taken(records=())))
    stage.on(Await, passes(0.05), meanwhile(confirmed_by_who_holds_it))
    record = joined(stage)
    assert stage.story == ["take", "await, 0.05 s", "inquire: worker", "await, 19.95 s"]
    assert record.state is State.CONFIRMED


def test_who_comes_too_late_for_the_lease_and_is_interrupted_tells_what_was_known():
    stage = Stage(held=free(unknown()))
    stage.on(Take, Taken(records=())).on(Await, None)
    record = joined(stage)
    assert stage.story == ["take", "await, 0.05 s"]
    assert record.state is State.UNKNOWN


def test_the_moment_after_a_lost_lease_ends_with_the_turn():
    stage = Stage(held=free(unknown())).on(Take, Taken(records=()))
    joined(stage, turn=stage.turn(seconds=0.01))
    assert stage.story == ["take", "await, 0.01 s"]


@pytest.mark.parametrize(
    "contract, why",
    [
        (BLIND, "it waits for a person"),
        (replace(BLIND, on_unknown=OnUnknown.LEAVE), "it stays open, and nobody needs to decide"),
    ],
)
def test_what_no_call_can_settle_is_told_as_it_stands(contract, why):
    stage = Stage(contract, held=free(unknown()))
    record = joined(stage)
    assert stage.story == [], why
    assert record == stage.held


def test_an_intent_that_never_was_sent_is_sent_by_whoever_finds_it():
    stage = Stage(KEYED, held=prepared(n=1, due_at=NOW)).on(Invoke, ok())
    record = joined(stage)
    assert stage.story == ["take", "permit", "write: send", "invoke, 5 s", "write: confirm"]
    assert record.state is State.CONFIRMED


def test_a_sent_action_without_a_holder_is_taken_too():
    stage = Stage(held=sent(lease_owner=None, lease_until=None)).on(Ask, found())
    joined(stage)
    assert stage.story == ["take", "write: lose", "ask, 5 s", "write: confirm"]


def test_a_working_provider_is_left_alone_until_its_time():
    working = free(unknown(evidence=Evidence.WORKING, ask_at=NOW + 5))
    stage = Stage(held=working)
    record = joined(stage)
    assert stage.story == ["take", "write: lease and times"]
    assert (record.lease_owner, record.due_at) == (None, NOW + 5)
