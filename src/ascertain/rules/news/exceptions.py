"""What an exception proves about the request, by the module and name of its leaf class.

Measured against servers that count their effects. Names are compared, never classes: the libraries
need not be installed, aliases change the class but not the name, and a base class proves nothing.
Texts are never read. A row proves "not sent" only if exactly one attempt was made; clients that
repeat by themselves surface the *last* attempt and hide the one that had the effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, Final, NamedTuple, cast


class Proof(StrEnum):
    """When the class of an exception proves that nothing of the request left."""

    NEVER = "never"
    ALONE = "alone"  # the client makes one attempt unless it is told otherwise
    SEEN = "seen"  # only if the hooks saw exactly one attempt, of which nothing left


class Hop(NamedTuple):
    """Where the cause hides (an attribute, or ``arg``: the first argument), and what it must be."""

    edge: str
    leaves: frozenset[str]


class Leaf(NamedTuple):
    """One row. With ``path``, it proves only what hides at its end."""

    reason: str
    proof: Proof = Proof.NEVER
    path: tuple[Hop, ...] = ()
    counted: bool = False  # the request's own retry count must be 0
    defect: bool = False  # the tool built a request that cannot be sent


REASONS: Final[dict[str, str]] = {
    "timeout": "No answer came in time; the request may have been carried out.",
    "connection_lost": "The connection broke before the answer was complete.",
    "not_connected": "No connection could be made, but an earlier try of the client may have left.",
    "tls_lost": "The encrypted connection failed, before or after the request was read.",
    "proxy_lost": "A proxy failed, before or after it had passed the request on.",
    "unreadable_answer": "An answer came, but it could not be understood.",
    "gave_up": "The client gave up after tries of its own, any of which may have been carried out.",
    "request_not_built": "The tool built a request that its client cannot send.",
    "tool_error": "The tool's own code broke; whether it had sent anything is not known.",
}


def _hop(edge: str, *leaves: str) -> Hop:
    return Hop(edge=edge, leaves=frozenset(leaves))


def _rows(
    roots: str,
    names: str,
    reason: str,
    proof: Proof = Proof.NEVER,
    *path: Hop,
    counted: bool = False,
    defect: bool = False,
) -> dict[str, Leaf]:
    row = Leaf(reason=reason, proof=proof, path=path, counted=counted, defect=defect)
    return {f"{root}.{name}": row for root in roots.split() for name in names.split()}


_NO_HOST = ("urllib3.NewConnectionError", "urllib3.NameResolutionError")
_UNREACHED = tuple(f"{root}.{name}" for root in ("httpx", "httpx2")
                   for name in ("ConnectError", "ConnectTimeout"))  # fmt: skip
_MAX_RETRY = _hop("arg", "urllib3.MaxRetryError")

LEAVES: Final[dict[str, Leaf]] = {
    **_rows("builtins", "ConnectionRefusedError", "not_connected", Proof.ALONE),
    **_rows("socket", "gaierror", "not_connected", Proof.ALONE),
    **_rows("builtins", "TimeoutError", "timeout"),
    **_rows(
        "builtins", "ConnectionResetError ConnectionAbortedError BrokenPipeError ConnectionError",
        "connection_lost",
    ),
    **_rows("ssl", "SSLError SSLEOFError SSLZeroReturnError", "tls_lost"),
    **_rows("http", "RemoteDisconnected IncompleteRead BadStatusLine", "connection_lost"),
    **_rows(
        "urllib", "URLError", "connection_lost", Proof.ALONE,
        _hop("reason", "builtins.ConnectionRefusedError", "socket.gaierror"),
    ),
    # httpx, httpx2 and what they stand on
    **_rows("httpx httpx2", "ConnectError ConnectTimeout ProxyError", "not_connected", Proof.ALONE),
    **_rows("httpx", "PoolTimeout", "not_connected", Proof.ALONE),
    **_rows("httpx2", "PoolTimeout", "not_connected", Proof.SEEN),
    **_rows(
        "httpcore httpcore2", "ConnectError ConnectTimeout ProxyError PoolTimeout",
        "not_connected", Proof.SEEN,
    ),
    **_rows(
        "httpx httpx2 httpcore httpcore2", "UnsupportedProtocol LocalProtocolError",
        "request_not_built", Proof.SEEN, defect=True,
    ),
    **_rows("httpx httpx2", "InvalidURL", "request_not_built", Proof.SEEN, defect=True),
    **_rows("httpx httpx2 httpcore httpcore2", "ReadTimeout WriteTimeout", "timeout"),
    **_rows(
        "httpx httpx2 httpcore httpcore2", "ReadError WriteError NetworkError", "connection_lost"
    ),
    **_rows("httpx httpx2", "CloseError DecodingError", "connection_lost"),
    **_rows(
        "httpx httpx2", "RemoteProtocolError", "connection_lost", Proof.ALONE,
        _hop("__cause__", "httpcore.RemoteProtocolError", "httpcore2.RemoteProtocolError"),
        _hop("arg", "h2.StreamReset", "h2.ConnectionTerminated"),
    ),
    **_rows(
        "httpcore httpcore2", "RemoteProtocolError", "connection_lost", Proof.SEEN,
        _hop("arg", "h2.StreamReset", "h2.ConnectionTerminated"),
    ),
    # requests and urllib3
    **_rows(
        "requests", "ConnectionError", "connection_lost", Proof.ALONE,
        _MAX_RETRY, _hop("reason", *_NO_HOST),
    ),
    **_rows("requests", "ConnectTimeout", "not_connected", Proof.ALONE),
    **_rows(
        "requests", "SSLError", "tls_lost", Proof.ALONE,
        _MAX_RETRY, _hop("reason", "urllib3.SSLError"), _hop("arg", "ssl.SSLCertVerificationError"),
    ),
    **_rows(
        "requests", "ProxyError", "proxy_lost", Proof.ALONE,
        _MAX_RETRY, _hop("reason", "urllib3.ProxyError"),
        _hop("original_error", *_NO_HOST, "builtins.OSError"),
    ),
    **_rows("requests", "ReadTimeout Timeout", "timeout"),
    **_rows("requests", "ChunkedEncodingError ContentDecodingError", "connection_lost"),
    **_rows("requests", "RetryError", "gave_up"),
    # Bare, these come only from a pool whose own retries are off.
    **_rows(
        "urllib3", "NewConnectionError NameResolutionError ConnectTimeoutError",
        "not_connected", Proof.ALONE,
    ),
    **_rows(
        "urllib3", "MaxRetryError", "gave_up", Proof.SEEN,
        _hop("reason", *_NO_HOST, "urllib3.ConnectTimeoutError"),
    ),
    **_rows("urllib3", "ReadTimeoutError", "timeout"),
    **_rows("urllib3", "ProtocolError IncompleteRead InvalidChunkLength", "connection_lost"),
    **_rows("urllib3", "SSLError", "tls_lost"),
    **_rows("urllib3", "ProxyError", "proxy_lost"),
    # aiohttp
    **_rows(
        "aiohttp",
        "ClientConnectorError ClientConnectorDNSError ClientConnectorCertificateError "
        "ClientConnectorSSLError ConnectionTimeoutError ClientProxyConnectionError "
        "ClientHttpProxyError",
        "not_connected", Proof.ALONE,
    ),
    **_rows("aiohttp", "SocketTimeoutError ServerTimeoutError", "timeout"),
    **_rows(
        "aiohttp", "ServerDisconnectedError ClientOSError ClientPayloadError", "connection_lost"
    ),
    # Clients that repeat by themselves: the class alone proves nothing.
    **_rows(
        "openai anthropic", "APIConnectionError", "connection_lost", Proof.ALONE,
        _hop("__cause__", *_UNREACHED), counted=True,
    ),
    **_rows(
        "openai anthropic", "APITimeoutError", "timeout", Proof.ALONE,
        _hop("__cause__", *_UNREACHED), counted=True,
    ),
    **_rows("stripe", "APIConnectionError", "connection_lost"),
    **_rows("botocore", "EndpointConnectionError ConnectTimeoutError", "not_connected"),
    **_rows("botocore", "ConnectionClosedError HTTPClientError", "connection_lost"),
    **_rows("botocore", "ReadTimeoutError", "timeout"),
    **_rows("botocore", "ResponseParserError", "unreadable_answer"),
    **_rows("google tenacity", "RetryError", "gave_up"),
    **_rows("azure", "ServiceRequestError ServiceRequestTimeoutError", "not_connected"),
    **_rows("azure", "ServiceResponseError IncompleteReadError", "connection_lost"),
    **_rows("azure", "ServiceResponseTimeoutError", "timeout"),
    **_rows("redis", "ConnectionError", "connection_lost"),
    **_rows("redis", "TimeoutError", "timeout"),
    # Other protocols
    **_rows("smtplib", "SMTPConnectError SMTPHeloError", "not_connected", Proof.ALONE),
    **_rows("smtplib", "SMTPServerDisconnected", "connection_lost"),
    **_rows("asyncpg", "CannotConnectNowError TooManyConnectionsError", "not_connected",
            Proof.ALONE),
    **_rows("asyncpg", "ConnectionDoesNotExistError", "connection_lost"),
}  # fmt: skip

_AT_THE_END: Final[dict[str, Callable[[Any], bool]]] = {
    # HTTP/2 promises "not processed" in two ways only: REFUSED_STREAM, and a GOAWAY below ours.
    "h2.StreamReset": lambda event: event.error_code == 7,
    "h2.ConnectionTerminated": lambda event: event.last_stream_id == 0,
    # A refused CONNECT is an OSError that no system call raised.
    "builtins.OSError": lambda error: error.errno is None,
}

# What may lie beneath a failure to connect without telling of another attempt ...
_BENEATH: Final = frozenset(
    {"builtins.OSError", "builtins.ExceptionGroup", "asyncio.CancelledError"}
)
# ... and what may only directly beneath its client's own exception: alone it is a lost answer.
_BENEATH_ITS_CLIENT: Final = frozenset(
    {
        "builtins.TimeoutError", "builtins.ConnectionResetError", "builtins.BrokenPipeError",
        "builtins.ConnectionAbortedError", "urllib3.MaxRetryError", "urllib3.SSLError",
        "urllib3.ProxyError",
    }
)  # fmt: skip
_BENEATH_ITS_CLIENT_ROOTS: Final = frozenset({"ssl", "anyio"})
_NO_CLIENT: Final = frozenset({"", "builtins", "socket", "asyncio"})
_REDIRECTS: Final = frozenset({("requests", "resolve_redirects"), ("urllib", "http_error_302")})
_DEEPEST: Final = 64


def leaf_key(thing: object) -> str:
    """Root module and class name of a thing: ``httpx.ConnectError``."""
    kind = type(thing)
    return f"{str(kind.__module__).partition('.')[0]}.{kind.__name__}"


def peek(thing: object, name: str) -> Any:
    """An attribute of a foreign thing, or None; a property that raises is no attribute."""
    try:
        return getattr(thing, name, None)
    except Exception:
        return None


def explicit_chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and the causes that it names (``raise ... from``)."""
    seen: set[int] = set()
    node: BaseException | None = error
    while node is not None and id(node) not in seen and len(seen) < _DEEPEST:
        seen.add(id(node))
        yield node
        node = node.__cause__


def family(error: BaseException) -> Leaf | None:
    """The first known row along the named causes; None: nothing known, so the tool's own code."""
    for node in explicit_chain(error):
        row = LEAVES.get(leaf_key(node))
        if row is not None:
            return row
    return None


def mentioned(error: BaseException) -> Leaf | None:
    """The first known row in the whole chain, contexts included."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting and len(seen) < _DEEPEST:
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        row = LEAVES.get(leaf_key(node))
        if row is not None:
            return row
        waiting += _beneath(node)
    return None


def _beneath(node: BaseException) -> list[BaseException | None]:
    beneath: list[BaseException | None] = [node.__context__, node.__cause__]
    if isinstance(node, BaseExceptionGroup):
        beneath += cast("BaseExceptionGroup[BaseException]", node).exceptions
    return beneath


def proves_not_sent(error: BaseException, *, seen_alone: bool) -> bool:
    """Whether the exception proves that nothing of the request left.

    :param seen_alone: the hooks saw exactly one send, of which nothing left. Then a cause named by
        the tool's own exception counts too.
    """
    wrappers: list[BaseException] = []
    for node in explicit_chain(error):
        key = leaf_key(node)
        row = LEAVES.get(key)
        if row is not None:
            if wrappers and key.partition(".")[0] in _NO_CLIENT:
                break
            proved = _proves(node, row, seen_alone=seen_alone)
            return proved and not _tells_of_another(node, wrappers)
        if not seen_alone:
            break
        wrappers.append(node)
    return False


def _proves(error: BaseException, row: Leaf, *, seen_alone: bool) -> bool:
    if row.proof is Proof.NEVER or (row.proof is Proof.SEEN and not seen_alone):
        return False
    if row.counted and retry_count(error) != 0:
        return False
    thing: Any = error
    for hop in row.path:
        thing = first_argument(thing) if hop.edge == "arg" else peek(thing, hop.edge)
        if leaf_key(thing) not in hop.leaves:
            return False
    check = _AT_THE_END.get(leaf_key(thing)) if row.path else None
    try:
        return check is None or check(thing)
    except Exception:
        return False


def first_argument(thing: object) -> Any:
    """What an exception was made with, where the real cause hides."""
    try:
        return cast("Any", thing).args[0]
    except Exception:
        return None


def retry_count(error: object) -> int | None:
    """How often the SDK had repeated the request before this one, as its header says."""
    headers = peek(peek(error, "request"), "headers")
    if headers is None:
        headers = peek(peek(peek(error, "response"), "request"), "headers")
    try:
        return int(headers.get("x-stainless-retry-count"))
    except Exception:
        return None


def _tells_of_another(error: BaseException, wrappers: list[BaseException]) -> bool:
    """Whether anything around the proof, contexts included, speaks of another attempt."""
    if _redirected(error):
        return True
    seen = {id(error), *map(id, wrappers)}
    client = leaf_key(error).partition(".")[0]
    waiting = [(below, client) for below in _beneath(error)]
    waiting += [(wrapper.__context__, "") for wrapper in wrappers]
    while waiting:
        node, parent = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        key = leaf_key(node)
        if not _harmless(node, key, parent) or _redirected(node) or len(seen) > _DEEPEST:
            return True
        root = key.partition(".")[0]
        waiting += [(below, root) for below in _beneath(node)]
    return False


def _harmless(node: BaseException, key: str, parent: str) -> bool:
    root = key.partition(".")[0]
    if key in _BENEATH_ITS_CLIENT or root in _BENEATH_ITS_CLIENT_ROOTS:
        return parent not in _NO_CLIENT
    row = LEAVES.get(key)
    return key in _BENEATH or (row is not None and _proves(node, row, seen_alone=True))


def _redirected(node: BaseException) -> bool:
    """Whether it was raised while following a redirect: the first request had left."""
    trace = node.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        root = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if (root, frame.f_code.co_name) in _REDIRECTS:
            return True
        trace = trace.tb_next
    return False
