"""What a person's wish has come to, derived from its actions."""

from itertools import combinations_with_replacement, product

import pytest

from ascertain.model.tables import State
from ascertain.rules.project import Part, WorkflowState, workflow_say, workflow_state

TICKET = Part("ticket", State.CONFIRMED)
NOTICE = Part("notice", State.CONFIRMED, essential=False)


def part(state, **said):
    return Part("ticket", state, **said)


WAITING = part(State.REJECTED, final=True, waits=True)


def test_nothing_was_started():
    assert workflow_state([]) is WorkflowState.NOT_STARTED


def test_all_that_was_wished_is_confirmed():
    assert workflow_state([TICKET, NOTICE]) is WorkflowState.COMPLETED


@pytest.mark.parametrize("state", [state for state in State if state is not State.CONFIRMED])
def test_req_P01_a_notice_without_an_answer_does_not_undo_a_fulfilled_wish(state):
    notice = NOTICE._replace(state=state)
    assert workflow_state([TICKET, notice]) is WorkflowState.PARTIALLY_COMPLETED


@pytest.mark.parametrize(
    "ticket, state",
    [
        (part(State.PREPARED), WorkflowState.RUNNING),
        (part(State.SENT), WorkflowState.RUNNING),
        (part(State.REJECTED, final=False), WorkflowState.RUNNING),
        (part(State.REJECTED, final=True), WorkflowState.REFUSED),
        (part(State.UNKNOWN), WorkflowState.AWAITING_CONFIRMATION),
        (part(State.UNKNOWN, in_review=True), WorkflowState.NEEDS_REVIEW),
        (part(State.CONFIRMED, in_review=True), WorkflowState.NEEDS_REVIEW),
        (part(State.COMPENSATED), WorkflowState.COMPENSATED),
    ],
)
def test_an_essential_part_decides(ticket, state):
    assert workflow_state([ticket, NOTICE]) is state
    assert workflow_state([NOTICE, ticket]) is state, "in whatever order"


@pytest.mark.parametrize(
    "parts, state",
    [
        # A case before a doubt, a doubt before work in progress, that before a refusal.
        ((part(State.CONFIRMED, in_review=True), part(State.UNKNOWN)), "needs_review"),
        ((part(State.UNKNOWN), part(State.SENT)), "awaiting_confirmation"),
        ((part(State.SENT), part(State.REJECTED, final=True)), "running"),
        ((part(State.REJECTED, final=True), part(State.COMPENSATED)), "refused"),
        ((part(State.REJECTED, final=True), part(State.CONFIRMED)), "refused"),
        ((part(State.COMPENSATED), part(State.CONFIRMED)), "compensated"),
    ],
)
def test_of_several_essential_parts_what_is_least_settled_decides(parts, state):
    assert workflow_state(parts) == state


def test_a_person_who_looks_at_a_best_effort_part_does_not_hold_the_wish():
    assert workflow_state([TICKET, NOTICE._replace(in_review=True)]) is WorkflowState.COMPLETED


@pytest.mark.parametrize(
    "state, wish",
    [
        (State.UNKNOWN, WorkflowState.AWAITING_CONFIRMATION),
        (State.CONFIRMED, WorkflowState.COMPLETED),
    ],
)
def test_where_all_are_best_effort_they_decide_among_themselves(state, wish):
    assert workflow_state([NOTICE._replace(state=state)]) is wish


# --------------------------------------------------------------------------- chains that go back


@pytest.mark.parametrize(
    "parts, state",
    [
        ((part(State.CONFIRMED),), "compensating"),
        ((part(State.UNKNOWN), part(State.COMPENSATED)), "compensating"),
        ((part(State.REJECTED, final=False),), "compensating"),
        ((part(State.CONFIRMED, in_review=True), part(State.CONFIRMED)), "needs_review"),
        ((part(State.COMPENSATED), part(State.REJECTED, final=True)), "compensated"),
        ((part(State.REJECTED, final=True),), "refused"),
        ((part(State.CONFIRMED, kept=True), part(State.COMPENSATED)), "compensated"),
        ((NOTICE._replace(state=State.UNKNOWN), part(State.COMPENSATED)), "compensated"),
        ((NOTICE, part(State.COMPENSATED)), "compensating"),
    ],
)
def test_req_P03_in_a_chain_that_goes_back_what_is_not_undone_yet_decides(parts, state):
    assert workflow_state(parts, backward=True) == state
    assert workflow_state(parts[::-1], backward=True) == state, "in whatever order"


@pytest.mark.parametrize(
    "parts, state",
    [
        ((part(State.CONFIRMED), WAITING), "running"),
        ((part(State.UNKNOWN), WAITING), "awaiting_confirmation"),
        ((WAITING,), "not_started"),
        ((part(State.REJECTED, final=True), WAITING), "refused"),
    ],
)
def test_req_P08_what_waits_for_another_step_is_not_refused(parts, state):
    assert workflow_state(parts) == state


def every_part():
    """All values of a part that can be: only a rejection is final or waits."""
    for state in State:
        rejected = state is State.REJECTED
        for final, essential, review, waits, kept in product((False, True), repeat=5):
            if (final or waits) and not rejected:
                continue
            if waits and not final:
                continue
            yield Part("x", state, final, essential, review, waits, kept)


def test_req_P03_every_multiset_of_up_to_three_parts_has_one_state_in_any_order():
    """Total, of one type, never completed while something essential is not confirmed."""
    parts = list(every_part())
    count = 0
    for size in (0, 1, 2, 3):
        for wish in combinations_with_replacement(parts, size):
            for backward in (False, True):
                state = workflow_state(wish, backward=backward)
                count += 1
                assert isinstance(state, WorkflowState)
                assert state is workflow_state(wish[::-1], backward=backward)
                if backward:
                    assert state not in (WorkflowState.COMPLETED, WorkflowState.PARTIALLY_COMPLETED)
                elif state is WorkflowState.COMPLETED:
                    assert all(one.state is State.CONFIRMED for one in wish)
    assert count > 90_000


# ----------------------------------------------------------------------------------------- in words


def test_req_P10_a_partial_success_names_what_is_fulfilled_and_what_is_pending():
    parts = [
        TICKET, NOTICE._replace(name="text message", state=State.UNKNOWN),
        NOTICE._replace(name="e-mail", state=State.REJECTED),
    ]  # fmt: skip
    wish = ("inspection booked", "检测预约")
    assert workflow_say(parts, "en", wish) == (
        "inspection booked, text message, e-mail awaiting confirmation"
    )
    assert workflow_say(parts, "zh-CN", wish) == "检测预约完成、text message、e-mail待确认"


def test_a_wish_without_a_name_of_its_own_is_done():
    parts = [TICKET, NOTICE._replace(state=State.UNKNOWN)]
    assert workflow_say(parts) == "done, notice awaiting confirmation"


@pytest.mark.parametrize("state", WorkflowState)
@pytest.mark.parametrize("language", ["en", "zh", "zh-CN"])
def test_every_state_of_a_wish_has_words_and_none_says_that_it_failed(state, language):
    from ascertain.rules.texts import WORKFLOW

    said = WORKFLOW[state][language != "en"]
    assert said
    assert "fail" not in said.lower()
    assert "失败" not in said


def test_a_wish_that_is_not_confirmed_is_not_called_done():
    assert workflow_say([part(State.UNKNOWN)]) == "Not confirmed yet."
    assert workflow_say([part(State.UNKNOWN)], "zh-CN") == "暂未确认提交"
