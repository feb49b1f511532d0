"""P08: a step of a parallel chain waits for exactly the steps it depends on, and no longer."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from ascertain import Ascertain, Budget, Refused, State, key
from ascertain.errors import ContractError
from ascertain.flow.effects import Attend
from ascertain.model.chain import Direction
from ascertain.store.ledger import Filter
from ascertain.testing.crash import WAIT_POINTS, crash_everywhere
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

SHORT = Budget(turn_s=0.4, turn_sends=1, send_deadline_s=0.3)
LONG_S = 10.0


@pytest.fixture
def app(tmp_path):
    app = Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none", lease_s=0.3)
    yield app
    app.close()


class Parcels:
    """Async tools whose packing takes until it is let go; what was done is written down."""

    def __init__(self, app: Ascertain, *, refuses: frozenset[str] = frozenset()) -> None:
        self.log: list[str] = []
        self.begun: dict[str, asyncio.Event] = {}
        self.waiting = asyncio.Event()
        app.hands.on_effect = self._seen
        self.let_go: dict[str, asyncio.Event] = {}

        @app.tool(identity=["part"], name="pack")
        async def pack(part: str) -> dict:
            self.log.append(f"{part} begins")
            self.begun.setdefault(part, asyncio.Event()).set()
            await self.let_go.setdefault(part, asyncio.Event()).wait()
            if part in refuses:
                raise Refused("OUT_OF_STOCK")
            self.log.append(f"{part} ends")
            return {"id": part}

        @app.tool(identity=["order_id"], name="ship")
        async def ship(order_id: str) -> dict:
            self.log.append("ship")
            return {"id": "S1"}

        self.pack, self.ship = pack, ship

        @app.tool(identity=["order_id"], budget=SHORT)
        async def ship_soon(order_id: str) -> dict:
            self.log.append("ship")
            return {"id": "S1"}

        self.ship_soon = ship_soon

    def _seen(self, side: str, effect: object) -> None:
        if isinstance(effect, Attend):
            self.waiting.set()

    async def waits(self) -> None:
        """Until some step has begun to wait."""
        async with asyncio.timeout(LONG_S):
            await self.waiting.wait()

    def may_end(self, part: str) -> None:
        self.let_go.setdefault(part, asyncio.Event()).set()

    async def began(self, part: str) -> None:
        async with asyncio.timeout(LONG_S):
            await self.begun.setdefault(part, asyncio.Event()).wait()


def test_req_P08_a_parallel_step_waits_for_exactly_the_steps_it_depends_on(app, order):
    parcels = Parcels(app)
    pack, ship = parcels.pack, parcels.ship

    async def run():
        session = app.session("s", principal="u7")
        async with session, session.chain(order, ordered=False) as wish:
            tasks = [
                asyncio.create_task(wish.step("a", pack)(part="a")),
                asyncio.create_task(wish.step("slow", pack)(part="slow")),
                asyncio.create_task(wish.step("ship", ship, after=["a"])(order_id=order)),
            ]
            await parcels.began("slow")
            await parcels.waits()
            assert "ship" not in parcels.log, "what it depends on is still under way"
            parcels.may_end("a")
            shipment = await tasks[2]
            assert not tasks[1].done(), "it waits for nothing else"
            parcels.may_end("slow")
            await asyncio.gather(*tasks)
        return shipment

    shipment = asyncio.run(run())
    assert shipment.state is State.CONFIRMED
    assert sorted(parcels.log[:2]) == ["a begins", "slow begins"]
    assert parcels.log[2:] == ["a ends", "ship", "slow ends"]


def test_req_P08_it_waits_for_a_step_that_is_named_and_about_to_be_called(app, order):
    """Tasks start in any order; a dependency that was named before is waited for like a call."""
    parcels = Parcels(app)

    async def run():
        session = app.session("s", principal="u7")
        async with session, session.chain(order, ordered=False) as wish:
            first = wish.step("a", parcels.pack)
            last = asyncio.create_task(wish.step("ship", parcels.ship, after=["a"])(order_id=order))
            await parcels.waits()
            parcels.may_end("a")
            await first(part="a")
            return await last

    assert asyncio.run(run()).state is State.CONFIRMED
    assert parcels.log == ["a begins", "a ends", "ship"]


def test_req_P08_a_refused_dependency_ends_the_waiting_at_once_and_is_named(app, order):
    """Nobody waits for the other one, that could not help any more."""
    parcels = Parcels(app, refuses=frozenset({"a"}))

    async def run():
        session = app.session("s", principal="u7")
        async with session, session.chain(order, ordered=False) as wish:
            packing = [
                asyncio.create_task(wish.step(part, parcels.pack)(part=part)) for part in "ab"
            ]
            last = asyncio.create_task(
                wish.step("ship", parcels.ship, after=["b", "a"])(order_id=order)
            )
            await parcels.began("b")
            parcels.may_end("a")
            shipment = await last
            assert not packing[1].done()
            parcels.may_end("b")
            await asyncio.gather(*packing)
        return wish, shipment

    wish, shipment = asyncio.run(run())
    assert (shipment.state, shipment.kind) == (State.REJECTED, "withdrawn")
    assert shipment.reason in ("waits_for:a", "chain_turned_back")
    assert wish.direction is Direction.BACKWARD
    assert "ship" not in parcels.log


def test_req_P08_the_waiting_ends_with_the_turn_and_the_record_says_for_what(app, order):
    parcels = Parcels(app)

    async def run():
        session = app.session("s", principal="u7")
        async with session, session.chain(order, ordered=False) as wish:
            packing = asyncio.create_task(wish.step("a", parcels.pack)(part="a"))
            await parcels.began("a")
            began = time.monotonic()
            shipment = await wish.step("ship", parcels.ship_soon, after=["a"])(order_id=order)
            waited_s = time.monotonic() - began
            parcels.may_end("a")
            assert (await packing).state is State.CONFIRMED
        again = app.session("s", principal="u7")
        async with again, again.chain(order, ordered=False) as wish:
            later = await wish.step("ship", parcels.ship_soon, after=["a"])(order_id=order)
        return shipment, waited_s, later

    shipment, waited_s, later = asyncio.run(run())
    assert (shipment.state, shipment.reason) == (State.REJECTED, "waits_for:a")
    assert waited_s >= 0.35
    assert later.state is State.CONFIRMED, "run again, it goes on"
    assert parcels.log.count("ship") == 1


def test_req_P08_a_cancelled_dependency_is_not_waited_for_until_the_end_of_the_turn(app, order):
    """Its call has ended: what became of it is in the ledger, and that is not enough to go on."""
    parcels = Parcels(app)

    @app.tool(identity=["order_id"], name="ship_patiently", budget=Budget(turn_s=60.0))
    async def ship(order_id: str) -> dict:
        return {"id": "S2"}

    async def run():
        session = app.session("s", principal="u7")
        async with session, session.chain(order, ordered=False) as wish:
            packing = asyncio.create_task(wish.step("a", parcels.pack)(part="a"))
            await parcels.began("a")
            last = asyncio.create_task(wish.step("ship", ship, after=["a"])(order_id=order))
            await parcels.waits()
            packing.cancel()
            async with asyncio.timeout(LONG_S):
                shipment = await last
            parcels.may_end("a")
        return shipment

    shipment = asyncio.run(run())
    assert (shipment.state, shipment.reason) == (State.REJECTED, "waits_for:a")


def test_req_P08_who_is_cancelled_while_it_waits_has_stored_and_sent_nothing(app, order):
    parcels = Parcels(app)

    async def run():
        session = app.session("s", principal="u7")
        async with session, session.chain(order, ordered=False) as wish:
            packing = asyncio.create_task(wish.step("a", parcels.pack)(part="a"))
            await parcels.began("a")
            last = asyncio.create_task(wish.step("ship", parcels.ship, after=["a"])(order_id=order))
            await parcels.waits()
            last.cancel()
            with pytest.raises(asyncio.CancelledError):
                await last
            parcels.may_end("a")
            await packing
        return wish

    wish = asyncio.run(run())
    assert [member.step for member, _ in wish.around().members] == ["a"]
    assert "ship" not in parcels.log


@pytest.mark.parametrize("in_context", [False, True], ids=["plain", "in a context"])
def test_req_P08_threads_wait_for_what_they_depend_on_and_for_nothing_else(app, order, in_context):
    log, may_end, slow_may_end = [], threading.Event(), threading.Event()
    provides = {"parcel": "id"} if in_context else {}

    @app.tool(identity=["part"], provides=provides)
    def pack(part: str) -> dict:
        assert (slow_may_end if part == "slow" else may_end).wait(LONG_S)
        log.append(part)
        return {"id": part}

    @app.tool(identity=["order_id"], provides={"shipment": "id"} if in_context else {})
    def ship(order_id: str) -> dict:
        log.append("ship")
        return {"id": "S1"}

    session = app.session("s", principal="u7")
    with (
        ThreadPoolExecutor(4) as pool, session, session.chain(order, ordered=False) as wish,
    ):  # fmt: skip

        def submit(step, **arguments):
            return pool.submit(copy_context().run, lambda: step(**arguments))

        slow = submit(wish.step("slow", pack), part="slow")
        first = submit(wish.step("a", pack), part="a")
        last = submit(wish.step("ship", ship, after=["a"]), order_id=order)
        threading.Timer(0.05, may_end.set).start()
        assert last.result(LONG_S).state is State.CONFIRMED
        assert first.result(LONG_S).state is State.CONFIRMED
        assert not slow.done()
        slow_may_end.set()
        slow.result(LONG_S)
    assert log == ["a", "ship", "slow"]


def test_a_step_made_in_the_body_of_another_does_not_wait_for_it(app, order):
    """It would wait for ever: the outer one ends after it."""
    inner, wish = [], None

    @app.tool(identity=["order_id"])
    async def label(order_id: str) -> dict:
        return {"id": "L1"}

    @app.tool(identity=["order_id"])
    async def ship(order_id: str) -> dict:
        inner.append(await label(order_id=order_id))
        inner.append(await wish.step("again", label, after=["ship"])(order_id=order_id))
        return {"id": "S1"}

    async def run():
        nonlocal wish
        session = app.session("s", principal="u7")
        async with session, session.chain(order) as wish:
            began = time.monotonic()
            outer = await ship(order_id=order)
            return outer, time.monotonic() - began

    outer, took_s = asyncio.run(run())
    assert [outer.state, inner[0].state] == [State.CONFIRMED] * 2
    assert inner[1].reason == "waits_for:ship", "whoever names it is told at once"
    assert took_s < 5


def test_req_P08_a_step_that_another_process_is_sending_is_waited_for(app, order):
    """Two run the wish; the second has only the ledger to see the first one's call."""
    parcels = Parcels(app)

    async def run():
        session = app.session("s", principal="u7")
        async with session, session.chain(order, ordered=False) as wish:
            packing = asyncio.create_task(wish.step("a", parcels.pack)(part="a"))
            await parcels.began("a")
            with session.acting():
                other = session.chain(order, ordered=False)
            with other.session.acting():
                last = asyncio.create_task(
                    other.step("ship", parcels.ship, after=["a"])(order_id=order)
                )
            await parcels.waits()
            assert not last.done()
            parcels.may_end("a")
            await packing
            return await last

    assert asyncio.run(run()).state is State.CONFIRMED


def test_req_P08_who_dies_while_it_waits_has_stored_and_sent_nothing(tmp_path, order):
    """Killed at every effect of the waiting; run again, the wish comes true and no step twice."""
    sent = tmp_path / "sent"
    ledgers = iter(range(10_000))

    def run(plan):
        app = Ascertain(ledger_url(f"{tmp_path}/{ledger}.db"), worker="none", lease_s=0.1)
        app.hands.on_effect = plan

        @app.tool(
            identity=["part"],
            key_lifetime="24h",
            budget=Budget(turn_s=0.1, send_deadline_s=0.05, backoff_s=0.01),
        )
        def pack(part: str) -> dict:
            with sent.open("a") as file:
                file.write(f"{key()}\n")
            return {"id": part}

        with app.session("s", principal="u7") as session:
            wish = session.chain(order, ordered=False)
            first = wish.step("a", pack)
            with wish:
                wish.step("b", pack, after=["a"])(part="b")  # it waits, and is on record for it
                for _ in range(20):
                    one, two = first(part="a"), wish.step("b", pack, after=["a"])(part="b")
                    if one.confirmed and two.confirmed:
                        break
                    app.recover()
        app.close()

    def begin():
        nonlocal ledger
        ledger = next(ledgers)
        sent.unlink(missing_ok=True)

    ledger, seen = 0, set()
    for crash in crash_everywhere(run, run, before=begin):
        seen |= set(crash.passed)
        app = Ascertain(ledger_url(f"{tmp_path}/{ledger}.db"), worker="none")
        live = [r for r in app.ledger.find(Filter()) if r.state is not State.REJECTED]
        assert [r.state for r in live] == [State.CONFIRMED] * 2, str(crash)
        assert set(sent.read_text().split()) == {r.key for r in live}, str(crash)
        app.close()
    assert seen >= WAIT_POINTS


def test_steps_that_wait_for_each_other_in_a_circle_are_refused_before_anything_is_sent(app, order):
    parcels = Parcels(app)
    with app.session("s", principal="u7") as session:
        wish = session.chain(order, ordered=False)
        wish.step("a", parcels.pack, after=["b"])
        wish.step("b", parcels.pack, after=["c"])
        with pytest.raises(ContractError, match="circle"):
            wish.step("c", parcels.ship, after=["a"])
