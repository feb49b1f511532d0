"""Epochs of a ledger: stretches of its life between which commits may have been lost.

A standby that is promoted without having received everything, or a backup that is restored, goes
on with another history than the one that was acknowledged. What is missing there, nobody can list;
that something may be, is known.
"""

from __future__ import annotations

from typing import NamedTuple

from ascertain.model.operations import Beside

ANOTHER_EPOCH = "another_epoch"

FIRST = "first"
TIMELINE = "timeline"
SYSTEM = "system"
COMMIT_MISSING = "commit_missing"
EPOCH_MISSING = "epoch_missing"

WHY: dict[str, str] = {
    FIRST: "The ledger was first used with epochs.",
    TIMELINE: "The server is on another timeline: a standby was promoted, or a backup restored.",
    SYSTEM: "It is another database system: the ledger was copied, restored or upgraded into it.",
    COMMIT_MISSING: "A commit that this server had acknowledged is not there any more.",
    EPOCH_MISSING: "The epoch in which this process was at work is not there any more.",
}
"""Why an epoch began, in one sentence each."""


class Epoch(NamedTuple):
    """One epoch, as the ledger tells of it. Times are seconds of the ledger's clock.

    :param id: orders by time; empty where a store has no epochs.
    :param n: counts them.
    :param system: the database system's own id. :param timeline: of its journal.
    :param why: a key of :data:`WHY`.
    :param began_at: when it was noticed; nothing of the history before was written later.
    :param kept_at: the time of the last commit that came over from the history before; None: not
        known.
    :param by: who noticed it. :param missing: an action of which an acknowledged commit is missing:
        with it, the loss is proved; empty: nobody has missed anything so far.
    :param settled_by: who vouches that nothing was lost; empty: nobody.
    """

    id: str = ""
    n: int = 1
    system: str = ""
    timeline: int = 0
    why: str = FIRST
    began_at: float = 0.0
    kept_at: float | None = None
    by: str = ""
    missing: str = ""
    settled_at: float | None = None
    settled_by: str = ""

    @property
    def may_lack(self) -> bool:
        """Whether commits of the history before may be missing in it."""
        return self.why != FIRST and not self.settled_by


ONLY = Epoch()
"""Of a store whose history cannot break without its file being exchanged."""


def only() -> Epoch:
    """The epoch where there are none."""
    return ONLY


class OfEpoch(Beside):
    """What blocks a send that was decided in another epoch than the one that it would go into."""
