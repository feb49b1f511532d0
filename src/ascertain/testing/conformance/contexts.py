"""What sessions remember is written with the action that brings it, and never overwritten late."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ascertain.model.action import ActionRecord, Draft
from ascertain.model.session import Kept, Memory, Needs, Provides, SessionRecord, StillNeeds
from ascertain.model.tables import Event, State
from ascertain.store.ledger import (
    Advanced,
    Beside,
    Blocked,
    Filter,
    Ledger,
    Lost,
    Reserve,
    Reserved,
)
from ascertain.testing.conformance import children
from ascertain.testing.conformance.crowd import in_processes
from ascertain.testing.conformance.place import Place
from ascertain.testing.conformance.samples import (
    NOW,
    PREPARE,
    SEND,
    advance,
    confirm,
    draft,
    lose,
    reject,
    reserve,
    reserve_sent,
    submit,
    wanted,
)

LIMIT = 1000
UNTIL = NOW + 3600


def needs(*read: tuple[str, int], pledges: tuple[str, ...] = (), now: float = NOW) -> Needs:
    """What a call needs of its session."""
    return Needs(now=now, expires_at=now + 3600, epoch="epoch-1", read=read, pledges=pledges)


def brings(base: int | None = None, limit: int = LIMIT, **values: Any) -> Provides:
    """What an outcome brings."""
    kept = tuple(Kept(key, json.dumps(value)) for key, value in values.items())
    return Provides(values=kept, now=NOW, began_at=NOW, limit_bytes=limit, base=base)


def begun(ledger: Ledger, intent: str = "intent-1", *pledges: str, **changes: Any) -> ActionRecord:
    """A provider's action, sent."""
    operation = reserve_sent(wanted(intent, **changes))
    beside = (needs(pledges=pledges),)
    record: ActionRecord = submit(ledger, _with(operation, beside), Reserved).record
    return record


def done(ledger: Ledger, record: ActionRecord, **values: Any) -> ActionRecord:
    """Its outcome, with what it brings."""
    after: ActionRecord = submit(
        ledger, _with(confirm(record), (brings(**values),)), Advanced
    ).record
    return after


def _with(operation: Any, beside: tuple[Beside, ...]) -> Any:
    return operation._replace(beside=beside)


def now_known(ledger: Ledger) -> dict[str, Any]:
    """The current values, by key."""
    values = ledger.contexts.memory("", "chat-42").values
    return {value.key: None if value.value is None else json.loads(value.value) for value in values}


class ContextRules:
    """Sessions and their context."""

    def test_a_session_of_which_nothing_is_known_has_no_memory(self, ledger: Ledger) -> None:
        """It is made by the first action that needs it."""
        assert ledger.contexts.memory("", "chat-42") == Memory(None)
        begun(ledger)
        session = ledger.contexts.memory("", "chat-42").session
        assert session is not None
        assert (session.principal, session.version, session.epoch) == ("u7", 0, "epoch-1")
        assert (session.opened_at, session.expires_at) == (NOW, UNTIL)

    def test_a_value_comes_with_its_outcome(self, ledger: Ledger) -> None:
        """In one transaction: version, writer, time."""
        record = begun(ledger, "intent-1", "order_id")
        (pledge,) = ledger.contexts.memory("", "chat-42").pledges
        assert (pledge.key, pledge.action_id, pledge.state) == ("order_id", record.id, State.SENT)
        done(ledger, record, order_id="A1")
        memory = ledger.contexts.memory("", "chat-42")
        (value,) = memory.values
        assert (value.key, value.version, value.value) == ("order_id", 1, '"A1"')
        assert (value.writer, value.tool, value.at) == (record.id, "create_ticket", NOW)
        assert memory.session is not None
        assert memory.session.version == 1
        assert memory.pledges == (), "nothing is under way any more"

    def test_an_outcome_that_is_lost_to_another_brings_nothing(self, ledger: Ledger) -> None:
        """The losing write leaves no value behind."""
        record = begun(ledger, "intent-1", "order_id")
        submit(ledger, lose(record), Advanced)
        stale = _with(confirm(record), (brings(order_id="A1"),))
        assert submit(ledger, stale, Lost).blocked == ""
        assert now_known(ledger) == {}
        (pledge,) = ledger.contexts.memory("", "chat-42").pledges
        assert pledge.state is State.UNKNOWN, "the pledge is in doubt"

    def test_a_refused_provider_pledges_nothing_any_more(self, ledger: Ledger) -> None:
        """What is settled is no pledge, whoever settled it."""
        submit(ledger, reject(begun(ledger, "intent-1", "order_id")), Advanced)
        assert ledger.contexts.memory("", "chat-42").pledges == ()

    def test_what_began_before_a_newer_value_does_not_overwrite_it(self, ledger: Ledger) -> None:
        """It is kept, and said to have come late."""
        slow = begun(ledger, "slow", "order_id")
        quick = begun(ledger, "quick", "order_id")
        done(ledger, quick, order_id="B2")
        done(ledger, slow, order_id="A1")
        assert now_known(ledger) == {"order_id": "B2"}
        kept = [(v.value, v.superseded) for v in ledger.contexts.history("", "chat-42")]
        assert kept == [('"B2"', 0), ('"A1"', 1)]

    def test_a_read_says_since_when_it_asked(self, ledger: Ledger) -> None:
        """A read has no pledge; the version at which it began stands in what it brings."""
        done(ledger, begun(ledger, "first", "order_id"), order_id="A1")
        read = wanted("read~1", mode="read", state=State.CONFIRMED, attempt=1)
        told = (draft(State.SENT, Event.CONFIRM, State.CONFIRMED),)
        for serial, (base, late) in enumerate(((1, 0), (1, 1), (3, 0))):
            one = read._replace(id=f"{read.id}-{serial}", intent=f"read~{serial}")
            operation = _with(
                _settled(one, told), (needs(), brings(base=base, order_id=f"R{serial}"))
            )
            submit(ledger, operation, Reserved)
            assert ledger.contexts.history("", "chat-42")[-1].superseded == late
        assert now_known(ledger) == {"order_id": "R2"}

    def test_nothing_is_stored_on_what_has_changed(self, ledger: Ledger) -> None:
        """The version that was read must be the current one, in the same transaction."""
        done(ledger, begun(ledger, "first", "order_id"), order_id="A1")
        done(ledger, begun(ledger, "second", "order_id"), order_id="B2")
        for version, expected in ((1, Blocked), (0, Blocked), (2, Reserved)):
            action = _with(reserve_sent(wanted("use")), (needs(("order_id", version)),))
            reply = submit(ledger, action, expected)
            if isinstance(reply, Blocked):
                assert reply.why == "stale_context"
        assert len(ledger.find(Filter(limit=1000))) == 3, "the blocked ones left no trace"

    def test_nothing_is_stored_on_what_is_about_to_change(self, ledger: Ledger) -> None:
        """An open action that will bring the key is in doubt or under way."""
        done(ledger, begun(ledger, "first", "order_id"), order_id="A1")
        change = begun(ledger, "change", "order_id")
        use = _with(reserve_sent(wanted("use")), (needs(("order_id", 1)),))
        assert submit(ledger, use, Blocked).why == "stale_context"
        submit(ledger, reject(change), Advanced)
        submit(ledger, use, Reserved)

    def test_nothing_is_stored_on_what_was_taken_back(self, ledger: Ledger) -> None:
        """The version is the current one, but its writer was undone since it was read."""
        record = done(ledger, begun(ledger, "first", "order_id"), order_id="A1")
        use = _with(reserve_sent(wanted("use")), (needs(("order_id", 1)),))
        submit(ledger, advance(record, Event.COMPENSATE, State.COMPENSATED), Advanced)
        assert submit(ledger, use, Blocked).why == "stale_context"

    def test_a_session_that_the_gate_saw_is_not_made_again(self, ledger: Ledger) -> None:
        """It says so, where there is none after all; and puts no end off that is not due."""
        seen = replace(needs(), opens=False)
        use = _with(reserve_sent(wanted("use")), (seen,))
        assert submit(ledger, use, Blocked).why == "stale_context"
        begun(ledger)
        before = ledger.contexts.sessions([("", "chat-42"), ("", "chat-43")])
        later = _with(reserve_sent(wanted("later")), (replace(seen, now=NOW + 1800),))
        submit(ledger, later, Reserved)
        assert ledger.contexts.sessions([("", "chat-42"), ("", "chat-43")]) == before
        assert before[1] is None

    def test_what_was_written_beside_is_told(self, ledger: Ledger) -> None:
        """Each value with its version, as the ledger remembers it."""
        record = begun(ledger, "intent-1", "order_id", "page")
        reply = submit(
            ledger, _with(confirm(record), (brings(order_id="A1", page="x" * LIMIT),)), Advanced
        )
        assert reply.told == tuple(ledger.contexts.history("", "chat-42"))
        assert [(value.version, value.why) for value in reply.told] == [(1, ""), (2, "too_large")]
        assert submit(ledger, reserve_sent(wanted("plain")), Reserved).told == ()

    def test_what_is_overwritten_counts_no_more(self, ledger: Ledger) -> None:
        """However often a value is written, the limit is on what is current."""
        for serial in range(12):
            done(ledger, begun(ledger, f"page-{serial}", "page"), page="x" * (LIMIT // 3))
            done(ledger, begun(ledger, f"order-{serial}", "order_id"), order_id="y" * (LIMIT // 3))
        assert {key: len(value) for key, value in now_known(ledger).items()} == {
            "page": LIMIT // 3, "order_id": LIMIT // 3,
        }  # fmt: skip
        done(ledger, begun(ledger, "wide", "wide"), wide="z" * (LIMIT // 3 + 9))
        assert now_known(ledger)["wide"] is None, "with the other two it is too much"

    def test_a_late_first_send_looks_again(self, ledger: Ledger) -> None:
        """By what stands in its first event."""
        done(ledger, begun(ledger, "first", "order_id"), order_id="A1")
        born = PREPARE._replace(detail={"context": {"order_id": 1}})
        operation = _settled(wanted("use"), (), born=born)
        record = submit(ledger, _with(operation, (needs(("order_id", 1)),)), Reserved).record
        done(ledger, begun(ledger, "second", "order_id"), order_id="B2")
        send = advance(record, Event.SEND, State.SENT)
        reply = submit(ledger, _with(send, (StillNeeds(now=NOW),)), Lost)
        assert reply.blocked == "stale_context"
        assert reply.record == record, "nothing was written"

    def test_a_session_is_one_principals(self, ledger: Ledger) -> None:
        """Nobody else stores an action on it."""
        begun(ledger)
        other = _with(reserve_sent(wanted("other", principal="u8")), (needs(),))
        assert submit(ledger, other, Blocked).why == "foreign_session"

    def test_a_session_ends_and_is_said_to_have_ended(self, ledger: Ledger) -> None:
        """Use puts the end off; after it nothing is stored, until it begins anew."""
        begun(ledger)
        later = _with(reserve_sent(wanted("later")), (needs(now=UNTIL - 1),))
        submit(ledger, later, Reserved)
        again = _with(reserve_sent(wanted("again")), (needs(now=UNTIL + 1),))
        submit(ledger, again, Reserved)
        ended = _with(reserve_sent(wanted("ended")), (needs(now=UNTIL + 7200),))
        assert submit(ledger, ended, Blocked).why == "session_expired"
        anew = SessionRecord("", "chat-42", "u7", 0, "epoch-2", NOW, NOW, UNTIL + 9000)
        assert not ledger.contexts.renew(anew._replace(principal="u8"), now=UNTIL + 7200)
        assert ledger.contexts.renew(anew, now=UNTIL + 7200)
        submit(ledger, ended, Reserved)
        session = ledger.contexts.memory("", "chat-42").session
        assert session is not None
        assert session.epoch == "epoch-2"

    def test_an_outcome_is_written_whatever_its_values_weigh(self, ledger: Ledger) -> None:
        """A value above the limit is missing, with the reason; the action is confirmed."""
        record = begun(ledger, "intent-1", "page", "order_id")
        after = done(ledger, record, order_id="A1", page="x" * LIMIT)
        assert after.state is State.CONFIRMED
        assert now_known(ledger) == {"order_id": "A1", "page": None}
        why = {value.key: value.why for value in ledger.contexts.memory("", "chat-42").values}
        assert why == {"order_id": "", "page": "too_large"}

    def test_the_current_value_outlives_any_number_of_late_ones(self, ledger: Ledger) -> None:
        """What is kept is bounded, and never without the value that counts."""
        late = [begun(ledger, f"late-{serial}", "order_id") for serial in range(40)]
        done(ledger, begun(ledger, "quick", "order_id"), order_id="B2")
        for record in late:
            done(ledger, record, order_id="A1")
        assert now_known(ledger) == {"order_id": "B2"}
        assert 16 < len(ledger.contexts.history("", "chat-42")) <= 33

    def test_the_application_says_all_or_nothing(self, ledger: Ledger) -> None:
        """Within the limit, in its own session, before its end."""
        session = SessionRecord("", "chat-42", "u7", 0, "epoch-1", NOW, NOW, UNTIL)
        values = [Kept("customer_id", '"c7"'), Kept("level", '"gold"')]

        def say(who: str = "u7", now: float = NOW, limit: int = LIMIT) -> str:
            mine = session._replace(principal=who)
            return ledger.contexts.say(mine, values, now=now, limit_bytes=limit)

        assert say(limit=9) == "too_large"
        assert now_known(ledger) == {}
        assert say() == ""
        assert now_known(ledger) == {"customer_id": "c7", "level": "gold"}
        assert say("u8") == "foreign_session"
        assert say(now=UNTIL) == "session_expired"

    def test_an_undone_writer_takes_its_value_back(self, ledger: Ledger) -> None:
        """It stays visible, and is marked."""
        record = done(ledger, begun(ledger, "intent-1", "order_id"), order_id="A1")
        submit(ledger, advance(record, Event.COMPENSATE, State.COMPENSATED), Advanced)
        (value,) = ledger.contexts.memory("", "chat-42").values
        assert value.reversed == 1

    def test_clearing_leaves_actions_and_open_sessions_alone(self, ledger: Ledger) -> None:
        """What ended sessions remember goes; an action that is open keeps its session's memory."""
        done(ledger, begun(ledger, "done", "order_id"), order_id="A1")
        open_one = begun(ledger, "open", "order_id", session="chat-43")
        late = UNTIL + 1
        assert ledger.contexts.clear_expired(before=NOW, now=NOW) == 0, "none has ended"
        assert ledger.contexts.clear_expired(before=late, now=late) == 1
        assert ledger.contexts.clear_expired(before=late, now=late) == 0
        assert now_known(ledger) == {}
        assert len(ledger.contexts.memory("", "chat-43").pledges) == 1
        assert len(ledger.find(Filter(limit=1000))) == 2
        done(ledger, open_one, order_id="B2")
        assert ledger.contexts.clear_expired(before=late, now=late) == 1

    def test_two_processes_write_one_key_and_one_of_them_is_late(self, place: Place) -> None:
        """Both began at the same version: whoever comes second does not overwrite."""
        ledger = place.open()
        told = in_processes(2, children.provide_one, place, ())
        kept = ledger.contexts.history("", "chat-42")
        assert [value.superseded for value in kept] == [0, 1]
        assert sorted(value.writer for value in kept) == sorted(told)
        assert [value.version for value in kept] == [1, 2]
        assert len(ledger.contexts.memory("", "chat-42").values) == 1
        ledger.close()


def _settled(record: ActionRecord, told: tuple[Draft, ...], born: Draft = PREPARE) -> Reserve:
    operation = reserve(record, *((SEND, *told) if told else ()))
    return operation._replace(drafts=(born, *operation.drafts[1:]))
