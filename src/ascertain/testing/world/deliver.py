"""The provider's own rules: what a create does, given its key, fences and what came before.

Each function runs inside the one transaction of a request; the file's single writer makes
"look, then write" atomic.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field
from typing import Literal, cast

from ascertain.testing.world.words import Json, Provider, Record, canonical


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the provider says: HTTP status, body, and what the arrivals table keeps of it."""

    http: int
    body: Json
    code: str | None = None
    retry_after_s: float | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def stored(self) -> str:
        """Return the reply as it is kept with a key."""
        return canonical({"http": self.http, "body": self.body, "code": self.code})


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """One create as it came in."""

    arrival: int
    collection: str
    key: str | None
    args: Record
    received_at: float

    @property
    def text(self) -> str:
        """The arguments as one comparable text."""
        return canonical(self.args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What one delivery came to: the answer, and whether it took effect just now."""

    answer: Answer
    took_effect: bool = False
    replayed: bool = field(default=False)


def error(http: int, code: str, message: str, **more: Json) -> Answer:
    """Return an error answer in this provider's form."""
    return Answer(http=http, code=code, body={"error": {"code": code, "message": message, **more}})


def record_of(
    provider: Provider, ref: str, key: str | None, args: Record, created_at: float
) -> Record:
    """Return a record as the provider shows it."""
    return {
        **args,
        provider.ref_field: ref,
        "ref": ref,
        provider.key_field: key,
        "created_at": created_at,
    }


def _replay(stored: str) -> Answer:
    reply = cast("dict[str, Json]", json.loads(stored))
    return Answer(
        http=cast("int", reply["http"]),
        body=reply["body"],
        code=cast("str | None", reply["code"]),
        headers=(("Idempotent-Replayed", "true"),),
    )


def is_fenced(db: sqlite3.Connection, collection: str, key: str | None) -> bool:
    """Tell whether this key can no longer take effect."""
    row = db.execute(
        "SELECT 1 FROM fences WHERE collection = ? AND key = ?", (collection, key)
    ).fetchone()
    return row is not None


FENCED = error(409, "fenced", "this key was asked for, found absent, and is closed since")


def admit(
    db: sqlite3.Connection, provider: Provider, create: Create, now: float
) -> Delivered | None:
    """Return what the key alone decides, or None where the create is to be carried out."""
    if is_fenced(db, create.collection, create.key):
        return Delivered(answer=FENCED)
    if not provider.honours_key or create.key is None:
        return None
    row: tuple[str, str, str | None, float] | None = db.execute(
        "SELECT args, state, reply, first_at FROM keys WHERE collection = ? AND key = ?",
        (create.collection, create.key),
    ).fetchone()
    if row is None:
        return None
    args, state, reply, first_at = row
    if provider.key_lifetime_s is not None and now >= first_at + provider.key_lifetime_s:
        db.execute(
            "DELETE FROM keys WHERE collection = ? AND key = ?", (create.collection, create.key)
        )
        return None
    if args != create.text:
        return Delivered(
            answer=error(422, "key_reused", "this key was used before with other arguments")
        )
    if state == "working":
        return Delivered(answer=error(409, "in_progress", "this key is being worked on"))
    assert reply is not None, f"a key that is {state} has a stored reply"
    return Delivered(answer=_replay(reply), replayed=True)


def keep_key(
    db: sqlite3.Connection,
    provider: Provider,
    create: Create,
    state: Literal["working", "accepted", "done", "refused"],
    answer: Answer | None,
    now: float,
) -> None:
    """Remember the key, if this provider does; its lifetime runs from the first receipt."""
    if not provider.honours_key or create.key is None:
        return
    reply = None if answer is None else answer.stored()
    db.execute(
        "INSERT INTO keys (collection, key, args, state, reply, first_at)"
        " VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (collection, key) DO UPDATE"
        " SET state = excluded.state, reply = excluded.reply",
        (create.collection, create.key, create.text, state, reply, now),
    )


def take_effect(
    db: sqlite3.Connection, provider: Provider, create: Create, now: float
) -> Delivered:
    """Make the effect, whatever came before, and keep its reply with the key."""
    given: tuple[int] = db.execute(
        "UPDATE providers SET refs_given = refs_given + 1 WHERE collection = ?"
        " RETURNING refs_given - 1",
        (create.collection,),
    ).fetchone()
    before: tuple[int] = db.execute(
        "SELECT count(*) FROM effects WHERE collection = ? AND key IS ?",
        (create.collection, create.key),
    ).fetchone()
    ref = provider.ref(given[0])
    delivery = 1 if create.key is None else before[0] + 1
    db.execute(
        "INSERT INTO effects"
        " (collection, ref, key, args, received_at, executed_at, delivery, arrival)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            create.collection,
            ref,
            create.key,
            create.text,
            create.received_at,
            now,
            delivery,
            create.arrival,
        ),
    )
    answer = Answer(http=201, body=record_of(provider, ref, create.key, create.args, now))
    keep_key(db, provider, create, "done", answer, now)
    return Delivered(answer=answer, took_effect=True)


def deliver(db: sqlite3.Connection, provider: Provider, create: Create, now: float) -> Delivered:
    """Carry out one delivery of a create: replay, refusal, or effect."""
    decided = admit(db, provider, create, now)
    return decided if decided is not None else take_effect(db, provider, create, now)
