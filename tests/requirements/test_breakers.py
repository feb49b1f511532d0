"""F17: a tool whose provider keeps giving no answer is closed for automatic sends for a while."""

from __future__ import annotations

import asyncio
import json

import pytest

from ascertain import Absent, Ascertain, Breaker, Budget, NotAllowed, Refused, State
from ascertain.errors import ContractError
from ascertain.model.breaker import TURNS, BreakerRecord, Circuit, Turn, turn
from ascertain.store.ledger import Filter
from ascertain.testing import invariants
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

ONCE = Budget(turn_sends=1, turn_s=2.0, sends=6, send_deadline_s=0.5, backoff_s=0.01)


class Clinic:
    """A provider that is ill at times, the tools that use it, and a clock that a test moves."""

    def __init__(self, folder, *, lookup=False, settling="1s", **said) -> None:
        self.now = 1000.0
        self.settling = settling
        self.ill: BaseException | None = None
        self.sent: list[int] = []
        self.asked: list[str] = []
        self.answers = lookup
        self.url = ledger_url(f"{folder}/clinic.db")
        self.app = self.process(lookup=lookup, **said)
        self.book = self.tool(self.app, lookup=lookup, **said)

    def process(self, **_):
        """Another process on the same ledger, as far as this one can tell."""
        return Ascertain(self.url, worker="none", lease_s=0.3, clock=lambda: self.now)

    def tool(self, app, *, lookup=False, name="book", **said):
        breaker = Breaker(after=3, within="60s", cool_down="30s")
        promises = {"identity": ["n"], "budget": ONCE, "breaker": breaker, "name": name} | said

        @app.tool(**promises)
        def book(n: int) -> dict:
            self.sent.append(n)
            if self.ill is not None:
                raise self.ill
            return {"id": f"B{n}"}

        if lookup:

            @book.lookup(absence_final_after=self.settling)
            def find(action):
                self.asked.append(action.key)
                if not self.answers:
                    raise TimeoutError
                return Absent

        return book

    def call(self, n, book=None):
        with self.app.session(f"chat-{n}", principal="u7"):
            return (book or self.book)(n=n)

    def falls_ill(self, calls=3, error=None):
        self.ill = error or TimeoutError()
        return [self.call(n) for n in range(calls)]

    def circuit(self):
        return {record.name: str(record.circuit) for record in self.app.ledger.breakers.all()}


@pytest.fixture
def clinic(tmp_path):
    clinic = Clinic(tmp_path)
    yield clinic
    clinic.app.close()


def test_req_F17_some_lost_replies_among_many_callers_at_once_open_nothing(tmp_path):
    """Every fifth of forty replies is lost: the provider is well, and its breaker stays closed."""
    app = Ascertain(ledger_url(f"{tmp_path}/many.db"), worker="none")

    @app.tool(identity=["n"], budget=ONCE, breaker=Breaker(after=3))
    async def book(n: int) -> dict:
        if n % 5 == 0:
            await asyncio.Event().wait()  # until its deadline
        return {"id": f"B{n}"}

    async def one(n):
        async with app.session(f"chat-{n}", principal="u7"):
            return await book(n=n)

    async def everybody():
        return await asyncio.gather(*(one(n) for n in range(40)))

    actions = asyncio.run(everybody())
    assert [action.state for action in actions].count(State.UNKNOWN) == 8
    assert app.ledger.breakers.all() == []
    app.close()


def test_req_F17_after_so_many_silent_sends_calls_are_taken_as_manual_work_and_say_so(clinic):
    clinic.falls_ill()
    action = clinic.call(10)
    assert (action.state, action.record.review) == (State.PREPARED, "circuit_open")
    assert clinic.sent == [0, 1, 2]
    facts = action.facts()
    assert (facts["workflow_state"], facts["next_allowed"]) == (
        "needs_review", ["ask_person", "wait"],
    )  # fmt: skip
    assert facts["actions"][0]["reason"] == "circuit_open"
    assert "left to a person, nothing has been sent" in action.say()
    assert action.say("zh-CN") == "book暂停自动提交，已转人工处理，尚未提交。"


def test_req_F17_a_business_refusal_is_an_answer_and_breaks_a_row_of_silence(clinic):
    for n, error in enumerate([TimeoutError(), TimeoutError(), Refused("FULL")] * 3):
        clinic.ill = error
        clinic.call(n)
    assert clinic.circuit() == {}
    assert len(clinic.sent) == 9


@pytest.mark.parametrize("kind", ["unavailable", "throttled"])
def test_req_F17_not_now_counts_as_silence(clinic, kind):
    clinic.falls_ill(error=Refused("LATER", kind=kind, retryable=True))
    assert clinic.circuit() == {"book": "open"}


def test_req_F17_silence_long_ago_does_not_count(clinic):
    clinic.ill = TimeoutError()
    for n in range(6):
        clinic.call(n)
        clinic.now += 40
    assert clinic.circuit() == {}


def test_req_F17_three_defects_in_a_row_after_something_may_have_left_close_the_tool(tmp_path):
    clinic = Clinic(tmp_path, breaker=True)
    clinic.falls_ill(error=KeyError("a defect"))
    assert clinic.circuit() == {"book": "open"}
    assert clinic.app.ledger.breakers.all()[0].why == "defects"
    clinic.app.close()


def test_req_F17_other_processes_see_it_and_so_does_one_that_starts_later(clinic):
    clinic.falls_ill()
    other = clinic.process()
    book = clinic.tool(other)
    with other.session("elsewhere", principal="u9"):
        action = book(n=77)
    assert (action.state, action.record.review) == (State.PREPARED, "circuit_open")
    assert 77 not in clinic.sent
    other.close()


def test_req_F17_without_look_up_one_send_tries_it_after_the_cool_down_and_closes_it(clinic):
    clinic.falls_ill()
    clinic.now += 29
    assert clinic.call(10).state is State.PREPARED
    clinic.now += 2
    clinic.ill = None
    assert clinic.call(11).state is State.CONFIRMED
    assert clinic.circuit() == {"book": "closed"}
    assert clinic.call(12).state is State.CONFIRMED


def test_req_F17_only_one_send_tries_it(clinic):
    clinic.falls_ill()
    clinic.now += 31
    clinic.ill = None
    held = []
    original = clinic.sent.append

    class Meanwhile(list):
        def append(self, n):
            original(n)
            if n == 11:
                held.append(clinic.call(12))

    clinic.sent = Meanwhile(clinic.sent)
    assert clinic.call(11).state is State.CONFIRMED
    assert held[0].record.review == "circuit_open"


def test_req_F17_a_try_that_gets_no_answer_opens_it_again(clinic):
    clinic.falls_ill()
    clinic.now += 31
    assert clinic.call(11).state is State.UNKNOWN
    assert clinic.circuit() == {"book": "open"}
    assert clinic.call(12).state is State.PREPARED
    assert clinic.sent == [0, 1, 2, 11]


def test_req_F17_look_ups_go_on_and_probe_first(tmp_path):
    """The provider cannot be asked yet: no send tries it. It answers: then one does."""
    clinic = Clinic(tmp_path, lookup=True, key_lifetime="24h")
    clinic.answers = False
    clinic.falls_ill()
    assert clinic.circuit() == {"book": "open"}
    clinic.now += 31
    sends = len(clinic.sent)
    asked = len(clinic.asked)
    clinic.app.recover()
    assert len(clinic.asked) > asked
    assert len(clinic.sent) == sends
    assert clinic.circuit() == {"book": "open"}
    clinic.answers, clinic.ill = True, None
    clinic.now += 31
    clinic.app.recover()
    clinic.now += 2
    clinic.app.recover()
    assert clinic.circuit() == {"book": "closed"}
    assert {record.state for record in _all(clinic.app)} == {State.CONFIRMED}
    clinic.app.close()


def test_req_F17_an_answer_that_tells_nothing_new_is_an_answer_too(tmp_path):
    """Absent, as before, and not final: nothing is written of it, and yet the provider is there."""
    clinic = Clinic(tmp_path, lookup=True, settling="1h", key_lifetime="24h")
    clinic.falls_ill()
    assert clinic.circuit() == {"book": "open"}
    clinic.now += 31
    asked, sends = len(clinic.asked), len(clinic.sent)
    clinic.ill = None
    passes = 0
    while clinic.circuit() != {"book": "closed"}:
        clinic.app.recover()
        clinic.now += 0.1
        passes += 1
        assert passes < 20, clinic.circuit()
    assert len(clinic.asked) - asked <= 6
    assert len(clinic.sent) > sends
    clinic.app.close()


def test_req_F17_resends_are_held_while_it_is_open(tmp_path):
    clinic = Clinic(tmp_path, key_lifetime="24h")
    first, *_ = clinic.falls_ill()
    clinic.now += 5
    clinic.app.recover()
    record = clinic.app.ledger.get(first.id)
    assert (record.state, record.attempt, record.review) == (State.UNKNOWN, 1, None)
    assert record.due_at >= 1030
    assert clinic.sent == [0, 1, 2]
    clinic.ill = None
    clinic.now += 30
    while clinic.app.recover():
        clinic.now += 1
    assert {one.state for one in _all(clinic.app)} == {State.CONFIRMED}
    assert clinic.circuit() == {"book": "closed"}
    for one in _all(clinic.app):
        events = clinic.app.ledger.events(one.id)
        assert not invariants.none_sent_while_open(one, events, [(1000.0, 1030.0)])
    clinic.app.close()


def test_req_F17_manual_work_is_released_by_a_person_and_never_sent_silently_hours_later(clinic):
    clinic.falls_ill()
    waits = clinic.call(10)
    with pytest.raises(NotAllowed, match="is not closed"):
        clinic.app.release(waits.id, by="ops")
    clinic.now += 31
    clinic.ill = None
    clinic.call(11)
    clinic.now += 7200
    clinic.app.recover()
    assert clinic.app.ledger.get(waits.id).state is State.PREPARED
    assert 10 not in clinic.sent
    clinic.app.release(waits.id, by="ops")
    clinic.app.recover()
    assert clinic.app.ledger.get(waits.id).state is State.CONFIRMED


def test_req_F17_a_release_that_no_worker_takes_up_ends_soon(clinic):
    clinic.falls_ill()
    waits = clinic.call(10)
    clinic.app.hands.breaking.close("book", by="ops")
    clinic.app.release(waits.id, by="ops")
    clinic.now += 301
    clinic.app.recover()
    record = clinic.app.ledger.get(waits.id)
    assert (record.state, record.reason) == (State.REJECTED, "not_wanted")
    assert 10 not in clinic.sent


def test_req_F17_manual_work_that_nobody_releases_is_withdrawn_when_its_time_has_passed(tmp_path):
    clinic = Clinic(tmp_path, send_by="10m")
    clinic.falls_ill()
    waits = clinic.call(10)
    clinic.now += 601
    clinic.app.recover()
    record = clinic.app.ledger.get(waits.id)
    assert (record.state, record.reason) == (State.REJECTED, "not_wanted")
    with pytest.raises(NotAllowed):
        clinic.app.release(waits.id, by="ops")
    clinic.app.close()


def test_req_F17_a_person_closes_it_and_it_is_on_the_log(clinic, caplog):
    clinic.falls_ill()
    with pytest.raises(NotAllowed, match="is not open"):
        clinic.app.hands.breaking.close("other", by="ops")
    clinic.app.hands.breaking.close("book", by="ops")
    clinic.ill = None
    assert clinic.call(10).state is State.CONFIRMED
    lines = [json.loads(r.message) for r in caplog.records if '"breaker"' in r.message]
    turns = [(line["from"], line["to"], line["by"]) for line in lines]
    assert turns == [("closed", "open", None), ("open", "closed", "ops")]


def test_req_F17_tools_of_one_provider_open_together_and_its_reads_probe(tmp_path):
    crm = Breaker(after=3, cool_down="30s", group="crm")
    clinic = Clinic(tmp_path, breaker=crm)
    cancel = clinic.tool(clinic.app, name="cancel", breaker=crm)

    @clinic.app.read(breaker=crm)
    def slots(day: str) -> list:
        return ["09:00"]

    clinic.falls_ill()
    assert clinic.call(10, cancel).record.review == "circuit_open"
    clinic.now += 31
    clinic.ill = None
    assert clinic.call(11, cancel).state is State.PREPARED  # the provider is asked first
    with clinic.app.session("s", principal="u7"):
        assert slots(day="mon").confirmed
    assert clinic.circuit() == {"crm": "probing"}
    assert clinic.call(12, cancel).state is State.CONFIRMED
    assert clinic.circuit() == {"crm": "closed"}
    clinic.app.close()


def test_req_F17_an_async_caller_is_held_too_and_its_loop_never_waits(tmp_path):
    clinic = Clinic(tmp_path)
    sent = []

    async def story():
        app = clinic.process()

        @app.tool(identity=["n"], budget=ONCE, breaker=Breaker(after=3))
        async def note(n: int) -> dict:
            sent.append(n)
            raise TimeoutError

        async with app, app.session("s", principal="u7"):
            for n in range(3):
                await note(n=n)
            held = await note(n=9)
            assert (held.state, sent) == (State.PREPARED, [0, 1, 2])

        assert {r.name: r.circuit for r in clinic.app.ledger.breakers.all()} == {"note": "open"}

    asyncio.run(story())
    clinic.app.close()


def test_req_F17_the_machine_is_a_table_and_every_row_leads_somewhere():
    known = {(row.start, row.turn): row.end for row in TURNS}
    for start in Circuit:
        for what in Turn:
            assert turn(start, what) == known.get((start, what))
    assert {row.start for row in TURNS} == {row.end for row in TURNS} == set(Circuit)
    assert turn(Circuit.CLOSED, Turn.CLOSE) is None


def test_two_who_turn_a_breaker_at_the_same_moment_do_not_both_win(clinic):
    breakers = clinic.app.ledger.breakers
    closed = BreakerRecord("x")
    one = closed._replace(circuit=Circuit.OPEN, why="silent", n=1)
    other = closed._replace(circuit=Circuit.OPEN, why="defects", n=1)
    assert breakers.turn(closed, one) == one
    assert breakers.turn(closed, other) == one
    assert breakers.all() == [one]


@pytest.mark.parametrize("said", [{"after": 0}, {"within": 0}, {"cool_down": "soon"}])
def test_req_F17_a_breaker_that_makes_no_sense_is_refused_at_registration(tmp_path, said):
    with pytest.raises(ContractError, match="book"):
        Clinic(tmp_path, breaker=Breaker(**said))


def _all(app):
    return app.ledger.find(Filter())
