"""S04, S11: a session reads as one object, whatever becomes of the server and of its clients.

A few histories of each kind here; a hundred are part of `make prove`, more are `make linear`.
"""

import pytest

from tests.linear import clients, losing, run, troubles

HISTORIES = 8


def everything_happened(report):
    """No trouble was left out, and some operations never saw an answer."""
    counts = report.counts
    wanted = ["clients killed", "session: pending for ever", "session store: pending for ever"]
    wanted += [f"server: {kind}" for kind in troubles.KINDS]
    wanted += [f"line: {fate}" for fate in losing.FATES]
    wanted += [f"histories on {server} before {kind}" for server, kind in run.PLACES]
    return [name for name in wanted if not counts[name]] == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_req_S04_a_session_is_linearizable_whatever_is_lost_and_whoever_dies():
    report = run.play_everywhere(HISTORIES)
    assert report.wrong == []
    assert report.histories == HISTORIES
    assert report.counts["session: operations"] >= HISTORIES * run.OPERATIONS
    assert everything_happened(report), str(report)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "variant, found_in, fine",
    [
        ("get, then set", "session store", "session"),  # versions of the ledger protect the session
        ("no version from the ledger", "session", "session store"),
    ],
)
def test_req_S04_the_variants_that_one_writes_first_are_caught(variant, found_in, fine):
    """By the same clients, under the same troubles, by the same checker."""
    assert variant in clients.VARIANTS
    report = run.play_everywhere(HISTORIES, variant=variant)
    assert report.counts[f"{found_in}: not linearizable"] > HISTORIES // 2, str(report)
    assert report.counts[f"{fine}: not linearizable"] == 0, report.wrong
