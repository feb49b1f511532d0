"""A batch's answer, judged: from what is known of its items to what is known of the action."""

from __future__ import annotations

from ascertain.model.outcome import Answer, Effect, Evidence, Kind, Outcome
from ascertain.model.words import (
    AbsentType,
    Accepted,
    Found,
    FoundItems,
    Items,
    Processing,
    Refused,
)
from ascertain.rules.items import states_of, whole
from ascertain.rules.news.case import Case
from ascertain.rules.news.replies import code_of, provider_kind, ref_of, seconds_of


def batch(case: Case, items: Items) -> Outcome:
    """Judge what a body said of each item."""
    found = whole(states_of(items))
    match found.effect:
        case Effect.CONFIRMED:
            return case.outcome(Effect.CONFIRMED, found.reason, value=items)
        case Effect.ACCEPTED:
            jobs = [said for said in items.told.values() if isinstance(said, Accepted)]
            after_s = min(job.ask_after_s for job in jobs)
            return case.accepted(found.reason, ref_of(jobs[0].handle), after_s)
        case Effect.REFUSED:
            refusals = [said for said in items.told.values() if isinstance(said, Refused)]
            kinds = {refusal.kind for refusal in refusals}
            codes = {refusal.code for refusal in refusals}
            kind = provider_kind(refusals[0].kind) if len(kinds) == 1 else None
            return case.refused(
                found.reason,
                kind or Kind.BUSINESS,
                in_its_words=True,
                code=code_of(refusals[0].code) if len(codes) == 1 else None,
                retryable=all(refusal.retryable for refusal in refusals),
            )
        case _:
            return case.unknown(found.reason)


def batch_found(items: FoundItems) -> Answer:
    """Judge what a look-up found of each item."""
    told = list(items.told.values())
    if any(isinstance(said, Processing) for said in told):
        waits = [said.ask_after_s for said in told if isinstance(said, Processing)]
        return Answer(
            evidence=Evidence.WORKING, reason="working", ask_after_s=seconds_of(min(waits))
        )
    if told and all(_is_absent(said) for said in told):
        return Answer(evidence=Evidence.ABSENT, reason="absent")
    if not told or any(not isinstance(said, Found | Refused) for said in told):
        return Answer(evidence=Evidence.UNANSWERED, reason="items_open")
    refusals = [said for said in told if isinstance(said, Refused)]
    if len(refusals) == len(told):
        first = refusals[0]
        return Answer(
            refused=True, reason="lookup_refused", kind=provider_kind(first.kind) or Kind.BUSINESS,
            code=code_of(first.code),
        )  # fmt: skip
    counts = [said.count for said in told if isinstance(said, Found)]
    return Answer(found=True, reason="found", count=max(counts), partly=bool(refusals))


def _is_absent(said: object) -> bool:
    return isinstance(said, AbsentType) or said is AbsentType
