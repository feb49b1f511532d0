"""Three servers that nobody here wrote, each with effects that are counted outside of it.

`make servers` installs and plays them: with answers that are lost, servers and proxies that are
killed, and hosts that come again, it is one effect for one wish.
"""

import asyncio
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import fastmcp
import mcp
import pytest
from fastmcp.client.transports import StdioTransport

from ascertain.adapters.mcp.words import FACT

ROOT = Path(__file__).parents[2]
BIN = ROOT / ".venv" / "servers" / "python" / "bin"
NODE = ROOT / ".venv" / "servers" / "node" / "node_modules" / ".bin"
ASCERTAIN = Path(sys.executable).with_name("ascertain")


class Git:
    """Commits. The key goes into the message, and the log is asked for it."""

    name, tool = "git", "git_commit"
    config = """
[mcp.tools.git_commit]
identity = ["repo_path", "message"]
key = { argument = "message", template = "{value}\\n\\nRequest: {key}" }
receipt = { pattern = "hash ([0-9a-f]{7,40})" }
[mcp.tools.git_commit.lookup]
tool = "git_log"
arguments = { repo_path = "{arguments.repo_path}", max_count = 50 }
pattern = "Commit: '?([0-9a-f]{40})(?:(?!Commit:)[\\\\s\\\\S])*Request: {key}"
absent = "^Commit history"
absence_final_after = "5s"
[mcp.tools.git_log]
access = "read"
"""
    after_loss = "confirmed"

    def __init__(self, folder):
        self.folder = folder / "repository"
        self.git("init", "-q", "-b", "main", str(self.folder))
        for name, value in (("user.name", "U"), ("user.email", "u@example.org")):
            self.git("-C", str(self.folder), "config", name, value)
        self.calls = 0
        self.command = [str(BIN / "mcp-server-git"), "--repository", str(self.folder)]

    def git(self, *words):
        return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout

    def call(self, number):
        """There is always something to commit, so that a second one would show."""
        self.calls += 1
        (self.folder / "file").write_text(f"{self.calls}\n")
        self.git("-C", str(self.folder), "add", "file")
        return {"repo_path": str(self.folder), "message": f"change {number}"}

    def effects(self):
        try:
            return int(self.git("-C", str(self.folder), "rev-list", "--count", "HEAD"))
        except subprocess.CalledProcessError:
            return 0  # no commit yet


class Sqlite:
    """Rows of a table. Nobody can be asked which of them is ours: a lost answer stays unknown."""

    name, tool = "sqlite", "write_query"
    config = "[mcp.tools.write_query]\nidentity = ['query']\n"
    after_loss = "unknown"

    def __init__(self, folder):
        self.file = folder / "notes.db"
        with sqlite3.connect(self.file) as base:
            base.execute("create table notes (text)")
        self.command = [str(BIN / "mcp-server-sqlite"), "--db-path", str(self.file)]

    def call(self, number):
        return {"query": f"INSERT INTO notes VALUES ('note {number}')"}

    def effects(self):
        base = sqlite3.connect(self.file)
        try:
            return base.execute("select count(*) from notes").fetchone()[0]
        finally:
            base.close()


class Filesystem:
    """Lines of a file, put before its end. The file is asked whether the line is there."""

    name, tool = "filesystem", "edit_file"
    config = """
[mcp.tools.edit_file]
identity = ["path", "edits"]
[mcp.tools.edit_file.lookup]
tool = "read_text_file"
arguments = { path = "{arguments.path}" }
by = "fields"
pattern = "{arguments.edits.0.newText}"
absent = "END"
absence_final_after = "5s"
[mcp.tools.read_text_file]
access = "read"
"""
    after_loss = "confirmed"

    def __init__(self, folder):
        self.file = folder.resolve() / "notes.txt"
        self.file.write_text("END\n")
        self.command = [str(NODE / "mcp-server-filesystem"), str(folder.resolve())]

    def call(self, number):
        edits = [{"oldText": "END", "newText": f"note {number}.\nEND"}]
        return {"path": str(self.file), "edits": edits}

    def effects(self):
        return self.file.read_text().count("note ")


SERVERS = (Git, Sqlite, Filesystem)


@pytest.fixture(params=SERVERS, ids=[server.name for server in SERVERS])
def house(request, tmp_path):
    return House(tmp_path, request.param(tmp_path))


class House:
    def __init__(self, folder, server):
        self.folder, self.server = folder, server
        self.config = folder / "ascertain.toml"
        self.config.write_text(
            f'[mcp]\nname = "{server.name}"\nprincipal = "u7"\n'
            f'ledger = "sqlite:///{folder}/ledger.db"\npins = "{folder}/pins.json"\n'
            f"{server.config}"
        )

    @property
    def proxy(self):
        relay = [sys.executable, str(Path(__file__).with_name("relay.py")), str(self.folder)]
        words = [str(ASCERTAIN), "mcp", "--config", str(self.config), "--"]
        command = shlex.join([*words, *relay, *self.server.command])
        return ["sh", "-c", f"echo $$ > {self.folder}/pid; exec {command}"]

    @asynccontextmanager
    async def official(self):
        """A host on the official client."""
        parameters = mcp.StdioServerParameters(command=self.proxy[0], args=self.proxy[1:])
        async with mcp.Client(parameters) as client:
            yield lambda number: client.call_tool(self.server.tool, self.server.call(number))

    @asynccontextmanager
    async def fast(self):
        """A host on FastMCP's client."""
        async with fastmcp.Client(StdioTransport(self.proxy[0], self.proxy[1:])) as client:
            yield lambda number: client.call_tool(
                self.server.tool, self.server.call(number), raise_on_error=False
            )

    def next(self, what):
        (self.folder / "next").write_text(f"{self.server.tool} {what}")


def state(result):
    (action,) = result.meta[FACT]["actions"]
    return action["state"]


async def test_lost_answers_and_killed_servers_are_one_effect_for_one_wish(house):
    async with house.official() as call:
        assert state(await call(1)) == "confirmed"
        assert state(await call(1)) == "confirmed", "the same wish, under a new request id"
        assert house.server.effects() == 1
        house.next("lose")
        assert state(await call(2)) == house.server.after_loss
        assert state(await call(2)) == house.server.after_loss
    assert house.server.effects() == 2
    async with house.fast() as call:
        assert state(await call(1)) == "confirmed", "a host that comes again, to a new proxy"
        assert state(await call(2)) == house.server.after_loss
    assert house.server.effects() == 2


async def test_a_killed_proxy_is_one_effect_for_one_wish(house):
    with pytest.raises((Exception, BaseExceptionGroup)):  # whatever a client makes of it
        await killed_in_the_middle(house)
    assert house.server.effects() == 1
    async with house.fast() as call:
        assert state(await call(1)) == house.server.after_loss
    assert house.server.effects() == 1


async def killed_in_the_middle(house):
    async with house.official() as call:
        house.next("hold")
        made = asyncio.create_task(call(1))
        await asyncio.to_thread(held, house.folder / "held")
        os.kill(int((house.folder / "pid").read_text()), signal.SIGKILL)
        await made


def held(file):
    """Wait until the answer is held back, with a bound."""
    import time

    until = time.monotonic() + 20
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert file.exists(), "no answer came"
