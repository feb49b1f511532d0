"""A batch's answer, judged: from what is known of its items to what is known of the action."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ascertain.model.outcome import Answer, Effect, Evidence, Kind, Outcome
from ascertain.model.words import Accepted, Items, Refused
from ascertain.rules.news.case import ASK_AFTER_S, Case
from ascertain.rules.news.items import not_now, states_of, whole
from ascertain.rules.news.replies import code_of, provider_kind, ref_of, seconds_of


def batch(case: Case, items: Items) -> Outcome:
    """Judge what a body said of each item."""
    found = whole(states_of(items))
    match found.effect:
        case Effect.CONFIRMED:
            confirmed = case.outcome(Effect.CONFIRMED, found.reason, value=items)
            return confirmed._replace(not_now=not_now(items) or None)
        case Effect.ACCEPTED:
            jobs = [said for said in items.told.values() if isinstance(said, Accepted)]
            after_s = _soonest(job.ask_after_s for job in jobs)
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


def batch_found(answers: Sequence[Answer]) -> Answer:
    """Judge what a look-up said of a batch, from its answers of each item.

    Each is judged as the answer of an action of its own: a question that was refused for now says
    no more of an item than of an action.
    """
    waits = [said.ask_after_s for said in answers if said.evidence is Evidence.WORKING]
    if waits:
        return Answer(evidence=Evidence.WORKING, reason="working", ask_after_s=_soonest(waits))
    if answers and all(said.evidence is Evidence.ABSENT for said in answers):
        return Answer(evidence=Evidence.ABSENT, reason="absent")
    if not answers or not all(said.found or said.refused for said in answers):
        return Answer(evidence=Evidence.UNANSWERED, reason="items_open")
    refusals = [said for said in answers if said.refused]
    if len(refusals) == len(answers):
        first = refusals[0]
        return Answer(refused=True, reason="lookup_refused", kind=first.kind, code=first.code)
    count = max(said.count for said in answers if said.found)
    return Answer(found=True, reason="found", count=count, partly=bool(refusals))


def _soonest(waits: Iterable[object]) -> float:
    """When to ask again: for whichever item it is soonest; what is no time is the usual one."""
    times = [seconds_of(wait) for wait in waits]
    return min(ASK_AFTER_S if time is None else time for time in times)
