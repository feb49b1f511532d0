"""Query, then refund: what an agent does for one person, and a naive store that it may run on.

    python -m tests.requirements.refunds LEDGER WORLD PEOPLE [SESSION STORE]

plays that many conversations at once and prints `done N` for each that has ended. The person says
"refund my last order" once. The agent has both calls in hand at once: the query that finds the
order, and the refund, which names no order. Before it, the same person had asked about another one.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import sys
from typing import Any

import httpx

from ascertain import Absent, Ascertain, Budget, Found, key
from ascertain.rules.gate import Tiers

PATIENT = Budget(
    turn_s=20.0, turn_sends=3, sends=8, send_deadline_s=5.0, backoff_s=0.05, backoff_max_s=0.5
)


def order_of(person: int, which: str = "new") -> str:
    return f"{which}-order-{person}"


def agents_app(
    url: str, world: str, sessions: str | None = None
) -> tuple[Ascertain, httpx.AsyncClient]:
    """An app with the two tools."""
    app = Ascertain(url, worker="none", lease_s=1.0, tiers=Tiers(wait_s=5.0), sessions=sessions)
    client = app.watch(httpx.AsyncClient(base_url=world, timeout=10.0))

    @app.read(provides={"order_id": "id"}, budget=PATIENT)
    async def query_order(person: int, which: str) -> dict[str, Any]:
        await asyncio.sleep(0)  # somewhere else for a moment
        return {"id": order_of(person, which)}

    @app.tool(
        context={"order_id": "order_id"}, identity=["order_id"], key_lifetime="24h", budget=PATIENT
    )
    async def refund(order_id: str) -> dict[str, Any]:
        headers = {"Idempotency-Key": key()}
        reply = await client.post("/refunds", json={"order": order_id}, headers=headers)
        found: dict[str, Any] = reply.raise_for_status().json()
        return found

    @refund.lookup(absence_final_after="1s")
    async def find_refund(action: Any) -> Any:
        reply = await client.get("/refunds", params={"request": action.key})
        rows = reply.raise_for_status().json()
        return Found(rows[0]["ref"], count=len(rows)) if rows else Absent

    return app, client


async def converse(app: Ascertain, person: int) -> str:
    """One conversation; the state in which its refund ended."""
    session = app.session(f"chat-{person}", principal=f"person-{person}", turn="1")
    async with session:
        await session.call_async("query_order", {"person": person, "which": "old"})
        with session.turn("2") as turn:
            query = {"person": person, "which": "new"}
            _, refund = await asyncio.gather(
                turn.call_async("query_order", query), turn.call_async("refund", {})
            )
    return str(refund.state)


async def play(url: str, world: str, people: int, sessions: str | None = None) -> None:
    """All conversations at once."""
    app, client = agents_app(url, world, sessions)

    async def one(person: int) -> None:
        state = await converse(app, person)
        print(f"done {person} {state}", flush=True)

    async with app, client:
        await asyncio.gather(*(one(person) for person in range(people)))


# ------------------------------------------------------------------------------------- the control


def naive(people: int, seed: int) -> dict[str, int]:
    """The same with a store that writes results back in the background.

    The query's answer reaches the agent at once and the session's store a little later; the refund
    is asked for after the model has thought. Nobody looks at versions.
    """
    dice = random.Random(seed)
    store = {person: order_of(person, "old") for person in range(0, people, 2)}  # half had asked
    happenings: list[tuple[float, int, str]] = []
    for person in range(people):
        answered_at = dice.uniform(0.0, 1.0)
        heapq.heappush(happenings, (answered_at + dice.uniform(0.0, 0.060), person, "written"))
        heapq.heappush(happenings, (answered_at + dice.uniform(0.0, 0.200), person, "refund"))
    ended = {"right": 0, "wrong": 0, "missing": 0}
    while happenings:
        _, person, what = heapq.heappop(happenings)
        if what == "written":
            store[person] = order_of(person, "new")
        else:
            order = store.get(person)
            right = order == order_of(person, "new")
            ended["right" if right else "missing" if order is None else "wrong"] += 1
    return ended


if __name__ == "__main__":
    asyncio.run(play(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:]))
