"""The raw floor on PostgreSQL: nothing but the two durable writes of a guarded write.

    python bench/floor_postgres.py URL

The same action as in ``floor.py``. One connection that commits everything that is waiting in one
transaction: one data-modifying statement with arrays for many rows, a plain prepared statement for
one. asyncpg, as the quickest client. No identity, no policy, no event and no check.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import asyncpg
from floor import ARGUMENTS, Measured, _async_tool, _Clock, _new_id, _warm_up

CREATE = """
    DROP TABLE IF EXISTS floor_action;
    CREATE TABLE floor_action (
        id text PRIMARY KEY, tool text NOT NULL, state text NOT NULL, arguments text NOT NULL,
        result text, sent_at float8 NOT NULL, ended_at float8
    )
"""
INSERT = "INSERT INTO floor_action VALUES ($1, 'create_ticket', 'sent', $2, NULL, $3, NULL)"
UPDATE = "UPDATE floor_action SET state = 'confirmed', result = $2, ended_at = $3 WHERE id = $1"
INSERT_MANY = """
    INSERT INTO floor_action
    SELECT id, 'create_ticket', 'sent', arguments, NULL, at, NULL
    FROM unnest($1::text[], $2::text[], $3::float8[]) AS given (id, arguments, at)
"""
UPDATE_MANY = """
    UPDATE floor_action AS stored SET state = 'confirmed', result = given.result, ended_at = at
    FROM unnest($1::text[], $2::text[], $3::float8[]) AS given (id, result, at)
    WHERE stored.id = given.id
"""
BOTH = f"""
    WITH begun AS ({INSERT_MANY} RETURNING id)
    {UPDATE_MANY.replace("$3", "$6").replace("$2", "$5").replace("$1", "$4")}
"""

Row = tuple[str, str, float]


async def durability(db: asyncpg.Connection) -> str:
    """What a commit is worth here.

    :raises AssertionError: commits are not durable.
    """
    said = {name: await db.fetchval(f"SHOW {name}") for name in ("fsync", "synchronous_commit")}
    assert set(said.values()) == {"on"}, f"commits are not durable: {said}"
    found = ", ".join(f"{name}={value}" for name, value in said.items())
    return f"PostgreSQL {await db.fetchval('SHOW server_version')}, {found}"


def settings(url: str) -> str:
    """What the server does at a commit."""

    async def ask() -> str:
        db = await asyncpg.connect(url)
        try:
            return await durability(db)
        finally:
            await db.close()

    return asyncio.run(ask())


def lone(url: str, actions: int) -> Measured:
    """One caller; each statement is a transaction of its own."""

    async def run() -> Measured:
        db = await _open(url)
        insert, update = await db.prepare(INSERT), await db.prepare(UPDATE)

        async def act() -> float:
            began = time.perf_counter()
            action = _new_id()
            await insert.fetch(action, json.dumps(ARGUMENTS), time.time())
            result = await _async_tool()
            await update.fetch(action, json.dumps(result), time.time())
            return time.perf_counter() - began

        try:
            for _ in range(_warm_up(actions)):
                await act()
            clock = _Clock()
            return clock.stop(1, [await act() for _ in range(actions)])
        finally:
            await db.close()

    return asyncio.run(run())


def grouped(url: str, callers: int, actions: int, *, tuned: bool = True) -> Measured:
    """``callers`` at once on one event loop; one task commits all that is waiting.

    :param tuned: with plans that never read the whole table. Else as the server plans them: of a
        table that was empty, and for ever; half as quick. The first is the floor (ADR 0039).
    """

    async def run() -> Measured:
        db = await _open(url, tuned=tuned)
        writer = _Writer(db)
        work = asyncio.create_task(writer.run())

        async def caller(turns: Iterator[int], took_s: list[float]) -> None:
            for _ in turns:
                began = time.perf_counter()
                action = _new_id()
                await writer.write(writer.new, (action, json.dumps(ARGUMENTS), time.time()))
                result = await _async_tool()
                await writer.write(writer.done, (action, json.dumps(result), time.time()))
                took_s.append(time.perf_counter() - began)

        async def play(count: int) -> list[float]:
            turns = iter(range(count))
            took_s: list[float] = []
            await asyncio.gather(*(caller(turns, took_s) for _ in range(callers)))
            return took_s

        try:
            await play(_warm_up(actions))
            clock = _Clock()
            return clock.stop(callers, await play(actions))
        finally:
            work.cancel()
            await db.close()

    return asyncio.run(run())


class _Writer:
    """Takes all that is waiting and commits it with one statement."""

    def __init__(self, db: asyncpg.Connection) -> None:
        self._db = db
        self._woken = asyncio.Event()
        self.new: list[tuple[Row, asyncio.Future[None]]] = []
        self.done: list[tuple[Row, asyncio.Future[None]]] = []

    def write(
        self, waiting: list[tuple[Row, asyncio.Future[None]]], row: Row
    ) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append((row, future))
        self._woken.set()
        return future

    async def run(self) -> None:
        statements = {
            name: await self._db.prepare(text)
            for name, text in {
                "insert": INSERT, "update": UPDATE, "new": INSERT_MANY, "done": UPDATE_MANY,
                "both": BOTH,
            }.items()
        }  # fmt: skip
        while True:
            await self._woken.wait()
            self._woken.clear()
            new, done = self.new[:], self.done[:]
            self.new.clear()
            self.done.clear()
            if new and done:
                await statements["both"].fetch(*_columns(new), *_columns(done))
            elif len(new) + len(done) == 1:
                row = (new or done)[0][0]
                await statements["insert" if new else "update"].fetch(*row)
            else:
                await statements["new" if new else "done"].fetch(*_columns(new or done))
            for _, future in new + done:
                future.set_result(None)


def _columns(rows: list[tuple[Row, asyncio.Future[None]]]) -> list[list[Any]]:
    return [list(column) for column in zip(*(row for row, _ in rows), strict=True)]


async def _open(url: str, *, tuned: bool = True) -> asyncpg.Connection:
    db = await asyncpg.connect(url)
    await durability(db)
    await db.execute(CREATE)
    if tuned:  # a plan that was made for an empty table reads all of a full one
        await db.execute("SET enable_seqscan = off")
    return db


def main(url: str) -> None:
    print(settings(url))
    for measured in (lone(url, 500), grouped(url, 64, 20_000), grouped(url, 256, 20_000)):
        print(measured)


if __name__ == "__main__":
    main(sys.argv[1])
