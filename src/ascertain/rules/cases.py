"""A person's case: who has it, by when, and which answers it takes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple, cast

from ascertain.model.action import ActionRecord, EventRecord
from ascertain.model.tables import By, State
from ascertain.rules.moves import Move, dispute, note
from ascertain.rules.news.items import LATER

REVIEW_WITHIN_S = 86_400.0
"""A case has a deadline even where nobody set one: a day after it was opened."""
CONTRADICTION = "contradiction"
SEVERAL = "several_effects"
ONE_TOO_MANY = "one_too_many"
ASSIGNED = "review_assigned"


class Verdict(StrEnum):
    """What a person may find."""

    CONFIRMED = "confirmed"
    NOT_DONE = "not_done"
    TOO_MANY = "too_many"
    UNDONE = "undone"
    TURN_BACK = "turn_back"
    KEPT = "kept"


class Handed(NamedTuple):
    """What the events say of a case, the newest word of each.

    :param owner: empty: nobody has it yet. :param by_at: the deadline.
    :param verdicts: those that came with the case, beside what the state itself permits.
    :param request_ids: the provider's own ids of the requests, oldest first.
    :param items: of a batch, those that were refused for a while.
    """

    owner: str
    by_at: float
    verdicts: tuple[str, ...]
    request_ids: tuple[str, ...]
    items: tuple[str, ...] = ()


def unsettled(record: ActionRecord) -> bool:
    """Whether a person's case leaves open what became of the action, or of its wish.

    Items that were refused for a while are known not to be done: somebody sees to them, and that is
    all that waits.
    """
    return in_review(record) and not (record.review == LATER and not record.disputed)


def in_review(record: ActionRecord) -> bool:
    """Whether a person has to look at it; not where one has, and found against the state."""
    return record.review is not None or (bool(record.disputed) and not record.overruled)


def reason_of(record: ActionRecord) -> str:
    """Why a person has to look at it; a stable code."""
    return record.review or (CONTRADICTION if record.disputed else "")


def permitted(record: ActionRecord) -> tuple[Verdict, ...]:
    """The verdicts that what is known permits; whether it can be known yet is checked when given.

    What is settled takes none, unless evidence contradicts it, or it may be more than one effect.
    A refusal for a while is definite: it can only be ended.
    """
    if record.disputed:
        return (Verdict.CONFIRMED, Verdict.NOT_DONE)
    match record.state:
        case State.UNKNOWN | State.SENT:
            return (Verdict.CONFIRMED, Verdict.NOT_DONE)
        case State.PREPARED:
            return (Verdict.NOT_DONE,)
        case State.REJECTED:
            return () if record.final else (Verdict.NOT_DONE,)
        case State.CONFIRMED if record.review == SEVERAL:
            return (Verdict.CONFIRMED, Verdict.TOO_MANY)
        case State.CONFIRMED if record.review == LATER:
            return (Verdict.CONFIRMED,)
        case _:
            return ()


def as_found(record: ActionRecord) -> tuple[State, bool]:
    """What the action counts as, and whether for good: as a person found it, else as it stands."""
    if not record.overruled:
        return record.state, bool(record.final)
    if record.state is State.CONFIRMED:
        return State.REJECTED, True
    return State.CONFIRMED, False


def handed(record: ActionRecord, events: Iterable[EventRecord]) -> Handed:
    """Read a case from the events of its action."""
    opened_at = record.review_at if record.review_at is not None else record.updated_at
    owner, by_at, verdicts = "", opened_at + REVIEW_WITHIN_S, list[str]()
    request_ids: dict[str, None] = {}
    items = list[str]()
    for event in events:
        detail = _detail(event.detail)
        request_id = detail.get("request_id")
        if isinstance(request_id, str):
            request_ids[request_id] = None
        if event.at < opened_at:
            continue
        named = detail.get("not_now")
        if isinstance(named, list):
            items = [str(item) for item in cast("list[object]", named)]
        if isinstance(detail.get("owner"), str):
            owner = detail["owner"]
        if isinstance(detail.get("review_by"), int | float):
            by_at = float(detail["review_by"])
        said = detail.get("verdicts")
        if isinstance(said, list):
            verdicts = [str(word) for word in cast("list[object]", said)]
    return Handed(owner, by_at, tuple(verdicts), tuple(request_ids), tuple(items))


def assign(record: ActionRecord, *, owner: str, by_at: float, now: float) -> Move:
    """Give a case to somebody, until when; nothing else changes."""
    return note(record, By.PERSON, ASSIGNED, now, {"owner": owner, "review_by": by_at})


def too_many(record: ActionRecord, *, evidence: str, now: float) -> Move:
    """A person found more effects than were wished for.

    What is confirmed did happen, so the state stands; the case stays open as a contradiction until
    somebody has put it right at the provider and says that it is as it should be.
    """
    detail = {"evidence": evidence}
    return dispute(record.changed(review=None), ONE_TOO_MANY, now, detail, By.PERSON)


def _detail(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
