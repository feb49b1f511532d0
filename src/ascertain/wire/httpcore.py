"""The attempt's deadline at each read and write below httpx.

httpcore reads its time limits once per phase and gives them to every read of that phase anew, so a
server that sends one byte at a time outlasts them. Here each read and write is given what remains.
Outside an attempt the calls pass through unchanged.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from ascertain.wire.log import current_log
from ascertain.wire.passage import SHORTEST_S, TOO_LATE, least

# A socket may take a large buffer in many small steps, each with the whole time limit; it is given
# pieces of about what it takes at once.
PIECE_BYTES = 16 * 1024
HANDLERS = ("handle_request", "handle_async_request")


def guard(transport: object) -> None:
    """Guard the connection pools that this transport stands on, as far as they can be found.

    Connections that are already open keep their own time limits.
    """
    for pool in _pools(transport):
        backend: Any = getattr(pool, "_network_backend", None)
        if backend is None or isinstance(backend, GuardedBackend | AsyncGuardedBackend):
            continue
        core = sys.modules[library_of(pool)]
        is_async = hasattr(pool, "handle_async_request")
        guarded = AsyncGuardedBackend(backend, core) if is_async else GuardedBackend(backend, core)
        vars(pool)["_network_backend"] = guarded


def is_pool(value: object) -> bool:
    """Whether this is a connection pool of httpcore, with its request handling in place."""
    for name in HANDLERS:
        handle: Any = getattr(type(value), name, None)
        if handle is not None:
            return str(handle.__module__).partition(".")[0] == library_of(value)
    return False


def library_of(pool: object) -> str:
    """``httpcore`` or ``httpcore2`` for what is of one of them, else an empty string."""
    for kind in type(pool).__mro__:
        root = kind.__module__.partition(".")[0]
        if root in ("httpcore", "httpcore2"):
            return root
    return ""


def _pools(transport: object, depth: int = 0) -> Iterator[Any]:
    """The pools of a transport, also of one that wraps another."""
    for value in list(getattr(transport, "__dict__", {}).values()):
        if is_pool(value):
            yield value
        elif depth < 3 and any(hasattr(value, name) for name in HANDLERS):
            yield from _pools(value, depth + 1)


def _bounded(own_s: float | None, too_late: type[Exception]) -> float | None:
    """The time limit for one step.

    :raises too_late: nothing remains.
    """
    log = current_log.get()
    remaining_s = None if log is None else log.remaining_s()
    if remaining_s is None:
        return own_s
    if remaining_s <= 0:
        raise too_late(TOO_LATE)
    return least(own_s, max(remaining_s, SHORTEST_S))


def _in_pieces(buffer: bytes) -> Iterator[bytes]:
    log = current_log.get()
    if log is None or log.deadline_at is None or len(buffer) <= PIECE_BYTES:
        yield buffer
        return
    for start in range(0, len(buffer), PIECE_BYTES):
        yield buffer[start : start + PIECE_BYTES]


class _Guarded:
    """Stands before a stream or a backend; what it does not bound is the other's own."""

    def __init__(self, inner: Any, core: Any) -> None:
        self._inner = inner
        self._core = core

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by copy and pickle, before there is an inner
            raise AttributeError(name)
        return getattr(self._inner, name)


class GuardedStream(_Guarded):
    """An open connection."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what is there, in what remains."""
        data: bytes = self._inner.read(max_bytes, _bounded(timeout, self._core.ReadTimeout))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write it all, each piece in what remains."""
        for piece in _in_pieces(buffer):
            self._inner.write(piece, _bounded(timeout, self._core.WriteTimeout))

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> GuardedStream:
        """Do the handshake in what remains."""
        limit = _bounded(timeout, self._core.ConnectTimeout)
        stream = self._inner.start_tls(
            ssl_context=ssl_context, server_hostname=server_hostname, timeout=limit
        )
        return GuardedStream(stream, self._core)


class GuardedBackend(_Guarded):
    """What opens connections."""

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, **how: Any
    ) -> GuardedStream:
        """Connect in what remains."""
        limit = _bounded(timeout, self._core.ConnectTimeout)
        stream = self._inner.connect_tcp(host, port, timeout=limit, **how)
        return GuardedStream(stream, self._core)

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, **how: Any
    ) -> GuardedStream:
        """Connect in what remains."""
        limit = _bounded(timeout, self._core.ConnectTimeout)
        stream = self._inner.connect_unix_socket(path, timeout=limit, **how)
        return GuardedStream(stream, self._core)

    def sleep(self, seconds: float) -> None:
        """Wait before the next connect, but not beyond what remains."""
        limit = _bounded(None, self._core.ConnectTimeout)
        self._inner.sleep(least(seconds, limit))


class AsyncGuardedStream(_Guarded):
    """An open connection."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what is there, in what remains."""
        limit = _bounded(timeout, self._core.ReadTimeout)
        data: bytes = await self._inner.read(max_bytes, limit)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write it all in what remains; the time limit below is one for the whole buffer."""
        await self._inner.write(buffer, _bounded(timeout, self._core.WriteTimeout))

    async def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> AsyncGuardedStream:
        """Do the handshake in what remains."""
        limit = _bounded(timeout, self._core.ConnectTimeout)
        stream = await self._inner.start_tls(
            ssl_context=ssl_context, server_hostname=server_hostname, timeout=limit
        )
        return AsyncGuardedStream(stream, self._core)


class AsyncGuardedBackend(_Guarded):
    """What opens connections."""

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, **how: Any
    ) -> AsyncGuardedStream:
        """Connect in what remains."""
        limit = _bounded(timeout, self._core.ConnectTimeout)
        stream = await self._inner.connect_tcp(host, port, timeout=limit, **how)
        return AsyncGuardedStream(stream, self._core)

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, **how: Any
    ) -> AsyncGuardedStream:
        """Connect in what remains."""
        limit = _bounded(timeout, self._core.ConnectTimeout)
        stream = await self._inner.connect_unix_socket(path, timeout=limit, **how)
        return AsyncGuardedStream(stream, self._core)

    async def sleep(self, seconds: float) -> None:
        """Wait before the next connect, but not beyond what remains."""
        limit = _bounded(None, self._core.ConnectTimeout)
        await self._inner.sleep(least(seconds, limit))
