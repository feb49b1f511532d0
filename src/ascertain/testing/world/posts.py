"""A create from arrival to answer, and what lands later: the transactions behind `POST`."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from dataclasses import dataclass
from email.utils import formatdate
from typing import cast

from ascertain.testing.world.arrivals import (
    PENDING,
    Came,
    Said,
    change_answer,
    next_behaviour,
    write_arrival,
)
from ascertain.testing.world.catalogue import Behaviour
from ascertain.testing.world.deliver import (
    FENCED,
    Answer,
    Create,
    Delivered,
    admit,
    deliver,
    error,
    is_fenced,
    keep_key,
    take_effect,
)
from ascertain.testing.world.words import Json, Provider, Record, canonical


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """Something that takes effect later."""

    number: int
    due_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes back over the wire: an answer or None, and the behaviour that says how.

    `landing`: something was scheduled; `waits`: the reply is given when it has landed.
    """

    arrival: int
    behaviour: Behaviour
    answer: Answer | None
    landing: Landing | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A landing that has come, with what it came to."""

    number: int
    delivered: Delivered


def post(db: sqlite3.Connection, provider: Provider, came: Came) -> Reply:
    """Take a create: the scripted behaviour, the effect if there is one, the answer to give."""
    assert came.args is not None
    behaviour = next_behaviour(db, came.collection, "post", came.key, came.args)
    pending = Said(answered=PENDING, answered_at=None)
    create = Create(
        arrival=write_arrival(db, came, behaviour.name, pending),
        collection=came.collection,
        key=came.key,
        args=came.args,
        received_at=came.received_at,
    )
    now = time.time()
    reply = _carry_out(db, provider, create, behaviour, now)
    if not reply.waits:
        change_answer(db, create.arrival, said(reply, now))
    return reply


def said(reply: Reply, now: float) -> Said:
    """Return what the arrivals table says of a reply."""
    behaviour, answer = reply.behaviour, reply.answer
    if answer is None:
        return Said(answered=behaviour.text("how"), answered_at=now)
    cut = behaviour.row.wire == "truncated"
    return Said(
        answered="truncated" if cut else str(answer.http),
        answered_at=now,
        code=answer.code,
        retry_after_s=answer.retry_after_s,
    )


def _carry_out(
    db: sqlite3.Connection, provider: Provider, create: Create, behaviour: Behaviour, now: float
) -> Reply:
    row = behaviour.row
    delivered: Delivered | None = None
    landing: Landing | None = None
    waits = False
    match row.when:
        case "never":
            pass
        case "now":
            delivered = deliver(db, provider, create, now)
        case "twice":
            delivered, landing = _twice(db, provider, create, behaviour, now)
        case "transit":
            landing = _schedule(db, create, "transit", now + behaviour.seconds("seconds"))
        case "working" | "accepted":
            delivered = admit(db, provider, create, now)
            if delivered is None:
                landing = _schedule(db, create, row.when, now + behaviour.seconds("seconds"))
                waits = row.when == "working"
                answer = None if waits else _handle(landing)
                keep_key(db, provider, create, row.when, answer, now)
                if answer is not None:
                    delivered = Delivered(answer=answer)
    if behaviour.name == "lookup_misses_first":
        _miss(db, create, behaviour)
    if behaviour.name == "duplicate_delivery" and behaviour.text("reply") == "lost":
        lost = Behaviour("reply_lost")
        return Reply(arrival=create.arrival, behaviour=lost, answer=None, landing=landing)
    answer = None if waits else _answer(db, provider, create, behaviour, delivered, now)
    return Reply(
        arrival=create.arrival, behaviour=behaviour, answer=answer, landing=landing, waits=waits
    )


def _twice(
    db: sqlite3.Connection, provider: Provider, create: Create, behaviour: Behaviour, now: float
) -> tuple[Delivered, Landing | None]:
    first = deliver(db, provider, create, now)
    gap_s = behaviour.seconds("gap_s")
    if gap_s > 0:
        return first, _schedule(db, create, "transit", now + gap_s)
    second = deliver(db, provider, create, now)
    return (second if behaviour.text("reply") == "second" else first), None


def _schedule(db: sqlite3.Connection, create: Create, how: str, due_at: float) -> Landing:
    row = db.execute(
        "INSERT INTO due (arrival, collection, key, args, received_at, due_at, how)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            create.arrival,
            create.collection,
            create.key,
            create.text,
            create.received_at,
            due_at,
            how,
        ),
    )
    assert row.lastrowid is not None
    return Landing(number=row.lastrowid, due_at=due_at)


def _handle(landing: Landing) -> Answer:
    return Answer(http=202, body={"state": "accepted", "handle": f"job-{landing.number}"})


def _miss(db: sqlite3.Connection, create: Create, behaviour: Behaviour) -> None:
    db.execute(
        "INSERT INTO misses (collection, key, remaining) VALUES (?, ?, ?)"
        " ON CONFLICT (collection, key) DO UPDATE SET remaining = excluded.remaining",
        (create.collection, create.key, behaviour.params["misses"]),
    )


def _answer(
    db: sqlite3.Connection,
    provider: Provider,
    create: Create,
    behaviour: Behaviour,
    delivered: Delivered | None,
    now: float,
) -> Answer | None:
    match behaviour.row.says:
        case "nothing":
            return None
        case "error":
            return _refuse(db, provider, create, behaviour, now)
        case "empty":
            assert delivered is not None
            if delivered.answer.http >= 300:
                return delivered.answer
            return Answer(http=delivered.answer.http, body=None)
        case "record" | "handle":
            assert delivered is not None
            return delivered.answer


def _refuse(
    db: sqlite3.Connection, provider: Provider, create: Create, behaviour: Behaviour, now: float
) -> Answer:
    """Say no in the scripted way; where it looks at the key first, what that already says holds."""
    refuses = behaviour.row.refusal
    kept = refuses and provider.stores_refusals
    if kept or (refuses and provider.answers_key_first):
        decided = admit(db, provider, create, now)
        if decided is not None:
            return decided.answer
    answer = _error_answer(db, provider, create, behaviour, now)
    if kept:
        keep_key(db, provider, create, "refused", answer, now)
    return answer


def _error_answer(
    db: sqlite3.Connection, provider: Provider, create: Create, behaviour: Behaviour, now: float
) -> Answer:
    row, params = behaviour.row, behaviour.params
    more: Record = {}
    if "existing_ref" in params:
        more["ref"] = _existing(db, create, behaviour, now)
    if provider.refuses_unprocessed and row.http in (429, 503):
        more["processed"] = False
    answer = error(row.http, behaviour.text("code"), row.name.replace("_", " "), **more)
    if params.get("retry_after_s") is None:
        return answer
    wait_s = behaviour.seconds("retry_after_s")
    if row.name == "throttled_date":
        at = math.ceil(now + wait_s)  # a date has whole seconds; never earlier than meant
        value, wait_s = formatdate(at, usegmt=True), at - now
    else:
        value = f"{wait_s:g}"
    return Answer(
        http=answer.http,
        body=answer.body,
        code=answer.code,
        retry_after_s=wait_s,
        headers=(("Retry-After", value),),
    )


def _existing(db: sqlite3.Connection, create: Create, behaviour: Behaviour, now: float) -> str:
    """Return the reference that stands in the way, and make sure that it can be read."""
    if behaviour.name == "already_exists":
        own: tuple[str] | None = db.execute(
            "SELECT ref FROM effects WHERE collection = ? AND key IS ? ORDER BY number LIMIT 1",
            (create.collection, create.key),
        ).fetchone()
        if own is not None:
            return own[0]
    ref = behaviour.text("existing_ref")
    fields: Json = behaviour.params.get("belongs_to")
    place(db, create.collection, ref, None, create.args if fields is None else fields, now)
    return ref


def place(
    db: sqlite3.Connection, collection: str, ref: str, key: str | None, args: Json, now: float
) -> None:
    """Put a record there that nobody here has asked for; one that is there already stays."""
    db.execute(
        "INSERT OR IGNORE INTO placed (collection, ref, key, args, placed_at)"
        " VALUES (?, ?, ?, ?, ?)",
        (collection, ref, key, canonical(args), now),
    )


def open_landings(db: sqlite3.Connection) -> list[Landing]:
    """Return what is still to land, also from before a restart."""
    rows: list[tuple[int, float]] = db.execute(
        "SELECT number, due_at FROM due WHERE ended_at IS NULL"
    ).fetchall()
    return [Landing(number=number, due_at=due_at) for number, due_at in rows]


def land(db: sqlite3.Connection, providers: dict[str, Provider], number: int) -> Landed | None:
    """Let one landing take effect; None if it has already."""
    row: tuple[int, str, str | None, str, float, str] | None = db.execute(
        "SELECT arrival, collection, key, args, received_at, how FROM due"
        " WHERE number = ? AND ended_at IS NULL",
        (number,),
    ).fetchone()
    if row is None:
        return None
    arrival, collection, key, args, received_at, how = row
    create = Create(
        arrival=arrival,
        collection=collection,
        key=key,
        args=cast("Record", json.loads(args)),
        received_at=received_at,
    )
    provider, now = providers[collection], time.time()
    if how == "transit":
        delivered = deliver(db, provider, create, now)
    elif is_fenced(db, collection, key):
        keep_key(db, provider, create, "refused", FENCED, now)
        delivered = Delivered(answer=FENCED)
    else:  # the key was claimed when the work was taken
        delivered = take_effect(db, provider, create, now)
    ended_as = "effect" if delivered.took_effect else delivered.answer.code or "replayed"
    db.execute(
        "UPDATE due SET ended_at = ?, ended_as = ? WHERE number = ?", (now, ended_as, number)
    )
    if how == "working":
        answer = delivered.answer
        late = Said(answered=str(answer.http), answered_at=now, code=answer.code)
        change_answer(db, arrival, late)
    return Landed(number=number, delivered=delivered)
