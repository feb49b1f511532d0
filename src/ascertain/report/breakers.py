"""Circuit breakers in plain words."""

from __future__ import annotations

from typing import Any

from ascertain.model.breaker import BreakerRecord, Circuit
from ascertain.report.words import ago, iso

WHY: dict[str, str] = {
    "silent": "Too many sends in a row had no definite answer.",
    "defects": "The tool's own code kept breaking after something may have left.",
    "still_silent": "The send that tried it had no definite answer either.",
    "answered": "The provider answered a look-up or a read.",
    "cooled_down": "It has cooled down.",
    "mended": "The send that tried it had a definite answer.",
    "closed_by_person": "A person closed it.",
}


def sentence_of(record: BreakerRecord, now: float) -> str:
    """Why it stands so, and what comes next."""
    why = WHY.get(record.why, f"Reason: {record.why}.")
    by = f" ({record.by})" if record.by else ""
    match record.circuit:
        case Circuit.OPEN if record.cool_at is not None:
            later = "the next answer or send tries it" if record.cool_at <= now else (
                f"it is tried again {ago(record.cool_at, now)}"
            )  # fmt: skip
            return f"{why}{by} Nothing is sent by itself; {later}."
        case Circuit.PROBING:
            return f"{why}{by} One send at a time tries whether it answers."
        case _:
            return f"{why}{by}"


def as_dict(record: BreakerRecord) -> dict[str, Any]:
    """The breaker as plain JSON."""
    return {
        **record._asdict(),
        "circuit": str(record.circuit),
        "sentence": WHY.get(record.why, record.why),
        "changed_at_utc": iso(record.changed_at),
    }
