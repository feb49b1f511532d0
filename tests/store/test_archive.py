"""The file of an archive: whole lines, written by one process at a time; every change is seen."""

import errno
import json
import os

import pytest

from ascertain.errors import ArchiveUnusable, LedgerFull
from ascertain.store import archive as module
from ascertain.store.archive import Archive, verified
from tests.store.samples import settled

FAR = 4e9
SECRET = b"a secret of the tests"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "archive.jsonl"


def retain(ledger, path, **options):
    with Archive(path, secret=ledger.secret(), **options) as keep:
        batches = list(ledger.retain(closed_before=FAR, keep=keep, at=1.0))
    return [record.id for batch in batches for record in batch.removed]


def wrong(ledger, path):
    return [sentence for line in verified(path, ledger.secret()) for sentence in line.wrong]


def rewritten(path, change):
    """Change what a line says, as somebody with an editor would."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines[0])
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_only_its_owner_reads_it(ledger, path):
    settled(ledger)
    retain(ledger, path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_it_is_appended_to(ledger, path):
    first = settled(ledger, "i1")
    assert retain(ledger, path) == [first.id]
    second = settled(ledger, "i2")
    assert retain(ledger, path) == [second.id]
    found = [(line.number, line.action_id, line.again) for line in verified(path, ledger.secret())]
    assert found == [(1, first.id, False), (2, second.id, False)]


def test_one_process_writes_it_at_a_time(ledger, path):
    with Archive(path, secret=SECRET), pytest.raises(ArchiveUnusable, match="another process"):
        Archive(path, secret=SECRET)
    Archive(path, secret=SECRET).__exit__()


@pytest.mark.parametrize("content", ["no archive\n", '{"other":1}\n', "x"])
def test_another_file_is_left_as_it_is(ledger, path, content):
    path.write_text(content)
    settled(ledger)
    with pytest.raises(ArchiveUnusable, match="something else"):
        retain(ledger, path)
    with pytest.raises(ArchiveUnusable, match="no archive"):
        list(verified(path, SECRET))
    assert path.read_text() == content


def test_a_folder_that_is_not_there_is_told(ledger, tmp_path):
    with pytest.raises(ArchiveUnusable, match="cannot be opened"):
        Archive(tmp_path / "none" / "archive.jsonl", secret=SECRET)
    with pytest.raises(ArchiveUnusable, match="cannot be read"):
        list(verified(tmp_path / "none.jsonl", SECRET))


def test_an_unfinished_line_is_told_and_taken_away(ledger, path):
    settled(ledger, "i1")
    retain(ledger, path)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    (sentence,) = wrong(ledger, path)
    assert "Line 2 has no end" in sentence
    second = settled(ledger, "i2")
    assert retain(ledger, path) == [second.id]
    assert path.read_bytes().startswith(whole)
    assert wrong(ledger, path) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line["action"].update(provider_ref="T1"),
        lambda line: line["action"].update(principal="somebody else"),
        lambda line: line["events"][1].update(at=7.5),
        lambda line: line["events"].pop(),
        lambda line: line["events"].pop(1),
        lambda line: line["payloads"]["args"].update(body="{}"),
        lambda line: line["payloads"]["result"].update(salt="00"),
    ],
)
def test_a_changed_line_is_found(ledger, path, change):
    settled(ledger, "i1")
    settled(ledger, "i2")
    retain(ledger, path)
    assert wrong(ledger, path) == []
    rewritten(path, change)
    found = wrong(ledger, path)
    assert found
    assert all(sentence.startswith("Line 1: ") for sentence in found)


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda line: line.pop("events"), "missing"),
        (lambda line: line.update(archive=9), "format is 9"),
        (lambda line: line["action"].update(state="paid"), "unknown word"),
        (lambda line: line["action"].update(head="no hex"), "cannot be read"),
    ],
)
def test_a_line_that_cannot_be_read_is_told(ledger, path, change, said):
    settled(ledger, "i1")
    settled(ledger, "i2")
    retain(ledger, path)
    rewritten(path, change)
    first, second = verified(path, ledger.secret())
    assert (first.action_id, second.wrong) == (None, ())
    assert said in first.wrong[0]


def test_another_secret_is_told(ledger, path):
    settled(ledger)
    retain(ledger, path)
    (line,) = verified(path, SECRET)
    assert "its secret has the id" in line.wrong[0]


def test_the_same_action_twice_is_recognised_and_no_harm(ledger, path):
    settled(ledger)
    retain(ledger, path)
    line = path.read_text()
    path.write_text(line + line)
    assert [(one.again, one.wrong) for one in verified(path, ledger.secret())] == [
        (False, ()), (True, ()),
    ]  # fmt: skip


def test_without_values_the_chain_still_holds(ledger, path):
    settled(ledger)
    retain(ledger, path, values=False)
    assert json.loads(path.read_text())["payloads"] == {}
    assert wrong(ledger, path) == []


def test_a_full_disk_removes_nothing_and_leaves_whole_lines(ledger, path, monkeypatch):
    first = settled(ledger, "i1")
    retain(ledger, path)
    before = path.read_bytes()
    second = settled(ledger, "i2")
    right, written = os.write, []

    def write(file, left):
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(right(file, left[:10]))
        return written[0]

    monkeypatch.setattr(module.os, "write", write)
    with pytest.raises(LedgerFull, match="no space left for the archive"):
        retain(ledger, path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert len(ledger.events(second.id)) == 3
    assert retain(ledger, path) == [second.id]
    assert ledger.events(first.id) == []


def test_a_disk_that_does_not_take_it_removes_nothing(ledger, path, monkeypatch):
    one = settled(ledger)
    with Archive(path, secret=ledger.secret()) as keep:

        def fsync(_):
            raise OSError(errno.EIO, "Input/output error")

        monkeypatch.setattr(module.os, "fsync", fsync)
        with pytest.raises(ArchiveUnusable, match="cannot be written"):
            list(ledger.retain(closed_before=FAR, keep=keep, at=1.0))
        monkeypatch.undo()
    assert len(ledger.events(one.id)) == 3
