"""A network between a process and its ledger that goes silent: connections hold, nothing passes."""

import ctypes
import mmap
import os
import select
import shutil
import socket
import subprocess
from pathlib import Path

from ascertain.store.postgres_place import place_of
from tests.postgres import server

FORWARDS, SILENT, DEAF = 0, 1, 2
"""Everything passes; nothing does; what the server says does not."""
LONG = os.environ.get("ASCERTAIN_FAULTS") == "long"
IMPATIENT = "&tcp_user_timeout=1000&keepalives_idle=1&keepalives_interval=1&keepalives_count=1"
_LOOK_S = 0.005
_NETWORK = 0x40000000  # CLONE_NEWNET


class Wire:
    """A TCP proxy, to be run in a process of its own; its mood is shared with all that are forked.

    Whoever is behind it is never told anything: bytes are taken and kept. That they were taken is
    acknowledged, so who waits for an answer notices such a silence, and the kernel does not.
    """

    vanishes = False
    host = "127.0.0.1"

    def __init__(self):
        given = os.environ.get(server.GIVEN)
        options = place_of(given or server.server().url(host="127.0.0.1")).options
        self._options = {**options, "port": options.get("port") or "5432"}
        self._mood = mmap.mmap(-1, 1)
        self._listens = self._listener()

    def _listener(self):
        return socket.create_server((self.host, 0))

    def url(self, schema):
        """A ledger behind it; connecting takes 2 s at most."""
        who = f"{self._options['user']}:{self._options.get('password', '')}".replace(" ", "%20")
        where = f"{self.host}:{self._listens.getsockname()[1]}/{self._options['dbname']}"
        return f"postgresql://{who}@{where}?schema={schema}&sslmode=disable&connect_timeout=2"

    def goes(self, mood):
        """From now on."""
        self._mood[0] = mood

    def close(self):
        """Let go of it here; who forwards has it still."""
        self._listens.close()
        self._mood.close()

    def __call__(self):
        """Forward until killed."""
        pairs = []
        while True:
            mood = self._mood[0]
            ways = {}
            for near, far in pairs:
                ways |= {near: far} if mood != SILENT else {}
                ways |= {far: near} if mood == FORWARDS else {}
            new = [self._listens] if mood != SILENT else []
            for one in select.select([*new, *ways], [], [], _LOOK_S)[0]:
                if self._mood[0] != mood:
                    break  # it was said to have changed before this came
                if one is self._listens:
                    behind = (self._options["host"], int(self._options["port"]))
                    pairs.append((one.accept()[0], socket.create_connection(behind)))
                elif one.fileno() >= 0 and not _passed(one, ways[one]):
                    one.close()
                    ways[one].close()
            pairs = [pair for pair in pairs if pair[0].fileno() >= 0]


class Link(Wire):
    """The same behind a network of its own, whose link is taken down: packets vanish.

    The one who forwards listens in another network namespace; two virtual devices lead there.
    """

    vanishes = True

    def __init__(self):
        self._space = f"ascertain-{os.getpid()}"
        self._near, self._far = f"asc{os.getpid()}a", f"asc{os.getpid()}b"
        self._net = f"10.213.{os.getpid() >> 6 & 255}.{(os.getpid() & 63) * 4}"
        head, _, last = self._net.rpartition(".")
        here, self.host = f"{head}.{int(last) + 1}/30", f"{head}.{int(last) + 2}"
        _ip("netns", "add", self._space)
        try:
            _ip("link", "add", self._near, "type", "veth", "peer", "name", self._far,
                "netns", self._space)  # fmt: skip
            self._inside("addr", "add", f"{self.host}/30", "dev", self._far)
            self._inside("link", "set", self._far, "up")
            _ip("addr", "add", here, "dev", self._near)
            _ip("link", "set", self._near, "up")
            super().__init__()
        except BaseException:
            _ip("netns", "delete", self._space)
            raise

    def url(self, schema):
        """With bounds that can be waited for, unless it is waited for as long as it takes."""
        return super().url(schema) + ("" if LONG else IMPATIENT)

    def _listener(self):
        """A socket belongs to the namespace in which it was made."""
        ours, theirs = Path("/proc/thread-self/ns/net"), Path("/run/netns", self._space)
        with ours.open() as home, theirs.open() as there:
            _enter(there)
            try:
                return super()._listener()
            finally:
                _enter(home)

    def _inside(self, *words):
        _ip("-n", self._space, *words)

    def goes(self, mood):
        """From now on; whoever is asked for more than the link can do gets that from the proxy."""
        super().goes(mood if mood != SILENT else FORWARDS)
        self._inside("link", "set", self._far, "down" if mood == SILENT else "up")

    def close(self):
        super().close()
        _ip("netns", "delete", self._space)  # and its devices with it


def best():
    """A network whose link can be taken down, where the machine lets us make one; else a proxy."""
    if shutil.which("ip"):
        try:
            return Link()
        except (OSError, subprocess.CalledProcessError):
            pass  # not allowed here
    return Wire()


def _ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, stdin=subprocess.DEVNULL)


def _enter(space):
    """This thread makes its sockets in that network namespace from now on."""
    if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), _NETWORK):
        raise OSError(ctypes.get_errno(), "setns")


def _passed(one, other):
    """Whether something was passed on; False: one of the two has ended."""
    try:
        said = one.recv(65536)
        other.sendall(said)
    except OSError:
        return False
    return bool(said)
