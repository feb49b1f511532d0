"""A batch: what is known of each item, and what that makes of the action. Pure, a small table.

The action is confirmed only where nothing of the batch is in doubt: what was declined is said for
each item, and one item without a definite answer leaves the whole action unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from ascertain.model.outcome import Effect
from ascertain.model.words import (
    Accepted,
    Found,
    FoundItems,
    Items,
    Processing,
    Receipt,
    Refused,
)
from ascertain.rules.news.replies import ref_of

PARTLY = frozenset({"items_partly", "found_partly"})
"""Reasons of a confirmation that does not speak for every item."""


LATER = "items_later"
"""A case over a batch of which some items were refused for a while, and others taken."""


class ItemState(StrEnum):
    """What is known of one item."""

    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    ACCEPTED = "accepted"
    UNKNOWN = "unknown"


class Whole(NamedTuple):
    """What the items make of the action, and why, as a stable code."""

    effect: Effect
    reason: str


def whole(states: Collection[ItemState]) -> Whole:
    """What is known of a batch; in this order, for the worst of it speaks for it."""
    if not states or ItemState.UNKNOWN in states:
        return Whole(Effect.UNKNOWN, "items_unknown")
    if ItemState.ACCEPTED in states:
        return Whole(Effect.ACCEPTED, "items_accepted")
    if ItemState.CONFIRMED not in states:
        return Whole(Effect.REFUSED, "items_refused")
    if ItemState.REJECTED in states:
        return Whole(Effect.CONFIRMED, "items_partly")
    return Whole(Effect.CONFIRMED, "items")


def state_of(said: object) -> ItemState:
    """What a body or a look-up said of one item; anything else is no answer."""
    match said:
        case Receipt() | Found():
            return ItemState.CONFIRMED
        case Refused():
            return ItemState.REJECTED
        case Accepted() | Processing():
            return ItemState.ACCEPTED
        case _:
            return ItemState.UNKNOWN


def states_of(items: Items | FoundItems) -> list[ItemState]:
    return [state_of(said) for said in items.told.values()]


def not_now(items: Items) -> tuple[str, ...]:
    """The items that were refused for a while: not done, and to be asked for again.

    Not under the batch's key, which speaks of all of its items; a call for these alone is an intent
    of its own.
    """
    return tuple(
        key for key, said in items.told.items() if isinstance(said, Refused) and said.retryable
    )


def merged(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """What is known of each item after one more answer: what says nothing of it takes nothing back.

    :param before: as it is stored. :param after: as it was told now, with every item.
    """
    known = {item.get("item"): item for item in before}
    return [
        dict(known.get(item["item"], item) if item["state"] == ItemState.UNKNOWN else item)
        for item in after
    ]


def completed(items: Items | FoundItems, asked: Collection[str]) -> Items | FoundItems:
    """The same with an entry for each item that was asked for, in that order.

    Of an item that the answer does not mention nothing is known; one that nobody asked for is left
    out, and then nothing of the answer can be relied on to be complete.
    """
    told: Mapping[str, Any] = items.told
    strangers = set(told) - set(asked)
    kept = {key: None if strangers else told.get(key) for key in asked}
    return type(items)(kept)


def item_facts(items: Items | FoundItems) -> list[dict[str, Any]]:
    """What is known of each item, in order, as it is stored and told."""
    return [{"item": key, **_facts(said)} for key, said in items.told.items()]


def _facts(said: object) -> dict[str, Any]:
    facts: dict[str, Any] = {"state": str(state_of(said))}
    match said:
        case Receipt(ref=ref) | Found(ref=ref):
            facts |= _named("provider_ref", ref)
        case Accepted(handle=handle):
            facts |= _named("handle", handle)
        case Refused():
            facts |= {"error_code": said.code, "kind": said.kind}
            if said.retryable:
                facts["retryable"] = True
        case _:
            pass
    return facts


def _named(name: str, value: object) -> dict[str, str]:
    """A reference by its name; what can be none is left out, as it is of an action."""
    text = ref_of(value)
    return {} if text is None else {name: text}
