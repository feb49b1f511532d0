"""Archiving and removing, killed at any moment: nothing is lost, and it goes on."""

import json
import signal

import pytest

from ascertain.store.archive import Archive, filed_of, verified
from ascertain.store.ledger import Filter, Reserved
from ascertain.store.open import open_ledger
from ascertain.testing.conformance.samples import confirm, records, reserve_sent, wanted
from tests.ledgers import ledger_url
from tests.store.samples import child

MOMENTS = ["unfinished", "written", "kept", "removing", "removed"]
ACTIONS = 10
FAR = 4e9

pytestmark = pytest.mark.every_ledger


@pytest.fixture
def url(tmp_path):
    return ledger_url(tmp_path / "ledger.db")


@pytest.fixture
def old(url):
    """The ids of closed actions in a ledger of their own."""
    ledger = open_ledger(url)
    sent = records(
        ledger.submit([reserve_sent(wanted(f"i{n}", call_id=f"c{n}")) for n in range(ACTIONS)]),
        Reserved,
    )
    ledger.submit([confirm(record, f"T{record.id}") for record in sent])
    ledger.close()
    return [record.id for record in sent]


def kept_in(path):
    """Ids of the actions that are whole in an archive."""
    text = path.read_text() if path.exists() else ""
    lines = [line for line in text.split("\n")[:-1] if line]
    return [filed_of(line)[0].stored.record.id for line in lines]


def standing(url):
    """Ids of the actions that are in the ledger with their events; it verifies."""
    ledger = open_ledger(url)
    assert list(ledger.verify()) == []
    found = ledger.find(Filter(limit=1000))
    whole = {one.id for one in found if len(ledger.events(one.id)) == one.n}
    gone = {one.id for one in found if not ledger.events(one.id)}
    assert whole | gone == {one.id for one in found}, "an action lost some of its events"
    for one in found:
        assert (one.state, one.provider_ref) == ("confirmed", f"T{one.id}")
    ledger.close()
    return whole


@pytest.mark.parametrize("moment", MOMENTS)
def test_req_U17_killed_at_any_moment_nothing_is_lost(url, old, tmp_path, moment):
    path = tmp_path / "archive.jsonl"
    with child("child_retains", url, path, moment, 1) as process:
        assert process.wait(60) == -signal.SIGKILL
    kept, whole = kept_in(path), standing(url)
    assert whole | set(kept) == set(old), "an action is neither in the ledger nor in the archive"
    assert len(whole) == (ACTIONS - 8 if moment == "removed" else ACTIONS - 4)
    ledger = open_ledger(url)
    with Archive(path, secret=ledger.secret()) as keep:
        for _ in ledger.retain(closed_before=FAR, keep=keep, at=2.0):
            pass
    lines = list(verified(path, ledger.secret()))
    assert [sentence for line in lines for sentence in line.wrong] == []
    assert {line.action_id for line in lines} == set(old)
    assert sum(line.again for line in lines) == len(lines) - ACTIONS <= 4
    assert standing(url) == set()
    burials = {ledger.burial(one).archive for one in old}
    assert burials == {str(path)}
    ledger.close()
    assert all(json.loads(line)["action"]["id"] in old for line in path.read_text().splitlines())
