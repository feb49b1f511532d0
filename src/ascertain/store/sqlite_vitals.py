"""How an SQLite ledger stands: its settings as they are in force, its size, and its disk."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from pathlib import Path

from ascertain.store.ledger import Vitals
from ascertain.store.sqlite_errors import free_bytes, typed
from ascertain.store.sqlite_file import LedgerFile
from ascertain.store.sqlite_schema import newest, schema_of

_SYNCHRONOUS = ("off", "normal", "full", "extra")
_FORCED = frozenset({"full", "extra"})  # in a WAL, `normal` loses the last commits with the power
_KEPT = frozenset({"wal", "delete", "truncate", "persist"})  # not `memory` and not `off`
_TRIES = 3
_A_PAGE = bytes(4096)


def vitals(file: LedgerFile) -> Vitals:
    """Look; see :meth:`~ascertain.store.ledger.Ledger.vitals`.

    Settings are read from the connection that writes: they are its own, and no property of the
    file.
    """
    with file.writing() as db, typed(file.path):
        journal = str(_pragma(db, "journal_mode"))
        synchronous = _SYNCHRONOUS[int(_pragma(db, "synchronous"))]
        schema = schema_of(db, file.path)
        pages, page_bytes = int(_pragma(db, "page_count")), int(_pragma(db, "page_size"))
        free_pages = int(_pragma(db, "freelist_count"))
    return Vitals(
        schema=schema,
        newest_schema=newest(),
        journal=journal,
        synchronous=synchronous,
        durable=journal in _KEPT and synchronous in _FORCED,
        pages=pages,
        page_bytes=page_bytes,
        free_pages=free_pages,
        journal_bytes=_size(file.path.with_name(f"{file.path.name}-wal")),
        free_bytes=free_bytes(file.path),
        sync_s=_sync_s(file.path.parent),
    )


def _pragma(db: sqlite3.Connection, name: str) -> int | str:
    value: int | str = db.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # nothing has been written since it was folded back
        return 0


def _sync_s(folder: Path) -> float | None:
    """What one page takes to reach this disk: the middle of three, in a file without a name."""
    took: list[float] = []
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            for _ in range(_TRIES):
                started = time.perf_counter()
                file.write(_A_PAGE)
                os.fsync(file.fileno())
                took.append(time.perf_counter() - started)
    except OSError:
        return None
    return sorted(took)[_TRIES // 2]
