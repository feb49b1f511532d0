"""Asking the provider: by key, by fields, by reference. The transactions behind `GET`."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from typing import cast

from ascertain.testing.world.arrivals import (
    PENDING,
    Came,
    Said,
    args_of_key,
    change_answer,
    next_behaviour,
    write_arrival,
)
from ascertain.testing.world.catalogue import Behaviour
from ascertain.testing.world.deliver import Answer, error, record_of
from ascertain.testing.world.posts import Reply, said
from ascertain.testing.world.words import Json, Provider, Record

WORKING = Answer(http=200, body={"state": "working"}, code="working")
NO_ROUTE = error(404, "no_such_route", "this provider does not offer that")


def look_up(db: sqlite3.Connection, provider: Provider, came: Came) -> Reply:
    """Answer `GET /{collection}?request=KEY`: the records with this key, or none."""
    assert came.key is not None
    if not provider.lookup:
        return plain(db, came, NO_ROUTE)
    args = args_of_key(db, came.collection, came.key)
    behaviour = next_behaviour(db, came.collection, "lookup", came.key, args)
    arrival = write_arrival(db, came, behaviour.name, Said(answered=PENDING, answered_at=None))
    now = time.time()
    answer = _scripted(db, provider, came.collection, came.key, behaviour, now)
    reply = Reply(arrival=arrival, behaviour=behaviour, answer=answer)
    change_answer(db, arrival, said(reply, now))
    return reply


def _scripted(
    db: sqlite3.Connection,
    provider: Provider,
    collection: str,
    key: str,
    behaviour: Behaviour,
    now: float,
) -> Answer | None:
    match behaviour.name:
        case "hang" | "reset":
            return None
        case "error_500":
            return error(500, behaviour.text("code"), "the look-up broke")
        case "working":
            return WORKING
        case "refused":
            return _refused(behaviour.text("code"))
        case "miss" if not provider.lookup_fences:
            return Answer(http=200, body=[], code="absent")
        case _:  # asking a fence is atomic with its answer: it cannot overlook a record
            return _truth(db, provider, collection, key, now)


def _truth(
    db: sqlite3.Connection, provider: Provider, collection: str, key: str, now: float
) -> Answer:
    found = [
        record_of(provider, ref, key, cast("Record", json.loads(args)), at)
        for ref, args, at in _records(db, collection, key, now - provider.lookup_lag_s)
    ]
    if found and not _misses(db, provider, collection, key):
        return Answer(http=200, body=cast("list[Json]", found), code="found")
    refused: tuple[str] | None = db.execute(
        "SELECT reply FROM keys WHERE collection = ? AND key = ? AND state = 'refused'",
        (collection, key),
    ).fetchone()
    if refused is not None:
        stored = cast("dict[str, Json]", json.loads(refused[0]))
        return _refused(str(stored["code"]))
    job = db.execute(
        "SELECT 1 FROM due WHERE collection = ? AND key = ? AND how = 'accepted'"
        " AND ended_at IS NULL",
        (collection, key),
    ).fetchone()
    if job is not None:
        return WORKING
    if provider.lookup_fences:
        db.execute(
            "INSERT OR IGNORE INTO fences (collection, key, fenced_at) VALUES (?, ?, ?)",
            (collection, key, now),
        )
    return Answer(http=200, body=[], code="absent")


def _refused(code: str) -> Answer:
    return Answer(http=200, body={"state": "refused", "code": code}, code="refused")


def _records(
    db: sqlite3.Connection, collection: str, key: str, visible_until: float
) -> list[tuple[str, str, float]]:
    return db.execute(
        "SELECT ref, args, executed_at FROM effects"
        " WHERE collection = :collection AND key = :key AND executed_at <= :until"
        " UNION ALL SELECT ref, args, placed_at FROM placed"
        " WHERE collection = :collection AND key = :key",
        {"collection": collection, "key": key, "until": visible_until},
    ).fetchall()


def _misses(db: sqlite3.Connection, provider: Provider, collection: str, key: str) -> bool:
    """Tell whether this look-up overlooks what is there, and use one such miss up."""
    if provider.lookup_fences:
        return False
    used = db.execute(
        "UPDATE misses SET remaining = remaining - 1"
        " WHERE collection = ? AND key = ? AND remaining > 0",
        (collection, key),
    )
    return used.rowcount == 1


def search(
    db: sqlite3.Connection, provider: Provider, came: Came, wanted: Mapping[str, str]
) -> Reply:
    """Answer `GET /{collection}?field=value`: the records whose fields read so."""
    if not provider.lookup:
        return plain(db, came, NO_ROUTE)
    rows: list[tuple[str, str | None, str, float]] = db.execute(
        "SELECT ref, key, args, executed_at FROM effects"
        " WHERE collection = :collection AND executed_at <= :until"
        " UNION ALL SELECT ref, key, args, placed_at FROM placed WHERE collection = :collection",
        {"collection": came.collection, "until": time.time() - provider.lookup_lag_s},
    ).fetchall()
    found = [
        record_of(provider, ref, key, cast("Record", json.loads(args)), at)
        for ref, key, args, at in rows
    ]
    fitting = [row for row in found if all(_reads(row, *item) for item in wanted.items())]
    code = "found" if fitting else "absent"
    return plain(db, came, Answer(http=200, body=cast("list[Json]", fitting), code=code))


def _reads(record: Record, name: str, text: str) -> bool:
    value = record.get(name)
    return value == text or (value is not None and json.dumps(value) == text)


def by_ref(db: sqlite3.Connection, provider: Provider, came: Came, ref: str) -> Reply:
    """Answer `GET /{collection}/{ref}`: one record, or one job by its handle."""
    row: tuple[str | None, str, float] | None = db.execute(
        "SELECT key, args, executed_at FROM effects WHERE collection = :collection AND ref = :ref"
        " UNION ALL"
        " SELECT key, args, placed_at FROM placed WHERE collection = :collection AND ref = :ref",
        {"collection": came.collection, "ref": ref},
    ).fetchone()
    if row is not None:
        key, args, at = row
        body = record_of(provider, ref, key, cast("Record", json.loads(args)), at)
        return plain(db, came, Answer(http=200, body=body, code="found"))
    return plain(db, came, _job(db, provider, came.collection, ref))


def _job(db: sqlite3.Connection, provider: Provider, collection: str, handle: str) -> Answer:
    missing = error(404, "not_found", "there is no such record")
    number = handle.removeprefix("job-")
    if number == handle or not (number.isascii() and number.isdecimal()) or len(number) > 15:
        return missing
    row: tuple[float | None, str | None, str | None, str, float, str] | None = db.execute(
        "SELECT due.ended_at, effects.ref, due.key, due.args, due.received_at, due.ended_as"
        " FROM due LEFT JOIN effects ON effects.arrival = due.arrival"
        " WHERE due.collection = ? AND due.number = ? AND due.how = 'accepted'",
        (collection, int(number)),
    ).fetchone()
    if row is None:
        return missing
    ended_at, ref, key, args, _, ended_as = row
    if ended_at is None:
        return WORKING
    if ref is None:
        return _refused(ended_as)
    record = record_of(provider, ref, key, cast("Record", json.loads(args)), ended_at)
    return Answer(http=200, body={**record, "state": "done"}, code="found")


def plain(db: sqlite3.Connection, came: Came, answer: Answer) -> Reply:
    """Write down a request that is answered without any script, and its answer."""
    reply = Reply(arrival=0, behaviour=Behaviour("ok", "lookup"), answer=answer)
    number = write_arrival(db, came, reply.behaviour.name, said(reply, time.time()))
    return Reply(arrival=number, behaviour=reply.behaviour, answer=answer)
