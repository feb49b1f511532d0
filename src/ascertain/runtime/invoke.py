"""Run bodies and look-ups, and bring back the raw news."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextvars import Token
from time import monotonic
from typing import Any, NamedTuple, TypeGuard

from ascertain.errors import LookupAnswer
from ascertain.model.action import ActionRecord
from ascertain.model.outcome import Report
from ascertain.model.words import Accepted, Found, FoundItems, Items, LookupSays, NotSent, Receipt
from ascertain.rules.identity import Scope
from ascertain.rules.mac import Mac
from ascertain.rules.news.items import completed, item_facts
from ascertain.runtime.attempt import Attempt, running
from ascertain.runtime.layers import tell_resent
from ascertain.runtime.registry import Entry
from ascertain.wire.log import WireLog, current_log

log = logging.getLogger("ascertain")


class Asked(NamedTuple):
    """The action as a look-up (or a permission check) sees it."""

    id: str
    tool: str
    key: str
    principal: str
    tenant: str
    session: str
    attempt: int
    arguments: dict[str, Any]
    provider_ref: str | None
    related_ref: str | None
    handle: str | None
    first_sent_at: float | None
    last_possible_at: float | None


class Opening(NamedTuple):
    """An invocation about to happen. ``items``: the keys of a batch's items."""

    attempt: Attempt | None
    log: WireLog
    started_at: float
    items: tuple[str, ...] = ()


def open_attempt(entry: Entry, record: ActionRecord, deadline_s: float, mac: Mac) -> Opening:
    """What the body may see of its attempt, and the log that the watched clients write."""
    now = monotonic()
    deadline_at = now + deadline_s
    attempt = Attempt(record, entry.contract, mac, deadline_at)
    if deadline_s == float("inf"):
        return Opening(attempt, WireLog(), now)  # observed: nothing is held back
    may_send = max(1, entry.contract.budget.sends - record.sends)
    return Opening(attempt, WireLog(deadline_at, may_send), now)


def lease_covers(record: ActionRecord, deadline_s: float, now: float) -> bool:
    """Whether a send that begins now ends under its lease; checked just before it leaves."""
    if record.lease_until is None or deadline_s == float("inf"):
        return True
    return now + deadline_s <= record.lease_until


def open_lookup(deadline_s: float) -> Opening:
    """A look-up is watched and bounded too, but it is no attempt."""
    now = monotonic()
    return Opening(None, WireLog(now + deadline_s), now)


class Entered:
    """Context variables of one invocation, set while a sync body runs in this thread."""

    __slots__ = ("_log", "_running")

    def __init__(self, opening: Opening) -> None:
        self._running: Token[Attempt | None] = running.set(opening.attempt)
        self._log: Token[WireLog | None] = current_log.set(opening.log)

    def leave(self) -> None:
        current_log.reset(self._log)
        running.reset(self._running)


def enter(opening: Opening) -> None:
    """Set the context variables for good (in a context of its own)."""
    running.set(opening.attempt)
    current_log.set(opening.log)


def asked_of(record: ActionRecord, arguments: dict[str, Any]) -> Asked:
    return Asked(
        id=record.id, tool=record.tool, key=record.key, principal=record.principal,
        tenant=record.tenant, session=record.session, attempt=record.attempt, arguments=arguments,
        provider_ref=record.provider_ref, related_ref=record.related_ref, handle=record.handle,
        first_sent_at=record.first_sent_at, last_possible_at=record.last_possible_at,
    )  # fmt: skip


def asked_in(entry: Entry, scope: Scope, values: dict[str, Any]) -> Asked:
    """A call that is no action yet, as a check sees it."""
    return Asked(
        id="", tool=entry.name, key="", principal=scope.principal, tenant=scope.tenant,
        session=scope.session, attempt=0, arguments=values, provider_ref=None,
        related_ref=None, handle=None, first_sent_at=None, last_possible_at=None,
    )  # fmt: skip


def drained(value: Any) -> Any:
    """A write that streams has happened only once it is read to its end."""
    return list(value) if _is_stream(value) else value


def _is_stream(value: Any) -> TypeGuard[Iterator[Any]]:
    return isinstance(value, Iterator)


def report(
    entry: Entry,
    opening: Opening,
    *,
    value: Any = None,
    error: BaseException | None = None,
    interrupt: BaseException | None = None,
    live: bool = False,
) -> Report:
    """The raw news, with the value as the ledger will keep it."""
    took_s = monotonic() - opening.started_at
    if isinstance(value, Items | FoundItems) and opening.items:
        value = completed(value, opening.items)
    attempt = opening.attempt
    text = None if error is not None or live else _stored(entry, value)
    log = opening.log
    if attempt is not None and len(log.sends) > 1:
        tell_resent(entry, attempt.action_id, attempt.number, log)
    return Report(
        value=value,
        error=error,
        trace=log.trace() if log.sends else (EMPTY_TRACE if entry.contract.via else None),
        steps=tuple(attempt.steps) if attempt is not None else (),
        result=text,
        took_s=took_s,
        interrupt=interrupt,
        live=live,
    )


def not_begun(interrupt: BaseException) -> Report:
    """The news of a body that was not begun, for its caller was interrupted before: nothing left,
    and nobody was asked.
    """
    return Report(error=NotSent("interrupted", retryable=False), interrupt=interrupt)


def answered(entry: Entry, news: Report) -> Report:
    """The news of a look-up; a foreign answer is a defect, told to the operator, and no answer."""
    if news.error is None and not news.live and not isinstance(news.value, LookupSays):
        defect = LookupAnswer(
            f"The look-up of {entry.name} returned {type(news.value).__name__}, which is no answer."
        )
        log.error("%s", defect)
    return news


def _stored(entry: Entry, value: Any) -> str | None:
    """JSON of the value. What cannot be stored is no reason to doubt that it happened."""
    if isinstance(value, (Receipt, Found)):
        if value.value is None:
            return None
        value = value.value
    elif isinstance(value, Accepted):
        return None
    elif isinstance(value, Items | FoundItems):
        value = {"items": item_facts(value)}
    try:
        return entry.codec.encode(value)
    except Exception:  # whatever a value's own encoder raises: confirmed, result unavailable
        return None


EMPTY_TRACE = WireLog().trace()

__all__ = [
    "Asked", "Entered", "Opening", "asked_of", "drained", "enter", "open_attempt",
    "open_lookup", "report",
]  # fmt: skip
