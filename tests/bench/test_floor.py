"""The floor is only worth something if it really makes every action durable, twice."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from bench import floor

# Asks a child, whose every fsync is slower, what an action takes: in milliseconds and per second.
ASK = """
import json, sys
from pathlib import Path
from bench import floor
place = Path(sys.argv[1])
alone = floor.lone(40, place / "alone")
many = floor.grouped(32, 960, place / "many")
print(json.dumps({"alone_ms": alone.p50_ms, "alone_per_s": alone.per_s, "many_per_s": many.per_s}))
"""


def rows(folder):
    with contextlib.closing(sqlite3.connect(folder / floor.FILE_NAME)) as db:
        return db.execute(
            "SELECT id, state, arguments, result, sent_at, ended_at FROM action"
        ).fetchall()


def assert_all_are_recorded(found, count):
    assert len(found) == count
    assert {row[1] for row in found} == {"confirmed"}
    assert {row[2] for row in found} == {json.dumps(floor.ARGUMENTS)}
    assert {row[3] for row in found} == {json.dumps(floor.RESULT)}
    assert all(sent_at <= ended_at for *_, sent_at, ended_at in found)


def test_a_lone_caller_leaves_every_action_with_its_outcome(tmp_path):
    measured = floor.lone(200, tmp_path)
    assert (measured.callers, measured.actions) == (1, 200)
    assert_all_are_recorded(rows(tmp_path), 200 + 20)  # the warm-up is in the file too


@pytest.mark.parametrize("callers", [1, 64])
def test_grouped_callers_leave_every_action_with_its_outcome(tmp_path, callers):
    measured = floor.grouped(callers, 1000, tmp_path)
    assert (measured.callers, measured.actions) == (callers, 1000)
    assert_all_are_recorded(rows(tmp_path), 1000 + 100)


def test_the_file_is_tuned_for_durability_and_not_against_it(tmp_path):
    with contextlib.closing(floor._open(tmp_path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_lone_action_waits_for_two_fsyncs_and_a_group_shares_them(tmp_path):
    """On a disk that is 10 ms slower, two commits cannot take less than 20 ms."""
    if shutil.which("cc") is None:
        with pytest.raises(RuntimeError, match="no cc"):
            floor.slow_fsync_environment(10, tmp_path)
        return
    slower = floor.slow_fsync_environment(10, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", ASK, tmp_path],
        env=slower,
        cwd=Path(floor.__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    took = json.loads(done.stdout)
    assert took["alone_ms"] >= 20, f"an action was not made durable twice: {took}"
    assert took["many_per_s"] > 4 * took["alone_per_s"], f"32 callers share no fsync: {took}"


def test_an_action_writes_as_much_as_the_page_says():
    assert 180 <= len(json.dumps(floor.ARGUMENTS)) <= 220
    assert 80 <= len(json.dumps(floor.RESULT)) <= 120


def test_ids_grow_with_time():
    ids = [floor._new_id() for _ in range(1000)]
    moments = [one[:16] for one in ids]
    assert moments == sorted(moments)
    assert len(set(ids)) == 1000


def test_a_writer_that_cannot_write_tells_its_callers(tmp_path, monkeypatch):
    monkeypatch.setattr(floor, "UPDATE", "UPDATE nowhere SET result = ?, ended_at = ? WHERE id = ?")
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        floor.grouped(8, 100, tmp_path)


def test_the_disk_is_asked_and_takes_some_time(tmp_path):
    cost = floor.fsync_cost(20, tmp_path)
    assert 0 < cost.p50_us <= cost.p99_us
    assert (tmp_path / "fsync").stat().st_size == 8192
