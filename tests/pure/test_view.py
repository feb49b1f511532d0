"""From an action to what a decision depends on, and what is then decided in words."""

from dataclasses import replace

import pytest

from ascertain.model.contract import Budget, Contract, LookupPromise, OnUnknown, Repeat
from ascertain.model.outcome import Evidence
from ascertain.model.tables import State
from ascertain.rules.budget import Turn
from ascertain.rules.decide import Decision, Lookup, Reason, What, decide
from ascertain.rules.view import view_of
from tests.laws.records import NOW, record

BUDGET = Budget(sends=3, unanswered=4, horizon_s=100.0)
BLIND = Contract(tool="t", noun="t", budget=BUDGET)
ASKED = replace(BLIND, lookup=LookupPromise(absence_final_after_s=10.0))
LOST = {"state": State.UNKNOWN, "attempt": 1, "sends": 1, "first_sent_at": NOW}


def see(contract=BLIND, turn=None, now=NOW, **changes):
    return view_of(record(**changes), contract, now, turn)


def test_what_is_known_is_seen_as_it_is():
    seen = see(
        state=State.REJECTED, final=1, evidence=Evidence.WORKING, refused=1, disputed=1,
    )  # fmt: skip
    assert (seen.state, seen.final, seen.evidence) == (State.REJECTED, True, Evidence.WORKING)
    assert (seen.refused, seen.disputed) == (True, True)


@pytest.mark.parametrize("on_unknown, leave", [(OnUnknown.REVIEW, False), (OnUnknown.LEAVE, True)])
def test_best_effort_is_a_promise_of_the_contract(on_unknown, leave):
    assert see(replace(BLIND, on_unknown=on_unknown)).leave is leave


@pytest.mark.parametrize("repeat, may", [(Repeat.BY_KEY, True), (Repeat.NEVER, False)])
def test_so_is_a_safe_repeat(repeat, may):
    assert see(replace(BLIND, repeat=repeat)).repeat is may


# ------------------------------------------------------------------------------------ turn and wish


@pytest.mark.parametrize(
    "turn, may",
    [
        (None, True),
        (Turn(1, NOW + 1), True),
        (Turn(0, NOW + 1), False),
        (Turn(1, NOW), False),
    ],
)
def test_a_turn_sends_while_it_has_sends_and_time_and_the_worker_always(turn, may):
    assert see(turn=turn).turn is may


@pytest.mark.parametrize("after_s, wanted", [(59.9, True), (60, False)])
def test_what_was_not_sent_is_wanted_until_its_time(after_s, wanted):
    assert see(now=NOW + after_s).wanted is wanted


def test_what_only_this_turn_wants_ends_with_the_turn():
    over = Turn(2, NOW - 1)
    assert not see(turn=over, send_by_at=NOW - 1).wanted
    assert not see(turn=Turn(0, NOW + 60), send_by_at=NOW + 60).wanted
    assert see(turn=Turn(0, NOW + 60), send_by_at=NOW + 61).wanted, "the background may still send"


# ------------------------------------------------------------------------------------ sends and key


def test_the_action_half_of_the_budget_bounds_its_sends():
    assert see(attempt=2).sends_left
    assert not see(attempt=3).sends_left


@pytest.mark.parametrize(
    "fences, evidence, left",
    [
        ("key", Evidence.ABSENT_FINAL, False),
        ("attempt", Evidence.ABSENT_FINAL, True),
        ("", Evidence.ABSENT_FINAL, True),
        ("key", Evidence.NOT_ASKED, True),
    ],
)
def test_a_key_that_a_look_up_has_put_an_end_to_is_not_sent_again(fences, evidence, left):
    contract = replace(BLIND, lookup=LookupPromise(fences=fences))
    assert see(contract, **LOST, evidence=evidence).sends_left is left


def test_without_a_look_up_no_key_is_dead():
    assert see(**LOST, evidence=Evidence.ABSENT_FINAL).sends_left


# ------------------------------------------------------------------------------------------ look-up


def test_a_tool_without_a_look_up_cannot_be_asked():
    assert see(**LOST).lookup is Lookup.NONE


@pytest.mark.parametrize("unanswered, lookup", [(0, Lookup.OPEN), (4, Lookup.SPENT)])
def test_a_look_up_is_open_until_its_budget_is_spent(unanswered, lookup):
    assert see(ASKED, **LOST, unanswered=unanswered).lookup is lookup


@pytest.mark.parametrize(
    "repeat, lookup", [(Repeat.NEVER, Lookup.OPEN), (Repeat.BY_KEY, Lookup.NONE)]
)
def test_effects_are_counted_only_where_a_double_can_come_about(repeat, lookup):
    confirmed = {"state": State.CONFIRMED, "attempt": 1, "provider_ref": "T1"}
    assert see(replace(ASKED, repeat=repeat), **confirmed).lookup is lookup


# ----------------------------------------------------------------------------------------- in words


@pytest.mark.parametrize("reason", Reason)
def test_every_decision_says_why_in_one_sentence(reason):
    sentence = Decision(What.HOLD, reason).sentence
    assert sentence[0].isupper()
    assert sentence.endswith(".")


def test_the_sentence_is_that_of_the_reason():
    assert decide(see(**LOST)) == Decision(What.REVIEW, Reason.CANNOT_ASK)
    assert "can neither be asked nor safely be sent" in decide(see(**LOST)).sentence
