"""Of what a look-up by fields found, what is another action's is no effect of this one."""

import pytest

from ascertain.model.outcome import Answer, Evidence
from ascertain.model.tables import State
from ascertain.rules.claims import discounted, needs_others
from tests.laws.records import NOW, record

MINE = record(
    id="a", state=State.CONFIRMED, attempt=1, provider_ref="R1", first_sent_at=NOW, last_sent_at=NOW
)
REFUSED = record(id="a", state=State.REJECTED, final=1, attempt=1, first_sent_at=NOW)


def other(ref="R2", state=State.CONFIRMED, at=NOW + 5, **more):
    return record(
        id=f"b{ref}", state=state, attempt=1, provider_ref=ref, first_sent_at=at, last_sent_at=at,
        updated_at=at, **more,
    )  # fmt: skip


def found(ref, count=1, *refs):
    return Answer(found=True, reason="found", provider_ref=ref, count=count, refs=refs)


def counted(answer, *others, mine=MINE):
    """What is left: the reference and the count, or why it says nothing."""
    left = discounted(mine, answer, others)
    return (left.provider_ref, left.count) if left.found else (left.evidence, left.reason)


TAKEN = (Evidence.UNANSWERED, "reference_taken")
RIVAL = (Evidence.UNANSWERED, "rival_in_doubt")


@pytest.mark.parametrize(
    "answer, others, left",
    [
        (found("R1", 2), [other()], ("R1", 1)),
        (found("R2", 2), [other()], ("R1", 1)),
        (found("R1", 3), [other()], ("R1", 2)),
        (found("R2", 3), [other()], ("R1", 2)),
        (found("R2", 1), [other()], TAKEN),
        (found("R1", 2), [other(at=NOW - 5)], ("R1", 2)),
        (found("R2", 2), [other(at=NOW - 5)], ("R1", 1)),
        (found("R1", 2, "R1", "R2"), [other(at=NOW - 5)], ("R1", 1)),
        (found("R1", 2, "R1", "R3"), [other()], ("R1", 2)),
        (found("R3", 1), [other()], ("R3", 1)),
        (found("R3", 1, "R3"), [other()], ("R3", 1)),
        (found("R2", 1, "R2"), [other()], TAKEN),
        (found("R2", 2, "R2", "R3"), [other()], ("R3", 1)),
        (found("R1", 2), [other(None, State.UNKNOWN)], RIVAL),
        (found("R1", 3), [other(None, State.UNKNOWN)], ("R1", 3)),
        (found("R3", 1), [other(None, State.SENT)], RIVAL),
        (found("R1", 2), [other(disputed=1, review="duplicate_effect")], ("R1", 1)),
        (found("R1", 2), [other(disputed=1, review="reference_of_another")], ("R1", 2)),
        (found("R1", 2), [other(disputed=2)], ("R1", 2)),
        (found("R1", 2), [], ("R1", 2)),
    ],
)  # fmt: skip
def test_what_is_left_of_what_was_found_of_a_confirmed_action(answer, others, left):
    assert counted(answer, *others) == left


@pytest.mark.parametrize(
    "answer, others, left",
    [
        (found("R2", 1), [other()], TAKEN),
        (found("R3", 1), [other()], ("R3", 1)),
        (found("R2", 2), [other()], ("R2", 1)),
        (found("R3", 1), [other(None, State.UNKNOWN)], RIVAL),
    ],
)
def test_what_is_left_of_what_was_found_of_one_that_was_refused(answer, others, left):
    assert counted(answer, *others, mine=REFUSED) == left


def test_others_are_looked_for_only_where_something_contradicts():
    assert not needs_others(MINE, found("R1"))
    assert needs_others(MINE, found("R1", 2))
    assert needs_others(MINE, found("R2"))
    assert needs_others(REFUSED, found("R2"))
    assert not needs_others(MINE, Answer(evidence=Evidence.ABSENT))
    assert not needs_others(record(state=State.UNKNOWN, attempt=1), found("R2", 2))
