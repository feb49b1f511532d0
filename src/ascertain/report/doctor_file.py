"""Checks on the files of an SQLite ledger, made before anything opens them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ascertain.report.doctor import Check, bad, ok, warn
from ascertain.report.words import size
from ascertain.store.secret import ENVIRONMENT
from ascertain.store.sqlite import FREE_SPACE_FLOOR_BYTES
from ascertain.store.sqlite_errors import free_bytes

MAGIC = b"SQLite format 3\x00"
_WAL = b"\x02\x02"  # bytes 18 and 19 of the file: how it is written and read
_LITTLE = 4  # times the floor


def is_ledger_file(path: Path) -> bool:
    """Whether there is something that can be a ledger. An empty file is none yet."""
    return path.is_file() and path.stat().st_size > 0


def missing(path: Path) -> str:
    """What is the matter with a place at which there is no ledger."""
    if path.is_dir():
        return f"{path} is a folder, not a ledger."
    if path.is_file():
        return f"The file {path} is empty: it is no ledger yet."
    return f"There is no ledger at {path}."


def head_of(path: Path) -> bytes | OSError:
    """The first bytes of the file, or why they cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(20)
    except OSError as error:
        return error


def journal_check(path: Path, head: bytes | OSError, *, opens: bool) -> Check:
    """What kind of file it was before it was opened.

    :param opens: whether it could be opened as a ledger, which sets up its write-ahead log.
    """
    if isinstance(head, OSError):
        return bad(
            "journal", f"{path} cannot be read: {head.strerror}.", "Run as the user who owns it."
        )
    if not head.startswith(MAGIC):
        return bad(
            "journal", f"{path} is not an SQLite file.",
            "Correct the ledger's URL, or restore the file from a backup.",
        )  # fmt: skip
    if head[18:20] == _WAL:
        return ok("journal", "The ledger keeps a write-ahead log.")
    if not opens:
        return warn(
            "journal", "The file keeps no write-ahead log; a ledger does.",
            "Look at what is said of `ledger`; nothing was changed.",
        )  # fmt: skip
    return warn(
        "journal", "The ledger was taken off its write-ahead log by another program.",
        "Let only ascertain write to it; opening it has set the log up again.",
    )  # fmt: skip


def file_checks(path: Path) -> Iterator[Check]:
    """Space and permissions of a ledger that exists."""
    yield _space(path)
    yield from _permissions(path)


def _space(path: Path) -> Check:
    free = free_bytes(path)
    floor = FREE_SPACE_FLOOR_BYTES
    if free is None:
        return warn("space", "The system does not tell how much space is free.", "Watch the disk.")
    said = f"{size(free)} are free; below {size(floor)} nothing new is begun."
    if free < floor:
        return bad("space", said, "Free disk space; what is under way is still recorded.")
    if free < _LITTLE * floor:
        return warn("space", said, "Free disk space soon.")
    return ok("space", said)


def _permissions(path: Path) -> Iterator[Check]:
    mode = path.stat().st_mode
    if not os.access(path, os.W_OK):
        yield bad(
            "ledger-mode", f"This user cannot write to {path.name}.", "Run as the user who owns it."
        )
    if mode & stat.S_IWOTH:
        yield bad(
            "ledger-mode", f"Everybody on this machine can write to {path.name}.",
            f"chmod o-rwx {path}",
        )  # fmt: skip
    elif mode & stat.S_IROTH and _is_reachable(path):
        yield warn(
            "ledger-mode",
            f"Everybody on this machine can read {path.name}, arguments and results included.",
            f"chmod o-rwx {path}",
        )
    else:
        yield ok("ledger-mode", "The ledger is not open to everybody on this machine.")


def secret_check(path: Path, *, opens: bool) -> Check:
    """Where the secret comes from, and who can read it.

    :param opens: whether the ledger could be opened, so that there is a secret somewhere.
    """
    if os.environ.get(ENVIRONMENT):
        return ok("secret", f"The secret comes from {ENVIRONMENT}.")
    secret = path.with_name(path.name + ".secret")
    if not secret.is_file() and opens:
        return ok("secret", "The secret is passed by the app (secret=).")
    if not secret.is_file():
        return bad(
            "secret", f"The secret {secret.name} is not beside the ledger.",
            f"Restore it from the backup of the ledger, set {ENVIRONMENT}, or name the app that "
            "passes secret=.",
        )  # fmt: skip
    mode = secret.stat().st_mode
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        return bad(
            "secret", f"The secret {secret.name} is open to others (mode {mode & 0o777:04o}).",
            f"chmod 600 {secret}",
        )  # fmt: skip
    return ok("secret", "The secret lies beside the ledger, for its owner only.")


def _is_reachable(path: Path) -> bool:
    """Whether everybody may pass through all folders above."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in path.resolve().parents)
