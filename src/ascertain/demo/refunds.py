"""`python -m ascertain.demo.refunds PLACES STORY ORDER...`: query, then refund, in one breath.

One conversation for each order, all at once, in a process of its own. The query finds the order;
the refund is asked for at the same moment, and names none: its session knows which it is.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from typing import Any

import httpx

from ascertain import Absent, Ascertain, Budget, Found, key
from ascertain.demo.places import PAYMENT, Places
from ascertain.demo.sabotage import SABOTAGES
from ascertain.demo.telling import Told, tell
from ascertain.rules.gate import Tiers

PATIENT = Budget(turn_sends=3, turn_s=15.0, send_deadline_s=5.0, backoff_s=0.05, sends=6)
OLD, LAST = "the lamp", "the last one"


def customer_of(order: str) -> str:
    """Whose order it is."""
    return f"c{order[1:]}"


def older_than(order: str) -> str:
    """The order that the same customer had asked about before."""
    return f"P{order[1:]}"


def make_app(places: Places) -> tuple[Ascertain, httpx.AsyncClient]:
    """An app with the two tools."""
    app = Ascertain(
        places.ledger_url, worker="none", lease_s=places.lease_s, tiers=Tiers(wait_s=5.0)
    )
    client = app.watch(httpx.AsyncClient(base_url=places.urls[PAYMENT], timeout=10.0))

    @app.read(provides={"order_id": "order_id"}, budget=PATIENT)
    async def query_order(customer: str, about: str) -> dict[str, Any]:
        """Find an order by what the customer says of it."""
        reply = await client.get("/orders", params={"request": f"{customer}: {about}"})
        found: list[dict[str, Any]] = reply.raise_for_status().json()
        return found[0]

    @app.tool(
        context={"order_id": "order_id"},
        identity=["order_id"],
        key_lifetime="24h",
        receipt="refund_id",
        budget=PATIENT,
        say={
            "name": "refund",
            "confirmed": "The refund is requested: {provider_ref}, result pending.",
        },
        say_zh={"name": "退款", "confirmed": "退款申请已提交：{provider_ref}，结果待定。"},
    )
    async def refund(order_id: str) -> dict[str, Any]:
        """Ask for the money back."""
        headers = {"Idempotency-Key": key()}
        reply = await client.post("/refunds", json={"order_id": order_id}, headers=headers)
        made: dict[str, Any] = reply.raise_for_status().json()
        return made

    @refund.lookup(absence_final_after="1s")
    async def find_refund(action: Any) -> Any:
        reply = await client.get("/refunds", params={"request": action.key})
        rows = reply.raise_for_status().json()
        return Found(rows[0]["refund_id"], count=len(rows)) if rows else Absent

    del query_order, find_refund  # registered
    return app, client


async def converse(app: Ascertain, story: str, order: str) -> None:
    """The person asks about an older order, then says once: refund my last one."""
    customer = customer_of(order)
    session = app.session(f"chat-{story}-{order}", principal=customer, turn="1")
    async with session:
        await session.call_async("query_order", {"customer": customer, "about": OLD})
        with session.turn("2") as turn:
            query = {"customer": customer, "about": LAST}
            made = await asyncio.gather(
                turn.call_async("query_order", query), turn.call_async("refund", {})
            )
    tell(Told(story=story, order=order, asked="Refund my last order.", facts=made[1].facts()))


async def play(places: Places, story: str, orders: Sequence[str]) -> None:
    """All conversations at once."""
    app, client = make_app(places)
    async with app, client:
        await asyncio.gather(*(converse(app, story, order) for order in orders))


def main(argv: list[str]) -> int:
    """Hold the conversations."""
    parser = argparse.ArgumentParser(prog="python -m ascertain.demo.refunds", description=__doc__)
    parser.add_argument("places", help="file that says where everything is")
    parser.add_argument("story", help="which story these conversations are of")
    parser.add_argument("orders", nargs="+", metavar="ORDER")
    parser.add_argument("--sabotage", choices=sorted(SABOTAGES))
    args = parser.parse_args(argv)
    if args.sabotage:
        SABOTAGES[args.sabotage].apply()
    asyncio.run(play(Places.read(args.places), args.story, args.orders))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
