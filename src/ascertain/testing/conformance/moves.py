"""Moves: compare and set, legal ones only, and nobody settles what is settled."""

from __future__ import annotations

from typing import Any

import pytest

from ascertain.errors import ActionNotFound, IllegalTransition
from ascertain.model.action import ActionRecord
from ascertain.model.outcome import Kind
from ascertain.model.tables import NOTES, RULES, Event, State
from ascertain.store.ids import new_id
from ascertain.store.ledger import (
    Advance,
    Advanced,
    Claim,
    ClaimBy,
    Ledger,
    Lost,
    Operation,
    Reserved,
)
from ascertain.testing.conformance.place import Place
from ascertain.testing.conformance.samples import (
    NOW,
    RESULT,
    SEND,
    advance,
    confirm,
    draft,
    lose,
    must,
    note,
    records,
    reject,
    reserve,
    reserve_sent,
    submit,
    wanted,
)

UNPRINTABLE = {"nothing": object()}


class MoveRules:
    """What :class:`~ascertain.store.ledger.Advance` promises."""

    def test_a_move_writes_record_event_and_result_together(self, ledger: Ledger) -> None:
        """What comes back is what stands in the ledger."""
        sent = _sent(ledger)
        done = submit(ledger, confirm(sent), Advanced).record
        assert (done.state, done.provider_ref, done.n) == (State.CONFIRMED, "T900", 3)
        assert ledger.get(sent.id) == done
        assert ledger.result(sent.id) == RESULT
        last = ledger.events(sent.id)[-1]
        assert (last.n, last.start, last.event, last.end) == (3, "sent", "confirm", "confirmed")
        assert (last.at, last.hash) == (NOW + 1, done.head)

    def test_an_answer_is_not_lost_for_a_character_that_texts_cannot_hold(
        self, ledger: Ledger
    ) -> None:
        """A reference, a code or a handle with a NUL is kept, with another character for it."""
        strange = {"provider_ref": "T\0", "related_ref": "\0U", "code": "N\0O", "handle": "h\0"}
        kept = {name: text.replace("\0", "\ufffd") for name, text in strange.items()}
        answer = confirm(_sent(ledger), ref="T\0", **{k: strange[k] for k in list(strange)[1:]})
        claimed = answer._replace(claim=Claim(ClaimBy.ANSWER, "T\0"))
        done = submit(ledger, claimed, Advanced).record
        assert {name: getattr(done, name) for name in kept} == kept
        assert ledger.get(done.id) == done
        assert list(ledger.verify()) == []

    def test_a_later_result_takes_the_place_of_the_first(self, ledger: Ledger) -> None:
        """None leaves it as it is."""
        done = submit(ledger, confirm(_sent(ledger)), Advanced).record
        done = submit(ledger, note(done), Advanced).record
        assert ledger.result(done.id) == RESULT
        done = submit(ledger, note(done, result='{"later":1}'), Advanced).record
        assert ledger.result(done.id) == '{"later":1}'
        assert list(ledger.verify()) == []

    def test_the_second_of_two_loses_and_is_told_how_it_stands(self, ledger: Ledger) -> None:
        """In one batch and in the next one; nothing of the loser's is written."""
        sent = _sent(ledger)
        first, second = ledger.submit([confirm(sent), lose(sent)])
        done = must(first, Advanced).record
        assert must(second, Lost).record == done
        assert submit(ledger, reject(sent), Lost).record == done
        assert [event.event for event in ledger.events(sent.id)] == ["prepare", "send", "confirm"]

    def test_a_grown_fence_stops_the_one_that_was_fenced_out(self, ledger: Ledger) -> None:
        """Even where no event has been written in between."""
        sent = _sent(ledger)
        taken = submit(ledger, _hold(sent, fence=sent.fence + 1), Advanced).record
        assert taken.n == sent.n
        assert submit(ledger, confirm(sent), Lost).record == taken
        submit(ledger, confirm(taken), Advanced)

    def test_schedules_change_without_an_event(self, ledger: Ledger) -> None:
        """A lease is let go, a due time is set, a value becomes nothing; the chain stays."""
        sent = _sent(ledger)
        held = submit(ledger, _hold(sent, due_at=NOW + 99, ask_at=NOW + 5), Advanced).record
        assert ledger.get(sent.id) == held
        assert (held.due_at, held.lease_owner, held.n, held.head) == (NOW + 99, None, 2, sent.head)
        again = submit(ledger, _hold(held, due_at=None, ask_at=None), Advanced).record
        assert ledger.get(sent.id) == again
        assert again.ask_at is None

    def test_what_is_known_does_not_change_without_an_event(self, ledger: Ledger) -> None:
        """No state, reference, code or dispute without a line in the history."""
        sent = _sent(ledger)
        for change in (
            {"state": State.CONFIRMED}, {"provider_ref": "T1"}, {"disputed": 1}, {"code": "NO"},
        ):  # fmt: skip
            submit(ledger, _hold(sent, **change), IllegalTransition)
        no_event = Advance(before=sent, after=sent, drafts=(), result=RESULT)
        submit(ledger, no_event, IllegalTransition)
        assert ledger.get(sent.id) == sent

    def test_what_is_fixed_at_birth_does_not_change(self, ledger: Ledger) -> None:
        """Key, intent, arguments, contract, session: never."""
        sent = _sent(ledger)
        moved = confirm(sent)
        for field in ("key", "intent", "exact", "contract", "session", "call_id", "principal"):
            change: dict[str, Any] = {field: "x"}
            after = moved.after._replace(**change)
            changed = Advance(before=sent, after=after, drafts=moved.drafts)
            submit(ledger, changed, IllegalTransition)
        assert ledger.get(sent.id) == sent

    def test_several_moves_in_one_write(self, ledger: Ledger) -> None:
        """Lost and sent again; lost and compensated: each step is in the history."""
        sent = _sent(ledger)
        back = _moves(sent, (Event.LOSE, State.UNKNOWN), (Event.SEND, State.SENT))
        again = submit(ledger, back, Advanced).record
        assert (again.n, again.state) == (4, State.SENT)
        undone = _moves(again, (Event.LOSE, State.UNKNOWN), (Event.COMPENSATE, State.COMPENSATED))
        end = submit(ledger, undone, Advanced).record
        assert ledger.get(sent.id) == end
        assert [event.end for event in ledger.events(sent.id)] == [
            "prepared", "sent", "unknown", "sent", "unknown", "compensated",
        ]  # fmt: skip
        assert list(ledger.verify()) == []

    def test_an_action_that_is_not_there_is_no_loss(self, ledger: Ledger) -> None:
        """It is an error of its own."""
        stranger = reserve_sent(wanted()).record._replace(n=2)
        submit(ledger, confirm(stranger), ActionNotFound)

    @pytest.mark.parametrize("start", [None, *State])
    def test_the_table_is_all_that_moves(self, ledger: Ledger, start: State | None) -> None:
        """Every event from every state to every state: what is no rule is refused."""
        rules = {(rule.start, rule.event, rule.end) for rule in RULES + NOTES}
        record = wanted() if start is None else reach(ledger, start)
        for event in Event:
            for end in State:
                if (start, event, end) in rules:
                    continue
                move = draft(start, event, end)
                operation: Operation
                if start is None:
                    operation = reserve(record)
                    operation = type(operation)(
                        record=record._replace(state=end), drafts=(move,), arguments="{}",
                        contract_json="{}",
                    )  # fmt: skip
                else:
                    after = record._replace(state=end)
                    operation = Advance(before=record, after=after, drafts=(move,))
                submit(ledger, operation, IllegalTransition)
        assert ledger.get(record.id) == (None if start is None else record)

    def test_a_final_rejection_is_never_sent_again(self, ledger: Ledger) -> None:
        """A temporary one is."""
        temporary = submit(ledger, reject(_sent(ledger), Kind.THROTTLED, final=0), Advanced).record
        submit(ledger, advance(temporary, Event.SEND, State.SENT), Advanced)
        final = submit(ledger, reject(_sent(ledger, "other")), Advanced).record
        again = advance(final, Event.SEND, State.SENT, final=0, kind=None)
        submit(ledger, again, IllegalTransition)
        there_and_back = _moves(final, (Event.SEND, State.SENT), (Event.REJECT, State.REJECTED))
        submit(ledger, there_and_back, IllegalTransition)
        assert ledger.get(final.id) == final

    def test_events_must_lead_from_the_one_record_to_the_other(self, ledger: Ledger) -> None:
        """Neither a gap, nor another end, nor another beginning."""
        sent = _sent(ledger)
        confirmed = sent._replace(state=State.CONFIRMED)
        lost = draft(State.SENT, Event.LOSE, State.UNKNOWN)
        late = draft(State.UNKNOWN, Event.CONFIRM, State.CONFIRMED)
        for drafts in ((lost,), (late,), (late, lost), (SEND,)):
            wrong = Advance(before=sent, after=confirmed, drafts=drafts)
            submit(ledger, wrong, IllegalTransition)
        assert ledger.get(sent.id) == sent

    def test_a_bad_operation_harms_nobody_else(self, ledger: Ledger) -> None:
        """The innocent are committed, the guilty one gets its exception as reply."""
        sent = _sent(ledger)
        poison: list[Operation] = [
            advance(sent, Event.LOSE, State.UNKNOWN, detail=UNPRINTABLE),
            reserve(wanted("poison-1", key="\ud800")),
            reserve(wanted("poison-2"), arguments="\ud800"),
            reserve(wanted("poison-3", tool=None)),
        ]
        good = [reserve_sent(wanted(f"good-{n}")) for n in range(5)]
        mixed: list[Operation] = [good[0], *poison[:2], good[1], good[2], *poison[2:], *good[3:]]
        replies = ledger.submit(mixed)
        for operation, reply in zip(mixed, replies, strict=True):
            if operation in poison:
                assert isinstance(reply, Exception), f"{operation} was taken: {reply}"
            else:
                must(reply, Reserved)
        assert all(ledger.get(one.record.id) is not None for one in good)
        assert ledger.get(sent.id) == sent
        assert list(ledger.verify()) == []

    def test_nothing_submitted_is_nothing_done(self, ledger: Ledger) -> None:
        """An empty batch has no replies."""
        assert ledger.submit([]) == []

    def test_a_batch_of_many_is_answered_one_by_one(self, ledger: Ledger) -> None:
        """Replies stand where their operations stood."""
        sent = records(ledger.submit([reserve_sent(wanted(f"i{n}")) for n in range(200)]), Reserved)
        done = records(
            ledger.submit([confirm(record, ref=record.intent) for record in sent]), Advanced
        )
        assert [record.provider_ref for record in done] == [f"i{n}" for n in range(200)]


class ByHandRules:
    """What the database itself refuses, whoever asks."""

    @pytest.mark.parametrize("start", list(State))
    def test_no_state_changes_by_hand_without_a_rule(
        self, place: Place, ledger: Ledger, start: State
    ) -> None:
        """Every pair of states that no row of the table joins is refused."""
        record = reach(ledger, start)
        allowed = {rule.end for rule in RULES if rule.start is start}
        for end in State:
            if end is not start and end not in allowed:
                with pytest.raises(Exception, match="transition table"):
                    place.by_hand("action", {"id": record.id}, {"state": end.value})
        assert ledger.get(record.id) == record

    def test_a_final_rejection_is_not_sent_by_hand(self, place: Place, ledger: Ledger) -> None:
        """Neither at once, nor after making it temporary."""
        final = submit(ledger, reject(_sent(ledger)), Advanced).record
        for change in (
            {"state": "sent"}, {"state": "sent", "final": 0}, {"final": 0}, {"kind": "throttled"},
        ):  # fmt: skip
            with pytest.raises(Exception, match="transition table"):
                place.by_hand("action", {"id": final.id}, change)
        assert ledger.get(final.id) == final

    def test_a_confirmed_reference_is_not_rewritten(self, place: Place, ledger: Ledger) -> None:
        """The provider's reference of a settled action stays."""
        done = submit(ledger, confirm(_sent(ledger)), Advanced).record
        with pytest.raises(Exception, match="transition table"):
            place.by_hand("action", {"id": done.id}, {"provider_ref": "T1"})
        submit(ledger, note(done, provider_ref="T1"), IllegalTransition)
        assert ledger.get(done.id) == done

    def test_key_and_identity_never_change(self, place: Place, ledger: Ledger) -> None:
        """What an intent is, and the key under which it was sent."""
        sent = _sent(ledger)
        for column in ("id", "key", "intent", "slot", "exact", "call_id", "session", "contract"):
            with pytest.raises(Exception, match="never change"):
                place.by_hand("action", {"id": sent.id}, {column: "x"})
        assert ledger.get(sent.id) == sent

    def test_a_second_live_action_is_not_inserted_by_hand(
        self, place: Place, ledger: Ledger
    ) -> None:
        """Neither for an intent and its slot, nor for a call id; final rejections are no matter."""
        sent = submit(ledger, reserve_sent(wanted(call_id="call-1")), Reserved).record
        other_slot = sent._replace(id=new_id(), slot="turn-2")
        other_call = sent._replace(id=new_id(), call_id="call-2")
        for copy in (other_slot, other_call):
            with pytest.raises(Exception, match=r"(?i)unique"):
                place.insert_by_force("action", copy._asdict())
        free = other_call._replace(slot="turn-2")
        place.insert_by_force("action", free._asdict())
        for n in range(2):
            refused = other_call._replace(
                id=new_id(), call_id=f"call-3{n}", state=State.REJECTED, final=1
            )
            place.insert_by_force("action", refused._asdict())

    def test_neither_actions_nor_events_are_deleted(self, place: Place, ledger: Ledger) -> None:
        """Nor is an event rewritten."""
        sent = _sent(ledger)
        with pytest.raises(Exception, match="never deleted"):
            place.by_hand("action", {"id": sent.id}, None)
        with pytest.raises(Exception, match="kept until"):
            place.by_hand("event", {"action_id": sent.id, "n": 1}, None)
        with pytest.raises(Exception, match="written once"):
            place.by_hand("event", {"action_id": sent.id, "n": 1}, {"reason": "x"})
        assert len(ledger.events(sent.id)) == 2


def reach(ledger: Ledger, state: State) -> ActionRecord:
    """A stored action in this state."""
    if state is State.PREPARED:
        prepared: ActionRecord = submit(ledger, reserve(wanted()), Reserved).record
        return prepared
    record = _sent(ledger)
    match state:
        case State.CONFIRMED:
            return _after(ledger, confirm(record))
        case State.REJECTED:
            return _after(ledger, reject(record, Kind.THROTTLED, final=0))
        case State.UNKNOWN:
            return _after(ledger, lose(record))
        case State.COMPENSATED:
            done = _after(ledger, confirm(record))
            return _after(ledger, advance(done, Event.COMPENSATE, State.COMPENSATED))
        case _:
            return record


def _after(ledger: Ledger, operation: Advance) -> ActionRecord:
    record: ActionRecord = submit(ledger, operation, Advanced).record
    return record


def _sent(ledger: Ledger, intent: str = "intent-1") -> ActionRecord:
    record: ActionRecord = submit(ledger, reserve_sent(wanted(intent)), Reserved).record
    return record


def _hold(before: ActionRecord, **changes: Any) -> Advance:
    free: dict[str, Any] = {"lease_owner": None, "lease_until": None, "due_at": None}
    return Advance(before=before, after=before._replace(**{**free, **changes}), drafts=())


def _moves(before: ActionRecord, *steps: tuple[Event, State]) -> Advance:
    state, drafts = before.state, list[Any]()
    for event, end in steps:
        drafts.append(draft(state, event, end))
        state = end
    return Advance(before=before, after=before._replace(state=state), drafts=tuple(drafts))
