"""The library under test, playing cells of the fault table against a World."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from ascertain import Absent, Ascertain, Budget, Found, Processing, RefusalRule, key
from ascertain.model.action import ActionRecord
from ascertain.rules.facts import part_of
from ascertain.store.ledger import Filter
from ascertain.testing.world import FIVE_CONTRACTS, Behaviour, World
from tests.faults.evidence import Cell, Promise, Said, Statement, read_evidence
from tests.faults.oracle import faults
from tests.ledgers import ledger_url
from tests.testing.world_refusals import REFUSALS as WORLD_REFUSALS

SETTLING_S, DEADLINE_S, SENDS, TURN_S, LEASE_S = 0.9, 0.6, 4, 2.5, 0.25
PATIENCE_S = 12.0
BUDGET = Budget(
    turn_sends=2, turn_s=TURN_S, sends=SENDS, unanswered=8, send_deadline_s=DEADLINE_S,
    backoff_s=0.05, backoff_max_s=0.4,
)  # fmt: skip

PROMISES = {
    name: Promise(
        key=provider.honours_key,
        key_lifetime_s=provider.key_lifetime_s if provider.honours_key else None,
        lookup=provider.lookup,
        fences=provider.lookup_fences,
        absence_final_after_s=SETTLING_S if provider.lookup else None,
        refusal_final_after_s=SETTLING_S if provider.answers_key_first else None,
        sends=SENDS,
        send_deadline_s=DEADLINE_S,
    )
    for name, provider in FIVE_CONTRACTS.items()
}

REFUSALS = [*WORLD_REFUSALS, RefusalRule(code="fenced", kind="absent")]


@dataclass
class House:
    """An app with one sync and one async tool for each of the five contracts."""

    world_url: str
    folder: Path
    worker: str = "none"
    contracts: tuple[str, ...] = tuple(FIVE_CONTRACTS)
    settling_s: float = SETTLING_S
    lease_s: float = LEASE_S
    budget: Budget = BUDGET
    recount_s: float = 1.2
    app: Ascertain = field(init=False)
    sync: dict[str, Any] = field(default_factory=dict)
    asynchronous: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.app = Ascertain(
            ledger_url(f"{self.folder}/ledger.db"), worker=self.worker, lease_s=self.lease_s
        )
        limits = httpx.Limits(max_connections=400)
        client = self.app.watch(httpx.Client(base_url=self.world_url, limits=limits))
        aclient = self.app.watch(httpx.AsyncClient(base_url=self.world_url, limits=limits))
        self.client, self.aclient = client, aclient
        for name in self.contracts:
            self.sync[name] = self._sync_tool(name, client)
            self.asynchronous[name] = self._async_tool(name, aclient)

    def said(self, name: str) -> dict[str, Any]:
        """The contract; without a breaker, which a provider that is all faults would soon open."""
        provider = FIVE_CONTRACTS[name]
        promises = {"key_lifetime": provider.key_lifetime_s} if provider.honours_key else {}
        if provider.answers_key_first:
            promises["refusal_final_after"] = self.settling_s
        return {
            "identity": ["order"], "budget": self.budget, "refusals": REFUSALS,
            "recount_after": self.recount_s, "via": [self.client, self.aclient], "receipt": "ref",
            "receipt_required": True, "breaker": False, **promises,
        }  # fmt: skip

    def _sync_tool(self, name: str, client: httpx.Client) -> Any:
        @self.app.tool(name=f"create_{name}", noun=name, **self.said(name))
        def create(order: str, amount: int = 1) -> dict:
            body = {"order": order, "amount": amount}
            reply = client.post(f"/{name}", json=body, headers={"Idempotency-Key": key()})
            return reply.raise_for_status().json()

        @create.check_related
        def belongs_here(action) -> bool:
            return True

        if FIVE_CONTRACTS[name].lookup:

            @create.lookup(**self._promise(name))
            def find(action):
                reply = client.get(f"/{name}", params={"request": action.key})
                return found(reply.raise_for_status().json())

        return create

    def _async_tool(self, name: str, client: httpx.AsyncClient) -> Any:
        @self.app.tool(name=f"acreate_{name}", noun=f"async_{name}", **self.said(name))
        async def create(order: str, amount: int = 1) -> dict:
            body = {"order": order, "amount": amount}
            reply = await client.post(f"/{name}", json=body, headers={"Idempotency-Key": key()})
            return reply.raise_for_status().json()

        @create.check_related
        def belongs_here(action) -> bool:
            return True

        if FIVE_CONTRACTS[name].lookup:

            @create.lookup(**self._promise(name))
            async def find(action):
                reply = await client.get(f"/{name}", params={"request": action.key})
                return found(reply.raise_for_status().json())

        return create

    def _promise(self, name: str) -> dict[str, Any]:
        return {
            "absence_final_after": self.settling_s,
            "fences": FIVE_CONTRACTS[name].lookup_fences,
        }

    def close(self) -> None:
        """Close the app and its clients."""
        self.app.close()
        self.client.close()
        if not self.aclient.is_closed:
            asyncio.run(self.aclient.aclose())  # it was never used: no connection, no loop

    def record(self, order: str) -> ActionRecord | None:
        rows = self.app.ledger.find(Filter(session=order))
        return rows[0] if rows else None

    def opened_a_case(self, record: ActionRecord) -> bool:
        return any(
            event.reason.startswith("review:") for event in self.app.ledger.events(record.id)
        )


def found(rows: list[dict[str, Any]]) -> Any:
    """What a careful look-up says of the provider's list."""
    if not rows:
        return Absent
    if rows[0].get("state") == "working":
        return Processing(ask_after_s=0.4)
    return Found(rows[0]["ref"], count=len(rows))


def quiet(record: ActionRecord, now: float) -> bool:
    """Whether nothing more happens with it by itself for a while."""
    if record.lease_owner is not None and (record.lease_until or 0) > now:
        return False
    return record.due_at is None or record.due_at > now + PATIENCE_S


def statement(asked_at: float, record: ActionRecord, at: float | None = None) -> Statement:
    return Statement(
        asked_at=asked_at,
        at=time.time() if at is None else at,
        state=str(record.state),
        final=bool(record.final),
        provider_ref=record.provider_ref,
    )


def said_of(house: House, record: ActionRecord | None, told: list[Statement]) -> Said | None:
    """What the library says in the end."""
    if record is None:
        return None
    tool = house.app.registry.get(record.tool)
    in_review = part_of(record, tool.contract).in_review
    return Said(
        state=str(record.state),
        final=bool(record.final),
        kind=None if record.kind is None else str(record.kind),
        provider_ref=record.provider_ref,
        related_ref=record.related_ref,
        key=record.key,
        review_open=in_review,
        review_opened=house.opened_a_case(record),
        noticed=bool(record.disputed),
        planned=record.due_at is not None,
        told=tuple(told),
    )


def judge(
    world: World, house: House, name: str, order: str, cell: Cell, told: list[Statement]
) -> list[str]:
    """All that the oracle finds wrong with one cell."""
    record = house.record(order)
    said = said_of(house, record, told)
    evidence = read_evidence(
        world.db_path, name, {"order": order}, None if record is None else record.key
    )
    wrong = faults(cell, evidence, said)
    return [
        f"{order}: {fault} [{said and said.state}, {record and record.reason}]" for fault in wrong
    ]


async def settle(house: House, orders: list[str]) -> None:
    """Let a worker recover until all is quiet; async connections end here, with their loop."""
    worker = house.app.make_worker()
    running = asyncio.create_task(worker.run())
    until = time.time() + 25.0
    look = asyncio.Event()
    while time.time() < until:
        now = house.app.hands.clock()
        open_ones = [
            order
            for order in orders
            if (record := house.record(order)) is not None and not quiet(record, now)
        ]
        if not open_ones:
            break
        asyncio.get_running_loop().call_later(0.1, look.set)
        await look.wait()
        look.clear()
    worker.stop()
    await running
    await house.aclient.aclose()


def cell_of(
    name: str, behaviours: tuple[Behaviour, ...], lookups: tuple[str, ...] = (), **more: Any
) -> Cell:
    return Cell(
        promise=PROMISES[name],
        behaviours=tuple(behaviour.name for behaviour in behaviours),
        lookups=lookups,
        **more,
    )
