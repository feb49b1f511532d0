"""Permission, consent and preconditions: before a call, and again before any late send."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeGuard

from ascertain.model.action import ActionRecord
from ascertain.model.outcome import Kind
from ascertain.runtime.hands import log
from ascertain.runtime.invoke import Asked, asked_of
from ascertain.runtime.registry import Check, Entry
from ascertain.runtime.scope import Opened

Denied = tuple[Kind, str]


def denied(entry: Entry, session: Opened, asked: Asked) -> Denied | None:
    """Why a call must not be sent, or None.

    The outcome is recorded with the action; nothing is sent. A check that raises has not allowed
    it either: the call is withdrawn, and free to be made again.
    """
    if entry.consent is not None and entry.consent not in session.consents:
        return Kind.AUTH, "consent"
    for kind, reason, check in _named(entry):
        try:
            allowed = check(asked) is True
        except Exception:
            return _unchecked(entry, reason)
        if not allowed:
            return kind, reason
    return None


async def denied_async(entry: Entry, session: Opened, asked: Asked) -> Denied | None:
    """The same, for checks that may be coroutines."""
    if entry.consent is not None and entry.consent not in session.consents:
        return Kind.AUTH, "consent"
    for kind, reason, check in _named(entry):
        try:
            allowed = await _awaited(check(asked)) is True
        except Exception:
            return _unchecked(entry, reason)
        if not allowed:
            return kind, reason
    return None


def _named(entry: Entry) -> list[tuple[Kind, str, Check]]:
    """The checks in their order, with what a "no" means."""
    permission = [] if entry.permission is None else [(Kind.AUTH, "permission", entry.permission)]
    return permission + [
        (Kind.BUSINESS, f"precondition: {name}", holds)
        for name, holds in entry.preconditions.items()
    ]


def _unchecked(entry: Entry, reason: str) -> Denied:
    log.exception("%s: %s could not be checked, so nothing is sent", entry.name, reason)
    return Kind.WITHDRAWN, "unchecked"


def permitted(entry: Entry, record: ActionRecord, arguments: dict[str, Any]) -> str:
    """Whether a late send is still permitted: yes, no, or unknown when it cannot be checked."""
    if not entry.sendable:
        return "unknown"
    asked = asked_of(record, arguments)
    try:
        return _verdict(_checks(entry, asked))
    except Exception:
        log.exception("%s: permission could not be checked for action %s", entry.name, record.id)
        return "unknown"


async def permitted_async(entry: Entry, record: ActionRecord, arguments: dict[str, Any]) -> str:
    """The same, for checks that may be coroutines."""
    if not entry.sendable:
        return "unknown"
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
    return [check(asked) for _, _, check in _named(entry)]


def _verdict(values: list[Any]) -> str:
    return "yes" if all(value is True for value in values) else "no"


async def _awaited(value: Any) -> Any:
    return await value if _is_awaitable(value) else value


def _is_awaitable(value: Any) -> TypeGuard[Awaitable[Any]]:
    return isinstance(value, Awaitable)
