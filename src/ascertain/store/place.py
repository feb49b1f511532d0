"""Where an SQLite ledger lies."""

from __future__ import annotations

from pathlib import Path

from ascertain.errors import LedgerError

_SUPPORTED = "Use sqlite:///relative.db, sqlite:////absolute/path.db, or the path of a file."


def path_of(url: str | Path) -> Path:
    """The file that an SQLite URL or a plain path means.

    :raises LedgerError: another scheme, a host, or no file at all.
    """
    text = str(url)
    scheme, colon, rest = text.partition("://")
    if not colon:
        rest = "/" + text
    elif scheme != "sqlite":
        raise LedgerError(f"There is no ledger for {scheme}:// URLs.", next_step=_SUPPORTED)
    elif not rest.startswith("/") and rest:
        raise LedgerError(
            f"{text} names a host; an SQLite ledger is a file on this one.", next_step=_SUPPORTED
        )
    name = rest[1:]
    if name == "":
        raise LedgerError(f"{text!r} names no file.", next_step=_SUPPORTED)
    if name == ":memory:":
        raise LedgerError(
            f"{text!r} names no file: a ledger in memory would lose what it has to remember.",
            next_step=_SUPPORTED,
        )
    return Path(name).expanduser()
