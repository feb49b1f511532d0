"""What must hold, whatever goes wrong: named, pure, and the same for every proof.

Each function looks at what the ledger holds, what happened in the world and what somebody was told,
and returns the violations that it finds; an empty list means that it holds. The search, the fault
table, the crash tests and the simulation call the same functions.

Times are seconds of the ledger's clock.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ascertain.model.action import ActionRecord, EventRecord
from ascertain.model.chain import Around
from ascertain.model.contract import Contract, Repeat
from ascertain.model.outcome import RETRYABLE_KINDS, Effect, Evidence, Kind, Outcome
from ascertain.model.tables import By, Event, State, step, terminal
from ascertain.rules.budget import last_send_at
from ascertain.rules.decide import Decision, What
from ascertain.rules.lost import PERHAPS_SENT, SEND_RESTORED

NO_DUPLICATE_EFFECT = "NoDuplicateEffect"
NO_LIE = "NoLie"
NO_LOST_ACTION = "NoLostAction"
BOUNDED_RESOLUTION = "BoundedResolution"
SINGLE_WINNER = "SingleWinner"
PROJECTION = "Projection"
KEY_STABILITY = "KeyStability"
BUDGET = "Budget"
NOTICED = "DoubleNoticed"
HEALS = "HealsWithoutAPerson"
NO_LOST_ANSWER = "NoLostAnswer"
FINAL_MEANS_FINAL = "FinalMeansFinal"
NO_FORWARD_SEND = "NoForwardSend"
HONEST_UNDO = "CompensatedMeansUndone"
UNDONE_ONCE = "UndoneOnce"
APPROVED_SENDS = "ApprovedSends"
CLOSED_MEANS_CLOSED = "ClosedMeansClosed"

# Cases over what was about to be sent, and must not be: only a person or a time can let it go.
HELD_BACK = frozenset(
    {"permission", "approval", "approval_expired", "approval_invalid", "circuit_open"}
)

UNDONE = (State.PREPARED, State.REJECTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """What does not hold, of which action, and how, in one sentence."""

    invariant: str
    action: str
    story: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.story} (action {self.action})"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldEffect:
    """Something that really happened at the provider.

    :param sending: names the sending that caused it; two effects of one sending are the network's
        or the provider's doing, effects of two sendings are ours.
    """

    key: str
    ref: str
    sending: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a caller, a model or a person was told of an action."""

    action: str
    state: State
    final: bool = False
    provider_ref: str | None = None
    disputed: bool = False


class Moved(Protocol):
    """An event, written (``EventRecord``) or about to be (``Draft``)."""

    @property
    def start(self) -> str | None: ...
    @property
    def event(self) -> str: ...
    @property
    def end(self) -> str: ...
    @property
    def reason(self) -> str: ...


def no_duplicate_effect(
    record: ActionRecord, effects: Collection[WorldEffect], *, harmless: bool = False
) -> list[Violation]:
    """One intent, one effect: never two by our doing.

    :param harmless: the contract says that a double is acceptable; then the fact must say so.
    """
    sendings = {effect.sending for effect in effects}
    if len(sendings) <= 1 or (harmless and record.maybe_twice):
        return []
    refs = ", ".join(sorted(effect.ref for effect in effects))
    return [_found(NO_DUPLICATE_EFFECT, record, f"{len(sendings)} sendings took effect: {refs}")]


def no_lie(
    record: ActionRecord,
    effects: Collection[WorldEffect],
    statements: Iterable[Statement] = (),
    *,
    receipts: bool = False,
) -> list[Violation]:
    """What the ledger says, and what anybody was told, is what the world did.

    Confirmed: an effect with that reference. Not sent or rejected: no effect, and for a final
    rejection not ever, so that an old statement is judged by the effects of today. A disputed
    action says that it is disputed, and is not a lie.

    :param receipts: every confirmation names its reference; else it may have none.
    """
    said = [
        Statement(
            action=record.id,
            state=record.state,
            final=bool(record.final),
            provider_ref=record.provider_ref,
            disputed=bool(record.disputed),
        ),
        *(one for one in statements if one.final or one.state is State.CONFIRMED),
    ]
    refs = {effect.ref for effect in effects}
    found: list[Violation] = []
    for one in said:
        if one.disputed:
            continue
        known = one.provider_ref in refs or (one.provider_ref is None and not receipts)
        if one.state is State.CONFIRMED and not (refs and known):
            story = f"said confirmed {one.provider_ref}; the world has {_listed(refs)}"
            found.append(_found(NO_LIE, record, story))
        if one.state in UNDONE and refs:
            story = f"said {one.state}{' for good' if one.final else ''}; the world has"
            found.append(_found(NO_LIE, record, f"{story} {_listed(refs)}"))
    return found


def one_reference_each(records: Iterable[ActionRecord]) -> list[Violation]:
    """No two actions of a tool are confirmed by one record; one of them would be a lie.

    To be asked where the provider gives each effect a reference of its own. A disputed action says
    that it is disputed.
    """
    holders: dict[tuple[str, str, str], ActionRecord] = {}
    found: list[Violation] = []
    for record in records:
        if record.state is not State.CONFIRMED or record.disputed or record.provider_ref is None:
            continue
        name = (record.tenant, record.tool, record.provider_ref)
        first = holders.setdefault(name, record)
        if first.id != record.id:
            story = f"said confirmed {record.provider_ref}, which confirms action {first.id} too"
            found.append(_found(NO_LIE, record, story))
    return found


def no_lost_action(
    records: Sequence[ActionRecord],
    *,
    acknowledged: Iterable[str] = (),
    effects: Iterable[WorldEffect] = (),
) -> list[Violation]:
    """Nothing is forgotten.

    What was acknowledged is in the ledger; an effect in the world has an action with its key; and
    somebody comes back to every open action: a due time, a case, or it was left by contract.

    :param acknowledged: ids of actions whose first commit had returned.
    """
    known = {record.id for record in records}
    keys = {record.key for record in records}
    found = [
        Violation(invariant=NO_LOST_ACTION, action=id_, story="acknowledged, not in the ledger")
        for id_ in acknowledged
        if id_ not in known
    ]
    for effect in effects:
        if effect.key not in keys:
            story = f"effect {effect.ref} has no action with its key"
            found.append(Violation(invariant=NO_LOST_ACTION, action="?", story=story))
    return found


def somebody_comes_back(record: ActionRecord, *, left: bool) -> list[Violation]:
    """An open action has a due time or a case.

    :param left: by contract it may stay unconfirmed, and nobody needs to decide.
    """
    if record.terminal or record.due_at is not None or record.review is not None or left:
        return []
    return [_found(NO_LOST_ACTION, record, f"{record.state}, and nobody ever comes back to it")]


def bounded_resolution(record: ActionRecord, *, left: bool) -> list[Violation]:
    """Once nothing goes wrong any more, an action ends: settled, with a person, or left.

    To be asked when everything has come to rest.
    """
    if record.terminal or record.review is not None or left:
        return []
    return [_found(BOUNDED_RESOLUTION, record, f"at rest, and still {record.state}")]


def double_noticed(record: ActionRecord, effects: Collection[WorldEffect]) -> list[Violation]:
    """Where the provider can be asked, a double that was not our doing is seen and reported.

    To be asked when everything has come to rest.
    """
    if len(effects) <= 1 or record.disputed or record.review is not None:
        return []
    refs = _listed({effect.ref for effect in effects})
    return [_found(NOTICED, record, f"the world has {refs}, and nobody is told")]


def heals(record: ActionRecord, contract: Contract, reason: str, now: float) -> list[Violation]:
    """A case for a person is opened only where nothing else can settle the action.

    To be asked when a worker opens a case. Best effort never asks a person, nothing is taken from
    under an attempt, and where the contract has a key or a look-up that fences, all that could be
    asked or sent again has been.
    """
    if contract.best_effort or record.state is State.SENT:
        story = f"a case for a person ({reason}) over {record.state}, and nobody needs one"
        return [] if record.disputed else [_found(HEALS, record, story)]
    until = last_send_at(record, contract)
    may_send = (
        max(record.attempt, record.sends) < contract.budget.sends
        and (until is None or now < until)
        and (not record.refused or _may_be_settled_by_repeat(record, contract))
    )
    may_ask = contract.lookup is not None and record.unanswered < contract.budget.unanswered
    fences = contract.lookup is not None and contract.lookup.fences
    keyed = contract.repeat in (Repeat.BY_KEY, Repeat.BY_NATURE)
    seen = record.evidence not in (Evidence.NOT_ASKED, Evidence.UNANSWERED)
    allowed = (
        record.disputed
        or reason in HELD_BACK
        # refused for a while, until nothing may be sent any more: a person may wish it anew
        or (record.state is State.REJECTED and not may_send)
        or not (may_send or may_ask)
        # all that could be asked was answered, and nothing may be sent again
        or (not may_send and seen and not fences)
        # accepted and worked on for longer than the horizon, or by a provider that cannot be asked
        or (record.evidence is Evidence.WORKING and (reason == "budget_spent" or not may_ask))
    )
    if allowed or not (fences or keyed):
        return []
    return [_found(HEALS, record, f"a case for a person ({reason}) that need not be")]


def _may_be_settled_by_repeat(record: ActionRecord, contract: Contract) -> bool:
    """Whether, by promise, one more repeat answers what a refusal in hand does not."""
    promised = contract.refusal_final_after_s is not None and contract.repeat is Repeat.BY_KEY
    return promised and not record.suspect and record.kind is not Kind.KEY_REUSE


def repeat_after_refusal(before: ActionRecord, contract: Contract, now: float) -> list[Violation]:
    """What was refused for good is sent again only where that settles it; asked of such a send."""
    last, after_s = before.last_possible_at, contract.refusal_final_after_s
    late = last is not None and after_s is not None and now >= last + after_s
    if _may_be_settled_by_repeat(before, contract) and (late or not before.refused):
        return []
    return [_found(FINAL_MEANS_FINAL, before, "sent again after a refusal for good")]


def waits_for_a_reason(record: ActionRecord, decision: Decision) -> list[Violation]:
    """A case that is open at rest is one that only a person can close.

    To be asked when everything has come to rest.

    :param decision: what a worker would decide now.
    """
    waits = record.review is not None and record.open and record.review not in HELD_BACK
    if decision.what is What.REVIEW or not (waits or record.disputed):
        return []
    why = record.review or "disputed"
    story = f"waits for a person ({why}) though {decision.what} is what is decided"
    return [_found(HEALS, record, story)]


def suspects_are_senders(record: ActionRecord, senders: Collection[str]) -> list[Violation]:
    """Nobody is suspected who cannot send any more.

    :param senders: those that may still send, or that nobody can prove gone (``name#attempt``).
    """
    others = [name for name in record.suspect.split(",") if name and name not in senders]
    if not others:
        return []
    return [_found(HEALS, record, f"suspects {', '.join(others)}, who cannot send any more")]


def gone_is_gone(
    before: ActionRecord, after: ActionRecord, events: Iterable[Moved]
) -> list[Violation]:
    """Who is said to be gone is suspected no more; asked of every write."""
    said = any(event.reason == "sender_gone" for event in events)
    if not said or len(after.suspect) < len(before.suspect):
        return []
    return [_found(HEALS, after, f"a sender is gone, and {after.suspect} is still suspected")]


def no_lost_answer(before: ActionRecord, after: ActionRecord, outcome: Outcome) -> list[Violation]:
    """A definite word that was heard is known from then on; asked when a sender writes it.

    Confirmed is known whatever was in doubt. What else is said of an attempt under way that alone
    is in question is what is known next: refused, not sent, or accepted and worked on.
    """
    if after.disputed or after.maybe_twice:
        return []
    alone = before.state is State.SENT and not before.doubt and outcome.sends <= 1
    match outcome.effect:
        case Effect.CONFIRMED:
            known = after.state in (State.CONFIRMED, State.COMPENSATED)
        case Effect.REFUSED if outcome.kind is Kind.BUSINESS:
            known = not alone or after.state is State.REJECTED
        case Effect.NOT_SENT:
            known = not alone or after.state in UNDONE
        case Effect.ACCEPTED:
            known = not alone or after.evidence is Evidence.WORKING
        case _:
            known = True
    if known:
        return []
    said = outcome.provider_ref or outcome.effect
    return [_found(NO_LOST_ANSWER, after, f"{said} was heard, and the action is {after.state}")]


def final_means_final(
    before: ActionRecord, after: ActionRecord, events: Sequence[Moved]
) -> list[Violation]:
    """What ends for good is final, what was refused for a while is not, and no is no."""
    names = [event.event for event in events]
    sent = any(event.event == Event.SEND and event.reason != SEND_RESTORED for event in events)
    found: list[Violation] = []
    if Event.WITHDRAW in names and not after.final:
        found.append(_found(FINAL_MEANS_FINAL, after, "withdrawn, and may be sent again"))
    if Event.REJECT in names and after.final and after.kind in RETRYABLE_KINDS:
        found.append(_found(FINAL_MEANS_FINAL, after, f"{after.kind} was taken for good"))
    if sent and before.kind is Kind.WITHDRAWN:
        found.append(_found(FINAL_MEANS_FINAL, after, "sent again after it was withdrawn"))
    return found


def single_winner(before: ActionRecord, after: ActionRecord) -> list[Violation]:
    """What is settled is never rewritten; asked of every write."""
    if not before.terminal:
        return []
    kept = (before.state, before.final, before.provider_ref)
    now = (after.state, after.final, after.provider_ref)
    undone = before.state is State.CONFIRMED and after.state is State.COMPENSATED
    if kept == now or (undone and before.provider_ref == after.provider_ref):
        return []
    return [_found(SINGLE_WINNER, before, f"settled as {kept}, rewritten to {now}")]


def asked_within_budget(record: ActionRecord, contract: Contract) -> list[Violation]:
    """No more look-ups stay without an answer than are declared."""
    if record.unanswered <= contract.budget.unanswered:
        return []
    return [_found(BUDGET, record, f"asked {record.unanswered} times without an answer")]


def leases_hold(before: ActionRecord, now: float, gone: Collection[str]) -> list[Violation]:
    """Nobody takes an action that somebody holds; asked of a take-over.

    :param gone: owners that are proven gone: their leases hold no longer.
    """
    until = before.lease_until
    if until is None or until <= now or before.lease_owner in gone:
        return []
    return [_found(SINGLE_WINNER, before, f"taken while {before.lease_owner} holds it")]


def projection(
    start: State | None, after: ActionRecord, events: Sequence[Moved], *, final: bool = False
) -> list[Violation]:
    """The action is what its events say, and each of them is a row of the table.

    :param start: the state before the events. :param final: whether it was a final rejection.
    """
    state, settled = start, final
    for event in events:
        legal = step(state, Event(event.event), final=settled) if event.start == state else None
        if legal is None or legal != event.end:
            story = f"{event.start} --{event.event}--> {event.end} after {state} has no row"
            return [_found(PROJECTION, after, story)]
        state = legal
        settled = terminal(state, final=False)
    if state is not after.state:
        return [_found(PROJECTION, after, f"the events end in {state}, the action says otherwise")]
    return []


def chain_holds(around: Around, events: Mapping[str, Sequence[EventRecord]]) -> list[Violation]:
    """A chain that goes back sends nothing forward; compensated means: its undo is confirmed, or a
    person reversed it and said how they know; and nothing is undone twice.

    :param events: of each member, by the id of its action.
    """
    found: list[Violation] = []
    undos: dict[str, list[ActionRecord]] = {}
    turned_at = around.chain.turned_at
    for member, record in around.members:
        if member.undoes:
            undos.setdefault(member.undoes, []).append(record)
            continue
        late = [
            event for event in events.get(record.id, ())
            if event.event == Event.SEND and turned_at is not None and event.at > turned_at
        ]  # fmt: skip
        if late:
            found.append(_found(NO_FORWARD_SEND, record, "sent forward after its chain had turned"))
    for _, record in around.members:
        confirmed = [undo for undo in undos.get(record.id, ()) if undo.state is State.CONFIRMED]
        hands = [e for e in events.get(record.id, ()) if _reversed_by_hand(e)]
        if record.state is State.COMPENSATED and not (confirmed or hands):
            found.append(_found(HONEST_UNDO, record, "compensated, and no undo is confirmed"))
        if len(confirmed) + len(hands) > 1:
            refs = ", ".join(sorted(str(undo.provider_ref) for undo in confirmed))
            refs += " and by hand" if hands else ""
            found.append(_found(UNDONE_ONCE, record, f"undone more than once: {refs}"))
    return found


def _reversed_by_hand(event: EventRecord) -> bool:
    """Whether a person reversed it, and left the evidence."""
    by_hand = event.event == Event.COMPENSATE and event.by == By.PERSON
    return by_hand and bool(json.loads(event.detail).get("evidence"))


def key_stability(
    before: ActionRecord | None, after: ActionRecord, sent: Iterable[str] = ()
) -> list[Violation]:
    """One intent, one key, and nothing else is ever sent.

    :param sent: keys seen on the wire for this action.
    """
    first = after.key if before is None else before.key
    others = sorted({key for key in (after.key, *sent) if key != first})
    if not others:
        return []
    return [_found(KEY_STABILITY, after, f"key {first}, and also {', '.join(others)}")]


def within_budget(
    before: ActionRecord, after: ActionRecord, contract: Contract, now: float
) -> list[Violation]:
    """No send beyond the declared number, the horizon, the key's lifetime, or the time in which it
    was wanted, and each is counted; asked of a send.
    """
    found: list[Violation] = []
    if after.attempt != before.attempt + 1:
        found.append(_found(BUDGET, after, "a send that is not counted"))
    promise = contract.lookup
    dead = promise is not None and promise.fences == "key"
    if dead and before.evidence is Evidence.ABSENT_FINAL:
        found.append(_found(BUDGET, after, "sent with a key that a look-up has put an end to"))
    if after.attempt > contract.budget.sends:
        story = f"attempt {after.attempt} of at most {contract.budget.sends}"
        found.append(_found(BUDGET, after, story))
    if before.state is State.PREPARED and now >= before.send_by_at:
        found.append(_found(BUDGET, after, "sent when nobody waited for it any more"))
    first = before.first_sent_at
    if first is not None:
        until = contract.budget.horizon_s
        if contract.key_lifetime_s is not None:
            until = min(until, contract.key_lifetime_s - contract.key_margin_s)
        if now >= first + until:
            story = f"sent {now - first:g} s after the first send, allowed are {until:g} s"
            found.append(_found(BUDGET, after, story))
    return found


def approved_sends(record: ActionRecord, events: Sequence[EventRecord]) -> list[Violation]:
    """Nothing is sent without an approval of this exact call that holds at that moment.

    To be asked of actions that need one.

    :param events: all of the action, oldest first.
    """
    found: list[Violation] = []
    asked: object = None
    holds: dict[int, float] = {}
    for event in events:
        detail = json.loads(event.detail)
        if event.event == Event.PREPARE:
            asked = detail.get("approval")
        elif event.reason == "approved" and event.by == By.PERSON and detail["approval"] == asked:
            holds[event.n] = detail["until"]
        elif event.event == Event.SEND and event.reason != PERHAPS_SENT:
            by = detail.get("approved_in")
            if by not in holds or event.at >= holds[by]:
                story = f"attempt {event.attempt} was sent without an approval that held"
                found.append(_found(APPROVED_SENDS, record, story))
    return found


def held_back(record: ActionRecord, events: Sequence[Moved]) -> list[Violation]:
    """What must not be sent just now is not; asked of a write after that was said."""
    if not any(event.event == Event.SEND for event in events):
        return []
    return [_found(CLOSED_MEANS_CLOSED, record, "it was held back, and sent all the same")]


def none_sent_while_open(
    record: ActionRecord, events: Sequence[EventRecord], opened: Iterable[tuple[float, float]]
) -> list[Violation]:
    """Nothing is sent by itself while its breaker is open.

    :param opened: from when until when it was, as everybody saw it.
    """
    sent = [event.at for event in events if event.event == Event.SEND]
    return [
        _found(CLOSED_MEANS_CLOSED, record, f"sent at {at:g}, open from {start:g} to {end:g}")
        for start, end in opened
        for at in sent
        if start < at < end
    ]


def _found(invariant: str, record: ActionRecord, story: str) -> Violation:
    return Violation(invariant=invariant, action=record.id, story=story)


def _listed(refs: Collection[str]) -> str:
    return ", ".join(sorted(refs)) if refs else "nothing"
