"""A guarded tool for each recorded one. The bodies are what anybody would write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import httpx

from ascertain import (
    Absent,
    Accepted,
    Ascertain,
    Budget,
    Found,
    Processing,
    RefusalRule,
    Refused,
    key,
)
from ascertain.model.words import LookupSays
from ascertain.replay.provider import REFUSED, SENDS, collection_of
from ascertain.replay.recording import Recording, intent_of
from ascertain.runtime.attempt import current_attempt
from ascertain.runtime.scope import here
from ascertain.runtime.tool import AsyncTool

ACCEPTED = 202
SETTLING_S = 2.5  # longer than anything that lands late here
RECOUNT_AFTER_S = 1.0  # when the effects are counted, where a double could come about
WRITES = Budget(
    turn_sends=2, turn_s=2.0, send_deadline_s=1.0, backoff_s=0.05, backoff_max_s=0.5, sends=SENDS
)
READS = Budget(turn_s=5.0, send_deadline_s=2.0, backoff_s=0.05, sends=4)
REFUSALS = (
    RefusalRule(code=REFUSED, http_status=422),
    RefusalRule(code="fenced", http_status=409),
)

GuardedTool = AsyncTool[..., Any]


def register(
    app: Ascertain, client: httpx.AsyncClient, recording: Recording, contract: str
) -> dict[str, GuardedTool]:
    """A guarded tool for each recorded one, by name; reads and generic ones as reads."""
    client = app.watch(client)
    replies = {intent: call.result for intent, call in recording.first_calls().items()}
    kinds = {call.tool: call.kind for call in recording.calls}
    return {
        tool: _write(app, client, tool, contract, replies)
        if kind == "write"
        else _read(app, client, tool)
        for tool, kind in kinds.items()
    }


def _write(
    app: Ascertain,
    client: httpx.AsyncClient,
    tool: str,
    contract: str,
    replies: Mapping[str, str],
) -> GuardedTool:
    path = f"/{collection_of(tool)}"
    promises: dict[str, Any] = {"recount_after": RECOUNT_AFTER_S}
    if contract.startswith("key"):
        promises["key_lifetime"] = "24h"

    @app.tool(
        name=tool, noun=tool, budget=WRITES, refusals=REFUSALS, receipt="ref", breaker=False,
        **promises,
    )  # fmt: skip
    async def write(arguments: dict[str, Any]) -> dict[str, Any] | Accepted:
        conv = current_attempt().session
        body = {"conv": conv, "arguments": arguments}
        recorded = replies[intent_of(conv, tool, arguments)]
        reply = await client.post(
            path, json={**body, "reply": recorded}, headers={"Idempotency-Key": key()}
        )
        made: dict[str, Any] = reply.raise_for_status().json()
        if reply.status_code == ACCEPTED:
            return Accepted(made["handle"], ask_after_s=0.2)
        return {"ref": made["ref"], "reply": made["reply"]}

    if contract not in ("key", "none"):
        fences = contract == "fencing"

        @write.lookup(absence_final_after=None if fences else SETTLING_S, fences=fences)
        async def find(action: Any) -> Any:
            reply = await client.get(path, params={"request": action.key})
            return _found(reply.raise_for_status().json())

        del find  # registered
    return write


def _found(said: Any) -> LookupSays:
    if isinstance(said, list):
        rows = cast("list[dict[str, Any]]", said)
        if not rows:
            return Absent
        value = {"ref": rows[0]["ref"], "reply": rows[0]["reply"]}
        return Found(rows[0]["ref"], value, count=len(rows))
    return Processing(0.2) if said["state"] == "working" else Refused(said["code"])


def _read(app: Ascertain, client: httpx.AsyncClient, tool: str) -> GuardedTool:
    path = f"/{collection_of(tool)}"

    @app.read(name=tool, budget=READS)
    async def read(arguments: dict[str, Any]) -> dict[str, Any]:
        intent = intent_of(here().id, tool, arguments)
        reply = await client.get(path, params={"request": intent})
        rows: list[dict[str, Any]] = reply.raise_for_status().json()
        if rows[0]["error"]:
            raise Refused("RECORDED_ERROR")
        return {"reply": rows[0]["reply"]}

    return read
