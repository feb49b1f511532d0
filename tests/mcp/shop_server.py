"""An MCP server on the official SDK whose effects are lines of a file: counted from outside.

    python -m tests.mcp.shop_server FOLDER [PORT]

``FOLDER/next`` may say what happens at the next call that writes; it is read once and removed.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.shared.exceptions import MCPError
from mcp_types import ToolAnnotations
from pydantic import BaseModel

READS = ToolAnnotations(read_only_hint=True)


class Shop:
    """What the server does; ``die`` ends it in the middle of a call."""

    def __init__(self, folder: Path, die: Callable[[], None]) -> None:
        self.folder = folder
        self.die = die
        self.forget = die
        self.hidden = False
        self.text = "Open a ticket."
        self.metas: list[dict[str, Any]] = []

    def tickets(self) -> list[dict[str, str]]:
        file = self.folder / "tickets"
        lines = file.read_text().splitlines() if file.exists() else []
        names = ("id", "request", "order", "issue")
        return [dict(zip(names, line.split("\t"), strict=True)) for line in lines]

    def next(self, said: str) -> None:
        """Say what happens at the next write."""
        (self.folder / "next").write_text(said)

    async def write(self, order: str, issue: str, request: str) -> dict[str, Any]:
        file = self.folder / "next"
        said = file.read_text() if file.exists() else ""
        file.unlink(missing_ok=True)
        match said:
            case "die_before":
                self.die()
                await asyncio.Event().wait()
            case "forget":
                self.forget()
                raise MCPError(-32600, "Session not found")
            case "closed":
                raise ToolError("SHOP_CLOSED: come back tomorrow")
            case "invalid":
                raise MCPError(-32602, "no such order")
            case "no_method":
                raise MCPError(-32601, "no such method")
        known = [row for row in self.tickets() if request and row["request"] == request]
        if known:
            return {"ticket_id": known[0]["id"], "again": True}
        ticket = f"T{900 + len(self.tickets())}"
        with (self.folder / "tickets").open("a") as lines:
            line = issue.replace("\n", " ")
            lines.write(f"{ticket}\t{request}\t{order}\t{line}\n")
            lines.flush()
            os.fsync(lines.fileno())
        match said:
            case "die_after":
                self.die()
                await asyncio.Event().wait()
            case "slow":
                (self.folder / "began").touch()
                await asyncio.to_thread(wait_for, self.folder / "go")
            case "error_after":
                raise TimeoutError("gateway read timed out")
            case "internal_error":
                raise MCPError(-32603, "out of memory")
        return {"ticket_id": ticket, "again": False}

    def cancelled(self) -> list[str]:
        """The tickets that were cancelled, as often as they were."""
        file = self.folder / "cancelled"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line.split("\t")[0] for line in lines]

    async def cancel(self, ticket: str, request: str) -> dict[str, Any]:
        """``FOLDER/next_cancel`` says what happens, as ``next`` does for a write."""
        file = self.folder / "next_cancel"
        said = file.read_text() if file.exists() else ""
        file.unlink(missing_ok=True)
        if said == "die_before":
            self.die()
            await asyncio.Event().wait()
        if said == "closed":
            raise ToolError("TOO_LATE: it was dealt with")
        lines = self.folder / "cancelled"
        known = lines.read_text() if lines.exists() else ""
        if not request or f"\t{request}\n" not in known:
            with lines.open("a") as log:
                log.write(f"{ticket}\t{request}\n")
        if said == "die_after":
            self.die()
            await asyncio.Event().wait()
        return {"cancelled": ticket}


def wait_for(file: Path) -> None:
    """Until the test says so: this is the slow provider."""
    until = time.monotonic() + 5
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.01)


class Yes(BaseModel):
    """What a person answers."""

    sure: bool


def ask_whether_sure() -> Elicit[Yes]:
    return Elicit("Are you sure?", Yes)


def make_server(shop: Shop) -> MCPServer:
    server = MCPServer(
        "shop", version="1.0", instructions="Tickets of a shop.", log_level="CRITICAL"
    )

    @server.tool(description=shop.text)
    async def create_ticket(
        order_id: str, issue: str, context: Context, request_id: str = ""
    ) -> dict[str, Any]:
        shop.metas.append(dict(context.request_context.meta or {}))
        return await shop.write(order_id, issue, request_id)

    @server.tool()
    async def send_note(order_id: str, text: str, copies: int | None = 1) -> dict[str, Any]:
        """Send a note; nobody can ask what became of it."""
        return await shop.write(order_id, text, "")

    @server.tool()
    async def cancel_ticket(ticket_id: str, request_id: str = "") -> dict[str, Any]:
        """Cancel a ticket."""
        return await shop.cancel(ticket_id, request_id)

    @server.tool(annotations=READS)
    def find_tickets(request: str = "", order_id: str = "") -> dict[str, Any]:
        """Find tickets by request number or by order."""
        if shop.hidden:
            raise ToolError("The search is down.")
        rows = shop.tickets()
        if request:
            rows = [row for row in rows if row["request"] == request]
        return {"tickets": [row for row in rows if not order_id or row["order"] == order_id]}

    @server.tool(annotations=READS)
    def ping(text: str) -> str:
        """Say the same."""
        return text

    @server.tool(annotations=READS)
    def broken(text: str) -> str:
        """Always an error."""
        raise ValueError(f"no {text} here")

    @server.tool()
    async def count_to(order_id: str, top: int, context: Context) -> dict[str, Any]:
        """Report progress, then open a ticket."""
        for number in range(top):
            await context.report_progress(number + 1, top, f"step {number + 1}")
        return await shop.write(order_id, "counted", "")

    @server.tool()
    async def refund(order_id: str, sure: Annotated[Yes, Resolve(ask_whether_sure)]) -> str:
        """Ask the person back, then refund."""
        await shop.write(order_id, f"refund {sure.sure}", "")
        return f"refunded {order_id}"

    @server.resource("shop://hours")
    def hours() -> str:
        """When it is open."""
        return "always"

    @server.prompt()
    def complain(order_id: str) -> str:
        """How to complain."""
        return f"Complain about {order_id}."

    return server


if __name__ == "__main__":
    made = make_server(Shop(Path(sys.argv[1]), lambda: os._exit(9)))
    if len(sys.argv) > 2:
        made.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        made.run("stdio")
