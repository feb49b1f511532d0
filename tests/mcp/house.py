"""A proxy, its server and its ledger, in one process: real SDK code on every side of it."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.client._memory import InMemoryTransport
from mcp.server.mcpserver import MCPServer
from mcp.server.runner import serve_loop
from mcp.shared.memory import create_client_server_memory_streams

from ascertain import Ascertain
from ascertain.adapters.mcp import serve
from ascertain.adapters.mcp.config import ProxyConfig, proxy_config
from ascertain.adapters.mcp.words import FACT
from ascertain.errors import MayStillArrive
from ascertain.model.action import ActionRecord
from ascertain.runtime import approving, verdict
from ascertain.store.ledger import Filter
from ascertain.store.open import open_ledger
from tests.mcp.shop_server import Shop, make_server, wait_for

TICKETS = {
    "access": "write",
    "identity": ["order_id"],
    "wording": ["issue"],
    "key": {"argument": "request_id"},
    "key_lifetime": "24h",
    "receipt": "ticket_id",
    "error_code": {"pattern": "SHOP_CLOSED"},
    "refusals": [{"code": "SHOP_CLOSED", "kind": "business"}],
    "lookup": {
        "tool": "find_tickets",
        "arguments": {"request": "{key}"},
        "items": "tickets",
        "ref": "id",
        "absence_final_after": "0s",
    },
}
MODES = ("2026-07-28", "legacy")
OF_THE_HOST = (
    "elicitation_callback", "sampling_callback", "list_roots_callback", "logging_callback",
    "log_level", "message_handler",
)  # fmt: skip


class House:
    """One folder: the shop's tickets, the proxy's ledger and pins."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shop = Shop(folder, self.cut)
        self.shop.forget = self.forget
        self.reach = 0
        self.down = False
        self.left = asyncio.Event()
        self.server_mode = MODES[0]
        self._streams: Any = None

    def forget(self) -> None:
        """The server does not know the session any more, and says so before it does anything."""
        self._notice("session_ended", (-32600, "Session not found"))

    def cut(self) -> None:
        """The server is gone in the middle of what it does."""
        self._streams[0].close()

    def config(self, **said: Any) -> ProxyConfig:
        tools = {"create_ticket": TICKETS, **said.pop("tools", {})}
        own = {"name": "shop", "ledger": f"sqlite:///{self.folder}/ledger.db", "principal": "u7"}
        pins = str(self.folder / "pins.json")
        return proxy_config("test", {"pins": pins, **own, "tools": tools, **said})

    def connect(self, notice: Any) -> Any:
        @asynccontextmanager
        async def opened() -> AsyncIterator[Any]:
            if self.down:
                raise ConnectionRefusedError("nobody listens")
            self._notice = notice
            made = make_server(self.shop)
            served = InMemoryTransport(made) if self.server_mode != "legacy" else of_2025(made)
            async with served as streams:
                self._streams = streams
                self.reach += 1
                self.left.clear()
                yield streams
            self.left.set()

        return opened()

    everything = Filter(limit=100)

    def ledger(self) -> Any:
        return closing(open_ledger(f"sqlite:///{self.folder}/ledger.db"))

    def patient(self, **said: Any) -> dict[str, Any]:
        """Tickets of a shop that promises nothing for a key, with little time for one call."""
        rest = {name: value for name, value in TICKETS.items() if name != "key_lifetime"}
        lookup = {**TICKETS["lookup"], "absence_final_after": "1h"}  # type: ignore[dict-item]
        budget = {"turn_s": 0.5, "send_deadline_s": 0.4, "backoff_s": 0.05}
        return {**rest, "lookup": lookup, "budget": budget, **said}

    @contextmanager
    def person(self) -> Iterator["Person"]:
        """Somebody who looks at the ledger, from a process of their own as it were."""
        with Ascertain(f"sqlite:///{self.folder}/ledger.db", worker="none") as app:
            yield Person(app)

    def later(self) -> None:
        """Until the ledger's clock has moved on."""
        began = time.time()
        while time.time() - began < 0.002:
            pass

    def hide_tickets(self) -> None:
        """From now on the shop's search finds nothing, without saying that there is nothing."""
        self.shop.hidden = True

    def show_tickets(self) -> None:
        self.shop.hidden = False

    @asynccontextmanager
    async def proxy(
        self,
        *,
        shared: bool = False,
        connect: Any = None,
        said_by_host: types.ClientCapabilities | None = None,
        worker: str = "none",
        **said: Any,
    ) -> Any:
        """The proxy as hosts see it."""
        config = self.config(**said)
        opened = serve.opened(
            config, connect or self.connect, shared=shared, worker=worker, host_offers=said_by_host
        )
        async with opened as server:
            yield server

    @asynccontextmanager
    async def bare_host(self, connect: Any, **said: Any) -> AsyncIterator["Host"]:
        """A host of a proxy of which no tool is spoken."""
        config = replace(self.config(), tools={})
        callback = said.pop("elicitation_callback", None)
        async with (
            serve.opened(config, connect, shared=False, worker="none") as server,
            Client(server, mode=MODES[0], elicitation_callback=callback) as client,
        ):
            yield Host(client)

    @asynccontextmanager
    async def host(self, *, mode: str = MODES[0], **said: Any) -> AsyncIterator["Host"]:
        """A host of a proxy of its own."""
        own = {name: said.pop(name) for name in tuple(said) if name in OF_THE_HOST}
        async with AsyncExitStack() as stack:
            server = await stack.enter_async_context(self.proxy(**said))
            made = Client(server, mode=mode, **own)
            yield Host(await stack.enter_async_context(made))


class Person:
    """Who approves, declines and gives verdicts."""

    def __init__(self, app: Ascertain) -> None:
        self.app = app

    def waits(self, tool: str = "") -> ActionRecord:
        """The one call that waits for somebody."""
        found = self.app.ledger.find(Filter(limit=10, tool=tool or None))
        (record,) = [one for one in found if one.review is not None]
        return record

    def approve(self, tool: str = "") -> None:
        record = self.waits(tool)
        digest = approving.digest_of(self.app.hands, record)
        approving.approve(self.app.hands, record.id, by="li", digest=digest)

    def decline(self) -> None:
        approving.decline(self.app.hands, self.waits().id, by="li")

    def found(self, ref: str) -> None:
        verdict.resolve(self.app.hands, self.waits().id, confirmed=ref)

    def found_nothing(self) -> None:
        """Said again where it is too early to be sure."""
        until = time.monotonic() + 5
        while True:
            try:
                verdict.resolve(self.app.hands, self.waits().id, not_done=True, evidence="looked")
            except MayStillArrive:
                if time.monotonic() > until:
                    raise
            else:
                return


@asynccontextmanager
async def of_2025(server: MCPServer) -> AsyncIterator[Any]:
    """The same server as if it knew the revisions of 2025 only."""
    lowlevel = server._lowlevel_server
    async with (
        create_client_server_memory_streams() as (client, (reading, writing)),
        lowlevel.lifespan(lowlevel) as state,
        anyio.create_task_group() as group,
    ):
        group.start_soon(partial(serve_loop, lowlevel, reading, writing, lifespan_state=state))
        yield client
        group.cancel_scope.cancel()


class Host:
    """The official client, and what it gets from a proxy."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, _meta: dict[str, Any] | None = None, **arguments: Any) -> Any:
        return await self.client.call_tool(tool, arguments, meta=_meta)

    async def ticket(self, order: str = "A1", issue: str = "noise", **meta: str) -> Any:
        return await self.call(
            "create_ticket",
            {f"ascertain.dev/{name}": text for name, text in meta.items()} or None,
            order_id=order,
            issue=issue,
        )


def fact(result: types.CallToolResult) -> dict[str, Any]:
    """The facts of one action."""
    found: dict[str, Any] = (result.meta or {})[FACT]
    return found


def state(result: types.CallToolResult) -> str:
    (action,) = fact(result)["actions"]
    return str(action["state"])


def reason(result: types.CallToolResult) -> str:
    (action,) = fact(result)["actions"]
    return str(action["reason"])


async def until(file: Path) -> None:
    """Wait for a file, with a bound."""
    await asyncio.to_thread(wait_for, file)
    assert await asyncio.to_thread(file.exists), f"{file.name} did not come about"
