"""The four views of a story, collected: told, seen, recorded, done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ascertain.demo.judge import Deed, Finding, judge
from ascertain.demo.stage import Stage
from ascertain.demo.stories import Intent, Story
from ascertain.demo.wishes import Control
from ascertain.model.action import ActionRecord, EventRecord
from ascertain.model.chain import Around
from ascertain.model.tables import Event
from ascertain.testing.world import Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A story as it went.

    :param control: what became of the same without the library, where the story has that.
    """

    story: Story
    deeds: tuple[Deed, ...]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    chain: Around | None = None
    control: Control | None = None

    @property
    def agrees(self) -> bool:
        return not self.findings

    def left_open(self) -> dict[str, int]:
        """Open ends by whom they are left to: ``person``, ``contract``, ``nobody``."""
        left = {"person": 0, "contract": 0, "nobody": 0}
        for deed in self.deeds:
            for record in deed.records:
                if not record.open:
                    continue
                if record.review is not None:
                    left["person"] += 1
                else:
                    left["contract" if deed.intent.left == "contract" else "nobody"] += 1
        return left

    def as_dict(self) -> dict[str, Any]:
        """The story for ``--json``."""
        told = {id(one): one for deed in self.deeds for one in deed.told}.values()
        return {
            "id": self.story.id,
            "title": self.story.title,
            "what": self.story.what,
            "agrees": self.agrees,
            "notes": list(self.notes),
            "chain": None if self.chain is None else _chain(self.chain),
            "control": None if self.control is None else asdict(self.control),
            "told": [{"order": one.order, "asked": one.asked, "facts": one.facts} for one in told],
            "ledger": [
                _record(record, deed.events) for deed in self.deeds for record in deed.records
            ],
            "provider": [_provider(deed) for deed in self.deeds],
            "findings": [
                {"invariant": one.invariant, "count": one.count, "line": str(one)}
                for one in self.findings
            ],
        }


def account_of(stage: Stage, story: Story, control: Control | None = None) -> Account:
    """Read the ledger and the providers' books, and judge."""
    records = stage.records(story)
    events = [event for record in records for event in stage.ledger.events(record.id)]
    deeds = tuple(_deed(stage, story, intent, records, events) for intent in story.intents)
    chain = stage.chain(story)
    findings = judge(story, deeds, chain, strangers(stage, story))
    return Account(
        story=story,
        deeds=deeds,
        notes=tuple(stage.notes.get(story.id, ())),
        findings=tuple(findings),
        chain=chain,
        control=control,
    )


def strangers(stage: Stage, story: Story) -> list[Effect]:
    """Effects of orders that nobody in the story asked anything for."""
    wanted = {intent.order for intent in story.intents}
    return [
        effect
        for provider, collection in sorted(story.effects_only_for_it)
        for effect in stage.worlds[provider].effects(collection)
        if effect.args.get("order_id") not in wanted
    ]


def _deed(
    stage: Stage,
    story: Story,
    intent: Intent,
    records: Sequence[ActionRecord],
    events: Sequence[EventRecord],
) -> Deed:
    world, order = stage.worlds[intent.provider], intent.order
    mine = [
        record
        for record in records
        if record.tool == intent.tool and stage.order_of(record) == order
    ]
    keys = {record.key for record in mine}
    posts = world.arrivals(intent.collection, method="POST", order_id=order)
    keys |= {came.key for came in posts if came.key}
    lookups = [came for came in world.arrivals(intent.collection, method="GET") if came.key in keys]
    return Deed(
        intent=intent,
        records=tuple(mine),
        events=tuple(event for event in events if event.action_id in {one.id for one in mine}),
        effects=tuple(world.effects(intent.collection, order_id=order)),
        posts=tuple(posts),
        lookups=tuple(lookups),
        told=tuple(one for one in stage.told if one.story == story.id and one.order == order),
        placed=frozenset(intent.existing),
        taken_over=intent.taken_over and order in stage.open_at_kill.get(story.id, {order}),
    )


def _chain(around: Around) -> dict[str, Any]:
    chain = around.chain
    return {"name": chain.name, "direction": str(chain.direction), "reason": chain.reason}


def _record(record: ActionRecord, events: Sequence[EventRecord]) -> dict[str, Any]:
    return {
        "action": record.id,
        "tool": record.tool,
        "intent": record.ordinal or None,
        "key": record.key,
        "state": str(record.state),
        "kind": None if record.kind is None else str(record.kind),
        "provider_ref": record.provider_ref,
        "related_ref": record.related_ref,
        "attempt": record.attempt,
        "review": record.review,
        "fence": record.fence,
        "timeline": [
            {
                "at": event.at,
                "event": event.event,
                "end": event.end,
                "by": event.by,
                "attempt": event.attempt,
                "reason": event.reason,
            }
            for event in events
            if event.action_id == record.id
        ],
    }


def _provider(deed: Deed) -> dict[str, Any]:
    return {
        "order": deed.intent.order,
        "tool": deed.intent.tool,
        "provider": deed.intent.provider,
        "effects": [{"ref": one.ref, "key": one.key} for one in deed.effects],
        "requests": [
            {
                "method": came.method,
                "key": came.key,
                "behaviour": came.behaviour,
                "answered": came.answered,
                "code": came.code,
            }
            for came in sorted((*deed.posts, *deed.lookups), key=lambda came: came.number)
        ],
    }


def is_move(event: EventRecord) -> bool:
    """Whether an event changed what is known."""
    return event.event != Event.NOTE
