"""L5: a hundred histories of 500 operations on real ledgers and servers, each of them checked."""

import time

import pytest

from tests.linear import run
from tests.linear.test_sessions import everything_happened

HISTORIES = 100


@pytest.mark.timeout(900)
def test_req_S04_a_hundred_histories_of_sessions_are_linearizable():
    began = time.monotonic()
    report = run.play_everywhere(HISTORIES)
    print(f"{report}\n{'seconds':<44}{time.monotonic() - began:>9.0f}")
    assert report.wrong == []
    assert report.histories == HISTORIES
    assert report.counts["session: operations"] >= HISTORIES * run.OPERATIONS
    assert everything_happened(report)
