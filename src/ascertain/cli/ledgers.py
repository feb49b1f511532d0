"""Open a ledger for a command. What only reads never creates one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ascertain.errors import LedgerError
from ascertain.report.doctor_file import is_ledger_file, missing
from ascertain.store.ledger import Ledger
from ascertain.store.open import open_ledger
from ascertain.store.place import path_of


class LedgerMissing(LedgerError):
    """There is no ledger at this place."""

    code = "ledger_missing"
    next_step = (
        "Name it, such as --ledger sqlite:///ledger.db, or in ASCERTAIN_LEDGER; an app makes it at "
        "its first call."
    )


@contextmanager
def opened(url: str) -> Generator[Ledger]:
    """The ledger behind a URL, closed at the end.

    :raises LedgerMissing: there is none; nothing is created.
    """
    path = path_of(url)
    if not is_ledger_file(path):
        raise LedgerMissing(missing(path))
    ledger = open_ledger(url)
    try:
        yield ledger
    finally:
        ledger.close()
