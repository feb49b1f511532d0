"""`python -m ascertain.demo.control PLACES ORDER...`: the control, without this library.

The same conversations on a session store that is written in the background: the query's answer
reaches the agent at once and the store a little later, and the refund takes what the store has.
Nobody looks at versions. What comes of it is read from the provider's books.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections.abc import Sequence

import httpx

from ascertain.demo.places import CONTROL, PAYMENT, Places
from ascertain.demo.refunds import LAST, customer_of, older_than

WRITTEN_WITHIN_S = 0.060
THOUGHT_WITHIN_S = 0.200
SEED = 47  # of its moments none are closer than 15 ms, so that a busy machine changes little


async def converse(client: httpx.AsyncClient, store: dict[str, str], order: str) -> None:
    """Ask, think, and refund what the store has by then."""
    dice = random.Random(f"{SEED} {order}")  # the same conversations in every run
    customer = customer_of(order)
    reply = await client.get("/orders", params={"request": f"{customer}: {LAST}"})
    found = str(reply.raise_for_status().json()[0]["order_id"])
    written_after_s = dice.uniform(0, WRITTEN_WITHIN_S)
    asyncio.get_running_loop().call_later(written_after_s, store.__setitem__, customer, found)
    await asyncio.sleep(dice.uniform(0, THOUGHT_WITHIN_S))  # the model thinks
    known = store.get(customer)
    if known is not None:
        made = await client.post(f"/{CONTROL}", json={"order_id": known})
        made.raise_for_status()


async def play(places: Places, orders: Sequence[str]) -> None:
    """All conversations at once; every second customer had asked about an older order before."""
    store = {customer_of(order): older_than(order) for order in orders[::2]}
    async with httpx.AsyncClient(base_url=places.urls[PAYMENT], timeout=10.0) as client:
        await asyncio.gather(*(converse(client, store, order) for order in orders))


def main(argv: list[str]) -> int:
    """Hold the conversations."""
    parser = argparse.ArgumentParser(prog="python -m ascertain.demo.control", description=__doc__)
    parser.add_argument("places", help="file that says where everything is")
    parser.add_argument("orders", nargs="+", metavar="ORDER")
    args = parser.parse_args(argv)
    asyncio.run(play(Places.read(args.places), args.orders))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
