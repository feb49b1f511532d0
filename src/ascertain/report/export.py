"""The action log for somebody outside: actions, keys, receipts; personal data masked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ascertain.model.action import ActionRecord
from ascertain.report.reading import walk
from ascertain.report.story import Story, story_of
from ascertain.report.words import iso
from ascertain.rules.mac import Mac, prepared_hmac
from ascertain.store.ledger import Filter, Ledger

# The columns of a table; the lines of JSON have more.
COLUMNS = (
    "action", "tenant", "tool", "mode", "principal", "session", "turn", "chain", "replaces", "key",
    "state", "final", "kind", "reason", "code", "attempt", "sends", "provider_ref", "related_ref",
    "handle", "disputed", "review", "maybe_twice", "created_at", "first_sent_at", "last_sent_at",
    "updated_at", "arguments", "result", "said",
)  # fmt: skip
_TIMES = ("created_at", "first_sent_at", "last_sent_at", "updated_at")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which actions.

    :param since_at: only those made at or after this time; None: all.
    :param principals: show who wished it, instead of a pseudonym.
    """

    query: Filter
    since_at: float | None = None
    principals: bool = False


def exported(ledger: Ledger, selection: Selection, now: float) -> Iterator[dict[str, Any]]:
    """Action by action, newest first, as plain JSON.

    What a contract redacts is masked everywhere, and who wished it is a pseudonym: the same for the
    same principal, and not to be guessed without the ledger's secret. Cost: the actions between now
    and ``since_at``, and the events and payloads of those that fit.
    """
    pseudonym = prepared_hmac(prepared_hmac(ledger.secret())(b"ascertain export 1"))
    for record in walk(ledger, selection.query):
        if selection.since_at is not None and record.created_at < selection.since_at:
            return
        story = story_of(ledger, record, now)
        yield _line(story, _who(record, None if selection.principals else pseudonym))


def _line(story: Story, who: str) -> dict[str, Any]:
    record = story.record
    values = record._asdict()
    told: dict[str, Any] = {
        name: values[name] for name in COLUMNS if name in values and name not in _TIMES
    }
    return {
        "action": record.id,
        **told,
        "principal": who,
        "state": str(record.state),
        "kind": None if record.kind is None else str(record.kind),
        **{name: iso(values[name]) for name in _TIMES},
        "arguments": story.arguments,
        "result": story.result,
        "said": story.told,
        "events": [moment.as_dict() for moment in story.moments],
        "removed": not story.moments,
        "archived_at": None if story.burial is None else iso(story.burial.at),
        "archive": None if story.burial is None else story.burial.archive,
    }


def _who(record: ActionRecord, mac: Mac | None) -> str:
    if mac is None or not record.principal:
        return record.principal
    who = f"{record.tenant}\x1f{record.principal}"
    return f"p-{mac(who.encode()).hex()[:16]}"


def as_cells(line: dict[str, Any]) -> list[str]:
    """A line as the cells of a table; none of them is a formula to a spreadsheet."""
    return [_cell(line[name]) for name in COLUMNS]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(_FORMULA) else text
