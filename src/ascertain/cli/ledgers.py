"""Open a ledger for a command. What only reads never creates one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ascertain.errors import LedgerMissing
from ascertain.report.doctor_file import is_ledger_file, missing
from ascertain.store.ledger import Ledger
from ascertain.store.open import open_ledger
from ascertain.store.place import path_of
from ascertain.store.postgres_place import is_postgres


@contextmanager
def opened(url: str) -> Generator[Ledger]:
    """The ledger behind a URL, closed at the end.

    :raises LedgerMissing: there is none; nothing is created.
    """
    if is_postgres(url):
        ledger = open_ledger(url, make=False)
    else:
        path = path_of(url)
        if not is_ledger_file(path):
            raise LedgerMissing(missing(path))
        ledger = open_ledger(url)
    try:
        yield ledger
    finally:
        ledger.close()
