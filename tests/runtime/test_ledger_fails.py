"""A ledger that fails while a caller recovers an action: with real drivers and a real file."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from ascertain import Ascertain, Budget, State
from ascertain.errors import LedgerLocked
from ascertain.flow.effects import Effect
from ascertain.model.operations import Advance, Take
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

BUDGET = Budget(turn_sends=1, turn_s=1.0, send_deadline_s=0.4, backoff_s=0.01)


class Shop:
    """An app with a tool whose first answer is lost; the ledger fails where a test says so."""

    def __init__(self, folder) -> None:
        self.ahead_s = 0.0
        self.app = Ascertain(
            ledger_url(f"{folder}/ledger.db"),
            worker="none",
            clock=lambda: time.time() + self.ahead_s,
        )
        self.sales: list[str] = []
        self.fails_at: type | None = None
        sell = self.app.tool(key_lifetime="1h", budget=BUDGET, receipt="id")

        def buy(order_id: str) -> dict:
            return self.sold(order_id)

        async def buy_async(order_id: str) -> dict:
            return self.sold(order_id)

        self.buy, self.buy_async = sell(buy), sell(buy_async)
        self.app.hands.on_effect = self.before

    def sold(self, order_id: str) -> dict:
        self.sales.append(order_id)
        if len(self.sales) == 1:
            raise TimeoutError
        return {"id": "T1"}

    def before(self, when: str, effect: Effect) -> None:
        if when == "before" and self.fails_at is not None and isinstance(effect, self.fails_at):
            raise LedgerLocked

    def call(self, *, on_a_loop: bool):
        if not on_a_loop:
            with self.app.session("s", principal="u"):
                return self.buy(order_id="A1")

        async def calling():
            async with self.app.session("s", principal="u"):
                return await self.buy_async(order_id="A1")

        return asyncio.run(calling())


@pytest.mark.parametrize("on_a_loop", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("kind", [Take, Advance])
def test_the_caller_of_a_repeated_call_is_told_unknown_and_a_later_one_the_end(
    tmp_path, caplog, kind, on_a_loop
):
    """An effect may be under way: an exception would say that there is none."""
    shop = Shop(tmp_path)
    assert shop.call(on_a_loop=on_a_loop).state is State.UNKNOWN
    shop.fails_at = kind
    with caplog.at_level(logging.ERROR, logger="ascertain"):
        told = shop.call(on_a_loop=on_a_loop)
    assert (told.state, told.reason) == (State.UNKNOWN, "ledger_silent")
    assert told.facts()["workflow_state"] == "awaiting_confirmation"
    assert "ledger_silent" in caplog.text
    assert "ledger_locked" in caplog.text
    assert len(shop.sales) == 1, "nothing was sent that is not written"

    shop.fails_at = None
    shop.ahead_s = 60.0  # a lease that was taken has run out
    ended = shop.call(on_a_loop=on_a_loop)
    assert (ended.state, ended.provider_ref) == (State.CONFIRMED, "T1")
    shop.app.close()
