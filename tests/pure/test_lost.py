"""What may have been sent in a history that the ledger lost."""

import pytest

from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract, LookupPromise, Repeat
from ascertain.model.epoch import FIRST, TIMELINE, Epoch
from ascertain.model.outcome import Effect, Evidence, Kind, Outcome
from ascertain.model.tables import By, State
from ascertain.rules import arrivals, evidence, fold, lost
from ascertain.rules.budget import Turn
from ascertain.rules.decide import What, decide
from ascertain.rules.view import view_of
from tests.laws.records import record as stand_in

BEGAN, KEPT = 1000.0, 990.0
EPOCH = Epoch(id="01e", n=2, why=TIMELINE, began_at=BEGAN, kept_at=KEPT)
HOUR = 3600.0
KNOWN = {
    "created_at": BEGAN - 500, "state": State.UNKNOWN, "attempt": 1, "doubt": 1,
    "first_sent_at": BEGAN - 499, "last_sent_at": BEGAN - 499,
}  # fmt: skip


def contract(repeat=Repeat.NEVER, **more):
    return Contract(tool="t", noun="t", repeat=repeat, **more)


def prepared(created_at=BEGAN + 5, **changes):
    return stand_in(
        **{"created_at": created_at, "updated_at": created_at, "send_by_at": BEGAN + 60, **changes}
    )


@pytest.mark.parametrize(
    "changed", [{"why": FIRST}, {"settled_by": "ann"}], ids=["the first epoch", "vouched for"]
)
def test_nothing_is_at_risk_where_nothing_can_be_missing(changed):
    assert not lost.at_risk(prepared(), contract(), EPOCH._replace(**changed), BEGAN + 5)


def test_a_blind_call_is_at_risk_within_its_horizon_after_the_epoch_began():
    horizon = contract().budget.horizon_s
    for created_at, expected in (
        (BEGAN - 500, True), (BEGAN + 5, True),
        (BEGAN + horizon - 1, True), (BEGAN + horizon, False),
    ):  # fmt: skip
        assert lost.at_risk(prepared(created_at), contract(), EPOCH, created_at) is expected


def test_what_was_sent_in_the_epoch_is_known():
    sent = prepared(BEGAN - 500, last_sent_at=BEGAN - 400)
    assert lost.at_risk(sent, contract(), EPOCH, BEGAN + 5)
    assert not lost.at_risk(sent.changed(last_sent_at=BEGAN + 1), contract(), EPOCH, BEGAN + 5)


def test_what_replaces_an_action_that_ended_in_the_epoch_cannot_be_missing():
    ended = prepared(updated_at=BEGAN + 1)
    assert not lost.at_risk(prepared(), contract(), EPOCH, BEGAN + 5, ended)
    assert lost.at_risk(
        prepared(), contract(), EPOCH, BEGAN + 5, ended.changed(updated_at=BEGAN - 1)
    )


def test_a_key_protects_for_its_lifetime_from_the_earliest_attempt_that_can_be_missing():
    keyed = contract(Repeat.BY_KEY, key_lifetime_s=HOUR, key_margin_s=60.0)
    over = KEPT + HOUR - 60
    assert not lost.at_risk(prepared(), keyed, EPOCH, over - 1)
    assert lost.at_risk(prepared(), keyed, EPOCH, over)
    for_ever = contract(Repeat.BY_NATURE)
    assert not lost.at_risk(prepared(), for_ever, EPOCH, over)


def doubted(repeat=Repeat.NEVER, record=None, now=BEGAN + 5, *, wanted=True, **more):
    terms = contract(repeat, **more)
    move = lost.perhaps_sent(
        record or prepared(), terms, EPOCH, sender="me", lease_until=now + 8, lease_s=7.0, now=now,
        by=By.CALL, wanted=wanted,
    )  # fmt: skip
    return terms, move


def test_it_is_unknown_as_if_its_attempt_had_been_made_and_its_answer_lost():
    _, move = doubted()
    after = move.after
    assert [(one.start, one.event, one.end, one.reason) for one in move.drafts] == [
        ("prepared", "send", "sent", "perhaps_sent"),
        ("sent", "lose", "unknown", "history_lost"),
    ]
    assert (after.state, after.attempt, after.doubt) == (State.UNKNOWN, 1, 1)
    assert (after.first_sent_at, after.lease_owner) == (KEPT, "me")
    assert after.last_possible_at > BEGAN, "who sent may have had a lease then"
    assert not lost.at_risk(after, contract(), EPOCH, BEGAN + 6), "it is on record now"


@pytest.mark.parametrize(
    "repeat, lookup, expected",
    [
        (Repeat.NEVER, None, What.REVIEW),
        (Repeat.NEVER, LookupPromise(), What.LOOK_UP),
        (Repeat.HARMLESS, None, What.RESEND),
        (Repeat.BY_KEY, None, What.RESEND),
    ],
)
def test_then_it_is_decided_like_any_lost_answer(repeat, lookup, expected):
    terms, move = doubted(repeat, lookup=lookup)
    now = BEGAN + 6
    assert decide(view_of(move.after, terms, now, Turn(2, now + 5))).what is expected


def test_a_second_effect_that_is_harmless_is_said_to_be_possible():
    terms, move = doubted(Repeat.HARMLESS)
    sent = fold.send(
        move.after, terms, sender="me", lease_until=BEGAN + 9, now=BEGAN + 6, by=By.CALL
    )
    assert sent.after.maybe_twice


def test_absence_before_the_epoch_says_nothing_of_an_attempt_that_may_be_missing():
    known = prepared(**{**KNOWN, "evidence": Evidence.ABSENT_FINAL})
    _, move = doubted(record=known, lookup=LookupPromise())
    assert (move.after.evidence, move.after.doubt) == (Evidence.NOT_ASKED, 2)
    assert move.after.first_sent_at == BEGAN - 499
    assert lost.is_nameless(move.after.suspect), (
        "nobody can be proven gone, so absence is not final"
    )


@pytest.mark.parametrize(
    "outcome, state",
    [
        (Outcome(Effect.CONFIRMED, "answer", provider_ref="T9"), State.CONFIRMED),
        (Outcome(Effect.REFUSED, "refused", kind=Kind.BUSINESS), State.UNKNOWN),
        (Outcome(Effect.UNKNOWN, "deadline"), State.UNKNOWN),
    ],
)
def test_an_answer_whose_send_is_lost_brings_its_send_along(outcome, state):
    """The ledger says prepared again; who sent it has its answer, and a no is no proof: another
    attempt may be missing too.
    """
    record = prepared(BEGAN - 500)
    move = evidence.late(record, contract(), outcome, attempt=1, sender="me#1", now=BEGAN + 2)
    assert (move.drafts[0].event, move.drafts[0].reason) == ("send", "send_restored")
    assert (move.after.state, move.after.attempt) == (state, 1)


def test_a_refusal_whose_send_is_lost_takes_back_no_other_doubt():
    record: ActionRecord = prepared(**KNOWN)
    refused = Outcome(Effect.REFUSED, "refused", kind=Kind.BUSINESS)
    move = evidence.late(record, contract(), refused, attempt=2, sender="me#2", now=BEGAN + 2)
    assert (move.after.state, move.after.attempt) == (State.UNKNOWN, 2)
    assert move.after.doubt > KNOWN["doubt"], "and there may be one more"


def sent_in_both(**changes):
    """Attempt 1 of this history, under way; there was another attempt 1 in the one before."""
    known = {"state": State.SENT, "attempt": 1, "last_sent_at": BEGAN + 1, "suspect": "me#1"}
    return prepared(BEGAN - 500, **{**known, **changes})


def told(outcome, record, sent_at):
    return evidence.late(
        record, contract(), outcome, attempt=1, sender="me#1", now=BEGAN + 2, sent_at=sent_at,
        before=lost.is_of_before(sent_at, EPOCH),
    ).after  # fmt: skip


REFUSED = Outcome(Effect.REFUSED, "refused", kind=Kind.BUSINESS)


def test_a_refusal_of_the_history_before_does_not_end_an_attempt_with_the_same_number():
    after = told(REFUSED, sent_in_both(), BEGAN - 1)
    assert (after.state, after.suspect) == (State.SENT, "me#1")
    after = told(REFUSED, sent_in_both(state=State.UNKNOWN, doubt=1), BEGAN - 1)
    assert (after.state, after.doubt) == (State.UNKNOWN, 1), "nor is its doubt taken back"
    assert told(REFUSED, sent_in_both(), BEGAN + 1).state is State.REJECTED, "its own does"


def test_a_refusal_of_an_attempt_that_is_on_record_proves_nothing_of_those_that_may_be_missing():
    known = sent_in_both(last_sent_at=BEGAN - 1)
    after = told(REFUSED, known, BEGAN - 1)
    assert (after.state, after.doubt) == (State.UNKNOWN, 1)
    assert lost.may_lack_attempt(after, contract(), EPOCH), "so it is found out what became of it"


def test_what_nobody_waits_for_any_more_is_found_out_and_not_sent_again():
    terms = contract(Repeat.BY_KEY, refusal_final_after_s=5.0)
    assert not lost.at_risk(prepared(), terms, EPOCH, BEGAN + 5)
    assert lost.may_lack_attempt(prepared(), terms, EPOCH)
    _, move = doubted(Repeat.BY_KEY, refusal_final_after_s=5.0, wanted=False)
    assert move.after.state is State.UNKNOWN
    decision = decide(view_of(move.after, terms, BEGAN + 60, Turn(2, BEGAN + 90)))
    assert decision.what is What.REVIEW
    asked = contract(Repeat.BY_KEY, lookup=LookupPromise())
    assert decide(view_of(move.after, asked, BEGAN + 60, None)).what is What.LOOK_UP


def test_what_a_lost_attempt_taught_is_kept_beside_one_with_its_number():
    """One in this history was not sent; the one before was, and its answer is not lost."""
    record = prepared(BEGAN - 500, attempt=1, last_sent_at=BEGAN + 1)
    done = Outcome(Effect.CONFIRMED, "answer", provider_ref="T9")
    after = told(done, record, BEGAN - 1)
    assert (after.state, after.attempt, after.provider_ref) == (State.CONFIRMED, 2, "T9")
    silence = Outcome(Effect.UNKNOWN, "deadline")
    after = told(silence, sent_in_both(), BEGAN - 1)
    assert (after.state, after.doubt) == (State.SENT, 1), "what became of it, nobody knows"


def test_a_fence_by_attempts_is_above_all_that_may_be_missing():
    terms, move = doubted(lookup=LookupPromise(fences="attempt"))
    assert move.after.attempt == terms.budget.sends


def test_nobody_can_say_not_done_while_what_is_missing_may_arrive():
    terms = contract(lookup=LookupPromise(absence_final_after_s=40.0))
    until = arrivals.missing_may_arrive_until(prepared(), terms, EPOCH, 7.0)
    assert until == BEGAN + terms.budget.send_deadline_s + 7.0 + 40.0
    blind = arrivals.missing_may_arrive_until(prepared(), contract(), EPOCH, 7.0)
    assert blind == BEGAN + 2 * terms.budget.send_deadline_s + 7.0
    assert arrivals.missing_may_arrive_until(sent_in_both(), terms, EPOCH, 7.0) is None
