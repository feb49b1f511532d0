"""Whether a replay's words and deeds agree: the ledger and the provider's books, by intent.

Intents are named in the recording's own terms, so that no rule of the library is asked which calls
belong together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ascertain.model.action import ActionRecord, EventRecord
from ascertain.model.contract import Contract, contract_from_json
from ascertain.model.tables import Event, State
from ascertain.replay.provider import Faults, collection_of
from ascertain.replay.recording import Call, Recording, intent_of
from ascertain.replay.report import Repeat, Replayed, Spoken
from ascertain.store.ledger import Filter, Ledger
from ascertain.testing.invariants import (
    NO_DUPLICATE_EFFECT,
    NO_LIE,
    NO_LOST_ACTION,
    Violation,
    WorldEffect,
    bounded_resolution,
    double_noticed,
    key_stability,
    no_lie,
    no_lost_action,
    projection,
    somebody_comes_back,
)
from ascertain.testing.world import Arrival, Effect, World
from ascertain.values.arguments import parse_call

MANY = 100_000
FAR_S = 5.0  # what falls due later than this is left to the background


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One intent, and everything that is on record about it.

    :param records: its actions, oldest first: more than one only after an end without effect.
    """

    call: Call
    records: tuple[ActionRecord, ...]
    effects: tuple[Effect, ...]
    creates: tuple[Arrival, ...]
    lookups: tuple[Arrival, ...]
    spoken: tuple[Spoken, ...]

    def effects_of(self, record: ActionRecord) -> list[WorldEffect]:
        return [
            WorldEffect(key=effect.key or "", ref=effect.ref, sending=str(effect.arrival))
            for effect in self.effects
            if effect.key == record.key
        ]

    @property
    def doubled(self) -> int:
        """Second effects of one single sending."""
        return len(self.effects) - len({effect.arrival for effect in self.effects})

    @property
    def noticed(self) -> bool:
        return any(record.disputed or record.review is not None for record in self.records)

    @property
    def as_recorded(self) -> bool:
        """Whether it ended as it had in the recording."""
        if not self.records:
            return False
        last = self.records[-1]
        wanted = State.REJECTED if self.call.error else State.CONFIRMED
        return last.state is wanted and last.terminal


def report_of(
    recording: Recording,
    faults: Faults,
    contract: str,
    world: World,
    ledger: Ledger,
    spoken: Sequence[Spoken],
    *,
    seed: int | None,
    took_s: float,
) -> Replayed:
    """Count, and compare what was told and recorded with what the provider really did."""
    arrivals = world.arrivals()
    deeds = _deeds(recording, world.effects(), arrivals, ledger, spoken)
    violations, theirs = _judged(deeds, world.effects(), ledger)
    records = [record for deed in deeds for record in deed.records]
    opened = [record for record in records if record.open]
    drawn = {fault.name for fault in faults.values()} - {"ok"}
    met = Counter(came.behaviour for came in arrivals if came.behaviour in drawn)
    keys = {record.key for record in records}
    reading = Counter(str(one.statement.state) for one in spoken if one.call.kind != "write")
    return Replayed(
        name=recording.name,
        contract=contract,
        seed=seed,
        conversations=len(recording.conversations()),
        calls=len(recording.calls),
        reads=len(recording.of_kind("read")),
        writes=len(recording.of_kind("write")),
        generic=len(recording.of_kind("generic")),
        intents=len(deeds),
        repeats=tuple(_repeats(spoken)),
        faults=dict(sorted(met.items())),
        ends=dict(sorted(Counter(map(_end, records)).items())),
        read_ends=dict(sorted(reading.items())),
        effects=sum(len(deed.effects) for deed in deeds),
        creates=sum(len(deed.creates) for deed in deeds),
        lookups=sum(came.method == "GET" and came.key in keys for came in arrivals),
        doubled=sum(deed.doubled for deed in deeds),
        noticed=sum(deed.doubled for deed in deeds if deed.noticed),
        as_recorded=sum(deed.as_recorded for deed in deeds),
        left_open=len(opened),
        in_review=sum(record.review is not None for record in opened),
        violations=tuple(violations),
        broken_promises=theirs,
        took_s=took_s,
    )


def _deeds(
    recording: Recording,
    effects: Sequence[Effect],
    arrivals: Sequence[Arrival],
    ledger: Ledger,
    spoken: Sequence[Spoken],
) -> list[Deed]:
    tools = {collection_of(call.tool): call.tool for call in recording.calls}
    records: dict[str, list[ActionRecord]] = {}
    for record in reversed(ledger.find(Filter(limit=MANY))):
        args = parse_call(ledger.arguments(record.id) or "{}")["arguments"]
        records.setdefault(intent_of(record.session, record.tool, args), []).append(record)
    happened: dict[str, list[Effect]] = {}
    for effect in effects:
        happened.setdefault(_intent(tools, effect), []).append(effect)
    came: dict[str, list[Arrival]] = {}
    for arrival in arrivals:
        if arrival.method == "POST" and arrival.args is not None:
            came.setdefault(_intent(tools, arrival), []).append(arrival)
    told: dict[str, list[Spoken]] = {}
    for one in spoken:
        told.setdefault(one.call.intent, []).append(one)
    asked: dict[str, list[Arrival]] = {}
    for arrival in arrivals:
        if arrival.method == "GET" and arrival.key is not None:
            asked.setdefault(arrival.key, []).append(arrival)
    return [
        Deed(
            call=call,
            records=tuple(records.get(intent, ())),
            effects=tuple(happened.get(intent, ())),
            creates=tuple(came.get(intent, ())),
            lookups=tuple(
                one for record in records.get(intent, ()) for one in asked.get(record.key, ())
            ),
            spoken=tuple(told.get(intent, ())),
        )
        for intent, call in recording.first_calls().items()
        if call.kind == "write"
    ]


def _intent(tools: dict[str, str], one: Effect | Arrival) -> str:
    args = one.args or {}
    conv, arguments = args["conv"], args["arguments"]
    assert isinstance(conv, str), "the tools of a replay send it so"
    assert isinstance(arguments, dict), "the tools of a replay send them so"
    return intent_of(conv, tools[one.collection], arguments)


def _end(record: ActionRecord) -> str:
    if record.disputed:
        return f"{record.state} (disputed)"
    if record.open and record.review is not None:
        return f"{record.state} (with a person)"
    if record.state is State.REJECTED and record.kind is not None:
        return f"{record.state} ({record.kind})"
    return str(record.state)


def _repeats(spoken: Sequence[Spoken]) -> Iterator[Repeat]:
    for one in sorted(spoken, key=lambda one: one.call.line):
        if one.call.kind == "write" and one.call.repeat:
            yield Repeat(
                tool=one.call.tool,
                conv=one.call.conv,
                order=one.call.order,
                how=one.how,
                state=str(one.statement.state),
            )


def _judged(
    deeds: Sequence[Deed], effects: Sequence[Effect], ledger: Ledger
) -> tuple[list[Violation], int]:
    """All violations, and how many are no fault of ours: the provider broke a promise."""
    records = [record for deed in deeds for record in deed.records]
    told = [one.statement.action for deed in deeds for one in deed.spoken]
    in_world = [
        WorldEffect(key=effect.key or "", ref=effect.ref, sending=str(effect.arrival))
        for effect in effects
    ]
    ours = no_lost_action(records, acknowledged=told, effects=in_world)
    theirs = 0
    for deed in deeds:
        found = list(_of_intent(deed))
        noticed: list[Violation] = []
        for record in deed.records:
            events = ledger.events(record.id)
            contract = contract_from_json(ledger.contract(record.contract) or "{}")
            found += _of_action(deed, record, events)
            if contract.lookup is not None:
                noticed += double_noticed(record, deed.effects_of(record))
            if found and is_promise_broken(deed, events, contract):
                theirs += 1
                excused = (NO_DUPLICATE_EFFECT, NO_LIE)
                found = [one for one in found if one.invariant not in excused]
        ours += found + noticed
    return ours, theirs


def is_promise_broken(deed: Deed, events: Sequence[EventRecord], contract: Contract) -> bool:
    """Whether the provider said "absent" when that was final by its promise, and it was not so.

    It overlooked an effect, or one landed afterwards of what had been sent before.
    """
    promise = contract.lookup
    if promise is None or promise.fences or promise.absence_final_after_s is None:
        return False
    sends = [event.at for event in events if event.event == Event.SEND]
    closed = [event.at for event in events if event.event == Event.LOSE]
    for look in deed.lookups:
        at = look.received_at
        last = max((one for one in closed if one <= at), default=at)
        if look.code != "absent" or at < last + promise.absence_final_after_s:
            continue
        overlooked = any(effect.received_at < at for effect in deed.effects)
        came_late = sum(came.received_at > at for came in deed.creates)
        if overlooked or came_late > sum(sent > at for sent in sends):
            return True
    return False


def _of_intent(deed: Deed) -> Iterator[Violation]:
    action = deed.records[-1].id if deed.records else "?"
    where = f"{deed.call.tool} (line {deed.call.line})"
    sendings = {effect.arrival for effect in deed.effects}
    if len(sendings) > 1:
        story = f"{len(deed.effects)} effects for 1 intent, {where}"
        yield Violation(invariant=NO_DUPLICATE_EFFECT, action=action, story=story)
    if not deed.records:
        story = f"1 recorded write without an action, {where}"
        yield Violation(invariant=NO_LOST_ACTION, action=action, story=story)
    for earlier, later in zip(deed.records, deed.records[1:], strict=False):
        if later.replaces != earlier.id or earlier.open or earlier.state is State.CONFIRMED:
            story = f"{len(deed.records)} actions for 1 intent, {where}"
            yield Violation(invariant=NO_LOST_ACTION, action=later.id, story=story)
    yield from _values(deed, action)


def _values(deed: Deed, action: str) -> Iterator[Violation]:
    """Whoever was given a value was given what the provider holds."""
    kept = {effect.ref: effect.args["reply"] for effect in deed.effects}
    for one in deed.spoken:
        if one.value is not None and kept.get(one.value["ref"]) != one.value["reply"]:
            story = f"a value that the provider has not, {deed.call.tool} (line {deed.call.line})"
            yield Violation(invariant=NO_LIE, action=action, story=story)


def _of_action(
    deed: Deed, record: ActionRecord, events: Sequence[EventRecord]
) -> Iterator[Violation]:
    effects = deed.effects_of(record)
    statements = [one.statement for one in deed.spoken if one.statement.action == record.id]
    sent = [came.key or "" for came in deed.creates if len(deed.records) == 1]
    yield from no_lie(record, effects, statements)
    yield from key_stability(None, record, sent)
    yield from somebody_comes_back(record, left=False)
    yield from bounded_resolution(record, left=_is_far(record))
    yield from projection(None, record, events)


def _is_far(record: ActionRecord) -> bool:
    """Whether what comes next is planned for later than a replay lasts."""
    return record.due_at is not None and record.due_at > record.updated_at + FAR_S
