"""Clients and decorators that repeat by themselves, recognised without importing their libraries.

A retry below multiplies with the retries above it, and may repeat a write that nobody judged safe.
Each row says how one kind of client is recognised (top-level package and class, found among the
bases) and how its own number of tries is read.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from ascertain.wire.watch import ADAPTERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A repeat that happens below.

    :param what: what repeats, and when. :param fix: how it is switched off.
    :param before_send: it repeats only what never left, so that no effect can come about twice.
    """

    what: str
    fix: str
    before_send: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Something that sends.

    :param kind: ``httpx.Client``. :param hooks: whether its library's clients can be watched.
    :param thrown_away: a function that makes a client for one request.
    """

    kind: str
    hooks: bool
    hidden: tuple[Hidden, ...]
    thrown_away: bool = False


Reader = Callable[[Any], Iterator[Hidden]]


def client_of(thing: Any) -> Client | None:
    """What kind of client this is; None: it is none that is known."""
    if isinstance(thing, type | types.ModuleType):
        return None
    if isinstance(thing, types.FunctionType | types.MethodType):
        return _client_of_function(thing)
    for base in type(thing).__mro__:
        root = base.__module__.partition(".")[0]
        row = _KINDS.get((root, base.__qualname__))
        if row is not None:
            return Client(
                kind=f"{root}.{type(thing).__qualname__}",
                hooks=(root, base.__qualname__) in ADAPTERS,
                hidden=tuple(row(thing)),
            )
    return None


def decorator_of(layer: types.FunctionType) -> Hidden | None:
    """The repeat that a decorator's function does; None: it is none that is known."""
    root = str(layer.__globals__.get("__name__", "")).partition(".")[0]
    fix = _DECORATORS.get(root)
    if fix is None:
        return None
    return Hidden(
        what=f"{root} calls the body again within one attempt, whatever the first call did", fix=fix
    )


def _client_of_function(thing: Any) -> Client | None:
    """``requests.post`` and the like: a client is made, used and thrown away."""
    function: Any = getattr(thing, "__func__", thing)
    module, name = str(function.__module__), str(function.__qualname__)
    root = module.partition(".")[0]
    if "." in name or name not in _VERBS.get(root, ()):
        return None
    hidden = tuple(_urllib3_default()) if root == "urllib3" else ()
    hooks = any(root == hooked for hooked, _ in ADAPTERS)
    return Client(kind=f"{module}.{name}", hooks=hooks, hidden=hidden, thrown_away=True)


# ------------------------------------------------------------------------------------- the readers


def _httpx(client: Any) -> Iterator[Hidden]:
    own = _own(client)
    transports = [own.get("_transport"), *_values(own.get("_mounts"))]
    for transport in {id(t): t for t in transports if t is not None}.values():
        root = type(transport).__module__.partition(".")[0]
        if root not in ("httpx", "httpx2", "ascertain"):
            yield Hidden(
                what=f"its transport is a {root}.{type(transport).__name__}, which may send again",
                fix="look into that transport, and switch its retries off",
            )
            continue
        pool = _own(transport).get("_pool")
        tries = _number(_own(pool).get("_retries"))
        if tries:
            yield Hidden(
                what=f"it connects again up to {tries} times (retries={tries})",
                fix="HTTPTransport(retries=0)",
                before_send=True,
            )
        if _own(pool).get("_http2"):
            yield Hidden(
                what="over HTTP/2 it sends again what a GOAWAY says was not processed",
                fix="http2=False",
                before_send=True,
            )


def _requests(session: Any) -> Iterator[Hidden]:
    for prefix, adapter in _items(_own(session).get("adapters")):
        for hidden in _urllib3_retry(getattr(adapter, "max_retries", None), "max_retries=0"):
            yield Hidden(
                what=f"its adapter for {prefix} {hidden.what}",
                fix=f"session.mount({prefix!r}, HTTPAdapter(max_retries=0))",
                before_send=hidden.before_send,
            )


def _urllib3(pool: Any) -> Iterator[Hidden]:
    own = _own(pool)
    keywords = own.get("connection_pool_kw")
    if isinstance(keywords, dict):
        retries = cast("dict[str, Any]", keywords).get("retries")
    else:
        retries = own.get("retries")
    if retries is None:
        yield from _urllib3_default()
    elif isinstance(retries, int) and not isinstance(retries, bool):
        if retries:
            yield from _urllib3_default(retries)
    else:
        yield from _urllib3_retry(retries, "retries=False")


def _urllib3_default(tries: int = 3) -> Iterator[Hidden]:
    yield Hidden(
        what=f"by default it sends up to {tries} times more: PUT and DELETE after a lost answer, "
        "any method after a TLS or proxy error",
        fix="PoolManager(retries=False)",
    )


def _urllib3_retry(retry: Any, fix: str) -> Iterator[Hidden]:
    if retry is None or isinstance(retry, bool):
        return
    total, connect, read, other, replies = (
        getattr(retry, name, None) for name in ("total", "connect", "read", "other", "status")
    )
    if total is False or total == 0:
        return
    # The total bounds the others; None: there is no bound but theirs.
    kinds = {
        name: value
        for name, value in (
            ("connect", connect), ("read", read), ("other", other), ("reply", replies),
        )
        if value is not False and value != 0
    }  # fmt: skip
    if not kinds:
        return
    if total is None:
        bound = ", ".join(f"{name} {value or 'without end'}" for name, value in kinds.items())
        times = f"without a total ({bound})"
    else:
        times = f"up to {total} times"
    methods = getattr(retry, "allowed_methods", None)
    which = "any method" if not methods else ", ".join(sorted(str(m) for m in methods))
    codes = sorted(getattr(retry, "status_forcelist", ()) or ())
    after = f" and after HTTP {', '.join(map(str, codes))}" if codes else ""
    yield Hidden(
        what=f"sends again {times}: {which} after a lost answer{after}",
        fix=fix,
        before_send=set(kinds) == {"connect"},
    )


def _boto(client: Any) -> Iterator[Hidden]:
    config = getattr(getattr(client, "meta", None), "config", None)
    retries = cast("dict[str, Any]", getattr(config, "retries", None) or {})
    mode = str(retries.get("mode") or "legacy")
    total = retries.get("total_max_attempts")
    if total == 1:
        return
    times = "several times" if total is None else f"{total} times in all"
    yield Hidden(
        what=f"it sends up to {times} (mode {mode}): after timeouts, throttling and 5xx, for every "
        "operation",
        fix="Config(retries={'total_max_attempts': 1})",
    )


def _boto_resource(resource: Any) -> Iterator[Hidden]:
    return _boto(getattr(getattr(resource, "meta", None), "client", None))


def _sdk(client: Any) -> Iterator[Hidden]:
    tries = _number(_own(client).get("max_retries"))
    if tries:
        yield Hidden(
            what=f"it sends up to {tries} times more: after transport errors, 408, 409, 429 and "
            "5xx, with no key of its own",
            fix="max_retries=0",
        )


def _redis(client: Any) -> Iterator[Hidden]:
    pool = _own(client).get("connection_pool")
    keywords = cast("dict[str, Any]", getattr(pool, "connection_kwargs", None) or {})
    retry = keywords.get("retry")
    tries = _number(_own(retry).get("_retries"))
    if tries:
        times = "for ever" if tries < 0 else f"up to {tries} times more"
        yield Hidden(
            what=f"it sends {times} after a lost connection, every command (INCR too)",
            fix="Redis(retry=Retry(NoBackoff(), 0))",
        )


def _aiohttp(session: Any) -> Iterator[Hidden]:
    if getattr(session, "_retry_connection", False):
        yield Hidden(
            what="it sends PUT, DELETE and reads once more when the connection breaks",
            fix="send writes by POST",
        )


# ------------------------------------------------------------------------------------- the tables

_KINDS: Final[dict[tuple[str, str], Reader]] = {
    ("httpx", "Client"): _httpx,
    ("httpx", "AsyncClient"): _httpx,
    ("httpx2", "Client"): _httpx,
    ("httpx2", "AsyncClient"): _httpx,
    ("requests", "Session"): _requests,
    ("urllib3", "PoolManager"): _urllib3,
    ("urllib3", "HTTPConnectionPool"): _urllib3,
    ("botocore", "BaseClient"): _boto,
    ("boto3", "ServiceResource"): _boto_resource,
    ("openai", "BaseClient"): _sdk,
    ("anthropic", "BaseClient"): _sdk,
    ("redis", "Redis"): _redis,
    ("redis", "RedisCluster"): _redis,
    ("aiohttp", "ClientSession"): _aiohttp,
}

_HTTP_VERBS: Final = frozenset({"delete", "patch", "post", "put", "request", "stream"})
_VERBS: Final[dict[str, frozenset[str]]] = {
    "httpx": _HTTP_VERBS,
    "httpx2": _HTTP_VERBS,
    "requests": _HTTP_VERBS,
    "urllib": frozenset({"urlopen"}),
    "urllib3": frozenset({"request"}),
}

_DECORATORS: Final[dict[str, str]] = {
    "tenacity": "take @retry off the body; the contract and the budget say what is repeated",
    "stamina": "take @stamina.retry off the body; the contract and the budget say what is repeated",
    "backoff": "take @backoff off the body; the contract and the budget say what is repeated",
    "retrying": "take @retry off the body; the contract and the budget say what is repeated",
}


def _own(thing: Any) -> dict[str, Any]:
    found: Any = getattr(thing, "__dict__", None)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _items(value: Any) -> list[tuple[Any, Any]]:
    return list(value.items()) if hasattr(value, "items") else []


def _values(value: Any) -> list[Any]:
    return [item for _, item in _items(value)]
