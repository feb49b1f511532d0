"""The order in which a write is judged: words, proof, answer, value; in doubt it is unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ascertain.model.contract import RefusalRule
from ascertain.model.outcome import Effect, Kind, Report, WireTrace
from ascertain.model.words import (
    Absent,
    AbsentType,
    Accepted,
    Found,
    NotSent,
    Processing,
    Receipt,
    Refused,
)
from ascertain.rules.news.classify import REASONS, classify
from tests.pure.stand_ins import (
    BY_CRM,
    NOW,
    TICKETS,
    URL,
    answered,
    caused,
    coded,
    http_error,
    judge,
    lost_reply,
    refused_connection,
    response,
    stand_in,
    thing,
    trace,
    within,
)

NOTHING = WireTrace()
TWO = (URL, "POST mail.example/send")


# --------------------------------------------------------------------------------------- words


def test_a_body_that_says_it_sent_nothing_is_believed_unless_something_was_seen_leaving():
    said = judge(NotSent("pool_empty"))
    assert (said.effect, said.reason, said.code) == (
        Effect.NOT_SENT,
        "said_not_sent",
        "pool_empty",
    )
    assert said.retryable
    assert judge(NotSent()).code is None
    assert not judge(NotSent(retryable=False)).retryable
    assert judge(NotSent(), trace=refused_connection(sends=3)).effect is Effect.NOT_SENT

    left = judge(NotSent(), trace=lost_reply())
    assert (left.effect, left.reason) == (Effect.UNKNOWN, "said_not_sent_but_left")


@pytest.mark.parametrize("word", ["interrupted", "lease_ran_out", "all_threads_busy"])
def test_what_the_library_itself_held_back_keeps_its_own_reason(word):
    """Interrupted while the send was being recorded: nothing has left, and nothing will."""
    outcome = judge(NotSent(word, retryable=False), interrupt=KeyboardInterrupt())

    assert (outcome.effect, outcome.reason, outcome.code) == (Effect.NOT_SENT, word, None)
    assert not outcome.retryable


def test_req_F06_a_body_that_says_refused_is_quoted():
    error = Refused(
        "OPEN_TICKET_EXISTS", kind="already_exists", related_ref="T850", retry_after_s=2
    )
    outcome = judge(error)

    assert (outcome.effect, outcome.reason) == (Effect.REFUSED, "said_refused")
    assert (outcome.kind, outcome.code) == (Kind.ALREADY_EXISTS, "OPEN_TICKET_EXISTS")
    assert (outcome.related_ref, outcome.retry_after_s) == ("T850", 2.0)
    assert not outcome.retryable


@pytest.mark.parametrize(
    "word, kind, retryable",
    [
        ("business", Kind.BUSINESS, False),
        ("invalid", Kind.INVALID, False),
        ("auth", Kind.AUTH, False),
        ("key_reuse", Kind.KEY_REUSE, False),
        ("throttled", Kind.THROTTLED, True),
        ("unavailable", Kind.UNAVAILABLE, True),
        ("in_progress", Kind.IN_PROGRESS, True),
        ("absent", Kind.BUSINESS, False),  # our own words, not a provider's
        ("withdrawn", Kind.BUSINESS, False),
        ("tool_error", Kind.BUSINESS, False),
        ("nonsense", Kind.BUSINESS, False),
        ([], Kind.BUSINESS, False),
    ],
)
def test_what_a_refusal_of_the_body_means(word, kind, retryable):
    outcome = judge(Refused("X", kind=word))

    assert (outcome.kind, outcome.retryable) == (kind, retryable)
    assert judge(Refused("X", kind=word, retryable=True)).retryable


def test_the_body_knows_what_its_last_of_several_sends_was_refused_for():
    assert judge(Refused("X"), trace=answered(409, sends=2)).effect is Effect.REFUSED


def test_a_receipt_in_so_many_words():
    outcome = judge(value=Receipt("T900", {"any": "value"}))

    assert (outcome.effect, outcome.reason) == (Effect.CONFIRMED, "said_receipt")
    assert (outcome.provider_ref, outcome.value) == ("T900", {"any": "value"})


def test_a_receipt_without_a_reference_is_none():
    assert judge(value=Receipt("  ")).provider_ref is None
    assert judge(value=Receipt("  ")).effect is Effect.CONFIRMED
    required = judge(value=Receipt(""), contract=replace(TICKETS, receipt_required=True))
    assert (required.effect, required.reason) == (Effect.UNKNOWN, "no_receipt")


def test_req_U18_accepted_keeps_its_handle_and_its_schedule():
    outcome = judge(value=Accepted("job-7", ask_after_s=30))

    assert (outcome.effect, outcome.reason) == (Effect.ACCEPTED, "said_accepted")
    assert (outcome.handle, outcome.ask_after_s) == ("job-7", 30.0)


@pytest.mark.parametrize("odd", [-1, float("nan"), float("inf"), None, "soon", True])
def test_a_schedule_that_is_no_time_becomes_the_usual_one(odd):
    assert judge(value=Accepted("", ask_after_s=odd)).ask_after_s == 5.0
    assert judge(value=Accepted("")).handle is None


def test_words_that_were_meant_to_be_raised_count_when_returned():
    assert judge(value=Refused("X")).effect is Effect.REFUSED
    assert judge(value=NotSent()).effect is Effect.NOT_SENT


@pytest.mark.parametrize("word", [Found("T1"), Absent, AbsentType, Processing()])
def test_words_of_look_ups_are_no_answer_of_a_write(word):
    assert (judge(value=word).effect, judge(value=word).reason) == (Effect.UNKNOWN, "foreign_word")


def test_an_exception_that_is_returned_confirms_nothing():
    assert judge(value=KeyError("x")).reason == "returned_error"


@pytest.mark.parametrize("method", ["__next__", "__anext__", "__await__"])
def test_what_has_still_to_run_confirms_nothing(method):
    outcome = judge(value=thing(**{method: lambda: None}))

    assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, "not_drained")


# --------------------------------------------------------------------------------------- proof


def test_req_U04_the_hooks_prove_it_where_the_tool_declares_its_exits():
    lost = judge(stand_in("httpx.ReadTimeout"), contract=BY_CRM, trace=refused_connection())

    assert (lost.effect, lost.reason) == (Effect.NOT_SENT, "nothing_left")
    assert lost.retryable
    assert lost.sends == 1


def test_without_declared_exits_the_work_may_have_left_elsewhere():
    assert judge(KeyError("x"), trace=refused_connection()).effect is Effect.UNKNOWN
    assert judge(KeyError("x"), trace=NOTHING).effect is Effect.UNKNOWN
    read_timeout = stand_in("httpx.ReadTimeout")
    assert judge(read_timeout, trace=refused_connection()).effect is Effect.UNKNOWN


def test_an_exit_that_was_not_declared_takes_the_proof_away():
    seen = refused_connection(exits=frozenset({"crm", "mail"}))

    assert judge(KeyError("x"), contract=BY_CRM, trace=seen).effect is Effect.UNKNOWN


def test_req_U16_a_defect_before_the_send_is_not_an_unknown_effect():
    for seen in (NOTHING, refused_connection()):
        outcome = judge(KeyError("order"), contract=BY_CRM, trace=seen)
        assert (outcome.effect, outcome.reason) == (Effect.NOT_SENT, "tool_error_before_send")
        assert (outcome.kind, outcome.retryable) == (Kind.TOOL_ERROR, False)

    without_proof = judge(KeyError("order"))
    assert (without_proof.effect, without_proof.reason) == (Effect.UNKNOWN, "tool_error")


def test_a_time_that_ran_out_before_any_send_is_no_defect():
    outcome = judge(TimeoutError("deadline"), contract=BY_CRM, trace=NOTHING)

    assert (outcome.effect, outcome.reason, outcome.retryable) == (
        Effect.NOT_SENT,
        "nothing_left",
        True,
    )


def test_the_tools_own_exception_may_wrap_the_one_that_tells():
    wrapped = within(stand_in("acme.CrmDown"), stand_in("httpx.ConnectError"))
    grouped = ExceptionGroup("tasks", [stand_in("httpx.ConnectError")])
    for error in (wrapped, grouped):
        outcome = judge(error, contract=BY_CRM, trace=refused_connection())
        assert (outcome.reason, outcome.retryable) == ("nothing_left", True)


@pytest.mark.parametrize(
    "error",
    [
        stand_in("redis.exceptions.ConnectionError"),
        stand_in("httpx.ReadTimeout"),
        stand_in("aiohttp.client_exceptions.ServerTimeoutError", base=TimeoutError),
        http_error(500),
        http_error(403),
    ],
)
def test_an_exception_that_tells_of_a_reply_belies_the_declared_exits(error):
    """Nothing was seen leaving by the declared exits, and yet something was lost or answered."""
    outcome = judge(error, contract=BY_CRM, trace=NOTHING)

    assert outcome.effect is not Effect.NOT_SENT


def test_no_connection_fits_with_no_send_seen():
    error = stand_in("httpx.PoolTimeout")

    assert judge(error, contract=BY_CRM, trace=NOTHING).reason == "nothing_left"


def test_an_exception_speaks_for_exactly_one_send():
    error = stand_in("httpx.ConnectError")

    assert judge(error, trace=refused_connection()).effect is Effect.NOT_SENT
    assert judge(error, trace=refused_connection(sends=2)).effect is Effect.UNKNOWN
    for contract in (TICKETS, BY_CRM):
        assert judge(error, contract=contract, trace=lost_reply()).effect is Effect.UNKNOWN


@pytest.mark.parametrize("leaf", ["httpx.ConnectError", "httpx.ReadTimeout", "acme.CrmDown"])
def test_req_U04_the_hooks_speak_for_every_send_where_all_ways_out_are_watched(leaf):
    """Three connects that were refused, and the hooks saw each of them: nothing left."""
    error = within(stand_in(leaf), stand_in("httpx.ConnectError"))
    tried = judge(error, contract=BY_CRM, trace=refused_connection(sends=3))

    assert (tried.effect, tried.reason, tried.retryable) == (Effect.NOT_SENT, "nothing_left", True)
    assert tried.sends == 3, "each try counts against the budget"


def test_one_send_of_several_that_left_takes_the_proof_away():
    error = stand_in("httpx.ConnectError")
    left = lost_reply(sends=3)
    elsewhere = refused_connection(sends=3, exits=frozenset({"crm", "mail"}))

    for seen in (left, elsewhere):
        assert judge(error, contract=BY_CRM, trace=seen).effect is Effect.UNKNOWN


def test_several_sends_of_which_none_left_do_not_outvote_a_reply():
    outcome = judge(http_error(500), contract=BY_CRM, trace=refused_connection(sends=2))

    assert outcome.effect is Effect.UNKNOWN


def test_the_tools_own_exception_needs_the_hooks_to_pass_the_proof_on():
    """An SDK may have tried before; with the hooks it is seen that nobody did."""
    own = caused(stand_in("acme.CrmDown"), stand_in("httpx.ConnectError"))

    assert judge(own).effect is Effect.UNKNOWN
    assert judge(own, trace=refused_connection()).effect is Effect.NOT_SENT
    raw = caused(stand_in("acme.CrmDown"), ConnectionRefusedError())
    assert judge(raw, trace=refused_connection()).effect is Effect.UNKNOWN


@pytest.mark.parametrize(
    "earlier",
    [
        stand_in("httpx.ReadTimeout"),
        stand_in("httpx.RemoteProtocolError"),
        stand_in("acme.Lost"),
        TimeoutError(),
        ConnectionResetError(),
        http_error(500),
    ],
)
def test_a_second_try_inside_the_body_shows_in_the_context(earlier):
    """`except ReadTimeout: post again`: the second one met a closed port, the first one did not."""
    inner = within(ConnectionRefusedError(), earlier)
    core = within(stand_in("httpcore.ConnectError", inner), inner)
    again = caused(stand_in("httpx.ConnectError"), core)

    assert judge(again).effect is Effect.UNKNOWN
    assert judge(again, trace=refused_connection()).effect is Effect.UNKNOWN
    handled = within(stand_in("acme.CrmDown"), earlier)
    named = caused(handled, stand_in("httpx.ConnectError"))
    assert judge(named, trace=refused_connection()).effect is Effect.UNKNOWN


@pytest.mark.parametrize(
    "beneath",
    [
        within(OSError("all"), ExceptionGroup("each", [ConnectionRefusedError(), OSError()])),
        within(TimeoutError(), stand_in("asyncio.exceptions.CancelledError")),
        within(stand_in("anyio.EndOfStream"), stand_in("ssl.SSLEOFError")),
        ConnectionResetError(),
        stand_in("ssl.SSLError"),
    ],
)
def test_what_lies_beneath_a_failure_to_connect_does_not_take_the_proof_away(beneath):
    core = within(stand_in("httpcore.ConnectError", beneath), beneath)

    assert judge(caused(stand_in("httpx.ConnectError"), core)).effect is Effect.NOT_SENT


def test_a_chain_without_end_proves_nothing():
    deep = ConnectionRefusedError()
    for _ in range(100):
        deep = within(ConnectionRefusedError(), deep)
    assert judge(deep).effect is Effect.UNKNOWN

    round_about = stand_in("httpx.ConnectError")
    inner = caused(stand_in("httpcore.ConnectError"), round_about)
    assert judge(caused(round_about, inner)).effect is Effect.NOT_SENT
    odd = stand_in("acme.Odd")
    assert judge(within(odd, within(stand_in("acme.Other"), odd))).reason == "tool_error"


# ------------------------------------------------------------------------------------ the answer


def test_req_F04_the_exception_of_a_refusal_is_judged_by_its_status():
    outcome = judge(http_error(403, coded("FORBIDDEN")), trace=answered(403, request_id="r-1"))

    assert (outcome.effect, outcome.reason, outcome.kind) == (
        Effect.REFUSED,
        "http_403",
        Kind.AUTH,
    )
    assert (outcome.code, outcome.http_status, outcome.request_id) == ("FORBIDDEN", 403, "r-1")


def test_the_tools_own_exception_is_judged_by_what_the_hooks_saw():
    """`if reply.status_code != 200: raise CrmError`."""
    assert judge(stand_in("acme.CrmError"), trace=answered(403)).kind is Kind.AUTH
    assert judge(stand_in("acme.CrmError"), trace=answered(503)).reason == "http_503"
    assert judge(stand_in("acme.CrmError"), trace=lost_reply()).reason == "tool_error"


def test_a_lost_answer_is_one_even_if_its_head_was_seen():
    for http_status in (201, 403):
        seen = answered(http_status, complete=False)
        outcome = judge(stand_in("httpx.ReadError"), trace=seen)
        assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, "connection_lost")
        assert outcome.http_status == http_status


def test_the_advice_is_taken_from_the_hooks_where_the_exception_has_none():
    own = stand_in("acme.Busy", status_code=503)

    assert judge(own, trace=answered(503, retry_after="8")).retry_after_s == 8.0
    assert judge(stand_in("acme.E"), trace=answered(503, retry_after="8")).retry_after_s == 8.0


def test_a_read_beside_the_write_says_nothing_about_it():
    """GET /customers answered 404, then an unwatched client broke."""
    beside = trace(http_status=404, unsafe=False, targets=())

    assert judge(stand_in("acme.CrmError"), trace=beside).reason == "tool_error"
    assert judge(value={"ticket_id": "T900"}, trace=beside).effect is Effect.CONFIRMED
    assert judge(http_error(400), trace=beside._replace(http_status=200)).kind is Kind.INVALID
    closed = judge(stand_in("acme.CrmError"), contract=BY_CRM, trace=beside)
    assert (closed.effect, closed.kind) == (Effect.REFUSED, Kind.INVALID)


def test_an_exception_and_hooks_that_tell_different_stories():
    for seen in (answered(201), lost_reply()):
        outcome = judge(http_error(403), trace=seen)
        assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, "two_voices")
    beside = trace(http_status=200, unsafe=False, targets=())
    assert judge(http_error(403), contract=BY_CRM, trace=beside).reason == "two_voices"
    smtp = stand_in("smtplib.SMTPDataError", smtp_code=554)
    assert judge(smtp, trace=answered(201)).reason == "two_voices"


def test_the_status_is_found_on_the_cause_that_is_named_but_not_in_a_context():
    own = stand_in("acme.CrmError")

    assert judge(caused(own, http_error(403))).kind is Kind.AUTH
    assert judge(within(stand_in("acme.CrmError"), http_error(403))).effect is Effect.UNKNOWN
    lost = caused(stand_in("httpx.ReadTimeout"), http_error(403))
    assert judge(lost).reason == "timeout"


@pytest.mark.parametrize(
    "name, attributes",
    [
        ("acme.Error", {"response": response(422)}),
        ("acme.Error", {"status_code": 422}),
        ("acme.Error", {"http_status": 422}),
        ("urllib.error.HTTPError", {"code": 422}),
        ("google.api_core.exceptions.InvalidArgument", {"code": 422}),
        ("aiohttp.client_exceptions.ClientResponseError", {"status": 422}),
    ],
)
def test_where_clients_keep_the_status(name, attributes):
    assert judge(stand_in(name, **attributes)).http_status == 422


@pytest.mark.parametrize(
    "attributes",
    [
        {"code": 403},  # of an unknown class it may be anything
        {"status": 403},
        {"status_code": True},
        {"status_code": "403"},
        {"status_code": 4031},
        {"response": "403"},
    ],
)
def test_what_is_no_status(attributes):
    assert judge(stand_in("acme.Error", **attributes)).reason == "tool_error"


def test_req_U03_a_duplicate_refusal_may_be_our_own_success():
    for http_status in (409, 412):
        outcome = judge(http_error(http_status, coded("EXISTS")))
        assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, "duplicate_refusal")
        assert outcome.code == "EXISTS"


@pytest.mark.parametrize(
    "code, reason",
    [
        ("resource_already_exists", "duplicate_refusal"),
        ("DuplicateRequest", "duplicate_refusal"),
        ("DUPLICATE_REQUEST_ID", "duplicate_refusal"),
        ("idempotency_key_in_use", "duplicate_refusal"),
        ("REQUEST_IN_PROGRESS", "duplicate_refusal"),
        ("rate_limit_exceeded", "throttled"),
        ("ratelimited", "throttled"),
    ],
)
def test_some_codes_prove_nothing_whatever_the_status(code, reason):
    for http_status in (400, 403, 422):
        assert judge(http_error(http_status, coded(code))).reason == reason
    in_a_body = judge(value=coded(code))
    assert (in_a_body.effect, in_a_body.reason) == (Effect.UNKNOWN, reason)


def test_req_F14_a_refusal_after_hidden_tries_is_of_the_last_one_only():
    twice = answered(422, sends=2)
    outcome = judge(http_error(422), trace=twice)
    assert (outcome.effect, outcome.reason, outcome.sends) == (
        Effect.UNKNOWN,
        "refused_after_resend",
        2,
    )
    covering = replace(TICKETS, refusal_covers_key=True)
    assert judge(http_error(422), contract=covering, trace=twice).effect is Effect.REFUSED
    reads = trace(http_status=422, sends=2, unsafe=False, targets=())
    assert judge(http_error(422), trace=reads).effect is Effect.REFUSED


@pytest.mark.parametrize(
    "attributes",
    [
        {"history": ["the 307 before it"]},
        {"raw": thing(retries=thing(history=("one try before",)))},
    ],
)
def test_a_response_that_tells_of_earlier_sends(attributes):
    """requests follows a 307 with the same POST, and urllib3 keeps its tries."""
    error = stand_in("requests.exceptions.HTTPError", response=response(422, **attributes))
    assert judge(error).reason == "refused_after_resend"
    none = {name: thing(retries=thing(history=())) for name in attributes if name == "raw"}
    error = stand_in("requests.exceptions.HTTPError", response=response(422, history=[], **none))
    assert judge(error).effect is Effect.REFUSED


def test_a_202_is_accepted_with_whatever_handle_there_is():
    where = response(202, headers={"Location": "/jobs/7", "Retry-After": "9"})
    outcome = judge(stand_in("acme.NotYet", response=where))
    assert (outcome.effect, outcome.reason) == (Effect.ACCEPTED, "http_202")
    assert (outcome.handle, outcome.ask_after_s, outcome.http_status) == ("/jobs/7", 9.0, 202)

    named = judge(value={"ticket_id": "J1"}, trace=answered(202))
    assert (named.effect, named.handle, named.ask_after_s) == (Effect.ACCEPTED, "J1", 5.0)
    bare = judge(ValueError("empty"), trace=answered(202, retry_after="12"))
    assert (bare.effect, bare.handle, bare.ask_after_s) == (Effect.ACCEPTED, None, 12.0)
    refused = judge(value=coded("CLOSED"), trace=answered(202))
    assert (refused.effect, refused.reason) == (Effect.REFUSED, "error_body")


# ---------------------------------------------------------------------------------- by contract

EXISTS = RefusalRule(
    code="OPEN_TICKET_EXISTS",
    kind="already_exists",
    http_status=409,
    related_path="error.existing",
)


def declared(*rules, **changes):
    return replace(TICKETS, refusals=rules, **changes)


def test_req_F06_the_contract_knows_the_refusal_and_where_the_existing_one_stands():
    error = http_error(409, coded("OPEN_TICKET_EXISTS", existing="T850"))
    outcome = judge(error, contract=declared(EXISTS))

    assert (outcome.effect, outcome.reason) == (Effect.REFUSED, "refused_by_contract")
    assert (outcome.kind, outcome.code) == (Kind.ALREADY_EXISTS, "OPEN_TICKET_EXISTS")
    assert (outcome.related_ref, outcome.retryable) == ("T850", False)
    other_status = http_error(412, coded("OPEN_TICKET_EXISTS"))
    assert judge(other_status, contract=declared(EXISTS)).effect is Effect.UNKNOWN
    other_code = http_error(409, coded("LOCKED"))
    assert judge(other_code, contract=declared(EXISTS)).effect is Effect.UNKNOWN
    no_body = http_error(409)
    assert judge(no_body, contract=declared(EXISTS)).effect is Effect.UNKNOWN


def test_a_named_code_goes_before_any_code():
    rules = declared(
        RefusalRule(code="*", kind="business", http_status=402),
        RefusalRule(code="slow", kind="throttled", http_status=402),
    )
    slow = judge(http_error(402, coded("slow"), {"Retry-After": "4"}), contract=rules)
    assert (slow.kind, slow.retryable, slow.retry_after_s) == (Kind.THROTTLED, True, 4.0)
    assert judge(http_error(402, coded("declined")), contract=rules).kind is Kind.BUSINESS
    assert judge(http_error(402), contract=rules).kind is Kind.BUSINESS


def test_any_code_means_that_there_is_a_code_where_the_status_does_not_say_so():
    anywhere = declared(RefusalRule(code="*", code_path="fault"))
    assert judge(value={"fault": "E1"}, contract=anywhere).code == "E1"
    assert judge(value={"id": "T1"}, contract=anywhere).effect is Effect.CONFIRMED
    in_200 = declared(RefusalRule(code="*", http_status=200, code_path="fault"))
    fine = judge(value={"id": "T1"}, contract=in_200, trace=answered(200))
    assert fine.effect is Effect.CONFIRMED
    fault = judge(value={"fault": 7}, contract=in_200, trace=answered(200))
    assert (fault.effect, fault.code) == (Effect.REFUSED, "7")


def test_a_rule_for_one_status_needs_that_status():
    rules = declared(RefusalRule(code="E1", http_status=200, code_path="fault"), error_paths=())

    assert judge(value={"fault": "E1"}, contract=rules).effect is Effect.CONFIRMED
    assert judge(value={"fault": "E1"}, contract=rules, trace=answered(200)).code == "E1"


def test_a_kind_that_nobody_knows_is_the_worst_case():
    outcome = judge(http_error(400, coded("E")), contract=declared(RefusalRule(code="E", kind="?")))

    assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, "undeclared_refusal")


def test_codes_of_other_protocols_and_of_sdks_match_by_name():
    grpc = stand_in("grpc.RpcError", code=lambda: thing(name="ALREADY_EXISTS"))
    rule = RefusalRule(code="ALREADY_EXISTS", kind="already_exists")
    assert judge(grpc, contract=declared(rule)).kind is Kind.ALREADY_EXISTS
    assert judge(grpc, contract=declared(RefusalRule(code="*"))).effect is Effect.UNKNOWN

    aws = stand_in(
        "botocore.errorfactory.ExecutionAlreadyExists",
        response={
            "Error": {"Code": "ExecutionAlreadyExists"},
            "ResponseMetadata": {"HTTPStatusCode": 400},
        },
    )
    rule = RefusalRule(code="ExecutionAlreadyExists", kind="already_exists")
    assert judge(aws, contract=declared(rule)).kind is Kind.ALREADY_EXISTS


@pytest.mark.parametrize(
    "error, kind",
    [
        (http_error(429, headers={"Retry-After": "3"}), Kind.THROTTLED),
        (http_error(503, coded("throttling")), Kind.THROTTLED),
        (http_error(503), Kind.UNAVAILABLE),
    ],
)
def test_req_F03_unavailable_counts_as_refused_only_where_the_contract_says_so(error, kind):
    promise = replace(TICKETS, unprocessed=(429, 503))
    outcome = judge(error, contract=promise)

    assert (outcome.effect, outcome.reason) == (Effect.REFUSED, "refused_unprocessed")
    assert (outcome.kind, outcome.retryable) == (kind, True)
    assert judge(error).effect is Effect.UNKNOWN
    assert judge(http_error(500), contract=promise).effect is Effect.UNKNOWN


def test_unprocessed_softens_no_verdict_and_no_duplicate():
    promise = replace(TICKETS, unprocessed=(403, 409))

    assert judge(http_error(403), contract=promise).kind is Kind.AUTH
    assert judge(http_error(409), contract=promise).kind is Kind.UNAVAILABLE
    exists = http_error(409, coded("already_exists"))
    assert judge(exists, contract=promise).reason == "duplicate_refusal"


# -------------------------------------------------------------------------------- returned values


def test_req_F06_a_2xx_whose_body_says_error_is_a_refusal():
    for seen in (None, answered(200)):
        outcome = judge(value=coded("REFUSED_BY_POLICY"), trace=seen)
        assert (outcome.effect, outcome.reason) == (Effect.REFUSED, "error_body")
        assert (outcome.kind, outcome.code) == (Kind.BUSINESS, "REFUSED_BY_POLICY")
    raised = stand_in("slack_sdk.errors.SlackApiError", response=response(200, coded("no")))
    assert judge(raised).reason == "error_body"


@pytest.mark.parametrize(
    "value",
    [
        {"id": "T1", "error": None},
        {"id": "T1", "error": {}},
        {"id": "T1", "error": {"code": 0}, "errors": []},
        {"id": "T1", "error": "", "ok": True, "success": True, "isError": False},
    ],
)
def test_an_error_that_says_none(value):
    assert judge(value=value, contract=replace(TICKETS, receipt="id")).effect is Effect.CONFIRMED


@pytest.mark.parametrize(
    "value",
    [
        {"ok": False},
        {"success": False},
        {"error": "something for people"},
        {"errors": [{"message": "x"}]},
        {"error": {"message": "no code"}},
        thing(success=False),
    ],
)
def test_a_body_that_looks_like_an_error_confirms_nothing(value):
    outcome = judge(value=value)
    assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, "error_like_body")
    no_paths = replace(TICKETS, error_paths=())
    assert judge(value=value, contract=no_paths).effect is Effect.CONFIRMED


def test_a_receipt_where_the_contract_says_it_stands_outweighs_a_look():
    value = {"errors": [{"field": "a warning"}], "id": "T1"}

    assert judge(value=value).effect is Effect.UNKNOWN
    assert judge(value=value, contract=replace(TICKETS, receipt="id")).provider_ref == "T1"


def test_a_required_receipt_that_is_missing():
    required = replace(TICKETS, receipt_required=True)
    for value in ({"done": True}, None, "T900", [], 7):
        outcome = judge(value=value, contract=required)
        assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, "no_receipt")
        assert judge(value=value).effect is Effect.CONFIRMED
    assert judge(value={"ticket_id": "T1"}, contract=required).reason == "receipt"


def test_a_truncated_answer_is_unknown_even_with_a_receipt():
    outcome = judge(value={"ticket_id": "T900"}, trace=answered(200, complete=False))

    assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, "truncated")
    assert judge(value={"ticket_id": "T9"}, trace=answered(200, complete=None)).provider_ref == "T9"


def test_nothing_where_nothing_is_due():
    assert judge(value="", trace=answered(204)).effect is Effect.CONFIRMED
    assert judge(value=b"", trace=answered(200)).reason == "empty_answer"
    assert judge(value="").effect is Effect.CONFIRMED
    assert judge(value=None, trace=answered(200)).effect is Effect.CONFIRMED


def test_an_error_that_the_body_swallowed_is_judged_all_the_same():
    for value in (None, {}, "sorry"):
        refused = judge(value=value, trace=answered(403))
        assert (refused.effect, refused.reason, refused.kind) == (
            Effect.REFUSED,
            "swallowed_error",
            Kind.AUTH,
        )
        broke = judge(value=value, trace=answered(500))
        assert (broke.effect, broke.reason) == (Effect.UNKNOWN, "swallowed_error")
    known = judge(
        value=coded("OPEN_TICKET_EXISTS", existing="T850"),
        trace=answered(409),
        contract=declared(EXISTS),
    )
    assert known.related_ref == "T850"
    assert judge(value={"id": "T1"}, trace=answered(404, sends=2)).effect is Effect.UNKNOWN


def test_a_loss_that_the_body_swallowed():
    assert judge(value={"id": "T1"}, trace=lost_reply()).reason == "swallowed_loss"
    assert judge(value={}, trace=refused_connection()).reason == "swallowed_loss"
    closed = judge(value={}, contract=BY_CRM, trace=refused_connection())
    assert (closed.effect, closed.reason) == (Effect.NOT_SENT, "nothing_left")


def test_a_body_that_returned_without_sending_by_its_only_exits():
    outcome = judge(value={"id": "T1"}, contract=BY_CRM, trace=NOTHING)

    assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, "returned_without_sending")
    assert judge(value={"id": "T1"}, trace=NOTHING).effect is Effect.CONFIRMED
    elsewhere = trace(unsafe=False, targets=(), exits=frozenset({"mail"}), http_status=500)
    assert judge(value={"id": "T1"}, contract=BY_CRM, trace=elsewhere).effect is Effect.CONFIRMED


@pytest.mark.parametrize(
    "reply, effect, ref",
    [
        (response(201, {"ticket_id": "T900"}), Effect.CONFIRMED, "T900"),
        (response(201), Effect.CONFIRMED, None),
        (response(200, coded("CLOSED")), Effect.REFUSED, None),
        (response(403), Effect.REFUSED, None),
        (response(500), Effect.UNKNOWN, None),
        (response(202, {"id": "J1"}), Effect.ACCEPTED, None),
    ],
)
def test_a_response_object_that_is_returned_as_it_is(reply, effect, ref):
    outcome = judge(value=reply)

    assert (outcome.effect, outcome.provider_ref) == (effect, ref)
    if effect is Effect.CONFIRMED:
        assert outcome.value is reply
    if effect is Effect.ACCEPTED:
        assert outcome.handle == "J1"


def test_the_value_stays_as_the_body_gave_it():
    record = thing("acme.Ticket", ticket_id="T900")
    outcome = judge(value=record, trace=answered(201, sends=2, request_id="r-1"))

    assert outcome.value is record
    assert (outcome.provider_ref, outcome.sends, outcome.request_id) == ("T900", 2, "r-1")
    assert judge(value={"id": "T1"}).sends == 1


# --------------------------------------------------------------------------------- several effects


def test_req_F23_several_targets_leave_all_of_it_in_doubt():
    seen = answered(422, sends=2, targets=TWO)
    for error in (http_error(422), Refused("X"), KeyError("x"), stand_in("acme.E")):
        outcome = judge(error, trace=seen)
        assert outcome.effect is Effect.UNKNOWN
        assert outcome.several_effects
    assert judge(Refused("X"), trace=seen).reason == "several_effects"
    assert judge(value=coded("X"), trace=answered(200, targets=TWO)).reason == "several_effects"


def test_several_targets_are_reported_when_all_went_well():
    well = answered(200, sends=2, targets=TWO)

    assert judge(value={"id": "T1"}, trace=well).several_effects
    assert judge(value={"id": "T1"}, trace=well).effect is Effect.CONFIRMED
    assert not judge(value={"id": "T1"}, trace=well, steps=("charge", "mail")).several_effects
    assert not judge(value={"id": "T1"}, trace=answered(200)).several_effects
    said = judge(Refused("X"), trace=answered(422, sends=2, targets=TWO), steps=("a", "b"))
    assert said.effect is Effect.REFUSED


# ---------------------------------------------------------------------- interrupted and given up


def test_req_U07_an_interrupted_write_is_unknown_unless_nothing_left():
    stop = KeyboardInterrupt()

    assert judge(stop, interrupt=stop, trace=lost_reply()).reason == "interrupted"
    proved = judge(stop, interrupt=stop, contract=BY_CRM, trace=NOTHING)
    assert (proved.effect, proved.reason, proved.retryable) == (
        Effect.NOT_SENT,
        "interrupted",
        True,
    )
    left = judge(stop, interrupt=stop, contract=BY_CRM, trace=lost_reply())
    assert left.effect is Effect.UNKNOWN


def test_a_body_that_ended_while_its_caller_was_interrupted_is_heard():
    stop = KeyboardInterrupt()

    assert judge(value={"ticket_id": "T900"}, interrupt=stop).provider_ref == "T900"
    assert judge(http_error(403), interrupt=stop).kind is Kind.AUTH
    assert judge(value=None, interrupt=stop).reason == "interrupted"


def test_a_body_that_may_still_send_proves_nothing():
    late = TimeoutError("deadline")

    outcome = judge(late, live=True, contract=BY_CRM, trace=NOTHING)
    assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, "timeout")
    for error in (KeyboardInterrupt(), None, KeyError("x")):
        given_up = judge(error, live=True, contract=BY_CRM, trace=NOTHING)
        assert (given_up.effect, given_up.reason) == (Effect.UNKNOWN, "interrupted")


def test_every_reason_has_one_plain_sentence():
    for reason, sentence in REASONS.items():
        assert sentence.endswith("."), reason
        assert sentence[0].isupper(), reason
        assert "\n" not in sentence, reason


def test_the_clock_is_an_argument():
    error = http_error(503, headers={"Retry-After": "Fri, 15 Jan 2027 08:01:00 GMT"})

    assert classify(Report(error=error), TICKETS, now=NOW).retry_after_s == 60.0
    assert classify(Report(error=error), TICKETS, now=NOW + 50).retry_after_s == 10.0
    assert classify(Report(error=error), TICKETS, now=NOW + 90).retry_after_s == 0.0
