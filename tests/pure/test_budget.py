"""Bounds: what may still be sent and asked, and how long to wait."""

from dataclasses import replace

import pytest

from ascertain.model.contract import Budget, Contract, LookupPromise, Repeat
from ascertain.model.outcome import Evidence
from ascertain.rules.budget import Turn, backoff_s, last_send_at, may_ask, repeatable, sends_left
from tests.laws.records import NOW, record

BUDGET = Budget(
    sends=3, unanswered=4, horizon_s=100.0, send_deadline_s=5.0, backoff_s=1.0, backoff_max_s=10.0
)
PLAIN = Contract(tool="t", noun="t", budget=BUDGET)
KEYED = replace(PLAIN, key_lifetime_s=90.0, key_margin_s=60.0)
ASKED = replace(PLAIN, lookup=LookupPromise(absence_final_after_s=20.0))
FIRST = {"attempt": 1, "sends": 1, "first_sent_at": NOW}


def test_a_send_takes_one_from_the_turn_and_no_time():
    assert Turn(2, 50.0).spend() == Turn(1, 50.0)


# -------------------------------------------------------------------------------------------- sends


def test_what_was_never_sent_has_no_last_moment():
    assert last_send_at(record(), KEYED) is None
    assert sends_left(record(), KEYED, NOW + 1e9)


def test_req_F08_the_key_lives_from_its_first_send_less_the_margin():
    assert last_send_at(record(**FIRST), KEYED) == NOW + 30


def test_a_long_lived_key_does_not_stretch_the_horizon():
    assert last_send_at(record(**FIRST), replace(KEYED, key_lifetime_s=1e6)) == NOW + 100
    assert last_send_at(record(**FIRST), PLAIN) == NOW + 100


@pytest.mark.parametrize("after_s, may", [(0, True), (29.9, True), (30, False), (31, False)])
def test_when_its_time_is_over_nothing_is_sent(after_s, may):
    assert sends_left(record(**FIRST), KEYED, NOW + after_s) is may


@pytest.mark.parametrize("attempt, sends, may", [(2, 2, True), (3, 2, False), (1, 3, False)])
def test_sends_count_as_attempts_or_as_what_was_seen_on_the_wire_whichever_is_more(
    attempt, sends, may
):
    """A client that sends again by itself spends the budget too."""
    made = record(attempt=attempt, sends=sends, first_sent_at=NOW)
    assert sends_left(made, PLAIN, NOW) is may


# ------------------------------------------------------------------------------------------- asking


@pytest.mark.parametrize("unanswered, may", [(3, True), (4, False)])
def test_look_ups_without_an_answer_are_counted(unanswered, may):
    assert may_ask(record(**FIRST, unanswered=unanswered), ASKED, NOW) is may


@pytest.mark.parametrize("evidence", [Evidence.NOT_ASKED, Evidence.UNANSWERED])
def test_a_ledger_that_was_left_alone_for_days_asks_first(evidence):
    """As long as nobody has had an answer, asking is never too late."""
    assert may_ask(record(**FIRST, evidence=evidence), ASKED, NOW + 1e9)


def test_what_was_never_sent_may_be_asked_for():
    assert may_ask(record(evidence=Evidence.ABSENT), ASKED, NOW + 1e9)


@pytest.mark.parametrize(
    "contract, last_possible_at, until",
    [
        # The horizon, twice the settling time, and one send.
        (ASKED, None, NOW + 100 + 40 + 5),
        # A send that may have left beyond the horizon moves it on.
        (ASKED, NOW + 130, NOW + 130 + 40 + 5),
        # Without a settling time only the send is added.
        (replace(ASKED, lookup=LookupPromise()), None, NOW + 100 + 5),
        (PLAIN, None, NOW + 100 + 5),
    ],
)
@pytest.mark.parametrize("evidence", [Evidence.ABSENT, Evidence.WORKING])
def test_absence_and_work_in_progress_are_watched_a_little_beyond_the_horizon(
    contract, last_possible_at, until, evidence
):
    seen = record(**FIRST, evidence=evidence, last_possible_at=last_possible_at)
    assert may_ask(seen, contract, until - 0.1)
    assert not may_ask(seen, contract, until)


# ------------------------------------------------------------------------------ repeats and waiting


@pytest.mark.parametrize("repeat", Repeat)
def test_only_a_promise_makes_a_repeat_safe(repeat):
    assert repeatable(replace(PLAIN, repeat=repeat)) is (repeat is not Repeat.NEVER)


@pytest.mark.parametrize(
    "tries, full", [(0, 1.0), (1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 10.0), (10_000, 10.0)]
)
def test_the_back_off_doubles_up_to_its_bound_and_is_spread_over_its_upper_half(tries, full):
    assert backoff_s(PLAIN, tries, 0.0) == full / 2
    assert backoff_s(PLAIN, tries, 0.5) == full * 0.75
    assert backoff_s(PLAIN, tries, 1.0) == full
