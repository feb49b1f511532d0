"""Whether words and deeds agree: the provider's books and the ledger against what was told.

Nothing here trusts an agent's own view of things. Each finding carries the name of the invariant
that does not hold, and its counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ascertain.demo.stories import Intent, Story
from ascertain.demo.telling import Told
from ascertain.model.action import ActionRecord, EventRecord
from ascertain.model.chain import Around
from ascertain.model.tables import Event, State
from ascertain.testing.invariants import (
    BOUNDED_RESOLUTION,
    HONEST_UNDO,
    KEY_STABILITY,
    NO_DUPLICATE_EFFECT,
    NO_FORWARD_SEND,
    NO_LIE,
    NO_LOST_ACTION,
    PROJECTION,
    SINGLE_WINNER,
    UNDONE_ONCE,
    WorldEffect,
    chain_holds,
    no_lie,
    projection,
    somebody_comes_back,
)
from ascertain.testing.world import Arrival, Effect

MODEL_TRUTH = "ModelTruth"
NEVER_STALE = "NeverStaleContext"
UNDONE_IN_REVERSE = "UndoneInReverse"
REQUIRED_END = "RequiredEnd"

CHECKED = (
    NO_DUPLICATE_EFFECT,
    KEY_STABILITY,
    NO_LIE,
    MODEL_TRUTH,
    NO_LOST_ACTION,
    BOUNDED_RESOLUTION,
    SINGLE_WINNER,
    PROJECTION,
    NO_FORWARD_SEND,
    HONEST_UNDO,
    UNDONE_ONCE,
    UNDONE_IN_REVERSE,
    NEVER_STALE,
    REQUIRED_END,
)
_REFERENCE = re.compile(r"\b(?:T|X|N|R|ship-|inv-|pay-|void-|rel-)\d+\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What does not hold, with its counts, in one line."""

    invariant: str
    line: str
    count: int = 1

    def __str__(self) -> str:
        return f"{self.invariant}: {self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One intent, and everything that is on record about it.

    :param placed: references that the provider had before anybody asked.
    :param taken_over: it was open when its sender was stopped, so a worker took it up.
    """

    intent: Intent
    records: tuple[ActionRecord, ...]
    events: tuple[EventRecord, ...]
    effects: tuple[Effect, ...]
    posts: tuple[Arrival, ...]
    lookups: tuple[Arrival, ...]
    told: tuple[Told, ...]
    placed: frozenset[str]
    taken_over: bool


def judge(
    story: Story,
    deeds: Sequence[Deed],
    chain: Around | None = None,
    strangers: Sequence[Effect] = (),
) -> list[Finding]:
    """Everything that does not agree in a story; an empty list is the only good one.

    :param chain: what the story is about, where it is about one.
    :param strangers: effects where only the story's own may be, and that nobody asked for.
    """
    found: list[Finding] = [] if chain is None else list(_chain(chain, deeds))
    for deed in deeds:
        found += _effects(deed)
        found += _keys(deed)
        found += _ledger(deed)
        found += _winner(deed)
        found += _end(deed)
    if strangers:
        orders = ", ".join(str(effect.args.get("order_id")) for effect in strangers)
        what = "effect for an order" if len(strangers) == 1 else "effects for orders"
        line = f"{len(strangers)} {what} that nobody meant: {orders}"
        found.append(Finding(invariant=NEVER_STALE, line=line, count=len(strangers)))
    found += _statements(deeds)
    found += _words(story, deeds)
    return found


# -------------------------------------------------------------------------------- what happened


def _effects(deed: Deed) -> Iterator[Finding]:
    sendings = {effect.arrival for effect in deed.effects}
    order = deed.intent.order
    if len(sendings) > 1:
        line = f"{len(deed.effects)} effects for 1 intent ({order}): {_refs(deed)}"
        yield Finding(invariant=NO_DUPLICATE_EFFECT, line=line, count=len(sendings) - 1)


def _keys(deed: Deed) -> Iterator[Finding]:
    keys = {came.key for came in deed.posts} | {record.key for record in deed.records}
    if len(keys) > 1:
        line = f"{len(keys)} keys for 1 intent ({deed.intent.order})"
        yield Finding(invariant=KEY_STABILITY, line=line, count=len(keys) - 1)


def _in_world(deed: Deed, record: ActionRecord) -> list[WorldEffect]:
    return [
        WorldEffect(key=effect.key or "", ref=effect.ref, sending=str(effect.arrival))
        for effect in deed.effects
        if effect.key == record.key
    ]


def _refs(deed: Deed) -> str:
    return ", ".join(effect.ref for effect in deed.effects) or "nothing"


# --------------------------------------------------------------------------------- what is recorded


def _ledger(deed: Deed) -> Iterator[Finding]:
    order = deed.intent.order
    if len(deed.records) != 1:
        line = f"{len(deed.records)} actions for 1 intent ({order})"
        yield Finding(invariant=NO_LOST_ACTION, line=line)
    for record in deed.records:
        for violation in no_lie(record, _in_world(deed, record)):
            line = f"1 false entry in the ledger: {violation.story} ({order})"
            yield Finding(invariant=NO_LIE, line=line)
        left = bool(deed.intent.left)
        for violation in somebody_comes_back(record, left=left):
            yield Finding(invariant=NO_LOST_ACTION, line=f"1 action, {violation.story} ({order})")
        events = [event for event in deed.events if event.action_id == record.id]
        for violation in projection(None, record, events):
            yield Finding(invariant=PROJECTION, line=f"{violation.story} ({order})")


def _winner(deed: Deed) -> Iterator[Finding]:
    """Each attempt is lost, and each action ended, at most once; and each send was on record."""
    order = deed.intent.order
    for record in deed.records:
        events = [event for event in deed.events if event.action_id == record.id]
        ends = sum(event.event in (Event.CONFIRM, Event.REJECT) for event in events)
        sends = Counter(event.attempt for event in events if event.event == Event.SEND)
        losses = Counter(event.attempt for event in events if event.event == Event.LOSE)
        twice = sum(count > 1 for count in (*sends.values(), *losses.values()))
        if ends > 1 or twice:
            line = f"1 action ended {ends} times, {twice} moves made twice ({order})"
            yield Finding(invariant=SINGLE_WINNER, line=line)
        if len(deed.posts) > max(sends, default=0):
            line = f"{len(deed.posts)} sends, {len(sends)} of them on record ({order})"
            yield Finding(invariant=SINGLE_WINNER, line=line)
        attempts = [event.attempt for event in events if event.event == Event.SEND]
        if attempts != sorted(set(attempts)) or (attempts and record.attempt != attempts[-1]):
            line = f"{len(attempts)} attempts, the action stands at {record.attempt} ({order})"
            yield Finding(invariant=SINGLE_WINNER, line=line)
        if deed.taken_over and not record.fence:
            line = f"taken over by nobody, as far as the ledger knows ({order})"
            yield Finding(invariant=SINGLE_WINNER, line=line)


def _end(deed: Deed) -> Iterator[Finding]:
    """Where it must end, as the story says."""
    intent = deed.intent
    for record in deed.records[:1]:
        is_end = (record.state, record.kind, record.related_ref)
        must = (intent.state, intent.kind, intent.related_ref)
        at_rest = record.terminal or record.review is not None or bool(intent.left)
        if not at_rest:
            line = f"1 action at rest and still {record.state} ({intent.order})"
            yield Finding(invariant=BOUNDED_RESOLUTION, line=line)
        elif is_end[: 1 if record.open else 3] != must[: 1 if record.open else 3]:
            line = f"ends {_end_text(is_end)}, must end {_end_text(must)} ({intent.order})"
            yield Finding(invariant=REQUIRED_END, line=line)
        elif intent.left == "person" and record.review is None:
            line = f"still {record.state} and no person has been asked ({intent.order})"
            yield Finding(invariant=REQUIRED_END, line=line)
    if len(deed.effects) < intent.effects:
        line = f"{len(deed.effects)} effects, must be {intent.effects} ({intent.order})"
        yield Finding(invariant=REQUIRED_END, line=line)


def _end_text(end: tuple[Any, ...]) -> str:
    return " ".join(str(word) for word in end if word is not None)


# ------------------------------------------------------------------------- what becomes of a wish


def _chain(around: Around, deeds: Sequence[Deed]) -> Iterator[Finding]:
    """A chain that has turned sends nothing forward; each effect is reversed once, the last first.

    When something was sent and done is read from the providers' books; when the chain turned, from
    the ledger.
    """
    turned_at = around.chain.turned_at
    for deed in deeds:
        late = [
            came for came in deed.posts
            if turned_at is not None and not deed.intent.undoes and came.received_at > turned_at
        ]  # fmt: skip
        if late:
            where = f"{deed.intent.provider} had {len(late)} forward"
            line = f"{where} {_sends(late)} after the chain had turned ({deed.intent.order})"
            yield Finding(invariant=NO_FORWARD_SEND, line=line, count=len(late))
    events: dict[str, list[EventRecord]] = {}
    for event in (event for deed in deeds for event in deed.events):
        events.setdefault(event.action_id, []).append(event)
    names = {record.id: record.tool for _, record in around.members}
    for violation in chain_holds(around, events):
        line = f"by the ledger, {names[violation.action]}: {violation.story}"
        yield Finding(invariant=violation.invariant, line=line)
    yield from _reversed(deeds)


def _sends(came: Sequence[Arrival]) -> str:
    return "send" if len(came) == 1 else "sends"


def _reversed(deeds: Sequence[Deed]) -> Iterator[Finding]:
    """By the providers' books: whatever was reversed first was done last."""
    done = {deed.intent.tool: deed for deed in deeds}
    undone = sorted(
        ((effect.executed_at, deed.intent) for deed in deeds if deed.intent.undoes
         for effect in deed.effects[:1]),
        key=lambda one: one[0],
    )  # fmt: skip
    made_at = [done[intent.undoes].effects[0].executed_at for _, intent in undone]
    if made_at != sorted(made_at, reverse=True):
        names = ", ".join(intent.undoes for _, intent in undone)
        line = f"{len(undone)} effects reversed in the order {names}"
        yield Finding(invariant=UNDONE_IN_REVERSE, line=line)


# -------------------------------------------------------------------------------- what was told


def _statements(deeds: Sequence[Deed]) -> Iterator[Finding]:
    """What the model was told of each action, at any time, against the provider's books."""
    false: list[str] = []
    for deed in deeds:
        for told in deed.told:
            for said in told.facts["actions"]:
                if said["name"] != deed.intent.tool:
                    continue
                lie = _false(deed, said, told.facts["next_allowed"])
                if lie:
                    false.append(f"{lie} ({deed.intent.order})")
    if false:
        line = f"{len(false)} false {'statement' if len(false) == 1 else 'statements'}: {false[0]}"
        yield Finding(invariant=MODEL_TRUTH, line=line, count=len(false))


def _false(deed: Deed, said: dict[str, Any], next_allowed: Sequence[str]) -> str:
    refs = {effect.ref for effect in deed.effects}
    state, ref = said["state"], said.get("provider_ref")
    if state == State.CONFIRMED and (not refs or ref not in refs):
        return f"told confirmed {ref}, the provider has {_refs(deed)}"
    if state == State.REJECTED and refs and "wait" not in next_allowed:
        return f"told rejected, the provider has {_refs(deed)}"
    related = said.get("related_ref")
    if related is not None and related not in deed.placed | refs:
        return f"told that {related} exists, and it does not"
    return ""


def _words(story: Story, deeds: Sequence[Deed]) -> Iterator[Finding]:
    """What the person reads: no reference that does not exist, and the sentences that are due."""
    known = {effect.ref for deed in deeds for effect in deed.effects}
    known |= {ref for deed in deeds for ref in deed.placed}
    told = {id(one): one for deed in deeds for one in deed.told}.values()
    for one in told:
        named = {ref for sentence in one.say.values() for ref in _REFERENCE.findall(sentence)}
        if named - known:
            invented = ", ".join(sorted(named - known))
            line = f"1 sentence names {invented}, the provider has none ({one.order})"
            yield Finding(invariant=MODEL_TRUTH, line=line)
    heard = {(one.order, sentence) for one in told for sentence in one.say.values()}
    missing = [sentence for order, sentence in story.must_hear if (order, sentence) not in heard]
    for sentence in missing:
        yield Finding(invariant=REQUIRED_END, line=f"this was due, and was not said: {sentence}")
    for intent in story.intents:
        if not any(one.order == intent.order for one in told):
            line = f"nobody was told anything about {intent.order}"
            yield Finding(invariant=REQUIRED_END, line=line)
    if story.workflow is not None:
        last = [one.facts["workflow_state"] for one in told][-1:]
        if last != [str(story.workflow)]:
            line = f"the wish is {''.join(last)}, must be {story.workflow}"
            yield Finding(invariant=REQUIRED_END, line=line)
