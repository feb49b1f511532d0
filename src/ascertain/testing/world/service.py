"""The serving side: routes, the line each answer goes over, and what lands later."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

from ascertain.testing.world.arrivals import Came, Said, write_arrival
from ascertain.testing.world.deliver import Answer, error
from ascertain.testing.world.http import MAX_HEAD, BadRequestError, Line, Request
from ascertain.testing.world.lookups import NO_ROUTE, by_ref, look_up, plain, search
from ascertain.testing.world.posts import Landed, Landing, Reply, land, open_landings, post
from ascertain.testing.world.schema import load_providers
from ascertain.testing.world.words import Provider, Record
from ascertain.testing.world.writer import Writer

_PARENT_LOOK_S = 0.2
_HEALTHZ = "/_world/healthz"


class Service:
    """One provider process: its connections, its writer, its landings."""

    def __init__(self, writer: Writer, providers: dict[str, Provider]) -> None:
        """Take the providers as they are in the file."""
        self._writer = writer
        self._providers = providers
        self._connections = itertools.count(1)
        self._landings: list[tuple[float, int]] = []
        self._wake = asyncio.Event()
        self._waiting: dict[int, asyncio.Future[Landed]] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until one side ends it."""
        line = Line(number=next(self._connections), reader=reader, writer=writer)
        try:
            while (request := await line.read()) is not None:
                if not await self._serve_request(line, request):
                    return
        except BadRequestError as wrong:
            await line.send(error(400, "bad_request", str(wrong)), 0, keep_alive=False)
        finally:
            line.close()

    async def _serve_request(self, line: Line, request: Request) -> bool:
        """Serve one request; tell whether the connection may be used again."""
        if request.path == _HEALTHZ:
            healthy = Answer(http=200, body={"state": "ready", "pid": os.getpid()})
            await line.send(healthy, 0, keep_alive=request.keeps_alive)
            return request.keeps_alive
        if not request.whole:
            await self._writer.run(partial(_write_cut, came=_came(line, request, None)))
            line.reset()
            return False
        reply = await self._writer.run(self._step_for(line, request))
        if reply.landing is not None:
            reply = await self._expect(reply)
        return await _send(line, request, reply)

    def _step_for(self, line: Line, request: Request) -> Callable[..., Reply]:
        """Return the transaction that answers this request."""
        collection, _, ref = request.path.strip("/").partition("/")
        provider = self._providers.get(collection)
        came = _came(line, request, provider)
        if provider is None:
            return partial(plain, came=came, answer=NO_ROUTE)
        match request.method, ref:
            case "POST", "":
                if came.args is None:
                    bad = error(400, "bad_json", "the body is not one JSON object")
                    return partial(plain, came=came, answer=bad)
                return partial(post, provider=provider, came=came)
            case "GET", "":
                query = request.query
                if came.key is not None:
                    return partial(look_up, provider=provider, came=came)
                return partial(search, provider=provider, came=came, wanted=query)
            case "GET", _:
                return partial(by_ref, provider=provider, came=came, ref=ref)
            case _:
                wrong = error(405, "no_such_method", f"{request.method} is not offered here")
                return partial(plain, came=came, answer=wrong)

    async def _expect(self, reply: Reply) -> Reply:
        """Have a landing watched; where the reply waits for it, return the reply it gives."""
        assert reply.landing is not None
        landed: asyncio.Future[Landed] | None = None
        if reply.waits:
            landed = asyncio.get_running_loop().create_future()
            self._waiting[reply.landing.number] = landed
        self.watch(reply.landing)
        if landed is None:
            return reply
        answer = (await landed).delivered.answer
        return Reply(arrival=reply.arrival, behaviour=reply.behaviour, answer=answer)

    def watch(self, landing: Landing) -> None:
        """Have something take effect at its time."""
        heapq.heappush(self._landings, (landing.due_at, landing.number))
        self._wake.set()

    async def land_for_ever(self) -> None:
        """Let each landing take effect when it is due."""
        while True:
            self._wake.clear()
            now = time.time()
            while self._landings and self._landings[0][0] <= now:
                _, number = heapq.heappop(self._landings)
                landed = await self._writer.run(
                    partial(land, providers=self._providers, number=number)
                )
                waiting = self._waiting.pop(number, None)
                if waiting is not None and landed is not None:
                    waiting.set_result(landed)
            wait_s = self._landings[0][0] - time.time() if self._landings else None
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), wait_s)


def _came(line: Line, request: Request, provider: Provider | None) -> Came:
    """Return the request as the arrivals table keeps it."""
    collection = request.path.strip("/").partition("/")[0]
    key = request.headers.get("idempotency-key")
    args: Record | None = None
    if request.method == "POST" and request.whole:
        args = _read_args(request.body)
        if key is None and provider is not None and args is not None:
            field = args.get(provider.key_field)
            key = field if isinstance(field, str) else None
    elif request.method == "GET" and request.path.strip("/") == collection:
        key = request.query.get("request")
    return Came(
        connection=line.number,
        received_at=request.received_at,
        method=request.method,
        target=request.target,
        collection=collection,
        key=key,
        args=args,
    )


def _read_args(body: bytes) -> Record | None:
    if not body:
        return {}
    try:
        loaded = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast("Record", loaded) if isinstance(loaded, dict) else None


def _write_cut(db: sqlite3.Connection, came: Came) -> int:
    return write_arrival(db, came, "ok", Said(answered="body_cut", answered_at=time.time()))


async def _send(line: Line, request: Request, reply: Reply) -> bool:
    """Give the answer over the wire, or lose it, as the behaviour says."""
    behaviour, answer = reply.behaviour, reply.answer
    if answer is None:
        await line.lose(behaviour.text("how"), behaviour.seconds("hold_s"))
        return False
    if behaviour.row.wire == "truncated":
        how, hold_s = behaviour.text("how"), behaviour.seconds("hold_s")
        await line.send_truncated(answer, reply.arrival, how, hold_s)
        return False
    await line.send(answer, reply.arrival, keep_alive=request.keeps_alive)
    return request.keeps_alive


async def run(path: Path, port: int, parent: int | None) -> bool:
    """Serve until told to stop; return whether the parent's end was the reason."""
    writer = Writer(path)
    try:
        providers = await writer.run(load_providers)
        service = Service(writer, providers)
        for landing in await writer.run(open_landings):
            service.watch(landing)
        server = await asyncio.start_server(
            service.serve, "127.0.0.1", port, limit=MAX_HEAD, backlog=1024
        )
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        landing_task = asyncio.create_task(service.land_for_ever())
        landing_task.add_done_callback(lambda _: stop.set())
        ready = {"port": server.sockets[0].getsockname()[1], "pid": os.getpid()}
        print(json.dumps(ready), flush=True)  # noqa: T201 - the one line its parent waits for
        orphaned = await _until_stopped(stop, parent)
        server.close()
        if landing_task.done():
            landing_task.result()
        return orphaned
    finally:
        writer.close()


async def _until_stopped(stop: asyncio.Event, parent: int | None) -> bool:
    while not stop.is_set():
        if parent is not None and os.getppid() != parent:
            return True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _PARENT_LOOK_S)
    return False
