"""What of an event is counted, for people who watch."""

from __future__ import annotations

from ascertain.model.action import ActionRecord, Draft
from ascertain.model.tables import Event, State

_OF: dict[Event, str] = {
    Event.CONFIRM: "confirmed",
    Event.REJECT: "rejected",
    Event.WITHDRAW: "rejected",
    Event.LOSE: "unknown",
}
KEPT_S = 3600.0


def counted(record: ActionRecord, draft: Draft) -> tuple[str, ...]:
    """Under which words an event is counted; of what is only observed, nothing is."""
    what = _OF.get(draft.event)
    if what is None or record.mode == "observe":
        return ()
    if draft.start is State.UNKNOWN and what != "unknown":
        return (what, "recovered")
    return (what,)
