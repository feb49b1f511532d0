"""What watching has shown, and what guarding would have prevented."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.model.contract import OncePer
from ascertain.model.tables import State
from ascertain.report.reading import contract_of, is_observed, walk
from ascertain.report.reasons import sentence_of
from ascertain.report.story import holder_is_gone
from ascertain.report.words import iso, many
from ascertain.store.ledger import Filter, Ledger

NO_SESSION = "observed"  # the session of observed code that knows none
_CLOCKS_DIFFER_S = 3600.0
_ENDS = frozenset({State.CONFIRMED, State.COMPENSATED})
_OPEN = frozenset({State.UNKNOWN, State.SENT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """An intent that was called again although an earlier call of it was not refused.

    :param earlier_state: how the earlier one stood at that moment.
    :param guarded: what guarding does there: ``join`` (the earlier one was still open),
        ``replay`` (same turn: the first answer comes back), ``turn`` (no turns are known; replay if
        both calls are of one turn), or ``new`` (another turn: a new intent by this contract).
    """

    tool: str
    earlier: str
    earlier_at: float
    earlier_state: str
    later: str
    later_at: float
    later_state: str
    guarded: str

    def as_dict(self) -> dict[str, Any]:
        values = asdict(self)
        values["earlier_utc"], values["later_utc"] = iso(self.earlier_at), iso(self.later_at)
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class LostAnswer:
    """A call that ended without a definite answer: its effect may have happened.

    :param again: ids of later calls of the same intent: what the caller made of it.
    """

    tool: str
    action: str
    at: float
    reason: str
    sentence: str
    again: tuple[str, ...]
    again_after_s: float | None

    def as_dict(self) -> dict[str, Any]:
        values = asdict(self)
        values["at_utc"] = iso(self.at)
        return values


@dataclass(slots=True, kw_only=True)
class ToolCounts:
    """What was seen of one tool. ``errors``: reasons of lost answers, with counts.

    :ivar hidden: calls with more sends than attempts. :ivar extra_sends: sends beyond them.
    """

    tool: str
    calls: int = 0
    confirmed: int = 0
    rejected: int = 0
    lost: int = 0
    hidden: int = 0
    extra_sends: int = 0
    errors: Counter[str] = field(default_factory=Counter[str])

    def as_dict(self) -> dict[str, Any]:
        return {
            "tool": self.tool,
            "calls": self.calls,
            "confirmed": self.confirmed,
            "rejected": self.rejected,
            "lost": self.lost,
            "hidden": self.hidden,
            "extra_sends": self.extra_sends,
            "errors": dict(self.errors),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveReport:
    """All that was observed since ``since`` (None: ever), oldest first."""

    since: float | None
    calls: int
    tools: tuple[ToolCounts, ...]
    again: tuple[Again, ...]
    lost: tuple[LostAnswer, ...]
    sentences: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether guarding would have changed anything."""
        return bool(self.again or self.lost or any(tool.hidden for tool in self.tools))

    def as_dict(self) -> dict[str, Any]:
        return {
            "since": self.since,
            "calls": self.calls,
            "tools": [tool.as_dict() for tool in self.tools],
            "again": [again.as_dict() for again in self.again],
            "lost": [lost.as_dict() for lost in self.lost],
            "sentences": list(self.sentences),
        }


def observe_report(ledger: Ledger, now: float, since: float | None = None) -> ObserveReport:
    """Read what was observed.

    :param now: seconds since the epoch. :param since: the same; None: all of it.
    """
    records = [_as_known(record, now) for record in _observed(ledger, since)]
    intents: dict[str, list[ActionRecord]] = {}
    for record in records:
        intents.setdefault(record.intent.partition("~")[0], []).append(record)
    again = [
        found
        for calls in intents.values()
        for i in range(1, len(calls))
        if (found := _again(ledger, calls[:i], calls[i])) is not None
    ]
    lost = [found for calls in intents.values() for found in _lost(calls)]
    tools = _counts(records)
    again.sort(key=lambda found: found.later_at)
    lost.sort(key=lambda found: found.at)
    return ObserveReport(
        since=since,
        calls=len(records),
        tools=tuple(tools),
        again=tuple(again),
        lost=tuple(lost),
        sentences=tuple(_sentences(again, lost, tools)),
    )


def _observed(ledger: Ledger, since: float | None) -> list[ActionRecord]:
    """The observed actions, oldest first."""
    found: list[ActionRecord] = []
    for record in walk(ledger, Filter()):
        if since is not None and record.created_at < since:
            # ids grow with time; what is much older ends the search
            if record.created_at < since - _CLOCKS_DIFFER_S:
                break
            continue
        if is_observed(record):
            found.append(record)
    return found[::-1]


def _as_known(record: ActionRecord, now: float) -> ActionRecord:
    """Nobody takes up an observed call whose process died: its answer is lost all the same."""
    if record.state is not State.SENT:
        return record
    if (record.lease_until or now) > now and not holder_is_gone(record):
        return record
    at = record.lease_until or record.updated_at
    return record._replace(state=State.UNKNOWN, reason="lease_expired", updated_at=at)


def _again(ledger: Ledger, earlier: list[ActionRecord], later: ActionRecord) -> Again | None:
    """Whether ``later`` came while one of the earlier calls was confirmed, or still open."""
    open_one: tuple[ActionRecord, State] | None = None
    for record in reversed(earlier):
        state = _state_at(ledger, record, later.created_at)
        if state is None:
            continue  # of another process, at the same moment
        if state in _ENDS:
            return _made(record, state, later, _when_confirmed(ledger, record, later))
        if state in _OPEN:
            open_one = open_one or (record, state)
    return None if open_one is None else _made(*open_one, later, "join")


def _made(record: ActionRecord, state: State, later: ActionRecord, guarded: str) -> Again:
    return Again(
        tool=later.tool, earlier=record.id, earlier_at=record.created_at, earlier_state=str(state),
        later=later.id, later_at=later.created_at, later_state=str(later.state), guarded=guarded,
    )  # fmt: skip


def _when_confirmed(ledger: Ledger, record: ActionRecord, later: ActionRecord) -> str:
    contract = contract_of(ledger, later)
    wide = contract is not None and contract.once_per is not OncePer.SESSION
    if wide or record.slot == later.slot:
        return "replay"
    return "turn" if later.session == NO_SESSION else "new"


def _state_at(ledger: Ledger, record: ActionRecord, at: float) -> State | None:
    """How the action stood at that moment, by its events."""
    state: State | None = None
    for event in ledger.events(record.id):
        if event.at <= at:
            state = State(event.end)
    return state


def _lost(calls: list[ActionRecord]) -> Iterator[LostAnswer]:
    for i, record in enumerate(calls):
        if record.state is not State.UNKNOWN:
            continue
        later = calls[i + 1 :]
        yield LostAnswer(
            tool=record.tool,
            action=record.id,
            at=record.updated_at,
            reason=record.reason,
            sentence=sentence_of(record.reason),
            again=tuple(call.id for call in later),
            again_after_s=later[0].created_at - record.updated_at if later else None,
        )


def _counts(records: Iterable[ActionRecord]) -> list[ToolCounts]:
    tools: dict[str, ToolCounts] = {}
    for record in records:
        counts = tools.setdefault(record.tool, ToolCounts(tool=record.tool))
        counts.calls += 1
        counts.confirmed += record.state in _ENDS
        counts.rejected += record.state is State.REJECTED
        if record.state is State.UNKNOWN:
            counts.lost += 1
            counts.errors[record.reason] += 1
        extra = record.sends - record.attempt
        if extra > 0:
            counts.hidden += 1
            counts.extra_sends += extra
    return [tools[name] for name in sorted(tools)]


_PREVENTED = {
    "replay": (
        "repeated what was already confirmed: guarding would have given back the first answer and "
        "sent nothing."
    ),
    "join": (
        "came while an earlier call of the same intent was under way or unknown: guarding would "
        "have joined it, and asked the provider before anything was sent again."
    ),
    "turn": (
        "repeated what was already confirmed; no turns are known here. Guarding gives back the "
        "first answer where both are of one turn (or with once_per)."
    ),
    "new": (
        "repeated in another turn what was already confirmed. Guarding lets that through as a new "
        "intent, unless the tool says once_per='principal' or 'tenant'."
    ),
}


def _sentences(
    again: list[Again], lost: list[LostAnswer], tools: list[ToolCounts]
) -> Iterator[str]:
    """What guarding would have prevented, in plain words."""
    counted = Counter(found.guarded for found in again)
    for guarded, said in _PREVENTED.items():
        if counted[guarded]:
            yield f"{many(counted[guarded], 'call')} {said}"
    if lost:
        repeated = sum(1 for found in lost if found.again)
        yield (
            f"{many(len(lost), 'answer was', 'answers were')} lost: nobody knows whether it "
            f"happened. The caller called again after {repeated} of them, and left "
            f"{len(lost) - repeated} at that. Guarding keeps each as unknown, asks by the same "
            "key, and hands to a person what cannot be found out."
        )
    hidden = sum(tool.hidden for tool in tools)
    if hidden:
        extra = sum(tool.extra_sends for tool in tools)
        yield (
            f"{many(hidden, 'call')} sent more than once below ({many(extra, 'send')} too many): a "
            "client repeats by itself. Guarding counts these sends against the budget; "
            "`ascertain lint` names the client."
        )
