"""Callers that go away, bodies that do not stop, and what is known of them all the same."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ascertain import Absent, Ascertain, Budget, Found, State
from ascertain.model.operations import Take
from ascertain.model.tables import Event
from ascertain.store.ledger import Filter
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

QUICK = Budget(turn_s=5.0, send_deadline_s=0.3, backoff_s=0.05, backoff_max_s=0.2)


@pytest.fixture
def app(tmp_path):
    with Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none", lease_s=0.5) as app:
        yield app


def only(app: Ascertain):
    (record,) = app.ledger.find(Filter())
    return record


async def come_to(app: Ascertain, state: State) -> None:
    """Let the loop turn until the action is in that state, at most five seconds."""
    for _ in range(500):
        if only(app).state is state:
            return
        await asyncio.sleep(0.01)


async def cancelled(task: asyncio.Task, once: asyncio.Event) -> None:
    """Cancel the task when the event has come, and see it end so."""
    await asyncio.wait_for(once.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancelled_during_the_lookup_it_is_unknown_and_due_and_sends_nothing_more(app):
    """The question is abandoned; the worker asks it again."""
    asking, sends = asyncio.Event(), []

    @app.tool(key_lifetime="1h", budget=QUICK)
    async def pay(order_id: str) -> dict:
        sends.append(order_id)
        raise ConnectionError

    @pay.lookup(absence_final_after=1)
    async def find(action):
        asking.set()
        await asyncio.Event().wait()

    async def caller() -> None:
        async with app.session("s", principal="u"):
            await pay(order_id="A1")

    await cancelled(asyncio.create_task(caller()), asking)
    record = only(app)
    assert (record.state, record.lease_owner, sends) == (State.UNKNOWN, None, ["A1"])
    assert record.due_at is not None


async def test_cancelled_during_the_back_off_nothing_is_sent_again(app):
    """The wait is abandoned; the same key waits for the worker."""
    lost, sends = asyncio.Event(), []

    @app.tool(key_lifetime="1h", budget=replace(QUICK, backoff_s=2.0, backoff_max_s=2.0))
    async def pay(order_id: str) -> dict:
        sends.append(order_id)
        lost.set()
        raise ConnectionError

    async def caller() -> None:
        async with app.session("s", principal="u"):
            await pay(order_id="A1")

    task = asyncio.create_task(caller())
    await lost.wait()
    await come_to(app, State.UNKNOWN)
    await cancelled(task, lost)
    record = only(app)
    assert (record.state, record.lease_owner, sends) == (State.UNKNOWN, None, ["A1"])


async def test_a_read_ends_with_its_caller(app, caplog):
    """Nothing has happened, and there is no action on which a late answer could land."""
    reading, ended = asyncio.Event(), asyncio.Event()

    @app.read(budget=QUICK)
    async def look(order_id: str) -> dict:
        reading.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def caller() -> None:
        async with app.session("s", principal="u"):
            await look(order_id="A1")

    await cancelled(asyncio.create_task(caller()), reading)
    await asyncio.wait_for(ended.wait(), 0.2)  # before its deadline
    assert "answer_not_recorded" not in caplog.text
    assert app.ledger.find(Filter()) == []


async def test_an_async_body_that_will_not_stop_is_given_up_at_its_deadline_and_lands_late(app):
    """It swallows its cancellation: unknown and suspect now, confirmed by itself in the end."""
    release = asyncio.Event()

    @app.tool(budget=replace(QUICK, send_deadline_s=0.1))
    async def pay(order_id: str) -> dict:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return {"id": "P1"}

    async with app.session("s", principal="u"):
        action = await pay(order_id="A1")
    assert action.state is State.UNKNOWN
    assert only(app).suspect, "it may still send"
    release.set()
    await come_to(app, State.CONFIRMED)
    assert (only(app).state, only(app).provider_ref, only(app).suspect) == (
        State.CONFIRMED, "P1", "",
    )  # fmt: skip


def test_a_sync_body_run_by_the_worker_outlives_its_loop_and_lands_from_its_thread(app):
    """A thread cannot be stopped: given up, suspected, and heard when it ends."""
    release, runs = threading.Event(), []

    @app.tool(key_lifetime="1h", budget=replace(QUICK, turn_s=0.2, turn_sends=1))
    def pay(order_id: str) -> dict:
        runs.append(order_id)
        if len(runs) == 1:
            raise ConnectionError
        assert release.wait(20)
        return {"id": "P1"}

    with app.session("s", principal="u"):
        assert pay(order_id="A1").state is State.UNKNOWN
    pause = threading.Event()
    while len(runs) < 2:
        app.recover()
        pause.wait(0.02)
    record = only(app)
    assert record.state is State.UNKNOWN
    assert "#2" in record.suspect, "attempt 2 is under way in a thread of this process"
    release.set()
    for _ in range(250):
        if only(app).state is State.CONFIRMED:
            break
        pause.wait(0.02)
    assert only(app).provider_ref == "P1"


async def test_what_is_allowed_next_can_be_taken_of_an_async_tool(app):
    """query_payment asks the provider, on the loop."""
    answers = iter([TimeoutError(), TimeoutError(), Found("P7")])

    @app.tool(noun="payment", budget=replace(QUICK, turn_s=0.3, backoff_s=1.0, backoff_max_s=1.0))
    async def pay(order_id: str) -> dict:
        raise ConnectionError

    @pay.lookup(absence_final_after=60)
    async def find(action):
        answer = next(answers, Absent)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with app.session("s", principal="u") as session:
        await pay(order_id="A1")
        assert "query_payment" in session.facts()["next_allowed"]
        await session.take_async("query_payment")
        facts = await session.take_async("query_payment")
    assert facts["actions"][0]["provider_ref"] == "P7"


class CancelsAt:
    """Cancels the caller as it hands over a write: it takes effect where it waits for that."""

    def __init__(self, app: Ascertain, is_the_one: Callable[[Any], bool]) -> None:
        self._task: asyncio.Task | None = None
        self.written: list[str] = []
        self._is_the_one = is_the_one
        app.hands.on_effect = self

    def __call__(self, when: str, effect: Any) -> None:
        if when != "before" or self._task is None or asyncio.current_task() is not self._task:
            return
        self.written += [str(draft.event) for draft in getattr(effect, "drafts", ())]
        if self._is_the_one(effect):
            self._task.cancel()

    async def cancelled(self, caller: Coroutine[Any, Any, Any]) -> None:
        self._task = asyncio.create_task(caller)
        with pytest.raises(asyncio.CancelledError):
            await self._task


def loses(effect: Any) -> bool:
    return any(draft.event is Event.LOSE for draft in getattr(effect, "drafts", ()))


def takes(effect: Any) -> bool:
    return isinstance(effect, Take)


@pytest.fixture(params=["no rate", "a rate"])
def pay(app, request):
    """Loses each answer but the last; what the provider has is found."""
    rate = None if request.param == "no rate" else "1000/s"

    @app.tool(key_lifetime="1h", budget=QUICK, rate=rate)
    async def pay(order_id: str) -> dict:
        pay_.sends += 1
        raise ConnectionError

    @pay.lookup(absence_final_after=1)
    async def find(action):
        pay_.asked += 1
        return Found("P1")

    pay_ = SimpleNamespace(tool=pay, sends=0, asked=0)
    return pay_


async def paid(app, pay) -> None:
    async with app.session("s", principal="u"):
        await pay.tool(order_id="A1")


async def test_cancelled_while_the_lost_answer_is_written_it_ends_with_what_is_recorded(app, pay):
    """Nobody asks for a caller who is gone, and no question is counted: the worker has them all."""
    cancels = CancelsAt(app, loses)
    await cancels.cancelled(paid(app, pay))
    record = only(app)
    assert (record.state, record.lease_owner) == (State.UNKNOWN, None)
    assert (record.asked, record.unanswered, pay.asked) == (0, 0, 0)
    assert cancels.written == ["prepare", "send", "lose"]
    await asyncio.to_thread(app.recover)
    assert (only(app).provider_ref, pay.asked, pay.sends) == ("P1", 1, 1)


async def test_cancelled_while_it_takes_over_what_is_open_it_neither_asks_nor_sends(app, pay):
    """Another caller's action, whose lease is free: it is given back as it was found."""
    await CancelsAt(app, loses).cancelled(paid(app, pay))
    before = only(app)
    cancels = CancelsAt(app, takes)
    await cancels.cancelled(paid(app, pay))
    record = only(app)
    assert (record.state, record.lease_owner, record.n) == (State.UNKNOWN, None, before.n)
    assert (record.asked, pay.asked, pay.sends) == (0, 0, 1)
    await asyncio.to_thread(app.recover)
    assert only(app).provider_ref == "P1"


async def test_cancelled_while_it_takes_over_what_may_be_repeated_nothing_is_sent(app):
    """No look-up: the same key may be sent again, and is not, for nobody waits for it."""
    sends = []

    @app.tool(key_lifetime="1h", budget=replace(QUICK, turn_sends=1))
    async def pay(order_id: str) -> dict:
        sends.append(order_id)
        if len(sends) == 1:
            raise ConnectionError
        return {"id": "P1"}

    async def caller() -> None:
        async with app.session("s", principal="u"):
            await pay(order_id="A1")

    await caller()
    before, later = only(app), app.hands.clock() + QUICK.backoff_max_s
    app.hands.clock = lambda: later  # it may be repeated from here on
    await CancelsAt(app, takes).cancelled(caller())
    record = only(app)
    assert (record.state, record.lease_owner, record.n) == (State.UNKNOWN, None, before.n)
    assert (record.attempt, len(sends)) == (1, 1)
