"""What a person may find, and what the events say of a case."""

import json

import pytest

from ascertain.model.action import EventRecord
from ascertain.model.outcome import Kind
from ascertain.model.tables import State
from ascertain.rules.cases import REVIEW_WITHIN_S, Verdict, assign, handed, permitted, reason_of
from tests.laws.records import NOW, record

BOTH = (Verdict.CONFIRMED, Verdict.NOT_DONE)


@pytest.mark.parametrize(
    "changes, verdicts",
    [
        ({"state": State.UNKNOWN}, BOTH),
        ({"state": State.SENT}, BOTH),
        ({}, (Verdict.NOT_DONE,)),
        ({"state": State.CONFIRMED}, ()),
        ({"state": State.CONFIRMED, "disputed": 1}, BOTH),
        ({"state": State.REJECTED, "final": 1}, ()),
        ({"state": State.REJECTED, "final": 1, "disputed": 1}, BOTH),
        ({"state": State.REJECTED, "kind": Kind.THROTTLED}, (Verdict.NOT_DONE,)),
        ({"state": State.COMPENSATED}, ()),
    ],
)
def test_req_F16_the_verdicts_are_those_that_what_is_known_permits(changes, verdicts):
    assert permitted(record(review="asked", review_at=NOW, **changes)) == verdicts


def event(n, at, detail):
    text = detail if isinstance(detail, str) else json.dumps(detail)
    return EventRecord(
        "a1", n, "unknown", "note", "unknown", "person", "r", 1, 1, at, text, b""
    )  # fmt: skip


def test_a_case_has_a_deadline_though_nobody_set_one():
    case = handed(record(state=State.UNKNOWN, review="asked", review_at=NOW), [])
    assert case == ("", NOW + REVIEW_WITHIN_S, (), (), ())


def test_the_newest_word_counts_and_none_from_before_the_case_was_opened():
    events = [
        event(1, NOW - 50, {"owner": "old", "review_by": 1.0, "request_id": "req-1"}),
        event(2, NOW, {"review_by": NOW + 60, "verdicts": ["kept"]}),
        event(3, NOW + 1, {"owner": "li"}),
        event(4, NOW + 2, "no JSON"),
        event(5, NOW + 3, {"owner": "wang", "request_id": "req-2"}),
    ]
    case = handed(record(state=State.CONFIRMED, review="asked", review_at=NOW), events)
    assert case == ("wang", NOW + 60, ("kept",), ("req-1", "req-2"), ())


def test_a_case_that_is_given_away_stays_the_same_case():
    before = record(state=State.UNKNOWN, review="asked", review_at=NOW, due_at=None)
    move = assign(before, owner="li", by_at=NOW + 9, now=NOW + 1)
    assert move.after == before.changed(updated_at=NOW + 1)
    (draft,) = move.drafts
    assert draft.detail == {"owner": "li", "review_by": NOW + 9}


def test_a_contradiction_is_a_reason_of_its_own():
    assert reason_of(record(state=State.CONFIRMED, disputed=1)) == "contradiction"
    assert reason_of(record(state=State.CONFIRMED)) == ""
