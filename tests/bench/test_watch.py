"""What is measured of watching is measured beside as much as is said."""

import time

import pytest

from ascertain.store.open import open_ledger
from bench import watch
from tests.ledgers import ledger_url


@pytest.mark.every_ledger
def test_the_ledger_is_filled_with_what_is_said_and_each_question_is_asked(tmp_path):
    url = ledger_url(tmp_path / "ledger.db")
    found = watch.watch(url, 200, 300)
    assert list(found) == ["100 open", "100 open, 300 closed", "200 open, 300 closed"]
    for took in found.values():
        assert set(took) == {"queues", "leases", "oldest unknown", "holders", "top, the whole page"}
        assert min(took.values()) > 0
    ledger = open_ledger(url)
    try:
        queues = ledger.fleet.queues(time.time())
        for what, share in watch.PARTS.items():
            count = sum(getattr(one, what) for one in queues)
            few = watch.FEW if what == "due" else 0
            least = int(200 * share) + few
            assert least <= count <= least + len(watch.PARTS), what  # and the models of each
        assert ledger.fleet.leases(time.time()).keys() >= {"worker 0", "worker 1"}
    finally:
        ledger.close()
