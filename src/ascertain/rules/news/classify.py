"""From the raw news of one invocation to what it teaches.

In doubt a write is unknown. It is confirmed by an answer, refused by a definite refusal that can
only speak of this attempt, and not sent only by positive proof: of the hooks for every send, where
all ways out are watched, or of an exception for exactly one. Nothing here reads a text or knows a
library; what is known of libraries, HTTP statuses and bodies stands in tables beside it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from ascertain.model.contract import Contract
from ascertain.model.outcome import Effect, Kind, Outcome, Report, WireTrace
from ascertain.model.words import (
    AbsentType,
    Accepted,
    Found,
    FoundItems,
    Items,
    NotSent,
    Processing,
    Receipt,
    Refused,
)
from ascertain.rules.news import http
from ascertain.rules.news.batches import batch
from ascertain.rules.news.case import Case
from ascertain.rules.news.exceptions import family, leaf_key, mentioned, peek, proves_not_sent
from ascertain.rules.news.lookups import judge_lookup
from ascertain.rules.news.reasons import OWN_WORDS, REASONS
from ascertain.rules.news.refusals import by_http_status, by_verdict, declared, error_body
from ascertain.rules.news.replies import (
    SCALARS,
    code_of,
    declared_refusal,
    error_in,
    looks_like_error,
    provider_kind,
    receipt_in,
    ref_of,
    seconds_of,
)
from ascertain.rules.news.spoken import Said, said_by, said_by_reply

__all__ = ["REASONS", "classify", "judge_lookup"]

_PLAIN: Final = frozenset({dict, list, str, int, float, bool, type(None), tuple, bytes})
_TEXTS: Final = (str, bytes)
_LOOKUP_WORDS: Final = (Found, FoundItems, AbsentType, Processing, Items)
_OF_A_BATCH: Final = (Items, Accepted, BaseException)

# ----------------------------------------------------------------------------------------- writes


def classify(report: Report, contract: Contract, *, now: float) -> Outcome:
    """Judge one invocation of a tool's body.

    A read never becomes unknown: without an answer it is refused as unavailable, and may be tried
    again. An unsafe method seen in a read is judged as the write that it is (``unsafe_read``).

    :param now: seconds since the epoch, from which a ``Retry-After`` date is counted.
    """
    if contract.access == "read":
        return _read(report, contract, now)
    if report.error is None and report.interrupt is None and not report.live:
        return _returned(report, contract, now, report.value)
    return _not_returned(Case(report=report, contract=contract, now=now))


def _not_returned(case: Case) -> Outcome:
    report = case.report
    error = report.error
    if report.live:
        return case.unknown(_given_up(error))
    if error is not None and isinstance(error, Exception):
        return _raised(case, error)
    if error is None and report.value is not None:
        # Interrupted while it waited, but the body had ended by itself: its answer is in hand.
        return _returned(report, case.contract, case.now, report.value)
    return case.not_sent("interrupted") if case.nothing_left else case.unknown("interrupted")


def _given_up(error: BaseException | None) -> str:
    row = None if error is None or not isinstance(error, Exception) else family(error)
    return "interrupted" if row is None else row.reason


def _raised(case: Case, error: BaseException) -> Outcome:
    if isinstance(error, NotSent):
        return _said_not_sent(case, error)
    if isinstance(error, Refused):
        return case.refused(
            "said_refused",
            provider_kind(error.kind) or Kind.BUSINESS,
            in_its_words=True,
            code=code_of(error.code),
            retryable=bool(error.retryable),
            related_ref=ref_of(error.related_ref),
            retry_after_s=seconds_of(error.retry_after_s),
        )
    proof = _proof(case, error)
    if proof is not None:
        return proof
    return _answered_with_error(case, error)


def _said_not_sent(case: Case, error: NotSent) -> Outcome:
    trace = case.trace
    if trace is not None and trace.left:
        return case.unknown("said_not_sent_but_left")
    said = code_of(error.reason)
    if said in OWN_WORDS:
        return case.not_sent(said, retryable=bool(error.retryable))
    code = None if said == "not_sent" else said
    return case.not_sent("said_not_sent", retryable=bool(error.retryable), code=code)


def _proof(case: Case, error: BaseException) -> Outcome | None:
    """Positive proof that nothing left: by the hooks, or by the class of the exception."""
    trace = case.trace
    tried = trace is not None and trace.sends > 0
    row = family(error)
    if case.nothing_left:
        # An exception that tells of a reply or a lost one belies "only by these exits".
        if said_by(error) is None and (tried or _before_the_wire(error)):
            row = row or (mentioned(error) if tried else None)
            return _unsent(case, "nothing_left", defect=row is None or row.defect)
        return None
    # Something may have left unseen: an exception speaks only for the last of several sends.
    alone = trace is not None and trace.sends == 1 and not trace.left
    if tried and not alone:
        return None
    if not proves_not_sent(error, seen_alone=alone):
        return None
    return _unsent(case, "never_connected", defect=row is not None and row.defect)


def _before_the_wire(error: BaseException) -> bool:
    """Whether an exception fits with no send having begun: a defect, or a time that ran out."""
    row = family(error)
    if row is None or row.defect or leaf_key(error) == "builtins.TimeoutError":
        return True
    return proves_not_sent(error, seen_alone=True)


def _unsent(case: Case, reason: str, *, defect: bool) -> Outcome:
    if defect:
        return case.not_sent("tool_error_before_send", retryable=False, kind=Kind.TOOL_ERROR)
    return case.not_sent(reason)


def _answered_with_error(case: Case, error: BaseException) -> Outcome:
    """An exception that proves no "not sent": what the provider answered, if it did."""
    seen = case.seen
    row = family(error)
    said = said_by(error)
    if said is None:
        if row is not None or seen is None or seen.http_status is None:
            row = row or mentioned(error)
            return case.unknown("tool_error" if row is None else row.reason)
        said = Said(status=seen.http_status, retry_after=seen.retry_after)
    elif seen is not None and not case.contract.is_read and said.status != seen.http_status:
        return case.unknown("two_voices", code=said.code)
    if said.verdict is not None:
        return by_verdict(case, said, said.verdict)
    return by_http_status(case, said)


# ------------------------------------------------------------------------------- returned values


def _returned(report: Report, contract: Contract, now: float, value: Any) -> Outcome:
    """The body returned: confirmed, unless the reply or the hooks say otherwise."""
    trace = report.trace
    body = value
    if contract.items and not isinstance(value, _OF_A_BATCH):
        return Case(report=report, contract=contract, now=now).unknown("no_items")
    if type(value) not in _PLAIN:
        case = Case(report=report, contract=contract, now=now)
        outcome = _word(case, value)
        if outcome is not None:
            return outcome
        said = said_by_reply(value)
        if said is not None:
            body = said.body
            if said.status not in http.OK:
                return by_http_status(case, said, swallowed=True)
    if trace is not None and (trace.unsafe or contract.via) and not _is_plain(trace, value):
        outcome = _wire_says_no(Case(report=report, contract=contract, now=now), value, body)
        if outcome is not None:
            return outcome
    ref = receipt_in(body, contract)
    if body is not None and not isinstance(body, SCALARS):
        outcome = _body_says_no(report, contract, now, body, ref)
        if outcome is not None:
            return outcome
    if ref is None and contract.receipt_required:
        return Case(report=report, contract=contract, now=now).unknown("no_receipt")
    if trace is None:
        return Outcome(
            effect=Effect.CONFIRMED,
            reason="answered" if ref is None else "receipt",
            value=value,
            provider_ref=ref,
        )
    return Outcome(
        effect=Effect.CONFIRMED,
        reason="answered" if ref is None else "receipt",
        value=value,
        provider_ref=ref,
        http_status=trace.http_status,
        request_id=trace.request_id,
        sends=trace.writes or 1,
        several_effects=len(trace.targets) > 1 and not report.steps,
    )


def _is_plain(trace: WireTrace, value: Any) -> bool:
    """Whether the hooks saw a plain "done" and something came with it."""
    done = trace.http_status in http.OK and trace.complete is not False
    return done and not _is_empty(value)


def _is_empty(value: Any) -> bool:
    return isinstance(value, _TEXTS) and not value


def _word(case: Case, value: Any) -> Outcome | None:
    """What the body says in so many words, or what cannot be an answer; None: a value."""
    if isinstance(value, Receipt):
        ref = ref_of(value.ref)
        if ref is None and case.contract.receipt_required:
            return case.unknown("no_receipt")
        return case.outcome(
            Effect.CONFIRMED,
            "answered" if ref is None else "said_receipt",
            value=value.value,
            provider_ref=ref,
        )
    if isinstance(value, Accepted):
        return case.accepted("said_accepted", ref_of(value.handle), value.ask_after_s)
    if isinstance(value, Items) and case.contract.items:
        return batch(case, value)
    if isinstance(value, NotSent | Refused):
        return _raised(case, value)  # meant to be raised
    if isinstance(value, BaseException):
        return case.unknown("returned_error")
    if isinstance(value, _LOOKUP_WORDS) or value is AbsentType:
        return case.unknown("foreign_word")
    if any(peek(value, name) is not None for name in ("__next__", "__anext__", "__await__")):
        return case.unknown("not_drained")
    return None


def _wire_says_no(case: Case, value: Any, body: Any) -> Outcome | None:
    """The hooks saw no plain "done" for a body that returned; None: they did not see the write."""
    seen = case.seen
    if seen is None:
        return case.unknown("returned_without_sending") if case.nothing_left else None
    status = seen.http_status
    if status is None:
        return (
            case.not_sent("nothing_left") if case.nothing_left else case.unknown("swallowed_loss")
        )
    if status in http.OK:
        if seen.complete is False:
            return case.unknown("truncated")
        due = _is_empty(value) and status not in (204, 205)
        return case.unknown("empty_answer") if due else None
    said = Said(status=status, body=body, retry_after=seen.retry_after)
    return by_http_status(case, said, swallowed=True)


def _body_says_no(
    report: Report, contract: Contract, now: float, body: Any, ref: str | None
) -> Outcome | None:
    """An error in the body of a reply that looked well."""
    if contract.refusals:
        case = Case(report=report, contract=contract, now=now)
        seen = case.seen
        status = None if seen is None else seen.http_status
        known = declared_refusal(contract.refusals, body, status=status, code=None)
        if known is not None:
            return declared(case, Said(status=status), known, None)
    if not contract.error_paths:
        return None
    in_error, code = error_in(body, contract.error_paths)
    if in_error:
        return error_body(Case(report=report, contract=contract, now=now), {"code": code})
    # A receipt where the contract says that it stands outweighs a mere look.
    if looks_like_error(body) and not (ref and contract.receipt):
        return Case(report=report, contract=contract, now=now).unknown("error_like_body")
    return None


# ------------------------------------------------------------------------------------------ reads


def _read(report: Report, contract: Contract, now: float) -> Outcome:
    trace = report.trace
    if trace is not None and trace.unsafe:
        judged = classify(report, replace(contract, access="write"), now=now)
        return judged._replace(reason="unsafe_read")
    ended = report.error is None and not report.live
    if ended and (report.interrupt is None or report.value is not None):
        return _read_returned(report, contract, now, report.value)
    return _never_unknown(_not_returned(Case(report=report, contract=contract, now=now)))


def _read_returned(report: Report, contract: Contract, now: float, value: Any) -> Outcome:
    """What a read returned is its answer, unless the only reply that it got was none."""
    trace = report.trace
    body = value
    case = Case(report=report, contract=contract, now=now)
    if type(value) not in _PLAIN:
        outcome = _word(case, value)
        if outcome is not None:
            return _never_unknown(outcome)
        said = said_by_reply(value)
        body = value if said is None else said.body
        if said is not None and said.status not in http.OK:
            return _never_unknown(by_http_status(case, said, swallowed=True))
    if trace is not None and trace.sends == 1:
        # "There is none" (404) is what a read may well have come for.
        usual = trace.http_status in http.OK or trace.http_status in (404, 410)
        plain = usual and trace.complete is not False
        outcome = None if plain else _wire_says_no(case, value, body)
        if outcome is not None:
            return _never_unknown(outcome)
    known = declared_refusal(contract.refusals, body, status=None, code=None)
    if known is not None:
        return _never_unknown(declared(case, Said(), known, None))
    in_error, code = error_in(body, contract.error_paths)
    if in_error:
        return _never_unknown(error_body(case, {"code": code}))
    return case.outcome(Effect.CONFIRMED, "answered", value=value)


def _never_unknown(outcome: Outcome) -> Outcome:
    """No effect is possible, so no answer is a refusal for now."""
    kind, retryable, after_s = Kind.UNAVAILABLE, True, outcome.retry_after_s
    match outcome.effect:
        case Effect.CONFIRMED | Effect.REFUSED:
            return outcome
        case Effect.NOT_SENT:
            kind, retryable = outcome.kind or kind, outcome.retryable
        case Effect.ACCEPTED:
            kind, after_s = Kind.IN_PROGRESS, outcome.ask_after_s
        case _:
            throttled = outcome.reason in ("http_429", "throttled")
            kind = Kind.THROTTLED if throttled else kind
    return outcome._replace(
        effect=Effect.REFUSED, kind=kind, retryable=retryable, retry_after_s=after_s,
        handle=None, ask_after_s=None, sends=max(1, outcome.sends),
    )  # fmt: skip
