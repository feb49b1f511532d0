"""A shop whose tools share what a session remembers: query an order, refund it."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
import time
from collections.abc import Callable
from typing import Any

from ascertain import Ascertain, Budget
from ascertain.flow.effects import Settle
from ascertain.rules.gate import Tiers
from tests.ledgers import ledger_url

QUICK = Budget(turn_s=3.0, send_deadline_s=1.0, backoff_s=0.01, backoff_max_s=0.05)
WAIT_S = 0.25


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Shop:
    """Orders, and what was really refunded."""

    def __init__(self, folder: Any, **options: Any) -> None:
        self.clock = Clock()
        said = {"worker": "none", "clock": self.clock, "tiers": Tiers(wait_s=WAIT_S)}
        self.app = Ascertain(ledger_url(f"{folder}/ledger.db"), **(said | options))
        self.order = {"id": "A123", "status": "paid"}
        self.asked: list[str] = []
        self.refunded: list[str] = []
        self.slow = threading.Event()
        self.slow.set()

    def session(self, id: str = "chat-42", **more: Any) -> Any:
        return self.app.session(id, **({"principal": "u7"} | more))

    def later(self, seconds: float) -> dict[str, Any]:
        self.clock.now += seconds
        return {}

    def query(self, **said: Any) -> Any:
        promises = {"provides": {"order_id": "id", "order_state": "status"}, "budget": QUICK}

        @self.app.read(**(promises | said))
        def query_order(phone: str = "555") -> dict:
            self.asked.append(phone)
            found = dict(self.order)
            self.slow.wait(2.0)
            return found

        return query_order

    def query_async(self) -> Any:
        @self.app.read(provides={"order_id": "id", "order_state": "status"}, budget=QUICK)
        async def query_order(phone: str = "555") -> dict:
            self.asked.append(phone)
            found = dict(self.order)
            await asyncio.to_thread(self.slow.wait, 2.0)
            return found

        return query_order

    def refund(self, **said: Any) -> Any:
        promises = {"context": {"order_id": "order_id"}, "identity": ["order_id"], "budget": QUICK}

        @self.app.tool(**(promises | said))
        def refund(order_id: str, note: str = "") -> dict:
            self.refunded.append(order_id)
            return {"id": f"R-{order_id}"}

        return refund

    def once_a_call_waits(self, then: Callable[[], object]) -> None:
        """Do something in a call at the moment at which it begins to wait at the gate."""

        def seen(side: str, effect: object) -> None:
            if side == "before" and isinstance(effect, Settle):
                then()

        self.app.hands.on_effect = seen

    def first(self, action: Any) -> dict[str, Any]:
        """What the first event of an action tells."""
        return json.loads(self.app.ledger.events(action.id)[0].detail)


def until(true: Any, within_s: float = 3.0) -> None:
    """Wait for what another thread or process brings about."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it never came to that"
        threading.Event().wait(0.005)


class Beside:
    """Run something in a thread of its own, in this session, until the block ends."""

    def __init__(self, work: Any) -> None:
        context = contextvars.copy_context()
        self._errors: list[BaseException] = []

        def run() -> None:
            try:
                context.run(work)
            except BaseException as error:
                self._errors.append(error)
                raise

        self._thread = threading.Thread(target=run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join(10.0)
        assert not self._thread.is_alive()
        assert not self._errors
