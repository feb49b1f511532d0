"""The checker says yes to what can have happened one after the other, and no to everything else."""

from math import inf

import pytest

from ascertain.testing.linearize import Op, linearizable


def w(value, start, end=inf):
    return Op("write", value, start, end)


def r(value, start, end):
    return Op("read", value, start, end)


@pytest.mark.parametrize(
    "story, history",
    [
        ("nothing", []),
        ("the initial value", [r(None, 0, 1)]),
        ("one after the other", [w(1, 0, 1), r(1, 2, 3), w(2, 4, 5), r(2, 6, 7)]),
        ("a read beside a write sees the old", [w(1, 0, 1), w(2, 2, 9), r(1, 3, 4)]),
        ("or the new", [w(1, 0, 1), w(2, 2, 9), r(2, 3, 4)]),
        ("first the old, then the new", [w(1, 0, 1), w(2, 2, 9), r(1, 3, 4), r(2, 5, 6)]),
        ("a pending write that was seen", [w(1, 0, 1), w(2, 2), r(2, 8, 9)]),
        ("a pending write that was never", [w(1, 0, 1), w(2, 2), r(1, 8, 9)]),
        ("two writes in either order", [w(1, 0, 9), w(2, 0, 9), r(2, 10, 11), r(2, 12, 13)]),
    ],
)  # fmt: skip
def test_what_can_have_happened(story, history):
    assert linearizable(history), story


@pytest.mark.parametrize(
    "story, history",
    [
        ("a value from nowhere", [r(7, 0, 1)]),
        ("a stale read", [w(1, 0, 1), w(2, 2, 3), r(1, 4, 5)]),
        ("a lost write", [w(1, 0, 1), r(None, 2, 3)]),
        ("first the new, then the old", [w(1, 0, 1), w(2, 2, 9), r(2, 3, 4), r(1, 5, 6)]),
        ("a value before its write", [r(1, 0, 1), w(1, 2, 3)]),
        ("two readers that disagree", [w(1, 0, 9), w(2, 0, 9), r(1, 10, 11), r(2, 12, 13)]),
        ("a pending write that comes and goes", [w(1, 0, 1), w(2, 2), r(2, 4, 5), r(1, 6, 7)]),
    ],
)
def test_what_cannot(story, history):
    assert not linearizable(history), story
