"""What a tool's body and a look-up may say in so many words.

A body *returns* its value, a :class:`Receipt` or :class:`Accepted`; it *raises* :class:`NotSent` or
:class:`Refused` when it knows. A look-up *returns* :class:`Found`, :data:`Absent`,
:class:`Refused` or :class:`Processing`; when it raises, there was no answer. ``None`` is never an
answer: a search that broke is not absence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, final

from ascertain.model.record import Record


class NotSent(Exception):
    """Raised by a body that knows that nothing of this attempt left the process."""

    def __init__(self, reason: str = "not_sent", *, retryable: bool = True) -> None:
        self.reason = reason
        self.retryable = retryable
        super().__init__(reason)


class Refused(Exception):
    """The provider refused for good reason.

    Raised by a body, or returned by a look-up whose provider keeps refusals.

    :param code: the provider's own code, for machines (``OPEN_TICKET_EXISTS``).
    :param kind: ``business``, ``invalid``, ``auth``, ``throttled``, ``already_exists``,
        ``in_progress`` or ``key_reuse``; what the code means.
    :param retryable: whether the same call may be made again later.
    :param related_ref: the reference of an existing record that the refusal speaks of.
    :param retry_after_s: the provider's advice, in seconds.
    """

    def __init__(
        self,
        code: str,
        *,
        kind: str = "business",
        retryable: bool = False,
        related_ref: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        self.code = code
        self.kind = kind
        self.retryable = retryable
        self.related_ref = related_ref
        self.retry_after_s = retry_after_s
        super().__init__(code)


@final
class Receipt(Record, kw_only=False):
    """A body's answer that names the provider's reference apart from the value."""

    ref: str
    value: Any = None


@final
class Accepted(Record, kw_only=False):
    """Accepted and still working: a job handle, and when to ask again (seconds)."""

    handle: str
    ask_after_s: float = 5.0


@final
class Items(Record, kw_only=False):
    """A body's answer for a batch: what became of each item, by the item's key.

    ``Items({"A1": Receipt("T1"), "A2": Refused("CLOSED"), "A3": Accepted("job-7")})``. An item that
    is left out, or None, has no answer.
    """

    told: Mapping[str, Receipt | Refused | Accepted | None]


@final
class Found(Record, kw_only=False):
    """The look-up found the effect: its reference, and the value if the record holds it.

    ``count`` is how many records carry our key; more than one is a duplicate, and is reported.
    ``refs`` are the references of all that fit, for a look-up by fields: those that are known to be
    other actions' are then told apart exactly.
    """

    ref: str
    value: Any = None
    count: int = 1
    refs: Sequence[str] = ()


@final
class Processing(Record, kw_only=False):
    """The provider knows the key and is still working on it; ask again in ``ask_after_s``."""

    ask_after_s: float = 5.0


@final
class AbsentType:
    """The provider said that it has no record of the key."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Absent"


Absent: Final = AbsentType()


@final
class Undone(Record, kw_only=False):
    """What a compensation is told of the action that it reverses.

    :param key: the idempotency key that the original was sent with.
    :param provider_ref: the provider's reference; None where it is not known that it happened.
    :param arguments: as they were stored with the original.
    """

    action_id: str
    tool: str
    key: str
    provider_ref: str | None
    arguments: dict[str, Any]


@final
class FoundItems(Record, kw_only=False):
    """The look-up's answer for a batch: what the provider has of each item, by the item's key."""

    told: Mapping[str, Found | AbsentType | Refused | Processing | None]


LookupSays = Found | FoundItems | AbsentType | Refused | Processing
