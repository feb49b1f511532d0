"""A provider whose rate is used up: nobody is asked before there is a turn, and nothing is lost."""

from dataclasses import replace

from ascertain.flow.call import call
from ascertain.flow.compensate import open_case
from ascertain.flow.effects import Ask, Invoke, Pause
from ascertain.flow.pursue import look_up, pursue
from ascertain.flow.recount import recount
from ascertain.model.booking import Book, Booked, GiveBack, Spends
from ascertain.model.operations import Advance, Blocked, Reserve, Told
from ascertain.model.outcome import Kind
from ascertain.model.rate import Rate, Speaker, Ticket
from ascertain.model.tables import State
from ascertain.rules.decide import Decision, Reason, What
from tests.flow.stage import AS_USUAL, KEYED, KEYED_ASKED, NOW, Stage, ok, prepared, unknown, wanted
from tests.flow.test_compensate import STOCK, around, made

RATE = Rate(limit=1, window_s=10.0)
LATER = Told(value=Booked(ticket=None, at=NOW + 10))
ASKED = replace(KEYED_ASKED, rate=RATE)


def test_a_worker_lets_an_action_go_until_there_may_be_a_turn():
    stage = Stage(ASKED, held=unknown()).on(Book, LATER)
    record, _ = stage.play(pursue(stage.setting, stage.held, None))
    assert (record.state, record.due_at, record.lease_owner) == (State.UNKNOWN, NOW + 10, None)
    assert not stage.all(Ask)


def test_a_look_up_without_a_turn_asks_nobody_and_comes_back():
    stage = Stage(ASKED, held=unknown()).on(Book, LATER)
    record, ended = stage.play(look_up(stage.setting, stage.held, None))
    assert ended
    assert (record.state, record.due_at) == (State.UNKNOWN, NOW + 10)
    assert not stage.all(Ask)


def test_a_recount_waits_for_its_turn_and_ends_without_an_answer_where_it_may_not_wait():
    held = prepared(
        state=State.CONFIRMED, attempt=1, provider_ref="T900", n=3, last_possible_at=NOW - 60
    )
    stage = Stage(ASKED, held=held).on(Book, LATER, LATER).on(Pause, True, False)
    counted = stage.play(recount(stage.setting, stage.held))
    assert counted == (held, None)
    assert not stage.all(Ask)


def test_the_picture_of_a_case_waits_for_its_turn():
    """It is a request too; what the provider shows now is worth waiting for."""
    contract = replace(STOCK, rate=RATE)
    stage = Stage(contract, held=made()).on(Book, LATER)
    decision = Decision(What.REVIEW, Reason.IRREVERSIBLE)
    record = stage.play(open_case(stage.setting, stage.held, around(stage.held), decision))
    assert (record.review, record.due_at) == (None, NOW + 10)
    assert [write.drafts for write in stage.all(Advance)] == [()]


def test_a_key_that_ends_while_a_turn_is_waited_for_is_not_used_any_more():
    """What was decided before the wait is decided anew after it: the provider has forgotten it."""
    contract = replace(KEYED, rate=RATE, key_lifetime_s=20.0, key_margin_s=0.0)
    turn = Told(value=Booked(ticket=Ticket("me", Speaker.CALLER, NOW + 30), at=NOW + 10))
    stage = Stage(contract, held=unknown()).on(Book, LATER, turn).on(GiveBack, Told(value=None))
    record, _ = stage.play(pursue(stage.setting, stage.held, stage.turn()))
    assert not stage.all(Invoke), "12 s after its first send it was waited for 10 s more"
    assert (record.state, record.review) == (State.UNKNOWN, "budget_spent")


def test_the_same_key_is_used_after_the_wait_while_the_provider_remembers_it():
    contract = replace(KEYED, rate=RATE, key_lifetime_s=60.0, key_margin_s=0.0)
    turn = Told(value=Booked(ticket=Ticket("me", Speaker.CALLER, NOW + 30), at=NOW + 10))
    stage = Stage(contract, held=unknown()).on(Book, LATER, turn).on(Invoke, ok())
    record, _ = stage.play(pursue(stage.setting, stage.held, stage.turn()))
    assert (record.state, len(stage.all(Invoke))) == (State.CONFIRMED, 1)


def test_nobody_waits_for_a_turn_longer_than_what_the_call_goes_by_is_good():
    """An order that may be 60 s old is not refunded by one that the wait has made older."""
    contract = replace(KEYED, rate=RATE)
    used_up = Blocked(by=Spends(rate=None, ticket=None, now=NOW), why="rate_used_up")
    stage = Stage(contract).on(Reserve, used_up, AS_USUAL).on(Book, LATER)
    stage.play(call(stage.setting, wanted()._replace(good_until=NOW + 5), stage.turn()))
    (asked,) = stage.all(Book)
    assert asked.patience_until == NOW + 5
    assert (stage.held.state, stage.held.kind, stage.held.reason) == (
        State.REJECTED, Kind.WITHDRAWN, "rate_used_up",
    )  # fmt: skip
    assert not stage.all(Invoke)
