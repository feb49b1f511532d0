"""A house of its own for each test."""

import pytest

from tests.mcp.house import House


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)
