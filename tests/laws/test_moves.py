"""Whatever is known of an action, the rules move it only along the table, and never lose it."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascertain.errors import IllegalTransition
from ascertain.model.contract import Contract, LookupPromise, OnUnknown, Repeat
from ascertain.model.outcome import Answer, Effect, Evidence, Kind, Outcome
from ascertain.model.tables import By, Event, State, terminal
from ascertain.rules import arrivals, evidence, fold
from ascertain.rules.moves import move
from ascertain.testing import invariants
from tests.laws.records import NOW, record

times = st.none() | st.sampled_from([NOW - 100, NOW - 1, NOW, NOW + 1])
contracts = st.builds(
    Contract,
    tool=st.just("t"),
    noun=st.just("t"),
    repeat=st.sampled_from(Repeat),
    refusal_covers_key=st.booleans(),
    on_unknown=st.sampled_from(OnUnknown),
    key_lifetime_s=st.sampled_from([None, 50.0]),
    lookup=st.none()
    | st.builds(
        LookupPromise,
        by=st.sampled_from(["key", "fields"]),
        absence_final_after_s=st.sampled_from([None, 0.0, 10.0]),
        fences=st.sampled_from(["", "key", "attempt"]),
    ),
)
outcomes = st.builds(
    partial(Outcome),  # of a named tuple itself the fields that are not named would be made up
    effect=st.sampled_from(Effect),
    reason=st.just("r"),
    kind=st.none() | st.sampled_from(Kind),
    retryable=st.booleans(),
    provider_ref=st.sampled_from([None, "T1", "T2"]),
    retry_after_s=st.sampled_from([None, -1.0, 0.0, 60.0]),
    sends=st.integers(0, 2),
    several_effects=st.booleans(),
)
answers = st.builds(
    Answer,
    found=st.booleans(),
    refused=st.booleans(),
    evidence=st.sampled_from([Evidence.ABSENT, Evidence.WORKING, Evidence.UNANSWERED]),
    provider_ref=st.sampled_from([None, "T1", "T2"]),
    count=st.integers(1, 3),
)


@st.composite
def records(draw, states=tuple(State)):
    state = draw(st.sampled_from(states))
    tried = state is not State.PREPARED
    return record(
        state=state,
        final=int(state is State.REJECTED and draw(st.booleans())),
        kind=draw(st.none() | st.sampled_from(Kind)),
        attempt=draw(st.integers(1, 5)) if tried else draw(st.integers(0, 2)),
        doubt=draw(st.integers(0, 2)) if tried else 0,
        sends=draw(st.integers(0, 5)),
        provider_ref=draw(st.sampled_from([None, "T1"])) if state is State.CONFIRMED else None,
        evidence=draw(st.sampled_from(Evidence)),
        unanswered=draw(st.integers(0, 3)),
        refused=int(state is State.UNKNOWN and draw(st.booleans())),
        review=draw(st.sampled_from([None, "cannot_ask"])),
        first_sent_at=draw(times) if tried else None,
        last_possible_at=draw(times) if tried else None,
        due_at=draw(st.sampled_from([NOW, NOW + 5])),
        lease_owner="p",
        lease_until=NOW + 1,
        suspect=draw(st.sampled_from(["", "p#1", "p#1,q#2"])),
    )


def obeys_the_table(before, made):
    """The move is a chain of rows that ends where the action stands; what is settled stays."""
    found = invariants.projection(before.state, made.after, made.drafts, final=bool(before.final))
    found += invariants.single_winner(before, made.after)
    found += invariants.key_stability(before, made.after)
    assert not found, found
    assert all(draft.attempt <= made.after.attempt for draft in made.drafts)


@given(records(states=(State.SENT,)), contracts, outcomes)
def test_an_outcome_moves_a_sent_action_along_the_table(before, contract, outcome):
    made = fold.settle(before, contract, outcome, now=NOW, wait_s=1.0)
    obeys_the_table(before, made)
    assert made.after.state is not State.SENT
    assert made.after.terminal or made.after.due_at is not None


@given(records(states=(State.SENT,)), contracts, outcomes)
def test_req_U02_while_earlier_doubt_is_left_an_outcome_confirms_or_stays_unknown(
    before, contract, outcome
):
    made = fold.settle(before, contract, outcome, now=NOW, wait_s=1.0)
    if before.doubt and not contract.refusal_covers_key:
        assert made.after.state in (State.CONFIRMED, State.UNKNOWN)


@given(records(), contracts, outcomes, st.sampled_from(["p#1", "q#2", "x#9"]))
def test_req_U07_a_late_result_lands_on_any_action_and_rewrites_nothing(
    before, contract, outcome, sender
):
    made = evidence.late(before, contract, outcome, attempt=1, sender=sender, now=NOW)
    obeys_the_table(before, made)
    assert made.drafts, "a late result is always stored as an event"
    assert sender not in made.after.suspect.split(",")


@given(records(), contracts.filter(lambda contract: contract.lookup), answers)
def test_a_look_up_moves_only_what_is_unknown(before, contract, answer):
    made = evidence.answered(before, contract, answer, asked_at=NOW, now=NOW, wait_s=1.0)
    obeys_the_table(before, made)
    if before.state is not State.UNKNOWN:
        assert made.after.state is before.state
    if before.state is State.SENT:
        assert made.after.due_at == before.due_at


@given(records(states=(State.UNKNOWN,)), contracts.filter(lambda one: one.lookup), answers)
def test_req_F10_absence_is_final_only_where_the_contract_and_the_senders_allow(
    before, contract, answer
):
    made = evidence.answered(before, contract, answer, asked_at=NOW, now=NOW, wait_s=1.0)
    if made.after.evidence is Evidence.ABSENT_FINAL and made.drafts and not before.terminal:
        settling = contract.lookup.absence_final_after_s
        quiet = (
            settling is not None
            and (before.last_possible_at or NOW) + settling <= NOW
            and not before.suspect
        )
        was_final = before.evidence is Evidence.ABSENT_FINAL
        assert contract.lookup.fences or quiet or was_final


@given(records(states=(State.SENT,)), st.booleans())
def test_req_U01_a_lease_that_ran_out_makes_the_action_unknown(before, keep):
    made = fold.lose(
        before, reason="lease_expired", suspect="p#1", now=NOW, by=By.WORKER, keep_lease=keep
    )
    obeys_the_table(before, made)
    assert made.after.state is State.UNKNOWN
    assert made.after.doubt == before.doubt + 1
    assert "p#1" in made.after.suspect.split(",")


@given(records(states=(State.SENT,)))
def test_a_sent_action_is_due_when_its_lease_ends_whoever_lets_go_of_it(before):
    assert fold.hold(before, due_at=None, now=NOW).after.due_at == before.due_at


@given(records(states=(State.SENT,)), st.sampled_from(["q", "r"]))
def test_a_take_over_remembers_who_held_the_lease_of_a_sent_action(before, owner):
    before = before._replace(suspect="")
    taken = fold.take(before, owner=owner, until=NOW + 9)
    again = fold.take(taken, owner="s", until=NOW + 19)
    assert taken.suspect == again.suspect == f"p#{before.attempt}"
    assert (again.lease_owner, again.fence) == ("s", before.fence + 2)


@given(records(states=(State.UNKNOWN,)), contracts)
def test_a_verdict_settles_what_is_unknown(before, contract):
    yes = evidence.verdict_confirmed(before, contract, provider_ref="T1", evidence="seen", now=NOW)
    no = evidence.verdict_not_done(before, evidence="seen", now=NOW)
    obeys_the_table(before, yes)
    obeys_the_table(before, no)
    assert (yes.after.state, yes.after.provider_ref) == (State.CONFIRMED, "T1")
    assert (no.after.state, no.after.final) == (State.REJECTED, 1)


@given(records(), contracts)
def test_nobody_can_say_not_done_while_something_may_still_arrive(before, contract):
    may = arrivals.may_still_arrive(before, contract, now=NOW)
    if before.state is State.SENT or before.suspect:
        assert may


@settings(max_examples=50)
@given(records(), st.sampled_from([event for event in Event if event is not Event.PREPARE]))
def test_a_move_without_a_row_is_refused(before, event):
    ends = {
        (State.PREPARED, Event.SEND), (State.PREPARED, Event.WITHDRAW), (State.SENT, Event.CONFIRM),
        (State.SENT, Event.REJECT), (State.SENT, Event.UNSEND), (State.SENT, Event.LOSE),
        (State.UNKNOWN, Event.CONFIRM), (State.UNKNOWN, Event.REJECT), (State.UNKNOWN, Event.SEND),
        (State.UNKNOWN, Event.COMPENSATE), (State.REJECTED, Event.SEND),
        (State.REJECTED, Event.WITHDRAW),
        (State.CONFIRMED, Event.COMPENSATE),
    }  # fmt: skip
    legal = event is Event.NOTE or ((before.state, event) in ends and not before.final)
    if legal:
        assert move(before, event, By.WORKER, "r", NOW).after.state
    else:
        with pytest.raises(IllegalTransition):
            move(before, event, By.WORKER, "r", NOW)


@given(records(states=(State.CONFIRMED, State.COMPENSATED, State.REJECTED)), contracts, outcomes)
def test_req_F24_evidence_against_what_is_settled_disputes_it_and_opens_a_case(
    before, contract, outcome
):
    if not terminal(before.state, final=bool(before.final)):
        return
    made = evidence.late(before, contract, outcome, attempt=1, sender="p#1", now=NOW)
    against = outcome.effect is Effect.CONFIRMED and before.state is State.REJECTED
    if against:
        assert made.after.disputed
        assert made.after.review is not None
