"""Hooks for httpx and httpx2: sync and async, HTTP/1.1 and HTTP/2.

What proves that something left is httpcore's own trace: the first ``send_request_headers.started``
of a request that is not the CONNECT to a proxy. Exceptions prove nothing here: a ReadTimeout can be
a CONNECT that hangs (nothing left), and the last exception is not the phase of the call.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ascertain.errors import ContractError
from ascertain.wire.httpcore import guard, is_pool
from ascertain.wire.log import WireLog, current_log
from ascertain.wire.passage import TOO_LATE, Passage, PastDeadline, target_of

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
PHASES = ("connect", "read", "write", "pool")
REFUSED_STREAM = 7  # RFC 9113, 7
# The client's own time limits come first; this is for what they do not bound.
GRACE_S = 0.05
BODILESS = frozenset({204, 304})


def install(client: object, exit: str, library: str) -> None:
    """Hook the client's choice of a transport: it is asked once for each request and redirect."""
    lib: Any = sys.modules[library]
    find: Any = getattr(client, "_transport_for_url", None)
    if find is None:
        raise ContractError(
            f"This release of {library} cannot be watched: the client chooses its transport in "
            "a way that is not known here.",
            next_step="Use httpx 0.27 or 0.28, or httpx2 2.x, or leave the client unwatched.",
        )
    make = AsyncHook if isinstance(client, lib.AsyncClient) else SyncHook
    own: dict[str, Any] = vars(client)
    for transport in (own.get("_transport"), *own.get("_mounts", {}).values()):
        guard(transport)

    def transport_for_url(url: Any) -> Any:
        transport = find(url)
        log = current_log.get()
        return transport if log is None else make(transport, lib, exit, log)

    own["_transport_for_url"] = transport_for_url


class _Hook:
    """Stands in for the transport of one request of one attempt."""

    def __init__(self, transport: Any, lib: Any, exit: str, log: WireLog) -> None:
        self.transport = transport
        self.lib = lib
        self.exit = exit
        self.log = log
        guard(transport)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.transport, name)

    def begin(self, request: httpx.Request) -> Tracing:
        url = request.url
        path = url.raw_path.decode("ascii", "replace")
        passage = Passage(
            self.log,
            self.exit,
            request.method,
            target_of(url.scheme, url.host, url.port, path),
            opaque=not self._is_known(),
            request=request,
        )
        return Tracing(passage)

    def _is_known(self) -> bool:
        """Whether the transport is the library's own, with nothing patched or overridden."""
        name = "handle_async_request" if isinstance(self, AsyncHook) else "handle_request"
        handle: Any = getattr(getattr(self.transport, name), "__func__", None)
        return (
            handle is not None
            and handle.__module__ == f"{self.lib.__name__}._transports.default"
            and is_pool(getattr(self.transport, "_pool", None))
        )

    @contextmanager
    def passing(self, request: httpx.Request, seen: Tracing, trace: Any) -> Generator[None]:
        """Hand the request over with our extensions, and turn what comes back into news."""
        passage = seen.passage
        own = request.extensions
        if isinstance(own, _Extensions):  # the same request object, sent twice at once
            own = own.own
        try:
            passage.gate()
            limits: dict[str, float | None] = own.get("timeout") or {}
            capped = {phase: passage.cap(limits.get(phase)) for phase in PHASES}
            request.extensions = _Extensions(own, timeout=capped, trace=trace)
            yield
        except PastDeadline as late:
            raise self.too_late(request) from late
        except BaseException as exc:
            seen.note_refusal(exc.__cause__)
            raise
        finally:
            request.extensions = own
            passage.landed()

    def too_late(self, request: httpx.Request) -> Exception:
        """The client's own exception for the attempt's deadline."""
        return cast("Exception", self.lib.ReadTimeout(TOO_LATE, request=request))

    def arrived(self, request: httpx.Request, response: Any, passage: Passage, base: Any) -> None:
        """Note the head, and follow the body."""
        passage.answered(response.status_code, response.headers.get)
        whole = True if _is_framed(request, response) else None
        if response.is_stream_consumed:
            passage.body_ended(whole)
        elif isinstance(response.stream, base):
            kind = _body_kind(AsyncBody if isinstance(self, AsyncHook) else SyncBody, base)
            late = partial(self.too_late, request)
            response.stream = kind(response.stream, passage, whole, late)


class SyncHook(_Hook):
    """For ``Client``."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        seen = self.begin(request)
        theirs: Any = request.extensions.get("trace")

        def trace(name: str, info: dict[str, Any]) -> Any:
            seen.event(name, info)
            return None if theirs is None else theirs(name, info)

        with self.passing(request, seen, trace):
            response: httpx.Response = self.transport.handle_request(request)
        self.arrived(request, response, seen.passage, self.lib.SyncByteStream)
        return response


class AsyncHook(_Hook):
    """For ``AsyncClient``."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        seen = self.begin(request)
        theirs: Any = request.extensions.get("trace")

        async def trace(name: str, info: dict[str, Any]) -> None:
            seen.event(name, info)
            if theirs is not None:
                await theirs(name, info)

        with self.passing(request, seen, trace):
            response: httpx.Response = await _within(
                seen.passage, lambda: self.transport.handle_async_request(request)
            )
        self.arrived(request, response, seen.passage, self.lib.AsyncByteStream)
        return response


class _Extensions(dict[str, Any]):
    """A request's extensions with ours among them; ``own`` are what they were."""

    def __init__(self, own: dict[str, Any], **ours: Any) -> None:
        super().__init__(own, **ours)
        self.own = own


class Tracing:
    """Reads httpcore's trace events, such as ``http11.send_request_headers.started``."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        self.stream_id: int | None = None

    def event(self, name: str, info: dict[str, Any]) -> None:
        layer, _, event = name.partition(".")
        passage = self.passage
        if event in ("connect_tcp.started", "connect_unix_socket.started"):
            passage.opening()
        elif event == "send_request_headers.started":
            # Only our own tunnel is not a send; a CONNECT that was asked for is one.
            if info["request"].method != b"CONNECT" or passage.method == "CONNECT":
                passage.beginning()
                passage.leaving()
                self.stream_id = info.get("stream_id")
        elif layer == "http2" and event.endswith(".failed"):
            self.note_refusal(info.get("exception"))

    def note_refusal(self, exc: BaseException | None) -> None:
        """Recognise the two guarantees of HTTP/2 that a stream was not processed (RFC 9113, 8.7).

        ConnectionNotAvailable, once the headers are out, is httpcore's word for the second: it is
        about to send the request again on another connection.
        """
        if exc is None or self.stream_id is None:
            return
        event: Any = exc.args[0] if exc.args else None
        kind = type(event).__name__
        if kind == "StreamReset":
            promised = event.error_code == REFUSED_STREAM and getattr(event, "remote_reset", True)
        elif kind == "ConnectionTerminated":
            last: Any = event.last_stream_id
            promised = isinstance(last, int) and last < self.stream_id
        else:
            promised = type(exc).__name__ == "ConnectionNotAvailable"
        if promised:
            self.passage.refused()


def _is_framed(request: httpx.Request, response: Any) -> bool:
    """Whether the end of the body can be told from a connection that was cut."""
    # Without a version it did not come over a connection; and HTTP/2 has frames of its own.
    if response.extensions.get("http_version") not in (b"HTTP/1.1", b"HTTP/1.0"):
        return True
    headers = response.headers
    return (
        "content-length" in headers
        or "chunked" in headers.get("transfer-encoding", "").lower()
        or request.method == "HEAD"
        or response.status_code in BODILESS
    )


class _Body:
    """The body of a response, on its way to the caller."""

    def __init__(
        self, inner: Any, passage: Passage, whole: bool | None, late: Callable[[], Exception]
    ) -> None:
        self.inner = inner
        self.passage = passage
        self.whole = whole
        self.late = late


class SyncBody(_Body):
    """For ``Client``."""

    def __iter__(self) -> Iterator[bytes]:
        passage = self.passage
        try:
            for chunk in self.inner:
                if passage.past():
                    raise self.late()
                yield chunk
        except GeneratorExit:  # the caller has read enough
            raise
        except BaseException:
            passage.body_ended(False)
            raise
        passage.body_ended(self.whole)

    def close(self) -> None:
        self.inner.close()


class AsyncBody(_Body):
    """For ``AsyncClient``."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        passage = self.passage
        chunks = aiter(self.inner)
        try:
            while True:
                try:
                    chunk: bytes = await _within(passage, lambda: anext(chunks))
                except StopAsyncIteration:
                    break
                yield chunk
        except GeneratorExit:  # the caller has read enough
            raise
        except PastDeadline:
            passage.body_ended(False)
            raise self.late() from None
        except BaseException:
            passage.body_ended(False)
            raise
        passage.body_ended(self.whole)

    async def aclose(self) -> None:
        await self.inner.aclose()


@lru_cache
def _body_kind(ours: type[_Body], base: type[object]) -> type[_Body]:
    """Our body as one of the library's streams: the client checks for that."""
    return type(ours.__name__, (ours, base), {})


async def _within(passage: Passage, step: Callable[[], Awaitable[T]]) -> T:
    """Await one step, but not beyond the deadline.

    :raises PastDeadline: it has passed.
    """
    passage.gate()
    remaining_s = passage.log.remaining_s()
    if remaining_s is None:
        return await step()
    import anyio  # httpx's own dependency

    with anyio.move_on_after(remaining_s + GRACE_S):
        return await step()
    raise PastDeadline
