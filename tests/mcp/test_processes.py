"""The command itself, with processes that die: over stdio, and over HTTP on both sides."""

import asyncio
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tomllib
from contextlib import asynccontextmanager
from pathlib import Path

import fastmcp
import pytest
from fastmcp.client.transports import StdioTransport
from mcp import Client, StdioServerParameters

from ascertain.adapters.mcp.words import FACT
from tests import ports
from tests.mcp.house import MODES, TICKETS, Host, state, until
from tests.mcp.shop_server import Shop

ROOT = Path(__file__).parents[2]
ASCERTAIN = str(Path(sys.executable).with_name("ascertain"))


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return repr(value).replace("'", '"')


@pytest.fixture
def shop(tmp_path):
    config = tmp_path / "ascertain.toml"
    lines = [
        "[mcp]", 'name = "shop"', 'principal = "u7"', "trust_annotations = true",
        f'ledger = "sqlite:///{tmp_path}/ledger.db"', f'pins = "{tmp_path}/pins.json"',
        "[mcp.tools.create_ticket]",
    ]  # fmt: skip
    lines += [f"{name} = {toml(value)}" for name, value in TICKETS.items()]
    config.write_text("\n".join(lines))
    assert tomllib.loads(config.read_text())["mcp"]["tools"]["create_ticket"] == TICKETS
    return Shop(tmp_path, lambda: None)


def proxy(shop, *words):
    config = str(shop.folder / "ascertain.toml")
    return [ASCERTAIN, "mcp", "--config", config, *words]


def server(shop, *words):
    return [sys.executable, "-m", "tests.mcp.shop_server", str(shop.folder), *words]


@asynccontextmanager
async def host_of(shop, mode):
    """A host that starts the proxy, as hosts do; the proxy's number is in a file."""
    command = shlex.join(proxy(shop, "--", *server(shop)))
    shell = f"echo $$ > {shop.folder}/pid; exec {command}"
    parameters = StdioServerParameters(command="sh", args=["-c", shell], cwd=ROOT)
    async with Client(parameters, mode=mode) as client:
        yield Host(client)


async def killed_in_the_middle(shop):
    async with host_of(shop, MODES[0]) as host:
        shop.next("slow")
        call = asyncio.create_task(host.ticket())
        await until(shop.folder / "began")
        os.kill(int((shop.folder / "pid").read_text()), signal.SIGKILL)
        await call


async def test_a_proxy_that_is_killed_while_its_server_works_leaves_one_effect(shop):
    with pytest.raises((Exception, BaseExceptionGroup)):  # whatever a client makes of it
        await killed_in_the_middle(shop)
    assert len(shop.tickets()) == 1
    async with host_of(shop, "legacy") as host:
        result = await host.ticket(issue="the same again, reworded")
        assert (state(result), result.is_error) == ("confirmed", False)
        shop.next("die_after")
        other = await host.ticket("A2")
        assert state(other) == "confirmed", "a server that is killed is started again"
    assert [row["order"] for row in shop.tickets()] == ["A1", "A2"]


@asynccontextmanager
async def running(command, port):
    process = await asyncio.to_thread(subprocess.Popen, command, cwd=ROOT)
    try:
        await asyncio.to_thread(listening, port, process)
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def listening(port, process):
    """Wait until somebody listens, with a bound."""
    import time

    until = time.monotonic() + 20
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as knock:
            if knock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError(f"nobody listens on {port}")


async def test_over_http_on_both_sides_a_server_that_dies_after_the_effect_is_one_effect(shop):
    shop_port, port = ports.claim(), ports.claim()
    shop_url, url = (f"http://127.0.0.1:{one}/mcp" for one in (shop_port, port))
    served = server(shop, str(shop_port))
    async with running(served, shop_port):
        command = proxy(shop, "--listen", f"127.0.0.1:{port}", "--url", shop_url)
        async with running(command, port):
            for mode in MODES:
                async with Client(url, mode=mode) as client:
                    host = Host(client)
                    assert (await host.call("ping", text=mode)).content[0].text == mode
                    assert state(await host.ticket(session="chat-1")) == "confirmed"
            async with Client(url) as client:
                host = Host(client)
                shop.next("die_after")
                lost = asyncio.create_task(host.ticket("A2", session="chat-1"))
                async with again(served, shop_port, shop):
                    assert state(await lost) in ("unknown", "confirmed")
                    assert state(await host.ticket("A2", session="chat-1")) == "confirmed"
    assert [row["order"] for row in shop.tickets()] == ["A1", "A2"]


@asynccontextmanager
async def again(command, port, shop):
    """The server once more, after it has died in the middle of its second ticket."""
    await asyncio.to_thread(died, port, shop)
    async with running(command, port):
        yield


def died(port, shop):
    """Wait until the server is gone, with a bound."""
    import time

    until = time.monotonic() + 20
    while time.monotonic() < until:
        with socket.socket() as knock:
            if len(shop.tickets()) == 2 and knock.connect_ex(("127.0.0.1", port)) != 0:
                return
        time.sleep(0.02)
    raise AssertionError("the server did not die")


class Approver:
    """A person who is asked at fastmcp's client, and approves with the command."""

    def __init__(self, shop):
        self.ledger = ["--ledger", f"sqlite:///{shop.folder}/ledger.db"]
        self.sees = []

    async def __call__(self, message, response_type, params, context):
        self.sees.append(message)
        (action,) = re.findall(r"`ascertain show (\w+)`", message)
        shown = await asyncio.to_thread(self.run, "show", action, "--json")
        digest = json.loads(shown)["approval"]["digest"]
        await asyncio.to_thread(self.run, "approve", action, "--by", "li", "--digest", digest)
        return {}

    def run(self, *words):
        command = [ASCERTAIN, *words, *self.ledger]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("mode", MODES)
async def test_a_person_at_fastmcps_client_is_asked_and_approves_with_the_command(shop, mode):
    config = shop.folder / "ascertain.toml"
    config.write_text(config.read_text() + "\napproval = true\n")
    approver = Approver(shop)
    command, *words = proxy(shop, "--", *server(shop))
    over = StdioTransport(command=command, args=words, cwd=str(ROOT))
    async with fastmcp.Client(over, elicitation_handler=approver, mode=mode) as client:
        told = await client.call_tool("create_ticket", {"order_id": "A1", "issue": "noise"})
    assert told.meta[FACT]["actions"][0]["state"] == "confirmed"
    assert len(approver.sees) == 1
    assert [row["order"] for row in shop.tickets()] == ["A1"]
