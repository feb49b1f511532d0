"""From the raw news of one look-up to what it answered.

A search that broke is not absence: the look-up must have been answered itself (over HTTP, where the
hooks see it) before its "absent" counts, whatever its code made of the reply.
"""

from __future__ import annotations

from typing import Any, cast

from ascertain.model.contract import Contract
from ascertain.model.outcome import Answer, Evidence, Kind, Report, WireTrace
from ascertain.model.words import AbsentType, Found, FoundItems, Processing, Refused
from ascertain.rules.news import http
from ascertain.rules.news.batches import batch_found
from ascertain.rules.news.case import ASK_AFTER_S
from ascertain.rules.news.exceptions import leaf_key
from ascertain.rules.news.replies import code_of, provider_kind, ref_of, seconds_of

_FOR_NOW = frozenset({Kind.THROTTLED, Kind.UNAVAILABLE})


def judge_lookup(report: Report, contract: Contract) -> Answer:
    """Judge one look-up.

    Raising, and a word that the wire belies, is no answer. ``None`` or a foreign value is a defect
    of the look-up: no answer either, with the reason ``lookup_answer`` and, as its code, what it
    was.

    :param contract: of the tool whose action is looked up.
    """
    del contract  # what a look-up promises is weighed where its answer meets the action
    if report.error is not None:
        return _unanswered(leaf_key(report.error))
    value = report.value
    if report.live or (value is None and report.interrupt is not None):
        return _unanswered("interrupted")
    if isinstance(value, Found):
        return _found(value)
    words = AbsentType | Refused | Processing | FoundItems
    if not (isinstance(value, words) or value is AbsentType):
        return _unanswered("lookup_answer", code=type(value).__name__)
    if report.trace is not None and report.trace.sends and _broke(report.trace):
        return _unanswered("lookup_broke")
    if isinstance(value, FoundItems):
        return batch_found([_word(said) for said in value.told.values()])
    return _word(value)


def _word(value: object) -> Answer:
    """What a look-up said of one action, or of one item of a batch."""
    if isinstance(value, Found):
        return _found(value)
    if isinstance(value, Refused):
        return _refused(value)
    if isinstance(value, Processing):
        return _working(value.ask_after_s)
    if isinstance(value, AbsentType) or value is AbsentType:
        return Answer(evidence=Evidence.ABSENT, reason="absent")
    return _unanswered("lookup_answer", code=type(value).__name__)


def _found(value: Found) -> Answer:
    ref = ref_of(value.ref)
    if ref is None:
        return _unanswered("found_without_ref")
    count: Any = value.count
    if not isinstance(count, int) or count < 1:
        return _unanswered("lookup_answer", code=f"Found with count={count!r:.40}")
    listed = cast("list[Any] | None", value.refs if isinstance(value.refs, list | tuple) else None)
    refs = [ref_of(one) for one in listed or ()]
    if listed is None or None in refs:
        return _unanswered("lookup_answer", code=f"Found with refs={value.refs!r:.40}")
    every = tuple(dict.fromkeys((ref, *(one for one in refs if one is not None)))) if refs else ()
    return Answer(
        found=True, reason="found", provider_ref=ref, value=value.value,
        count=max(int(count), len(every)), refs=every,
    )  # fmt: skip


def _refused(value: Refused) -> Answer:
    kind = provider_kind(value.kind) or Kind.BUSINESS
    if kind is Kind.IN_PROGRESS:
        return _working(value.retry_after_s)
    if kind in _FOR_NOW:
        return _unanswered("lookup_broke")  # it is the question that was refused
    return Answer(
        refused=True,
        reason="lookup_refused",
        kind=kind,
        code=code_of(value.code),
        related_ref=ref_of(value.related_ref),
    )


def _working(ask_after_s: Any) -> Answer:
    after_s = seconds_of(ask_after_s)
    return Answer(
        evidence=Evidence.WORKING,
        reason="working",
        ask_after_s=ASK_AFTER_S if after_s is None else after_s,
    )


def _broke(trace: WireTrace) -> bool:
    status = trace.http_status
    if status is None or trace.complete is False:
        return True
    return status in http.LOOKUP_BROKE or 300 <= status < 400 or status >= 500


def _unanswered(reason: str, *, code: str | None = None) -> Answer:
    return Answer(evidence=Evidence.UNANSWERED, reason=reason, code=code)
