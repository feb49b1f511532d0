"""What is written down of each request, and which scripted behaviour it meets."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import cast

from ascertain.testing.world.catalogue import Behaviour, Kind, script_entry
from ascertain.testing.world.words import Record, canonical


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """One request as it came over the wire."""

    connection: int
    received_at: float
    method: str
    target: str
    collection: str
    key: str | None = None
    args: Record | None = None


PENDING = "pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What was made of it, as `Arrival` describes."""

    answered: str
    answered_at: float | None
    code: str | None = None
    retry_after_s: float | None = None


def write_arrival(db: sqlite3.Connection, came: Came, behaviour: str, said: Said) -> int:
    """Write down a request and what it was answered; return its number."""
    row = db.execute(
        "INSERT INTO arrivals (connection, received_at, method, target, collection, key, args,"
        " behaviour, answered, answered_at, code, retry_after_s)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            came.connection,
            came.received_at,
            came.method,
            came.target,
            came.collection,
            came.key,
            None if came.args is None else canonical(came.args),
            behaviour,
            said.answered,
            said.answered_at,
            said.code,
            said.retry_after_s,
        ),
    )
    assert row.lastrowid is not None
    return row.lastrowid


def change_answer(db: sqlite3.Connection, number: int, said: Said) -> None:
    """Write down the answer to a request that was pending."""
    db.execute(
        "UPDATE arrivals SET answered = ?, answered_at = ?, code = ?, retry_after_s = ?"
        " WHERE number = ?",
        (said.answered, said.answered_at, said.code, said.retry_after_s, number),
    )


def next_behaviour(
    db: sqlite3.Connection, collection: str, kind: Kind, key: str | None, args: Record | None
) -> Behaviour:
    """Take the next scripted behaviour of the oldest script that fits; without one, `ok`."""
    rows: list[tuple[int, str | None, str, str, int]] = db.execute(
        "SELECT number, key, match, entries, used FROM scripts"
        " WHERE collection = ? AND kind = ? AND used < size ORDER BY number",
        (collection, kind),
    ).fetchall()
    for number, wanted_key, match, entries, used in rows:
        if wanted_key is not None and wanted_key != key:
            continue
        wanted = cast("Record", json.loads(match))
        if wanted and not _fits(wanted, args):
            continue
        db.execute("UPDATE scripts SET used = used + 1 WHERE number = ?", (number,))
        return script_entry(entries, used, kind)
    return Behaviour("ok", kind)


def _fits(wanted: Record, args: Record | None) -> bool:
    return args is not None and all(
        name in args and canonical(args[name]) == canonical(value) for name, value in wanted.items()
    )


def args_of_key(db: sqlite3.Connection, collection: str, key: str) -> Record | None:
    """Return the arguments under which this key was first seen: a look-up brings only the key."""
    row: tuple[str] | None = db.execute(
        "SELECT args FROM arrivals"
        " WHERE collection = ? AND key = ? AND args IS NOT NULL ORDER BY number LIMIT 1",
        (collection, key),
    ).fetchone()
    return None if row is None else cast("Record", json.loads(row[0]))
