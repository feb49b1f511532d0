"""Sends that wait for a person, or for a provider that is silent: stored, held back, let go."""

from dataclasses import replace

import pytest

from ascertain.flow.call import Hold, call
from ascertain.flow.effects import Ask, Cleared, Invoke, Permit, Withheld
from ascertain.flow.pursue import pursue
from ascertain.model.breaker import Breaker
from ascertain.model.operations import Advance, Reserve, Reserved
from ascertain.model.outcome import Evidence, Kind
from ascertain.model.tables import State
from ascertain.rules.decide import Held
from tests.flow.stage import (
    BLIND,
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
    passes,
    prepared,
    unknown,
    wanted,
)

LEASED = {"lease_owner": ME, "lease_until": NOW + 20, "due_at": NOW + 20, "n": 1, "fence": 1}
OPEN = Withheld(held=Held.CIRCUIT, why="circuit_open", until=NOW + 25)
COOLED = OPEN._replace(ask=True)
GONE = Withheld(held=Held.APPROVAL, why="approval_expired", until=NOW)
UNGIVEN = Withheld(held=Held.APPROVAL, why="approval", until=NOW + 30)
NAMED = {"approval": lambda record, arguments: f"{record.id} {arguments}", "circuit_open": None}
MANUAL = replace(BLIND, breaker=Breaker(manual_s=3600.0))


def pursued(stage, turn=None):
    record, _ = stage.play(pursue(stage.setting, stage.held, turn))
    return record


@pytest.mark.parametrize("why", ["approval", "circuit_open"])
def test_req_U10_req_F17_a_call_that_is_held_is_stored_and_not_sent(why):
    stage = Stage(KEYED)
    ended = stage.play(
        call(
            stage.setting,
            wanted(hold=Hold(why=why, until=NOW + 600, digest=NAMED[why])),
            stage.turn(),
        )
    )
    record = ended.record
    assert stage.story == ["reserve: prepare"]
    assert (record.state, record.review, record.due_at, record.send_by_at) == (
        State.PREPARED, why, NOW + 600, NOW + 600,
    )  # fmt: skip
    detail = stage.all(Reserve)[0].drafts[0].detail
    asked = {"approval": "a1 {}"} if why == "approval" else {}
    assert detail == {**asked, "until": NOW + 600}


def test_a_call_that_is_refused_is_refused_even_where_it_would_have_been_held():
    stage = Stage(KEYED)
    hold = Hold(why="approval", until=NOW + 600)
    ended = stage.play(
        call(stage.setting, wanted(hold=hold, denied=(Kind.AUTH, "permission")), stage.turn())
    )
    assert (ended.record.state, ended.record.kind) == (State.REJECTED, Kind.AUTH)


def test_req_U10_a_send_names_the_approval_that_it_uses():
    stage = Stage(KEYED, held=prepared(**LEASED)).on(Permit, Cleared(approval=2)).on(Invoke, ok())
    pursued(stage)
    assert stage.story[:2] == ["permit", "write: send"]
    assert stage.all(Advance)[0].drafts[0].detail == {"approved_in": 2}


def test_req_U10_without_an_approval_what_never_left_waits_until_it_is_not_wanted_any_more():
    stage = Stage(KEYED, held=prepared(**LEASED)).on(Permit, UNGIVEN)
    record = pursued(stage)
    assert stage.story == ["permit", "write: review:approval"]
    assert (record.state, record.review, record.due_at) == (
        State.PREPARED, "approval", record.send_by_at,
    )  # fmt: skip


def test_req_U10_an_approval_that_is_gone_puts_what_may_have_happened_before_a_person():
    stage = Stage(KEYED, held=unknown()).on(Permit, GONE)
    record = pursued(stage)
    assert stage.story == ["permit", "write: review:approval_expired"]
    assert (record.state, record.review, record.due_at) == (
        State.UNKNOWN, "approval_expired", None,
    )  # fmt: skip


def test_req_F17_what_never_left_becomes_manual_work_when_the_breaker_is_open():
    stage = Stage(MANUAL, held=prepared(**LEASED)).on(Permit, OPEN)
    record = pursued(stage)
    assert stage.story == ["permit", "write: review:circuit_open"]
    assert (record.state, record.review, record.lease_owner) == (
        State.PREPARED, "circuit_open", None,
    )  # fmt: skip
    assert record.due_at == record.send_by_at == NOW + 3600


def test_req_F17_a_repeat_waits_for_the_breaker_without_a_case():
    stage = Stage(KEYED, held=unknown()).on(Permit, OPEN)
    record = pursued(stage)
    assert stage.story == ["permit", "write: lease and times"]
    assert (record.state, record.review, record.due_at) == (State.UNKNOWN, None, NOW + 25)


@pytest.mark.parametrize("answer, due_at", [(NO_RECORD, NOW + 2.0), (LOST_ANSWER, NOW + 25)])
def test_req_F17_once_it_has_cooled_down_the_provider_is_asked_before_anything_is_sent(
    answer, due_at
):
    """An answer may let one send through, so it comes back soon; silence waits."""
    held = unknown(evidence=Evidence.UNANSWERED)
    stage = Stage(KEYED_ASKED, held=held).on(Permit, COOLED).on(Ask, answer)
    record = pursued(stage)
    assert stage.story[:2] == ["permit", "ask, 5 s"]
    assert not stage.all(Invoke)
    assert (record.lease_owner, record.due_at) == (None, due_at)


def test_who_loses_the_action_while_the_provider_is_asked_does_not_let_it_go():
    """It is another's to schedule now."""
    held = unknown(evidence=Evidence.UNANSWERED)
    stage = Stage(KEYED_ASKED, held=held).on(Permit, COOLED)
    stage.on(Ask, meanwhile(lambda stage: stage.taken_over("elsewhere"), NO_RECORD))
    record = pursued(stage)
    assert stage.story == ["permit", "ask, 5 s", "write: absent (lost)"]
    assert (record.lease_owner, record.due_at) == ("elsewhere", stage.held.due_at)


def test_what_the_provider_settles_while_the_breaker_is_open_is_at_its_end():
    held = unknown(evidence=Evidence.UNANSWERED)
    stage = Stage(KEYED_ASKED, held=held).on(Permit, COOLED).on(Ask, found())
    record = pursued(stage)
    assert stage.story == ["permit", "ask, 5 s", "write: confirm"]
    assert (record.state, record.lease_owner, record.due_at) == (State.CONFIRMED, None, None)


@pytest.mark.parametrize("withheld, reason", [(UNGIVEN, "approval_expired"), (OPEN, "not_wanted")])
def test_what_is_held_back_when_its_time_is_just_over_is_withdrawn_and_is_no_case(withheld, reason):
    """The check took so long: there is nothing left that a person could approve or release."""
    stage = Stage(MANUAL, held=prepared(**LEASED)).on(Permit, passes(31.0, withheld))
    record = pursued(stage)
    assert stage.story == ["permit", "write: withdraw"]
    assert (record.state, record.final, record.reason) == (State.REJECTED, 1, reason)
    assert (record.review, record.due_at) == (None, None)


def test_before_that_nobody_is_asked_for_the_breakers_sake():
    held = unknown(evidence=Evidence.UNANSWERED)
    stage = Stage(KEYED_ASKED, held=held).on(Permit, OPEN)
    assert pursued(stage).due_at == NOW + 25
    assert stage.story == ["permit", "write: lease and times"]


def test_a_caller_who_joins_what_waits_gets_it_as_it_is():
    waits = prepared(review="approval", send_by_at=NOW + 600, due_at=NOW + 600, n=1)
    stage = Stage(KEYED, held=waits)
    stage.on(Reserve, Reserved(record=waits, via="intent"))
    ended = stage.play(call(stage.setting, wanted(), stage.turn()))
    assert (ended.how, ended.record) == ("joined", waits)
    assert len(stage.story) == 1
