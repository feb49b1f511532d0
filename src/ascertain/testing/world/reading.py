"""Reading the truth: straight from the provider's file, by any process, at any time."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from ascertain.testing.world.schema import reading
from ascertain.testing.world.words import Arrival, Effect, Record, canonical


def read_effects(path: Path, collection: str | None, key: str | None, args: Record) -> list[Effect]:
    """Return what really happened, in order; each filter that is given must fit."""
    with reading(path) as db:
        rows: list[sqlite3.Row] = db.execute(
            "SELECT collection, ref, key, args, received_at, executed_at, delivery, arrival"
            " FROM effects WHERE (:collection IS NULL OR collection = :collection)"
            " AND (:key IS NULL OR key = :key)"
            " ORDER BY number",
            {"collection": collection, "key": key},
        ).fetchall()
    effects = [Effect(**_columns(row)) for row in rows]
    return [effect for effect in effects if fits(effect.args, args)]


def read_arrivals(
    path: Path, collection: str | None, key: str | None, method: str | None, args: Record
) -> list[Arrival]:
    """Return the requests that came, in order; each filter that is given must fit."""
    with reading(path) as db:
        rows: list[sqlite3.Row] = db.execute(
            "SELECT number, connection, received_at, method, target, collection, key, args,"
            " behaviour, answered, answered_at, code, retry_after_s FROM arrivals"
            " WHERE (:collection IS NULL OR collection = :collection)"
            " AND (:key IS NULL OR key = :key)"
            " AND (:method IS NULL OR method = :method) ORDER BY number",
            {"collection": collection, "key": key, "method": method},
        ).fetchall()
    arrivals = [Arrival(**_columns(row)) for row in rows]
    return [came for came in arrivals if not args or (came.args and fits(came.args, args))]


def read_fenced(path: Path, key: str, collection: str | None) -> bool:
    """Tell whether this key can no longer take effect."""
    with reading(path) as db:
        row = db.execute(
            "SELECT 1 FROM fences WHERE key = :key"
            " AND (:collection IS NULL OR collection = :collection)",
            {"key": key, "collection": collection},
        ).fetchone()
    return row is not None


def count_open_landings(path: Path) -> int:
    """Return how many effects are still to come."""
    with reading(path) as db:
        row: tuple[int] = db.execute("SELECT count(*) FROM due WHERE ended_at IS NULL").fetchone()
    return row[0]


def fits(args: Record, wanted: Record) -> bool:
    """Tell whether arguments carry all wanted values."""
    return all(
        name in args and canonical(args[name]) == canonical(value) for name, value in wanted.items()
    )


def _columns(row: sqlite3.Row) -> dict[str, Any]:
    columns: dict[str, Any] = dict(row)
    args: str | None = columns["args"]
    columns["args"] = None if args is None else json.loads(args)
    return columns
