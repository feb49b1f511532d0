"""The SQLite ledger against everything that a store must do."""

import pytest

from ascertain.testing.conformance import StoreConformance
from tests.conformance.sqlite_place import SqlitePlace


class TestSqlite(StoreConformance):
    @pytest.fixture
    def place(self, tmp_path):
        return SqlitePlace(tmp_path)
