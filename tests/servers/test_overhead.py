"""What the proxy costs a read over stdio: at most 1.5 ms beside the bare server, p50."""

import sys
import time
from pathlib import Path
from statistics import median

from mcp import Client, StdioServerParameters

ROOT = Path(__file__).parents[2]
ASCERTAIN = str(Path(sys.executable).with_name("ascertain"))
BAR_MS = 1.5
CALLS = 300


async def p50_ms(client):
    took = []
    for _ in range(CALLS):
        began = time.perf_counter()
        await client.call_tool("ping", {"text": "x"})
        took.append(time.perf_counter() - began)
    return median(took) * 1000


async def test_a_read_costs_no_more_than_the_bar(tmp_path, capsys):
    config = tmp_path / "ascertain.toml"
    config.write_text(
        f'[mcp]\nledger = "sqlite:///{tmp_path}/ledger.db"\npins = "{tmp_path}/pins.json"\n'
        "trust_annotations = true\n"
    )
    server = [sys.executable, "-m", "tests.mcp.shop_server", str(tmp_path)]
    proxy = [ASCERTAIN, "mcp", "--config", str(config), "--", *server]
    async with (
        Client(StdioServerParameters(command=proxy[0], args=proxy[1:], cwd=ROOT)) as proxied,
        Client(StdioServerParameters(command=server[0], args=server[1:], cwd=ROOT)) as bare,
    ):
        # In turn, so that a busy moment meets both.
        pairs = [(await p50_ms(proxied), await p50_ms(bare)) for _ in range(4)]
    added = sorted(proxied - bare for proxied, bare in pairs[1:])
    with capsys.disabled():
        print(f"\nadded to a read, p50: {added[0]:.2f} ms (of {len(added)}: {added})")
    assert added[0] <= BAR_MS
