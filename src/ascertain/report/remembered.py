"""What a session remembers, key by key: how it stands, at which version, how old, by whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ascertain.model.session import Memory, SessionState
from ascertain.report.reading import contract_of
from ascertain.report.shown import shown
from ascertain.report.words import iso
from ascertain.rules.gate import session_state
from ascertain.rules.texts import MASK
from ascertain.runtime.memory import Known, known_keys
from ascertain.store.ledger import Ledger

APPLICATION = "the application"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key. ``known.value`` is masked as the contract of its writer says.

    :param tool: of the action that wrote it; empty where nothing is written yet.
    """

    name: str
    known: Known
    tool: str
    now: float

    @property
    def age_s(self) -> float | None:
        """How long ago it was written."""
        return None if self.known.at is None else max(0.0, self.now - self.known.at)

    @property
    def has_value(self) -> bool:
        return self.known.version > 0 and not self.known.why

    @property
    def writer(self) -> str:
        """Who wrote it, in words; empty: nobody yet."""
        if self.known.version == 0:
            return ""
        return self.tool or self.known.writer or APPLICATION

    def as_dict(self, *, values: bool) -> dict[str, Any]:
        """For machines; ``values`` adds what is remembered."""
        known = self.known
        told: dict[str, Any] = {
            "key": self.name,
            "state": str(known.state),
            "version": known.version or None,
            "written_at": known.at,
            "written_at_utc": iso(known.at),
            "age_s": self.age_s,
            "tool": self.tool or None,
            "action": known.writer or None,
            "chain": known.chain or None,
            "why": known.why or None,
        }
        return {**told, "value": known.value} if values else told


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What one session remembers.

    :param state: as the ledger tells it; what runs in a process and is not in the ledger yet (a
        read) only that process knows.
    """

    tenant: str
    state: SessionState
    version: int
    expires_at: float
    keys: tuple[Key, ...]
    now: float

    @property
    def ended(self) -> bool:
        return self.expires_at <= self.now

    def as_dict(self, *, values: bool) -> dict[str, Any]:
        return {
            "tenant": self.tenant,
            "state": str(self.state),
            "version": self.version,
            "expires_at": self.expires_at,
            "expires_at_utc": iso(self.expires_at),
            "ended": self.ended,
            "keys": [key.as_dict(values=values) for key in self.keys],
        }


def context_of(ledger: Ledger, tenant: str, session: str, now: float) -> Context | None:
    """Read it; None: the session has nothing to remember."""
    memory = ledger.contexts.memory(tenant, session)
    if memory.session is None:
        return None
    known = known_keys(memory, {})
    return Context(
        tenant=tenant,
        state=session_state([one.state for one in known.values()]),
        version=memory.session.version,
        expires_at=memory.session.expires_at,
        keys=tuple(_key(ledger, memory, name, known[name], now) for name in sorted(known)),
        now=now,
    )


def _key(ledger: Ledger, memory: Memory, name: str, known: Known, now: float) -> Key:
    tool = next((value.tool for value in memory.values if value.key == name), "")
    masked = known._replace(value=_masked(ledger, name, known))
    return Key(name=name, known=masked, tool=tool, now=now)


def _masked(ledger: Ledger, name: str, known: Known) -> Any:
    """What the application says is its own; what a tool brought is masked as its contract says."""
    if known.value is None or not known.writer:
        return known.value
    record = ledger.get(known.writer)
    if record is None:
        return MASK
    contract = contract_of(ledger, record)
    path = "" if contract is None else contract.provides.get(name, "")
    return shown(ledger, record, contract).cover_value(name, path, known.value)
