"""Hooks below requests: urllib3's pools and connections.

What proves that something left is that bytes of a request line went to a connection that was open:
``connect()`` had returned, TLS and all, and ``putrequest`` had run. ``putrequest`` alone proves
nothing, for it also runs before a connect that is refused, and what goes to a proxy to open a
tunnel is not the request. The hooks are subclasses, made from the classes that the pools already
use and under their names; without a passage they do nothing.
"""

from __future__ import annotations

import copy
import http.client
import io
import socket
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from ascertain.wire.log import current_log
from ascertain.wire.passage import Passage, PastDeadline, target_of

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from urllib3 import HTTPConnectionPool as _Pool
    from urllib3.connection import HTTPConnection as _Connection
    from urllib3.util.retry import Retry as _Retry
else:
    # At run time the classes in use are mixed in; urllib3 need not be there to read this file.
    _Pool = _Connection = _Retry = object

current_passage: ContextVar[Passage | None] = ContextVar("ascertain_wire_passage", default=None)


def fit(manager: Any, exit: str) -> None:
    """Hook the pools of a pool manager; its idle connections are closed, none is left unseen."""
    classes: dict[str, Any] = manager.pool_classes_by_scheme
    if isinstance(classes, _Fitted):
        return
    manager.pool_classes_by_scheme = _Fitted(
        {scheme: hooked_pool(kind, exit) for scheme, kind in classes.items()}
    )
    manager.clear()


class _Fitted(dict[str, Any]):
    """The pool classes of a manager, hooked."""


@lru_cache
def hooked_pool(kind: type[Any], exit: str) -> type[Any]:
    """This class of pools, with hooks."""
    return type(kind.__name__, (PoolHooks, kind), {"__module__": kind.__module__, "_exit": exit})


def hooked_connection(kind: Any) -> Any:
    """This class of connections, with hooks; one that is not built on ``http.client`` as it is."""
    return _hooked_connection(kind) if _is_connection(kind) else kind


def _is_connection(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, http.client.HTTPConnection)


@lru_cache
def _hooked_connection(kind: Any) -> type[Any]:
    body = {
        "__module__": kind.__module__,
        "response_class": _hooked_response(kind.response_class),
    }
    return type(kind.__name__, (ConnectionHooks, kind), body)


@lru_cache
def _hooked_response(kind: type[Any]) -> type[Any]:
    return type(kind.__name__, (ResponseHooks, kind), {"__module__": kind.__module__})


class _ConnectionClass:
    """A pool's ``ConnectionCls``, hooked when it is asked for: it may be replaced at any time."""

    def __get__(self, pool: object, owner: type[PoolHooks]) -> Any:
        return hooked_connection(getattr(super(PoolHooks, owner), "ConnectionCls", None))


class PoolHooks(_Pool):
    """Before a connection pool."""

    ConnectionCls: Any = _ConnectionClass()
    _exit = ""

    def urlopen(self, *args: Any, **kwargs: Any) -> Any:
        """Send, and perhaps send again: then this is called anew."""
        passage = current_passage.get()
        if passage is None:
            self._note_stray(*args, **kwargs)
            return super().urlopen(*args, **kwargs)
        from urllib3.exceptions import EmptyPoolError

        passage.hooked = True
        if "retries" in kwargs:
            kwargs["retries"] = patient(kwargs["retries"])
        try:
            return super().urlopen(*args, **kwargs)
        except EmptyPoolError:
            passage.gate()
            raise

    def _note_stray(self, method: str, url: str, *_: Any, **__: Any) -> None:
        """A request of the attempt that went around the session: seen only here."""
        log = current_log.get()
        if log is not None:
            target = target_of(self.scheme or "", self.host, self.port, url)
            log.begin(self._exit, method, target).left = True

    def _get_conn(self, timeout: float | None = None) -> Any:
        passage = current_passage.get()
        if passage is None:
            return super()._get_conn(timeout)
        # No gate here: of all errors only the pool's own leaves its slots as they are.
        connection: Any = super()._get_conn(passage.cap(timeout))
        if not isinstance(connection, ConnectionHooks):
            passage.assume_left()
        return connection


class ConnectionHooks(_Connection):
    """Before a connection."""

    _connecting = False

    def connect(self) -> None:
        passage = current_passage.get()
        if passage is None:
            return super().connect()
        passage.opening()
        own = self.timeout
        self.timeout = passage.cap(_seconds(own))
        self._connecting = True
        try:
            super().connect()
        except TimeoutError:  # which older releases take for an error of the proxy
            passage.gate()
            raise
        finally:
            self._connecting = False
            self.timeout = own
        return None

    def _new_conn(self) -> Any:
        connected: Any = super()._new_conn()
        self._shorten(connected)
        return connected

    def _tunnel(self) -> None:
        super()._tunnel()
        self._shorten(self.sock)

    def _shorten(self, sock: Any) -> None:
        """Give the handshake that may come next what remains by now, not what it was before."""
        passage = current_passage.get()
        if passage is not None and sock is not None:
            sock.settimeout(passage.cap(sock.gettimeout()))

    def putrequest(self, *args: Any, **kwargs: Any) -> None:
        passage = current_passage.get()
        if passage is not None:
            passage.beginning()
        super().putrequest(*args, **kwargs)

    def send(self, data: Any) -> None:
        passage = current_passage.get()
        if passage is None or self._connecting:
            return super().send(data)
        if self.sock is None and self.auto_open:
            self.connect()
        if self.sock is None:
            return super().send(data)  # which says that it is not connected
        passage.leaving()
        with bounded(self.sock, passage):
            return super().send(data)


class ResponseHooks(http.client.HTTPResponse):
    """Before a response: its head, and each read of its body."""

    _passage: Passage | None = None
    _source: _Source | None = None

    def __init__(self, sock: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        passage = current_passage.get()
        fp: Any = self.fp
        if passage is not None and isinstance(fp, io.BufferedReader):
            self._passage = passage
            self._source = _Source(fp.detach(), sock, passage)
            self.fp = io.BufferedReader(self._source)

    def begin(self) -> None:
        super().begin()
        passage, source = self._passage, self._source
        if passage is None or source is None:
            return
        if source.ended:  # http.client takes that for the end of the head
            passage.head_cut()
        else:
            passage.answered(self.status, self.headers.get)


class _Source(io.RawIOBase):
    """What comes from the socket, each read in what remains."""

    def __init__(self, inner: Any, sock: Any, passage: Passage) -> None:
        super().__init__()
        self._inner = inner
        self._sock = sock
        self._passage = passage
        self.ended = False

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        number: int = self._inner.fileno()
        return number

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        with bounded(self._sock, self._passage):
            count: int | None = self._inner.readinto(buffer)
        self.ended = count == 0
        return count

    def close(self) -> None:
        self._inner.close()
        super().close()


@contextmanager
def bounded(sock: Any, passage: Passage) -> Generator[None]:
    """Give the socket what remains of the attempt for one step.

    The limit stays: what remains can only become less, and for the next request urllib3 sets its
    own anew.

    :raises PastDeadline: that is over. Not a kind of OSError, or urllib3 would try again.
    :raises TimeoutError: the same, once the response is in the caller's hands.
    """
    try:
        passage.gate()
        sock.settimeout(passage.cap(sock.gettimeout()))
        try:
            yield
        except TimeoutError:
            passage.gate()
            raise
    except PastDeadline as late:
        if passage.handed_over:
            raise TimeoutError(str(late)) from None
        raise


def _seconds(timeout: object) -> float | None:
    """A connection's time limit; where it has none of its own, the process's default."""
    if timeout is None or isinstance(timeout, int | float):
        return timeout
    return socket.getdefaulttimeout()


class PatientRetry(_Retry):
    """Before a retry policy: it does not sleep through the deadline."""

    def sleep(self, response: Any = None) -> None:
        """Wait as the policy says.

        :raises PastDeadline: at once, where the wait would end after the deadline.
        """
        passage = current_passage.get()
        remaining_s = None if passage is None else passage.log.remaining_s()
        if remaining_s is not None and self._wait_s(response) >= remaining_s:
            raise PastDeadline
        super().sleep(response)

    def _wait_s(self, response: Any) -> float:
        asked = None
        if response is not None and self.respect_retry_after_header:
            asked = self.get_retry_after(response)
        return asked or self.get_backoff_time()


def patient(retries: Any) -> Any:
    """The same retry policy, with the deadline in view."""
    if isinstance(retries, PatientRetry) or not hasattr(retries, "get_backoff_time"):
        return retries
    same = copy.copy(retries)
    same.__class__ = _patient_kind(cast("Any", type(retries)))
    return same


@lru_cache
def _patient_kind(kind: Any) -> type[Any]:
    return type(kind.__name__, (PatientRetry, kind), {"__module__": kind.__module__})
