"""What befalls the server meanwhile: flushed, evicted, cut off, killed and begun anew."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from typing import Self

import valkey

from ascertain.testing.linearize import Op
from tests.conformance.valkey_server import Server

PAUSE_S = (0.02, 0.2)
KINDS = {"FLUSHALL": 4, "CLIENT KILL": 3, "SIGKILL and restart": 2, "eviction": 2}


class Troubles:
    """A thread that troubles a server until the block ends, and notes what was lost when."""

    def __init__(self, server: Server, seed: object) -> None:
        self.done: Counter[str] = Counter()
        self._server = server
        self._dice = random.Random(f"troubles-{seed}")
        self._lost: tuple[Op, ...] = ()
        self._under_way: tuple[Op, ...] = ()
        self._over = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(30)
        if self._error is not None:
            raise self._error

    def lost_since(self, start: float) -> list[Op]:
        """The losses that were not over by then; the one that is under way may have happened."""
        return [op for op in (*self._lost, *self._under_way) if op.end >= start]

    def _run(self) -> None:
        try:
            kinds = list(KINDS)
            first = self._dice.sample(kinds, len(kinds))  # each of them at least once
            while not self._over.wait(self._dice.uniform(*PAUSE_S)):
                (kind,) = self._dice.choices(kinds, list(KINDS.values()))
                kind = first.pop() if first else kind
                self._do(kind)
                self.done[kind] += 1
        except BaseException as error:
            self._error = error
            raise

    def _do(self, kind: str) -> None:
        if kind == "CLIENT KILL":
            with valkey.Valkey(port=self._server.port) as client:
                client.client_kill_filter(_type="normal", skipme=True)
            return
        loss = Op("lose", None, time.monotonic())
        self._under_way = (loss,)
        if kind == "SIGKILL and restart":
            self._server.kill()
            self._server.start()
        else:
            with valkey.Valkey(port=self._server.port) as client:
                if kind == "FLUSHALL":
                    client.flushall()
                else:
                    _evict(client, self._over)
        loss = loss._replace(end=time.monotonic())
        self._lost += (loss,)
        if kind == "eviction":  # it may have been kept and evicted again before there was no room
            self._lost += (loss._replace(kind="lose perhaps"),)
        self._under_way = ()


def _evict(client: valkey.Valkey, over: threading.Event) -> None:
    """No room for anything: all that is kept goes, and for a moment nothing can be kept."""
    client.config_set("maxmemory-policy", "allkeys-lru")
    client.config_set("maxmemory", 1)
    try:
        client.set("filler", "x")
    except valkey.exceptions.OutOfMemoryError:
        over.wait(0.01)
    finally:
        client.config_set("maxmemory", 0)
        client.config_set("maxmemory-policy", "noeviction")
