"""Who works on a ledger, and whether they are alive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ascertain.model.fleet import Beat
from ascertain.report.words import iso, sender_words, span
from ascertain.runtime import sender

SILENT_S = 15.0
"""Three signs of life missed."""
REMEMBERED_S = 3600.0


class Health(StrEnum):
    """How a worker is, as far as can be told from here.

    * ``alive``: it was seen a moment ago.
    * ``silent``: it has not been seen for a while; it hangs, or its host cannot be reached.
    * ``dead``: its process is gone, and it did not say that it was ending.
    * ``ended``: it said so.
    """

    ALIVE = "alive"
    SILENT = "silent"
    DEAD = "dead"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One worker: its name as a sender, and how many actions it is at work on."""

    owner: str
    host: str
    pid: str
    beat_at: float
    health: Health
    leases: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "owner": self.owner, "host": self.host, "pid": self.pid, "beat_at": iso(self.beat_at),
            "health": str(self.health), "leases": self.leases,
        }  # fmt: skip


def workers(beats: Iterable[Beat], leases: Mapping[str, int], now: float) -> tuple[Seen, ...]:
    """Every worker that is at work or was within the last hour; those that ended well are not."""
    found: list[Seen] = []
    for beat in beats:
        health = health_of(beat, now)
        held = leases.get(beat.owner, 0)
        recent = health is not Health.ENDED and now - beat.at < REMEMBERED_S
        if recent or held:
            host, pid = place_of(beat.owner)
            seen = Seen(
                owner=beat.owner, host=host, pid=pid, beat_at=beat.at, health=health, leases=held
            )
            found.append(seen)
    return tuple(sorted(found, key=lambda one: (one.host, one.pid, one.owner)))


def health_of(beat: Beat, now: float) -> Health:
    """How it is. Only a process of this host can be proven gone."""
    if beat.ended_at is not None:
        return Health.ENDED
    if sender.is_gone(beat.owner):
        return Health.DEAD
    return Health.ALIVE if now - beat.at < SILENT_S else Health.SILENT


def place_of(owner: str) -> tuple[str, str]:
    """Host and process id of a sender."""
    parts = owner.split("/")
    return (parts[0], parts[3]) if len(parts) == 5 else (owner, "")


def sentence_of(one: Seen, now: float) -> str:
    """One worker in words: ``process 4711 on web-1 (seen 2 s ago, 3 leases)``."""
    held = f"{one.leases} lease{'' if one.leases == 1 else 's'}"
    state = "" if one.health is Health.ALIVE else f"{one.health}, "
    return (
        f"{sender_words(one.owner)} ({state}seen {span(max(0.0, now - one.beat_at))} ago, {held})"
    )
