"""A ledger with a million closed actions, beside an empty one."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import product
from kept import Kept, Ratio, Size, rate

ACTIONS = 1_000_000
PAIRS = 5

# Copies of one closed action, its events and its payloads; older ids, other intents and sessions.
COLUMNS = "SELECT name FROM pragma_table_info('action')"
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"


def measure(kept: Kept, size: Size) -> None:
    actions = ACTIONS // 20 if size.quick else ACTIONS
    with product.shop() as full:
        kept.measure("fill", lambda: fill(full, actions))
        product.writes(full, 64, size.many)  # discarded: the fill is still being written back
        for _ in range(1 if size.quick else PAIRS):
            with product.shop() as empty:
                kept.measure("write 64, empty", lambda s=empty: product.writes(s, 64, size.many))
            kept.measure("write 64, filled", lambda: product.writes(full, 64, size.many))
    kept.settings["filled"] = f"{actions:,} closed actions"


def ratios(kept: Kept) -> list[Ratio]:
    filled = kept.settings["filled"]
    value = kept.over("write 64, filled", "write 64, empty", rate)
    what = f"throughput with {filled} over an empty ledger"
    return [Ratio(what=what, value=value, bar=0.85, dream=0.95)]


def fill(shop: product.Shop, actions: int) -> int:
    """Copy one closed action many times, by the database itself; returns how many there are."""
    product.writes(shop, 1, 2)
    with contextlib.closing(sqlite3.connect(_path(shop), isolation_level=None)) as db:
        columns = [name for (name,) in db.execute(COLUMNS)]
        ours = {
            "id": "printf('%024x', i)",
            "intent": "lower(hex(randomblob(16)))",
            "session": "'filled' || (i / 20)",
            '"key"': "lower(hex(randomblob(16)))",
        }
        quoted = [f'"{name}"' if name == "key" else name for name in columns]
        values = ", ".join(ours.get(name, f'model."{name.strip(chr(34))}"') for name in quoted)
        names = ", ".join(f'"{name}"' for name in columns)
        model = "(SELECT * FROM action ORDER BY id DESC LIMIT 1) AS model"
        db.execute("BEGIN IMMEDIATE")
        (old,) = db.execute("SELECT id FROM action ORDER BY id DESC LIMIT 1").fetchone()
        db.execute(
            f"{NUMBERS} INSERT INTO action ({names}) SELECT {values} FROM n, {model}", (actions,)
        )
        for table in ("event", "payload"):
            others = [
                name
                for (name,) in db.execute(f"SELECT name FROM pragma_table_info('{table}')")
                if name != "action_id"
            ]
            rest = ", ".join(f'"{name}"' for name in others)
            db.execute(
                f"{NUMBERS} INSERT INTO {table} (action_id, {rest}) "
                f"SELECT printf('%024x', i), {rest} FROM n, "
                f"(SELECT * FROM {table} WHERE action_id = ?) AS model",
                (actions, old),
            )
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (found,) = db.execute("SELECT count(*) FROM action").fetchone()
    assert found > actions, "the fill did not fill"
    return int(found)


def _path(shop: product.Shop) -> Path:
    return Path(shop.app.url.removeprefix("sqlite:///"))
