"""The disk fills up while a send is under way: what caller, operator and ledger then have."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable

import pytest

from ascertain import Absent, Ascertain, Budget, Found, State
from ascertain.errors import LedgerFull
from ascertain.flow.effects import Pause
from ascertain.model.operations import Advance
from ascertain.store.ledger import Filter
from tests.store.test_full_disk import Disk, small_disk

BUDGET = Budget(turn_sends=1, turn_s=2.0, send_deadline_s=0.4, backoff_s=0.05)
BULK = "x" * 20_000


class Shop:
    """An app on a disk of its own, and a provider that counts what it did."""

    def __init__(self, folder, *, mounted: bool) -> None:
        self.app = Ascertain(f"sqlite:///{folder}/ledger.db", worker="none", lease_s=0.4)
        self.app.ledger._floor_bytes = 0
        self.disk = Disk(folder, mounted=mounted)
        self.sales: list[str] = []
        self.at_the_provider: Callable[[], object] = self.disk.fill
        sell = self.app.tool(key_lifetime="1h", budget=BUDGET, receipt="id")

        def buy(order_id: str) -> dict:
            return self.sold(order_id)

        async def buy_async(order_id: str) -> dict:
            return self.sold(order_id)

        self.buy, self.buy_async = sell(buy), sell(buy_async)
        for tool in (self.buy, self.buy_async):
            tool.lookup(absence_final_after="1s")(self.find)

    def sold(self, order_id: str) -> dict:
        self.sales.append(order_id)
        self.at_the_provider()
        return {"id": f"T{len(self.sales)}", "text": BULK}

    def find(self, action):
        order = action.arguments["order_id"]
        return Found(f"T{self.sales.index(order) + 1}") if order in self.sales else Absent

    def call(self, order_id: str = "A1", *, on_a_loop: bool):
        if not on_a_loop:
            with self.app.session("s", principal="u"):
                return self.buy(order_id=order_id)

        async def calling():
            async with self.app.session("s", principal="u"):
                return await self.buy_async(order_id=order_id)

        return asyncio.run(calling())

    def only(self):
        (record,) = self.app.ledger.find(Filter())
        return record


@pytest.fixture
def shop(tmp_path):
    with small_disk(tmp_path) as mounted:
        shop = Shop(tmp_path, mounted=mounted)
        shop.app.open()
        yield shop
        shop.disk.ledger.close()
        shop.app.close()


class OperatorsLog(logging.Handler):
    """What the operator's log has at the level of an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[dict] = []
        self.came = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(record.getMessage()))
        self.came.set()

    def only(self) -> dict:
        (line,) = self.lines
        return line


@pytest.fixture
def log():
    handler = OperatorsLog()
    logging.getLogger("ascertain").addHandler(handler)
    yield handler
    logging.getLogger("ascertain").removeHandler(handler)


@pytest.mark.parametrize("on_a_loop", [False, True], ids=["sync", "async"])
def test_full_until_the_lease_ends_the_caller_hears_unknown_and_the_log_has_the_reference(
    shop, log, on_a_loop
):
    action = shop.call(on_a_loop=on_a_loop)
    assert (action.state, action.reason, action.provider_ref) == (
        State.UNKNOWN, "answer_not_recorded", None,
    )  # fmt: skip
    assert action.facts()["actions"][0]["reason"] == "answer_not_recorded"
    line = log.only()
    assert line == {
        "event": "answer_not_recorded", "action": action.id, "tool": action.tool,
        "key": action.key, "attempt": 1, "effect": "confirmed", "reason": line["reason"],
        "provider_ref": "T1", "ledger": "ledger_full",
    }  # fmt: skip
    record = shop.only()
    assert record.state is State.SENT, "the ledger says no more than what it holds"
    assert shop.app.hands.clock() >= record.lease_until, "it was tried while the lease lasted"


def test_once_there_is_space_the_answer_is_found_again_by_its_key(shop):
    shop.call(on_a_loop=False)
    shop.disk.give_space()
    assert shop.app.recover() == 1
    record = shop.only()
    assert (record.state, record.provider_ref, shop.sales) == (State.CONFIRMED, "T1", ["A1"])
    assert list(shop.app.ledger.verify()) == []


@pytest.mark.parametrize("on_a_loop", [False, True], ids=["sync", "async"])
def test_when_space_is_given_meanwhile_the_answer_is_written_and_nobody_notices(
    shop, log, on_a_loop
):
    pauses = []

    def on_effect(side, effect):
        if side == "before" and isinstance(effect, Pause):
            pauses.append(effect)
            if len(pauses) == 2:
                shop.disk.give_space()

    shop.app.hands.on_effect = on_effect
    action = shop.call(on_a_loop=on_a_loop)
    assert (action.state, action.provider_ref, len(pauses)) == (State.CONFIRMED, "T1", 2)
    assert action.unwrap() == {"id": "T1", "text": BULK}
    assert log.lines == []
    assert shop.only() == action.record


def test_a_ledger_that_was_closed_during_the_send_is_not_waited_for(shop, log):
    shop.at_the_provider = shop.app.hands.committer.close
    began = time.monotonic()
    action = shop.call(on_a_loop=False)
    assert time.monotonic() - began < 0.3, "it was told at once"
    assert (action.state, action.reason) == (State.UNKNOWN, "answer_not_recorded")
    line = log.only()
    assert (line["provider_ref"], line["ledger"]) == ("T1", "ledger_closed")


def test_the_result_of_a_body_that_was_given_up_is_told_too(shop, log):
    """It ends in a thread that nobody waits for, when the disk is full."""
    may_end = threading.Event()
    shop.at_the_provider = lambda: may_end.wait(10)

    @shop.app.tool(budget=BUDGET, receipt="id")
    def slow(order_id: str) -> dict:
        return shop.sold(order_id)

    async def calling():
        async with shop.app.session("s", principal="u") as session:
            return await session.call_async("slow", {"order_id": "A1"})

    action = asyncio.run(calling())
    assert (action.state, shop.only().suspect != "") == (State.UNKNOWN, True)
    shop.disk.fill()
    may_end.set()
    assert log.came.wait(10), "the operator was not told"
    line = log.only()
    assert (line["action"], line["provider_ref"]) == (action.id, "T1")
    assert shop.only().state is State.UNKNOWN


class Refusing:
    """A ledger that refuses outcomes, when it is told to go on."""

    def __init__(self, ledger) -> None:
        self.ledger = ledger
        self.asked, self.go_on = threading.Event(), threading.Event()

    def submit(self, operations, **how):
        if not any(isinstance(operation, Advance) for operation in operations):
            return self.ledger.submit(operations, **how)
        self.asked.set()
        assert self.go_on.wait(10)
        return [LedgerFull() for _ in operations]


async def test_a_cancelled_caller_is_not_held_until_the_lease_ends(shop, log):
    """It is cancelled in the very commit that the ledger refuses."""
    shop.at_the_provider = lambda: None
    shop.app.hands.lease_s = 30.0
    refusing = shop.app.hands.committer._ledger = Refusing(shop.app.ledger)

    async def calling():
        async with shop.app.session("s", principal="u"):
            await shop.buy_async(order_id="A1")

    task = asyncio.create_task(calling())
    assert await asyncio.to_thread(refusing.asked.wait, 10)
    task.cancel()
    refusing.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asyncio.shield(task), 5)
    assert task.cancelled()
    line = log.only()
    assert line["provider_ref"] == "T1"
