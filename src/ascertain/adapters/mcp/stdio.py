"""The host's side of stdio without a thread for each line: a call through them costs more."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

from mcp.server.stdio import stdio_server

_LONGEST_LINE: Final = 1 << 30


class _Lines:
    """What the host says, line by line."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._reader.readline()
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")


class _Out:
    """What the host is told; it waits where the host does not read."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        self._writer.write(text.encode())

    async def flush(self) -> None:
        try:
            await self._writer.drain()
        except ConnectionError:
            return  # the host has gone; what it was told stands in the ledger


@asynccontextmanager
async def host_streams() -> AsyncGenerator[Any]:
    """The streams of the host that started this process.

    Whatever else writes to stdout meanwhile goes to stderr: the host reads messages only.
    """
    try:
        reader, writer = await _pipes()
    except ValueError:  # no pipes: a file, or a terminal that somebody types at
        async with stdio_server() as streams:
            yield streams
        return
    lines: Any = _Lines(reader)
    out: Any = _Out(writer)
    async with stdio_server(stdin=lines, stdout=out) as streams:
        yield streams


async def _pipes() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LONGEST_LINE, loop=loop)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader, loop=loop), sys.stdin)
    wire = os.fdopen(os.dup(1), "wb")
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop=loop), wire
    )
    os.dup2(2, 1)
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)
