"""The recovery storm: many unknown actions after an outage, and workers that find out about them.

    python bench/storm.py [--actions 10000] [--processes 1 2 4] [--rate 500/s] [--url URL]

The provider answers look-ups at once, in the worker's own process, so what is measured is the
library's own work: taking, asking, judging, writing. Times are from the word "go" to all workers,
which stand ready, until nothing is open any more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ascertain import Ascertain, Found, Session
from ascertain.store.ledger import Ledger
from ascertain.store.open import open_ledger

HERE = Path(__file__).resolve().parent
NOTE = "x" * 120
CALLERS = 256
POLL_S = 0.01
PATIENCE_S = 300.0

_caller: ContextVar[asyncio.Task[Any]] = ContextVar("caller")


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """One measurement.

    :param cpu_us: of all workers together, for each action. :param shares: how many actions each
        of them took up.
    """

    processes: int
    actions: int
    per_s: float
    took_s: float
    cpu_us: float
    shares: tuple[int, ...]


def shop(url: str, rate: str | None = None) -> Ascertain:
    """An app whose write loses its answer, with its caller; its look-up finds it at once."""
    app = Ascertain(url, worker="none")

    @app.tool(identity=["order_id"], key_lifetime="24h", rate=rate, breaker=False)
    async def create(order_id: str, amount: int, note: str) -> dict[str, Any]:
        _caller.get().cancel()
        raise TimeoutError

    @create.lookup(absence_final_after="10s")
    async def find(action: Any) -> Found:
        return Found(f"T{action.arguments['order_id']}")

    return app


def storm(
    processes: int, actions: int = 10_000, *, rate: str | None = None, url: str | None = None
) -> Storm:
    """Fill a ledger with unknown actions, and let so many worker processes recover all of them.

    :param rate: the provider's; by default it has none.
    :param url: an empty ledger, which is kept; by default a file that is not. One in PostgreSQL
        needs ``ASCERTAIN_SECRET``.
    """
    with tempfile.TemporaryDirectory(dir=HERE, prefix=".storm-") as folder:
        url = url or f"sqlite:///{folder}/ledger.db"
        fill(url, actions)
        workers = [_Worker(url, rate) for _ in range(processes)]
        try:
            return _measured(url, workers, actions)
        finally:
            for worker in workers:
                worker.kill()


def fill(url: str, actions: int) -> None:
    """What an outage leaves behind: so many writes without an answer."""
    app = shop(url)
    try:
        asyncio.run(_outage(app, actions))
    finally:
        app.close()


async def _outage(app: Ascertain, actions: int) -> None:
    create = app.registry.get("create")
    left = iter(range(actions))

    async def caller(n: int) -> None:
        async with app.session(f"s{n}", principal="u") as session:
            for order in left:
                given = {"order_id": f"A{order}", "amount": 3, "note": NOTE}
                task = asyncio.create_task(_lost(session, create.name, given))
                await asyncio.wait({task})
                assert task.cancelled(), task.result()

    await asyncio.gather(*(caller(n) for n in range(CALLERS)))


async def _lost(session: Session, tool: str, given: dict[str, Any]) -> Any:
    caller = asyncio.current_task()
    assert caller is not None
    _caller.set(caller)
    return await session.call_async(tool, given)


def _measured(url: str, workers: list[_Worker], actions: int) -> Storm:
    for worker in workers:
        worker.await_ready()
    ledger = open_ledger(url)
    try:
        time.sleep(max(0.0, _last_due_at(ledger) - time.time()))
        began = time.perf_counter()
        for worker in workers:
            worker.say("go")
        give_up_at = began + PATIENCE_S
        while ledger.next_due_at() is not None:
            if time.perf_counter() > give_up_at:
                raise TimeoutError(f"{ledger.counts()} after {PATIENCE_S:g} s")
            time.sleep(POLL_S)
        took_s = time.perf_counter() - began
        left = ledger.counts()
    finally:
        ledger.close()
    assert not any(left.values()), left
    told = [worker.end() for worker in workers]
    return Storm(
        processes=len(workers),
        actions=actions,
        per_s=actions / took_s,
        took_s=took_s,
        cpu_us=sum(one["cpu_s"] for one in told) / actions * 1e6,
        shares=tuple(one["recovered"] for one in told),
    )


def _last_due_at(ledger: Ledger) -> float:
    """When the last of them is due: all of the storm is there from the beginning."""
    from ascertain.store.ledger import Filter

    newest = ledger.find(Filter(open_only=True, limit=CALLERS))
    return max(record.due_at or 0.0 for record in newest)


class _Worker:
    """A worker in a process of its own, which stands ready until it is told to go."""

    def __init__(self, url: str, rate: str | None) -> None:
        command = [sys.executable, __file__, "--work", url, *([] if rate is None else [rate])]
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def await_ready(self) -> None:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if line != "ready\n":
            raise RuntimeError(f"a worker said {line!r} and not that it is ready")

    def say(self, word: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(f"{word}\n")
        self._child.stdin.flush()

    def end(self) -> dict[str, Any]:
        """Let it stop; what it says of itself."""
        out, _ = self._child.communicate("stop\n", timeout=30)
        told: dict[str, Any] = json.loads(out)
        return told

    def kill(self) -> None:
        self._child.kill()
        self._child.wait()


def work(url: str, rate: str | None) -> None:
    """What a worker's process does."""
    app = shop(url, rate).open()
    worker = app.make_worker()
    print("ready", flush=True)
    sys.stdin.readline()
    before = _cpu_s()

    async def until_told() -> None:
        loop = asyncio.get_running_loop()
        told = loop.run_in_executor(None, sys.stdin.readline)
        running = loop.create_task(worker.run())
        await told
        worker.stop()
        await running

    asyncio.run(until_told())
    print(json.dumps({"recovered": worker.recovered, "cpu_s": _cpu_s() - before}), flush=True)
    app.close()


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--actions", type=int, default=10_000)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rate", help="the provider's rate, such as 500/s")
    parser.add_argument("--url", help="of an empty ledger; by default a file that goes away again")
    parser.add_argument("--work", nargs="+", metavar="URL", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        work(asked.work[0], asked.work[1] if len(asked.work) > 1 else None)
        return
    for processes in asked.processes:
        found = storm(processes, asked.actions, rate=asked.rate, url=asked.url)
        print(json.dumps(asdict(found)), flush=True)


if __name__ == "__main__":
    main()
