"""A shop that fulfils orders: stock, payment, shipment, notice, at a provider that misbehaves."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

from ascertain import Absent, Ascertain, Budget, Found, RefusalRule, State, Undone, key
from ascertain.testing.world import Provider

PARTS = ("stock", "payment", "shipment", "notice")
SETTLING_S = 0.3
QUICK = Budget(
    turn_sends=2, turn_s=1.5, sends=4, unanswered=4, send_deadline_s=0.4, backoff_s=0.02,
    backoff_max_s=0.1,
)  # fmt: skip
REFUSALS = [
    RefusalRule(code="REFUSED_BY_POLICY", kind="business"),
    RefusalRule(code="VALIDATION", kind="invalid"),
]
PROVIDERS = {name: Provider() for name in PARTS} | {f"undo-{name}": Provider() for name in PARTS}


class Shop:
    """Guarded tools of one app; ``reserve``, ``charge``, ``ship`` and ``notify``."""

    def __init__(self, app: Ascertain, client: Any, **said: Any) -> None:
        """``said``: promises of a compensation by its part, or None: it is irreversible.

        With ``asked=("payment",)`` that part is never repeated: the provider is asked, patiently.
        """
        self._asked = said.pop("asked", ())
        self.app, self.client = app, client
        self.reserve = self._tool("stock", "reserve_stock", said.get("stock", {}))
        self.charge = self._tool("payment", "charge_card", said.get("payment", {}))
        self.ship = self._tool("shipment", "create_shipment", said.get("shipment", {}))
        self.notify = self._tool("notice", "send_notice", None, on_unknown="leave", lookup=False)

    def _tool(self, part: str, name: str, undo: Any, *, lookup: bool = True, **more: Any) -> Any:
        if part in self._asked:
            more |= {"repeat": "never"}
        budget = replace(QUICK, turn_s=0.4, unanswered=500) if part in self._asked else QUICK

        @self.app.tool(
            name=name, noun=part, identity=["order_id"], budget=budget, via=[self.client],
            refusals=REFUSALS, **({"key_lifetime": "24h"} if lookup else {}), **more,
        )  # fmt: skip
        def make(order_id: str, amount: int = 1) -> dict:
            return self._post(part, {"order": order_id, "amount": amount})

        if lookup:
            make.lookup(absence_final_after=SETTLING_S)(lambda action: self._find(part, action))
        if undo is not None:
            self._compensation(part, make, undo)
        return make

    def _compensation(self, part: str, tool: Any, undo: dict[str, Any]) -> None:
        promises = {
            "budget": QUICK, "via": [self.client], "key_lifetime": "24h", "refusals": REFUSALS,
            **undo,
        }  # fmt: skip

        @tool.compensate(name=f"undo_{part}", **promises)
        def reverse(undone: Undone) -> dict:
            body = {"order": undone.arguments["order_id"], "reverses": undone.provider_ref or ""}
            return self._post(f"undo-{part}", body)

        reverse.lookup(absence_final_after=SETTLING_S)(
            lambda action: self._find(f"undo-{part}", action)
        )

        @tool.snapshot
        def shown(action: Any) -> Any:
            reply = self.client.get(f"/{part}", params={"request": action.key})
            return {"records": [row["ref"] for row in reply.raise_for_status().json()]}

    def _post(self, collection: str, body: dict[str, Any]) -> dict:
        reply = self.client.post(f"/{collection}", json=body, headers={"Idempotency-Key": key()})
        return reply.raise_for_status().json()

    def _find(self, collection: str, action: Any) -> Any:
        reply = self.client.get(f"/{collection}", params={"request": action.key})
        rows = reply.raise_for_status().json()
        return Found(rows[0]["ref"], count=len(rows)) if rows else Absent

    def fulfil(self, order: str, **chain: Any) -> Any:
        """The wish as code: run it again, and it finds what is recorded."""
        said = {"wish": ("fulfilled", "履约")} | chain
        session = self.app.session("shop", principal="u7")
        with session, session.chain(f"fulfil {order}", **said) as wish:
            self.steps(order)
        return wish

    def steps(self, order: str) -> None:
        """What the wish takes, in order."""
        self.reserve(order_id=order)
        self.charge(order_id=order)
        self.ship(order_id=order)
        self.notify(order_id=order)


def settle(app: Ascertain, until: Any, *, within_s: float = 8.0) -> None:
    """Let workers pass until ``until()`` holds."""
    deadline = time.monotonic() + within_s
    while not until():
        app.recover()
        if until():
            return
        assert time.monotonic() < deadline, "it did not come to that"
        threading.Event().wait(0.01)


def states(wish: Any) -> dict[str, State]:
    """The states of a chain's actions, by step."""
    return {member.step: record.state for member, record in wish.around().members}
