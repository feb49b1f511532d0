"""Several workers of one ledger, each a process of its own, and the provider that they speak to."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from ascertain.store.open import open_ledger
from ascertain.testing.world import World
from tests.fleet import shop

ROOT = Path(__file__).resolve().parent.parent.parent
ASCERTAIN = str(Path(sys.executable).parent / "ascertain")


class Fleet:
    """A ledger, its provider, and the workers that a test starts."""

    def __init__(self, url: str, world: World) -> None:
        self.url = url
        self.world = world
        self.ledger = open_ledger(url)
        self.children: list[subprocess.Popen[str]] = []

    def shop(self, rate: object = None, **options: object) -> shop.Shop:
        """Another process's view: its own app and client."""
        return shop.make(self.url, self.world.url, rate, **options)

    def outage(self, orders: Iterable[str], *, tenant: str = "default") -> None:
        """Leave so many unknown actions behind."""
        made = self.shop()
        made.run(shop.outage(made.app, orders, tenant=tenant))

    def start(self, *argv: str, rate: str | None = None) -> subprocess.Popen[str]:
        """Start a worker, and wait until it says that it has started."""
        told = {shop.LEDGER: self.url, shop.WORLD: self.world.url, "PYTHONPATH": str(ROOT)}
        if rate is not None:
            told[shop.RATE] = rate
        child = subprocess.Popen(
            [ASCERTAIN, "worker", "tests.fleet.serving:app", *argv], cwd=ROOT, text=True,
            env={**os.environ, **told}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.children.append(child)
        hear(child, "started")
        return child

    def wait(self, what: str = "everything is settled", timeout_s: float = 40.0) -> None:
        """Wait until nothing is open any more."""
        self.world.wait_until(lambda: self.ledger.next_due_at() is None, what, timeout_s)

    def end(self) -> None:
        self.ledger.close()
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.communicate()


def hear(child: subprocess.Popen[str], words: str) -> None:
    """Read what a worker says until it says this."""
    assert child.stderr is not None
    while words not in (line := child.stderr.readline()):
        assert line, f"it ended without saying {words!r}"
