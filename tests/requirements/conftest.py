"""A provider as a real service, and an app whose tools call it: what the requirements speak of."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from ascertain import Absent, Ascertain, Budget, Found, Processing, key
from ascertain.model.action import ActionRecord
from ascertain.store.ledger import Filter
from ascertain.testing.world import Provider, World
from tests.ledgers import ledger_url
from tests.requirements.remembering import Shop
from tests.testing.world_refusals import REFUSALS

SETTLING_S = 0.4
QUICK = Budget(
    turn_sends=2, turn_s=2.0, sends=4, unanswered=6, send_deadline_s=0.5, backoff_s=0.02,
    backoff_max_s=0.2,
)  # fmt: skip
PROVIDERS = {
    "tickets": Provider(first_ref="T900"),
    "keyed": Provider(lookup=False),
    "listed": Provider(honours_key=False),
    "blind": Provider(honours_key=False, lookup=False),
}


class Desk:
    """An after-sales desk: one app, one provider, a tool per kind of contract."""

    def __init__(self, world: World, url: str) -> None:
        self.world = world
        self.app = Ascertain(url, worker="none", lease_s=0.3)
        self.client = self.app.watch(httpx.Client(base_url=world.url))
        self.looked_up: list[str] = []

    def tool(self, collection: str = "tickets", **said: Any) -> Any:
        """Declare ``create_ticket`` against a collection, with the contract that fits it."""
        provider = PROVIDERS[collection]
        promises: dict[str, Any] = {"key_lifetime": "24h"} if provider.honours_key else {}
        promises |= {
            "identity": ["order_id"], "wording": ["issue"], "budget": QUICK, "refusals": REFUSALS,
            "via": [self.client], "name": "create_ticket",
        }  # fmt: skip

        @self.app.tool(**(promises | said))
        def create_ticket(order_id: str, issue: str = "noise", amount: int = 1) -> dict:
            body = {"order": order_id, "issue": issue, "amount": amount}
            reply = self.client.post(
                f"/{collection}", json=body, headers={"Idempotency-Key": key()}
            )
            return reply.raise_for_status().json()

        @create_ticket.check_related
        def is_mine(action: Any) -> bool:
            return action.principal == "u7"

        if provider.lookup:

            @create_ticket.lookup(absence_final_after=SETTLING_S)
            def find_ticket(action: Any) -> Any:
                self.looked_up.append(action.key)
                reply = self.client.get(f"/{collection}", params={"request": action.key})
                rows = reply.raise_for_status().json()
                if rows and rows[0].get("state") == "working":
                    return Processing(ask_after_s=0.2)
                return Found(rows[0]["ref"], count=len(rows)) if rows else Absent

        return create_ticket

    def session(self, id: str = "chat-42", **more: Any) -> Any:
        return self.app.session(id, **({"principal": "u7"} | more))

    def only(self, **more: Any) -> ActionRecord:
        """The one action in the ledger."""
        (record,) = self.app.ledger.find(Filter(**more))
        return record

    def recover(self, until: Any, *, within_s: float = 6.0) -> ActionRecord:
        """Let the worker pass until the only action satisfies ``until``."""
        deadline = time.monotonic() + within_s
        while True:
            self.app.recover()
            record = self.only()
            if until(record):
                return record
            assert time.monotonic() < deadline, f"still {record.state} ({record.reason})"

    def events(self) -> list[str]:
        return [
            f"{e.start or ''}>{e.event}>{e.end}" for e in self.app.ledger.events(self.only().id)
        ]


@pytest.fixture(scope="session")
def world():
    with World(dict(PROVIDERS)) as world:
        yield world


@pytest.fixture
def order(request) -> str:
    """An order of this test's own."""
    return f"A-{request.node.name}-{time.monotonic_ns()}"


@pytest.fixture
def desk(world, tmp_path):
    desk = Desk(world, ledger_url(f"{tmp_path}/ledger.db"))
    yield desk
    desk.app.close()
    desk.client.close()


@pytest.fixture
def shop(tmp_path):
    """An app whose tools share what a session remembers."""
    shop = Shop(tmp_path)
    yield shop
    shop.app.close()
