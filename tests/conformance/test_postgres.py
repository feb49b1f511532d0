"""The PostgreSQL ledger against everything that a store must do."""

import pytest

from ascertain.testing.conformance import StoreConformance
from tests.conformance.postgres_place import PostgresPlace


class TestPostgres(StoreConformance):
    @pytest.fixture
    def place(self):
        return PostgresPlace()
