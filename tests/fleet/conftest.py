"""A fleet for each test: its ledger, its provider, and no worker yet."""

from __future__ import annotations

import pytest

from ascertain.testing.world import World
from tests.fleet.fleet import Fleet
from tests.ledgers import ledger_url


@pytest.fixture
def fleet(tmp_path, ledger_kind):
    with World() as world:
        made = Fleet(ledger_url(tmp_path / "ledger.db"), world)
        yield made
        made.end()
