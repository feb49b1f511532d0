"""Where a call's arguments came from, and what was done before it: from its first event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from ascertain.report.words import span
from ascertain.values.misfit import is_array, is_object

_TOO_OLD = frozenset({"stale", "stale_context", "context_stale", "expired", "context_expired"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """A value of the context that a call read.

    :param parameter: what it was filled into; empty where only the key was written down.
    :param writer: the action or tool that wrote it. :param age_s: how old it was; None: not told.
    """

    key: str
    version: Any
    parameter: str = ""
    writer: str = ""
    age_s: float | None = None

    @property
    def words(self) -> str:
        name = f"{self.parameter} is {self.key}" if self.parameter else self.key
        words = f"{name} version {self.version}"
        words += f" of {self.writer}" if self.writer else ""
        return words if self.age_s is None else f"{words}, {span(self.age_s)} old"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A thing that was done before the call: waited, read, asked, gated again, held.

    :param cause: why; a stable code.
    """

    tier: str
    key: str
    cause: str
    waited_s: float | None = None

    @property
    def too_old(self) -> bool:
        """Whether what the gate had read was not current any more."""
        return self.cause in _TOO_OLD

    @property
    def words(self) -> str:
        waited = "" if self.waited_s is None else f" for {span(self.waited_s)}"
        return f"{f'{self.tier} {self.key}'.strip()}{waited} ({self.cause})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """All of it. ``filled``: the parameters that were not for the caller to fill."""

    used: tuple[Used, ...] = ()
    tiers: tuple[Tier, ...] = ()
    filled: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "used": [asdict(one) for one in self.used],
            "tiers": [asdict(one) for one in self.tiers],
            "filled": list(self.filled),
        }


def provenance_of(detail: Mapping[str, Any]) -> Provenance:
    """Read the detail of a ``prepare`` event; what is not there was not needed."""
    used = _used(detail)
    filled = _texts(detail.get("filled")) or [one.parameter for one in used if one.parameter]
    return Provenance(used=tuple(used), tiers=tuple(_tiers(detail)), filled=tuple(filled))


def _used(detail: Mapping[str, Any]) -> list[Used]:
    """By parameter (``{"order_id": {"key": ...}}``), or by key (``{"order_id": 3}``)."""
    found: Any = detail.get("context")
    writers: Any = detail.get("writers")
    if not is_object(found):
        return []
    used: list[Used] = []
    for name, one in found.items():
        if is_object(one):
            said = cast("dict[str, Any]", one)
            used.append(
                Used(
                    parameter=name,
                    key=str(said.get("key")),
                    version=said.get("version"),
                    writer=str(said.get("from") or ""),
                    age_s=_number(said.get("age_s")),
                )
            )
        else:
            writer = writers.get(name) if is_object(writers) else None
            used.append(Used(key=name, version=one, writer=str(writer or "")))
    return used


def _tiers(detail: Mapping[str, Any]) -> list[Tier]:
    found: list[Tier] = []
    gate: Any = detail.get("gate")
    for one in gate if is_array(gate) else []:
        if is_object(one):
            said = cast("dict[str, Any]", one)
            found.append(
                Tier(
                    tier=str(said.get("tier")),
                    key=str(said.get("key") or ""),
                    cause=str(said.get("cause")),
                    waited_s=_number(said.get("waited_s")),
                )
            )
    steps: Any = detail.get("tiers")
    found += [_step(one) for one in (steps if is_array(steps) else []) if is_array(one) and one]
    held: Any = detail.get("held")
    if is_object(held):
        keys = ", ".join(_texts(held.get("keys")))
        found.append(Tier(tier="hold", key=keys, cause=str(held.get("reason"))))
    return found


def _step(one: Sequence[Any]) -> Tier:
    """``["wait", key, ms]``, ``["read", key, tool, answer]`` or ``["again", cause]``."""
    match one:
        case ["wait", key, int() | float() as waited_ms]:
            return Tier(tier="wait", key=str(key), cause="pending", waited_s=waited_ms / 1000)
        case ["read", key, tool, *answer]:
            told = " ".join(map(str, (tool, *answer)))
            return Tier(tier="read", key=str(key), cause=told)
        case [tier, cause]:
            return Tier(tier=str(tier), key="", cause=str(cause))
        case _:
            return Tier(tier=str(one[0]), key="", cause=" ".join(map(str, one[1:])))


def _texts(value: Any) -> list[str]:
    return [str(one) for one in value] if is_array(value) else []


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
