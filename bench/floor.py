"""The raw floor: nothing but the two durable writes of a guarded write, as quick as they go.

    python bench/floor.py [--json] [--slow-fsync-ms 2]

An action here is: insert an intent row (about 200 B of arguments) and commit; call a tool that
does nothing; update the row with its outcome (about 100 B of result) and commit. There is no
identity, no policy, no event and no check. What the library adds is measured against this, in the
same run.

Three measurements, each a plain function that the bench imports:

* `fsync_cost()`: what the disk asks for making 8 kB durable;
* `lone(actions)`: one caller, one connection, two commits for each action;
* `grouped(callers, actions)`: many async callers and one writer thread, which writes all that is
  waiting in one transaction (group commit).

SQLite as one would tune it: WAL, synchronous=FULL, statements prepared once (the module keeps
them), ids that grow with time, no index that nobody asks for. Standard library only.
"""

import argparse
import asyncio
import contextlib
import json
import os
import queue
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Beside the code and not in the system's temporary folder, which may be memory and cost nothing.
DEFAULT_FOLDER = HERE.parent / "out"
FILE_NAME = "floor.db"

CREATE = """
    CREATE TABLE action (
        id TEXT PRIMARY KEY, tool TEXT NOT NULL, state TEXT NOT NULL,
        arguments TEXT NOT NULL, result TEXT, sent_at REAL NOT NULL, ended_at REAL
    )
"""
INSERT = "INSERT INTO action VALUES (?, 'create_ticket', 'sent', ?, NULL, ?, NULL)"
UPDATE = "UPDATE action SET state = 'confirmed', result = ?, ended_at = ? WHERE id = ?"

ARGUMENTS = {
    "order_id": "A123",
    "issue": "a noise in the left ear, louder since Tuesday; the customer asks for an inspection "
    "at home and for a call before noon",
    "channel": "phone",
    "tags": ["headset", "left"],
}
RESULT = {"ticket_id": "T900", "queue": "inspection", "note": "a person will call you back today"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FsyncCost:
    """Microseconds to overwrite 8 kB and have it on the disk."""

    p50_us: float
    p99_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a run of actions took: rate of them all, time of a single one, CPU of each."""

    callers: int
    actions: int
    per_s: float
    p50_ms: float
    p99_ms: float
    cpu_us: float


def fsync_cost(times: int = 500, folder: Path | None = None) -> FsyncCost:
    """Overwrite 8 kB of a file and `fdatasync` it, again and again."""
    block = os.urandom(8192)
    took_us: list[float] = []
    with _place(folder) as place:
        file = os.open(place / "fsync", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            for _ in range(times):
                started = time.perf_counter()
                os.pwrite(file, block, 0)
                os.fdatasync(file)
                took_us.append((time.perf_counter() - started) * 1e6)
        finally:
            os.close(file)
    return FsyncCost(p50_us=_quantile(took_us, 0.50), p99_us=_quantile(took_us, 0.99))


def lone(actions: int = 2000, folder: Path | None = None) -> Measured:
    """One caller; each statement is a transaction of its own, on the caller's thread."""
    with _place(folder) as place, contextlib.closing(_open(place)) as db:

        def act() -> float:
            started = time.perf_counter()
            action = _new_id()
            db.execute(INSERT, (action, json.dumps(ARGUMENTS), time.time()))
            result = _tool()
            db.execute(UPDATE, (json.dumps(result), time.time(), action))
            return time.perf_counter() - started

        for _ in range(_warm_up(actions)):
            act()
        clock = _Clock()
        took_s = [act() for _ in range(actions)]
        return clock.stop(1, took_s)


def grouped(callers: int, actions: int = 20_000, folder: Path | None = None) -> Measured:
    """`callers` at once on one event loop; one writer thread commits all that is waiting."""
    with _place(folder) as place:
        return asyncio.run(_grouped(callers, actions, place))


async def _grouped(callers: int, actions: int, place: Path) -> Measured:
    writer = _Writer(place)

    async def caller(turns: Iterator[int], took_s: list[float]) -> None:
        for _ in turns:
            started = time.perf_counter()
            action = _new_id()
            await writer.write(INSERT, (action, json.dumps(ARGUMENTS), time.time()))
            result = await _async_tool()
            await writer.write(UPDATE, (json.dumps(result), time.time(), action))
            took_s.append(time.perf_counter() - started)

    async def play(count: int) -> list[float]:
        turns = iter(range(count))  # shared: whoever is free takes the next
        took_s: list[float] = []
        await asyncio.gather(*(caller(turns, took_s) for _ in range(callers)))
        return took_s

    try:
        await play(_warm_up(actions))
        clock = _Clock()
        return clock.stop(callers, await play(actions))
    finally:
        writer.close()


class _Writer:
    """A thread with the only connection: it takes all that is waiting and commits it at once."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="writer")
        self._thread.start()

    def write(self, statement: str, values: tuple[Any, ...]) -> asyncio.Future[None]:
        done: asyncio.Future[None] = self._loop.create_future()
        self._waiting.put((statement, values, done))
        return done

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        with contextlib.closing(_open(self._place)) as db:
            while batch := self._take():
                error = None
                try:
                    db.execute("BEGIN IMMEDIATE")
                    for statement, values, _ in batch:
                        db.execute(statement, values)
                    db.execute("COMMIT")
                except sqlite3.Error as raised:
                    error = raised
                self._loop.call_soon_threadsafe(_wake, batch, error)

    def _take(self) -> list[Any]:
        """All that is waiting, at least one; nothing when it is time to end."""
        batch = [self._waiting.get()]
        with contextlib.suppress(queue.Empty):
            while True:
                batch.append(self._waiting.get_nowait())
        return [] if batch[-1] is None else batch


def _wake(batch: list[Any], error: Exception | None) -> None:
    for _, _, done in batch:
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)


class _Clock:
    """Wall time and CPU time of the whole process from here on."""

    def __init__(self) -> None:
        self._cpu = time.process_time()
        self._wall = time.perf_counter()

    def stop(self, callers: int, took_s: list[float]) -> Measured:
        wall_s = time.perf_counter() - self._wall
        cpu_s = time.process_time() - self._cpu
        return Measured(
            callers=callers,
            actions=len(took_s),
            per_s=len(took_s) / wall_s,
            p50_ms=_quantile(took_s, 0.50) * 1e3,
            p99_ms=_quantile(took_s, 0.99) * 1e3,
            cpu_us=cpu_s / len(took_s) * 1e6,
        )


def _open(place: Path) -> sqlite3.Connection:
    db = sqlite3.connect(place / FILE_NAME, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute(CREATE)
    return db


def _new_id() -> str:
    """Grows with time, so that new rows are neighbours."""
    return f"{time.time_ns():016x}{os.urandom(8).hex()}"


def _tool() -> dict[str, str]:
    return RESULT


async def _async_tool() -> dict[str, str]:
    return RESULT


def _warm_up(actions: int) -> int:
    return max(1, actions // 10)


def _quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


@contextlib.contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    """The folder that was asked for (its files stay), or a new one that goes away afterwards."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    DEFAULT_FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="floor-", dir=DEFAULT_FOLDER) as place:
        yield Path(place)


def slow_fsync_environment(slower_ms: float, folder: Path) -> dict[str, str]:
    """This process's environment, for a child whose every fsync takes `slower_ms` more.

    Compiles `slow_fsync.c` into `folder`. Linux only.

    Raises:
        RuntimeError: no C compiler was found, or it refused.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise RuntimeError("a slower disk needs a C compiler to build bench/slow_fsync.c: no cc")
    library = folder / "slow_fsync.so"
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", library, HERE / "slow_fsync.c", "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"bench/slow_fsync.c did not compile: {done.stderr}")
    return os.environ | {
        "LD_PRELOAD": str(library),
        "SLOW_FSYNC_US": str(round(slower_ms * 1000)),
    }


def measure_all() -> dict[str, Any]:
    """Everything, smaller where the disk has been made slower."""
    slower_ms = int(os.environ.get("SLOW_FSYNC_US", "0")) / 1000
    alone, many = (300, 10_000) if slower_ms else (2000, 20_000)
    return {
        "slow_fsync_ms": slower_ms,
        "fsync": asdict(fsync_cost(200 if slower_ms else 500)),
        "lone": asdict(lone(alone)),
        "grouped": [asdict(grouped(n, alone if n == 1 else many)) for n in (1, 64, 256)],
    }


def show(all_of_it: dict[str, Any]) -> None:
    if all_of_it["slow_fsync_ms"]:
        print(f"every fsync {all_of_it['slow_fsync_ms']:g} ms slower")
    fsync = all_of_it["fsync"]
    print(f"fdatasync of 8 kB: p50 {fsync['p50_us']:.0f} us, p99 {fsync['p99_us']:.0f} us")
    print(f"{'':20} {'actions/s':>10} {'p50 ms':>8} {'p99 ms':>8} {'CPU us':>7}")
    rows = [("lone", all_of_it["lone"])]
    rows += [(f"grouped, {row['callers']} callers", row) for row in all_of_it["grouped"]]
    for name, row in rows:
        numbers = f"{row['per_s']:10.0f} {row['p50_ms']:8.2f} {row['p99_ms']:8.2f}"
        print(f"{name:20} {numbers} {row['cpu_us']:7.0f}")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="The raw floor of two durable writes.")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--slow-fsync-ms", type=float, default=0, help="make every fsync slower")
    asked = parser.parse_args(arguments)
    if asked.slow_fsync_ms:
        with tempfile.TemporaryDirectory() as folder:
            environment = slow_fsync_environment(asked.slow_fsync_ms, Path(folder))
            again = [sys.executable, __file__, *(["--json"] if asked.json else [])]
            sys.exit(subprocess.run(again, env=environment).returncode)
    numbers = measure_all()
    if asked.json:
        print(json.dumps(numbers, indent=2))
    else:
        show(numbers)


if __name__ == "__main__":
    main(sys.argv[1:])
