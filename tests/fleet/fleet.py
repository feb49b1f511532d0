"""Several workers of one ledger, each a process of its own, and the provider that they speak to."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from queue import SimpleQueue

from ascertain.store.open import open_ledger
from ascertain.testing.world import World
from tests.fleet import shop

ROOT = Path(__file__).resolve().parent.parent.parent
SAID_WITHIN_S = 60.0
ASCERTAIN = str(Path(sys.executable).parent / "ascertain")


class Child(subprocess.Popen[str]):
    """A worker's process. What it says is read as it says it: a pipe that is full would stop it."""

    def __init__(self, argv: Sequence[str], environment: dict[str, str]) -> None:
        super().__init__(
            [ASCERTAIN, "worker", "tests.fleet.serving:app", *argv], cwd=ROOT, text=True,
            env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._said: SimpleQueue[str] = SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def hear(self, words: str) -> None:
        """Wait until it says this."""
        while words not in (line := self._said.get(timeout=SAID_WITHIN_S)):
            assert line, f"it ended without saying {words!r}"

    def end(self) -> None:
        """Kill it, if it is still there."""
        if self.poll() is None:
            self.kill()
        self.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self.stderr is not None
        with self.stderr:
            for line in self.stderr:
                self._said.put(line)
        self._said.put("")


class Fleet:
    """A ledger, its provider, and the workers that a test starts."""

    def __init__(self, url: str, world: World) -> None:
        self.url = url
        self.world = world
        self.ledger = open_ledger(url)
        self.children: list[Child] = []

    def shop(self, rate: object = None, **options: object) -> shop.Shop:
        """Another process's view: its own app and client."""
        return shop.make(self.url, self.world.url, rate, **options)

    def outage(self, orders: Iterable[str], *, tenant: str = "default") -> None:
        """Leave so many unknown actions behind."""
        made = self.shop()
        made.run(shop.outage(made.app, orders, tenant=tenant))

    def start(self, *argv: str, rate: str | None = None) -> Child:
        """Start a worker, and wait until it says that it has started."""
        told = {shop.LEDGER: self.url, shop.WORLD: self.world.url, "PYTHONPATH": str(ROOT)}
        if rate is not None:
            told[shop.RATE] = rate
        child = Child(argv, told)
        self.children.append(child)
        child.hear("started")
        return child

    def wait(self, what: str = "everything is settled", timeout_s: float = 40.0) -> None:
        """Wait until nothing is open any more."""
        self.world.wait_until(lambda: self.ledger.next_due_at() is None, what, timeout_s)

    def end(self) -> None:
        self.ledger.close()
        for child in self.children:
            child.end()
