"""Taking due actions: single winners, oldest first, and no lease is taken while it holds."""

from __future__ import annotations

from typing import Any

import pytest

from ascertain.store.ledger import (
    Advance,
    Advanced,
    Filter,
    Ledger,
    Lost,
    Reserved,
    Take,
    Taken,
)
from ascertain.testing.conformance.place import Place
from ascertain.testing.conformance.samples import (
    LEASE_S,
    NOW,
    confirm,
    lose,
    must,
    note,
    records,
    reserve,
    reserve_sent,
    submit,
    wanted,
)

FAR = NOW + 1_000


class LeaseRules:
    """What :class:`~ascertain.store.ledger.Take` promises."""

    def test_nothing_is_taken_before_it_is_due(self, ledger: Ledger) -> None:
        """A lease that holds is nobody else's."""
        sent = submit(ledger, reserve_sent(wanted()), Reserved).record
        assert ledger.next_due_at() == NOW + LEASE_S
        assert _take(ledger, now=NOW + LEASE_S - 0.001).records == ()
        assert ledger.get(sent.id) == sent

    def test_what_is_due_is_seen_without_being_taken(self, ledger: Ledger) -> None:
        """The same actions that would be taken, longest due first; looking changes nothing."""
        first = submit(ledger, reserve_sent(wanted("i1")), Reserved).record
        second = submit(ledger, reserve_sent(wanted("i2"), at=NOW + 1), Reserved).record
        assert ledger.due(NOW + LEASE_S - 0.001) == []
        assert ledger.due(NOW + LEASE_S + 2) == [first, second]
        assert ledger.due(NOW + LEASE_S + 2, limit=1) == [first]
        taken = _take(ledger, now=NOW + LEASE_S + 2, limit=1)
        assert taken.previous == (first,)
        assert ledger.due(NOW + LEASE_S + 2) == [second]

    def test_an_expired_lease_is_taken_with_its_former_owner_named(self, ledger: Ledger) -> None:
        """Fence, owner, lease and due time change, and the sender is a suspect; no event."""
        sent = submit(ledger, reserve_sent(wanted(), owner="dead"), Reserved).record
        taken = _take(ledger, now=NOW + LEASE_S)
        assert taken.previous == (sent,)
        (record,) = taken.records
        leased = sent._replace(lease_owner="worker", lease_until=FAR, due_at=FAR, fence=2)
        assert record == leased._replace(suspect=f"dead#{sent.attempt}")
        assert ledger.get(sent.id) == record
        assert len(ledger.events(sent.id)) == 2

    def test_there_is_a_single_winner(self, ledger: Ledger) -> None:
        """Two takes in one batch and one afterwards: each action goes to one of them."""
        for n in range(10):
            submit(ledger, reserve_sent(wanted(f"i{n}")), Reserved)
        takes = [Take(owner=f"w{n}", now=NOW + LEASE_S, lease_until=FAR, limit=6) for n in range(2)]
        first, second = (must(reply, Taken) for reply in ledger.submit(takes))
        assert (len(first.records), len(second.records)) == (6, 4)
        assert not {r.id for r in first.records} & {r.id for r in second.records}
        assert _take(ledger, now=NOW + LEASE_S).records == ()

    def test_the_fenced_out_owner_loses(self, ledger: Ledger) -> None:
        """The old caller's late answer is told who has it now; the new owner writes."""
        sent = submit(ledger, reserve_sent(wanted()), Reserved).record
        (record,) = _take(ledger, now=NOW + LEASE_S).records
        assert submit(ledger, confirm(sent), Lost).record == record
        lost = submit(ledger, lose(record), Advanced).record
        assert ledger.events(sent.id)[-1].fence == lost.fence == 2

    def test_the_oldest_come_first(self, ledger: Ledger) -> None:
        """By the time at which they became due, up to the limit."""
        for n, age in enumerate((5, 1, 9, 3, 7)):
            submit(ledger, reserve_sent(wanted(f"i{n}"), at=NOW - age), Reserved)
        taken = _take(ledger, now=NOW + LEASE_S, limit=3)
        assert [record.intent for record in taken.previous] == ["i2", "i4", "i0"]

    def test_only_the_tools_that_are_asked_for(self, ledger: Ledger) -> None:
        """A worker takes what it has look-ups for."""
        for tool in ("a", "b", "a'", 'c"'):
            submit(ledger, reserve_sent(wanted(tool, tool=tool)), Reserved)
        taken = _take(ledger, tools=frozenset({"a'", 'c"', "x"}))
        assert {record.tool for record in taken.records} == {"a'", 'c"'}
        assert _take(ledger, tools=frozenset()).records == ()
        assert {record.tool for record in _take(ledger).records} == {"a", "b"}

    def test_one_action_by_its_id(self, ledger: Ledger) -> None:
        """Only that one: due or not, but never while a lease on it holds."""
        one = submit(ledger, reserve_sent(wanted("one")), Reserved).record
        submit(ledger, reserve_sent(wanted("other")), Reserved)
        assert _take(ledger, now=NOW, action_id=one.id).records == ()
        taken = _take(ledger, action_id=one.id)
        assert [record.id for record in taken.records] == [one.id]
        assert _take(ledger, action_id="nobody").records == ()
        (record,) = taken.records
        later = submit(ledger, lose(record, due_at=FAR), Advanced).record
        assert [r.id for r in _take(ledger, action_id=later.id).records] == [one.id]

    def test_a_lease_of_one_who_is_gone_holds_no_longer(self, ledger: Ledger) -> None:
        """Among all and by id; those of others go on holding, and what is due comes first."""
        for owner in ("gone", "gone'", "alive"):
            submit(ledger, reserve_sent(wanted(owner), owner=owner), Reserved)
        due = submit(ledger, reserve_sent(wanted("due"), owner="x", at=NOW - LEASE_S), Reserved)
        assert sorted(ledger.holders(NOW)) == ["alive", "gone", "gone'"]
        taken = _take(ledger, now=NOW, gone=frozenset({"gone", "gone'"}))
        assert taken.previous[0].id == due.record.id
        assert {record.lease_owner for record in taken.previous} == {"x", "gone", "gone'"}
        assert sorted(ledger.holders(NOW)) == ["alive", "worker"]
        (alive,) = (record for record in ledger.find(Filter()) if record.intent == "alive")
        assert _take(ledger, now=NOW, action_id=alive.id, gone=frozenset({"x"})).records == ()
        assert (
            len(_take(ledger, now=NOW, action_id=alive.id, gone=frozenset({"alive"})).records) == 1
        )

    def test_the_limit_holds_with_those_who_are_gone(self, ledger: Ledger) -> None:
        """Due ones and those of the gone together."""
        for n in range(4):
            submit(ledger, reserve_sent(wanted(f"gone-{n}"), owner="gone"), Reserved)
            submit(ledger, reserve_sent(wanted(f"due-{n}"), at=NOW - LEASE_S), Reserved)
        taken = _take(ledger, now=NOW, limit=6, gone=frozenset({"gone"}))
        assert [record.intent[:3] for record in taken.previous] == ["due"] * 4 + ["gon"] * 2

    def test_what_is_due_but_leased_is_left_alone(self, ledger: Ledger) -> None:
        """A due time before the end of a lease does not break the lease."""
        sent = submit(ledger, reserve_sent(wanted()), Reserved).record
        hurried = Advance(before=sent, after=sent._replace(due_at=NOW), drafts=())
        submit(ledger, hurried, Advanced)
        assert _take(ledger, now=NOW + 1).records == ()
        assert len(_take(ledger, now=NOW + LEASE_S).records) == 1

    def test_what_has_no_due_time_is_never_taken(self, ledger: Ledger) -> None:
        """It waits for a person, or for nobody."""
        submit(ledger, reserve(wanted("prepared")), Reserved)
        sent = submit(ledger, reserve_sent(wanted("review")), Reserved).record
        submit(ledger, lose(sent, due_at=None), Advanced)
        assert _take(ledger).records == ()
        assert ledger.next_due_at() is None

    def test_next_due_and_counts_follow_what_is_open(self, ledger: Ledger) -> None:
        """Closed actions count for nothing; review and disputed are counted apart."""
        assert ledger.counts() == {"review": 0, "disputed": 0}
        sent = records(
            ledger.submit([reserve_sent(wanted(f"i{n}"), at=NOW + n) for n in range(5)]), Reserved
        )
        submit(ledger, reserve(wanted("prepared")), Reserved)
        submit(ledger, lose(sent[1], due_at=None), Advanced)
        submit(ledger, lose(sent[2], due_at=NOW + 1), Advanced)
        done = submit(ledger, confirm(sent[3]), Advanced).record
        submit(ledger, note(done, disputed=1, review="contradiction"), Advanced)
        assert ledger.counts() == {
            "prepared": 1, "sent": 2, "unknown": 2, "review": 1, "disputed": 1,
        }  # fmt: skip
        assert ledger.next_due_at() == NOW + 1

    @pytest.mark.parametrize(
        "query",
        [
            "due_pairs",
            "due_of",
            "due_one",
            "due_of_gone",
            "holders",
            "next_due",
            "count_open",
            "find_open",
            "find_review",
            "count_review",
            "leases_of",
            "open_pairs",
            "queue_due",
            "queue_waiting",
            "queue_review",
            "oldest_unknown",
        ],
    )
    def test_work_is_found_by_an_index(self, place: Place, ledger: Ledger, query: str) -> None:
        """What costs with the number of closed actions is not asked by a worker."""
        ledger.submit([])
        assert ledger.counts()
        plan = place.plans()[query]
        assert _scans_actions(plan) == [], f"{query} reads everything:\n{plan}"

    @pytest.mark.parametrize(
        "query",
        [
            "by_id",
            "by_call_id",
            "by_intent",
            "intents_stored",
            "find_session",
            "events_of",
            "claim_of",
            "fields_of",
            "rivals",
            "rivals_of_all",
        ],
    )
    def test_calls_are_answered_by_an_index(self, place: Place, ledger: Ledger, query: str) -> None:
        """Nor by a call."""
        assert ledger.counts()
        plan = place.plans()[query]
        assert _scans_actions(plan) == [], f"{query} reads everything:\n{plan}"

    def test_a_worker_is_seen(self, ledger: Ledger) -> None:
        """The last sign of life of any of them; old ones are forgotten."""
        assert ledger.last_heartbeat() is None
        ledger.heartbeat("worker-1", NOW)
        ledger.heartbeat("worker-2", NOW + 5)
        ledger.heartbeat("worker-1", NOW + 1)
        assert ledger.last_heartbeat() == NOW + 5


def _take(ledger: Ledger, *, now: float = NOW + LEASE_S, **changes: Any) -> Taken:
    take = Take(owner="worker", now=now, lease_until=FAR, **changes)
    taken: Taken = submit(ledger, take, Taken)
    assert len(taken.records) == len(taken.previous)
    return taken


def _scans_actions(plan: str) -> list[str]:
    """Steps that read all actions, or all older ones; a partial index holds only what is open."""
    partial = ("action_due", "action_waiting", "action_review", "action_unknown")
    return [
        line
        for line in plan.splitlines()
        if ("SCAN action" in line or "PRIMARY KEY (id<" in line)
        and not any(name in line for name in partial)
    ]
