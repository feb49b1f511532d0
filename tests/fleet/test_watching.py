"""What is counted for people who watch: exact up to a bound, and said to be one beyond it."""

import json
import subprocess
import time

import pytest

from ascertain.cli import top
from ascertain.report.top import look
from ascertain.store import fleet
from ascertain.store.ledger import Advanced, Reserved
from ascertain.store.open import open_ledger
from ascertain.testing.conformance.samples import lose, reserve_sent, submit, wanted
from tests.fleet.fleet import ASCERTAIN
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger
DUE, LATER, WAITING = 7, 5, 4


@pytest.fixture
def ledger(tmp_path):
    """Of one tool: some due, some due later, some with a person; of another one due."""
    ledger = open_ledger(ledger_url(tmp_path / "ledger.db"))
    now = time.time()

    def leave(count, what, **unknown):
        for n in range(count):
            sent = submit(ledger, reserve_sent(wanted(f"{what}-{n}"), at=now - 50), Reserved)
            lost = lose(sent.record, **unknown)
            review = None if unknown["due_at"] else "no_answer"
            submit(ledger, lost._replace(after=lost.after._replace(review=review)), Advanced)

    leave(DUE, "due", due_at=now - 9)
    leave(LATER, "later", due_at=now + 900)
    leave(WAITING, "waiting", due_at=None)
    submit(ledger, reserve_sent(wanted("other", tool="other"), at=now), Reserved)
    yield ledger
    ledger.close()


def counted(ledger):
    return {queue.tool: queue for queue in ledger.fleet.queues(time.time())}


def test_below_the_bound_it_is_exact_and_above_it_is_said_to_be_more(ledger, monkeypatch):
    exact = counted(ledger)["create_ticket"]
    numbers = (exact.due, exact.later, exact.waiting, exact.review)
    assert numbers == (DUE, LATER, WAITING, WAITING)
    assert exact.at_least == ()
    monkeypatch.setattr(fleet, "COUNTED", 5)
    bound, other = counted(ledger)["create_ticket"], counted(ledger)["other"]
    assert (bound.due, bound.later, bound.waiting) == (5, 5, WAITING)
    assert {"due", "later"} <= set(bound.at_least)
    assert not {"waiting", "review"} & set(bound.at_least)
    assert other.at_least == (), "it is told of each tool by itself"
    assert bound.due_at == exact.due_at, "times are exact all the same"


def test_the_page_marks_what_is_a_bound(ledger, monkeypatch):
    monkeypatch.setattr(fleet, "COUNTED", 5)
    page = look(ledger, time.time())
    assert (page.total("due"), page.is_bound("due"), page.is_bound("waiting")) == (5, True, False)
    told = page.as_dict()
    assert "due" in told["queue"]["at_least"]
    assert "waiting" not in told["queue"]["at_least"]
    drawn = top._page(page)
    assert "5+ due now" in drawn
    assert f"{WAITING} in review, {WAITING} not due by themselves" in drawn


def test_nothing_is_marked_where_all_of_it_was_counted(ledger):
    said = subprocess.run(
        [ASCERTAIN, "top", ledger.url, "--json"], capture_output=True, text=True, check=True
    )
    queue = json.loads(said.stdout)["queue"]
    assert (queue["due"], queue["at_least"]) == (DUE, [])
