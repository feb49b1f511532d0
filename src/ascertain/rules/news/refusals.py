"""What the provider answered, by HTTP or otherwise, when it was no plain "done".

The contract is asked first, then the tables.
"""

from __future__ import annotations

from typing import Any

from ascertain.model.outcome import Kind, Outcome
from ascertain.rules.news import http
from ascertain.rules.news.case import Case
from ascertain.rules.news.replies import (
    Refusal,
    declared_refusal,
    error_in,
    handle_in,
    receipt_in,
    ref_of,
    unsettled_code,
)
from ascertain.rules.news.spoken import Said, Verdict


def by_verdict(case: Case, said: Said, verdict: Verdict) -> Outcome:
    """A code of another protocol; the contract may know it by name."""
    known = declared_refusal(case.contract.refusals, None, status=None, code=said.code)
    if known is not None:
        return declared(case, said, known, None)
    if verdict.kind is None:
        return case.unknown(verdict.reason, code=said.code)
    return case.refused(verdict.reason, verdict.kind, code=said.code)


def by_http_status(case: Case, said: Said, *, swallowed: bool = False) -> Outcome:
    """An HTTP status: the contract first, then what the status says whoever sent it."""
    contract = case.contract
    status = said.status or 0
    seen = case.seen
    raw = said.retry_after or (None if seen is None else seen.retry_after)
    advice = http.retry_after_s(raw, now=case.now)
    known = declared_refusal(contract.refusals, said.body, status=status, code=said.code)
    if known is not None:
        return declared(case, said, known, advice)
    in_error, code = error_in(said.body, contract.error_paths)
    code = code or said.code
    more: dict[str, Any] = {"code": code, "retry_after_s": advice, "http_status": status}
    if 200 <= status < 300:
        return _good_http_status_bad_end(case, said, in_error=in_error, more=more)
    row = http.meaning(status, retry_after=advice is not None)
    mark = unsettled_code(code)
    settled = row.kind is not None and mark is None
    if status in contract.unprocessed and not settled and mark != "duplicate_refusal":
        throttled = status == 429 or mark == "throttled"
        kind = Kind.THROTTLED if throttled else Kind.UNAVAILABLE
        return case.refused("refused_unprocessed", kind, resent=said.resent, **more)
    reason = "swallowed_error" if swallowed else mark or row.reason
    if mark is not None or row.kind is None:
        return case.unknown(reason, **more)
    return case.refused(reason, row.kind, resent=said.resent, **more)


def declared(case: Case, said: Said, known: Refusal, advice: float | None) -> Outcome:
    """A refusal that the contract names."""
    more: dict[str, Any] = {
        "code": known.code, "related_ref": known.related_ref,
        "retry_after_s": advice, "http_status": said.status,
    }  # fmt: skip
    if known.kind is None:
        return case.unknown("undeclared_refusal", **more)
    return case.refused("refused_by_contract", known.kind, resent=said.resent, **more)


def _good_http_status_bad_end(
    case: Case, said: Said, *, in_error: bool, more: dict[str, Any]
) -> Outcome:
    """The provider answered 2xx, and yet the tool raised or the status is no plain "done"."""
    if in_error:
        return error_body(case, more, resent=said.resent)
    status = more["http_status"]
    if status == 202:
        handle = (
            ref_of(said.location) or handle_in(said.body) or receipt_in(said.body, case.contract)
        )
        return case.accepted("http_202", handle, more["retry_after_s"], http_status=status)
    return case.unknown(f"http_{status}" if status in (207, 208) else "unreadable_answer", **more)


def error_body(case: Case, more: dict[str, Any], *, resent: bool = False) -> Outcome:
    """An error in a reply that looked well; a code that no contract knows is a business refusal."""
    mark = unsettled_code(more["code"])
    if mark is not None:
        return case.unknown(mark, **more)
    return case.refused("error_body", Kind.BUSINESS, resent=resent, **more)
