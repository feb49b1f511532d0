"""Permission, consent and preconditions: before a call, and again before any late send."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeGuard

from ascertain.model.action import ActionRecord
from ascertain.model.outcome import Kind
from ascertain.runtime.hands import log
from ascertain.runtime.invoke import Asked, asked_of
from ascertain.runtime.registry import Entry
from ascertain.runtime.scope import Session

Denied = tuple[Kind, str]


def denied(entry: Entry, session: Session, asked: Asked) -> Denied | None:
    """Why a call must not be sent, or None. A check that raises denies.

    The outcome is recorded with the action; nothing is sent.
    """
    if entry.consent is not None and entry.consent not in session.consents:
        return Kind.AUTH, "consent"
    if entry.permission is not None and entry.permission(asked) is not True:
        return Kind.AUTH, "permission"
    for name, holds in entry.preconditions.items():
        if holds(asked) is not True:
            return Kind.BUSINESS, f"precondition: {name}"
    return None


async def denied_async(entry: Entry, session: Session, asked: Asked) -> Denied | None:
    """The same, for checks that may be coroutines."""
    if entry.consent is not None and entry.consent not in session.consents:
        return Kind.AUTH, "consent"
    if entry.permission is not None and await _awaited(entry.permission(asked)) is not True:
        return Kind.AUTH, "permission"
    for name, holds in entry.preconditions.items():
        if await _awaited(holds(asked)) is not True:
            return Kind.BUSINESS, f"precondition: {name}"
    return None


def permitted(entry: Entry, record: ActionRecord, arguments: dict[str, Any]) -> str:
    """Whether a late send is still permitted: yes, no, or unknown when it cannot be checked."""
    asked = asked_of(record, arguments)
    try:
        return _verdict(_checks(entry, asked))
    except Exception:
        log.exception("%s: permission could not be checked for action %s", entry.name, record.id)
        return "unknown"


async def permitted_async(entry: Entry, record: ActionRecord, arguments: dict[str, Any]) -> str:
    """The same, for checks that may be coroutines."""
    asked = asked_of(record, arguments)
    try:
        return _verdict([await _awaited(value) for value in _checks(entry, asked)])
    except Exception:
        log.exception("%s: permission could not be checked for action %s", entry.name, record.id)
        return "unknown"


def related(entry: Entry, asked: Asked) -> bool:
    """Whether a record that a refusal names is the caller's; unchecked counts as not."""
    if entry.related is None:
        return False
    try:
        return entry.related(asked) is True
    except Exception:
        log.exception("%s: the related record could not be checked", entry.name)
        return False


async def related_async(entry: Entry, asked: Asked) -> bool:
    """The same, for a check that may be a coroutine."""
    if entry.related is None:
        return False
    try:
        return await _awaited(entry.related(asked)) is True
    except Exception:
        log.exception("%s: the related record could not be checked", entry.name)
        return False


def _checks(entry: Entry, asked: Asked) -> list[Any]:
    checks = [] if entry.permission is None else [entry.permission]
    return [check(asked) for check in (*checks, *entry.preconditions.values())]


def _verdict(values: list[Any]) -> str:
    return "yes" if all(value is True for value in values) else "no"


async def _awaited(value: Any) -> Any:
    return await value if _is_awaitable(value) else value


def _is_awaitable(value: Any) -> TypeGuard[Awaitable[Any]]:
    return isinstance(value, Awaitable)
