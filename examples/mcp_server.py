"""An MCP server that loses its first answer; `python examples/mcp_proxy.py` runs it."""

import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

FOLDER = Path(sys.argv[1])
server = MCPServer("desk", log_level="CRITICAL")


def tickets() -> list[list[str]]:
    file = FOLDER / "tickets.txt"
    return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


@server.tool()
def open_ticket(order: str, issue: str, request: str = "") -> dict[str, str]:
    """Open a ticket. The first time the server dies before it answers."""
    ticket = f"T{900 + len(tickets())}"
    with (FOLDER / "tickets.txt").open("a") as file:
        file.write(f"{ticket} {order} {request}\n")
    if ticket == "T900":
        os._exit(1)
    return {"ticket": ticket}


@server.tool()
def find_tickets(request: str) -> list[dict[str, str]]:
    """Find the tickets of a request."""
    return [{"ticket": row[0]} for row in tickets() if row[2:] == [request]]


if __name__ == "__main__":
    server.run("stdio")
