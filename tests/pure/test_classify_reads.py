"""Reads never become unknown, and an unsafe method in a read is a write."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ascertain.model.contract import RefusalRule
from ascertain.model.outcome import Effect, Kind, WireTrace
from ascertain.model.words import Absent, Accepted, NotSent, Receipt, Refused
from tests.pure.stand_ins import (
    SEARCH,
    answered,
    coded,
    http_error,
    judge,
    lost_reply,
    response,
    stand_in,
    thing,
)

VIA = replace(SEARCH, via=("crm",))


def got(http_status, **changes):
    """One GET, answered."""
    return answered(http_status, **{"unsafe": False, "targets": (), **changes})


def read(error=None, *, contract=SEARCH, **news):
    return judge(error, contract=contract, **news)


@pytest.mark.parametrize(
    "error",
    [
        stand_in("httpx.ReadTimeout"),
        stand_in("httpx.ConnectError"),
        KeyError("x"),
        http_error(500),
        http_error(503),
        http_error(409),
        http_error(200),
        KeyboardInterrupt(),
        TimeoutError(),
    ],
)
def test_req_F07_no_answer_to_a_read_is_a_refusal_for_now(error):
    outcome = read(error)

    assert (outcome.effect, outcome.kind, outcome.retryable) == (
        Effect.REFUSED,
        Kind.UNAVAILABLE,
        True,
    )
    assert outcome.sends == 1


SOON = {"Retry-After": "4"}


@pytest.mark.parametrize(
    "error", [http_error(429, None, SOON), http_error(400, coded("rate_limited"), SOON)]
)
def test_a_throttled_read_says_when_to_come_back(error):
    outcome = read(error)

    assert (outcome.effect, outcome.kind) == (Effect.REFUSED, Kind.THROTTLED)
    assert (outcome.retryable, outcome.retry_after_s) == (True, 4.0)


@pytest.mark.parametrize(
    "http_status, kind", [(401, Kind.AUTH), (403, Kind.AUTH), (404, Kind.INVALID)]
)
def test_a_definite_refusal_of_a_read_is_final(http_status, kind):
    for seen in (None, got(http_status), got(http_status, sends=3)):
        outcome = read(http_error(http_status), trace=seen)
        assert (outcome.effect, outcome.kind, outcome.retryable) == (Effect.REFUSED, kind, False)


def test_a_read_of_two_clients_is_judged_by_what_it_raised():
    assert read(http_error(403), trace=got(200)).kind is Kind.AUTH


def test_words_of_a_read():
    assert read(Refused("NO", kind="business")).kind is Kind.BUSINESS
    assert read(NotSent("full")).kind is Kind.UNAVAILABLE
    assert not read(NotSent("full", retryable=False)).retryable
    working = read(value=Accepted("job", ask_after_s=9))
    assert (working.effect, working.kind) == (Effect.REFUSED, Kind.IN_PROGRESS)
    assert (working.retry_after_s, working.handle) == (9.0, None)
    assert read(value=Receipt("T1", [1])).value == [1]
    assert read(value=Absent).kind is Kind.UNAVAILABLE


def test_a_defect_of_a_read_before_it_asked_is_not_tried_again():
    outcome = read(KeyError("x"), contract=VIA, trace=WireTrace())

    assert (outcome.effect, outcome.kind, outcome.retryable) == (
        Effect.REFUSED,
        Kind.TOOL_ERROR,
        False,
    )


def test_a_read_that_returned_is_answered():
    outcome = read(value=[], trace=got(200))

    assert (outcome.effect, outcome.reason, outcome.value) == (Effect.CONFIRMED, "answered", [])
    assert read(value={"id": "A1", "ok": False}).provider_ref is None
    assert read(value="").effect is Effect.CONFIRMED
    assert read(value=thing("acme.Order", id="A1")).effect is Effect.CONFIRMED
    assert read(value=[], contract=VIA, trace=WireTrace()).effect is Effect.CONFIRMED, "a cache"
    assert read(value=[1], interrupt=KeyboardInterrupt()).value == [1]
    assert read(interrupt=KeyboardInterrupt()).effect is Effect.REFUSED
    assert read(live=True).reason == "interrupted"


def test_none_found_is_an_answer_but_no_answer_is_not_none_found():
    assert read(value=None, trace=got(404)).effect is Effect.CONFIRMED
    assert read(value=None, trace=got(410)).effect is Effect.CONFIRMED
    for seen in (got(503), got(200, complete=False), got(None, answered=False)):
        outcome = read(value=[], trace=seen)
        assert (outcome.effect, outcome.kind) == (Effect.REFUSED, Kind.UNAVAILABLE)
    assert read(value=[], trace=got(404, complete=False)).effect is Effect.REFUSED
    assert read(value=[], trace=got(403)).kind is Kind.AUTH
    assert read(value=[], trace=got(503, sends=2)).effect is Effect.CONFIRMED, "it knows why"


def test_a_read_whose_body_says_error():
    assert read(value=coded("NO_SUCH_ORDER")).reason == "error_body"
    assert read(value=coded("throttled")).kind is Kind.THROTTLED
    rules = replace(SEARCH, refusals=(RefusalRule(code="GONE", kind="invalid"),))
    assert read(value=coded("GONE"), contract=rules).kind is Kind.INVALID


def test_a_response_that_a_read_returns_as_it_is():
    assert read(value=response(200, {"id": 1})).effect is Effect.CONFIRMED
    assert read(value=response(200, coded("X"))).reason == "error_body"
    assert read(value=response(403)).kind is Kind.AUTH
    assert read(value=response(503)).kind is Kind.UNAVAILABLE


@pytest.mark.parametrize(
    "news, effect",
    [
        ({"value": {"id": "T1"}, "trace": answered(201)}, Effect.CONFIRMED),
        ({"error": stand_in("httpx.ReadTimeout"), "trace": lost_reply()}, Effect.UNKNOWN),
        ({"error": http_error(403), "trace": answered(403)}, Effect.REFUSED),
        ({"error": KeyError("x"), "trace": answered(201)}, Effect.UNKNOWN),
    ],
)
def test_an_unsafe_method_in_a_read_is_judged_as_a_write(news, effect):
    outcome = read(**news)

    assert (outcome.effect, outcome.reason) == (effect, "unsafe_read")
