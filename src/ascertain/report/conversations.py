"""Sessions: what was done in each, and what is still open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ascertain.report.wishes import Found, Wish
from ascertain.report.words import iso


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One session and its wishes, newest first."""

    id: str
    tenant: str
    wishes: tuple[Wish, ...]

    @property
    def principals(self) -> list[str]:
        """Whose it is; more than one is worth a look."""
        return sorted({wish.first.principal for wish in self.wishes if wish.first.principal})

    @property
    def actions(self) -> int:
        return sum(len(wish.members) for wish in self.wishes)

    @property
    def open(self) -> int:
        return sum(member.record.open for wish in self.wishes for member in wish.members)

    @property
    def in_review(self) -> int:
        return sum(member.part.in_review for wish in self.wishes for member in wish.members)

    @property
    def changed_at(self) -> float:
        return max(wish.changed_at for wish in self.wishes)

    def as_dict(self) -> dict[str, Any]:
        return {
            "session": self.id,
            "tenant": self.tenant,
            "principals": self.principals,
            "actions": self.actions,
            "open": self.open,
            "review": self.in_review,
            "changed_at": self.changed_at,
            "changed_at_utc": iso(self.changed_at),
            "wishes": [{"id": wish.id, "state": str(wish.state)} for wish in self.wishes],
        }


def conversations(found: Found) -> list[Conversation]:
    """The sessions behind these wishes, the one that changed last first."""
    groups: dict[tuple[str, str], list[Wish]] = {}
    for wish in found.wishes:
        groups.setdefault((wish.first.tenant, wish.first.session), []).append(wish)
    made = [
        Conversation(id=session, tenant=tenant, wishes=tuple(wishes))
        for (tenant, session), wishes in groups.items()
    ]
    return sorted(made, key=lambda one: -one.changed_at)
