"""The grammar of moves: rows of the table, evidence that moves nothing, and what all ends share."""

import pytest

from ascertain.errors import IllegalTransition
from ascertain.model.contract import Contract, LookupPromise, Repeat
from ascertain.model.outcome import Effect, Evidence, Kind, Outcome
from ascertain.model.tables import By, Event, State
from ascertain.rules.moves import (
    closed,
    confirm,
    detail_of,
    differs,
    dispute,
    join_suspect,
    move,
    note,
    reject,
    without_suspect,
)
from tests.laws.records import NOW, record

SENT = record(
    state=State.SENT, attempt=2, doubt=1, lease_owner="p", lease_until=NOW + 9, due_at=NOW + 9,
    ask_at=NOW + 1, not_before_at=NOW + 1, review="asked", review_at=NOW - 1, refused=1, code="NO",
    kind=Kind.BUSINESS, evidence=Evidence.ABSENT,
)  # fmt: skip
PLAIN = Contract(tool="t", noun="t")
COUNTED = Contract(tool="t", noun="t", lookup=LookupPromise(absence_final_after_s=10.0))
OK = Outcome(effect=Effect.CONFIRMED, reason="answered", provider_ref="T900")


def test_a_move_is_a_row_of_the_table_and_its_event_says_so():
    made = move(SENT, Event.LOSE, By.WORKER, "lease_expired", NOW, doubt=2, detail={"a": 1})
    assert (made.after.state, made.after.doubt) == (State.UNKNOWN, 2)
    assert (made.after.reason, made.after.updated_at) == ("lease_expired", NOW)
    (draft,) = made.drafts
    assert draft == (
        State.SENT, Event.LOSE, State.UNKNOWN, By.WORKER, "lease_expired", 2, {"a": 1},
    )  # fmt: skip


def test_an_event_without_details_has_none():
    assert move(SENT, Event.LOSE, By.CALL, "r", NOW).drafts[0].detail == {}


def test_a_move_that_the_table_does_not_have_is_refused_by_its_name():
    with pytest.raises(IllegalTransition, match=r"confirmed --send--> has no row \(action a1\)"):
        move(record(state=State.CONFIRMED), Event.SEND, By.CALL, "send", NOW)
    with pytest.raises(IllegalTransition):
        move(record(state=State.REJECTED, final=1), Event.SEND, By.CALL, "send", NOW)


def test_evidence_moves_nothing_and_keeps_the_reason():
    known = record(state=State.UNKNOWN, reason="timeout", attempt=2)
    made = note(known, By.LOOKUP, "absent", NOW, {"count": 0}, asked=1)
    assert (made.after.state, made.after.reason, made.after.asked) == ("unknown", "timeout", 1)
    (draft,) = made.drafts
    assert (draft.start, draft.event, draft.end) == (State.UNKNOWN, Event.NOTE, State.UNKNOWN)
    assert (draft.reason, draft.attempt, draft.detail) == ("absent", 2, {"count": 0})


def test_req_F24_a_dispute_opens_a_case_and_rewrites_nothing():
    settled = record(state=State.CONFIRMED, provider_ref="T1")
    made = dispute(settled, "duplicate_effect", NOW, {"ref": "T2"}, By.CALL)
    after = made.after
    assert (after.state, after.provider_ref, after.disputed) == (State.CONFIRMED, "T1", 1)
    assert (after.review, after.review_at) == ("duplicate_effect", NOW)
    again = dispute(after, "confirmed_but_absent", NOW + 5, {}, By.LOOKUP).after
    assert (again.review, again.review_at) == ("duplicate_effect", NOW), "the first case stays open"


# --------------------------------------------------------------------------------------------- ends


def test_an_end_frees_the_lease_and_leaves_nothing_due():
    for end in (confirm(SENT, PLAIN, OK, By.CALL, NOW), reject(SENT, refusal(), NOW)):
        after = end.after
        assert (after.lease_owner, after.lease_until) == (None, None)
        assert (after.due_at, after.ask_at, after.not_before_at) == (None, None, None)
        assert (after.review, after.review_at) == (None, None)
    assert set(closed()) == {
        "lease_owner", "lease_until", "due_at", "ask_at", "not_before_at", "review", "review_at",
    }  # fmt: skip


def test_a_confirmation_takes_back_what_was_refused_and_keeps_the_reference():
    after = confirm(SENT, PLAIN, OK, By.CALL, NOW).after
    assert (after.state, after.provider_ref, after.refused) == (State.CONFIRMED, "T900", 0)
    assert (after.kind, after.code, after.evidence) == (None, None, Evidence.NOT_ASKED)


def test_where_a_double_is_possible_the_effects_are_counted_later():
    after = confirm(SENT, COUNTED, OK, By.CALL, NOW).after
    assert (after.due_at, after.ask_at) == (NOW + 20, NOW + 20)
    keyed = Contract(
        tool="t", noun="t", repeat=Repeat.BY_KEY, lookup=LookupPromise(absence_final_after_s=10.0)
    )
    assert confirm(SENT, keyed, OK, By.CALL, NOW).after.due_at is None


def test_several_effects_of_one_attempt_open_a_case():
    several = Outcome(effect=Effect.CONFIRMED, reason="answered", several_effects=True)
    made = confirm(SENT, PLAIN, several, By.CALL, NOW)
    assert (made.after.review, made.after.review_at) == ("several_effects", NOW)
    assert made.drafts[0].detail == {"sends": 1, "several": True}


def refusal(**said):
    plain = {"effect": Effect.REFUSED, "reason": "said_refused", "kind": Kind.BUSINESS}
    return Outcome(**{**plain, "code": "CLOSED", **said})


@pytest.mark.parametrize("retryable, final", [(False, 1), (True, 0)])
def test_a_refusal_is_final_unless_it_may_be_tried_again(retryable, final):
    after = reject(SENT, refusal(retryable=retryable, related_ref="T7"), NOW).after
    assert (after.state, after.final, after.doubt) == (State.REJECTED, final, 0)
    assert (after.kind, after.code, after.related_ref) == (Kind.BUSINESS, "CLOSED", "T7")


# ------------------------------------------------------------------------------------------ details


def test_details_are_what_was_said_and_nothing_else():
    assert detail_of(Outcome(effect=Effect.UNKNOWN, reason="timeout")) == {"sends": 1}
    full = Outcome(
        effect=Effect.REFUSED, reason="r", kind=Kind.THROTTLED, code="C", provider_ref="P",
        related_ref="R", http_status=429, request_id="q", sends=0, retry_after_s=0.0, handle="h",
        several_effects=True,
    )  # fmt: skip
    assert detail_of(full) == {
        "kind": Kind.THROTTLED, "code": "C", "ref": "P", "related": "R", "http": 429,
        "request_id": "q", "sends": 0, "retry_after_s": 0.0, "handle": "h", "several": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    "known, new, apart",
    [("T1", "T2", True), ("T1", "T1", False), (None, "T1", False), ("T1", None, False)],
)
def test_references_differ_only_where_both_are_known(known, new, apart):
    assert differs(known, new) is apart


@pytest.mark.parametrize(
    "suspects, sender, joined",
    [
        ("", "p#1", "p#1"),
        ("p#1", "q#2", "p#1,q#2"),
        ("p#1,q#2", "q#2", "p#1,q#2"),
        ("p#1", "", "p#1"),
        ("p#11", "p#1", "p#11,p#1"),
    ],
)
def test_a_suspect_is_remembered_once(suspects, sender, joined):
    assert join_suspect(suspects, sender) == joined


@pytest.mark.parametrize(
    "suspects, sender, left",
    [
        ("p#1,q#2", "p#1", "q#2"),
        ("p#1", "p#1", ""),
        ("p#1", "q#2", "p#1"),
        ("", "p#1", ""),
        ("p#11,p#1", "p#1", "p#11"),
    ],
)
def test_a_suspect_is_forgotten_by_its_whole_name(suspects, sender, left):
    assert without_suspect(suspects, sender) == left
