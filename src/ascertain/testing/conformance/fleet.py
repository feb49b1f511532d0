"""Many workers on one ledger: whose turn it is, providers' rates, and what can be seen of them."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.model.booking import Answered, Book, Booked, GiveBack, Spends
from ascertain.model.rate import Shared, Speaker, Ticket
from ascertain.rules.rate import ticket
from ascertain.store.ledger import (
    Advance,
    Advanced,
    Blocked,
    Filter,
    Ledger,
    Reserved,
    Take,
    Taken,
    Told,
)
from ascertain.testing.conformance.place import Place
from ascertain.testing.conformance.samples import (
    LEASE_S,
    NOW,
    confirm,
    lose,
    must,
    reserve,
    reserve_sent,
    submit,
    wanted,
)

FAR = NOW + 1_000
DUE = NOW + LEASE_S
CRM = Shared("crm", 20, 1.0)


class FairRules:
    """Of each tenant and tool that has anything due one in turn."""

    def test_ten_thousand_due_actions_of_one_tenant_hold_up_nobody(self, ledger: Ledger) -> None:
        """The ten of another tenant, which fell due later, are taken within the first takes."""
        fill(ledger, "a-big", 10_000)
        fill(ledger, "b-small", 10, later_s=5.0)
        first = take(ledger, now=DUE + 5, limit=16)
        assert Counter(record.tenant for record in first.records) == {"a-big": 8, "b-small": 8}
        after = (first.records[-1].tenant, first.records[-1].tool)
        second = take(ledger, now=DUE + 5, limit=16, after=after)
        assert Counter(record.tenant for record in second.records) == {"a-big": 14, "b-small": 2}

    def test_nor_do_those_of_one_tool(self, ledger: Ledger) -> None:
        fill(ledger, "t", 300, tool="slow")
        fill(ledger, "t", 3, tool="quick")
        fill(ledger, "t", 3, tool="another")
        found = Counter(record.tool for record in take(ledger, limit=9).records)
        assert found == {"slow": 3, "quick": 3, "another": 3}

    def test_with_room_for_one_they_take_turns(self, ledger: Ledger) -> None:
        """Beginning behind the one that was served last, and around."""
        for tenant in ("a", "b", "c"):
            fill(ledger, tenant, 3)
        after, seen = ("", ""), list[str]()
        for _ in range(6):
            (record,) = take(ledger, limit=1, after=after).records
            after = (record.tenant, record.tool)
            seen.append(record.tenant)
        assert seen == ["a", "b", "c", "a", "b", "c"]

    def test_more_tenants_than_room_are_all_served_in_turn(self, ledger: Ledger) -> None:
        for n in range(10):
            fill(ledger, f"t{n}", 2)
        after, seen = ("", ""), list[str]()
        for _ in range(5):
            records = take(ledger, limit=4, after=after).records
            after = (records[-1].tenant, records[-1].tool)
            seen += [record.tenant for record in records]
        assert Counter(seen) == {f"t{n}": 2 for n in range(10)}

    def test_what_is_left_of_those_who_are_gone_is_shared_too(self, ledger: Ledger) -> None:
        fill(ledger, "a", 30)
        fill(ledger, "b", 3)
        found = take(ledger, now=NOW, limit=6, gone=frozenset({"caller"}))
        assert Counter(record.tenant for record in found.records) == {"a": 3, "b": 3}


class RateRules:
    """A provider's rate is never exceeded, by however many handles."""

    def test_a_take_brings_no_more_than_may_be_asked_for(self, ledger: Ledger) -> None:
        """And says when to come again; other tools are not held up."""
        slow = Shared("crm", 3, 60.0)
        fill(ledger, "t", 10, tool="rated")
        fill(ledger, "t", 4, tool="free")
        first = take(ledger, limit=10, rates=(("rated", slow),))
        assert Counter(record.tool for record in first.records) == {"rated": 1, "free": 4}
        assert first.again_at is not None
        assert DUE < first.again_at <= DUE + 60
        assert take(ledger, limit=10, rates=(("rated", slow),)).records == ()
        later = take(ledger, now=first.again_at, limit=10, rates=(("rated", slow),))
        assert [record.tool for record in later.records] == ["rated"]

    def test_two_tools_of_one_provider_share_its_rate(self, ledger: Ledger) -> None:
        fill(ledger, "t", 10, tool="one")
        fill(ledger, "t", 10, tool="other")
        rates = (("one", CRM), ("other", CRM))
        at, found = DUE, Counter[str]()
        while at < DUE + 0.9:
            found.update(record.tool for record in take(ledger, now=at, rates=rates).records)
            at += 0.1
        assert found.total() == CRM.limit - 1, "and one is left to callers"
        assert abs(found["one"] - found["other"]) <= 1

    def test_a_turn_is_free_again_a_window_after_its_answer(self, ledger: Ledger) -> None:
        one = Shared("one", 1, 1.0)
        mine = ticket(one, "me", Speaker.CALLER, NOW + 9)
        assert book(ledger, one, mine, NOW).ticket == mine
        assert book(ledger, one, mine, NOW + 5).ticket is None
        ledger.submit([GiveBack(rate=one, ticket=mine, answered_at=NOW + 5.5)])
        assert book(ledger, one, mine, NOW + 6.4).ticket is None
        assert book(ledger, one, mine, NOW + 6.52).ticket == mine

    def test_one_that_was_not_used_is_free_at_once(self, ledger: Ledger) -> None:
        one = Shared("one", 1, 1.0)
        mine = ticket(one, "me", Speaker.CALLER, NOW + 9)
        book(ledger, one, mine, NOW)
        ledger.submit([GiveBack(rate=one, ticket=mine)])
        assert book(ledger, one, mine, NOW).ticket == mine

    def test_one_of_which_nothing_is_ever_heard_ends_by_itself(self, ledger: Ledger) -> None:
        """After everything that could still be on its way, and a window."""
        one = Shared("one", 1, 1.0)
        mine = ticket(one, "me", Speaker.CALLER, NOW + 9)
        book(ledger, one, mine, NOW)
        assert book(ledger, one, mine, NOW + 9.9).ticket is None
        assert book(ledger, one, mine, NOW + 11.0).ticket == mine

    def test_those_of_the_gone_are_used_as_if_answered_now(self, ledger: Ledger) -> None:
        one = Shared("one", 1, 1.0)
        fill(ledger, "t", 2, tool="rated")
        rates = (("rated", one),)
        assert len(take(ledger, owner="dead", rates=rates).records) == 1
        assert take(ledger, now=DUE + 2, rates=rates).records == ()
        taken = take(ledger, now=DUE + 2, rates=rates, gone=frozenset({"dead"}))
        assert taken.records == ()
        later = take(ledger, now=FAR + 2, rates=rates, gone=frozenset({"dead"}))
        assert len(later.records) == 1

    def test_one_that_is_taken_by_name_takes_its_turn_with_it(self, ledger: Ledger) -> None:
        one = Shared("one", 1, 1.0)
        first, second = rated(ledger, 2)
        taken = take_by_name(ledger, first, one)
        assert (taken.booked, [record.id for record in taken.records]) == (True, [first.id])
        assert book(ledger, one, ticket(one, "me", Speaker.CALLER, FAR), DUE).ticket is None
        assert take(ledger, rates=(("rated", one),)).records == (), "nor is there one for others"
        assert take_by_name(ledger, second, None).records, "its tool has no rate here"

    def test_those_without_a_turn_are_due_one_behind_the_other(self, ledger: Ledger) -> None:
        """Each has a place of its own in the queue, and is not leased while it waits for it."""
        rate = Shared("one", 2, 1.0)
        records = rated(ledger, 6)
        answers = [take_by_name(ledger, record, rate) for record in records]
        assert [len(taken.records) for taken in answers] == [1, 0, 0, 0, 0, 0], "of 2 one is spare"
        places = [round(taken.again_at - DUE, 6) for taken in answers[1:] if taken.again_at]
        assert [later - earlier for earlier, later in pairwise(places)] == [0.5] * 4
        waiting = [ledger.get(record.id) for record in records[1:]]
        assert [record and round((record.due_at or 0) - DUE, 6) for record in waiting] == places
        assert [record and record.fence for record in waiting] == [one.fence for one in records[1:]]
        assert list(ledger.verify()) == []

    def test_what_is_not_wanted_any_more_by_its_place_comes_back_without_a_turn(
        self, ledger: Ledger
    ) -> None:
        """So that it can be withdrawn, whatever else the provider is busy with."""
        one = Shared("one", 1, 3600.0)
        first, _ = rated(ledger, 2)
        take_by_name(ledger, first, one)
        record = wanted("late", tool="rated")._replace(send_by_at=DUE + 9, due_at=DUE)
        late = submit(ledger, reserve(record), Reserved).record
        assert take_by_name(ledger, late, one) == Taken(records=(), again_at=DUE + 9)
        taken = take_by_name(ledger, late, one, now=DUE + 9)
        assert (taken.booked, [record.id for record in taken.records]) == (False, [late.id])

    def test_whose_lease_holds_on_paper_keeps_the_time_at_which_it_ends(
        self, ledger: Ledger
    ) -> None:
        one = Shared("one", 1, 3600.0)
        first, second = rated(ledger, 2)
        held = take_by_name(ledger, second, None, owner="dead").records[0]
        take_by_name(ledger, first, one)
        taken = take_by_name(ledger, second, one, gone=frozenset({"dead"}))
        assert taken.records == ()
        assert ledger.get(second.id) == held

    def test_a_send_takes_its_turn_as_it_is_stored_and_gives_it_back_with_its_outcome(
        self, ledger: Ledger
    ) -> None:
        """Where there is none left, nothing is stored."""
        one = Shared("one", 1, 1.0)
        mine = ticket(one, "caller", Speaker.CALLER, NOW + LEASE_S)
        spends = (Spends(rate=one, ticket=mine, now=NOW),)
        sent = submit(ledger, reserve_sent(wanted("i1"))._replace(beside=spends), Reserved).record
        blocked = submit(ledger, reserve_sent(wanted("i2"))._replace(beside=spends), Blocked)
        assert blocked.why == "rate_used_up"
        assert blocked.by == spends[0]
        again = submit(ledger, reserve_sent(wanted("i1"))._replace(beside=spends), Reserved)
        assert (again.via, again.record.id) == ("intent", sent.id), "what is known is told"
        over = (Answered(rate=one, ticket=mine, at=NOW + 1),)
        submit(ledger, confirm(sent)._replace(beside=over), Advanced)
        assert book(ledger, one, mine, NOW + 1.9).ticket is None
        assert book(ledger, one, mine, NOW + 2.02).ticket == mine

    def test_of_many_who_book_at_once_as_many_get_a_turn_as_there_are(
        self, place: Place, ledger: Ledger
    ) -> None:
        handles = [place.open() for _ in range(4)]

        def tried(n: int) -> bool:
            mine = ticket(CRM, f"owner-{n}", Speaker.CALLER, NOW + 9)
            return book(handles[n % 4], CRM, mine, NOW, patience_until=NOW).ticket is not None

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(tried, range(60))) == CRM.limit
        (seen,) = ledger.fleet.rates(NOW)
        assert (seen.rate, sum(one.n for one in seen.usage.open)) == (CRM, CRM.limit)
        for handle in handles:
            handle.close()


class WatchRules:
    """What :class:`~ascertain.store.ledger.Fleet` promises."""

    def test_every_worker_is_seen_and_one_that_ends_says_so(self, ledger: Ledger) -> None:
        assert ledger.fleet.workers() == []
        ledger.heartbeat("w1", NOW)
        ledger.heartbeat("w2", NOW + 1)
        ledger.fleet.end("w1", NOW + 2)
        ledger.fleet.end("nobody", NOW + 2)
        assert [tuple(beat) for beat in ledger.fleet.workers()] == [
            ("w2", NOW + 1, None), ("w1", NOW, NOW + 2),
        ]  # fmt: skip
        ledger.heartbeat("w1", NOW + 3)
        assert ledger.fleet.workers()[0] == ("w1", NOW + 3, None)

    def test_what_waits_is_counted_by_tool(self, ledger: Ledger) -> None:
        """Each action once: due, leased, later, to be counted, or waiting for somebody."""
        sent = [
            submit(ledger, reserve_sent(wanted(f"i{n}"), at=NOW + n), Reserved).record
            for n in range(6)
        ]
        submit(ledger, lose(sent[1], due_at=NOW - 9), Advanced)
        submit(ledger, lose(sent[2], due_at=FAR), Advanced)
        submit(ledger, changed(lose(sent[3], due_at=None), review="no_answer"), Advanced)
        submit(ledger, confirm(sent[4]), Advanced)
        submit(ledger, changed(confirm(sent[5]), due_at=FAR), Advanced)
        (queue,) = ledger.fleet.queues(NOW + 10)
        assert queue._asdict() == {
            "tool": "create_ticket", "due": 1, "leased": 1, "later": 1, "counts": 1, "waiting": 1,
            "review": 1, "due_at": NOW - 9, "at_least": (),
        }  # fmt: skip
        assert ledger.fleet.leases(NOW + 10) == {"caller": 1}
        assert ledger.fleet.leases(FAR) == {}

    def test_the_oldest_unknown_is_found_also_where_a_person_has_it(self, ledger: Ledger) -> None:
        assert ledger.fleet.oldest_unknown() is None
        sent = [
            submit(ledger, reserve_sent(wanted(f"i{n}"), at=NOW - n), Reserved).record
            for n in range(3)
        ]
        assert ledger.fleet.oldest_unknown() is None, "what is under way is not unknown"
        submit(ledger, lose(sent[1], due_at=FAR), Advanced)
        submit(ledger, changed(lose(sent[2], due_at=None), review="no_answer"), Advanced)
        oldest = ledger.fleet.oldest_unknown()
        assert oldest == (sent[2].id, "create_ticket", NOW - 2, "no_answer")

    def test_what_happens_is_counted_by_tool_and_second(self, place: Place, ledger: Ledger) -> None:
        """What a handle has counted is written by the time it is closed."""
        other = place.open()
        one, two = (submit(other, reserve_sent(wanted(f"i{n}")), Reserved).record for n in range(2))
        submit(other, changed(confirm(one), updated_at=NOW + 5), Advanced)
        lost = submit(other, lose(two), Advanced).record
        submit(other, changed(confirm(lost), updated_at=NOW + 8), Advanced)
        other.close()
        counts = {(one.tool, one.what): one.n for one in ledger.fleet.happened(NOW)}
        assert counts == {
            ("create_ticket", "confirmed"): 2, ("create_ticket", "unknown"): 1,
            ("create_ticket", "recovered"): 1,
        }  # fmt: skip
        assert [one.n for one in ledger.fleet.happened(NOW + 7)] == [1, 1]
        ledger.heartbeat("w", NOW + 4000)
        assert ledger.fleet.happened(0) == [], "and forgotten after an hour"


class FleetRules(FairRules, RateRules, WatchRules):
    """What a store must do for many workers."""


def changed(operation: Advance, **changes: Any) -> Advance:
    """The same move, with something else in what comes after it."""
    return operation._replace(after=operation.after._replace(**changes))


def fill(
    ledger: Ledger, tenant: str, count: int, *, tool: str = "create_ticket", later_s: float = 0.0
) -> None:
    """So many actions whose lease has expired at ``DUE``."""
    for begin in range(0, count, 500):
        ledger.submit(
            [
                reserve_sent(
                    wanted(f"{tenant}-{tool}-{n}", tenant=tenant, tool=tool), at=NOW + later_s
                )
                for n in range(begin, min(count, begin + 500))
            ]
        )


def take(
    ledger: Ledger,
    *,
    owner: str = "worker",
    now: float = DUE,
    limit: int = 100,
    gone: frozenset[str] = frozenset(),
    after: tuple[str, str] = ("", ""),
    rates: tuple[tuple[str, Shared], ...] = (),
) -> Taken:
    """Take what is due."""
    wanted_now = Take(
        owner=owner, now=now, lease_until=max(FAR, now + LEASE_S), limit=limit, gone=gone,
        after=after, rates=rates,
    )  # fmt: skip
    taken: Taken = submit(ledger, wanted_now, Taken)
    return taken


def rated(ledger: Ledger, count: int) -> list[ActionRecord]:
    """Actions of a tool whose provider may be given a rate, all of them due."""
    fill(ledger, "t", count, tool="rated")
    return ledger.find(Filter(tool="rated"))[::-1]


def take_by_name(
    ledger: Ledger,
    record: ActionRecord,
    rate: Shared | None,
    *,
    owner: str = "worker",
    now: float = DUE,
    gone: frozenset[str] = frozenset(),
) -> Taken:
    """Take one action, as what has a single one to look after does."""
    rates = () if rate is None else ((record.tool, rate),)
    operation = Take(
        owner=owner, now=now, lease_until=FAR, gone=gone, action_id=record.id, rates=rates
    )
    taken: Taken = submit(ledger, operation, Taken)
    return taken


def book(
    ledger: Ledger, rate: Shared, held: Ticket, now: float, *, patience_until: float = 0.0
) -> Booked:
    """Try to take one turn."""
    (reply,) = ledger.submit([Book(rate=rate, ticket=held, now=now, patience_until=patience_until)])
    booked: Booked = must(reply, Told).value
    return booked
