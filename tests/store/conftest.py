"""A ledger that is open, in a folder of its own."""

import pytest

from ascertain.store.sqlite import SqliteLedger


@pytest.fixture
def ledger(tmp_path):
    ledger = SqliteLedger(tmp_path / "ledger.db")
    ledger.secret()
    yield ledger
    ledger.close()
