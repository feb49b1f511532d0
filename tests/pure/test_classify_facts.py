"""Every measured situation, rebuilt with the exception that the library raises in it.

The measurements were made against servers that count their effects; "eff" below is how often the
effect took place for one call.
"""

from __future__ import annotations

import asyncio

import pytest

from ascertain.model.outcome import Effect, Kind
from tests.pure.stand_ins import (
    BY_CRM,
    answered,
    caused,
    coded,
    http_error,
    judge,
    lost_reply,
    raised,
    refused_connection,
    response,
    stand_in,
    thing,
    within,
)

HTTPX = ["httpx", "httpx2"]
REFUSED = ConnectionRefusedError(111, "refused")


# --------------------------------------------------------------------------- httpx and httpx2


@pytest.mark.parametrize("root", HTTPX)
@pytest.mark.parametrize("leaf", ["ConnectError", "ConnectTimeout", "ProxyError"])
def test_what_httpx_could_not_connect_was_not_sent(root, leaf):
    outcome = judge(stand_in(f"{root}.{leaf}", "whatever it says"))

    assert (outcome.effect, outcome.reason) == (Effect.NOT_SENT, "never_connected")
    assert outcome.retryable
    assert outcome.sends == 0


def test_no_connection_from_the_pool_is_proof_where_it_was_measured():
    assert judge(stand_in("httpx.PoolTimeout")).effect is Effect.NOT_SENT
    assert judge(stand_in("httpx2.PoolTimeout")).effect is Effect.UNKNOWN, "inferred, not measured"
    seen = judge(stand_in("httpx2.PoolTimeout"), trace=refused_connection())
    assert seen.effect is Effect.NOT_SENT, "what was inferred counts once the hooks agree"


@pytest.mark.parametrize("root", HTTPX)
@pytest.mark.parametrize("leaf", ["UnsupportedProtocol", "InvalidURL", "LocalProtocolError"])
def test_a_request_that_cannot_be_built_is_a_defect_and_needs_the_hooks_to_prove_it(root, leaf):
    error = stand_in(f"{root}.{leaf}")

    assert judge(error).effect is Effect.UNKNOWN, "a body cut while it was sent looks the same"
    seen = judge(error, trace=refused_connection())
    assert (seen.effect, seen.reason) == (Effect.NOT_SENT, "tool_error_before_send")
    assert (seen.kind, seen.retryable) == (Kind.TOOL_ERROR, False)
    assert judge(error, trace=lost_reply()).effect is Effect.UNKNOWN


@pytest.mark.parametrize("root", HTTPX)
@pytest.mark.parametrize(
    "leaf, reason",
    [
        ("ReadTimeout", "timeout"),
        ("WriteTimeout", "timeout"),
        ("ReadError", "connection_lost"),
        ("WriteError", "connection_lost"),
        ("RemoteProtocolError", "connection_lost"),
    ],
)
def test_what_broke_after_connecting_is_unknown(root, leaf, reason):
    outcome = judge(stand_in(f"{root}.{leaf}"))

    assert (outcome.effect, outcome.reason, outcome.sends) == (Effect.UNKNOWN, reason, 1)


def over_http2(root, event):
    core = "httpcore" if root == "httpx" else "httpcore2"
    inner = stand_in(f"{core}.RemoteProtocolError", event)
    return caused(stand_in(f"{root}.RemoteProtocolError", "its text"), inner)


@pytest.mark.parametrize("root", HTTPX)
@pytest.mark.parametrize(
    "event, effect",
    [
        (thing("h2.events.StreamReset", error_code=7), Effect.NOT_SENT),
        (thing("h2.events.StreamReset", error_code=1), Effect.UNKNOWN),
        (thing("h2.events.StreamReset", error_code=2), Effect.UNKNOWN),
        (thing("h2.events.StreamReset", error_code=8), Effect.UNKNOWN),
        (thing("h2.events.StreamReset", error_code=11), Effect.UNKNOWN),
        (thing("h2.events.StreamReset", error_code=13), Effect.UNKNOWN),
        (thing("h2.events.StreamReset"), Effect.UNKNOWN),
        (thing("h2.events.ConnectionTerminated", last_stream_id=0), Effect.NOT_SENT),
        (thing("h2.events.ConnectionTerminated", last_stream_id=1), Effect.UNKNOWN),
        (thing("h2.events.DataReceived", error_code=7), Effect.UNKNOWN),
        ("<StreamReset stream_id:1, error_code:7, remote_reset:True>", Effect.UNKNOWN),
    ],
)
def test_http2_promises_not_processed_in_two_ways_only(root, event, effect):
    assert judge(over_http2(root, event)).effect is effect


def test_the_promise_of_http2_is_taken_back_by_bytes_that_count_as_left():
    error = over_http2("httpx", thing("h2.events.StreamReset", error_code=7))

    assert judge(error, trace=lost_reply()).effect is Effect.UNKNOWN
    assert judge(error, trace=refused_connection()).effect is Effect.NOT_SENT


def test_a_cut_body_that_no_client_notices_confirms_only_with_a_receipt():
    cut = judge(ValueError("no JSON"), trace=answered(200))

    assert (cut.effect, cut.reason) == (Effect.UNKNOWN, "unreadable_answer")
    assert cut.http_status == 200


# ------------------------------------------------------------------------ requests and urllib3


def by_requests(leaf, inner):
    """requests hands on urllib3's exception as its first argument."""
    return within(stand_in(f"requests.exceptions.{leaf}", inner), inner)


def gave_up(reason):
    return caused(stand_in("urllib3.exceptions.MaxRetryError", "text", reason=reason), reason)


def urllib3(leaf, *args, **attributes):
    return stand_in(f"urllib3.exceptions.{leaf}", *args, **attributes)


@pytest.mark.parametrize("leaf", ["NewConnectionError", "NameResolutionError"])
def test_requests_hides_the_proof_two_exceptions_deep(leaf):
    inner = caused(urllib3(leaf), REFUSED)

    assert judge(by_requests("ConnectionError", gave_up(inner))).effect is Effect.NOT_SENT


def test_a_connect_timeout_of_requests_is_one_of_tcp():
    inner = gave_up(caused(urllib3("ConnectTimeoutError"), TimeoutError()))

    assert judge(by_requests("ConnectTimeout", inner)).effect is Effect.NOT_SENT


@pytest.mark.parametrize(
    "error, reason",
    [
        (by_requests("ConnectionError", urllib3("ProtocolError", "x", ConnectionResetError())),
         "connection_lost"),
        (by_requests("ConnectionError", urllib3("ProtocolError", "x", TimeoutError())),
         "connection_lost"),
        (by_requests("ConnectionError", urllib3("ReadTimeoutError")), "connection_lost"),
        (by_requests("ReadTimeout", urllib3("ReadTimeoutError")), "timeout"),
        (by_requests("ChunkedEncodingError", urllib3("ProtocolError")), "connection_lost"),
        (by_requests("SSLError", gave_up(urllib3("SSLError", stand_in("ssl.SSLError")))),
         "tls_lost"),
        (by_requests("SSLError", gave_up(urllib3("SSLError", stand_in("ssl.SSLEOFError")))),
         "tls_lost"),
        (by_requests("ProxyError", gave_up(urllib3(
            "ProxyError", original_error=stand_in("http.client.RemoteDisconnected")))),
         "proxy_lost"),
        (by_requests("ConnectionError", gave_up(urllib3("SSLError"))), "connection_lost"),
        (stand_in("requests.exceptions.ConnectionError"), "connection_lost"),
        (stand_in("requests.exceptions.RetryError"), "gave_up"),
    ],
)  # fmt: skip
def test_what_requests_lost_is_unknown(error, reason):
    outcome = judge(error)

    assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, reason)


def test_a_certificate_is_verified_before_anything_is_sent():
    verification = stand_in("ssl.SSLCertVerificationError")
    inner = gave_up(within(urllib3("SSLError", verification), verification))

    assert judge(by_requests("SSLError", inner)).effect is Effect.NOT_SENT


@pytest.mark.parametrize(
    "original, effect",
    [
        (urllib3("NewConnectionError"), Effect.NOT_SENT),
        (urllib3("NameResolutionError"), Effect.NOT_SENT),
        (OSError("Tunnel connection failed: 403 Forbidden"), Effect.NOT_SENT),
        (OSError(5, "an error of the system, perhaps after the POST"), Effect.UNKNOWN),
        (ConnectionResetError(104, "reset"), Effect.UNKNOWN),
    ],
)
def test_a_proxy_of_requests_refused_the_tunnel_or_took_the_post(original, effect):
    inner = caused(urllib3("ProxyError", "text", original_error=original), original)

    assert judge(by_requests("ProxyError", gave_up(inner))).effect is effect


NO_HOST = ["NewConnectionError", "NameResolutionError", "ConnectTimeoutError"]


@pytest.mark.parametrize("leaf", NO_HOST)
def test_urllib3_repeats_by_itself_so_its_last_failure_to_connect_proves_nothing(leaf):
    """PUT, eff=1, and yet the exception says "connection refused"."""
    error = gave_up(urllib3(leaf))

    assert judge(error).effect is Effect.UNKNOWN
    assert judge(error, trace=refused_connection()).effect is Effect.NOT_SENT
    assert judge(error, trace=refused_connection(sends=2)).effect is Effect.UNKNOWN


@pytest.mark.parametrize("leaf", NO_HOST)
def test_urllib3_with_its_retries_off_raises_the_bare_exception(leaf):
    assert judge(caused(urllib3(leaf), REFUSED)).effect is Effect.NOT_SENT


@pytest.mark.parametrize(
    "error",
    [
        gave_up(urllib3("SSLError")),
        gave_up(urllib3("ProxyError")),
        gave_up(urllib3("ReadTimeoutError")),
        urllib3("ProtocolError"),
        urllib3("ReadTimeoutError"),
        urllib3("SSLError"),
    ],
)
def test_what_urllib3_lost_is_unknown(error):
    assert judge(error).effect is Effect.UNKNOWN
    assert judge(error, trace=refused_connection()).effect is Effect.UNKNOWN


def test_an_empty_2xx_after_a_cut_header_block_is_unknown():
    """requests answers 200 with b'' when the server dies inside the header block; eff=1."""
    assert judge(value="", trace=answered(200)).reason == "empty_answer"
    assert judge(ValueError("no JSON"), trace=answered(200)).reason == "unreadable_answer"


# ------------------------------------------------------------------------------------- aiohttp


@pytest.mark.parametrize(
    "leaf",
    [
        "ClientConnectorError",
        "ClientConnectorDNSError",
        "ClientConnectorCertificateError",
        "ClientConnectorSSLError",
        "ConnectionTimeoutError",
        "ClientProxyConnectionError",
    ],
)
def test_what_the_connector_of_aiohttp_raises_was_not_sent(leaf):
    error = within(stand_in(f"aiohttp.client_exceptions.{leaf}"), TimeoutError())

    assert judge(error).effect is Effect.NOT_SENT


def test_the_status_of_a_refusing_proxy_is_not_the_providers():
    outcome = judge(stand_in("aiohttp.client_exceptions.ClientHttpProxyError", status=403))

    assert outcome.effect is Effect.NOT_SENT


@pytest.mark.parametrize(
    "leaf",
    ["ServerDisconnectedError", "ClientOSError", "SocketTimeoutError", "ClientPayloadError"],
)
def test_what_aiohttp_lost_is_unknown(leaf):
    assert judge(stand_in(f"aiohttp.client_exceptions.{leaf}")).effect is Effect.UNKNOWN


def test_aiohttp_invents_a_400_for_garbage():
    error = stand_in("aiohttp.client_exceptions.ClientResponseError", status=400)

    real = judge(error)
    assert (real.effect, real.kind) == (Effect.REFUSED, Kind.INVALID)
    invented = judge(caused(error, stand_in("aiohttp.http_exceptions.BadStatusLine")))
    assert (invented.effect, invented.reason) == (Effect.UNKNOWN, "unreadable_answer")


# ------------------------------------------------------------------- deadlines and interruptions


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(1), GeneratorExit()]
)
def test_an_interruption_says_nothing_about_the_provider(error):
    for outcome in (judge(error), judge(error, interrupt=error), judge(interrupt=error)):
        assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, "interrupted")


def test_a_bare_timeout_says_nothing_about_its_phase():
    """asyncio.wait_for, aiohttp's total time and asyncpg's COMMIT raise the same class."""
    assert judge(TimeoutError()).reason == "timeout"
    assert judge(TimeoutError()).effect is Effect.UNKNOWN


def test_leaving_a_cancel_scope_without_an_exception_shows_in_the_hooks():
    """anyio.move_on_after: the call did not finish, and the body went on; eff=1."""
    outcome = judge(value=None, trace=lost_reply())

    assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, "swallowed_loss")


# ---------------------------------------------------------------------------------------- grpc


def grpc(name):
    code = thing("grpc.StatusCode", name=name)
    return stand_in("grpc._channel._InactiveRpcError", code=lambda: code)


@pytest.mark.parametrize(
    "name, effect, kind",
    [
        ("UNAVAILABLE", Effect.UNKNOWN, None),
        ("DEADLINE_EXCEEDED", Effect.UNKNOWN, None),
        ("CANCELLED", Effect.UNKNOWN, None),
        ("INTERNAL", Effect.UNKNOWN, None),
        ("UNKNOWN", Effect.UNKNOWN, None),
        ("DATA_LOSS", Effect.UNKNOWN, None),
        ("RESOURCE_EXHAUSTED", Effect.UNKNOWN, None),
        ("ALREADY_EXISTS", Effect.UNKNOWN, None),
        ("ABORTED", Effect.UNKNOWN, None),
        ("UNAUTHENTICATED", Effect.REFUSED, Kind.AUTH),
        ("PERMISSION_DENIED", Effect.REFUSED, Kind.AUTH),
        ("INVALID_ARGUMENT", Effect.REFUSED, Kind.INVALID),
        ("OUT_OF_RANGE", Effect.REFUSED, Kind.INVALID),
        ("UNIMPLEMENTED", Effect.REFUSED, Kind.INVALID),
        ("NOT_FOUND", Effect.REFUSED, Kind.INVALID),
        ("FAILED_PRECONDITION", Effect.REFUSED, Kind.BUSINESS),
    ],
)
def test_codes_of_grpc(name, effect, kind):
    """RST_STREAM 11 arrives as RESOURCE_EXHAUSTED, a refused port as UNAVAILABLE; eff=1 both."""
    outcome = judge(grpc(name))

    assert (outcome.effect, outcome.kind, outcome.code) == (effect, kind, name)
    assert not outcome.retryable


def test_grpc_says_what_was_not_done_twice_or_too_often():
    assert judge(grpc("ALREADY_EXISTS")).reason == "duplicate_refusal"
    assert judge(grpc("RESOURCE_EXHAUSTED")).reason == "throttled"
    assert judge(stand_in("grpc.FutureTimeoutError")).reason == "tool_error"


# ------------------------------------------------------------------------------------- botocore


def client_error(code, http_status, retries=0, headers=()):
    answer = {
        "Error": {"Code": code, "Message": "for people"},
        "ResponseMetadata": {
            "HTTPStatusCode": http_status,
            "RetryAttempts": retries,
            "HTTPHeaders": dict(headers),
        },
    }
    return stand_in("botocore.exceptions.ClientError", response=answer)


@pytest.mark.parametrize(
    "leaf, reason",
    [
        ("EndpointConnectionError", "not_connected"),
        ("ConnectTimeoutError", "not_connected"),
        ("ConnectionClosedError", "connection_lost"),
        ("HTTPClientError", "connection_lost"),
        ("ReadTimeoutError", "timeout"),
        ("ResponseParserError", "unreadable_answer"),
    ],
)
def test_botocore_shows_only_the_last_of_its_tries(leaf, reason):
    """Masked: the first of three tries had the effect, the last one met a closed port."""
    outcome = judge(stand_in(f"botocore.exceptions.{leaf}"))

    assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, reason)


@pytest.mark.parametrize(
    "code, http_status, reason",
    [
        ("ThrottlingException", 400, "throttled"),
        ("Throttling", 400, "throttled"),
        ("RequestLimitExceeded", 503, "throttled"),
        ("SlowDown", 503, "throttled"),
        ("TooManyRequestsException", 429, "throttled"),
        ("IdempotentParameterMismatch", 400, "duplicate_refusal"),
        ("ExecutionAlreadyExists", 400, "duplicate_refusal"),
        ("InternalError", 500, "http_500"),
        ("ServiceUnavailable", 503, "http_503"),
        ("CopyFailed", 200, "unreadable_answer"),
    ],
)
def test_codes_of_aws_that_prove_nothing_whatever_the_status(code, http_status, reason):
    outcome = judge(client_error(code, http_status))

    assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, reason)
    assert (outcome.code, outcome.http_status) == (code, http_status)


def test_botocore_says_how_often_it_had_repeated_the_request():
    once = judge(client_error("ValidationException", 400))
    assert (once.effect, once.kind, once.code) == (
        Effect.REFUSED,
        Kind.INVALID,
        "ValidationException",
    )
    again = judge(client_error("ValidationException", 400, retries=1))
    assert (again.effect, again.reason) == (Effect.UNKNOWN, "refused_after_resend")


def test_the_advice_of_aws_is_kept():
    outcome = judge(client_error("Throttling", 429, headers={"retry-after": "7"}))

    assert outcome.retry_after_s == 7.0


def test_a_client_error_without_a_status_says_nothing():
    error = stand_in("botocore.exceptions.ClientError", response={"Error": {"Code": "X"}})

    assert judge(error).reason == "tool_error"


# --------------------------------------------------------------------------- stripe and the SDKs


def test_a_connection_error_of_stripe_may_hide_an_earlier_try():
    error = caused(
        stand_in("stripe._error.APIConnectionError"), by_requests("ConnectionError", REFUSED)
    )

    assert judge(error).reason == "connection_lost"


@pytest.mark.parametrize(
    "leaf, http_status, effect, kind",
    [
        ("RateLimitError", 429, Effect.UNKNOWN, None),
        ("CardError", 402, Effect.UNKNOWN, None),
        ("InvalidRequestError", 400, Effect.REFUSED, Kind.INVALID),
        ("InvalidRequestError", 404, Effect.REFUSED, Kind.INVALID),
        ("AuthenticationError", 401, Effect.REFUSED, Kind.AUTH),
        ("PermissionError", 403, Effect.REFUSED, Kind.AUTH),
        ("APIError", 500, Effect.UNKNOWN, None),
        ("APIError", 409, Effect.UNKNOWN, None),
    ],
)
def test_statuses_of_stripe(leaf, http_status, effect, kind):
    error = stand_in(
        f"stripe._error.{leaf}",
        http_status=http_status,
        code="its_code",
        json_body=coded("its_code"),
        headers={"retry-after": "3"} if http_status == 429 else {},
    )
    outcome = judge(error)

    assert (outcome.effect, outcome.kind, outcome.code) == (effect, kind, "its_code")
    assert outcome.retry_after_s == (3.0 if http_status == 429 else None)


def test_the_same_key_with_other_parameters_is_of_an_earlier_request():
    error = stand_in("stripe._error.IdempotencyError", http_status=400)

    assert judge(error).reason == "duplicate_refusal"


def by_sdk(leaf, cause, retries="0", root="openai"):
    request = thing("httpx2.Request", headers={"x-stainless-retry-count": retries})
    return caused(stand_in(f"{root}.{leaf}", request=request), cause)


@pytest.mark.parametrize("root", ["openai", "anthropic"])
@pytest.mark.parametrize("cause", ["httpx.ConnectError", "httpx2.ConnectError",
                                   "httpx2.ConnectTimeout"])  # fmt: skip
@pytest.mark.parametrize("leaf", ["APIConnectionError", "APITimeoutError"])
def test_an_sdk_proves_it_only_when_its_header_says_first_try(root, cause, leaf):
    """Masked: the first try had the effect, the third one met a closed port."""
    assert judge(by_sdk(leaf, stand_in(cause), root=root)).effect is Effect.NOT_SENT
    assert judge(by_sdk(leaf, stand_in(cause), "2", root)).effect is Effect.UNKNOWN
    assert judge(by_sdk(leaf, stand_in(cause), None, root)).effect is Effect.UNKNOWN
    assert judge(caused(stand_in(f"{root}.{leaf}"), stand_in(cause))).effect is Effect.UNKNOWN


@pytest.mark.parametrize("root", ["openai", "anthropic"])
def test_an_sdk_that_lost_the_answer_knows_nothing(root):
    for cause in ("httpx2.ReadTimeout", "httpx2.RemoteProtocolError", "httpx2.ReadError"):
        error = by_sdk("APIConnectionError", stand_in(cause), root=root)
        assert judge(error).effect is Effect.UNKNOWN


@pytest.mark.parametrize("root", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "leaf, http_status, effect, kind",
    [
        ("RateLimitError", 429, Effect.UNKNOWN, None),
        ("InternalServerError", 500, Effect.UNKNOWN, None),
        ("ConflictError", 409, Effect.UNKNOWN, None),
        ("APIStatusError", 408, Effect.UNKNOWN, None),
        ("AuthenticationError", 401, Effect.REFUSED, Kind.AUTH),
        ("PermissionDeniedError", 403, Effect.REFUSED, Kind.AUTH),
        ("BadRequestError", 400, Effect.REFUSED, Kind.INVALID),
        ("UnprocessableEntityError", 422, Effect.REFUSED, Kind.INVALID),
    ],
)
def test_statuses_of_the_sdks(root, leaf, http_status, effect, kind):
    def error(retries):
        request = thing("httpx2.Request", headers={"x-stainless-retry-count": retries})
        reply = response(http_status, coded("X"), request=request)
        return stand_in(f"{root}.{leaf}", status_code=http_status, response=reply)

    outcome = judge(error("0"))
    assert (outcome.effect, outcome.kind) == (effect, kind)
    assert judge(error("2")).effect is Effect.UNKNOWN, "the refusal is of its third try"


# ------------------------------------------------------------------------------ google and azure


@pytest.mark.parametrize(
    "leaf, code, effect, kind",
    [
        ("TooManyRequests", 429, Effect.UNKNOWN, None),
        ("ResourceExhausted", 429, Effect.UNKNOWN, None),
        ("ServiceUnavailable", 503, Effect.UNKNOWN, None),
        ("InternalServerError", 500, Effect.UNKNOWN, None),
        ("BadGateway", 502, Effect.UNKNOWN, None),
        ("GatewayTimeout", 504, Effect.UNKNOWN, None),
        ("DeadlineExceeded", 504, Effect.UNKNOWN, None),
        ("Forbidden", 403, Effect.REFUSED, Kind.AUTH),
    ],
)
def test_statuses_of_google(leaf, code, effect, kind):
    outcome = judge(stand_in(f"google.api_core.exceptions.{leaf}", code=code))

    assert (outcome.effect, outcome.kind, outcome.http_status) == (effect, kind, code)


@pytest.mark.parametrize("name", ["google.api_core.exceptions.RetryError", "tenacity.RetryError"])
def test_what_gave_up_after_several_tries_hides_all_but_the_last(name):
    error = caused(stand_in(name), http_error(403))

    assert (judge(error).effect, judge(error).reason) == (Effect.UNKNOWN, "gave_up")


@pytest.mark.parametrize(
    "leaf",
    [
        "ServiceRequestError",  # documented as "not sent"; eff=1 all the same
        "ServiceRequestTimeoutError",
        "ServiceResponseError",
        "ServiceResponseTimeoutError",
        "IncompleteReadError",
    ],
)
def test_azure_repeats_by_itself(leaf):
    error = caused(stand_in(f"azure.core.exceptions.{leaf}"), urllib3("NewConnectionError"))

    assert judge(error).effect is Effect.UNKNOWN


@pytest.mark.parametrize("http_status", [500, 503, 504])
def test_statuses_of_azure(http_status):
    error = http_error(http_status, name="azure.core.exceptions.HttpResponseError")

    assert judge(error).effect is Effect.UNKNOWN


# ------------------------------------------------------------------------- redis, smtp, databases


@pytest.mark.parametrize("leaf", ["ConnectionError", "TimeoutError"])
def test_redis_executes_up_to_eleven_times(leaf):
    error = caused(stand_in(f"redis.exceptions.{leaf}"), REFUSED)

    assert judge(error).effect is Effect.UNKNOWN


def test_a_wrong_command_of_redis_is_as_wrong_on_every_try():
    outcome = judge(stand_in("redis.exceptions.ResponseError"))

    assert (outcome.effect, outcome.kind) == (Effect.REFUSED, Kind.INVALID)


@pytest.mark.parametrize("leaf", ["ReadOnlyError", "OutOfMemoryError", "BusyLoadingError"])
def test_a_refusal_of_the_moment_speaks_for_the_last_try_of_redis_only(leaf):
    """A fail-over: INCR executed, reply lost, and the client's next try meets a replica."""
    outcome = judge(stand_in(f"redis.exceptions.{leaf}"))

    assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, "refused_by_resender")


@pytest.mark.parametrize("leaf", ["SMTPConnectError", "SMTPHeloError"])
def test_smtp_before_the_mail(leaf):
    assert judge(stand_in(f"smtplib.{leaf}", smtp_code=421)).effect is Effect.NOT_SENT


def test_a_raw_socket_that_could_not_connect_was_not_sent():
    """smtplib and asyncpg let these through."""
    assert judge(REFUSED).effect is Effect.NOT_SENT
    assert judge(stand_in("socket.gaierror", base=OSError)).effect is Effect.NOT_SENT
    assert judge(ConnectionResetError()).effect is Effect.UNKNOWN


def recipients(*codes):
    rows = {f"a{n}@example": (code, b"text") for n, code in enumerate(codes)}
    return stand_in("smtplib.SMTPRecipientsRefused", rows, recipients=rows)


@pytest.mark.parametrize(
    "error, effect, kind, retryable",
    [
        (recipients(450), Effect.REFUSED, Kind.UNAVAILABLE, True),
        (recipients(550), Effect.REFUSED, Kind.BUSINESS, False),
        (recipients(550, 450), Effect.REFUSED, Kind.UNAVAILABLE, True),
        (recipients(), Effect.UNKNOWN, None, False),
        (recipients(550, "odd"), Effect.UNKNOWN, None, False),
        (stand_in("smtplib.SMTPSenderRefused", smtp_code=451), Effect.REFUSED, Kind.UNAVAILABLE,
         True),
        (stand_in("smtplib.SMTPSenderRefused", smtp_code=553), Effect.REFUSED, Kind.BUSINESS,
         False),
        (stand_in("smtplib.SMTPDataError", smtp_code=451), Effect.REFUSED, Kind.UNAVAILABLE, True),
        (stand_in("smtplib.SMTPDataError", smtp_code=554), Effect.REFUSED, Kind.BUSINESS, False),
        (stand_in("smtplib.SMTPDataError", smtp_code=421), Effect.UNKNOWN, None, False),
        (stand_in("smtplib.SMTPDataError", smtp_code=-1), Effect.UNKNOWN, None, False),
        (stand_in("smtplib.SMTPServerDisconnected"), Effect.UNKNOWN, None, False),
        (stand_in("smtplib.SMTPNotSupportedError"), Effect.UNKNOWN, None, False),
    ],
)  # fmt: skip
def test_replies_of_smtp(error, effect, kind, retryable):
    outcome = judge(error)

    assert (outcome.effect, outcome.kind, outcome.retryable) == (effect, kind, retryable)


def test_mail_that_some_recipients_got_is_confirmed():
    assert judge(value={"bad@example": (550, b"no")}).effect is Effect.CONFIRMED


@pytest.mark.parametrize(
    "name, state, effect, reason",
    [
        ("psycopg.OperationalError", None, Effect.UNKNOWN, "connection_lost"),
        ("psycopg.errors.AdminShutdown", "57P01", Effect.UNKNOWN, "protocol_unsettled"),
        ("psycopg.errors.CrashShutdown", "57P02", Effect.UNKNOWN, "protocol_unsettled"),
        ("psycopg.errors.TransactionResolutionUnknown", "08007", Effect.UNKNOWN,
         "protocol_unsettled"),
        ("psycopg.errors.StatementCompletionUnknown", "40003", Effect.UNKNOWN,
         "protocol_unsettled"),
        ("psycopg.errors.UniqueViolation", "23505", Effect.UNKNOWN, "duplicate_refusal"),
        ("psycopg.errors.SerializationFailure", "40001", Effect.REFUSED, "protocol_temporary"),
        ("psycopg.errors.DeadlockDetected", "40P01", Effect.REFUSED, "protocol_temporary"),
        ("psycopg.InterfaceError", None, Effect.UNKNOWN, "tool_error"),
        ("asyncpg.exceptions.SerializationError", "40001", Effect.REFUSED, "protocol_temporary"),
        ("asyncpg.exceptions.UniqueViolationError", "23505", Effect.UNKNOWN, "duplicate_refusal"),
        ("asyncpg.exceptions.ConnectionDoesNotExistError", "08003", Effect.UNKNOWN,
         "connection_lost"),
        ("asyncpg.exceptions.CannotConnectNowError", "57P03", Effect.NOT_SENT, "never_connected"),
        ("asyncpg.exceptions.TooManyConnectionsError", "53300", Effect.NOT_SENT,
         "never_connected"),
    ],
)  # fmt: skip
def test_states_of_postgresql(name, state, effect, reason):
    outcome = judge(stand_in(name, sqlstate=state))

    assert (outcome.effect, outcome.reason) == (effect, reason)
    assert outcome.retryable == (effect in (Effect.NOT_SENT, Effect.REFUSED))


def test_the_state_is_found_beneath_an_orm():
    error = caused(
        stand_in("sqlalchemy.exc.OperationalError", code="e3q8"),
        stand_in("psycopg.errors.SerializationFailure", sqlstate="40001"),
    )
    assert judge(error).code == "40001"


# ----------------------------------------------------------------------------------------- MCP


@pytest.mark.parametrize(
    "number, effect",
    [
        (-32001, Effect.UNKNOWN),
        (-32000, Effect.UNKNOWN),
        (-32700, Effect.UNKNOWN),
        (-32600, Effect.UNKNOWN),
        (-32601, Effect.UNKNOWN),  # made up for a bare 404; eff=1
        (-32603, Effect.UNKNOWN),
        (-32602, Effect.REFUSED),
    ],
)
def test_codes_of_mcp_that_the_client_makes_up_itself(number, effect):
    error = stand_in("mcp.shared.exceptions.MCPError", error=thing(code=number))

    assert (judge(error).effect, judge(error).code) == (effect, str(number))


def test_an_mcp_error_without_a_code_says_nothing():
    assert judge(stand_in("mcp.shared.exceptions.MCPError")).reason == "tool_error"


@pytest.mark.parametrize("name", ["isError", "is_error"])
def test_a_tool_result_that_is_an_error_without_a_code_is_unknown(name):
    held = judge(value=thing("mcp.types.CallToolResult", **{name: True}))
    assert (held.effect, held.reason) == (Effect.UNKNOWN, "error_like_body")
    assert judge(value={name: True}).reason == "error_like_body"
    assert judge(value=thing("mcp.types.CallToolResult", **{name: False})).reason == "answered"


# --------------------------------------------------------------------------------- HTTP statuses

INVALID = (400, 404, 405, 406, 410, 411, 413, 414, 415, 416, 417, 422, 426, 428, 431)
AUTH = (401, 403, 407)
UNSETTLED = (402, 408, 418, 421, 423, 424, 425, 429, 500, 501, 502, 503, 504, 505, 511, 599)


@pytest.mark.parametrize(
    "http_status, kind",
    [
        *((n, Kind.INVALID) for n in INVALID),
        *((n, Kind.AUTH) for n in AUTH),
        (451, Kind.BUSINESS),
    ],
)
def test_statuses_that_are_a_definite_refusal(http_status, kind):
    for outcome in (
        judge(http_error(http_status)),
        judge(KeyError("defect after the reply"), trace=answered(http_status)),
    ):
        assert (outcome.effect, outcome.kind) == (Effect.REFUSED, kind)
        assert not outcome.retryable
        assert outcome.http_status == http_status


@pytest.mark.parametrize("http_status", [*UNSETTLED, 409, 412, 100, 301, 302, 303, 307, 308])
def test_statuses_that_prove_nothing(http_status):
    outcome = judge(http_error(http_status))

    assert (outcome.effect, outcome.kind, outcome.retryable) == (Effect.UNKNOWN, None, False)


@pytest.mark.parametrize(
    "http_status, reason",
    [
        (409, "duplicate_refusal"),
        (412, "duplicate_refusal"),
        (307, "redirected"),
        (503, "http_503"),
        (511, "http_5xx"),
        (418, "http_unlisted"),
        (207, "http_207"),
        (208, "http_208"),
        (200, "unreadable_answer"),
    ],
)
def test_why_a_status_proves_nothing(http_status, reason):
    assert judge(http_error(http_status)).reason == reason


@pytest.mark.parametrize("http_status", [429, 503, 403])
def test_advice_about_time_is_kept_apart_from_the_effect(http_status):
    outcome = judge(http_error(http_status, headers={"Retry-After": "60"}))

    assert (outcome.effect, outcome.retry_after_s) == (Effect.UNKNOWN, 60.0)
    if http_status == 403:
        assert outcome.reason == "http_429", "a 403 that names a time is a rate limit"


@pytest.mark.parametrize("http_status", [200, 201, 204])
def test_a_plain_answer_confirms(http_status):
    outcome = judge(value={"ticket_id": "T900"}, trace=answered(http_status))

    assert (outcome.effect, outcome.provider_ref) == (Effect.CONFIRMED, "T900")


@pytest.mark.parametrize("http_status", [207, 208])
def test_a_partial_or_disputed_done_does_not_confirm(http_status):
    outcome = judge(value={"ticket_id": "T900"}, trace=answered(http_status))

    assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, f"http_{http_status}")


def test_what_nobody_knows_is_unknown():
    for error in (RuntimeError("x"), stand_in("pycurl.error"), stand_in("acme.sdk.Broken")):
        assert (judge(error).effect, judge(error).reason) == (Effect.UNKNOWN, "tool_error")


def test_a_raised_copy_is_judged_like_the_exception_itself():
    assert judge(raised(stand_in("httpx.ConnectError"))).effect is Effect.NOT_SENT
    assert judge(raised(stand_in("httpx.ReadTimeout")), contract=BY_CRM).effect is Effect.UNKNOWN
