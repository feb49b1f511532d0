"""F10, U11: what the hooks say left the process, against the books of a server that misbehaves.

One law for every case and every client: the hooks may say "it left" too often, but never "nothing
left" of something that arrived. Which exception a client raises is not looked at.
"""

import ssl
from dataclasses import dataclass

import pytest

from tests.wire import behaviours
from tests.wire.behaviours import BODY, by_path
from tests.wire.callers import open_caller
from tests.wire.server import Server, refusing


@dataclass(frozen=True)
class Expected:
    """``None``: not promised, or different from client to client for good reasons."""

    left: bool | None = True
    sends: int | None = 1
    heads: int | None = 1
    http_status: int | None = None
    whole: bool | None = None


def check(seen, ledger, expected):
    trace = seen.trace
    story = f"{trace} error={seen.error!r} took={seen.took_s:.2f} ledger={ledger}"
    if not trace.left:
        assert not ledger.heads, f"said to be unsent, but it arrived: {story}"
        assert not ledger.effects, f"said to be unsent, but it was done: {story}"
    assert trace.sends >= len(ledger.heads), f"sends were missed: {story}"
    assert not any(send.in_flight for send in seen.log.sends), story
    assert trace.exits == {"crm"}, story
    if expected.left is not None:
        assert trace.left is expected.left, story
    if expected.sends is not None:
        assert trace.sends == expected.sends, story
    if expected.heads is not None:
        assert len(ledger.heads) == expected.heads, story
    assert trace.http_status == expected.http_status, story
    assert trace.complete is expected.whole, story


def tell(kind, server, url, expected, *, method="POST", body=None, **options):
    """Make the call, let the server work off what came, and compare the books."""
    how = {} if body is None else {"body": body}
    with open_caller(kind, **options) as caller:
        seen = caller.call(method, url, deadline_s=5.0, **how)
    ledger = server.settle()
    check(seen, ledger, expected)
    return seen, ledger


# ---------------------------------------------------------------------------- nothing can have left

NOTHING = Expected(left=False, heads=0)


def test_req_F10_a_refused_connection_is_proof_of_unsent(kind, server):
    with refusing() as port:
        seen, _ = tell(kind, server, f"http://127.0.0.1:{port}/ok", NOTHING)
    assert seen.error is not None


def test_req_F10_a_name_that_does_not_exist_is_proof_of_unsent(kind, server):
    tell(kind, server, "http://nowhere.invalid/ok", NOTHING)


def test_req_F10_a_certificate_that_is_not_trusted_is_proof_of_unsent(kind, tls):
    with Server(by_path, tls=tls) as server:
        tell(kind, server, server.url("/ok"), NOTHING)


def test_req_F10_tls_spoken_to_a_plain_port_is_proof_of_unsent(kind):
    with Server(behaviours.plain_answer) as server:
        tell(kind, server, server.url("/ok", "https"), NOTHING)


@pytest.mark.parametrize("end", [behaviours.hello_fin, behaviours.hello_rst])
def test_req_F10_a_handshake_that_is_cut_is_proof_of_unsent(kind, end):
    with Server(end) as server:
        tell(kind, server, server.url("/ok", "https"), NOTHING)


@pytest.mark.parametrize("code", [403, 407, 502])
def test_req_F10_a_tunnel_that_is_refused_is_proof_of_unsent(kind, code):
    with Server(behaviours.proxy_answering(code)) as proxy:
        url = "https://crm.invalid/ok"
        _, ledger = tell(kind, proxy, url, NOTHING, proxy=proxy.url("", "http"))
        assert ledger.tunnels, "the case tests nothing: the proxy was not asked"


@pytest.mark.parametrize("end", ["fin", "rst"])
def test_req_F10_a_tunnel_that_is_cut_is_proof_of_unsent(kind, end):
    with Server(behaviours.proxy_then(end)) as proxy:
        url = "https://crm.invalid/ok"
        _, ledger = tell(kind, proxy, url, NOTHING, proxy=proxy.url("", "http"))
        assert ledger.tunnels


def test_req_F10_a_tunnel_that_closes_once_it_is_open_is_proof_of_unsent(kind):
    with Server(behaviours.proxy_opened_then_fin) as proxy:
        tell(kind, proxy, "https://crm.invalid/ok", NOTHING, proxy=proxy.url("", "http"))


# ------------------------------------------------------------------------------ it may have arrived


@pytest.mark.parametrize("end", [behaviours.accept_fin, behaviours.accept_rst])
def test_req_F10_a_connection_that_opened_and_broke_proves_nothing(kind, end):
    with Server(end) as server:
        # A reset can be faster than the client's own connect(): then nothing left, truly.
        tell(kind, server, server.url("/ok"), Expected(left=None, heads=0))


# With and without effect nothing differs but the books: the hooks cannot tell, and must not.
PLAIN = {
    "read_rst": Expected(),
    "read_fin": Expected(),
    "effect_rst": Expected(),
    "effect_fin": Expected(),
    "head_rst": Expected(),
    "half_length_fin": Expected(http_status=200, whole=False),
    "half_length_rst": Expected(http_status=200, whole=False),
    "half_chunked": Expected(http_status=200, whole=False),
    "garbage": Expected(),
    "ok": Expected(http_status=200, whole=True),
    "no_content": Expected(http_status=204, whole=True),
    "chunked": Expected(http_status=200, whole=True),
    # Its end is the connection's end: whole or cut, nobody can tell.
    "close_delimited": Expected(http_status=200, whole=None),
}


@pytest.mark.parametrize("name", PLAIN)
def test_req_F10_the_hooks_tell_how_far_it_came(kind, server, name):
    seen, ledger = tell(kind, server, server.url(f"/{name}"), PLAIN[name])
    if seen.http_status is not None:
        assert len(ledger.effects) == 1
    if name == "ok":
        assert seen.body == BODY
        assert seen.trace.request_id == "req-7"
        assert seen.trace.targets == (f"POST {server.address}/ok",)
        assert seen.trace.unsafe


def test_req_F10_a_head_that_is_cut_is_no_answer(kind, server):
    """requests hands out a 200 with an empty body; the trace must not agree."""
    with open_caller(kind) as caller:
        seen = caller.call("POST", server.url("/half_head"), deadline_s=5.0)
    ledger = server.settle()
    assert ledger.effects == ["/half_head"]
    assert seen.trace.left
    assert not seen.trace.answered
    if seen.error is None:
        assert (seen.http_status, seen.body) == (200, b"")
        assert seen.trace.complete is False


def test_req_F10_an_answer_before_the_body_counts_as_left(kind, server):
    with open_caller(kind) as caller:
        big = b"x" * 4_000_000
        seen = caller.call("POST", server.url("/early_413"), body=big, deadline_s=5.0)
    assert server.settle().effects == []
    assert seen.trace.left
    assert seen.trace.http_status in (413, None)  # a reset may have overtaken the answer


@pytest.mark.parametrize("end", ["fin", "rst"])
def test_req_F10_a_forward_proxy_that_took_the_request_had_it(kind, end):
    with Server(behaviours.proxy_then(end)) as proxy:
        url = "http://crm.invalid/ok"
        tell(kind, proxy, url, Expected(), proxy=proxy.url("", "http"))


def test_req_F10_a_forward_proxy_answers_for_the_provider(kind):
    with Server(behaviours.proxy_answering(502)) as proxy:
        expected = Expected(http_status=502, whole=True)
        tell(kind, proxy, "http://crm.invalid/ok", expected, proxy=proxy.url("", "http"))


# ----------------------------------------------------------------------------------- TLS that works


def test_req_F10_tls_that_works_is_seen_like_a_plain_connection(kind, tls, certificate):
    with Server(by_path, tls=tls) as server:
        expected = Expected(http_status=200, whole=True)
        tell(kind, server, server.url("/ok"), expected, verify=certificate[0])


def test_req_F10_tls_through_a_tunnel_is_seen_and_the_tunnel_is_not_counted(kind, tls, certificate):
    with Server(by_path, tls=tls) as server:
        with Server(behaviours.proxy_to(("127.0.0.1", server.port))) as proxy:
            expected = Expected(http_status=200, whole=True)
            seen, _ = tell(
                kind,
                server,
                server.url("/ok"),
                expected,
                verify=certificate[0],
                proxy=proxy.url("", "http"),
            )
            assert proxy.ledger.tunnels == [server.address]
        assert seen.trace.targets == (f"POST {server.address}/ok",)


def test_req_F10_an_ssl_error_after_the_effect_proves_nothing(kind, tls, certificate):
    """The same class as a certificate that was refused, and yet it was done."""
    with Server(by_path, tls=tls) as server:
        url = server.url("/plain_under_tls")
        seen, ledger = tell(kind, server, url, Expected(), verify=certificate[0])
    assert ledger.effects == ["/plain_under_tls"]
    assert seen.error is not None


def test_req_F10_a_client_certificate_that_is_missed_in_the_handshake_is_proof_of_unsent(
    kind, tls, certificate
):
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(certificate[0])
    tls.maximum_version = ssl.TLSVersion.TLSv1_2
    with Server(by_path, tls=tls) as server:
        tell(kind, server, server.url("/ok"), NOTHING, verify=certificate[0])


def test_req_F10_a_client_certificate_that_is_missed_afterwards_proves_nothing(
    kind, tls, certificate
):
    """With TLS 1.3 the client is told only when it has sent its request already."""
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(certificate[0])
    tls.minimum_version = ssl.TLSVersion.TLSv1_3
    with Server(by_path, tls=tls) as server:
        tell(kind, server, server.url("/ok"), Expected(heads=0), verify=certificate[0])


# ------------------------------------------------------------------------------------- what it says


@pytest.mark.parametrize("code", [400, 409, 429, 500, 503])
def test_req_F10_an_error_status_is_an_answer(kind, server, code):
    expected = Expected(http_status=code, whole=True)
    tell(kind, server, server.url(f"/status?code={code}&effect=1&body=sorry"), expected)


def test_req_F10_retry_after_is_handed_on_as_it_came(kind, server):
    values = ["0", "100", "-1", "1.5", "Wed, 21 Oct 2015 07:28:00 GMT", "soon"]
    with open_caller(kind) as caller:
        for value in values:
            seen = caller.call("POST", server.url(f"/status?code=429&retry_after={value}"))
            assert seen.trace.retry_after == value
        assert caller.call("POST", server.url("/status?code=429")).trace.retry_after is None


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_req_F10_a_read_is_no_write(kind, server, method):
    expected = Expected(http_status=200, whole=True)
    seen, _ = tell(kind, server, server.url("/status?code=200"), expected, method=method, body=b"")
    assert not seen.trace.unsafe
    assert seen.trace.targets == ()
