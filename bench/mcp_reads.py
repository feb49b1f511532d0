"""Reads of an MCP server over stdio, bare and through the proxy, in turn.

python bench/mcp_reads.py server     the server: one tool that reads
"""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

SERVER = [sys.executable, str(Path(__file__).resolve()), "server"]


class Reads(NamedTuple):
    """How long each of the reads took, in seconds."""

    bare: list[float]
    proxied: list[float]


@asynccontextmanager
async def connected(folder: Path) -> AsyncIterator[tuple[Client, Client]]:
    """A client of the bare server, and one of the same server behind ``ascertain mcp``."""
    config = folder / "ascertain.toml"
    config.write_text(
        f'[mcp]\nledger = "sqlite:///{folder}/ledger.db"\npins = "{folder}/pins.json"\n'
        "trust_annotations = true\n"
    )
    ascertain = str(Path(sys.executable).with_name("ascertain"))
    proxy = [ascertain, "mcp", "--config", str(config), "--", *SERVER]
    async with (
        Client(StdioServerParameters(command=SERVER[0], args=SERVER[1:])) as bare,
        Client(StdioServerParameters(command=proxy[0], args=proxy[1:])) as proxied,
    ):
        yield bare, proxied


async def reads(client: Client, many: int) -> list[float]:
    """Seconds of each call."""
    took: list[float] = []
    for _ in range(many):
        began = time.perf_counter()
        answer = await client.call_tool("ping", {"text": "x"})
        took.append(time.perf_counter() - began)
        assert not answer.is_error
    return took


async def in_turn(folder: Path, rounds: int, many: int) -> list[Reads]:
    """Rounds of reads; a busy moment meets both. The first round warms up, and is left out."""
    async with connected(folder) as (bare, proxied):
        found = [
            Reads(bare=await reads(bare, many), proxied=await reads(proxied, many))
            for _ in range(rounds + 1)
        ]
    return found[1:]


def serve() -> None:
    server = MCPServer("pings", log_level="CRITICAL")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def ping(text: str) -> str:
        """Say the same."""
        return text

    server.run("stdio")


if __name__ == "__main__":
    serve()
