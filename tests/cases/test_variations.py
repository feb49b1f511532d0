"""Cases of our own, of the kinds that people have reported, played in the same way."""

from __future__ import annotations

import pytest

from tests import ledgers
from tests.cases.tables import shares_its_ledger
from tests.cases.variations import CASES

pytestmark = pytest.mark.timeout(240)  # the first test waits for all of them


@pytest.mark.parametrize(
    "case, ledger_kind", ledgers.chosen(CASES, also_on=shares_its_ledger), indirect=["ledger_kind"]
)
def test_a_variation_of_a_reported_failure_does_not_happen_here(played, case):
    ended = played[case.id]
    assert not ended.wrong, "\n".join([*ended.wrong, "", ended.story])
