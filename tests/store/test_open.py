"""From a URL to a ledger, and ids."""

import re
import threading
import time
from pathlib import Path

import pytest

from ascertain.errors import LedgerError
from ascertain.store import ids
from ascertain.store.compact import compact_json
from ascertain.store.ids import new_id
from ascertain.store.open import open_ledger


@pytest.mark.parametrize(
    "url, path",
    [
        ("sqlite:///ledger.db", "ledger.db"),
        ("sqlite:///data/ledger.db", "data/ledger.db"),
        ("sqlite:////var/lib/ledger.db", "/var/lib/ledger.db"),
        ("ledger.db", "ledger.db"),
        ("/var/lib/ledger.db", "/var/lib/ledger.db"),
        (Path("data") / "ledger.db", "data/ledger.db"),
    ],
)
def test_a_url_names_a_file(url, path):
    ledger = open_ledger(url)
    assert ledger.path == Path(path).absolute()
    assert open_ledger(ledger.url).path == ledger.path, "its own URL leads to the same file"


def test_a_relative_file_stays_where_it_was_when_the_process_goes_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = open_ledger("sqlite:///ledger.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert ledger.get("nobody") is None
    ledger.close()
    assert (tmp_path / "ledger.db").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_nothing_is_made_before_it_is_used(tmp_path):
    open_ledger(tmp_path / "ledger.db").close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url", ["oracle://host/db", "mysql://x", "sqlite://", "sqlite:///", "sqlite:///:memory:",
            ":memory:", "", "sqlite://host/ledger.db"]
)  # fmt: skip
def test_a_url_without_a_ledger_says_what_there_is(url):
    with pytest.raises(LedgerError) as caught:
        open_ledger(url)
    assert "sqlite:///relative.db" in caught.value.advice


def test_ids_are_short_hex_and_begin_with_the_time():
    before_ms = time.time_ns() // 1_000_000
    text = new_id()
    assert re.fullmatch("[0-9a-f]{24}", text)
    assert before_ms <= int(text[:12], 16) <= before_ms + 5_000


def test_ids_grow_also_when_the_clock_steps_back(monkeypatch):
    first = [new_id() for _ in range(1_000)]
    monkeypatch.setattr(ids.time, "time_ns", lambda: 0)
    later = [new_id() for _ in range(1_000)]
    assert first + later == sorted(set(first + later))


def test_ids_of_many_threads_are_all_different():
    made = []

    def work():
        made.extend([new_id() for _ in range(2_000)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 16_000


def test_ids_after_a_fork_are_not_the_parents(monkeypatch):
    """Both sides start from the same last id and a clock that stands still."""
    monkeypatch.setattr(ids.time, "time_ns", lambda: 0)
    new_id()
    last = ids._last
    parent = [new_id() for _ in range(100)]
    monkeypatch.setattr(ids, "_last", last)
    child = [new_id() for _ in range(100)]
    assert not set(parent) & set(child)


@pytest.mark.parametrize("value", [object(), {1: 2}.keys(), float("nan"), {"x": float("inf")}])
def test_what_json_does_not_have_is_refused(value):
    with pytest.raises((TypeError, ValueError)):
        compact_json(value)
