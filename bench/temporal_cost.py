"""What Temporal costs, beside the embedded worker on both ledgers, in one run on one machine.

    python bench/temporal_cost.py [--actions 100] [--json FILE]

The provider is a function in this process and answers at once, so what is left is what recovery and
its engine cost. Temporal is the dev server with its file on this disk: one process, SQLite. Its
figures are not those of a cluster. Processor time is that of this process and of the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ascertain import Absent, Ascertain, Budget, Found, State, key
from ascertain.store.ledger import Filter
from ascertain.temporal import Reconcile, Temporal, Verdict
from ascertain.temporal.worker import TemporalWorker
from tests.postgres.server import new_url
from tests.temporal.server import Server

TICKS = os.sysconf("SC_CLK_TCK")
QUICK = Budget(turn_sends=1, turn_s=0.2, send_deadline_s=5.0, backoff_s=0.01, backoff_max_s=0.01)


class Line(NamedTuple):
    """One line of the result."""

    what: str
    ms: float
    cpu_ms: float | None = None


class Provider:
    """Does what it is asked at once, and loses the answer where it is told to."""

    def __init__(self, url: str, worker: Any) -> None:
        self.app = Ascertain(url, worker=worker, secret=b"a secret of this bench")
        self.done: dict[str, str] = {}
        self.loses = False
        self.answers = True

        @self.app.tool(identity=["n"], key_lifetime="24h", budget=QUICK, breaker=False)
        async def book(n: int) -> dict:
            self.done[key()] = f"B{n}"
            if self.loses:
                raise ConnectionError
            return {"ref": f"B{n}"}

        @book.lookup(absence_final_after=60)
        async def find(action: Any) -> Any:
            if not self.answers:
                raise ConnectionError
            ref = self.done.get(action.key)
            return Found(ref) if ref else Absent

        @self.app.tool(identity=["n"], budget=QUICK, breaker=False)
        async def whisper(n: int) -> None:
            raise ConnectionError

        self.book, self.whisper = book, whisper

    async def lose(self, numbers: Iterator[int]) -> None:
        """Unknown actions, whose provider can be asked from now on."""
        self.loses, self.answers = True, False
        with self.app.session("bench", principal="u1"):
            made = await asyncio.gather(*(self.book(n) for n in numbers))
        assert {action.state for action in made} == {State.UNKNOWN}
        self.loses, self.answers = False, True

    def open(self) -> int:
        return len(self.app.ledger.find(Filter(open_only=True, limit=10_000)))


def cpu_s(server: int | None = None) -> float:
    """Processor time so far, of this process and of the server."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    total = own.ru_utime + own.ru_stime
    if server is not None:
        fields = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


@contextmanager
def timed(lines: list[Line], what: str, many: int, server: int | None = None) -> Iterator[None]:
    began, used = time.perf_counter(), cpu_s(server)
    yield
    took, spent = time.perf_counter() - began, cpu_s(server) - used
    lines.append(Line(what, 1e3 * took / many, 1e3 * spent / many))


async def until(holds: Callable[[], bool], within_s: float = 300.0) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, "it does not come to an end"
        await asyncio.sleep(0.002)


async def settle(provider: Provider, lines: list[Line], name: str, many: int, **more: Any) -> None:
    """Many at once, then one after the other."""
    await provider.lose(iter(range(many)))
    with timed(lines, f"{name}: {many} unknown actions, each", many, **more):
        await until(lambda: not provider.open())
    each = []
    for n in range(many, many + 10):
        await provider.lose(iter([n]))
        began = time.perf_counter()
        await until(lambda: not provider.open())
        each.append(1e3 * (time.perf_counter() - began))
    lines.append(Line(f"{name}: one unknown action until it is settled", median(each)))


async def writes(provider: Provider, lines: list[Line], name: str, many: int) -> None:
    each = []
    with provider.app.session("writes", principal="u1"):
        for n in range(many):
            began = time.perf_counter()
            action = await provider.book(n)
            each.append(1e3 * (time.perf_counter() - began))
            assert action.confirmed
    lines.append(Line(f"{name}: a guarded write by a lone caller (p50)", median(each)))


async def verdicts(provider: Provider, lines: list[Line], place: Temporal, many: int) -> None:
    client = await place.client()
    with provider.app.session("verdicts", principal="u1"):
        made = await asyncio.gather(*(provider.whisper(n) for n in range(many)))
    each = []
    for action in made:
        handle = client.get_workflow_handle(action.id)
        await _there(handle)
        began = time.perf_counter()
        said = Verdict(confirmed=f"by hand {action.id}")
        await handle.execute_update(Reconcile.verdict, said)
        each.append(1e3 * (time.perf_counter() - began))
    lines.append(Line("Temporal: a person's verdict, said and written (p50)", median(each)))


async def _there(handle: Any) -> None:
    from temporalio.service import RPCError

    deadline = time.monotonic() + 60
    while True:
        try:
            await handle.describe()
        except RPCError:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)
        else:
            return


async def embedded(many: int, lines: list[Line], name: str, url: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        provider = Provider(url.replace("FOLDER", folder), "none")
        async with provider.app:
            worker = provider.app.own_worker()
            running = asyncio.create_task(worker.run())
            await settle(provider, lines, name, many)
            await writes(provider, lines, name, many)
            worker.stop()
            await running


async def under_temporal(many: int, lines: list[Line]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = await asyncio.to_thread(Server(folder).start().await_ready)
        try:
            place = Temporal(server.target, embedded=False)
            provider = Provider(f"sqlite:///{folder}/ledger.db", place)
            async with provider.app:
                worker = TemporalWorker(provider.app, place, concurrency=64)
                running = asyncio.create_task(worker.run())
                await settle(provider, lines, "Temporal", many, server=server.pid)
                await writes(provider, lines, "Temporal", many)
                await verdicts(provider, lines, place, 10)
                worker.stop()
                await running
        finally:
            server.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=100)
    parser.add_argument("--json")
    said = parser.parse_args()
    lines: list[Line] = []
    asyncio.run(embedded(said.actions, lines, "embedded, SQLite", "sqlite:///FOLDER/ledger.db"))
    asyncio.run(embedded(said.actions, lines, "embedded, PostgreSQL", new_url()))
    asyncio.run(under_temporal(said.actions, lines))
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for line in lines:
        cpu = "" if line.cpu_ms is None else f"{line.cpu_ms:9.2f} ms CPU"
        print(f"{line.what:64} {line.ms:9.2f} ms{cpu}")
    if said.json:
        Path(said.json).write_text(json.dumps([line._asdict() for line in lines], indent=1))


if __name__ == "__main__":
    main()
