"""From a URL to a ledger, or to a store of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ascertain.errors import LedgerError

if TYPE_CHECKING:
    from pathlib import Path

    from ascertain.store.ledger import Ledger
    from ascertain.store.sessions import SessionStore


def open_ledger(url: str | Path, **options: Any) -> Ledger:
    """The ledger behind a URL; nothing is opened before it is used.

    :param options: of the store, see :class:`~ascertain.store.sqlite.SqliteLedger` and
        :class:`~ascertain.store.postgres.PostgresLedger`.
    :raises LedgerError: the URL names no store that there is.
    """
    from ascertain.store.postgres_place import is_postgres

    if is_postgres(url):
        from ascertain.store.postgres import PostgresLedger

        return PostgresLedger(str(url), **options)
    from ascertain.store.sqlite import SqliteLedger

    return SqliteLedger(url, **options)


def open_sessions(url: str) -> SessionStore:
    """The session store behind a URL; nothing is connected before it is used.

    :raises LedgerError: the URL names no session store that there is.
    """
    scheme = url.partition("://")[0]
    if scheme in ("valkey", "redis", "valkeys", "rediss", "unix"):
        from ascertain.store.sessions_valkey import ValkeySessions

        return ValkeySessions(url)
    raise LedgerError(
        f"sessions={url!r} names no session store.",
        next_step='Use sessions="valkey://host:6379/0", or leave it out: the ledger serves too.',
    )


def shown_url(url: str) -> str:
    """The URL for people: without a password."""
    from ascertain.store.postgres_place import shown

    return shown(url)


def same_ledger(one: str, other: str) -> bool:
    """Whether two URLs name one ledger.

    :raises LedgerError: one of them cannot be read.
    """
    from ascertain.store.place import path_of
    from ascertain.store.postgres_place import is_postgres, shown

    if is_postgres(one) or is_postgres(other):
        return is_postgres(one) and is_postgres(other) and shown(one) == shown(other)
    return path_of(one).resolve() == path_of(other).resolve()
