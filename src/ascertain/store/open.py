"""From a URL to a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from ascertain.store.ledger import Ledger


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
