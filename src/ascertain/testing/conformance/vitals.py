"""What a store says of its own health."""

from __future__ import annotations

import random

from ascertain.store.ledger import Filter, Ledger, Reserved
from ascertain.testing.conformance.place import Place
from ascertain.testing.conformance.samples import reserve, reserve_sent, submit, wanted


class VitalRules:
    """What :meth:`~ascertain.store.ledger.Ledger.vitals` promises."""

    def test_what_was_committed_survives_a_loss_of_power(self, ledger: Ledger) -> None:
        """A new ledger is durable as it is made, and has the newest schema."""
        found = ledger.vitals()
        assert found.durable, f"journal {found.journal}, synchronous {found.synchronous}"
        assert found.journal
        assert found.synchronous
        assert found.schema == found.newest_schema > 0

    def test_its_size_and_its_disk_are_told(self, ledger: Ledger) -> None:
        """Pages, journal, free space and the cost of a write that is forced to the disk."""
        submit(ledger, reserve_sent(wanted()), Reserved)
        found = ledger.vitals()
        assert found.pages > found.free_pages >= 0
        assert found.page_bytes > 0
        assert found.journal_bytes >= 0
        assert found.free_bytes is None or found.free_bytes > 0
        assert found.sync_s is None or found.sync_s > 0

    def test_it_grows_with_what_is_written(self, ledger: Ledger) -> None:
        """Large arguments show in the pages, or in the journal before they come there."""
        text = random.Random(7).randbytes(500_000).hex()
        before = ledger.vitals()
        submit(ledger, reserve(wanted(), arguments=f'{{"text":"{text}"}}'), Reserved)
        after = ledger.vitals()
        size = before.pages * before.page_bytes + before.journal_bytes
        assert after.pages * after.page_bytes + after.journal_bytes >= size + 400_000

    def test_looking_changes_nothing(self, ledger: Ledger, place: Place) -> None:
        """Neither actions nor chains, and others can write meanwhile."""
        record = submit(ledger, reserve_sent(wanted()), Reserved).record
        events = ledger.events(record.id)
        other = place.open()
        other.vitals()
        submit(ledger, reserve_sent(wanted(intent="another")), Reserved)
        other.vitals()
        other.close()
        assert ledger.get(record.id) == record
        assert ledger.events(record.id) == events
        assert len(ledger.find(Filter())) == 2
        assert list(ledger.verify()) == []
