"""What a session's context asks of, and adds to, the transaction of an action."""

from __future__ import annotations

import json

from ascertain.model.action import ActionRecord
from ascertain.model.session import Kept, Needs, Provides, Remembered, StillNeeds
from ascertain.rules.context import TOO_LARGE
from ascertain.store.access import Run

FOREIGN, EXPIRED, STALE = "foreign_session", "session_expired", "stale_context"
KEPT_VERSIONS = 16
"""So many of a key's older values are kept at least, and at most twice as many."""


class NeedsRoom:
    """The session is the principal's own and alive, and nothing that was read has changed."""

    def blocks(self, run: Run, record: ActionRecord, needs: Needs) -> str:
        """Why the action must not be stored: ``foreign_session``, ``session_expired``, or
        ``stale_context``.
        """
        if needs.read:
            return _stale(run, record, needs.read, needs.now)
        rows = run("session_of", record.tenant, record.session)
        if not rows and not needs.opens:
            return STALE  # it was there when the gate looked
        for _, _, principal, _, _, _, _, expires_at in rows:
            return _ended(record, principal, expires_at, needs.now)
        return ""

    def write(self, run: Run, record: ActionRecord, needs: Needs) -> None:
        """The session is there from now on, and says which keys the action will bring."""
        tenant, session = record.tenant, record.session
        if needs.opens:
            run(
                "open_session", tenant, session, record.principal, needs.epoch, needs.now,
                needs.expires_at,
            )  # fmt: skip
        for key in needs.pledges:
            run("put_pledge", tenant, session, key, record.id)


class StillNeedsRoom:
    """The same for a first send that comes late: what was read stands in the first event."""

    def blocks(self, run: Run, record: ActionRecord, needs: StillNeeds) -> str:
        """``stale_context`` where something has changed, ``session_expired`` after its end."""
        read: dict[str, int] = {}
        for (detail,) in run("first_detail", record.id):
            read = json.loads(detail).get("context", {})
        if read:
            return _stale(run, record, tuple(read.items()), needs.now)
        for *_, expires_at in run("session_of", record.tenant, record.session):
            return _ended(record, record.principal, expires_at, needs.now)
        return ""

    def write(self, run: Run, record: ActionRecord, needs: StillNeeds) -> None:
        """There is nothing to write."""


class ProvidesRoom:
    """The values that an outcome brings. Never a reason not to write the outcome."""

    def blocks(self, run: Run, record: ActionRecord, brought: Provides) -> str:
        """Never."""
        return ""

    def write(self, run: Run, record: ActionRecord, brought: Provides) -> tuple[Remembered, ...]:
        """Each value at the next version; one that comes late is kept and does not count.

        Late is a value whose provider had been asked before a newer one was written. Tells what was
        written: nothing where nobody opened the session, for it was only observed.
        """
        tenant, session = record.tenant, record.session
        bases = [_base(run, record, brought, kept.key) for kept in brought.values]
        sizes = [bytes_of(kept.value) for kept in brought.values]
        counted = run("next_version", tenant, session, len(bases), sum(sizes))
        if not counted:
            return ()
        ((version, held),) = counted
        version -= len(bases)
        full = held > brought.limit_bytes  # perhaps: what was overwritten is among it
        written: list[Remembered] = []
        for kept, base in zip(brought.values, bases, strict=True):
            version += 1
            key, value, why = _that_fits(run, record, brought, kept) if full else kept
            size = bytes_of(value)
            ((late, older),) = run(
                "put_context", tenant, session, key, version, value, why, record.id,
                record.chain, base, brought.began_at, brought.now, size,
            )  # fmt: skip
            if older >= 2 * KEPT_VERSIONS:  # many at once: most writes then delete nothing
                run("forget_context", tenant, session, key, KEPT_VERSIONS)
            written.append(Remembered(
                key, version, value, why, record.id, record.chain, late, brought.began_at,
                brought.now, 0, record.tool,
            ))  # fmt: skip
        if full:
            run("session_holds", tenant, session)
        return tuple(written)


def bytes_of(value: str | None) -> int:
    """How much of what a session may remember a value takes."""
    return 0 if value is None else len(value.encode())


def _that_fits(run: Run, record: ActionRecord, brought: Provides, kept: Kept) -> Kept:
    """The value, or why there is none, beside what the session remembers of other keys."""
    if kept.value is None:
        return kept
    ((others,),) = run("context_bytes", record.tenant, record.session, kept.key)
    fits = others + bytes_of(kept.value) <= brought.limit_bytes
    return kept if fits else Kept(kept.key, None, TOO_LARGE)


def _base(run: Run, record: ActionRecord, brought: Provides, key: str) -> int:
    """The session's version when the provider of a key was asked; its pledge is fulfilled."""
    if brought.base is not None:
        return brought.base
    pledged = run("drop_pledge", record.tenant, record.session, key, record.id)
    return int(pledged[0][0]) if pledged else 0


def _stale(run: Run, record: ActionRecord, read: tuple[tuple[str, int], ...], now: float) -> str:
    """Whether a key has another version now, its value was taken back, an open action will bring
    another, or the session is not what it was.
    """
    for key, version in read:
        rows = run("context_stand", record.tenant, record.session, key, version, record.id)
        for principal, expires_at, *stand in rows:
            ended = _ended(record, principal, expires_at, now)
            if ended:
                return ended
            if stand != [version, 0, 0]:
                return STALE
        if not rows:
            return STALE
    return ""


def _ended(record: ActionRecord, principal: str, expires_at: float, now: float) -> str:
    if principal != record.principal:
        return FOREIGN
    return EXPIRED if expires_at <= now else ""
