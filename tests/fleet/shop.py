"""An after-sales desk whose provider is a World, and an outage that leaves unknowns behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import httpx

from ascertain import Absent, Ascertain, Budget, Found, key

T = TypeVar("T")

LEDGER, WORLD, RATE = "FLEET_LEDGER", "FLEET_WORLD", "FLEET_RATE"
BUDGET = Budget(
    turn_sends=1, turn_s=8.0, send_deadline_s=8.0, backoff_s=0.05, backoff_max_s=0.2, unanswered=50,
)  # fmt: skip

_caller: ContextVar[asyncio.Task[Any] | None] = ContextVar("caller", default=None)


class Shop(NamedTuple):
    """An app and its client, for one event loop."""

    app: Ascertain
    client: httpx.AsyncClient

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on a loop of its own; the client ends with it, and so does the app."""

        async def within() -> T:
            async with self.client:
                return await work

        try:
            return asyncio.run(within())
        finally:
            self.app.close()


def make(url: str, world_url: str, rate: Any = None, **options: Any) -> Shop:
    """The shop. A call whose caller is to be lost has its answer lost too.

    Of these, orders that begin with ``NEVER`` do not even reach the provider.
    """
    app = Ascertain(url, **{"worker": "none", "lease_s": 3.0, **options})
    client = app.watch(httpx.AsyncClient(base_url=world_url, timeout=10))
    said: dict[str, Any] = {"budget": BUDGET, "rate": rate, "breaker": False}

    @app.tool(identity=["order_id"], key_lifetime="24h", **said)
    async def create_ticket(order_id: str) -> dict[str, Any]:
        caller = _caller.get()
        if caller is not None and order_id.startswith("NEVER"):
            _lose(caller)
        reply = await client.post(
            "/tickets", json={"order": order_id}, headers={"Idempotency-Key": key()}
        )
        if caller is not None:
            _lose(caller)
        return reply.raise_for_status().json()

    @create_ticket.lookup(absence_final_after="0.2s")
    async def find_ticket(action: Any) -> Any:
        reply = await client.get("/tickets", params={"request": action.key})
        rows = reply.raise_for_status().json()
        return Found(rows[0]["ticket_id"]) if rows else Absent

    @app.read(rate=rate, breaker=False)
    async def query_ticket(order_id: str) -> list[Any]:
        reply = await client.get("/tickets", params={"order": order_id})
        return reply.raise_for_status().json()

    return Shop(app, client)


def _lose(caller: asyncio.Task[Any]) -> None:
    caller.cancel()
    raise TimeoutError


async def outage(
    app: Ascertain, orders: Iterable[str], *, tenant: str = "default", callers: int = 32
) -> None:
    """Calls whose answers are lost together with their callers: all of them are unknown."""
    left = iter(orders)

    async def call(n: int) -> None:
        async with app.session(f"s{n}", principal="u7", tenant=tenant) as session:
            for order in left:
                with suppress(asyncio.CancelledError):
                    await asyncio.create_task(_lost(session, order))
                    raise AssertionError(order)

    await asyncio.gather(*(call(n) for n in range(callers)))


async def _lost(session: Any, order: str) -> Any:
    _caller.set(asyncio.current_task())
    return await session.call_async("create_ticket", {"order_id": order})


def from_environment() -> Ascertain:
    """The app, in the process of a worker."""
    return make(os.environ[LEDGER], os.environ[WORLD], os.environ.get(RATE)).app
