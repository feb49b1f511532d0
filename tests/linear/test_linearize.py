"""The checker says yes to what can have happened one after the other, and no to everything else."""

import itertools
import random
import time
from math import inf

import pytest

from ascertain.testing.linearize import Op, Register, linearizable, unexplained
from tests.linear.models import Kept, Session


def w(value, start, end=inf, about=None):
    return Op("write", value, start, end, about=about)


def r(value, start, end, about=None):
    return Op("read", None, start, end, seen=value, about=about)


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
        ("one that comes late", [w(1, 0, 1), w(2, 2), r(1, 3, 4), w(3, 5, 6), r(2, 7, 8)]),
        ("two pending, in the other order", [w(1, 0), w(2, 1), r(2, 3, 4), r(1, 5, 6)]),
        ("a pending read", [w(1, 0, 1), Op("read", None, 0), r(1, 2, 3)]),
        ("two writes in either order", [w(1, 0, 9), w(2, 0, 9), r(2, 10, 11), r(2, 12, 13)]),
        ("objects of their own", [w(1, 0, 1, "a"), w(2, 2, 3, "b"), r(1, 4, 5, "a")]),
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
        ("a value before its pending write", [r(1, 0, 1), w(1, 2)]),
        ("two readers that disagree", [w(1, 0, 9), w(2, 0, 9), r(1, 10, 11), r(2, 12, 13)]),
        ("a pending write that comes and goes", [w(1, 0, 1), w(2, 2), r(2, 4, 5), r(1, 6, 7)]),
        ("one that comes twice",
         [w(1, 0), r(1, 1, 2), w(2, 3, 4), r(2, 5, 6), r(1, 7, 8)]),
        ("one of two objects", [w(1, 0, 1, "a"), w(2, 2, 3, "b"), r(1, 4, 5, "b")]),
    ],
)  # fmt: skip
def test_what_cannot(story, history):
    assert not linearizable(history), story


def test_where_it_is_stuck_is_told():
    """How far an order goes, and what fits nowhere after it."""
    found = unexplained([w(1, 0, 1, "s"), r(1, 2, 3, "s"), w(2, 4, 5, "s"), r(1, 6, 7, "s")])
    assert (found.about, found.explained, found.state) == ("s", 3, 2)
    assert found.stuck == (r(1, 6, 7, "s"),)
    assert "3 operations of 's' explained, then, at 2:" in str(found)


def by_brute_force(history, model):
    """Try every order of every choice of pending operations."""
    pending = [op for op in history if op.pending]
    answered = [op for op in history if not op.pending]
    for count in range(len(pending) + 1):
        for chosen in itertools.combinations(pending, count):
            for order in itertools.permutations([*answered, *chosen]):
                if _in_time(order) and _explains(order, model):
                    return True
    return False


def _in_time(order):
    return not any(
        later.end < earlier.start for n, earlier in enumerate(order) for later in order[n + 1 :]
    )


def _explains(order, model):
    states = {model.initial}
    for op in order:
        states = {after for state in states for after in model.step(state, op)}
    return bool(states)


def register_history(dice):
    history = []
    for serial in range(dice.randint(1, 6)):
        start = dice.uniform(0, 10)
        end = inf if dice.random() < 0.3 else start + dice.uniform(0, 6)
        if dice.random() < 0.5:
            history.append(w(serial, start, end))
        else:
            history.append(Op("read", None, start, end, seen=dice.choice([None, 0, 1, 2, 3])))
    return history


def kept_history(dice):
    history = []
    for _ in range(dice.randint(1, 6)):
        start = dice.uniform(0, 10)
        end = inf if dice.random() < 0.3 else start + dice.uniform(0, 6)
        version = dice.randint(1, 3)
        match dice.randint(0, 4):
            case 0 | 1:
                given = ["01", version, f"v{version}"]
                history.append(Op("project", given, start, end, seen=dice.random() < 0.6))
            case 2 | 3:
                seen = dice.choice([None, [version, f"v{version}"]])
                history.append(Op("serve", ["01", dice.randint(1, 3)], start, end, seen=seen))
            case _:
                history.append(Op("lose", None, start, end))
    return history


def session_history(dice):
    history = [Op("begin", ["order", f"a{n}"], n / 4, n / 4 + 0.1) for n in range(2)]
    for _ in range(dice.randint(1, 4)):
        start = dice.uniform(0.6, 10)
        end = inf if dice.random() < 0.3 else start + dice.uniform(0, 6)
        match dice.randint(0, 2):
            case 0:
                action = f"a{dice.randint(0, 1)}"
                seen = dice.choice(["taken", "late", None])
                history.append(Op("commit", ["order", action, action], start, end, seen=seen))
            case 1:
                history.append(Op("say", ["order", "said"], start, end))
            case _:
                value = dice.choice([None, "a0", "a1", "said"])
                history.append(Op("read", None, start, end, seen={"order": value}))
    return history


@pytest.mark.parametrize(
    "make, model",
    [
        (register_history, Register()),
        (kept_history, Kept()),
        (session_history, Session(["order"])),
    ],
    ids=["register", "kept", "session"],
)
def test_it_says_what_trying_every_order_says(make, model):
    """A thousand small histories, pending operations among them."""
    counts = {True: 0, False: 0}
    for seed in range(1000):
        history = make(random.Random(seed))
        truth = by_brute_force(history, model)
        assert linearizable(history, model) == truth, f"seed {seed}: {history}"
        counts[truth] += 1
    assert min(counts.values()) > 100, f"both kinds are there: {counts}"


def test_many_at_once_and_many_pending_are_judged_in_time():
    """Eight clients, 2,000 operations, 10 of them pending: the search does not explode."""
    dice = random.Random(1)
    history, value, now = [], None, 0.0
    free_at = [0.0] * 8
    for serial in range(2000):
        client = min(range(8), key=free_at.__getitem__)
        begun, now = free_at[client], max(now, free_at[client]) + dice.uniform(0, 0.2)
        if dice.random() < 0.4:
            pending = serial % 200 == 0
            if not pending or dice.random() < 0.5:
                value = serial
            history.append(w(serial, begun, inf if pending else now + dice.uniform(0, 1)))
        else:
            history.append(r(value, begun, now + dice.uniform(0, 1)))
        free_at[client] = now + 1
    began = time.process_time()
    assert linearizable(history)
    spoiled = list(history)
    place = max(n for n, op in enumerate(history) if op.kind == "read")
    spoiled[place] = history[place]._replace(seen=-1)
    assert not linearizable(spoiled)
    assert time.process_time() - began < 20.0
