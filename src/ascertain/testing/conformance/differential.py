"""Random sequences of operations: the store and a dictionary must answer alike."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ascertain.model.action import ActionRecord
from ascertain.model.outcome import Kind
from ascertain.model.tables import Event, State
from ascertain.store.ledger import (
    Advance,
    Advanced,
    Claim,
    ClaimBy,
    Contested,
    Filter,
    Ledger,
    Lost,
    MustReplace,
    Operation,
    Reply,
    Reserved,
    Take,
    Taken,
)
from ascertain.testing.conformance.place import Place
from ascertain.testing.conformance.pure_model import PureLedger
from ascertain.testing.conformance.samples import (
    LEASE_S,
    NOW,
    advance,
    draft,
    looking_like,
    reserve,
    reserve_sent,
    wanted,
)

DENIED = draft(State.PREPARED, Event.WITHDRAW, State.REJECTED)
ENDS = {
    Event.SEND: State.SENT,
    Event.CONFIRM: State.CONFIRMED,
    Event.REJECT: State.REJECTED,
    Event.LOSE: State.UNKNOWN,
    Event.UNSEND: State.PREPARED,
    Event.WITHDRAW: State.REJECTED,
    Event.COMPENSATE: State.COMPENSATED,
}

small = st.integers(0, 2)
reserves = st.tuples(
    st.just("reserve"), small, small, st.sampled_from([None, "c1", "c2"]),
    st.sampled_from(["prepared", "sent", "sent", "denied"]), st.integers(-1, 3), small,
    st.sampled_from(["", "f1", "f1", "f2"]),
)  # fmt: skip
TENANTS = ("", "clinic-2")
TOOLS = ("create_ticket", "create_ticket", "send_notice")
advances = st.tuples(
    st.just("advance"), st.integers(0, 30), st.sampled_from([*ENDS, Event.NOTE, None]),
    st.booleans(), st.sampled_from([None, 1.0, 40.0]), st.sampled_from(list(Kind)),
    st.sampled_from([None, *ClaimBy]),
)  # fmt: skip
takes = st.tuples(
    st.just("take"), st.sampled_from([0.0, 20.0, 45.0, 90.0]), st.integers(1, 3),
    st.sampled_from([(), (), ("caller",), ("worker",)]), st.sampled_from([None, None, 0, 1, 2]),
)  # fmt: skip
batches = st.lists(
    st.lists(st.one_of(reserves, advances, advances, takes), min_size=1, max_size=4),
    min_size=1, max_size=10,
)  # fmt: skip


class DifferentialRules:
    """The store against :class:`~ascertain.testing.conformance.pure_model.PureLedger`."""

    @settings(
        max_examples=60,
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking would take minutes
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
            HealthCheck.differing_executors,  # each store runs it from a class of its own
        ],
    )
    @given(plan=batches)
    def test_the_store_answers_as_the_rules_say(self, place: Place, plan: list[Any]) -> None:
        """Replies, records, histories, due times and counts are alike after every batch."""
        ledger, model, seen = place.another().open(), PureLedger(), list[ActionRecord]()
        try:
            for batch in plan:
                operations = [_operation(command, seen) for command in batch]
                expected = [model.submit(operation) for operation in operations]
                replies = ledger.submit(operations)
                assert [_said(reply) for reply in replies] == [_said(reply) for reply in expected]
                seen.extend(record for reply in replies for record in _records(reply))
                _compare(ledger, model)
            assert list(ledger.verify()) == []
        finally:
            ledger.close()


def _operation(command: tuple[Any, ...], seen: list[ActionRecord]) -> Operation:
    match command:
        case ("reserve", intent, slot, call_id, how, replaces, exact, fields):
            record = wanted(
                f"intent-{intent}", f"turn-{slot}", call_id=call_id, exact=f"exact-{exact}",
                replaces=_id_of(seen, replaces), tenant=TENANTS[intent % 2],
                tool=TOOLS[intent % 3],
            )  # fmt: skip
            if how == "denied":
                denied = reserve(record._replace(final=1, kind=Kind.AUTH), DENIED)
                return looking_like(denied, fields)
            stored = reserve_sent(record) if how == "sent" else reserve(record)
            return looking_like(stored, fields)
        case ("advance", place, event, final, due_in_s, kind, by) if seen:
            due_at = None if due_in_s is None else NOW + due_in_s
            made = _advance(_in(seen, place), event, final=final, due_at=due_at, kind=kind)
            if by is None or event is not Event.CONFIRM:
                return made
            ref = f"T{place % 2}"  # few, so that they meet
            after = made.after._replace(provider_ref=ref)
            return made._replace(after=after, claim=Claim(by, ref))
        case ("take", after_s, limit, gone, place):
            now = NOW + after_s
            return Take(
                owner="worker", now=now, lease_until=now + LEASE_S, limit=limit,
                gone=frozenset(gone), action_id=None if place is None else _id_of(seen, place),
                after=(TENANTS[limit % 2], "create_ticket"),
            )  # fmt: skip
        case _:
            return reserve(wanted())


def _in(seen: list[ActionRecord], place: int) -> ActionRecord:
    return seen[place % len(seen)]


def _id_of(seen: list[ActionRecord], place: int) -> str | None:
    return seen[-1 - place].id if 0 <= place < len(seen) else None


def _advance(
    before: ActionRecord, event: Event | None, *, final: bool, due_at: float | None, kind: Kind
) -> Advance:
    if event is None:
        held = before._replace(lease_owner=None, lease_until=None, due_at=due_at)
        return Advance(before=before, after=held, drafts=())
    changes: dict[str, Any] = {"due_at": due_at}
    if event in (Event.REJECT, Event.WITHDRAW):
        changes.update(final=int(final), kind=kind)
    elif event is Event.CONFIRM:
        changes.update(provider_ref=f"T{before.n}")
    return advance(before, event, ENDS.get(event, before.state), **changes)


def _said(reply: Reply) -> tuple[str, list[ActionRecord]]:
    return type(reply).__name__, [record._replace(head=b"") for record in _records(reply)]


def _records(reply: Reply) -> list[ActionRecord]:
    match reply:
        case Reserved() | Advanced() | Lost():
            return [reply.record]
        case Contested():
            return [reply.record, reply.other]
        case MustReplace():
            return [reply.previous]
        case Taken():
            return [*reply.records, *reply.previous]
        case _:
            return []


def _compare(ledger: Ledger, model: PureLedger) -> None:
    newest_first = sorted(model.actions.values(), key=lambda record: record.id, reverse=True)
    found = ledger.find(Filter(limit=1000))
    assert [record._replace(head=b"") for record in found] == newest_first
    for action_id, events in model.events.items():
        written = [(event.event, event.end, event.at) for event in ledger.events(action_id)]
        assert written == events
    still_open = Counter(str(record.state) for record in newest_first if record.open)
    assert ledger.counts() == {**still_open, "review": 0, "disputed": 0}
    due = [record.due_at for record in newest_first if record.due_at is not None]
    assert ledger.next_due_at() == (min(due) if due else None)
