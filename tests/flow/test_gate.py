"""The gate and what it lets through, effect by effect; the ledger and the clock are the test's."""

from dataclasses import replace

import pytest

from ascertain.errors import InvalidArguments, LedgerFull, SessionExpired
from ascertain.flow.call import Wanted
from ascertain.flow.context import read_in_context, write_in_context
from ascertain.flow.effects import Fetch, Invoke, Look, Looked, Setting, Settle, Tell, Vet
from ascertain.flow.gate import Need, Passage, Source, pass_gate
from ascertain.model.chain import ChainRecord, Joins
from ascertain.model.contract import Budget, Contract
from ascertain.model.operations import Advance, Advanced, Blocked, Reserve, Reserved
from ascertain.model.outcome import Kind, Report
from ascertain.model.session import Memory, Needs, Pledge, Provides, Remembered, SessionRecord
from ascertain.model.tables import State
from ascertain.rules.budget import Turn
from ascertain.rules.gate import Tiers
from tests.flow.stage import ok, prepared

NOW = 1000.0
WRITE = Contract(tool="refund", noun="refund", context={"order": "order_id"}, budget=Budget())
READ = Contract(tool="query", noun="order", access="read", provides={"order_id": "id"})
SESSION = SessionRecord("t", "s", "u7", 1, "e", NOW, NOW, NOW + 100)
VALUE = Remembered("order_id", 1, '"A1"', "", "a0", "c0", 0, NOW, NOW, 0, "query")
NOTHING = Looked(Memory(None), {})
THERE = Looked(Memory(SESSION, (VALUE,)), {})


def make(filled, chain):
    record = prepared(chain=chain, mode="guard")
    wanted = Wanted(
        record=record, arguments="{}", contract_json="{}", rebuild=lambda earlier: record
    )
    return wanted, dict(filled)


NEED = Need(
    tenant="t", session="s", principal="u7", call_id="", given={}, expires_at=NOW + 100,
    epoch=lambda: "e", keys=(), tiers=Tiers(wait_s=0.5), sources=lambda key, found: (),
    elsewhere=frozenset({"order_id"}), make=make, held=lambda keys: make({}, "")[0],
)  # fmt: skip


class Play:
    """Answers effects: the replies of a kind in their order, the last one for ever."""

    def __init__(self, contract, **replies):
        self.now = NOW
        self.setting = Setting(
            contract=contract, sender="me", clock=lambda: self.now, dice=lambda: 0.0, lease_s=7.0
        )
        self.replies = {name: list(some) for name, some in replies.items()}
        self.effects = []

    def write(self, need, turn):
        return self.run(write_in_context(self.setting, self.looking(need), turn))

    def read(self, need, turn):
        return self.run(read_in_context(self.setting, self.looking(need), turn))

    def looking(self, need):
        return need._replace(keys=self.setting.contract.context_keys)

    def run(self, flow):
        try:
            effect = next(flow)
            while True:
                self.effects.append(effect)
                reply = self.reply(effect)
                effect = flow.throw(reply) if isinstance(reply, Exception) else flow.send(reply)
        except StopIteration as stop:
            return stop.value

    def reply(self, effect):
        some = self.replies.get(type(effect).__name__.lower())
        if some:
            reply = some.pop(0) if len(some) > 1 else some[0]
            return reply(effect) if callable(reply) else reply
        match effect:
            case Reserve(record=record):
                return Reserved(record=record, via="new")
            case Advance(after=after):
                return Advanced(record=after)
            case Settle(seconds=seconds):
                self.now += seconds
                return seconds
            case Invoke():
                return ok()
            case Vet() | Tell():
                return None
            case _:
                raise AssertionError(f"nobody said how {effect} is answered")

    def kinds(self):
        return [type(effect).__name__ for effect in self.effects]

    def told(self):
        (reserve,) = [effect for effect in self.effects if isinstance(effect, Reserve)]
        return reserve.drafts[0].detail


def turn(seconds=30.0):
    return Turn(2, NOW + seconds)


def test_what_is_there_is_filled_in_and_the_ledger_checks_it_again():
    play = Play(WRITE, look=[THERE])
    ended = play.write(NEED, turn())
    assert ended.record.state is State.CONFIRMED
    assert ended.record.chain == "c0"
    assert play.kinds() == ["Look", "Vet", "Reserve", "Invoke", "Advance"]
    (needs,) = play.effects[2].beside
    assert isinstance(needs, Needs)
    assert needs.read == (("order_id", 1),)
    assert play.told()["writers"] == {"order_id": "a0"}


def test_a_wait_never_outlasts_the_turn():
    play = Play(WRITE, look=[Looked(Memory(None), {"order_id": (1, 0)})])
    ended = play.write(NEED, turn(0.7))
    assert ended.record.reason == "context_pending"
    waits = [effect.seconds for effect in play.effects if isinstance(effect, Settle)]
    assert waits == [0.5, pytest.approx(0.2)]
    assert not any(isinstance(effect, Invoke) for effect in play.effects)


def test_stale_again_and_again_is_held_and_not_made():
    blocked = Blocked(by=Needs(now=NOW, expires_at=NOW, epoch="e"), why="stale_context")
    stored = lambda effect: Reserved(record=effect.record, via="new")  # noqa: E731
    play = Play(WRITE, look=[THERE], reserve=[blocked, blocked, blocked, stored])
    ended = play.write(NEED, turn())
    assert (ended.record.state, ended.record.reason) == (State.REJECTED, "context_stale")
    held = play.effects[-1]
    assert held.drafts[0].detail["tiers"] == [["again", "stale_context"]] * 3
    assert "Invoke" not in play.kinds()


def test_a_session_that_ends_between_gate_and_ledger_is_an_error():
    ended = Blocked(by=Needs(now=NOW, expires_at=NOW, epoch="e"), why="session_expired")
    play = Play(WRITE, look=[THERE], reserve=[ended])
    with pytest.raises(SessionExpired):
        play.write(NEED, turn())
    assert "Invoke" not in play.kinds()


@pytest.mark.parametrize("state, how", [(State.CONFIRMED, "replayed"), (State.UNKNOWN, "joined")])
def test_a_call_that_was_made_before_is_what_it_is_though_its_context_is_gone(state, how):
    """A framework repeats a call by its id: "not made" would be a lie."""
    made = prepared(state=state, tool="refund")
    play = Play(WRITE, look=[NOTHING, NOTHING, NOTHING._replace(called=made)])
    again = NEED._replace(call_id="c1", tiers=Tiers(wait_s=0.1, waits=1))
    ended = play.write(again, turn())
    assert (ended.record, ended.how) == (made, how)
    assert "Reserve" not in play.kinds()


@pytest.mark.parametrize("whose", [{"principal": "u8"}, {"tool": "cancel"}])
def test_another_principals_or_tools_call_of_the_same_id_is_not_told(whose):
    made = prepared(state=State.CONFIRMED, **{"tool": "refund", **whose})
    play = Play(WRITE, look=[NOTHING, NOTHING._replace(called=made)])
    again = NEED._replace(call_id="c1", tiers=Tiers(waits=0))
    ended = play.write(again, turn())
    assert ended.record.reason == "context_missing"


def test_three_reads_are_the_most_that_the_gate_runs():
    many = NEED._replace(
        sources=lambda key, found: tuple(Source(f"read{n}") for n in range(9)),
        tiers=Tiers(waits=0),
    )  # fmt: skip
    play = Play(WRITE, look=[NOTHING], fetch=[False])
    ended = play.write(many, turn())
    assert ended.record.reason == "context_missing"
    fetched = [effect.tool for effect in play.effects if isinstance(effect, Fetch)]
    assert fetched == ["read0", "read1", "read2"]


def test_an_older_doubt_does_not_stand_before_a_newer_value():
    old = Pledge("order_id", "a9", 0, State.UNKNOWN, 0)
    new = Pledge("order_id", "a9", 1, State.UNKNOWN, 0)
    for pledge, expected in ((old, State.CONFIRMED), (new, State.REJECTED)):
        play = Play(WRITE, look=[Looked(Memory(SESSION, (VALUE,), (pledge,)), {})])
        ended = play.write(NEED, turn())
        assert ended.record.state is expected


def test_what_was_undone_is_no_value():
    undone = VALUE._replace(reversed=1)
    play = Play(WRITE, look=[Looked(Memory(SESSION, (undone,)), {})])
    ended = play.write(NEED, turn(0.0))
    assert ended.record.reason == "context_missing"


def test_a_fresh_key_that_fills_nothing_is_checked_too():
    contract = replace(WRITE, context={}, fresh_s={"order_id": 60.0})
    play = Play(contract, look=[THERE])
    play.write(NEED, turn())
    assert play.told() == {"context": {"order_id": 1}, "writers": {"order_id": "a0"}, "filled": []}


def test_an_optional_key_that_is_missing_is_left_out():
    contract = replace(WRITE, optional_context=("order_id",), fresh_s={"other": 60.0})
    contract = replace(contract, optional_context=("order_id", "other"))
    play = Play(contract, look=[NOTHING])
    ended = play.write(NEED, turn())
    assert ended.record.state is State.CONFIRMED
    assert play.effects[-1].before.chain == ""


def test_a_callers_own_wrong_argument_is_the_callers_error():
    def refuse(filled, chain):
        raise InvalidArguments("no", path="note")

    play = Play(WRITE, look=[THERE])
    with pytest.raises(InvalidArguments):
        play.write(NEED._replace(make=refuse), turn())


def test_a_denied_call_pledges_nothing():
    contract = replace(WRITE, provides={"refund_id": "id"})
    play = Play(contract, look=[THERE], vet=[(Kind.AUTH, "permission")])
    ended = play.write(NEED, turn())
    assert ended.record.kind is Kind.AUTH
    assert play.effects[2].beside[0].pledges == ()


# ------------------------------------------------------------------------------------------ chains

STEP = NEED._replace(seat="refund", named=True)
JOINS = Joins(chain=ChainRecord("c9", "t", "s", "u7", "", "", "", "", "", NOW), member=None)


def into_the_chain(denied=None):
    """The call becomes a step of the chain that is entered, which may keep it from being sent."""

    def taken_in(effect):
        wanted = effect.wanted
        return wanted._replace(
            record=wanted.record._replace(chain="c9"), denied=denied, beside=(JOINS,)
        )

    return taken_in


def test_a_call_in_a_chain_is_a_step_of_it_before_anything_is_stored():
    play = Play(WRITE, look=[THERE], admit=[into_the_chain()])
    ended = play.write(STEP, turn())
    assert play.kinds() == ["Look", "Admit", "Vet", "Reserve", "Invoke", "Advance"]
    assert play.effects[1].seat == "refund"
    reserve = play.effects[3]
    assert reserve.record.chain == "c9", "the chain that is entered, not its value's writer's"
    assert [type(one) for one in reserve.beside] == [Joins, Needs]
    assert ended.record.state is State.CONFIRMED


def test_a_step_whose_turn_it_is_not_is_on_record_and_never_sent():
    """Its permission and its context are there; the chain alone keeps it back."""
    waits = into_the_chain(denied=(Kind.WITHDRAWN, "waits_for:query"))
    play = Play(replace(WRITE, provides={"refund_id": "id"}), look=[THERE], admit=[waits])
    ended = play.write(STEP, turn())
    assert (ended.record.state, ended.record.reason) == (State.REJECTED, "waits_for:query")
    assert "Invoke" not in play.kinds()
    assert play.effects[-1].beside[1].pledges == ()


def test_a_step_that_is_held_at_the_gate_has_been_tried_under_its_name():
    play = Play(WRITE, look=[NOTHING], admit=[into_the_chain()])
    ended = play.write(STEP._replace(tiers=Tiers(waits=0)), turn())
    assert play.kinds() == ["Look", "Admit", "Reserve"]
    assert play.effects[-1].beside == (JOINS,)
    assert (ended.record.reason, ended.record.chain) == ("context_missing", "c9")


def test_one_without_a_name_is_no_step_while_it_is_held():
    """Once it is made it becomes one; until then the chain waits for nobody."""
    unnamed = STEP._replace(named=False, tiers=Tiers(waits=0))
    play = Play(WRITE, look=[NOTHING])
    play.write(unnamed, turn())
    assert play.kinds() == ["Look", "Reserve"]


def test_a_read_in_a_chain_is_a_step_that_is_stored_with_its_answer():
    contract = replace(READ, provides={})
    play = Play(contract, look=[NOTHING], admit=[into_the_chain()])
    ended = play.read(STEP, turn())
    assert play.kinds() == ["Look", "Vet", "Admit", "Invoke", "Reserve"]
    assert play.effects[-1].beside[0] is JOINS
    assert (ended.record.state, ended.record.chain) == (State.CONFIRMED, "c9")


# ------------------------------------------------------------------------------------------- reads


def test_a_read_is_recorded_after_the_wire_with_what_it_brings():
    play = Play(READ, look=[THERE], invoke=[Report(value={"id": "B2"}, result='{"id":"B2"}')])
    ended = play.read(NEED, turn())
    assert play.kinds() == ["Look", "Vet", "Invoke", "Reserve"]
    needs, brings = play.effects[-1].beside
    assert isinstance(needs, Needs)
    assert isinstance(brings, Provides)
    assert brings.base == 1, "what was current when it was asked"
    assert [kept.value for kept in brings.values] == ['"B2"']
    assert [str(draft.event) for draft in play.effects[-1].drafts] == ["prepare", "send", "confirm"]
    assert (ended.record.state, ended.record.due_at) == (State.CONFIRMED, None)


def test_a_read_that_finds_nothing_out_is_not_recorded():
    play = Play(READ, look=[NOTHING], invoke=[Report(error=TimeoutError())])
    once = replace(READ, budget=Budget(sends=1))
    play.setting = play.setting._replace(contract=once)
    ended = play.read(NEED, turn())
    assert ended.record.state is State.REJECTED
    assert "Reserve" not in play.kinds()


def test_a_read_in_no_chain_that_brings_nothing_costs_no_commit():
    contract = replace(READ, provides={}, context={"order": "order_id"})
    play = Play(contract, look=[Looked(Memory(SESSION, (VALUE._replace(chain=""),)), {})])
    ended = play.read(NEED, turn())
    assert ended.record.state is State.CONFIRMED
    assert "Reserve" not in play.kinds()


def test_an_answer_that_cannot_be_recorded_is_an_answer_all_the_same():
    """The operator is told; whoever needs the key finds nothing, and reads for itself."""
    play = Play(READ, look=[NOTHING], reserve=[LedgerFull("full")])
    ended = play.read(NEED, turn())
    assert ended.record.state is State.CONFIRMED
    tell = play.effects[-1]
    assert isinstance(tell, Tell)
    assert (tell.event, dict(tell.said)) == ("context_not_recorded", {"ledger": "ledger_full"})


def test_an_answer_for_a_session_that_has_ended_meanwhile_is_refused():
    ended = Blocked(by=Needs(now=NOW, expires_at=NOW, epoch="e"), why="session_expired")
    play = Play(READ, look=[NOTHING], reserve=[ended])
    with pytest.raises(SessionExpired):
        play.read(NEED, turn())
    assert play.kinds()[-1] == "Tell"


def test_whatever_else_keeps_a_read_from_being_recorded_is_told_and_its_answer_stands():
    blocked = Blocked(by=Needs(now=NOW, expires_at=NOW, epoch="e"), why="something_new")
    play = Play(READ, look=[NOTHING], reserve=[blocked])
    ended = play.read(NEED, turn())
    assert ended.record.state is State.CONFIRMED
    assert dict(play.effects[-1].said) == {"ledger": "something_new"}


def test_the_gate_looks_for_what_was_shown_only_where_a_caller_may_name_it():
    contract = replace(WRITE, context={}, either={"order": "order_id"})
    named = NEED._replace(given={"order": "A1"})
    play = Play(contract, look=[THERE._replace(history=(VALUE,))])
    play.write(named, turn())
    (asked,) = [effect for effect in play.effects if isinstance(effect, Look)]
    assert asked.history


def test_what_is_just_being_looked_up_may_be_what_a_caller_names():
    contract = replace(WRITE, context={}, either={"order": "order_id"})
    named = NEED._replace(given={"order": "B2"})
    shown = VALUE._replace(value='"B2"', version=2)
    under_way = Looked(Memory(SESSION, (VALUE,)), {"order_id": (1, 0)}, (VALUE,))
    then = Looked(Memory(SESSION, (shown,)), {}, (VALUE, shown))
    play = Play(contract, look=[under_way, then])
    ended = play.write(named, turn())
    assert ended.record.state is State.CONFIRMED
    assert play.kinds().count("Settle") == 1


def test_what_is_known_of_a_moment_ago_is_not_used_once_it_is_too_old():
    """The look decides, and what is known here is not even an answer for now."""
    old = VALUE._replace(began_at=NOW - 60)
    need = NEED._replace(keys=("order_id",), recent=lambda: Memory(SESSION, (old,)))
    play = Play(replace(WRITE, fresh_s={"order_id": 5.0}))
    first = next(pass_gate(play.setting, need, Turn(1, NOW + 30), Passage()))
    assert isinstance(first, Look)
    fresh = NEED._replace(keys=("order_id",), recent=lambda: Memory(SESSION, (VALUE,)))
    with pytest.raises(StopIteration) as passed:
        next(pass_gate(play.setting, fresh, Turn(1, NOW + 30), Passage()))
    assert passed.value.value.recent


def test_what_has_become_too_old_before_the_send_is_looked_up_again():
    """The look was in time; the person's consent took longer than the order's state keeps."""
    play = Play(replace(WRITE, fresh_s={"order_id": 5.0}))
    now = VALUE._replace(version=2, value='"A2"', began_at=NOW + 10)
    play.replies = {
        "look": [THERE, Looked(Memory(SESSION, (now,)), {})],
        "vet": [lambda _: setattr(play, "now", NOW + 10), None],
    }
    ended = play.write(NEED, turn())
    assert play.kinds() == ["Look", "Vet", "Look", "Vet", "Reserve", "Invoke", "Advance"]
    assert ended.record.state is State.CONFIRMED
    assert play.told()["context"] == {"order_id": 2}
