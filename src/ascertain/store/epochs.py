"""Noticing that a ledger in PostgreSQL goes on with another history than the one that was known.

Looked at whenever the connection that writes is made: a server does not change its history while a
connection to it lives. What can be known:

* the journal's timeline and the system's id; a promoted standby and a restored backup have others;
* whether the last commit that this process was told of is there, and the epoch it worked in: a copy
  of the disk of an hour ago has the same timeline.

What cannot be known is which commits of others are missing.
"""

from __future__ import annotations

import json
import logging
from typing import NamedTuple

from ascertain.errors import LedgerLocked
from ascertain.model.epoch import COMMIT_MISSING, EPOCH_MISSING, FIRST, SYSTEM, TIMELINE, Epoch
from ascertain.store.access import Run
from ascertain.store.ids import new_id

log = logging.getLogger("ascertain")

_TRIES = 8


class Acknowledged(NamedTuple):
    """A commit that this process was told of: this action had so many events."""

    action_id: str = ""
    n: int = 0


class _Place(NamedTuple):
    system: str
    timeline: int | None
    replayed_at: float | None
    now: float


def meet(run: Run, known: Epoch | None, told: Acknowledged, by: str) -> Epoch:
    """In which epoch the ledger is on this connection; a break that nobody has noticed begins one.

    :param known: the epoch in which this process was so far. :param told: its last commit.
    :param by: who asks.
    :raises LedgerLocked: others open epochs again and again.
    """
    place = _Place(*run("whereabouts")[0])
    for _ in range(_TRIES):
        newest = _newest(run)
        missing = _missing(run, told)
        why = _break(run, place, newest, known, missing)
        if not why:
            assert newest is not None  # else there would be a reason
            return _entered(run, newest, known, missing)
        run(
            "open_epoch", new_id(), newest.n + 1 if newest is not None else 1, place.system,
            place.timeline, why, max(place.now, place.replayed_at or 0.0),
            None if why == FIRST else place.replayed_at, by, missing,
        )  # fmt: skip
        known, told = None, Acknowledged()  # what was missed is on record now
    raise LedgerLocked("Epochs of the ledger are opened again and again.")


def epochs(run: Run, limit: int) -> list[Epoch]:
    """The newest first."""
    return [Epoch(*row) for row in run("epochs", limit)]


def _newest(run: Run) -> Epoch | None:
    found = epochs(run, 1)
    return found[0] if found else None


def _missing(run: Run, told: Acknowledged) -> str:
    """The action whose acknowledged commit is not there; empty: nothing of ours is missing."""
    if not told.action_id or run("stands_at", told.action_id, told.n):
        return ""
    return told.action_id


def _break(run: Run, place: _Place, newest: Epoch | None, known: Epoch | None, missing: str) -> str:
    """Why a new epoch has to begin; empty: it need not."""
    if place.timeline is None:
        return "" if newest is not None else FIRST
    if known is not None and not run("epoch_there", known.id):
        return EPOCH_MISSING
    if newest is None:
        return FIRST
    if newest.system != place.system:
        return SYSTEM
    if newest.timeline != place.timeline:
        return TIMELINE
    return COMMIT_MISSING if missing and known is not None and known.id == newest.id else ""


def _entered(run: Run, epoch: Epoch, known: Epoch | None, missing: str) -> Epoch:
    """Go on in this epoch; what we miss is the proof that something was lost before it."""
    if missing and epoch.may_lack and not epoch.missing:
        run("miss", epoch.id, missing)
        epoch = epoch._replace(missing=missing)
    if epoch.may_lack and (known is None or known.id != epoch.id):
        log.warning(json.dumps(said(epoch)))
    return epoch


def said(epoch: Epoch) -> dict[str, object]:
    """What the log tells of an epoch in which something may be missing."""
    told: dict[str, object] = {
        "event": "ledger_epoch", "epoch": epoch.n, "why": epoch.why, "timeline": epoch.timeline,
        "began_at": epoch.began_at, "kept_at": epoch.kept_at, "missing": epoch.missing or None,
    }  # fmt: skip
    return {name: value for name, value in told.items() if value is not None}
