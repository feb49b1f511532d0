"""A ledger in PostgreSQL that is open, in a schema of its own."""

import pytest

from ascertain.store.postgres import PostgresLedger
from tests.postgres import server

SECRET = b"a secret of these tests"


@pytest.fixture
def url():
    return server.new_url()


@pytest.fixture
def open_again(url):
    """Other handles on the same ledger, as other processes have them."""
    opened = []

    def open_it(**options):
        opened.append(PostgresLedger(url, **{"secret": SECRET, **options}))
        return opened[-1]

    yield open_it
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(open_again):
    ledger = open_again()
    ledger.secret()
    return ledger
