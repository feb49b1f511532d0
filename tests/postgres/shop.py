"""A shop on a ledger in PostgreSQL: one tool for each of the five contracts."""

import httpx

from ascertain import Absent, Ascertain, Budget, Found, key
from ascertain.store.ledger import Filter
from ascertain.testing.world import FIVE_CONTRACTS

FIVE = list(FIVE_CONTRACTS)
SECRET = b"the secret of a shop"
BUDGET = Budget(turn_s=3.0, turn_sends=2, sends=4, send_deadline_s=1.0, backoff_s=0.05)
SETTLING_S, LEASE_S = 0.2, 0.25


class Shop:
    """The tools, and how their actions stand."""

    def __init__(self, url, world_url, worker="none"):
        self.app = Ascertain(url, secret=SECRET, worker=worker, lease_s=LEASE_S)
        self.client = self.app.watch(httpx.Client(base_url=world_url, timeout=5.0))
        self.answered = lambda: None  # what happens between the effect and the end of the body
        self.tools = {name: self._tool(name) for name in FIVE}

    def _tool(self, name):
        provider = FIVE_CONTRACTS[name]
        promises = {"key_lifetime": "24h"} if provider.honours_key else {}

        @self.app.tool(
            name=f"create_{name}", noun=name, identity=["order"], once_per="principal",
            budget=BUDGET, breaker=False, **promises,
        )  # fmt: skip
        def create(order: str) -> dict:
            reply = self.client.post(
                f"/{name}", json={"order": order}, headers={"Idempotency-Key": key()}
            )
            self.answered()
            return reply.raise_for_status().json()

        if provider.lookup:

            @create.lookup(absence_final_after=SETTLING_S, fences=provider.lookup_fences)
            def find(action):
                rows = self.client.get(f"/{name}", params={"request": action.key})
                rows = rows.raise_for_status().json()
                return Found(rows[0]["ref"], count=len(rows)) if rows else Absent

        return create

    def call(self, contract, order, session=None):
        with self.app.session(session or f"chat-{order}", principal="u7"):
            return self.tools[contract](order=order)

    def stand(self, contract, order):
        """State and case, as the ledger has them now."""
        query = Filter(session=f"chat-{order}", tool=f"create_{contract}")
        return [(str(one.state), one.review) for one in self.app.ledger.find(query)]

    def close(self):
        self.app.close()
        self.client.close()
