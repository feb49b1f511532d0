"""What holds for every report, however odd."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ascertain.model.contract import LookupPromise, RefusalRule
from ascertain.model.outcome import RETRYABLE_KINDS, Effect, Evidence, Kind, Report, WireTrace
from ascertain.model.words import Absent, Accepted, Found, NotSent, Processing, Receipt, Refused
from ascertain.rules.news.classify import REASONS, classify, judge_lookup
from ascertain.rules.news.exceptions import LEAVES
from ascertain.rules.news.spoken import GRPC
from tests.pure.stand_ins import (
    NOW,
    SEARCH,
    TICKETS,
    caused,
    http_error,
    response,
    stand_in,
    thing,
    within,
)

CODES = st.sampled_from(["X", "OPEN", "already_exists", "throttled", "*", ""])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | CODES
    | st.binary()
)
NAMES = st.sampled_from(
    ["id", "ticket_id", "order_id", "other_id", "error", "errors", "code", "ok", "isError", "data"]
)
BODIES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.integers(), inner),
    max_leaves=6,
)
STATUSES = st.none() | st.integers(min_value=100, max_value=599)
HEADERS = st.dictionaries(
    st.sampled_from(["Retry-After", "retry-after", "Location", "x-stainless-retry-count"]),
    st.sampled_from(["0", "1", "60", "-1", "1.5", "/jobs/7", "Fri, 15 Jan 2027 08:01:00 GMT", ""])
    | st.integers(),
)
RESPONSES = st.builds(
    response,
    STATUSES.filter(bool),
    st.none() | BODIES,
    HEADERS,
    history=st.lists(st.text(), max_size=1),
)
KINDS = st.sampled_from([*Kind, "nonsense", ""])


def known_to_us(name):
    module, _, leaf = name.partition(".")
    return stand_in(f"{module}.x.{leaf}")


UNKNOWN_CLASSES = st.sampled_from(
    [KeyError, ValueError, RuntimeError, RecursionError, OSError, MemoryError]
).map(lambda made: made("text")) | st.builds(lambda: stand_in("acme.sdk.Broken", "403", 500))
CODED = (
    st.sampled_from([*GRPC, "UNAVAILABLE"]).map(
        lambda name: stand_in("grpc.RpcError", code=lambda: thing(name=name))
    )
    | st.integers().map(lambda n: stand_in("smtplib.SMTPDataError", smtp_code=n))
    | st.sampled_from(["40001", "23505", "57P01", None]).map(
        lambda state: stand_in("psycopg.OperationalError", sqlstate=state)
    )
    | st.sampled_from([-32602, -32601, -32000]).map(
        lambda n: stand_in("mcp.MCPError", error=thing(code=n))
    )
)
ANSWERED = (
    st.builds(http_error, STATUSES.filter(bool), st.none() | BODIES)
    | RESPONSES.map(lambda reply: stand_in("acme.Error", response=reply))
    | st.builds(lambda n: stand_in("acme.Error", status_code=n), BODIES | STATUSES)
)
WORDS = st.builds(NotSent, CODES, retryable=st.booleans()) | st.builds(
    Refused, CODES, kind=KINDS, retryable=st.booleans(), related_ref=BODIES
)
ERRORS = st.recursive(
    UNKNOWN_CLASSES | st.sampled_from(sorted(LEAVES)).map(known_to_us) | CODED | ANSWERED | WORDS,
    lambda inner: (
        st.builds(caused, inner, inner)
        | st.builds(within, inner, inner)
        | st.lists(inner, min_size=1, max_size=2).map(lambda some: ExceptionGroup("each", some))
    ),
    max_leaves=4,
)
INTERRUPTS = st.sampled_from([KeyboardInterrupt(), asyncio.CancelledError(), SystemExit(1)])
VALUES = (
    BODIES
    | RESPONSES
    | ERRORS
    | st.builds(Receipt, BODIES, BODIES)
    | st.builds(Accepted, BODIES, SCALARS)
    | st.builds(Found, BODIES, BODIES, SCALARS)
    | st.builds(Processing, SCALARS)
    | st.sampled_from([Absent, type(Absent), object(), iter(())])
)
TARGETS = st.lists(st.sampled_from(["POST a/x", "PUT b/y"]), unique=True, max_size=2).map(tuple)
TRACES = st.builds(
    WireTrace,
    sends=st.integers(min_value=0, max_value=3),
    unsafe_sends=st.none(),
    left=st.booleans(),
    answered=st.booleans(),
    http_status=STATUSES,
    complete=st.none() | st.booleans(),
    unsafe=st.booleans(),
    targets=TARGETS,
    exits=st.frozensets(st.sampled_from(["crm", "mail"])),
    retry_after=st.none() | st.sampled_from(["1", "-1", "soon"]),
    request_id=st.none() | st.text(max_size=3),
)
REPORTS = st.builds(
    Report,
    value=VALUES,
    error=st.none() | ERRORS | INTERRUPTS,
    trace=st.none() | TRACES,
    steps=st.sampled_from([(), ("charge",)]),
    interrupt=st.none() | INTERRUPTS,
    live=st.booleans(),
)
RULES = st.builds(
    RefusalRule,
    code=CODES,
    kind=KINDS.map(str),
    http_status=st.none() | st.sampled_from([200, 400, 403, 409]),
    code_path=st.sampled_from(["error.code", "code", "error", "data.0.code"]),
    related_path=st.sampled_from(["", "id"]),
)
CONTRACTS = st.builds(
    replace,
    st.sampled_from([TICKETS, SEARCH]),
    via=st.sampled_from([(), ("crm",)]),
    refusals=st.lists(RULES, max_size=2).map(tuple),
    error_paths=st.sampled_from([(), ("error.code",), ("error", "data.0")]),
    unprocessed=st.sampled_from([(), (429, 503), (403, 409)]),
    receipt=st.sampled_from(["", "id", "data.0.id"]),
    receipt_required=st.booleans(),
    refusal_covers_key=st.booleans(),
    lookup=st.none() | st.just(LookupPromise()),
)


@settings(max_examples=200, deadline=None)
@given(REPORTS, CONTRACTS)
def test_every_report_is_judged_and_the_outcome_is_whole(report, contract):
    outcome = classify(report, contract, now=NOW)

    assert outcome.reason in REASONS
    assert outcome == classify(report, contract, now=NOW), "the same news, the same outcome"
    assert (outcome.kind is not None) == (outcome.effect is Effect.REFUSED) or (
        outcome.effect is Effect.NOT_SENT and outcome.kind is Kind.TOOL_ERROR
    )
    if outcome.kind in RETRYABLE_KINDS and not contract.is_read:
        assert outcome.retryable
    assert outcome.sends >= int(outcome.effect is not Effect.NOT_SENT)
    if report.trace is not None and report.trace.sends:
        assert outcome.sends == report.trace.sends
    for advice in (outcome.retry_after_s, outcome.ask_after_s):
        assert advice is None or 0.0 <= advice <= 1e9
    for reference in (outcome.provider_ref, outcome.related_ref, outcome.handle):
        assert reference is None or reference.strip()
    if outcome.effect is not Effect.CONFIRMED:
        assert (outcome.value, outcome.provider_ref) == (None, None)
    if outcome.effect is not Effect.ACCEPTED:
        assert (outcome.handle, outcome.ask_after_s) == (None, None)


@settings(max_examples=120, deadline=None)
@given(REPORTS, CONTRACTS, TRACES)
def test_req_U04_what_was_seen_leaving_is_never_not_sent(report, contract, seen):
    left = report._replace(trace=seen._replace(left=True, sends=max(1, seen.sends)))

    assert classify(left, contract, now=NOW).effect is not Effect.NOT_SENT


@settings(max_examples=100, deadline=None)
@given(REPORTS, CONTRACTS)
def test_a_body_that_may_still_send_teaches_nothing(report, contract):
    write = replace(contract, access="write")

    assert classify(report._replace(live=True), write, now=NOW).effect is Effect.UNKNOWN


@settings(max_examples=100, deadline=None)
@given(UNKNOWN_CLASSES, UNKNOWN_CLASSES, st.booleans(), CONTRACTS)
def test_an_unknown_exception_confirms_and_refuses_nothing(error, other, named, contract):
    error = caused(error, other) if named else within(error, other)
    write = replace(contract, access="write")

    assert classify(Report(error=error), write, now=NOW).effect is Effect.UNKNOWN


@settings(max_examples=100, deadline=None)
@given(ERRORS | INTERRUPTS, st.none() | TRACES, CONTRACTS)
def test_what_raised_is_never_confirmed(error, seen, contract):
    outcome = classify(Report(error=error, trace=seen), contract, now=NOW)

    assert outcome.effect is not Effect.CONFIRMED


@settings(max_examples=120, deadline=None)
@given(REPORTS, CONTRACTS)
def test_req_F07_a_read_never_becomes_unknown(report, contract):
    read = replace(contract, access="read")
    if report.trace is not None:
        report = report._replace(trace=report.trace._replace(unsafe=False, targets=()))
    outcome = classify(report, read, now=NOW)

    assert outcome.effect in (Effect.CONFIRMED, Effect.REFUSED)


@settings(max_examples=100, deadline=None)
@given(REPORTS, CONTRACTS, TRACES)
def test_req_F23_several_targets_are_never_refused(report, contract, seen):
    write = replace(contract, access="write")
    several = seen._replace(targets=("POST a/x", "PUT b/y"), unsafe=True, left=True)
    outcome = classify(report._replace(trace=several, steps=()), write, now=NOW)

    assert outcome.effect is not Effect.REFUSED
    assert outcome.several_effects


@settings(max_examples=120, deadline=None)
@given(REPORTS, CONTRACTS)
def test_every_look_up_has_an_answer_of_one_kind(report, contract):
    answer = judge_lookup(report, contract)

    assert answer.reason
    assert answer.found + answer.refused + (answer.evidence is not None) == 1
    if answer.found:
        assert (answer.provider_ref or "").strip()
        assert answer.count >= 1
        assert isinstance(report.value, Found)
    if answer.evidence is Evidence.ABSENT:
        assert report.value in (Absent, type(Absent))
        assert report.error is None
    if report.error is not None:
        assert answer.evidence is Evidence.UNANSWERED
