"""The gate before a call, and the states of a key: every case, and laws that hold in all."""

from itertools import product

import pytest

from ascertain.model.session import KEY_RULES, KeyEvent, KeyState, SessionState, key_ends
from ascertain.rules.gate import (
    Fill,
    GateReason,
    GateWhat,
    KeyFacts,
    KeyView,
    judge,
    key_state,
    session_state,
)
from tests.laws import gate_golden

BOTH = (False, True)
VIEWS = [KeyView(*values) for values in product(KeyState, BOTH, BOTH, Fill)]
WAITS = [(0, 0), (0, 3), (1, 3), (3, 3)]
UNDER_WAY = (KeyState.EXECUTING, KeyState.PENDING)
PAIRS = list(product(VIEWS[::3], VIEWS[1::3]))


def test_the_golden_table_is_what_the_gate_does():
    stored = gate_golden.FILE.read_text(encoding="utf-8")
    assert gate_golden.table() == stored, f"see the difference, then: {gate_golden.COMMAND}"


@pytest.mark.parametrize("waited, waits", WAITS)
def test_nothing_goes_without_what_it_needs(waited, waits):
    for view in VIEWS:
        step = judge([view], waited=waited, waits=waits)
        if step.what is GateWhat.GO and view.needed:
            assert view.state is KeyState.READY, view
            assert not view.stale, view


@pytest.mark.parametrize("waited, waits", WAITS)
def test_a_doubt_is_never_waited_for(waited, waits):
    for view in VIEWS:
        if view.state is KeyState.IN_DOUBT:
            step = judge([view], waited=waited, waits=waits)
            assert step.what is (GateWhat.HOLD if view.needed else GateWhat.GO)


def test_waits_end():
    for view in VIEWS:
        assert judge([view], waited=3, waits=3).what is not GateWhat.WAIT
        assert judge([view], waited=0, waits=0).what is not GateWhat.WAIT


@pytest.mark.parametrize("waited, waits", WAITS)
def test_nothing_is_read_for_a_call_that_is_held_or_may_get_it_anyway(waited, waits):
    weight = {what: place for place, what in enumerate(gate_golden.ORDER)}
    for pair in PAIRS:
        alone = [judge([view], waited=waited, waits=waits).what for view in pair]
        together = judge(pair, waited=waited, waits=waits)
        assert together.what is max(alone, key=weight.__getitem__)
        if together.key >= 0:
            assert alone[together.key] is together.what


def test_what_is_optional_never_holds_a_call():
    for view in VIEWS:
        if not view.needed:
            assert judge([view], waited=3, waits=3).what is GateWhat.GO


def test_a_call_that_needs_nothing_goes():
    assert judge([], waited=0, waits=3).what is GateWhat.GO


def test_every_reason_is_given():
    given = {
        judge([view], waited=waited, waits=waits).reason
        for view in VIEWS
        for waited, waits in WAITS
    }
    assert given == set(GateReason)


# ---------------------------------------------------------------------------------- states of keys

FACTS = [
    KeyFacts(executing, pending, doubted, has_value, expired)
    for executing, pending, doubted, has_value, expired in product(
        range(2), range(2), range(2), BOTH, BOTH
    )
    if pending <= executing and not (expired and not has_value)
]


def happenings(facts):
    """Everything that can happen to a key by itself: the event and the facts after it."""
    e, p, d, has, old = facts
    if e == 0:
        yield KeyEvent.BEGIN, KeyFacts(1, 0, d, has, old)
    if e and not p:
        yield KeyEvent.ANSWER, KeyFacts(e, 1, d, has, old)
        yield KeyEvent.REFUSE, KeyFacts(0, 0, d, has, old)
        yield KeyEvent.LOSE, KeyFacts(0, 0, 1, has, old)
        yield KeyEvent.COMMIT, KeyFacts(0, 0, 0, True, False)
    if p:
        yield KeyEvent.COMMIT, KeyFacts(0, 0, 0, True, False)
        if not has:
            yield KeyEvent.REFUSE, KeyFacts(0, 0, 0, False, False)
        yield KeyEvent.LOSE, KeyFacts(0, 0, 1, has, old)
    if d and not e:
        yield KeyEvent.COMMIT, KeyFacts(0, 0, 0, True, False)
        yield KeyEvent.REFUSE, KeyFacts(0, 0, 0, has, False)
    if has and not old and not e and not d:
        yield KeyEvent.EXPIRE, KeyFacts(0, 0, 0, True, True)
    if has and not e and not d:
        yield KeyEvent.REVERSE, KeyFacts(0, 0, 0, False, False)


def test_keys_move_only_by_rows_of_the_table_and_by_every_row():
    """The state is a projection; what changes it are the rows, and no row is idle."""
    taken = set()
    for facts in FACTS:
        start = key_state(facts)
        for event, after in happenings(facts):
            end = key_state(after)
            if start is not end:
                assert end in key_ends(start, event), (facts, event, after)
                taken.add((start, event, end))
    idle = [rule.name for rule in KEY_RULES if (rule.start, rule.event, rule.end) not in taken]
    assert idle == []


def test_the_state_of_a_session_is_a_projection_of_its_keys():
    """Any pending, else any executing, else any ready, else idle; in any order."""
    for keys in product(KeyState, repeat=3):
        state = session_state(keys)
        if KeyState.PENDING in keys:
            assert state is SessionState.TOOL_RESULT_PENDING
        elif KeyState.EXECUTING in keys:
            assert state is SessionState.TOOL_EXECUTING
        else:
            ready = KeyState.READY in keys
            assert state is (SessionState.CONTEXT_READY if ready else SessionState.IDLE)
    assert session_state([]) is SessionState.IDLE


def test_what_is_under_way_hides_what_stood_before():
    for facts in FACTS:
        if facts.executing:
            assert key_state(facts) in UNDER_WAY
