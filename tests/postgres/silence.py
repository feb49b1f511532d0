"""A network between a process and its ledger that goes silent: connections hold, nothing passes."""

import mmap
import os
import select
import socket

from ascertain.store.postgres_place import place_of
from tests.postgres import server

FORWARDS, SILENT, DEAF = 0, 1, 2
"""Everything passes; nothing does; what the server says does not."""
_LOOK_S = 0.005


class Wire:
    """A TCP proxy, to be run in a process of its own; its mood is shared with all that are forked.

    Whoever is behind it is never told anything: bytes are taken and kept.
    """

    def __init__(self):
        given = os.environ.get(server.GIVEN)
        options = place_of(given or server.server().url(host="127.0.0.1")).options
        self._options = {**options, "port": options.get("port") or "5432"}
        self._mood = mmap.mmap(-1, 1)
        self._listens = socket.create_server(("127.0.0.1", 0))

    def url(self, schema):
        """A ledger behind it; connecting takes 2 s at most."""
        who = f"{self._options['user']}:{self._options.get('password', '')}".replace(" ", "%20")
        where = f"127.0.0.1:{self._listens.getsockname()[1]}/{self._options['dbname']}"
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


def _passed(one, other):
    """Whether something was passed on; False: one of the two has ended."""
    try:
        said = one.recv(65536)
        other.sendall(said)
    except OSError:
        return False
    return bool(said)
