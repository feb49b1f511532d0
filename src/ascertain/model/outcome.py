"""What one attempt or one look-up taught us.

An outcome keeps two things apart: what is known of the *effect*, and *advice* about time and about
whom to ask. A 429 with ``Retry-After: 60`` is advice; it says nothing about the effect unless the
contract does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from ascertain.model.record import Record


class Effect(StrEnum):
    """What is known of the effect of one attempt."""

    CONFIRMED = "confirmed"
    REFUSED = "refused"
    NOT_SENT = "not_sent"
    ACCEPTED = "accepted"
    UNKNOWN = "unknown"


class Kind(StrEnum):
    """What a refusal means. The first group is final, the second may be tried again."""

    BUSINESS = "business"
    INVALID = "invalid"
    AUTH = "auth"
    ALREADY_EXISTS = "already_exists"
    KEY_REUSE = "key_reuse"
    TOOL_ERROR = "tool_error"
    ABSENT = "absent"
    WITHDRAWN = "withdrawn"

    THROTTLED = "throttled"
    UNAVAILABLE = "unavailable"
    IN_PROGRESS = "in_progress"


RETRYABLE_KINDS = frozenset({Kind.THROTTLED, Kind.UNAVAILABLE, Kind.IN_PROGRESS})
DUPLICATE_KINDS = frozenset({Kind.ALREADY_EXISTS})


class Evidence(StrEnum):
    """What the look-ups since the last send have shown."""

    NOT_ASKED = "not_asked"
    UNANSWERED = "unanswered"
    ABSENT = "absent"
    ABSENT_UNFENCED = "absent_unfenced"
    ABSENT_FINAL = "absent_final"
    WORKING = "working"
    COUNTED = "counted"


class WireTrace(NamedTuple):
    """What the hooks in the clients saw during one attempt.

    :param sends: requests begun on watched clients, hidden retries and redirects included.
    :param unsafe_sends: those of them with an unsafe method; None: not counted apart.
    :param left: whether any byte of any of them left the process (a CONNECT to a proxy is not one),
        or may still leave: it is False only if that is known of every one of the ``sends``.
    :param answered: whether the last send got a response head.
    :param http_status: of the last response, if there was one.
    :param complete: whether the body of the last response arrived whole (None: not read).
    :param unsafe: whether an unsafe HTTP method was seen.
    :param targets: distinct unsafe (method, host, path) written to.
    :param exits: names of the watched clients, by which ``via=`` is checked.
    :param retry_after: the raw ``Retry-After`` of the last response.
    :param request_id: the provider's own id of the last response, for operators.
    """

    sends: int = 0
    unsafe_sends: int | None = None
    left: bool = False
    answered: bool = False
    http_status: int | None = None
    complete: bool | None = None
    unsafe: bool = False
    targets: tuple[str, ...] = ()
    exits: frozenset[str] = frozenset()
    retry_after: str | None = None
    request_id: str | None = None

    @property
    def writes(self) -> int:
        """How many sends could have had an effect; all of them where that is not known."""
        return self.sends if self.unsafe_sends is None else self.unsafe_sends


class Report(NamedTuple):
    """Raw news of one invocation: what the body returned or raised, and what the wire saw.

    A tuple like :class:`Outcome`: both are made for every call, in a third of the time.

    :param interrupt: the caller was cancelled or interrupted while it waited.
    :param steps: names of the declared steps that the body took.
    :param result: JSON of the value for the ledger; None where it has none.
    :param live: the body was given up but may still be running, and may still send.
    """

    value: Any = None
    error: BaseException | None = None
    trace: WireTrace | None = None
    steps: tuple[str, ...] = ()
    result: str | None = None
    took_s: float = 0.0
    interrupt: BaseException | None = None
    live: bool = False


class Outcome(NamedTuple):
    """One attempt, judged.

    :param reason: a stable code for machines and for ``why`` (``timeout``, ``http_503``).
    :param kind: of a refusal.
    :param code: the provider's own code.
    :param retryable: whether the same call may be made again.
    :param value: what the body returned, for a confirmed outcome.
    :param handle: of an accepted job; ``ask_after_s`` is when to ask for it.
    :param not_now: of a batch that is confirmed, the items that were refused for a while.
    """

    effect: Effect
    reason: str
    kind: Kind | None = None
    code: str | None = None
    retryable: bool = False
    value: Any = None
    provider_ref: str | None = None
    related_ref: str | None = None
    handle: str | None = None
    ask_after_s: float | None = None
    retry_after_s: float | None = None
    http_status: int | None = None
    request_id: str | None = None
    sends: int = 1
    several_effects: bool = False
    not_now: tuple[str, ...] | None = None


class Answer(Record):
    """One look-up, judged. ``evidence`` is None when it found or refused.

    :param partly: of a batch, some items were found and the others refused.
    :param refs: of all records that fit, where the look-up named them.
    """

    found: bool = False
    refused: bool = False
    evidence: Evidence | None = None
    reason: str = ""
    provider_ref: str | None = None
    related_ref: str | None = None
    value: Any = None
    kind: Kind | None = None
    code: str | None = None
    count: int = 1
    ask_after_s: float | None = None
    partly: bool = False
    refs: tuple[str, ...] = ()
