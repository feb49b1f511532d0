"""What every test has: the kind of its ledger."""

import os

import pytest

from ascertain.store.secret import ENVIRONMENT
from tests import ledgers


def pytest_generate_tests(metafunc):
    marked = metafunc.definition.get_closest_marker
    here = os.environ.get("ASCERTAIN_PROVE") or not marked("slow")  # else with `make prove`
    if marked("every_ledger") and not marked("one_ledger") and here:
        metafunc.parametrize("ledger_kind", ledgers.KINDS, indirect=True)


@pytest.fixture(autouse=True)
def ledger_kind(request, monkeypatch):
    """SQLite, unless the test is one of those that run for every kind of ledger."""
    kind = getattr(request, "param", "sqlite")
    before = ledgers.use(kind)
    if kind == "postgres":
        monkeypatch.setenv(ENVIRONMENT, ledgers.SECRET)
    yield kind
    ledgers.use(before)
