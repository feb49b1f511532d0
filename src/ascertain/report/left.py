"""Chains whose code did not come to its end, as they are told."""

from __future__ import annotations

from ascertain.report.wishes import Wish
from ascertain.report.words import ago, sender_words
from ascertain.rules.left import at_work, was_left
from ascertain.runtime import sender


def left_said(wish: Wish, now: float) -> str:
    """What is to be said of a chain that is not at its end; empty: nothing."""
    if wish.around is None:
        return ""
    chain = wish.around.chain
    if was_left(wish.around):
        return "its code did not come to its end, and was not run again"
    if not at_work(chain) or chain.due_at is None:
        return ""
    looked = f"a worker looks at it {ago(chain.due_at, now)}"
    if not chain.owner:
        return f"its code was left by an error, and may be run again; {looked}"
    if sender.is_gone(chain.owner):
        return f"its process is gone, and it may be run again; {looked}"
    return f"its code is at work ({sender_words(chain.owner)})"
