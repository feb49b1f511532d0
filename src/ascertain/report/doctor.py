"""What a doctor looks at: the ledger's file, its secret, what is open in it, and the app."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check.

    :param name: a stable id. :param next_step: empty where all is well.
    """

    name: str
    verdict: Verdict
    sentence: str
    next_step: str = ""

    def as_dict(self) -> dict[str, Any]:
        values = asdict(self)
        values["next"] = values.pop("next_step")
        return values


def ok(name: str, sentence: str) -> Check:
    return Check(name=name, verdict=Verdict.OK, sentence=sentence)


def warn(name: str, sentence: str, next_step: str) -> Check:
    return Check(name=name, verdict=Verdict.WARN, sentence=sentence, next_step=next_step)


def bad(name: str, sentence: str, next_step: str) -> Check:
    return Check(name=name, verdict=Verdict.BAD, sentence=sentence, next_step=next_step)
