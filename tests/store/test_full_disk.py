"""A full disk: nothing new is begun, what was begun is kept, and outcomes come first."""

import contextlib
import subprocess

import pytest

from ascertain.errors import LedgerFull
from ascertain.model.tables import Event, State
from ascertain.store.ledger import Advanced, Lost, Reserved
from ascertain.store.sqlite import SqliteLedger
from ascertain.testing.conformance.samples import (
    advance,
    confirm,
    lose,
    must,
    reserve_sent,
    submit,
    wanted,
)
from tests.store.samples import everything, sent, writer

BULK = '{"text":"' + "x" * 20_000 + '"}'


@contextlib.contextmanager
def small_disk(folder):
    """A file system of 512 KiB of its own, where this user may mount one."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        yield False
        return
    if done.returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


class Disk:
    """A ledger on a disk that can be filled, and given space again."""

    def __init__(self, folder, *, mounted):
        self.mounted = mounted
        self.ledger = SqliteLedger(folder / "ledger.db", free_space_floor_bytes=0)
        self._ballast = folder / "ballast"

    def fill(self, leave_pages=0):
        """Leave this many pages of 4 kB."""
        if not self.mounted:
            with writer(self.ledger) as db:
                (pages,) = db.execute("PRAGMA page_count").fetchone()
                db.execute(f"PRAGMA max_page_count = {pages + leave_pages}")
            return
        with contextlib.suppress(OSError), self._ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        with self._ballast.open("rb+") as file:
            file.truncate(self._ballast.stat().st_size - leave_pages * 4096)

    def give_space(self):
        if self.mounted:
            self._ballast.unlink()
        else:
            with writer(self.ledger) as db:
                db.execute("PRAGMA max_page_count = 100000")


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path) as mounted:
        disk = Disk(tmp_path, mounted=mounted)
        yield disk
        disk.ledger.close()


def bulky(intent):
    return reserve_sent(wanted(intent))._replace(arguments=BULK)


def test_full_at_sent_nothing_is_written_and_nothing_may_be_sent(disk):
    before = sent(disk.ledger)
    disk.fill()
    full = submit(disk.ledger, bulky("other"), LedgerFull)
    assert "no space left" in str(full)
    assert "Free disk space" in full.advice
    assert everything(disk.ledger) == [before]
    assert list(disk.ledger.verify()) == []
    disk.give_space()
    assert submit(disk.ledger, bulky("other"), Reserved).via == "new"


def test_full_at_confirmed_it_stays_sent_and_is_confirmed_later(disk):
    before = sent(disk.ledger)
    disk.fill()
    outcome = confirm(before)._replace(result=BULK)
    submit(disk.ledger, outcome, LedgerFull)
    assert disk.ledger.get(before.id) == before
    assert disk.ledger.result(before.id) is None
    disk.give_space()
    assert submit(disk.ledger, outcome, Advanced).record.state is State.CONFIRMED
    assert disk.ledger.result(before.id) == BULK
    assert list(disk.ledger.verify()) == []


def test_on_a_full_disk_outcomes_come_before_new_actions(disk):
    before = sent(disk.ledger)
    disk.fill(leave_pages=12)
    *begun, outcome = disk.ledger.submit([*map(bulky, ("a", "b", "c", "d")), confirm(before)])
    assert must(outcome, Advanced).record.state is State.CONFIRMED
    refused = [reply for reply in begun if isinstance(reply, LedgerFull)]
    assert refused, "the disk was not full"
    written = {reply.record.id for reply in begun if isinstance(reply, Reserved)}
    assert {record.id for record in everything(disk.ledger)} == {before.id} | written
    assert list(disk.ledger.verify()) == []


def test_the_space_of_the_log_is_given_back_before_an_outcome_is_refused(disk):
    """On a disk of its own: the log has grown, nothing else is free, and the outcome is written."""
    before = sent(disk.ledger)
    with writer(disk.ledger) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for beat in range(60):
        disk.ledger.heartbeat("worker", float(beat))
    disk.fill(leave_pages=0 if disk.mounted else 20)
    assert submit(disk.ledger, confirm(before), Advanced).record.state is State.CONFIRMED
    assert list(disk.ledger.verify()) == []


def test_a_ledger_on_a_full_disk_is_still_read(disk):
    before = sent(disk.ledger)
    disk.fill()
    submit(disk.ledger, bulky("other"), LedgerFull)
    assert disk.ledger.get(before.id) == before
    assert disk.ledger.counts()["sent"] == 1
    disk.give_space()
    disk.ledger.close()
    again = SqliteLedger(disk.ledger.path, free_space_floor_bytes=0)
    assert everything(again) == [before]
    again.close()


@pytest.fixture
def low(tmp_path):
    """A ledger whose disk has less free space than the floor."""
    ledger = SqliteLedger(tmp_path / "ledger.db", free_space_floor_bytes=0)
    yield ledger
    ledger.close()


def sink_below_the_floor(ledger):
    ledger._floor_bytes = 1 << 62
    ledger._space_known_until = 0.0


def test_below_the_floor_nothing_new_is_begun(low):
    unknown = submit(low, lose(sent(low, "unknown")), Advanced).record
    prepared_again = advance(unknown, Event.SEND, State.SENT)
    sink_below_the_floor(low)
    for operation in (reserve_sent(wanted("new")), prepared_again):
        full = submit(low, operation, LedgerFull)
        assert "floor" in str(full)
    assert everything(low) == [unknown]


def test_below_the_floor_outcomes_are_written_and_known_intents_found(low):
    before, lost = sent(low), sent(low, "lost")
    sink_below_the_floor(low)
    done = submit(low, confirm(before), Advanced).record
    submit(low, lose(lost), Advanced)
    assert submit(low, confirm(before), Lost).record == done
    assert submit(low, reserve_sent(wanted()), Reserved).record == done


def test_the_floor_is_looked_at_again(low):
    sink_below_the_floor(low)
    submit(low, reserve_sent(wanted()), LedgerFull)
    low._floor_bytes = 0
    low._space_known_until = 0.0
    assert submit(low, reserve_sent(wanted()), Reserved).via == "new"
