"""Hooks for requests: the session's choice of an adapter, and urllib3 below it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from ascertain.wire.log import WireLog, current_log
from ascertain.wire.passage import TOO_LATE, Passage, PastDeadline, target_of
from ascertain.wire.urllib3 import current_passage, fit

if TYPE_CHECKING:
    import requests


def install(client: object, exit: str, library: str) -> None:
    """Hook the session's choice of an adapter: it is asked once for each request and redirect."""
    lib: Any = sys.modules[library]
    session: Any = client
    find = session.get_adapter
    for adapter in session.adapters.values():
        _fit_adapter(adapter, exit, lib)

    def get_adapter(url: str) -> Any:
        adapter = find(url=url)
        return adapter if current_log.get() is None else Door(adapter, lib, exit)

    session.get_adapter = get_adapter


def _fit_adapter(adapter: Any, exit: str, lib: Any) -> None:
    """Hook the pools that an adapter has, and those for proxies that it may yet make."""
    if not _is_http(adapter, lib):
        return
    fit(adapter.poolmanager, exit)
    for manager in list(adapter.proxy_manager.values()):
        fit(manager, exit)
    own = cast("dict[str, Any]", vars(adapter))
    if "proxy_manager_for" in own:
        return
    make = adapter.proxy_manager_for

    def proxy_manager_for(*args: Any, **kwargs: Any) -> Any:
        manager = make(*args, **kwargs)
        fit(manager, exit)
        return manager

    own["proxy_manager_for"] = proxy_manager_for


def _is_http(adapter: object, lib: Any) -> bool:
    return isinstance(adapter, lib.adapters.HTTPAdapter)


class Door:
    """Stands in for the adapter of one request of one attempt."""

    def __init__(self, adapter: Any, lib: Any, exit: str) -> None:
        self.adapter = adapter
        self.lib = lib
        self.exit = exit

    def __getattr__(self, name: str) -> Any:
        return getattr(self.adapter, name)

    def send(self, request: requests.PreparedRequest, **how: Any) -> requests.Response:
        """Send as the adapter does, recorded and inside the deadline."""
        log = current_log.get()
        if log is None:
            return self._send(request, how)
        _fit_adapter(self.adapter, self.exit, self.lib)
        passage = self._begin(log, request)
        before = current_passage.set(passage)
        try:
            passage.gate()
            how["timeout"] = _capped(how.get("timeout"), passage)
            response: Any = self._send_hooked(request, how, passage)
        except PastDeadline as late:
            raise self._too_late(request, connecting=passage.connecting) from late
        finally:
            current_passage.reset(before)
            passage.landed()
        self._arrived(request, response, passage)
        return cast("requests.Response", response)

    def _send(self, request: Any, how: dict[str, Any]) -> requests.Response:
        response: requests.Response = self.adapter.send(request, **how)
        return response

    def _send_hooked(self, request: Any, how: dict[str, Any], passage: Passage) -> Any:
        try:
            return self._send(request, how)
        finally:
            if not passage.hooked:  # an adapter with pools of its own making
                passage.assume_left()

    def _begin(self, log: WireLog, request: Any) -> Passage:
        parts = urlsplit(str(request.url))
        target = target_of(parts.scheme, parts.hostname or "", parts.port, parts.path)
        method = request.method or "GET"
        opaque = not self._is_known()
        return Passage(log, self.exit, method, target, opaque=opaque, request=request)

    def _is_known(self) -> bool:
        """Whether the adapter sends as the library does, with nothing patched or overridden."""
        send: Any = getattr(self.adapter.send, "__func__", None)
        return (
            send is not None
            and _is_http(self.adapter, self.lib)
            and send.__module__ == f"{self.lib.__name__}.adapters"
        )

    def _too_late(self, request: Any, *, connecting: bool = False) -> Exception:
        """The client's own exception for the attempt's deadline."""
        kinds = self.lib.exceptions
        kind = kinds.ConnectTimeout if connecting else kinds.ReadTimeout
        return cast("Exception", kind(TOO_LATE, request=request))

    def _arrived(self, request: Any, response: Any, passage: Passage) -> None:
        """Note the head, if no hook did, and follow the body."""
        # Some ways of authentication send again by this attribute.
        response.connection = self
        send = passage.send
        if send.http_status is None and send.complete is None:
            passage.answered(response.status_code, response.headers.get)
        if getattr(response, "_content_consumed", False):
            passage.body_ended(True)
            return
        read = response.iter_content

        def iter_content(*args: Any, **kwargs: Any) -> Iterator[Any]:
            return self._follow(read(*args, **kwargs), request, response, passage)

        response.iter_content = iter_content

    def _follow(
        self, chunks: Iterator[Any], request: Any, response: Any, passage: Passage
    ) -> Iterator[Any]:
        try:
            for chunk in chunks:
                if passage.past():
                    raise self._too_late(request)
                yield chunk
        except GeneratorExit:  # the caller has read enough
            raise
        except self.lib.exceptions.ConnectionError as exc:
            passage.body_ended(False)
            if passage.past():
                raise self._too_late(request) from exc
            raise
        except BaseException:
            passage.body_ended(False)
            raise
        passage.body_ended(_is_whole(response.raw))


def _is_whole(raw: Any) -> bool | None:
    """Whether a body that was read to its end is whole; None: its end was only the connection's."""
    if not hasattr(raw, "length_remaining"):  # not a connection
        return True
    remaining: int | None = raw.length_remaining
    if remaining is None:
        return True if getattr(raw, "chunked", False) else None
    return remaining == 0


def _capped(timeout: Any, passage: Passage) -> Any:
    """What ``timeout=`` may be: seconds, or (connect, read), or an object that urllib3 reads."""
    if isinstance(timeout, tuple):
        pair = cast("tuple[float | None, ...]", timeout)
        return tuple(passage.cap(part) for part in pair)
    if timeout is None or isinstance(timeout, int | float):
        return passage.cap(timeout)
    return timeout
