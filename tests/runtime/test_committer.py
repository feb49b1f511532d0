"""Group commit in two halves: who is told when, on a ledger that a test drives by hand."""

import threading
from itertools import groupby

import pytest

from ascertain.errors import LedgerClosed, LedgerFull
from ascertain.runtime.committer import FEW, Committer

MANY = 4 * FEW


class Story:
    """A ledger whose first write waits until it is let go; it notes what happens, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.writing, self.go_on = threading.Event(), threading.Event()
        self.refuse: set[int] = set()

    def submit(self, operations, *, meanwhile=None):
        first = not self.writing.is_set()
        self.writing.set()
        if first:
            assert self.go_on.wait(10)
        self.lines.append(f"write {len(operations)}")
        if self.refuse & set(operations):
            raise LedgerFull
        if meanwhile is not None:
            meanwhile()
        self.lines.append("on the disk")
        return [f"done {n}" for n in operations]


class Caller:
    """A waiter that notes when it was told."""

    loop = None

    def __init__(self, story: Story) -> None:
        self.story = story
        self.told = threading.Event()
        self.reply = None

    def deliver(self, reply) -> None:
        self.reply = reply
        self.story.lines.append("told")
        self.told.set()


@pytest.fixture
def story():
    return Story()


@pytest.fixture
def committer(story):
    made = Committer(story)
    yield made
    story.go_on.set()
    made.close()


def many(committer: Committer, story: Story, callers: int = MANY) -> list[Caller]:
    """One is being written, and the others wait; then it is let go."""
    made = [Caller(story) for _ in range(callers)]
    committer.enqueue(0, made[0])
    assert story.writing.wait(10)
    for n, caller in enumerate(made[1:], 1):
        committer.enqueue(n, caller)
    story.go_on.set()
    for caller in made:
        assert caller.told.wait(10), story.lines
    return made


def shortened(lines: list[str]) -> list[str]:
    """Lines that repeat are counted."""
    groups = ((line, len(list(same))) for line, same in groupby(lines))
    return [line if times == 1 else f"{line} x {times}" for line, times in groups]


def test_one_half_goes_on_while_the_other_is_forced_to_the_disk(committer, story):
    callers = many(committer, story)
    assert [caller.reply for caller in callers] == [f"done {n}" for n in range(MANY)]
    lines = shortened(story.lines)
    assert lines[:6] == [
        "write 1", "on the disk",
        f"write {MANY // 2}", "told", "on the disk",
        f"write {MANY // 2 - 1}",
    ], lines  # fmt: skip
    assert lines[6] == f"told x {MANY // 2}", "the first half is told while the second is written"


def test_the_last_are_told_at_once(committer, story):
    """Nobody waits for a next batch, which may never come."""
    many(committer, story)
    *_, last = shortened(story.lines)
    assert last.startswith("told")


def test_a_few_are_written_together(committer, story):
    many(committer, story, FEW - 1)
    assert shortened(story.lines)[2] == f"write {FEW - 2}"


def test_those_of_a_batch_that_fails_are_told_so_and_the_others_are_not(committer, story):
    story.refuse = {1}
    callers = many(committer, story)
    failed = [isinstance(caller.reply, LedgerFull) for caller in callers]
    assert not failed[0]
    assert failed[1 : 1 + MANY // 2] == [True] * (MANY // 2)
    assert not any(failed[1 + MANY // 2 :])


def test_nobody_is_kept_waiting_by_another_thread_that_writes(committer, story):
    """The committer has written a batch, and somebody else holds the ledger before its next."""
    first, second = Caller(story), Caller(story)
    stranger = HeldUntil(threading.Event())

    def taken_by_a_stranger(operations, *, meanwhile=None):
        """As the first write ends, the ledger is not free any more."""
        replies = story.submit(operations, meanwhile=meanwhile)
        committer._writing.release()
        committer._writing = stranger
        return replies

    committer._ledger = type("Shared", (), {"submit": staticmethod(taken_by_a_stranger)})()
    committer.enqueue(0, first)
    assert story.writing.wait(10)
    committer.enqueue(1, second)
    story.go_on.set()
    try:
        assert first.told.wait(5), "its write has ended, and it waits for a stranger's"
    finally:
        stranger.until.set()
    assert second.told.wait(10)


class HeldUntil:
    """A lock that a stranger holds until the event; then nobody does."""

    def __init__(self, until: threading.Event) -> None:
        self.until = until

    def acquire(self, blocking: bool = True) -> bool:
        return self.until.wait(10) if blocking else self.until.is_set()

    def release(self) -> None:
        """Nobody waits for it."""


def test_who_waits_when_it_is_closed_is_told(story):
    committer = Committer(story)
    callers = [Caller(story) for _ in range(MANY)]
    committer.enqueue(0, callers[0])
    assert story.writing.wait(10)
    for n, caller in enumerate(callers[1:], 1):
        committer.enqueue(n, caller)
    story.go_on.set()
    committer.close()
    assert all(caller.told.is_set() for caller in callers), "closing finishes what is queued"
    with pytest.raises(LedgerClosed):
        committer.enqueue(0, Caller(story))
