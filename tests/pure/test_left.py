"""A chain that its code has left, and what a person may say of a step: the rarer cases."""

from ascertain.model.chain import Around, ChainRecord, Direction, Member
from ascertain.model.outcome import Effect, Outcome
from ascertain.model.tables import State
from ascertain.rules import fold
from ascertain.rules.chain import not_by_hand
from ascertain.rules.left import LONGEST_S, LeftWhat, judge_left
from tests.laws.records import NOW, record

FREE = ChainRecord("c", "t", "u", "s", "order", "", "", "", "", NOW, due_at=NOW)
BACK = FREE._replace(direction=Direction.BACKWARD, turned_at=NOW)
MADE = record(id="a1", state=State.CONFIRMED, attempt=1, provider_ref="R5", chain="c")


def around(chain, made=MADE, *others):
    return Around(chain, ((Member("c", made.id, "stock", 1), made), *others))


def test_a_chain_that_has_ended_meanwhile_is_not_left():
    assert judge_left(around(BACK), NOW, gone=True).what is LeftWhat.END


def test_what_still_moves_in_it_comes_first():
    moving = MADE._replace(state=State.UNKNOWN, due_at=NOW + 5)
    found = judge_left(around(FREE, moving), NOW + 2 * LONGEST_S, gone=True)
    assert found.what is LeftWhat.WAIT


def test_only_a_step_of_a_chain_that_goes_back_is_undone_by_hand():
    assert not_by_hand(MADE, None) == "no_step"
    assert not_by_hand(MADE, around(FREE)) == "no_step"
    undone = Member("c", "b1", "undo_stock", 2, undoes="a1"), record(id="b1", state=State.CONFIRMED)
    assert not_by_hand(MADE, around(BACK, MADE, undone)) == "undone_already"


def test_only_what_is_confirmed_is_undone_by_hand():
    refused = MADE._replace(state=State.REJECTED, final=1)
    assert not_by_hand(refused, around(BACK, refused)) == "not_confirmed"


def test_a_read_that_turned_out_to_have_several_effects_is_for_a_person():
    outcome = Outcome(Effect.CONFIRMED, reason="receipt", several_effects=True)
    before = record(id="r1", state=State.PREPARED)
    move = fold.answered(before, before, outcome, NOW)
    assert (move.after.review, move.after.review_at) == ("several_effects", NOW)
