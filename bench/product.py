"""The guarded calls that the bench measures, each as a plain function. Times are of whole calls."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from kept import Measured

from ascertain import Ascertain

HERE = Path(__file__).resolve().parent
NOTE = "x" * 120


class Shop:
    """An app with one guarded write and one guarded read, whose bodies do nothing."""

    def __init__(self, url: str, **how: Any) -> None:
        self.app = Ascertain(url, worker="none", **how)

        @self.app.tool(identity=["order_id"], key_lifetime="24h")
        async def create(order_id: str, amount: int, note: str) -> dict:
            return {"id": f"T{order_id}", "state": "created", "amount": amount}

        @self.app.tool(identity=["order_id"], key_lifetime="24h")
        def create_here(order_id: str, amount: int, note: str) -> dict:
            return {"id": f"T{order_id}", "state": "created", "amount": amount}

        @self.app.read()
        async def look(order_id: str) -> dict:
            return {"id": order_id}

        @self.app.read(provides={"order_id": "id"})
        async def query(order_id: str) -> dict:
            return {"id": order_id}

        @self.app.tool(identity=["order_id"], context={"order_id": "order_id"}, key_lifetime="24h")
        async def refund(order_id: str, amount: int, note: str) -> dict:
            return {"id": f"R{order_id}", "state": "created", "amount": amount}

        self.create, self.create_here, self.look = create, create_here, look
        self.query, self.refund = query, refund
        self.numbers = itertools.count()

    def arguments(self) -> dict[str, Any]:
        return {"order_id": f"A{next(self.numbers)}", "amount": 3, "note": NOTE}


@contextmanager
def shop(url: str | None = None, **how: Any) -> Iterator[Shop]:
    """A fresh ledger on the disk beside the code, like the floor's, or the one that is named."""
    with tempfile.TemporaryDirectory(dir=HERE, prefix=".product-") as folder:
        made = Shop(url or f"sqlite:///{folder}/ledger.db", **how)
        try:
            yield made
        finally:
            made.app.close()


def writes(made: Shop, callers: int, calls: int) -> Measured:
    """Guarded writes by concurrent async callers, each in a session of its own."""
    return asyncio.run(_writes(made, callers, calls))


async def _writes(made: Shop, callers: int, calls: int) -> Measured:
    left = iter(range(calls))
    took: list[float] = []

    async def caller(n: int) -> None:
        async with made.app.session(f"s{n}", principal="u"):
            for _ in left:
                arguments = made.arguments()
                began = time.perf_counter()
                action = await made.create(**arguments)
                took.append(time.perf_counter() - began)
                assert action.confirmed, action.reason

    for warm in range(2 * callers):
        async with made.app.session(f"w{warm}", principal="u"):
            await made.create(**made.arguments())
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(caller(n) for n in range(callers)))
    return _measured(callers, took, time.perf_counter() - began, time.process_time() - cpu)


def pairs(made: Shop, callers: int, calls: int, *, chained: bool) -> Measured:
    """Two guarded calls of each caller, one after the other: read then write, or two writes.

    Chained, the read brings what the write needs by way of their session.
    """
    return asyncio.run(_pairs(made, callers, calls, chained))


async def _pairs(made: Shop, callers: int, calls: int, chained: bool) -> Measured:
    left = iter(range(calls))
    took: list[float] = []

    async def pair() -> None:
        given = made.arguments()
        if chained:
            await made.query(order_id=given.pop("order_id"))
            action = await made.refund(**given)
        else:
            await made.create(**given)
            action = await made.create(**made.arguments())
        assert action.confirmed, action.reason

    async def caller(n: int) -> None:
        async with made.app.session(f"{chained}-{n}", principal="u"):
            for _ in left:
                start = time.perf_counter()
                await pair()
                took.append(time.perf_counter() - start)

    async with made.app.session("warm", principal="u"):
        for _ in range(20):
            await pair()
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(caller(n) for n in range(callers)))
    return _measured(callers, took, time.perf_counter() - began, time.process_time() - cpu)


def lone_sync(made: Shop, calls: int) -> Measured:
    """Guarded writes of one caller, in its own thread."""
    took: list[float] = []
    with made.app.session("lone", principal="u"):
        for _ in range(100):
            made.create_here(**made.arguments())
        began, cpu = time.perf_counter(), time.process_time()
        for _ in range(calls):
            arguments = made.arguments()
            start = time.perf_counter()
            action = made.create_here(**arguments)
            took.append(time.perf_counter() - start)
            assert action.confirmed, action.reason
    return _measured(1, took, time.perf_counter() - began, time.process_time() - cpu)


def reads(made: Shop, calls: int) -> tuple[Measured, float]:
    """Guarded reads, and the same body awaited bare: the difference is what guarding adds."""
    return asyncio.run(_reads(made, calls))


async def _reads(made: Shop, calls: int) -> tuple[Measured, float]:
    guarded: list[float] = []
    bare: list[float] = []
    body = made.look.__wrapped__
    async with made.app.session("reader", principal="u"):
        for _ in range(300):
            await made.look(order_id="A1")
        began, cpu = time.perf_counter(), time.process_time()
        for _ in range(calls):
            start = time.perf_counter()
            await made.look(order_id="A1")
            middle = time.perf_counter()
            await body(order_id="A1")
            guarded.append(middle - start)
            bare.append(time.perf_counter() - middle)
    spent = time.perf_counter() - began, time.process_time() - cpu
    return _measured(1, guarded, *spent), median(bare) * 1e6


def replays(made: Shop, calls: int) -> Measured:
    """The same call again: answered from the record."""

    async def run() -> Measured:
        took: list[float] = []
        arguments = made.arguments()
        async with made.app.session("replay", principal="u"):
            await made.create(**arguments)
            began, cpu = time.perf_counter(), time.process_time()
            for _ in range(calls):
                start = time.perf_counter()
                action = await made.create(**arguments)
                took.append(time.perf_counter() - start)
                assert action.replayed
        return _measured(1, took, time.perf_counter() - began, time.process_time() - cpu)

    return asyncio.run(run())


def _measured(callers: int, took: list[float], wall_s: float, cpu_s: float) -> Measured:
    return Measured(
        callers=callers,
        calls=len(took),
        per_s=len(took) / wall_s,
        p50_ms=median(took) * 1e3,
        p99_ms=quantiles(took, n=100)[98] * 1e3,
        cpu_us=cpu_s / len(took) * 1e6,
    )
