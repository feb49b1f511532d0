"""An MCP server behind the proxy: `python examples/mcp_proxy.py`.

A scripted host asks twice for the same ticket, in other words, and the server dies in the middle of
the first. At the end stands what it has really done.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp_config import CONFIG

HERE = Path(__file__).parent


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "ascertain.toml"
        config.write_text(CONFIG.format(folder=folder))
        server = [sys.executable, str(HERE / "mcp_server.py"), folder]
        proxy = StdioServerParameters(
            command=sys.executable,
            args=["-m", "ascertain.cli", "mcp", "--config", str(config), "--", *server],
        )
        async with Client(proxy) as host:
            for issue in ("a noise in the left ear", "the left one makes a noise"):
                told = await host.call_tool("open_ticket", {"order": "A123", "issue": issue})
                (action,) = (told.meta or {})["ascertain.dev/fact"]["actions"]
                print(f"fact:     {action['state']} {action['provider_ref']}")
        tickets = (Path(folder) / "tickets.txt").read_text().splitlines()
        print(f"provider: {len(tickets)} ticket: {tickets[0].split()[0]}")


if __name__ == "__main__":
    asyncio.run(main())
