"""What the tests of two doors share: a provider, an app, and what the bodies of tools need."""

from __future__ import annotations

from contextlib import asynccontextmanager
from types import SimpleNamespace

import httpx

from ascertain import Absent, Ascertain, Budget, Found
from ascertain.testing.world import Provider

PROVIDERS = {"tickets": Provider(first_ref="T900"), "refunds": Provider(first_ref="R1")}
BUDGET = Budget(
    turn_sends=2, turn_s=2.0, sends=4, unanswered=6, send_deadline_s=0.8, backoff_s=0.02,
    backoff_max_s=0.1,
)  # fmt: skip
CONFIRMED, UNKNOWN, REJECTED = "confirmed", "unknown", "rejected"
AGAIN = ("try again", "retry", "fix the errors", "timed out", "call again with")
"""What no framework may say to a model of a guarded call."""


@asynccontextmanager
async def shopfront(world, folder):
    """An app, and what the bodies of the framework's tools need; ``starts`` counts the bodies."""
    app = Ascertain(f"sqlite:///{folder}/ledger.db", worker="none", lease_s=0.3)
    starts = []

    async def post(order_id, issue, request=None):
        starts.append(order_id)
        headers = {"Idempotency-Key": request} if request else {}
        body = {"order": order_id, "issue": issue}
        reply = await http.post("/tickets", json=body, headers=headers)
        return reply.raise_for_status().json()

    async def find(action):
        reply = await http.get("/tickets", params={"request": action.key})
        rows = reply.raise_for_status().json()
        return Found(rows[0]["ref"]) if rows else Absent

    async with httpx.AsyncClient(base_url=world.url, timeout=2) as http, app:
        yield SimpleNamespace(app=app, world=world, http=http, post=post, find=find, starts=starts)


def promises(shop, *, asked=True):
    """What is said for ``create_ticket``; without ``asked`` nobody can say what became of it."""
    said = {"identity": ["order_id"], "wording": ["issue"], "budget": BUDGET}
    if asked:
        said["lookup"] = {"target": shop.find, "absence_final_after": "10s"}
    return said


def effects(shop, order):
    """How often it really happened."""
    return shop.world.count("tickets", order=order)


def first(facts):
    """The one action that facts speak of."""
    (action,) = facts["actions"]
    return action
