"""The first word of a host on stdio, heard before the server is connected: what the host offers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self, cast

import mcp_types as types
from mcp.shared._stream_protocols import ReadStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

PATIENCE_S: Final = 2.0
"""Hosts speak at once; somebody who starts it by hand shall hear soon what is wrong."""

Item = SessionMessage | Exception


async def peeked(reading: ReadStream[Item]) -> tuple[Item | None, ReadStream[Item]]:
    """The first message, and a stream that has it still; None: there was none so far."""
    first = asyncio.ensure_future(reading.receive())
    await asyncio.wait((first,), timeout=PATIENCE_S)
    came = first.done() and first.exception() is None
    return (first.result() if came else None), _Peeked(reading, first)


def capabilities_in(first: Item | None) -> types.ClientCapabilities | None:
    """What a host declares in its first request, of either revision; None: nothing is known."""
    if not isinstance(first, SessionMessage):
        return None
    message = first.message
    if not isinstance(message, types.JSONRPCRequest):
        return None
    params: Mapping[str, Any] = message.params or {}
    meta = cast("Mapping[str, Any]", params.get("_meta") or {})
    said = params.get("capabilities", meta.get(types.CLIENT_CAPABILITIES_META_KEY))
    try:
        return types.ClientCapabilities.model_validate(said, by_name=False)
    except ValidationError:
        return None


class _Peeked:
    """A stream of which the first message was looked at."""

    def __init__(self, inner: ReadStream[Item], first: asyncio.Future[Item]) -> None:
        self._inner = inner
        self._first: asyncio.Future[Item] | None = first

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Item:
        if self._first is not None:
            first, self._first = self._first, None
            return await first
        return await self._inner.receive()

    async def aclose(self) -> None:
        if self._first is not None:
            self._first.cancel()
            self._first = None
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        import anyio

        try:
            return await self.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()
