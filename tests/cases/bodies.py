"""How the tools of the cases send, and how they ask: small, and as people write them."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx

from ascertain import (
    Absent,
    Accepted,
    Attempt,
    Found,
    Processing,
    Receipt,
    Refused,
    current_attempt,
    key,
)

if TYPE_CHECKING:
    from tests.cases.stage import Stage
    from tests.cases.tables import Tool

Body = Callable[..., Any]


def header() -> dict[str, str]:
    return {"Idempotency-Key": key()}


# ------------------------------------------------------------------------------------- sending


def post(stage: Stage, tool: Tool) -> Body:
    """The ordinary one."""
    return _post_by(stage.client(tool), stage, tool)


def _post_by(client: Any, stage: Stage, tool: Tool) -> Body:
    def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> dict:
        told = stage.told_to_provider(tool, order, text, amount, variant)
        reply = client.post(stage.path(tool), json=told, headers=header())
        return reply.raise_for_status().json()

    return act


def post_requests(stage: Stage, tool: Tool) -> Body:
    """The same with requests."""
    client = stage.client(tool)

    def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> dict:
        told = stage.told_to_provider(tool, order, text, amount, variant)
        reply = client.post(stage.path(tool), json=told, headers=header())
        reply.raise_for_status()
        return reply.json()

    return act


def post_async(stage: Stage, tool: Tool) -> Body:
    """The same on a loop."""

    async def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> dict:
        told = stage.told_to_provider(tool, order, text, amount, variant)
        async with stage.async_client() as client:
            reply = await client.post(stage.path(tool), json=told, headers=header())
            return reply.raise_for_status().json()

    return act


def quiet_post(stage: Stage, tool: Tool) -> Body:
    """A provider that answers without a body, and a body that knows it."""
    client = stage.client(tool)

    def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> Any:
        told = stage.told_to_provider(tool, order, text, amount, variant)
        reply = client.post(stage.path(tool), json=told, headers=header()).raise_for_status()
        return reply.json() if reply.content else None

    return act


def swallowing(stage: Stage, tool: Tool) -> Body:
    """A gateway that turns every trouble into an empty object."""
    client = stage.client(tool)

    def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> dict:
        told = stage.told_to_provider(tool, order, text, amount, variant)
        try:
            reply = client.post(stage.path(tool), json=told, headers=header())
            return reply.raise_for_status().json()
        except httpx.HTTPError:
            return {}

    return act


def sdk(stage: Stage, tool: Tool) -> Body:
    """A vendor's client that tries three times by itself and tells of the last time only."""
    client = stage.client(tool)

    def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> dict:
        told = stage.told_to_provider(tool, order, text, amount, variant)
        for left in (2, 1, 0):
            try:
                reply = client.post(stage.path(tool), json=told, headers=header())
            except httpx.TransportError:
                if not left:
                    raise
                continue
            if reply.is_server_error and left:
                continue
            return reply.raise_for_status().json()
        raise AssertionError

    return act


def fresh_credential(stage: Stage, tool: Tool) -> Body:
    """A credential that is minted for each send: it belongs to the send, not to the intent."""
    client = stage.client(tool)

    def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> dict:
        token = f"spt-{current_attempt().number}"
        told = stage.told_to_provider(tool, order, "", amount, variant)
        reply = client.post(stage.path(tool), json=told, headers={**header(), "X-Token": token})
        return reply.raise_for_status().json()

    return act


def key_as_argument(stage: Stage, tool: Tool) -> Body:
    """A function that takes the key as an argument; the attempt is put in its place."""
    client = stage.client(tool)

    def act(order: str, idempotency_key: Attempt, text: str = "", amount: int = 0) -> dict:
        told = stage.told_to_provider(tool, order, text, amount, "")
        told["request"] = idempotency_key.key
        reply = client.post(stage.path(tool), json=told)
        return reply.raise_for_status().json()

    return act


def keeps_its_own_key(stage: Stage, tool: Tool) -> Body:
    """A function whose key a model fills in; it is declared as wording, and not used."""
    client = stage.client(tool)

    def act(order: str, idempotency_key: str = "", text: str = "", amount: int = 0) -> dict:
        told = stage.told_to_provider(tool, order, text, amount, "")
        reply = client.post(stage.path(tool), json=told, headers=header())
        return reply.raise_for_status().json()

    return act


def broken_after(stage: Stage, tool: Tool) -> Body:
    """Its own code breaks once the provider has answered."""
    client = stage.client(tool)

    def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> dict:
        told = stage.told_to_provider(tool, order, text, amount, variant)
        client.post(stage.path(tool), json=told, headers=header()).raise_for_status()
        raise ValueError("the metrics are away")

    return act


def broken_before(stage: Stage, tool: Tool) -> Body:
    """Its own code breaks before anything is sent."""

    def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> dict:
        return {}["missing"]

    return act


def refused_connection(stage: Stage, tool: Tool) -> Body:
    """Nobody listens there (discard, a port that no service has)."""
    client = stage.nowhere()

    def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> dict:
        return client.post("/", headers=header()).json()

    return act


def comes_up(stage: Stage, tool: Tool) -> Body:
    """Nobody listens at first; from its second attempt on it is there."""
    client, nowhere = stage.client(tool), stage.nowhere()

    def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> dict:
        told = stage.told_to_provider(tool, order, text, amount, variant)
        if current_attempt().number == 1:
            nowhere.post("/", headers=header())
        return client.post(stage.path(tool), json=told, headers=header()).raise_for_status().json()

    return act


def command(stage: Stage, tool: Tool) -> Body:
    """A shell command that finds nothing exits with 1; that is an answer."""

    def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> str:
        done = subprocess.run(["grep", "-c", order, "/dev/null"], check=False, capture_output=True)
        if done.returncode > 1:
            raise OSError("grep")
        return "no match" if done.returncode == 1 else done.stdout.decode()

    return act


def job(stage: Stage, tool: Tool) -> Body:
    """A body that only starts a job."""
    inner = post(stage, tool)

    def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> Any:
        inner(order, text, amount, variant)
        return Accepted(f"job-{order}", ask_after_s=0.2)

    return act


def queued(stage: Stage, tool: Tool) -> Body:
    """One line to the provider for all: who comes second waits for it in this process."""
    line = threading.Lock()
    client = stage.client(tool)

    def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> Any:
        told = stage.told_to_provider(tool, order, text, amount, variant)
        with line:
            reply = client.post(stage.path(tool), json=told, headers=header())
        return reply.raise_for_status().json()

    return act


def stubborn(stage: Stage, tool: Tool) -> Body:
    """A client that nobody watches, and that waits for as long as it takes."""
    return _post_by(stage.unwatched(), stage, tool)


def two_writes(stage: Stage, tool: Tool) -> Body:
    """Two writes of one wish, declared as steps."""
    client = stage.client(tool)

    def act(order: str, text: str = "", amount: int = 0, variant: str = "") -> Any:
        refs = []
        for step in ("hold", "charge"):
            told = stage.told_to_provider(tool, f"{order}-{step}", text, amount, variant)
            sub_key = {"Idempotency-Key": current_attempt().step(step)}
            reply = client.post(stage.path(tool), json=told, headers=sub_key)
            refs.append(reply.raise_for_status().json()["ref"])
        return Receipt(refs[-1], {"refs": refs})

    return act


def read(stage: Stage, tool: Tool) -> Body:
    """An ordinary read."""
    client = stage.client(tool)

    def act(order: str, text: str = "") -> Any:
        return client.get(stage.path(tool), params={"q": order}).raise_for_status().json()

    return act


def read_async(stage: Stage, tool: Tool) -> Body:
    """A read on a loop that takes its time."""

    async def act(order: str) -> str:
        await asyncio.Event().wait()
        return order

    return act


BODIES: dict[str, Callable[[Stage, Tool], Body]] = {
    made.__name__: made
    for made in (
        post, post_requests, post_async, quiet_post, swallowing, sdk, fresh_credential,
        key_as_argument,
        keeps_its_own_key, broken_after, broken_before, refused_connection, comes_up, command, job,
        queued, stubborn, two_writes, read, read_async,
    )
}  # fmt: skip


# -------------------------------------------------------------------------------------- asking


def by_key(stage: Stage, tool: Tool) -> Body:
    """By the key, as careful people ask."""
    client = stage.plain_client()

    def find(action: Any) -> Any:
        reply = client.get(stage.path(tool), params={"request": action.key}).raise_for_status()
        return said(reply.json())

    return find


def by_key_async(stage: Stage, tool: Tool) -> Body:
    """The same on a loop."""

    async def find(action: Any) -> Any:
        async with stage.async_client() as client:
            reply = await client.get(stage.path(tool), params={"request": action.key})
            return said(reply.raise_for_status().json())

    return find


def by_handle(stage: Stage, tool: Tool) -> Body:
    """By the provider's own handle, as it was given; without one, by key."""
    client = stage.plain_client()

    def find(action: Any) -> Any:
        if action.handle is None:
            return said(client.get(stage.path(tool), params={"request": action.key}).json())
        reply = client.get(f"{stage.path(tool)}/{action.handle}").raise_for_status()
        return said([reply.json()])

    return find


def by_fields(stage: Stage, tool: Tool) -> Body:
    """A list of what was done lately: it has no key, so who and when must do."""
    client = stage.plain_client()

    def find(action: Any) -> Any:
        stage.scripted_answer(tool)
        fields = stage.told_to_provider(tool, action.arguments["order"], "", 0, "")
        wanted = {name: fields[name] for name in ("case", "tool", "order")}
        rows = client.get(stage.path(tool), params=wanted).raise_for_status().json()
        # What was there before our first send is not ours, however well it fits.
        from_at, until_at = action.first_sent_at, action.last_possible_at + 1.0
        return said([row for row in rows if from_at <= row["created_at"] <= until_at])

    return find


def scripted(stage: Stage, tool: Tool) -> Body:
    """Answers given in this process."""

    def find(action: Any) -> Any:
        return stage.scripted_answer(tool)

    return find


def said(rows: Any) -> Any:
    """A provider's records as the words of a look-up."""
    if isinstance(rows, dict):
        rows = [rows]
    if not rows:
        return Absent
    if rows[0].get("state") == "working":
        return Processing(ask_after_s=0.2)
    if rows[0].get("state") == "refused":
        return Refused(rows[0]["code"])
    return Found(rows[0]["ref"], count=len(rows))


LOOKS: dict[str, Callable[[Stage, Tool], Body]] = {
    made.__name__: made for made in (by_key, by_key_async, by_handle, by_fields, scripted)
}
