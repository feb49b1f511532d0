"""What a session remembers, as its owner sees it and as the application adds to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ascertain.errors import ContextTooLarge, ContractError, ForeignSession, SessionExpired
from ascertain.model.session import (
    Kept,
    KeyState,
    Memory,
    Remembered,
    SessionRecord,
    SessionState,
)
from ascertain.model.tables import State
from ascertain.rules.context import TOO_LARGE
from ascertain.rules.gate import KeyFacts, key_state, session_state
from ascertain.rules.identity import Scope
from ascertain.store.ids import new_id
from ascertain.values.canonical import canonical_native

if TYPE_CHECKING:
    from ascertain.runtime.hands import Hands

_read = json.JSONDecoder().decode


class Known(NamedTuple):
    """One key of a session.

    :param value: None where there is none (``state`` and ``why`` say more).
    :param writer: the action that wrote it; empty: the application did.
    """

    state: KeyState
    value: Any = None
    version: int = 0
    writer: str = ""
    chain: str = ""
    at: float | None = None
    why: str = ""


class SessionMemory:
    """Reads and writes what sessions remember. Nothing here is sent anywhere."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands

    def known(self, scope: Scope) -> dict[str, Known]:
        """Every key of which anything is known, with its state.

        :raises ForeignSession: the session is another principal's.
        """
        memory = self._memory(scope)
        active = self._hands.contexts.readiness.all_active((scope.tenant, scope.session))
        return known_keys(memory, active)

    def state(self, scope: Scope) -> SessionState:
        """The projection of the states of its keys."""
        return session_state([known.state for known in self.known(scope).values()])

    def shown(self, scope: Scope) -> list[Remembered]:
        """Every value that is kept, oldest first."""
        self._memory(scope)
        return self._hands.contexts.store.history(scope.tenant, scope.session)

    def remember(self, scope: Scope, values: Mapping[str, Any]) -> None:
        """Write what the application itself knows; all or nothing."""
        contexts = self._hands.contexts
        strangers = sorted(set(values) - contexts.session_keys)
        if strangers:
            raise ContractError(
                f"{', '.join(strangers)}: not among the app's session_keys.",
                next_step="Declare them: Ascertain(..., session_keys=[...]).",
            )
        kept = [Kept(key, canonical_native(value)) for key, value in values.items()]
        now = self._hands.clock()
        why = self._hands.contexts.store.say(
            self._record(scope, now), kept, now=now, limit_bytes=self._hands.context_limit_bytes
        )
        if why == TOO_LARGE:
            most = self._hands.context_limit_bytes
            raise ContextTooLarge(f"The session {scope.session!r} may remember {most} bytes.")
        _refuse(scope, why)

    def renew(self, scope: Scope) -> None:
        """Begin the session anew."""
        now = self._hands.clock()
        contexts = self._hands.contexts.store
        if self._memory(scope).session is not None and not contexts.renew(
            self._record(scope, now), now=now
        ):
            _refuse(scope, "foreign_session")

    def _record(self, scope: Scope, now: float) -> SessionRecord:
        """The session as it would be if it were made now."""
        until = now + self._hands.contexts.ttl_s
        return SessionRecord(
            scope.tenant, scope.session, scope.principal, 0, new_id(), now, now, until
        )

    def _memory(self, scope: Scope) -> Memory:
        memory = self._hands.contexts.store.memory(scope.tenant, scope.session)
        if memory.session is not None and memory.session.principal != scope.principal:
            _refuse(scope, "foreign_session")
        return memory


def known_keys(memory: Memory, active: Mapping[str, tuple[int, int]]) -> dict[str, Known]:
    """Every key of which anything is known.

    :param active: how many calls that provide it run in this process, and how many of them have
        their answer in hand.
    """
    values = {value.key: value for value in memory.values}
    pledges = [pledge.key for pledge in memory.pledges]
    keys = dict.fromkeys((*values, *pledges, *active))
    return {key: _known(key, values.get(key), memory, active.get(key, (0, 0))) for key in keys}


def _known(key: str, value: Remembered | None, memory: Memory, active: tuple[int, int]) -> Known:
    version = value.version if value is not None else 0
    pledges = [one for one in memory.pledges if one.key == key and one.base >= version]
    usable = value is not None and value.value is not None and not value.reversed
    state = key_state(
        KeyFacts(
            executing=active[0] + sum(one.state is not State.UNKNOWN for one in pledges),
            pending=active[1],
            doubted=sum(one.state is State.UNKNOWN for one in pledges),
            has_value=usable,
        )
    )
    if value is None:
        return Known(state)
    why = "reversed" if value.reversed else value.why
    shown = _read(value.value) if usable and value.value is not None else None
    return Known(state, shown, version, value.writer, value.chain, value.at, why)


def _refuse(scope: Scope, why: str) -> None:
    if why == "foreign_session":
        raise ForeignSession(f"The session {scope.session!r} belongs to another principal.")
    if why == "session_expired":
        raise SessionExpired(f"The session {scope.session!r} has ended.")
