"""The history of an action cannot be changed unseen, and what is old is buried, not forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ascertain.errors import IllegalTransition, LedgerCorrupt, WeakKey
from ascertain.model.action import ActionRecord
from ascertain.model.outcome import Kind
from ascertain.model.tables import Event, State
from ascertain.store.ledger import Advanced, Filter, Ledger, MustReplace, Reserved
from ascertain.testing.conformance.place import Place
from ascertain.testing.conformance.samples import (
    NOW,
    RESULT,
    SEND,
    confirm,
    draft,
    lose,
    note,
    reject,
    reserve,
    reserve_sent,
    submit,
    wanted,
)

FAR = NOW + 1_000_000
SECRET = b"a secret of the tests"

EVENT_CHANGES: dict[str, Any] = {
    "start": "unknown", "event": "note", "end": "unknown", "by": "person", "reason": "x",
    "attempt": 7, "fence": 7, "at": 1.5, "detail": '{"x":1}', "stand": '["sent",0]',
    "hash": b"x" * 32, "covers": b"x" * 32,
}  # fmt: skip
ACTION_CHANGES: dict[str, Any] = {
    "state": "rejected", "head": b"x" * 32, "n": 2, "provider_ref": "T1", "related_ref": "T1",
    "code": "x", "kind": "business", "disputed": 1, "maybe_twice": 1, "key": "x", "tenant": "x",
    "principal": "x", "session": "x", "turn": "x", "intent": "x", "exact": "x", "wording": "x",
    "call_id": "x", "replaces": "x", "contract": "x", "created_at": 1.5,
}  # fmt: skip


class ChainRules:
    """What :meth:`~ascertain.store.ledger.Ledger.verify` finds."""

    def test_an_honest_ledger_verifies(self, ledger: Ledger) -> None:
        """Whatever happened in it."""
        for n in range(5):
            _settled(ledger, wanted(f"settled-{n}"))
        lost = submit(ledger, lose(_sent(ledger, "lost")), Advanced).record
        submit(ledger, confirm(lost), Advanced)
        submit(ledger, reject(_sent(ledger, "rejected")), Advanced)
        assert list(ledger.verify()) == []
        assert list(ledger.verify(lost.id)) == []

    def test_an_action_that_is_settled_as_it_is_stored_holds_its_result(
        self, place: Place, ledger: Ledger
    ) -> None:
        """Arguments and result come in one write; each is covered by an event of its own."""
        read = reserve(
            wanted(), SEND, draft(State.SENT, Event.CONFIRM, State.CONFIRMED), result=RESULT
        )
        record = submit(ledger, read, Reserved).record
        assert ledger.result(record.id) == RESULT
        assert list(ledger.verify()) == []
        place.by_force("payload", {"action_id": record.id, "what": "result"}, {"body": "{}"})
        assert "result" in " ".join(ledger.verify())

    def test_a_result_needs_an_event_of_its_own(self, ledger: Ledger) -> None:
        """The birth covers the arguments; nothing is left to cover a result."""
        submit(ledger, reserve(wanted(), result=RESULT), IllegalTransition)

    def test_an_action_that_is_not_there_does_not_verify(self, ledger: Ledger) -> None:
        """Asked for by its id, its absence is told."""
        (said,) = ledger.verify("nobody")
        assert "nobody" in said

    @pytest.mark.parametrize("n", [1, 2, 3])
    @pytest.mark.parametrize("column", EVENT_CHANGES)
    def test_a_changed_event_is_found(
        self, place: Place, ledger: Ledger, column: str, n: int
    ) -> None:
        """Any column of any event."""
        action, other = _settled(ledger, wanted()), _settled(ledger, wanted("other"))
        change = {column: EVENT_CHANGES[column]}
        place.by_force("event", {"action_id": action.id, "n": n}, change)
        _only_this_one(ledger, action, other)

    @pytest.mark.parametrize("column", ACTION_CHANGES)
    def test_a_changed_action_is_found(self, place: Place, ledger: Ledger, column: str) -> None:
        """What is known of it, and what was fixed at its birth."""
        action, other = _settled(ledger, wanted()), _settled(ledger, wanted("other"))
        place.by_force("action", {"id": action.id}, {column: ACTION_CHANGES[column]})
        _only_this_one(ledger, action, other)

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_a_removed_event_is_found(self, place: Place, ledger: Ledger, n: int) -> None:
        """The first, one in the middle, the last."""
        action, other = _settled(ledger, wanted()), _settled(ledger, wanted("other"))
        place.by_force("event", {"action_id": action.id, "n": n}, None)
        _only_this_one(ledger, action, other)

    def test_an_inserted_event_is_found(self, place: Place, ledger: Ledger) -> None:
        """Behind the last one, with a hash that was seen elsewhere."""
        action, other = _settled(ledger, wanted()), _settled(ledger, wanted("other"))
        place.insert_by_force("event", _note_row(action))
        _only_this_one(ledger, action, other)
        place.by_force("action", {"id": action.id}, {"n": 4})
        _only_this_one(ledger, action, other)

    def test_reordered_events_are_found(self, place: Place, ledger: Ledger) -> None:
        """Two events that change places."""
        action, other = _settled(ledger, wanted()), _settled(ledger, wanted("other"))
        for old, new in ((2, 99), (3, 2), (99, 3)):
            place.by_force("event", {"action_id": action.id, "n": old}, {"n": new})
        _only_this_one(ledger, action, other)

    def test_a_foreign_history_is_found(self, place: Place, ledger: Ledger) -> None:
        """Events that were true of another action."""
        action, other = _settled(ledger, wanted()), _settled(ledger, wanted("other"))
        for n in (1, 2, 3):
            place.by_force("event", {"action_id": action.id, "n": n}, None)
            place.by_force("event", {"action_id": other.id, "n": n}, {"action_id": action.id})
        place.by_force("action", {"id": action.id}, {"head": other.head})
        assert any(action.id in said for said in ledger.verify())

    def test_a_deleted_action_is_found_by_what_it_leaves(
        self, place: Place, ledger: Ledger
    ) -> None:
        """Its events and its payload are still there."""
        action, other = _settled(ledger, wanted()), _settled(ledger, wanted("other"))
        place.by_force("action", {"id": action.id}, None)
        _only_this_one(ledger, action, other)

    @pytest.mark.parametrize("what", ["args", "result"])
    def test_a_changed_payload_is_found(self, place: Place, ledger: Ledger, what: str) -> None:
        """Arguments and result; the text and its salt."""
        action, other = _settled(ledger, wanted()), _settled(ledger, wanted("other"))
        row = {"action_id": action.id, "what": what}
        place.by_force("payload", row, {"body": '{"order_id":"A124"}'})
        _only_this_one(ledger, action, other)
        place.by_force("payload", {"action_id": other.id, "what": what}, {"salt": b"x" * 16})
        assert any(other.id in said for said in ledger.verify())

    def test_an_erased_payload_leaves_the_chain_whole(self, place: Place, ledger: Ledger) -> None:
        """The right to be forgotten does not break the record; an open action needs its own."""
        closed, still_open = _settled(ledger, wanted()), _sent(ledger, "open")
        for what in ("args", "result"):
            place.by_force("payload", {"action_id": closed.id, "what": what}, None)
        assert list(ledger.verify()) == []
        place.by_force("payload", {"action_id": still_open.id, "what": "args"}, None)
        _only_this_one(ledger, still_open, closed)


class BurialRules:
    """What :meth:`~ascertain.store.ledger.Ledger.bury` leaves (U17)."""

    def test_req_U17_a_buried_action_is_still_found(self, ledger: Ledger) -> None:  # noqa: N802
        """By its call id and by its intent: an old call never becomes new."""
        done = _settled(ledger, wanted(call_id="call-1"))
        assert ledger.bury(closed_before=FAR) == 1
        by_call = submit(ledger, reserve_sent(wanted("other", call_id="call-1")), Reserved)
        by_intent = submit(ledger, reserve_sent(wanted()), Reserved)
        assert (by_call.via, by_intent.via) == ("call_id", "intent")
        assert by_call.record == by_intent.record == ledger.get(done.id)

    def test_req_U17_identity_and_outcome_survive(self, ledger: Ledger) -> None:  # noqa: N802
        """Events, payload and person are gone; the rest is as it was."""
        done = _settled(ledger, wanted(call_id="call-1", principal="Ms Li", suspect="host"))
        assert ledger.bury(closed_before=FAR) == 1
        grave = ledger.get(done.id)
        assert grave == done._replace(principal="", suspect="")
        assert ledger.events(done.id) == []
        assert (ledger.arguments(done.id), ledger.result(done.id)) == (None, None)
        assert ledger.contract(done.contract) is not None
        assert list(ledger.verify()) == []

    def test_req_U17_a_buried_rejection_still_binds(self, ledger: Ledger) -> None:  # noqa: N802
        """And a call that it does not bind still has to name it."""
        first = submit(ledger, reject(_sent(ledger)), Advanced).record
        auth = submit(ledger, reject(_sent(ledger, "auth"), Kind.AUTH), Advanced).record
        assert ledger.bury(closed_before=FAR) == 2
        assert submit(ledger, reserve_sent(wanted()), Reserved).via == "bound"
        assert submit(ledger, reserve_sent(wanted("auth")), Reserved).via == "bound"
        other = submit(ledger, reserve_sent(wanted(exact="e2")), MustReplace)
        assert other.previous.id == first.id
        named = reserve_sent(wanted("auth", opening="opening-2", replaces=auth.id))
        assert submit(ledger, named, Reserved).via == "new"

    def test_only_what_is_closed_and_old_is_buried(self, ledger: Ledger) -> None:
        """Not what is open, disputed, under review, or younger than the time."""
        _sent(ledger, "open")
        submit(ledger, lose(_sent(ledger, "lost"), due_at=None), Advanced)
        disputed = _settled(ledger, wanted("disputed"))
        submit(ledger, note(disputed, disputed=1), Advanced)
        review = _settled(ledger, wanted("review"))
        submit(ledger, note(review, review="contradiction"), Advanced)
        _settled(ledger, wanted("young"), at=NOW + 50)
        old = _settled(ledger, wanted("old"))
        before = {record.id: record for record in ledger.find(Filter())}
        assert ledger.bury(closed_before=NOW + 50) == 1
        after = {record.id: record for record in ledger.find(Filter())}
        assert after.pop(old.id) == before.pop(old.id)._replace(principal="")
        assert after == before
        assert ledger.events(old.id) == []

    def test_burying_goes_on_where_it_stopped(self, ledger: Ledger) -> None:
        """Up to the limit each time, and nothing twice."""
        for n in range(7):
            _settled(ledger, wanted(f"i{n}"))
        assert [ledger.bury(closed_before=FAR, limit=3) for _ in range(4)] == [3, 3, 1, 0]
        assert list(ledger.verify()) == []

    def test_a_late_word_about_a_buried_action_is_kept(self, ledger: Ledger) -> None:
        """Its chain goes on from the tombstone."""
        _settled(ledger, wanted())
        ledger.bury(closed_before=FAR)
        (grave,) = ledger.find(Filter())
        late = note(grave, disputed=1, review="contradiction", result='{"late":1}')
        record = submit(ledger, late, Advanced).record
        assert (record.n, record.disputed) == (4, 1)
        assert [event.n for event in ledger.events(record.id)] == [4]
        assert list(ledger.verify()) == []

    def test_evidence_of_tampering_is_not_buried(self, place: Place, ledger: Ledger) -> None:
        """What does not verify stays as it is."""
        action = _settled(ledger, wanted())
        place.by_force("event", {"action_id": action.id, "n": 2}, {"reason": "x"})
        assert ledger.bury(closed_before=FAR) == 0
        assert len(ledger.events(action.id)) == 3

    @pytest.mark.parametrize(
        "change", [{"n": 2}, {"head": b"x" * 32}, {"stand": '["rejected",0]'}, {"seal": b"x" * 32}]
    )
    def test_a_changed_tombstone_is_found(
        self, place: Place, ledger: Ledger, change: Mapping[str, Any]
    ) -> None:
        """Any part of it."""
        action, other = _settled(ledger, wanted()), _settled(ledger, wanted("other"))
        assert ledger.bury(closed_before=FAR) == 2
        place.by_force("tombstone", {"action_id": action.id}, change)
        _only_this_one(ledger, action, other)

    @pytest.mark.parametrize("column", ["provider_ref", "key", "intent", "call_id", "exact"])
    def test_a_changed_grave_is_found(self, place: Place, ledger: Ledger, column: str) -> None:
        """What the tombstone keeps is sealed."""
        action, other = _settled(ledger, wanted()), _settled(ledger, wanted("other"))
        assert ledger.bury(closed_before=FAR) == 2
        place.by_force("action", {"id": action.id}, {column: "x"})
        _only_this_one(ledger, action, other)

    def test_events_do_not_vanish_under_a_false_tombstone(
        self, place: Place, ledger: Ledger
    ) -> None:
        """A tombstone that somebody else made is no licence."""
        action, other = _settled(ledger, wanted()), _settled(ledger, wanted("other"))
        place.by_force("event", {"action_id": action.id}, None)
        grave = {"n": 3, "head": action.head, "stand": '["confirmed",0]', "seal": b"x" * 32}
        place.insert_by_force("tombstone", {"action_id": action.id, **grave})
        _only_this_one(ledger, action, other)


class SecretRules:
    """The secret lies outside the database and is the ledger's own."""

    def test_every_handle_has_the_same_secret(self, place: Place, ledger: Ledger) -> None:
        """And it is long enough."""
        other = place.open()
        assert ledger.secret() == other.secret()
        assert len(ledger.secret()) >= 16
        other.close()

    def test_a_given_secret_is_the_secret(self, place: Place) -> None:
        """It is asked for again when the ledger is opened."""
        first = place.open(secret=SECRET)
        assert first.secret() == SECRET
        done = _settled(first, wanted())
        first.close()
        again = place.open(secret=SECRET)
        assert again.get(done.id) == done
        assert list(again.verify()) == []
        again.close()

    def test_another_secret_is_refused(self, place: Place, ledger: Ledger) -> None:
        """When opening, before anything is written."""
        _sent(ledger)
        other = place.open(secret=b"another secret of the tests")
        with pytest.raises(LedgerCorrupt, match="not the secret"):
            other.submit([reserve_sent(wanted("other"))])
        other.close()

    def test_a_missing_secret_is_never_made_anew(self, place: Place, ledger: Ledger) -> None:
        """A new one would give known intents new keys."""
        _sent(ledger)
        ledger.close()
        place.forget_secret()
        for _ in range(2):
            again = place.open()
            with pytest.raises(LedgerCorrupt, match=r"its secret .* is missing"):
                again.secret()
            again.close()

    def test_a_short_secret_is_refused(self, place: Place) -> None:
        """Fewer than 16 bytes are no secret."""
        with pytest.raises(WeakKey, match="15 bytes"):
            place.open(secret=b"x" * 15)


def _sent(ledger: Ledger, intent: str = "intent-1") -> ActionRecord:
    record: ActionRecord = submit(ledger, reserve_sent(wanted(intent)), Reserved).record
    return record


def _settled(ledger: Ledger, record: ActionRecord, *, at: float = NOW) -> ActionRecord:
    sent = submit(ledger, reserve_sent(record, at=at), Reserved).record
    done: ActionRecord = submit(ledger, confirm(sent), Advanced).record
    return done


def _note_row(action: ActionRecord) -> dict[str, Any]:
    return {
        "action_id": action.id, "n": action.n + 1, "start": "confirmed", "event": "note",
        "end": "confirmed", "by": "person", "reason": "x", "attempt": 1, "fence": 1, "at": NOW,
        "detail": "{}", "hash": action.head, "stand": "", "covers": b"",
    }  # fmt: skip


def _only_this_one(ledger: Ledger, action: ActionRecord, other: ActionRecord) -> None:
    said = list(ledger.verify())
    assert said, f"{action.id} was changed, and nothing was found"
    assert all(action.id in sentence for sentence in said), said
    assert not any(other.id in sentence for sentence in said), said
    assert list(ledger.verify(action.id)), "found among all, not found by its id"
