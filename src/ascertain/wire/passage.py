"""One request on its way through a client, which may send it more than once.

A client is asked once and may send again by itself: after a connect that was refused, after an
answer that it wants to retry, after a connection that went away. Hooks tell a passage what they
see; it counts the sends and keeps the attempt's deadline.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ascertain.wire.log import Send, WireLog

# In this order: the provider's own id first, then what a proxy in front of it may have added.
REQUEST_ID_HEADERS = (
    "x-request-id",
    "request-id",
    "x-amzn-requestid",
    "x-amz-request-id",
    "x-ms-request-id",
    "x-goog-request-id",
    "x-github-request-id",
    "twilio-request-id",
    "paypal-debug-id",
    "x-correlation-id",
    "cf-ray",
)
# Header values come from outside and end up in a ledger.
MAX_HEADER_CHARS = 200
DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
# A socket timeout of 0 would mean "do not block", which is another thing than "be quick".
SHORTEST_S = 0.001
TOO_LATE = "the deadline of this attempt has passed"
SPENT = "this request has been sent as often as its action may be"


class PastDeadline(Exception):
    """The deadline of the attempt has come; a hook turns this into the client's own timeout."""

    def __init__(self, why: str = TOO_LATE) -> None:
        super().__init__(why)


def target_of(scheme: str, host: str, port: int | None, path: str) -> str:
    """Where a request goes, without query (it may hold secrets) and without a default port."""
    shown_port = "" if port is None or port == DEFAULT_PORTS.get(scheme) else f":{port}"
    return f"{host}{shown_port}{path.partition('?')[0] or '/'}"


def least(own: float | None, bound: float | None) -> float | None:
    """The shorter of two time limits in seconds, where None is none."""
    if own is None or bound is None:
        return bound if own is None else own
    return min(own, bound)


def same(one: Any, other: Any) -> bool:
    """Whether two requests of a client are one, sent twice: same address, key and body."""
    if one is other:
        return True
    try:
        return _marks(one) == _marks(other)
    except Exception:  # a body that is read only once, say: it cannot be told
        return False


def _marks(request: Any) -> tuple[object, ...]:
    body = request.content if hasattr(request, "content") else request.body
    if body is not None and not isinstance(body, str | bytes):
        raise TypeError
    keys = [str(value) for name, value in request.headers.items() if "idempot" in name.lower()]
    return f"{request.__class__}", str(request.method), str(request.url), tuple(keys), body


@dataclass(slots=True, eq=False)
class Passage:
    """One request handed to a client's transport.

    :param opaque: the transport is code we do not know; whatever enters it counts as having left.
    :param request: the client's own request.
    """

    log: WireLog
    exit: str
    method: str
    target: str
    opaque: bool = False
    request: object = None
    send: Send = field(init=False)
    # The hooks on the connections below saw it come by.
    hooked: bool = field(default=False, init=False)
    # The response is in the caller's hands: nothing is sent again from here on.
    handed_over: bool = field(default=False, init=False)
    # Of the current send: a connection was opened for it, its request line was written down, its
    # first bytes went to the socket.
    _opened: bool = field(default=False, init=False)
    _begun: bool = field(default=False, init=False)
    _gone: bool = field(default=False, init=False)
    _ever_left: bool = field(default=False, init=False)
    _counted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self.send = self.log.begin(self.exit, self.method, self.target)
        self.send.left = self.opaque
        self.send.in_flight = True
        self.send.request = self.request
        self._opened = self._begun = self._gone = self._counted = False

    def _again(self) -> None:
        self.send.in_flight = False
        self._start()

    # ------------------------------------------------------------------------------- what is seen

    def opening(self) -> None:
        """A connection is about to be opened.

        :raises PastDeadline: it is too late to begin.
        """
        self.gate()
        if self._opened or self._gone:
            self._again()
        self._opened = True

    def beginning(self) -> None:
        """A request line is about to be put together.

        :raises PastDeadline: it is too late to begin.
        """
        self.gate()
        if self._begun:
            self._again()
        self._begun = True

    def leaving(self) -> None:
        """Bytes of the request are about to be written to an open connection.

        :raises PastDeadline: it is too late, and nothing of this send has left.
        """
        if not self._gone:
            self.gate()
            self._gone = self._ever_left = True
            self.send.left = True

    def assume_left(self) -> None:
        """The hooks cannot see what happens to this send."""
        self.send.left = True

    def refused(self) -> None:
        """The protocol says that this send was not processed, and the stream had no answer."""
        if self.send.http_status is None and not self.opaque:
            self.send.refused_unprocessed = True

    def answered(self, http_status: int, header: Callable[[str], str | None]) -> None:
        """A whole response head has arrived."""
        send = self.send
        # Whatever the hooks saw of its going: an answer proves that something went.
        send.left = True
        send.http_status = http_status
        send.retry_after = _clipped(header("retry-after"))
        found = (header(name) for name in REQUEST_ID_HEADERS)
        send.request_id = _clipped(next((value for value in found if value), None))

    def head_cut(self) -> None:
        """The connection ended inside the response head, so it says nothing (RFC 9112, 8)."""
        self.send.left = True
        self.send.complete = False

    def body_ended(self, whole: bool | None) -> None:
        """The caller has read the body to its end (True, or None: not provable), or it broke."""
        if self.send.complete is None:
            self.send.complete = whole

    def landed(self) -> None:
        """The client has come back, with an answer or an error."""
        self.send.in_flight = False
        self.handed_over = True

    # -------------------------------------------------------------------------------- the deadline

    def past(self) -> bool:
        """Whether the deadline of the attempt has passed."""
        remaining_s = self.log.remaining_s()
        return remaining_s is not None and remaining_s <= 0

    @property
    def connecting(self) -> bool:
        """Nothing of it has left in any of its sends, and a connection was being opened."""
        return self._opened and not self._ever_left

    def gate(self) -> None:
        """Let nothing through after the deadline, and no repeat beyond the budget of sends.

        :raises PastDeadline: it has passed, or is spent.
        """
        if self.past():
            raise PastDeadline
        if not self._counted:
            self._counted = True
            self._count()

    def _count(self) -> None:
        """A client that repeats by itself ends with the budget of its action."""
        may_send = self.log.may_send
        if may_send is None or len(self.log.sends) <= may_send or not self.send.unsafe:
            return
        left = [send for send in self.log.sends if send.left and send.unsafe]
        left = [send for send in left if send is not self.send]
        if len(left) < may_send or not any(same(send.request, self.request) for send in left):
            return
        self.send.held_back = True
        raise PastDeadline(SPENT)

    def cap(self, own_s: float | None) -> float | None:
        """The client's own time limit, or what remains if that is less."""
        remaining_s = self.log.remaining_s()
        return own_s if remaining_s is None else least(own_s, max(remaining_s, SHORTEST_S))


def _clipped(value: str | None) -> str | None:
    return None if value is None else value[:MAX_HEADER_CHARS]
