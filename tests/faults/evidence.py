"""What the oracle judges by: the promise, the cell that was played, the provider's own file, and
what the library said. Standard library only; nothing of the library under test is imported.
"""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

# alive: it worked to its end, and closed its attempts itself. gone: killed, and proven to be gone.
# killed: killed, with nobody able to prove it. frozen: stopped; it may wake and send at any time.
Sender = Literal["alive", "gone", "killed", "frozen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What the tool's contract promises, in the oracle's own words. Times in seconds.

    `sends` and `unanswered` are the action half of the budget; spent, they excuse an unknown end
    only if the script was silent for all of them. None: the next scripted answer decides.
    `refusal_final_after_s`: the key is looked at first, and nothing takes effect later than this
    after it was sent: the refusal of a create that came so late speaks for those before it.
    `send_deadline_s`: a reply that comes later has reached nobody.
    `leave`: best effort; a lost answer stays "awaiting confirmation" and needs no person.
    """

    key: bool = False
    key_lifetime_s: float | None = None
    lookup: bool = False
    fences: bool = False
    absence_final_after_s: float | None = None
    refuses_unprocessed: bool = False
    refusal_covers_key: bool = False
    refusal_final_after_s: float | None = None
    refusals: frozenset[str] = frozenset(
        {"OPEN_TICKET_EXISTS", "ALREADY_EXISTS", "REFUSED_BY_POLICY", "VALIDATION"}
    )
    sends: int | None = None
    unanswered: int | None = None
    send_deadline_s: float | None = None
    leave: bool = False

    @classmethod
    def of(cls, spec: dict[str, Any]) -> Promise:
        """Read a promise from a plain dict; an unknown name is an error."""
        given = dict(spec)
        if "refusals" in given:
            given["refusals"] = frozenset(given["refusals"])
        return cls(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of the fault table: the promise, the scripts, and what befell the sender.

    `behaviours` and `lookups` are the scripted names, in order; after them all is well.
    `died_at`: when the (last) sender was killed or frozen: what was answered to its creates, those
    received until then, may have been heard by nobody. `unheard` gives their number instead.
    `unsent_at`: when a sender died between its durable send and the request. The provider never
    heard of it; for all that anybody can know, it is a create that was lost on the way.
    `person`: somebody is there to decide a review case.
    """

    promise: Promise
    behaviours: tuple[str, ...] = ()
    lookups: tuple[str, ...] = ()
    sender: Sender = "alive"
    died_at: float | None = None
    unheard: int | None = None
    unsent_at: tuple[float, ...] = ()
    person: bool = False

    @property
    def sender_settled(self) -> bool:
        """Whether the earlier sender can no longer send."""
        return self.sender in ("alive", "gone")


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Something that happened at the provider."""

    ref: str
    key: str | None
    received_at: float
    executed_at: float
    arrival: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A create or a look-up as it reached the provider, and what it was answered."""

    number: int
    received_at: float
    key: str | None
    args: str | None
    behaviour: str
    answered: str
    answered_at: float | None
    code: str | None
    retry_after_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The provider's own file, as far as it concerns one intent. Creates and look-ups in order.

    `still_to_land`: effects that are accepted or on their way, and have not happened yet.
    """

    effects: tuple[Effect, ...] = ()
    posts: tuple[Asked, ...] = ()
    lookups: tuple[Asked, ...] = ()
    placed: frozenset[str] = frozenset()
    still_to_land: int = 0
    read_at: float = 0.0

    @property
    def keys(self) -> frozenset[str]:
        """All keys under which this intent was sent."""
        return frozenset(post.key for post in self.posts if post.key is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What somebody was told in one turn: asked at, told at, and the words."""

    asked_at: float
    at: float
    state: str
    final: bool = False
    provider_ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the library says in the end, and what it said on the way.

    `planned`: recovery will go on by itself. `review_opened`: a case was opened at some time;
    `review_open`: it is open now. `noticed`: disputed, or a contradiction or double reported.
    """

    state: str
    final: bool = False
    kind: str | None = None
    provider_ref: str | None = None
    related_ref: str | None = None
    key: str | None = None
    review_open: bool = False
    review_opened: bool = False
    noticed: bool = False
    by_person: bool = False
    planned: bool = False
    told: tuple[Statement, ...] = ()


def read_evidence(
    path: str | Path, collection: str, match: dict[str, Any], key: str | None = None
) -> Evidence:
    """Read from the provider's file all that concerns the intent whose arguments carry `match`.

    Found by the arguments, so that a second send under a new key shows; and by the key that the
    library says, so that a send with other arguments, or a look-up of what was never sent, does.
    """
    uri = f"{Path(path).resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=15)) as db:
        db.row_factory = sqlite3.Row
        arrivals = db.execute(
            "SELECT * FROM arrivals WHERE collection = ? ORDER BY number", (collection,)
        ).fetchall()
        posts = [
            row
            for row in arrivals
            if row["method"] == "POST"
            and (_fits(row, match) or (key is not None and row["key"] == key))
        ]
        keys = {row["key"] for row in posts if row["key"] is not None} | ({key} - {None})
        numbers = {row["number"] for row in posts}
        effects = db.execute(
            "SELECT * FROM effects WHERE collection = ? ORDER BY number", (collection,)
        ).fetchall()
        due = db.execute(
            "SELECT arrival FROM due WHERE collection = ? AND ended_at IS NULL", (collection,)
        ).fetchall()
        placed = db.execute("SELECT ref FROM placed WHERE collection = ?", (collection,)).fetchall()
    return Evidence(
        effects=tuple(
            Effect(**{name: row[name] for name in Effect.__dataclass_fields__})
            for row in effects
            if row["arrival"] in numbers
        ),
        posts=tuple(_asked(row) for row in posts),
        lookups=tuple(
            _asked(row) for row in arrivals if row["method"] == "GET" and row["key"] in keys
        ),
        placed=frozenset(row["ref"] for row in placed),
        still_to_land=sum(row["arrival"] in numbers for row in due),
        read_at=time.time(),
    )


def _fits(row: sqlite3.Row, match: dict[str, Any]) -> bool:
    if row["args"] is None:
        return False
    args = json.loads(row["args"])
    return all(name in args and args[name] == value for name, value in match.items())


def _asked(row: sqlite3.Row) -> Asked:
    return Asked(**{name: row[name] for name in Asked.__dataclass_fields__})
