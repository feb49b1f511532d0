"""What a session's context asks of, and adds to, the transaction of an action."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ascertain.model.action import ActionRecord
from ascertain.model.session import Needs, Provides, StillNeeds
from ascertain.rules.context import TOO_LARGE

if TYPE_CHECKING:
    from ascertain.store.beside import Run

FOREIGN, EXPIRED, STALE = "foreign_session", "session_expired", "stale_context"
KEPT_VERSIONS = 16


class NeedsRoom:
    """The session is the principal's own and alive, and nothing that was read has changed."""

    def blocks(self, run: Run, record: ActionRecord, needs: Needs) -> str:
        """Why the action must not be stored: ``foreign_session``, ``session_expired``, or
        ``stale_context``.
        """
        for _, _, principal, _, _, _, _, expires_at in run(
            "session_of", record.tenant, record.session
        ):
            if principal != record.principal:
                return FOREIGN
            if expires_at <= needs.now:
                return EXPIRED
        return _changed(run, record, needs.read)

    def write(self, run: Run, record: ActionRecord, needs: Needs) -> None:
        """The session is there from now on, and says which keys the action will bring."""
        tenant, session = record.tenant, record.session
        run(
            "open_session", tenant, session, record.principal, needs.epoch, needs.now,
            needs.expires_at,
        )  # fmt: skip
        if needs.pledges:
            ((_, _, _, version, *_),) = run("session_of", tenant, session)
            for key in needs.pledges:
                run("put_pledge", tenant, session, key, record.id, version)


class StillNeedsRoom:
    """The same for a first send that comes late: what was read stands in the first event."""

    def blocks(self, run: Run, record: ActionRecord, needs: StillNeeds) -> str:
        """``stale_context`` where something has changed, ``session_expired`` after its end."""
        for *_, expires_at in run("session_of", record.tenant, record.session):
            if expires_at <= needs.now:
                return EXPIRED
        for (detail,) in run("first_detail", record.id):
            read: dict[str, int] = json.loads(detail).get("context", {})
            return _changed(run, record, tuple(read.items()))
        return ""

    def write(self, run: Run, record: ActionRecord, needs: StillNeeds) -> None:
        """There is nothing to write."""


class ProvidesRoom:
    """The values that an outcome brings. Never a reason not to write the outcome."""

    def blocks(self, run: Run, record: ActionRecord, brought: Provides) -> str:
        """Never."""
        return ""

    def write(self, run: Run, record: ActionRecord, brought: Provides) -> None:
        """Each value at the next version; one that comes late is kept and does not count.

        Late is a value whose provider had been asked before a newer one was written.
        """
        tenant, session = record.tenant, record.session
        for kept in brought.values:
            base = brought.base
            if base is None:
                pledges = run("pledge_base", tenant, session, kept.key, record.id)
                base = pledges[0][0] if pledges else 0
            run("drop_pledges", tenant, session, kept.key, record.id)
            ((current,),) = run("context_version", tenant, session, kept.key)
            counted = run("next_version", tenant, session)
            if not counted:
                continue  # nobody opened the session: it was only observed
            ((version,),) = counted
            value, why = kept.value, kept.why
            if value is not None:
                ((others,),) = run("context_bytes", tenant, session, kept.key)
                if others + len(value.encode()) > brought.limit_bytes:
                    value, why = None, TOO_LARGE
            late = int(current > base)
            run(
                "put_context", tenant, session, kept.key, version, value, why, record.id,
                record.chain, late, brought.began_at, brought.now, len((value or "").encode()),
            )  # fmt: skip
            _prune(run, tenant, session, kept.key, current if late else version)


def _changed(run: Run, record: ActionRecord, read: tuple[tuple[str, int], ...]) -> str:
    """Whether a key has another version now, or an open action that will bring one."""
    if not read:
        return ""
    tenant, session = record.tenant, record.session
    for key, version in read:
        ((current,),) = run("context_version", tenant, session, key)
        if current != version:
            return STALE
    seen = dict(read)
    for key, action_id, base, _, _ in run("pledges_of", tenant, session):
        if key in seen and base >= seen[key] and action_id != record.id:
            return STALE
    return ""


def _prune(run: Run, tenant: str, session: str, key: str, current: int) -> None:
    """Keep the newest values, and the current one whatever its age."""
    old: list[tuple[Any, ...]] = run("kept_version", tenant, session, key, KEPT_VERSIONS)
    if old:
        run("forget_context", tenant, session, key, old[0][0], current)
