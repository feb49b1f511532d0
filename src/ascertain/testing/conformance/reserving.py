"""One intent, one action: what is stored, joined, replayed, bound or replaced."""

from __future__ import annotations

import json
from typing import Any

from ascertain.errors import AscertainError
from ascertain.model.action import ActionRecord
from ascertain.model.outcome import Kind
from ascertain.model.tables import Event, State
from ascertain.store.ledger import Advanced, Filter, Ledger, MustReplace, Reserved
from ascertain.testing.conformance.samples import (
    ARGUMENTS,
    CONTRACT,
    NOW,
    RESULT,
    confirm,
    draft,
    lose,
    must,
    note,
    reject,
    reserve,
    reserve_sent,
    submit,
    wanted,
)

ODD_JSON = '{"问题":"左耳有杂音 \U0001f50a","b":1.0,"a":"\\u2028","big":12345678901234567890}'
DETAIL: dict[str, Any] = {
    "text": 'a"\\\n\x1f\u2028\U0001f50a',
    "n": [1, 2.5, None, True],
    "o": {"k": {}},
}
DENIED = draft(State.PREPARED, Event.WITHDRAW, State.REJECTED)


class ReserveRules:
    """What :class:`~ascertain.store.ledger.Reserve` promises."""

    def test_a_new_intent_is_stored_as_given(self, ledger: Ledger) -> None:
        """Every field comes back as it went in, and so do arguments, contract and events."""
        given = reserve_sent(wanted(call_id="call-1", chain="chain-1", parent="p", suspect="s"))
        reply = submit(ledger, given, Reserved)
        assert reply.via == "new"
        assert reply.record == given.record._replace(n=2, head=reply.record.head)
        assert ledger.get(given.record.id) == reply.record
        assert ledger.arguments(given.record.id) == ARGUMENTS
        assert ledger.result(given.record.id) is None
        assert ledger.contract("contract-1") == CONTRACT
        events = ledger.events(given.record.id)
        assert [event[:7] for event in events] == [
            (given.record.id, 1, None, "prepare", "prepared", "call", "why-prepare"),
            (given.record.id, 2, "prepared", "send", "sent", "call", "why-send"),
        ]
        assert [event[7:11] for event in events] == [
            (0, 1, NOW, "{}"),
            (1, 1, NOW, '{"http_status":200}'),
        ]

    def test_json_comes_back_byte_for_byte(self, ledger: Ledger) -> None:
        """Arguments and results are opaque: not parsed, not ordered, not re-escaped."""
        record = submit(ledger, reserve(wanted(), arguments=ODD_JSON), Reserved).record
        assert ledger.arguments(record.id) == ODD_JSON

    def test_the_detail_of_an_event_comes_back(self, ledger: Ledger) -> None:
        """Text of any kind, numbers, nothing, lists: all of it, as JSON."""
        sent = submit(ledger, reserve_sent(wanted()), Reserved).record
        said = lose(sent)
        said = type(said)(
            before=sent, after=said.after, drafts=(said.drafts[0]._replace(detail=DETAIL),)
        )
        submit(ledger, said, Advanced)
        assert json.loads(ledger.events(sent.id)[-1].detail) == DETAIL
        assert list(ledger.verify()) == []

    def test_what_is_not_there_is_none(self, ledger: Ledger) -> None:
        """No action, no arguments, no contract, no events, no exception."""
        assert ledger.get("nobody") is None
        assert ledger.arguments("nobody") is None
        assert ledger.result("nobody") is None
        assert ledger.contract("nothing") is None
        assert ledger.events("nobody") == []
        assert ledger.next_due_at() is None

    def test_req_F08_an_open_intent_is_joined(self, ledger: Ledger) -> None:  # noqa: N802
        """A second call with the same intent gets the first one's action, in any turn."""
        first = submit(ledger, reserve_sent(wanted()), Reserved).record
        for slot in ("turn-1", "turn-2"):
            again = submit(ledger, reserve_sent(wanted(slot=slot)), Reserved)
            assert (again.via, again.record) == ("intent", first)

    def test_req_F08_the_key_is_the_first_ones(self, ledger: Ledger) -> None:  # noqa: N802
        """The key of a joined call is never used; the stored one never changes."""
        first = submit(ledger, reserve_sent(wanted(key="first")), Reserved).record
        again = submit(ledger, reserve_sent(wanted(key="second")), Reserved).record
        assert (first.key, again.key) == ("first", "first")

    def test_a_settled_intent_is_replayed_in_its_turn_only(self, ledger: Ledger) -> None:
        """Confirmed in this turn: the same; in a later turn: a new action with a new key."""
        first = _settled(ledger, wanted())
        again = submit(ledger, reserve_sent(wanted()), Reserved)
        assert (again.via, again.record) == ("intent", first)
        later = submit(ledger, reserve_sent(wanted(slot="turn-2")), Reserved)
        assert later.via == "new"
        assert later.record.id != first.id

    def test_several_of_one_intent_in_one_batch_see_each_other(self, ledger: Ledger) -> None:
        """Ten calls at one instant: the first is stored, nine are told of it."""
        calls = [reserve_sent(wanted()) for _ in range(10)]
        replies = [must(reply, Reserved) for reply in ledger.submit(calls)]
        assert [reply.via for reply in replies] == ["new"] + ["intent"] * 9
        assert {reply.record.id for reply in replies} == {calls[0].record.id}
        assert len(ledger.find(Filter())) == 1

    def test_a_batch_is_written_in_order(self, ledger: Ledger) -> None:
        """A refusal and the call that replaces it may stand in one batch."""
        first = submit(ledger, reserve_sent(wanted()), Reserved).record
        rejected, replaced = ledger.submit(
            [reject(first, Kind.ABSENT), reserve_sent(wanted(replaces=first.id))]
        )
        assert must(rejected, Advanced).record.final == 1
        assert must(replaced, Reserved).via == "new"

    def test_a_known_call_id_finds_its_action_whatever_it_wants(self, ledger: Ledger) -> None:
        """A replayed call is the same action, even if the model changed the arguments."""
        first = submit(ledger, reserve_sent(wanted(call_id="call-1")), Reserved).record
        again = submit(ledger, reserve_sent(wanted("other-intent", call_id="call-1")), Reserved)
        assert (again.via, again.record) == ("call_id", first)

    def test_two_of_one_call_id_in_one_batch_are_one_action(self, ledger: Ledger) -> None:
        """Also where their intents differ."""
        one, other = ledger.submit(
            [
                reserve_sent(wanted("one", call_id="call-1")),
                reserve_sent(wanted("other", call_id="call-1")),
            ]
        )
        assert must(one, Reserved).via == "new"
        assert must(other, Reserved).via == "call_id"
        assert must(other, Reserved).record == must(one, Reserved).record

    def test_a_call_id_belongs_to_its_session_and_tenant(self, ledger: Ledger) -> None:
        """The same call id elsewhere is another call; no call id is no identity."""
        elsewhere = [
            wanted("i1", call_id="call-1"),
            wanted("i2", call_id="call-1", session="chat-43"),
            wanted("i3", call_id="call-1", tenant="acme"),
            wanted("i4", call_id=None),
            wanted("i5", call_id=None),
        ]
        replies = ledger.submit([reserve_sent(record) for record in elsewhere])
        assert [must(reply, Reserved).via for reply in replies] == ["new"] * 5
        for record in elsewhere[:3]:
            again = wanted("other", call_id="call-1", session=record.session, tenant=record.tenant)
            assert submit(ledger, reserve_sent(again), Reserved).record.id == record.id

    def test_a_final_rejection_binds_the_same_arguments_in_its_turn(self, ledger: Ledger) -> None:
        """A business refusal answers the same call again."""
        first = submit(ledger, reserve_sent(wanted()), Reserved).record
        rejected = submit(ledger, reject(first), Advanced).record
        again = submit(ledger, reserve_sent(wanted()), Reserved)
        assert (again.via, again.record) == ("bound", rejected)

    def test_what_does_not_bind_must_be_replaced_by_name(self, ledger: Ledger) -> None:
        """Nothing is written until the new action names the latest final rejection."""
        first = submit(ledger, reserve_sent(wanted()), Reserved).record
        rejected = submit(ledger, reject(first), Advanced).record
        for replaces in (None, "somebody else"):
            call = reserve_sent(wanted(exact="exact-2", replaces=replaces))
            assert submit(ledger, call, MustReplace).previous == rejected
            assert ledger.get(call.record.id) is None
        named = reserve_sent(wanted(exact="exact-2", replaces=rejected.id))
        assert submit(ledger, named, Reserved).via == "new"
        again = submit(ledger, reserve_sent(wanted(exact="exact-2")), Reserved)
        assert (again.via, again.record.id) == ("intent", named.record.id)

    def test_the_latest_of_several_rejections_is_the_one_to_replace(self, ledger: Ledger) -> None:
        """Rejected, replaced, rejected again: the second one is named."""
        first = submit(ledger, reserve_sent(wanted()), Reserved).record
        submit(ledger, reject(first), Advanced)
        second = submit(ledger, reserve_sent(wanted(exact="e2", replaces=first.id)), Reserved)
        submit(ledger, reject(second.record), Advanced)
        third = submit(ledger, reserve_sent(wanted(exact="e3")), MustReplace)
        assert third.previous.id == second.record.id

    def test_a_denied_call_is_recorded_and_rejected_at_once(self, ledger: Ledger) -> None:
        """Prepared and withdrawn in one write: final, and nothing live is left behind."""
        denied = reserve(wanted(final=1, kind=Kind.AUTH, code="denied"), DENIED)
        assert submit(ledger, denied, Reserved).record.terminal
        assert submit(ledger, reserve_sent(wanted()), Reserved).via == "bound"
        other = submit(ledger, reserve_sent(wanted(opening="opening-2")), MustReplace)
        assert other.previous.id == denied.record.id

    def test_a_temporary_refusal_stays_alive(self, ledger: Ledger) -> None:
        """Rejected but not final is open: the next call joins it."""
        first = submit(ledger, reserve_sent(wanted()), Reserved).record
        rejected = submit(ledger, reject(first, Kind.THROTTLED, final=0), Advanced).record
        again = submit(ledger, reserve_sent(wanted(slot="turn-2")), Reserved)
        assert (again.via, again.record) == ("intent", rejected)

    def test_an_id_that_exists_is_refused(self, ledger: Ledger) -> None:
        """Two intents with one id: the second gets an error, the first stays."""
        first = submit(ledger, reserve_sent(wanted()), Reserved).record
        submit(ledger, reserve_sent(wanted("other", id=first.id)), AscertainError)
        assert ledger.get(first.id) == first
        assert len(ledger.events(first.id)) == 2

    def test_find_lists_newest_first_and_by_page(self, ledger: Ledger) -> None:
        """Every filter holds, alone and together, and pages follow each other."""
        ids = [
            submit(
                ledger,
                reserve_sent(wanted(f"i{n}", session=f"s{n % 2}", tool="t", turn=f"turn-{n % 3}")),
                Reserved,
            ).record.id
            for n in range(6)
        ]
        newest_first = ids[::-1]

        def found(**query: object) -> list[str]:
            return [record.id for record in ledger.find(Filter(**query))]  # type: ignore[arg-type]

        assert found() == newest_first
        assert found(limit=2) == newest_first[:2]
        assert found(limit=2, before_id=newest_first[1]) == newest_first[2:4]
        assert found(session="s0") == newest_first[1::2]
        assert found(session="s0", turn="turn-0") == [ids[0]]
        assert found(tenant="", tool="t", state="sent") == newest_first
        assert found(tenant="acme") == found(tool="x") == found(state="unknown") == []
        assert found(chain="x") == found(session="s0", tenant="acme") == []

    def test_find_knows_what_is_open_and_what_is_under_review(self, ledger: Ledger) -> None:
        """Open: with and without a due time. Under review: also where it is settled."""
        _settled(ledger, wanted("settled"))
        due = submit(ledger, reserve_sent(wanted("due")), Reserved).record
        sent = submit(ledger, reserve_sent(wanted("waiting")), Reserved).record
        waiting = submit(ledger, lose(sent, due_at=None), Advanced).record
        disputed = submit(
            ledger,
            note(_settled(ledger, wanted("disputed")), disputed=1, review="contradiction"),
            Advanced,
        ).record

        def found(**query: object) -> set[str]:
            return {record.id for record in ledger.find(Filter(**query))}  # type: ignore[arg-type]

        for session in (None, "chat-42"):
            assert found(open_only=True, session=session) == {due.id, waiting.id}
            assert found(review_only=True, session=session) == {disputed.id}
            assert found(open_only=True, review_only=True, session=session) == set()
        assert found(state="unknown") == {waiting.id}
        assert found(session="elsewhere", open_only=True) == set()


def _settled(ledger: Ledger, record: ActionRecord) -> ActionRecord:
    sent = submit(ledger, reserve_sent(record), Reserved).record
    settled: ActionRecord = submit(ledger, confirm(sent), Advanced).record
    assert ledger.result(settled.id) == RESULT
    return settled
