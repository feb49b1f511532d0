"""What an action is known to be after an attempt was made, given up or closed."""

from dataclasses import replace

import pytest

from ascertain.model.contract import Budget, Contract, LookupPromise, Repeat
from ascertain.model.outcome import Effect, Evidence, Kind, Outcome
from ascertain.model.tables import By, Event, State
from ascertain.rules import fold
from tests.laws.records import NOW, record

BLIND = Contract(tool="t", noun="t", budget=Budget(send_deadline_s=5.0))
KEYED = replace(BLIND, repeat=Repeat.BY_KEY)
ASKED = replace(BLIND, lookup=LookupPromise())
COVERED = replace(BLIND, refusal_covers_key=True)
PREPARED = record(not_before_at=NOW - 1, handle="h", review="asked", review_at=NOW - 9)
SENT = record(
    state=State.SENT, attempt=1, first_sent_at=NOW - 3, last_sent_at=NOW - 3,
    last_possible_at=NOW + 9, lease_owner="p", lease_until=NOW + 9, due_at=NOW + 9, fence=1,
)  # fmt: skip
AGAIN = SENT._replace(attempt=2, doubt=1, sends=1)
WAIT_S = 2.0


def settled(before, outcome, contract=BLIND):
    return fold.settle(before, contract, outcome, now=NOW, wait_s=WAIT_S)


def outcome(effect, **said):
    return Outcome(effect=effect, **{"reason": "r", **said})


def refusal(kind=Kind.BUSINESS, **said):
    return outcome(Effect.REFUSED, kind=kind, **{"code": "NO", **said})


# --------------------------------------------------------------------------------------------- send


def sent_from(before, contract=BLIND):
    made = fold.send(before, contract, sender="p", lease_until=NOW + 12, now=NOW, by=By.CALL)
    return made.after


def test_req_F01_a_send_is_an_attempt_under_a_lease_that_begins_with_no_evidence():
    after = sent_from(PREPARED._replace(evidence=Evidence.ABSENT, refused=1, kind=Kind.BUSINESS))
    assert (after.state, after.attempt) == (State.SENT, 1)
    assert (after.lease_owner, after.lease_until, after.due_at) == ("p", NOW + 12, NOW + 12)
    assert (after.last_sent_at, after.last_possible_at) == (NOW, None)
    assert (after.evidence, after.refused, after.kind) == (Evidence.NOT_ASKED, 0, None)
    assert (after.handle, after.not_before_at, after.ask_at) == (None, None, None)
    assert (after.review, after.review_at) == (None, None)


def test_req_F08_the_first_send_starts_the_keys_life_and_no_later_one_moves_it():
    assert sent_from(PREPARED).first_sent_at == NOW
    assert sent_from(record(state=State.UNKNOWN, first_sent_at=NOW - 50)).first_sent_at == NOW - 50


@pytest.mark.parametrize(
    "repeat, doubt, before, maybe",
    [
        (Repeat.HARMLESS, 1, 0, 1),
        (Repeat.HARMLESS, 0, 0, 0),
        (Repeat.BY_KEY, 1, 0, 0),
        (Repeat.BY_KEY, 0, 1, 1),
    ],
)
def test_a_harmless_repeat_of_what_may_have_happened_is_remembered_as_such(
    repeat, doubt, before, maybe
):
    known = record(state=State.UNKNOWN, attempt=1, doubt=doubt, maybe_twice=before)
    assert sent_from(known, replace(BLIND, repeat=repeat)).maybe_twice == maybe


# -------------------------------------------------------------------------- definite, and not known


def test_what_was_seen_on_the_wire_is_counted():
    assert settled(SENT, outcome(Effect.CONFIRMED, sends=3)).after.sends == 3
    assert settled(AGAIN, outcome(Effect.UNKNOWN, sends=0)).after.sends == 1


def test_a_sender_that_closes_its_attempt_cannot_have_sent_later():
    assert settled(SENT, outcome(Effect.CONFIRMED)).after.last_possible_at == NOW


def test_a_definite_answer_confirms_whatever_the_doubt():
    after = settled(AGAIN, outcome(Effect.CONFIRMED, provider_ref="T1")).after
    assert (after.state, after.provider_ref) == (State.CONFIRMED, "T1")


def test_req_F03_no_answer_is_unknown_and_due_at_once():
    after = settled(SENT, outcome(Effect.UNKNOWN)).after
    assert (after.state, after.doubt, after.evidence) == (State.UNKNOWN, 1, Evidence.NOT_ASKED)
    assert (after.due_at, after.not_before_at, after.lease_owner) == (NOW, NOW + WAIT_S, None)


@pytest.mark.parametrize("advice_s, wait_s", [(None, 2.0), (60.0, 60.0), (0.5, 2.0), (-5.0, 2.0)])
def test_advice_about_time_is_followed_but_never_sooner_than_the_back_off(advice_s, wait_s):
    after = settled(SENT, outcome(Effect.UNKNOWN, retry_after_s=advice_s)).after
    assert after.not_before_at == NOW + wait_s


@pytest.mark.parametrize("said_s, ask_s", [(30.0, 30.0), (None, 5.0)])
def test_what_was_accepted_is_asked_for_and_sent_no_sooner_than_was_said(said_s, ask_s):
    after = settled(SENT, outcome(Effect.ACCEPTED, handle="job-1", ask_after_s=said_s)).after
    assert (after.state, after.evidence, after.handle) == ("unknown", Evidence.WORKING, "job-1")
    assert (after.ask_at, after.not_before_at) == (NOW + ask_s, NOW + ask_s)
    assert after.doubt == 1


# ----------------------------------------------------------------------------------------- refusals


def test_a_refusal_of_the_only_attempt_is_an_end():
    after = settled(SENT, refusal()).after
    assert (after.state, after.final, after.due_at) == (State.REJECTED, 1, None)


def test_a_temporary_refusal_of_the_only_attempt_comes_back():
    after = settled(SENT, refusal(Kind.THROTTLED, retryable=True, retry_after_s=30.0)).after
    assert (after.state, after.final) == (State.REJECTED, 0)
    assert (after.due_at, after.not_before_at) == (NOW + 30, NOW + 30)


def test_req_U02_a_refusal_speaks_for_its_own_attempt_only():
    made = settled(AGAIN, refusal(related_ref="T7"))
    after = made.after
    assert (after.state, after.doubt, after.refused) == (State.UNKNOWN, 1, 1)
    assert made.drafts[0].reason == "refusal_not_covering"
    assert (after.kind, after.code, after.related_ref) == (Kind.BUSINESS, "NO", "T7")
    assert (after.due_at, after.not_before_at, after.lease_owner) == (NOW, NOW + WAIT_S, None)


def test_a_temporary_refusal_in_doubt_does_not_forbid_another_send():
    after = settled(AGAIN, refusal(Kind.THROTTLED, retryable=True)).after
    assert (after.state, after.refused) == (State.UNKNOWN, 0)


def test_a_client_that_sent_again_by_itself_was_refused_only_the_last_time():
    after = settled(SENT, refusal(sends=2)).after
    assert (after.state, after.doubt, after.sends) == (State.UNKNOWN, 1, 2)


@pytest.mark.parametrize("before", [AGAIN, SENT])
def test_where_a_refusal_covers_the_key_it_speaks_for_all_attempts(before):
    after = settled(before, refusal(sends=2), COVERED).after
    assert (after.state, after.final, after.doubt) == (State.REJECTED, 1, 0)


def test_a_temporary_refusal_never_covers_the_key():
    after = settled(AGAIN, refusal(Kind.THROTTLED, retryable=True), COVERED).after
    assert after.state is State.UNKNOWN


@pytest.mark.parametrize("advice_s, wait_s", [(None, 5.0), (1.0, 2.0), (9.0, 9.0)])
def test_a_key_in_progress_is_our_own_and_is_come_back_to(advice_s, wait_s):
    """Without advice not before a send may take; with it, as it says."""
    after = settled(SENT, refusal(Kind.IN_PROGRESS, retryable=True, retry_after_s=advice_s)).after
    assert (after.state, after.doubt, after.refused) == (State.UNKNOWN, 1, 0)
    assert after.not_before_at == NOW + wait_s


def test_a_back_off_longer_than_a_send_is_kept_for_a_key_in_progress():
    made = fold.settle(SENT, BLIND, refusal(Kind.IN_PROGRESS), now=NOW, wait_s=8.0)
    assert made.after.not_before_at == NOW + 8


def test_a_key_used_for_other_arguments_is_never_sent_again():
    after = settled(SENT, refusal(Kind.KEY_REUSE), COVERED).after
    assert (after.state, after.refused, after.kind) == (State.UNKNOWN, 1, Kind.KEY_REUSE)


EXISTS = refusal(Kind.ALREADY_EXISTS, related_ref="T7")


@pytest.mark.parametrize(
    "before, contract, said, ours",
    [
        # An earlier attempt, or the client's own second try, may have made it.
        (AGAIN, BLIND, EXISTS, True),
        (SENT, BLIND, EXISTS._replace(sends=2), True),
        # Where it can be asked and the provider does not deduplicate by key, it is asked.
        (SENT, ASKED, EXISTS, True),
        # A first attempt that nobody can ask about, and one that would have been replayed.
        (SENT, BLIND, EXISTS, False),
        (SENT, replace(ASKED, repeat=Repeat.BY_KEY), EXISTS, False),
        # Our own would have been replayed, whichever attempt it was.
        (AGAIN, replace(COVERED, repeat=Repeat.BY_KEY), EXISTS, False),
        # Covering alone does not tell whose it is.
        (AGAIN, COVERED, EXISTS, True),
    ],
)
def test_already_exists_may_be_our_own(before, contract, said, ours):
    made = settled(before, said, contract)
    assert made.after.related_ref == "T7"
    if ours:
        assert (made.after.state, made.after.refused) == (State.UNKNOWN, 1)
        assert made.drafts[0].reason == "duplicate_refusal"
    else:
        assert (made.after.state, made.after.kind) == (State.REJECTED, Kind.ALREADY_EXISTS)


# ----------------------------------------------------------------------------------------- not sent


def test_what_never_left_is_prepared_again():
    made = settled(SENT, outcome(Effect.NOT_SENT, sends=0, retryable=True))
    after = made.after
    assert (after.state, after.doubt, after.sends) == (State.PREPARED, 0, 0)
    assert (after.due_at, after.not_before_at) == (NOW + WAIT_S, NOW + WAIT_S)
    assert (after.first_sent_at, after.last_possible_at) == (None, None)
    assert after.lease_owner is None


def test_a_second_attempt_that_never_left_does_not_take_back_the_keys_first_send():
    after = settled(AGAIN._replace(doubt=0), outcome(Effect.NOT_SENT, retryable=True)).after
    assert (after.state, after.first_sent_at) == (State.PREPARED, NOW - 3)


def test_what_never_left_does_not_settle_an_earlier_attempt():
    made = settled(AGAIN, outcome(Effect.NOT_SENT, sends=0, retryable=True))
    assert (made.after.state, made.after.doubt) == (State.UNKNOWN, 1)
    assert made.drafts[0].reason == "not_sent_but_doubt"
    assert (made.after.due_at, made.after.not_before_at) == (NOW, NOW + WAIT_S)
    assert made.after.first_sent_at == NOW - 3


@pytest.mark.parametrize("kind, told", [(Kind.TOOL_ERROR, Kind.TOOL_ERROR), (None, "withdrawn")])
def test_what_never_left_and_is_of_no_use_again_is_withdrawn(kind, told):
    made = settled(SENT, outcome(Effect.NOT_SENT, reason="interrupted", kind=kind, sends=0))
    assert [draft.event for draft in made.drafts] == [Event.UNSEND, Event.WITHDRAW]
    after = made.after
    assert (after.state, after.final, after.kind) == (State.REJECTED, 1, told)
    assert (after.reason, after.due_at) == ("interrupted", None)


# ---------------------------------------------------------------------------- leases and letting go


def test_req_U01_a_take_over_makes_the_holder_a_suspect_and_the_fence_grow():
    after = fold.take(SENT, owner="q", until=NOW + 20)
    assert (after.lease_owner, after.lease_until, after.due_at) == ("q", NOW + 20, NOW + 20)
    assert (after.fence, after.suspect, after.state) == (2, "p#1", State.SENT)


@pytest.mark.parametrize(
    "before",
    [
        SENT._replace(lease_owner=None),
        SENT._replace(state=State.UNKNOWN),
    ],
)
def test_nobody_who_was_not_sending_becomes_a_suspect(before):
    assert fold.take(before, owner="q", until=NOW + 20).suspect == ""


def test_who_takes_over_after_a_take_over_is_not_its_sender():
    once = fold.take(SENT, owner="q", until=NOW + 20)
    assert fold.take(once, owner="r", until=NOW + 40).suspect == "p#1"


def test_suspects_of_earlier_attempts_stay():
    after = fold.take(AGAIN._replace(suspect="o#1"), owner="q", until=NOW + 20)
    assert after.suspect == "o#1,p#2"


def lost(before=SENT, **said):
    return fold.lose(
        before, **{"reason": "deadline", "suspect": "p#1", "now": NOW, "by": By.CALL, **said}
    )


def test_a_given_up_attempt_is_in_doubt_counted_as_a_send_and_its_sender_suspected():
    made = lost(AGAIN)
    after = made.after
    assert (after.state, after.doubt, after.sends) == (State.UNKNOWN, 2, 2)
    assert (after.suspect, after.evidence, after.last_possible_at) == (
        "p#1", Evidence.NOT_ASKED, NOW,
    )  # fmt: skip
    assert (after.lease_owner, after.due_at, after.not_before_at) == (None, NOW, None)
    assert (made.drafts[0].reason, made.drafts[0].by) == ("deadline", By.CALL)


def test_who_gives_an_attempt_up_under_its_own_lease_may_keep_it():
    after = lost(keep_lease=True, suspect="", wait_s=3.0).after
    assert (after.lease_owner, after.lease_until, after.due_at) == ("p", NOW + 9, NOW + 9)
    assert (after.suspect, after.not_before_at) == ("", NOW + 3)


def test_what_was_not_sent_and_not_wanted_is_withdrawn_for_good():
    made = fold.withdraw(PREPARED, by=By.PERSON, reason="not_wanted", now=NOW)
    after = made.after
    assert (after.state, after.final, after.kind) == (State.REJECTED, 1, Kind.WITHDRAWN)
    assert (after.reason, after.review, made.drafts[0].by) == ("not_wanted", None, By.PERSON)


@pytest.mark.parametrize(
    "refused, kind, told",
    [(0, None, Kind.ABSENT), (0, Kind.THROTTLED, Kind.ABSENT), (1, Kind.BUSINESS, Kind.BUSINESS),
     (1, None, Kind.ABSENT)],
)  # fmt: skip
def test_final_absence_closes_with_the_refusal_that_was_in_hand(refused, kind, told):
    unknown = record(state=State.UNKNOWN, attempt=1, doubt=2, refused=refused, kind=kind)
    made = fold.close_absent(unknown, now=NOW)
    after = made.after
    assert (after.state, after.final, after.kind, after.doubt) == (State.REJECTED, 1, told, 0)
    assert (made.drafts[0].reason, made.drafts[0].by) == ("absence_final", By.LOOKUP)


def test_letting_go_writes_no_event():
    held = SENT._replace(state=State.UNKNOWN)
    made = fold.hold(held, due_at=NOW + 7, now=NOW)
    assert made.drafts == ()
    assert (made.after.lease_owner, made.after.due_at, made.after.updated_at) == (
        None,
        NOW + 7,
        NOW,
    )


def test_an_attempt_under_way_is_not_let_go_of():
    after = fold.hold(SENT, due_at=None, now=NOW).after
    assert (after.lease_owner, after.due_at) == ("p", NOW + 9)
