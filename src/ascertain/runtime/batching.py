"""Batches: which items a call asks for, what is stored of them, and one action for each item."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ascertain.errors import InvalidArguments
from ascertain.model.action import ActionRecord
from ascertain.model.outcome import Report
from ascertain.model.words import FoundItems
from ascertain.rules.news.items import merged
from ascertain.runtime.invoke import Opening
from ascertain.runtime.registry import Entry
from ascertain.store.ledger import Ledger


def keys_of(entry: Entry, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of the items that a call asks for; empty where the tool is no batch.

    ``items="orders"``: the elements of that list are keys themselves; ``items="orders.order_id"``:
    each element has its key there.

    :raises InvalidArguments: no items, one without a key, or the same one twice; nothing was sent.
    """
    if not entry.contract.items:
        return ()
    parameter, *path = entry.contract.items.split(".")
    found: Any = values.get(parameter)
    if not isinstance(found, list | tuple) or not found:
        raise InvalidArguments(
            f"{entry.name}: {parameter} must be a list with at least one item; nothing was sent."
        )
    keys = [_key(entry, item, path) for item in cast("Sequence[Any]", found)]
    twice = sorted(key for key, count in Counter(keys).items() if count > 1)
    if twice:
        raise InvalidArguments(
            f"{entry.name}: {parameter} has {', '.join(twice[:5])} more than once; nothing was "
            "sent.",
            next_step="Name each item once.",
        )
    return tuple(keys)


def with_items(entry: Entry, opening: Opening, values: Mapping[str, Any]) -> Opening:
    """The opening of a batch knows what its answer has to speak of."""
    if not entry.contract.items:
        return opening
    return opening._replace(items=keys_of(entry, values))


def with_known(ledger: Ledger, record: ActionRecord, news: Report) -> Report:
    """The news of a look-up, with what is stored of the items of which it says nothing."""
    if not isinstance(news.value, FoundItems) or news.result is None:
        return news
    items = merged(items_in(ledger.result(record.id)), items_in(news.result))
    return news._replace(result=json.dumps({"items": items}, ensure_ascii=False))


def items_in(result: str | None) -> list[dict[str, Any]]:
    """What is stored of a batch's items."""
    if result is None:
        return []
    found: Any = json.loads(result)
    if not isinstance(found, dict):
        return []
    items: Any = cast("dict[str, Any]", found).get("items")
    return cast("list[dict[str, Any]]", items) if isinstance(items, list) else []


def _key(entry: Entry, item: Any, path: list[str]) -> str:
    for name in path:
        inside = isinstance(item, Mapping)
        item = cast("Mapping[str, Any]", item).get(name) if inside else getattr(item, name, None)
    if isinstance(item, bool) or not isinstance(item, str | int) or item == "":
        raise InvalidArguments(
            f"{entry.name}: an item of {entry.contract.items} has no key; nothing was sent.",
            next_step="The key is a text or a whole number.",
        )
    return str(item)
