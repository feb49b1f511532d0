"""What the hooks write down during one attempt."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from time import monotonic

from ascertain.model.outcome import WireTrace

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


@dataclass(slots=True)
class Send:
    """One inner send: a request begun on a watched client.

    :param left: bytes of the request may have been written.
    :param in_flight: the client has not come back from it; what has not left yet may still leave.
    :param complete: the body of the response was read whole (True), ended early (False), or was
        not read, or cannot be known to be whole (None).
    :param refused_unprocessed: the protocol itself guarantees that it was not acted on.
    :param held_back: it was not let go: the budget of sends was spent.
    :param request: the client's own request, by which a repeat is known.
    """

    exit: str
    method: str
    target: str
    left: bool = False
    in_flight: bool = False
    http_status: int | None = None
    complete: bool | None = None
    retry_after: str | None = None
    request_id: str | None = None
    refused_unprocessed: bool = False
    held_back: bool = False
    request: object = None

    @property
    def unsafe(self) -> bool:
        """Whether it may have an effect."""
        return self.method not in SAFE_METHODS


@dataclass(slots=True)
class WireLog:
    """Collects the sends of one attempt.

    :param deadline_at: on the monotonic clock.
    :param may_send: how many sends with an unsafe method the budget has left; None: not bounded.
    """

    deadline_at: float | None = None
    may_send: int | None = None
    sends: list[Send] = field(default_factory=list[Send])

    def begin(self, exit: str, method: str, target: str) -> Send:
        """Note a send before anything of it can leave."""
        send = Send(exit, method.upper(), target)
        self.sends.append(send)
        return send

    def remaining_s(self) -> float | None:
        """Seconds until the attempt's own deadline; None: none set."""
        return None if self.deadline_at is None else self.deadline_at - monotonic()

    def trace(self) -> WireTrace:
        """The log as the rules read it. A send still in flight counts as one that left."""
        sends = [send for send in self.sends if not send.held_back]
        if not sends:
            return WireTrace()
        last = sends[-1]
        unsafe = [send for send in sends if send.unsafe]
        return WireTrace(
            sends=len(sends),
            unsafe_sends=len(unsafe),
            left=any(
                (send.left or send.in_flight) and not send.refused_unprocessed for send in sends
            ),
            answered=last.http_status is not None,
            http_status=last.http_status,
            complete=last.complete,
            unsafe=bool(unsafe),
            targets=tuple(dict.fromkeys(f"{send.method} {send.target}" for send in unsafe)),
            exits=frozenset(send.exit for send in sends),
            retry_after=last.retry_after,
            request_id=last.request_id,
        )


current_log: ContextVar[WireLog | None] = ContextVar("ascertain_wire_log", default=None)
