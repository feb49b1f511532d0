"""What SQLite's errors mean to people: the cause, and the next step."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ascertain.errors import (
    IllegalTransition,
    LedgerCorrupt,
    LedgerError,
    LedgerFull,
    LedgerLocked,
    LedgerReadOnly,
)

_ALMOST_NOTHING = 64 * 1024


@contextmanager
def typed(path: Path) -> Generator[None]:
    """Turn errors of SQLite into errors of the ledger."""
    try:
        yield
    except sqlite3.Error as error:
        raise ledger_error(error, path) from error


def ledger_error(error: sqlite3.Error, path: Path) -> LedgerError:
    """The typed error for what SQLite said about this file."""
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF
    said = f"SQLite says: {error}."
    if code == sqlite3.SQLITE_FULL:
        return LedgerFull(f"There is no space left for the ledger {path}. {said}")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LedgerLocked(f"Another process holds the ledger {path}. {said}")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return LedgerReadOnly(f"The ledger {path} cannot be written. {said}")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT):
        return LedgerCorrupt(f"The file {path} is damaged or is not a ledger. {said}")
    if code == sqlite3.SQLITE_CANTOPEN:
        return _cannot_open(path, said)
    if code == sqlite3.SQLITE_IOERR:
        return _io_error(path, said)
    if code == sqlite3.SQLITE_CONSTRAINT and "ascertain:" in str(error):
        return IllegalTransition(
            f"The ledger refused it: {str(error).removeprefix('ascertain: ')}."
        )
    return LedgerError(f"The ledger {path} could not do it. {said}")


def free_bytes(path: Path) -> int | None:
    """Free space where the ledger lies; None where the system does not tell."""
    try:
        room = os.statvfs(path.parent)
    except OSError:
        return None
    return room.f_bavail * room.f_frsize


def _cannot_open(path: Path, said: str) -> LedgerError:
    folder = path.parent
    if not folder.is_dir():
        return LedgerReadOnly(
            f"The ledger {path} cannot be opened: its folder does not exist. {said}",
            next_step="Create the folder, or correct the ledger's URL.",
        )
    if path.is_dir():
        return LedgerReadOnly(
            f"The ledger {path} is a folder, not a file. {said}",
            next_step="Correct the ledger's URL.",
        )
    if _is_full(path):
        return LedgerFull(f"There is no space left for the ledger {path}. {said}")
    return LedgerReadOnly(f"The ledger {path} cannot be opened for writing. {said}")


def _io_error(path: Path, said: str) -> LedgerError:
    if _is_full(path):
        return LedgerFull(f"There is no space left for the ledger {path}. {said}")
    return LedgerError(
        f"Reading or writing the ledger {path} failed. {said}",
        next_step="Check the disk and the limits of this process (ulimit -f, quota).",
    )


def _is_full(path: Path) -> bool:
    free = free_bytes(path)
    return free is not None and free < _ALMOST_NOTHING
