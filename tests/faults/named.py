"""What the named cases are played with: tools that reach the provider through an SDK.

The SDK is a small one on `http.client`: no hooks can be put into it, and whatever goes wrong comes
out as its own exception, as with real ones.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ascertain import current_attempt, key, sql
from ascertain.model.action import ActionRecord
from ascertain.testing.world import FIVE_CONTRACTS, World
from tests.faults.evidence import Cell, Sender, Statement, read_evidence
from tests.faults.oracle import faults
from tests.faults.play import BUDGET, PROMISES, House, found, said_of, settle

SDK_PATIENCE_S = 30.0
FIVE = list(FIVE_CONTRACTS)
PATIENT = replace(BUDGET, send_deadline_s=5.0, turn_s=8.0)


class SdkError(Exception):
    """All that this SDK ever raises; it says nothing, and derives from nothing that is known."""


def sdk(url: str, method: str, path: str, body: object = None, key: str | None = None) -> Any:
    """One request, one answer; anything else is an `SdkError`."""
    place = urlsplit(url)
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    line = http.client.HTTPConnection(str(place.hostname), place.port, timeout=SDK_PATIENCE_S)
    try:
        line.request(method, path, None if body is None else json.dumps(body), headers)
        reply = line.getresponse()
        text = reply.read()
        if reply.status >= 300:
            raise SdkError("the call was not completed")
        return json.loads(text)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise SdkError("the call was not completed") from error
    finally:
        line.close()


def nothing() -> None:
    """What most tools do just before they send."""


def freeze_first() -> None:
    """Stop this process just before its first send: after every check, before the wire."""
    if current_attempt().number == 1:
        os.kill(os.getpid(), signal.SIGSTOP)


@dataclass
class SdkHouse(House):
    """The five contracts again; every tool and every look-up goes through the SDK."""

    just_before_sending: Callable[[], None] = field(default=nothing)
    more: dict[str, Any] = field(default_factory=dict)

    def said(self, name: str) -> dict[str, Any]:
        said = {**super().said(name), **self.more}
        del said["via"]  # it is not known by which ways this SDK sends
        return said

    def _sync_tool(self, name: str, client: object) -> Any:
        url = self.world_url

        @self.app.tool(name=f"create_{name}", noun=name, **self.said(name))
        def create(order: str, amount: int = 1) -> dict:
            self.just_before_sending()
            return sdk(url, "POST", f"/{name}", {"order": order, "amount": amount}, key())

        if FIVE_CONTRACTS[name].lookup:

            @create.lookup(**self._promise(name))
            def find(action):
                return found(sdk(url, "GET", f"/{name}?request={action.key}"))

        return create


@dataclass
class OwnDatabase:
    """A tool that writes to a database of its own, with our key in its transaction."""

    house: House
    path: Path
    just_before_sending: Callable[[], None] = field(default=nothing)

    def __post_init__(self) -> None:
        with closing(self._open()) as db:
            db.execute("CREATE TABLE IF NOT EXISTS bookings (ref TEXT PRIMARY KEY, room TEXT)")
            db.commit()

        @self.house.app.tool(identity=["room"], name="book_room", budget=self.house.budget)
        def book_room(room: str) -> dict:
            self.just_before_sending()
            ref = f"B-{room}-{current_attempt().number}"
            with closing(self._open()) as db, db:
                sql.mark(db, ref=ref)
                db.execute("INSERT INTO bookings VALUES (?, ?)", (ref, room))
            return {"ref": ref}

        sql.guard(book_room, self._open)
        self.tool = book_room

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=10)

    def effects(self, room: str) -> list[str]:
        """References of what was really booked."""
        with closing(self._open()) as db:
            rows = db.execute("SELECT ref FROM bookings WHERE room = ? ORDER BY ref", (room,))
            return [ref for (ref,) in rows]


def call(house: House, contract: str, order: str, **more: Any) -> Any:
    """One call of the sync tool in the session of that order."""
    with house.app.session(order, principal="u"):
        return house.sync[contract](order=order, **more)


def told(statement: Statement) -> dict[str, Any]:
    """A statement as JSON, to be told by a child."""
    return {name: getattr(statement, name) for name in Statement.__dataclass_fields__}


def heal(house: House, *orders: str) -> list[ActionRecord]:
    """Let a worker recover until all is quiet; returns how the actions stand then."""
    asyncio.run(settle(house, list(orders)))
    return [record for order in orders if (record := house.record(order)) is not None]


def judged(
    world: World,
    house: House,
    contract: str,
    order: str,
    *behaviours: str,
    told: list[Statement] | None = None,
    sender: Sender = "alive",
    died_at: float | None = None,
    settling_s: float | None = None,
    late_replies: bool = False,
    needed: bool = True,
) -> list[str]:
    """All that the oracle finds wrong with the end of one order.

    :param late_replies: a reply is heard, however late. :param needed: False: a person who was
        asked was needed then, and need not be any more.
    """
    record = house.record(order)
    promise = PROMISES[contract]
    if settling_s is not None:
        promise = replace(promise, absence_final_after_s=settling_s)
    deadline_s = None if late_replies else house.budget.send_deadline_s
    promise = replace(promise, send_deadline_s=deadline_s, sends=house.budget.sends)
    cell = Cell(promise=promise, behaviours=behaviours, sender=sender, died_at=died_at)
    key = record.key if record else None
    evidence = read_evidence(world.db_path, contract, {"order": order}, key)
    wrong = faults(cell, evidence, said_of(house, record, told or []))
    return [one for one in wrong if needed or not one.startswith("a person was asked")]


def course(house: House, order: str) -> list[str]:
    """What was written of an action, in order: `lose:deadline`."""
    record = house.record(order)
    events = house.app.ledger.events(record.id) if record else []
    return [f"{event.event}:{event.reason}" for event in events]
