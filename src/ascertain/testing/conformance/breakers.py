"""Circuit breakers: one row each, turned by one at a time, seen by every handle."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ascertain.model.breaker import BreakerRecord, Circuit
from ascertain.store.ledger import Ledger
from ascertain.testing.conformance.place import Place

CLOSED = BreakerRecord("crm")
OPEN = BreakerRecord(
    "crm", Circuit.OPEN, why="silent", changed_at=5.0, opened_at=5.0, cool_at=35.0, try_at=65.0, n=1
)


class BreakerRules:
    """What a store must do with breakers."""

    def test_a_new_ledger_has_none(self, ledger: Ledger) -> None:
        assert ledger.breakers.all() == []

    def test_what_is_turned_is_read_as_it_was_written(self, ledger: Ledger) -> None:
        assert ledger.breakers.turn(CLOSED, OPEN) == OPEN
        probing = OPEN._replace(
            circuit=Circuit.PROBING, why="answered", by="li", prober="host/1", probe_until=40.5, n=2
        )
        assert ledger.breakers.turn(OPEN, probing) == probing
        assert ledger.breakers.all() == [probing]

    def test_they_are_listed_by_name(self, ledger: Ledger) -> None:
        for name in ("b", "a", "c"):
            ledger.breakers.turn(BreakerRecord(name), OPEN._replace(name=name))
        assert [record.name for record in ledger.breakers.all()] == ["a", "b", "c"]

    def test_who_stands_on_what_has_turned_writes_nothing_and_hears_how_it_stands(
        self, ledger: Ledger
    ) -> None:
        ledger.breakers.turn(CLOSED, OPEN)
        assert ledger.breakers.turn(CLOSED, OPEN._replace(why="defects")) == OPEN
        assert ledger.breakers.all() == [OPEN]

    def test_another_handle_sees_it_and_one_that_is_opened_later(
        self, ledger: Ledger, place: Place
    ) -> None:
        other = place.open()
        assert other.breakers.all() == []
        ledger.breakers.turn(CLOSED, OPEN)
        assert other.breakers.all() == [OPEN]
        other.close()
        later = place.open()
        assert later.breakers.all() == [OPEN]
        later.close()

    def test_of_many_who_try_it_at_once_one_does(self, ledger: Ledger) -> None:
        ledger.breakers.turn(CLOSED, OPEN)
        tries = [OPEN._replace(circuit=Circuit.PROBING, prober=f"p{i}", n=2) for i in range(16)]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(ledger.breakers.turn, [OPEN] * len(tries), tries))
        assert len(set(found)) == 1
        assert sum(one == wanted for one, wanted in zip(found, tries, strict=True)) == 1
