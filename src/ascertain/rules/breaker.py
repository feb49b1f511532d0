"""When a breaker opens, tries and closes. Pure: no clock, no I/O.

What counts is the provider's silence: answers that were lost, "unavailable", "slow down". A
business refusal is an answer like any other.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple, assert_never

from ascertain.model.action import ActionRecord, Draft
from ascertain.model.breaker import Breaker, BreakerRecord, Circuit, Turn, turn
from ascertain.model.contract import Contract
from ascertain.model.outcome import Kind
from ascertain.model.tables import By, Event
from ascertain.rules.moves import FREE, Move, note

WAITS = "circuit_open"
RELEASED = "released"
RELEASE_HOLDS_S = 300.0


class News(StrEnum):
    """What one event says of the provider, or of the tool's own code."""

    DEFINITE = "definite"
    SILENT = "silent"
    DEFECT = "defect"
    FOUND = "found"
    ANSWERS = "answers"


class Tally(NamedTuple):
    """What this process has seen since the last definite answer; nothing of it is stored."""

    silent: tuple[float, ...] = ()
    defects: int = 0


NOTHING = Tally()

# Ours, not the provider's: nothing was tried, or the caller went away.
_OWN = frozenset(
    {"interrupted", "lease_ran_out", "all_threads_busy", "lease_expired", "answer_not_recorded"}
)
_SILENT_KINDS = frozenset({Kind.THROTTLED, Kind.UNAVAILABLE})
_UNREACHED = frozenset({"nothing_left", "never_connected"})
_ANSWERED = frozenset(
    {
        "absent", "absent_fenced", "absent_final", "absent_unfenced", "working", "checked",
        "recounted", "asked_early", "found_early", "several_match",
    }
)  # fmt: skip
_IN_DOUBT_BUT_ANSWERED = frozenset(
    {"refusal_not_covering", "duplicate_refusal", "said_accepted", "http_202", "http_208"}
)
_DEFECTS = frozenset({"tool_error"})


def news_of(draft: Draft) -> News | None:
    """What an event says; None: nothing about the provider."""
    match draft.event:
        case Event.CONFIRM | Event.REJECT if draft.by in (By.PERSON, By.WEBHOOK):
            return None
        case Event.CONFIRM if draft.by == By.LOOKUP:
            return News.FOUND
        case Event.REJECT if draft.by == By.LOOKUP:
            return News.ANSWERS
        case Event.CONFIRM:
            return News.DEFINITE
        case Event.REJECT:
            return News.SILENT if draft.detail.get("kind") in _SILENT_KINDS else News.DEFINITE
        case Event.LOSE if draft.reason in _OWN:
            return None
        case Event.LOSE:
            if draft.reason in _DEFECTS:
                return News.DEFECT
            if draft.detail.get("kind") in _SILENT_KINDS:
                return News.SILENT
            known = draft.reason in _IN_DOUBT_BUT_ANSWERED or "kind" in draft.detail
            return News.DEFINITE if known or _is_word(draft.detail.get("http")) else News.SILENT
        case Event.UNSEND if draft.reason in _UNREACHED:
            return News.SILENT
        case Event.NOTE if draft.by == By.LOOKUP and draft.reason in _ANSWERED:
            return News.ANSWERS
        case _:
            return None


def _is_word(http_status: object) -> bool:
    """Whether this HTTP status is the provider's word on the request, whatever it means for us."""
    if not isinstance(http_status, int):
        return False
    return http_status < 500 and http_status not in (408, 425, 429)


def name_of(contract: Contract) -> str:
    """Under which name a tool's breaker is kept; '' = it has none."""
    if contract.breaker is None:
        return ""
    return contract.breaker.group or contract.tool


def tallied(
    tally: Tally, rule: Breaker, news: News, now: float, *, sent_at: float | None = None,
    definite_at: float | None = None,
) -> Tally:  # fmt: skip
    """The tally after this news.

    Of many callers at once the answers come first and the silences late, at their deadlines. So a
    silence counts only where the send began after the last definite answer came.

    :param sent_at: when the send that was met with silence began.
    :param definite_at: when the last definite answer to this tool came.
    """
    outlived = sent_at is not None and definite_at is not None and sent_at < definite_at
    match news:
        case News.SILENT if outlived:
            return tally
        case News.DEFINITE | News.FOUND:
            return NOTHING  # it takes what is sent, whatever becomes of its replies
        case News.DEFECT:
            return Tally((*_recent(tally, rule, now), now), tally.defects + 1)
        case News.SILENT:
            return Tally((*_recent(tally, rule, now), now), 0)
        case News.ANSWERS:
            return tally  # the provider is there, which says nothing of its writes
        case _:
            assert_never(news)


def trips(tally: Tally, rule: Breaker) -> str:
    """Why the breaker opens now, as a stable code; '' = it does not."""
    if rule.defects and tally.defects >= rule.defects:
        return "defects"
    return "silent" if len(tally.silent) >= rule.after else ""


def opened(record: BreakerRecord, rule: Breaker, why: str, now: float) -> BreakerRecord | None:
    """Closed for automatic sends from now on; None where the table has no such row."""
    cool_at = now + rule.cool_down_s
    return _turned(
        record, Turn.TRIP, why, now, opened_at=now, cool_at=cool_at,
        try_at=cool_at + rule.cool_down_s, prober=None, probe_until=None,
    )  # fmt: skip


def heard(record: BreakerRecord, news: News, rule: Breaker, now: float) -> BreakerRecord | None:
    """What news does to a breaker that is not closed; None: nothing."""
    match record.circuit, news:
        case Circuit.OPEN, News.ANSWERS | News.FOUND if now >= (record.cool_at or 0.0):
            return _turned(record, Turn.ANSWER, "answered", now, try_at=now)
        case Circuit.PROBING, News.DEFINITE:
            return _turned(record, Turn.MEND, "mended", now, **_SHUT)
        case Circuit.PROBING, News.SILENT | News.DEFECT:
            return opened(record, rule, "still_silent", now)
        case _:
            return None


def closed_by(record: BreakerRecord, by: str, now: float) -> BreakerRecord | None:
    """A person closes it; None where it is closed already."""
    after = _turned(record, Turn.CLOSE, "closed_by_person", now, **_SHUT)
    return None if after is None else after._replace(by=by)


def free_to_probe(record: BreakerRecord, now: float, *, asked: bool) -> bool:
    """Whether one send may try it now.

    :param asked: the provider can be asked (look-up, read), which comes first for a while.
    """
    match record.circuit:
        case Circuit.CLOSED:
            return False
        case Circuit.PROBING:
            return record.probe_until is None or now >= record.probe_until
        case Circuit.OPEN:
            at = record.try_at if asked else record.cool_at
            return now >= (at or 0.0)
        case _:
            assert_never(record.circuit)


def probed(record: BreakerRecord, prober: str, until: float, now: float) -> BreakerRecord | None:
    """One send tries it, until then; None where it is closed, and there is nothing to try."""
    if record.circuit is Circuit.PROBING:
        return record._replace(prober=prober, probe_until=until, changed_at=now, n=record.n + 1)
    after = _turned(record, Turn.COOL, "cooled_down", now)
    return None if after is None else after._replace(prober=prober, probe_until=until)


def next_at(record: BreakerRecord, now: float, *, asked: bool) -> float:
    """When a send that is held should come back."""
    match record.circuit:
        case Circuit.PROBING:
            return max(now, record.probe_until or now)
        case Circuit.OPEN:
            at = record.try_at if asked else record.cool_at
            return max(now, at or now)
        case Circuit.CLOSED:
            return now
        case _:
            assert_never(record.circuit)


def taken_by_hand(record: ActionRecord, *, until: float, now: float) -> Move:
    """An action that was about to be sent by itself is taken as manual work."""
    return note(
        record, By.WORKER, f"review:{WAITS}", now, {}, review=WAITS, review_at=now, due_at=until,
        send_by_at=until, **FREE,
    )  # fmt: skip


def release(record: ActionRecord, *, by: str, now: float) -> Move:
    """A person lets go what was taken as manual work: now, and not whenever a worker comes by."""
    until = min(record.send_by_at, now + RELEASE_HOLDS_S)
    return note(
        record, By.PERSON, RELEASED, now, {"who": by, "until": until}, review=None, review_at=None,
        due_at=now, send_by_at=until, **FREE,
    )  # fmt: skip


_SHUT: dict[str, Any] = {
    "opened_at": None, "cool_at": None, "try_at": None, "prober": None, "probe_until": None,
}  # fmt: skip


def _recent(tally: Tally, rule: Breaker, now: float) -> tuple[float, ...]:
    return tuple(at for at in tally.silent if at > now - rule.within_s)[-rule.after :]


def _turned(
    record: BreakerRecord, what: Turn, why: str, now: float, /, **changes: Any
) -> BreakerRecord | None:
    end = turn(record.circuit, what)
    if end is None:
        return None
    return record._replace(circuit=end, why=why, by="", changed_at=now, n=record.n + 1, **changes)
