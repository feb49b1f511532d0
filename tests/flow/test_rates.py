"""A provider whose rate is used up: nobody is asked before there is a turn, and nothing is lost."""

from dataclasses import replace

from ascertain.flow.compensate import open_case
from ascertain.flow.effects import Ask, Pause
from ascertain.flow.pursue import look_up, pursue
from ascertain.flow.recount import recount
from ascertain.model.booking import Book, Booked
from ascertain.model.operations import Advance, Told
from ascertain.model.rate import Rate
from ascertain.model.tables import State
from ascertain.rules.decide import Decision, Reason, What
from tests.flow.stage import KEYED_ASKED, NOW, Stage, prepared, unknown
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
