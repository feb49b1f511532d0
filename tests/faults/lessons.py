"""What the provider's answers teach, and what it could still have been asked. Pure functions."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import Literal

from tests.faults.evidence import Asked, Cell, Effect, Evidence, Promise

# What one create taught. yes, no: definite. unprocessed: refused before processing, by promise.
# working: taken, and under way. dead: the key can no longer take effect. nothing: all is possible.
Taught = Literal["yes", "no", "unprocessed", "working", "dead", "nothing"]

# Scripted answers after which nobody knows more than before.
TELLS_NOTHING = frozenset(
    {
        "request_lost",
        "reply_lost",
        "slow_deadline",
        "slow_lease",
        "throttled",
        "throttled_date",
        "error_500_before",
        "error_500_after",
        "unavailable_503_before",
        "unavailable_503_after",
        "unprocessed_503",
        "truncated",
        "empty_body",
        "lookup_misses_first",
        "late_execution",
        "in_progress_409",
        "hang_no_effect",
    }
)
LOOKUP_TELLS_NOTHING = frozenset({"error_500", "hang", "reset"})


def counted(cell: Cell, evidence: Evidence) -> tuple[Cell, Evidence]:
    """The cell and its evidence with each send that died before the wire as a create that was lost.

    Whoever recovers cannot tell the two apart, so it counts against the budget, asks for the same
    proof of absence from the moment of its sender's death, and has an end like any other.
    """
    if not cell.unsent_at:
        return cell, evidence
    known = evidence.posts[0] if evidence.posts else None
    lost = [
        Asked(
            number=-n, received_at=at, key=known and known.key, args=known and known.args,
            behaviour="request_lost", answered="reset", answered_at=None, code=None,
            retry_after_s=None,
        )
        for n, at in enumerate(cell.unsent_at, start=1)
    ]  # fmt: skip
    posts = sorted((*lost, *evidence.posts), key=lambda post: post.received_at)
    behaviours = ("request_lost",) * len(lost) + cell.behaviours
    unheard_too = None if cell.unheard is None else cell.unheard + len(lost)
    return (
        replace(cell, unsent_at=(), behaviours=behaviours, unheard=unheard_too),
        replace(evidence, posts=tuple(posts)),
    )


def missed(cell: Cell, evidence: Evidence, effect: Effect) -> bool:
    """Whether a look-up missed an effect that it had promised to see by then."""
    promise = cell.promise
    settling_s = 0.0 if promise.fences else promise.absence_final_after_s
    return (
        promise.lookup
        and settling_s is not None
        and any(
            look.code == "absent" and look.received_at >= effect.executed_at + settling_s
            for look in evidence.lookups
        )
    )


def taught(promise: Promise, post: Asked) -> Taught:
    """What the answer to one create teaches about that create, if somebody heard it."""
    if post.answered == "202":
        return "working"
    if post.code == "fenced":
        return "dead"
    if post.code in promise.refusals or post.answered in ("401", "403"):
        return "no"
    if post.answered in ("429", "503") and promise.refuses_unprocessed:
        return "unprocessed"
    if post.answered in ("200", "201") and post.code is None and post.behaviour != "empty_body":
        return "nothing" if _too_late(promise, post) else "yes"
    return "nothing"


def _too_late(promise: Promise, post: Asked) -> bool:
    if promise.send_deadline_s is None or post.answered_at is None:
        return False
    return post.answered_at - post.received_at >= promise.send_deadline_s


def unheard(cell: Cell, evidence: Evidence) -> int:
    """How many of the first creates may have been answered to nobody."""
    if cell.unheard is not None:
        return cell.unheard
    if cell.died_at is not None:
        return sum(post.received_at <= cell.died_at for post in evidence.posts)
    return 0 if cell.sender == "alive" else 1


def heard(cell: Cell, evidence: Evidence) -> list[Taught]:
    """What each create taught somebody who lived to record it."""
    lost = unheard(cell, evidence)
    return [
        "nothing" if n < lost else taught(cell.promise, post)
        for n, post in enumerate(evidence.posts)
    ]


def lookup_answers(cell: Cell, evidence: Evidence) -> bool:
    """Whether asking would have been answered, within the bound for unanswered ones."""
    promise, asked = cell.promise, len(evidence.lookups)
    if not promise.lookup:
        return False
    if promise.unanswered is not None:
        return sum(name in LOOKUP_TELLS_NOTHING for name in cell.lookups) < promise.unanswered
    return not set(cell.lookups[asked : asked + 1]) & LOOKUP_TELLS_NOTHING


def resend_tells(cell: Cell, evidence: Evidence) -> bool:
    """Whether the same key, sent once more, would have been answered with the truth."""
    promise, sent = cell.promise, len(evidence.posts)
    refused = "no" in heard(cell, evidence) and promise.refusal_final_after_s is None
    if not promise.key or refused or not _may_send(cell, evidence):
        return False
    if not sent or promise.key_lifetime_s is None:
        return True
    return evidence.read_at < evidence.posts[0].received_at + promise.key_lifetime_s


def speaks_for_all(cell: Cell, evidence: Evidence, lessons: list[Taught]) -> bool:
    """Whether the last create was refused, and that speaks for the earlier ones by promise."""
    promise = cell.promise
    if lessons[-1:] != ["no"]:
        return False
    if promise.refusal_covers_key:
        return True
    after_s, last = promise.refusal_final_after_s, evidence.posts[-1]
    if not promise.key or after_s is None or not cell.sender_settled:
        return False
    return all(
        lesson == "no" or last.received_at >= post.received_at + after_s
        for post, lesson in zip(evidence.posts, lessons, strict=True)
    )


def resend_is_safe(cell: Cell, evidence: Evidence) -> bool:
    """Whether every create was refused before processing, so that any contract may repeat it."""
    lessons = heard(cell, evidence)
    refused = bool(lessons) and all(lesson in ("no", "unprocessed") for lesson in lessons)
    return refused and lessons[-1] == "unprocessed" and _may_send(cell, evidence)


def _may_send(cell: Cell, evidence: Evidence) -> bool:
    """Whether a send was left for an answer: not where the script is silent for all of them."""
    sent, sends = len(evidence.posts), cell.promise.sends
    if sends is None:
        return not set(cell.behaviours[sent : sent + 1]) & TELLS_NOTHING
    lost = unheard(cell, evidence)
    silent = takewhile(
        lambda n: n < lost or cell.behaviours[n] in TELLS_NOTHING, range(len(cell.behaviours))
    )
    return len(list(silent)) < sends


def told_to_wait(cell: Cell, evidence: Evidence) -> bool:
    """Whether the provider has asked for patience that has not run out, or is still at work."""
    last = evidence.lookups[-1] if evidence.lookups else None
    at_work = evidence.still_to_land > 0 or (last is not None and last.code == "working")
    advised = any(
        post.retry_after_s is not None
        and post.answered_at is not None
        and evidence.read_at < post.answered_at + post.retry_after_s
        for post in evidence.posts[unheard(cell, evidence) :]
    )
    promise = cell.promise
    return at_work or (advised and (promise.key or promise.lookup or promise.refuses_unprocessed))


def proves_absence(cell: Cell, look: Asked) -> bool:
    """Whether this look-up's answer can prove anything: settled sender, or a fence."""
    if look.code == "refused":
        return True
    return look.code == "absent" and (cell.promise.fences or cell.sender_settled)


def proven_absent(
    cell: Cell, evidence: Evidence, post: Asked, until: float | None, *, known: bool = True
) -> bool:
    """Whether it was proven, before `until`, that this create has no effect and will have none.

    `known`: its answer reached somebody. A refusal that nobody heard allows no second send.
    """
    lesson = taught(cell.promise, post)
    if lesson in ("dead", "unprocessed") or (lesson == "no" and known):
        return True
    wait_s = 0.0 if cell.promise.fences else cell.promise.absence_final_after_s
    for look in evidence.lookups:
        if until is not None and look.received_at >= until:
            return False
        if not proves_absence(cell, look):
            continue
        if look.code == "refused":
            return True
        if wait_s is not None and look.received_at >= post.received_at + wait_s:
            return True
    return False


def absence_is_final(cell: Cell, evidence: Evidence) -> bool:
    """Whether the provider's answers prove that nothing happened and nothing will."""
    if not evidence.posts:
        return any(proves_absence(cell, look) for look in evidence.lookups)
    return all(proven_absent(cell, evidence, post, until=None) for post in evidence.posts)
