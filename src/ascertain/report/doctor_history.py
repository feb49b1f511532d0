"""A check on the history of a ledger on a server: is it the one that was acknowledged?"""

from __future__ import annotations

from collections.abc import Sequence

from ascertain.model.contract import Budget
from ascertain.model.epoch import WHY, Epoch
from ascertain.report.doctor import Check, bad, ok, warn
from ascertain.report.words import day_and_time, span


def sentence_of(epoch: Epoch) -> str:
    """One epoch in plain words."""
    said = f"Epoch {epoch.n}, on timeline {epoch.timeline}, since {day_and_time(epoch.began_at)}"
    if epoch.settled_by:
        return f"{said}; {epoch.settled_by} vouches that nothing was lost."
    if not epoch.may_lack:
        return f"{said}."
    said += f": {WHY.get(epoch.why, epoch.why)}"
    if epoch.kept_at is not None:
        said += f" The last commit that came over is of {day_and_time(epoch.kept_at)}."
    if epoch.missing:
        return f"{said} One of action {epoch.missing} was acknowledged, and is lost."
    return f"{said} Commits that were acknowledged may be missing."


def history_check(epochs: Sequence[Epoch], now: float) -> Check:
    """The newest epoch, and what may be missing in it.

    :param epochs: the newest first. :param now: seconds since the epoch.
    """
    if not epochs:
        return ok("history", "No process has written to the ledger since it knows of epochs.")
    epoch = epochs[0]
    said = sentence_of(epoch)
    over_s = epoch.began_at + Budget().horizon_s - now
    if not epoch.may_lack or over_s <= 0:
        return ok("history", said)
    step = (
        "Calls that their provider does not know by key are asked about or go to a person, each "
        f"tool's within its horizon (by default for another {span(over_s)})."
    )
    if epoch.missing:
        return bad("history", said, step)
    vouch = "ascertain epochs --nothing-lost --by NAME"
    return warn("history", said, f"{step} If you know that nothing is lost: {vouch}")
