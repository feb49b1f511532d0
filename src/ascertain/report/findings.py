"""What a check finds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """How bad a finding is: ``bad`` can hurt, ``warn`` will cost somebody time, ``info`` is good to
    know and asks for nothing.
    """

    BAD = "bad"
    WARN = "warn"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing found in a declaration or in the code behind it.

    :param rule: a stable id. :param tool: empty where it concerns the whole app.
    """

    rule: str
    severity: Severity
    tool: str
    sentence: str
    next_step: str

    @property
    def counts(self) -> bool:
        """Whether somebody should do something about it."""
        return self.severity is not Severity.INFO

    def as_dict(self) -> dict[str, Any]:
        values = asdict(self)
        values["next"] = values.pop("next_step")
        return values


_ORDER = {severity: place for place, severity in enumerate(Severity)}


def by_weight(findings: list[Finding]) -> list[Finding]:
    """The worst first, tool by tool."""
    return sorted(findings, key=lambda f: (_ORDER[f.severity], f.tool, f.rule, f.sentence))
