"""A line to a server on which requests come late, and replies or requests are lost."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter

LATE_S = 0.12
"""Longer than a client waits."""
FATES = {"lose the reply": 0.006, "swallow the reply": 0.003, "lose the request": 0.006,
         "bring the request late": 0.006}  # fmt: skip


class LosingLine:
    """Forwards to `port` on this machine; by its dice it loses what belongs to a script.

    A lost reply or request ends the connection; a swallowed one leaves the client waiting; a
    request that comes late reaches the server when nobody waits for its reply any more.
    """

    def __init__(self, port: int, seed: object) -> None:
        self.fates: Counter[str] = Counter()
        self._upstream = port
        self._dice = random.Random(f"line-{seed}")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._lines: set[asyncio.Task[None]] = set()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        self.port: int = self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"valkey://127.0.0.1:{self.port}/0"

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def _end(self) -> None:
        self._server.close()
        lines = list(self._lines)
        for line in lines:
            line.cancel()
        await asyncio.gather(*lines, return_exceptions=True)

    def _accept(self, asked: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        line = self._loop.create_task(self._carry(asked, answers))
        self._lines.add(line)
        line.add_done_callback(self._lines.discard)

    async def _carry(self, asked: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        """One client's connection; it asks one thing at a time."""
        upstream = None
        try:
            replies, upstream = await asyncio.open_connection("127.0.0.1", self._upstream)
            while request := await asked.read(1 << 20):
                fate = self._fate(request)
                if fate == "lose the request":
                    return
                if fate == "bring the request late":
                    await _given_up(asked)
                upstream.write(request)
                reply = await replies.read(1 << 20)
                if fate == "lose the reply" or not reply:
                    return
                if not fate:
                    answers.write(reply)
        except OSError:
            self.fates["broken"] += 1
        finally:
            for end in (answers, upstream):
                if end is not None:
                    end.close()

    def _fate(self, request: bytes) -> str:
        if b"EVALSHA" not in request:
            return ""
        dice = self._dice.random()
        for fate, share in FATES.items():
            if dice < share:
                self.fates[fate] += 1
                return fate
            dice -= share
        return ""


async def _given_up(asked: asyncio.StreamReader) -> None:
    """Until the client has closed its connection, or should have."""
    gone = asyncio.ensure_future(asked.read(1))
    await asyncio.wait([gone], timeout=LATE_S)
    if not gone.done():
        gone.cancel()
        await asyncio.wait([gone])
    elif gone.exception() is None:
        assert gone.result() == b"", "a client asks one thing at a time"
