"""An MCP server on the official SDK whose effects are lines of a file: counted from outside.

    python shop_server.py FOLDER [PORT]

``FOLDER/next`` may say what happens at the next call that writes: ``die_after`` the effect,
``die_before`` it, ``hang`` after it, ``error_after`` it. It is read once and removed.
"""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import ToolAnnotations

FOLDER = Path(sys.argv[1])
server = MCPServer("shop", version="1.0", instructions="Tickets of a shop.")


def behaviour() -> str:
    file = FOLDER / "next"
    said = file.read_text() if file.exists() else ""
    file.unlink(missing_ok=True)
    return said


def tickets() -> list[dict[str, str]]:
    file = FOLDER / "tickets"
    lines = file.read_text().splitlines() if file.exists() else []
    return [
        dict(zip(("id", "request", "order", "issue"), line.split("\t"), strict=True))
        for line in lines
    ]


def wait_for(file: Path) -> None:
    """Until the test says so: this is the slow provider."""
    while not file.exists():
        time.sleep(0.01)


async def write(order: str, issue: str, request: str) -> dict[str, Any]:
    said = behaviour()
    if said == "die_before":
        os._exit(9)
    if said == "closed":
        raise ValueError("SHOP_CLOSED: come back tomorrow")
    if said == "invalid":
        raise MCPError(-32602, "no such order")
    if request and (known := [row for row in tickets() if row["request"] == request]):
        return {"ticket_id": known[0]["id"], "again": True}
    ticket = f"T{900 + len(tickets())}"
    with (FOLDER / "tickets").open("a") as file:
        file.write(f"{ticket}\t{request}\t{order}\t{issue}\n")
        file.flush()
        os.fsync(file.fileno())
    if said == "die_after":
        os._exit(9)
    if said == "hang":
        await asyncio.Event().wait()
    if said == "slow":
        (FOLDER / "began").touch()
        await asyncio.to_thread(wait_for, FOLDER / "go")
    if said == "error_after":
        raise TimeoutError("gateway read timed out")
    return {"ticket_id": ticket, "again": False}


@server.tool()
async def create_ticket(order_id: str, issue: str, request_id: str = "") -> dict[str, Any]:
    """Open a ticket."""
    return await write(order_id, issue, request_id)


@server.tool()
async def send_note(order_id: str, text: str) -> dict[str, Any]:
    """Send a note; nobody can ask what became of it."""
    return await write(order_id, text, "")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def find_tickets(request: str = "", order_id: str = "") -> dict[str, Any]:
    """Find tickets by request number or by order."""
    rows = [
        row
        for row in tickets()
        if (not request or row["request"] == request) and (not order_id or row["order"] == order_id)
    ]
    return {"tickets": rows}


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def ping(text: str) -> str:
    """Say the same."""
    return text


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def broken(text: str) -> str:
    """Always an error."""
    raise ValueError(f"no {text} here")


@server.tool()
async def count_to(order_id: str, top: int, context: Context) -> dict[str, Any]:
    """Report progress, then open a ticket."""
    for number in range(top):
        await context.report_progress(number + 1, top, f"step {number + 1}")
    return await write(order_id, "counted", "")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")
