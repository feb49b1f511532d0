"""F10, U01: what users of httpx do with a client goes on working, and is seen."""

import contextlib
import time

import anyio
import pytest

from tests.wire.callers import DEADLINE_S, SLACK_S, TRUSTS_NONE, async_client_of, client_of
from tests.wire.server import refusing

# -------------------------------------------------------------------------------------------- hooks


def test_req_U01_event_hooks_still_run_and_a_raising_one_leaves_a_true_trace(lib, server, log):
    told = []

    def on_response(response):
        told.append(response.status_code)
        raise RuntimeError("the hook has its own opinion")

    hooks = {"request": [lambda request: told.append(request.method)], "response": [on_response]}
    with client_of(lib, event_hooks=hooks) as client, pytest.raises(RuntimeError):
        client.post(server.url("/ok"))
    assert told == ["POST", 200]
    trace = log.trace()
    assert (trace.left, trace.http_status, trace.complete) == (True, 200, None)


def test_req_U01_a_trace_that_the_user_set_is_called_too(lib, server, log):
    events = []
    with client_of(lib) as client:
        extensions = {"trace": lambda name, info: events.append(name)}
        client.post(server.url("/ok"), extensions=extensions)
    assert "http11.send_request_headers.started" in events
    assert "http11.response_closed.complete" in events
    assert log.trace().left


async def test_req_U01_an_async_trace_that_the_user_set_is_called_too(lib, server, log):
    events = []

    async def trace(name, info):
        events.append(name)

    async with async_client_of(lib) as client:
        await client.post(server.url("/ok"), extensions={"trace": trace})
    assert "http11.send_request_headers.started" in events
    assert log.trace().left


def test_req_U01_a_request_keeps_its_own_extensions_and_can_be_sent_again(lib, server, log):
    with client_of(lib) as client:
        request = client.build_request("POST", server.url("/ok"), extensions={"mine": 1})
        own = dict(request.extensions)
        for _ in range(2):
            assert client.send(request).status_code == 200
            assert request.extensions == own
    assert log.trace().sends == len(server.settle().heads) == 2


def test_req_U01_authentication_that_asks_twice_is_two_sends(lib, server, log):
    class Own(lib.Auth):
        def auth_flow(self, request):
            response = yield request
            assert response.status_code == 200
            request.headers["X-Token"] = "t"
            yield request

    with client_of(lib, auth=Own()) as client:
        client.post(server.url("/ok"))
    heads = server.settle().heads
    assert ["x-token" in head.headers for head in heads] == [False, True]
    assert log.trace().sends == 2


# --------------------------------------------------------------------------------------- transports


def test_req_F10_what_enters_a_transport_we_do_not_know_counts_as_left(lib, log):
    def fail(request):
        raise lib.ConnectError("it says that it could not connect", request=request)

    with (
        client_of(lib, transport=lib.MockTransport(fail)) as client,
        pytest.raises(lib.ConnectError),
    ):
        client.post("https://crm.example/tickets")
    assert log.trace().left
    assert log.trace().targets == ("POST crm.example/tickets",)


def test_req_U01_a_mock_transport_answers_as_ever(lib, log):
    with client_of(
        lib, transport=lib.MockTransport(lambda _: lib.Response(201, json={"id": 1}))
    ) as client:
        assert client.post("https://crm.example/tickets").json() == {"id": 1}
    trace = log.trace()
    assert (trace.sends, trace.http_status, trace.complete) == (1, 201, True)


def test_req_U01_a_wsgi_application_is_a_transport_we_do_not_know(lib, log):
    def application(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain"), ("X-Request-Id", "w-1")])
        return [environ["PATH_INFO"].encode()]

    with client_of(lib, transport=lib.WSGITransport(app=application)) as client:
        assert client.post("http://crm.example/tickets").text == "/tickets"
    trace = log.trace()
    assert (trace.left, trace.complete, trace.request_id) == (True, True, "w-1")


async def test_req_U01_an_asgi_application_is_a_transport_we_do_not_know(lib, log):
    async def application(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["path"].encode()})

    transport = lib.ASGITransport(app=application)
    async with async_client_of(lib, transport=transport) as client:
        assert (await client.post("http://crm.example/tickets")).text == "/tickets"
    trace = log.trace()
    assert (trace.left, trace.http_status, trace.complete) == (True, 200, True)


async def test_req_U11_an_application_that_hangs_is_left_at_the_deadline(lib, log):
    async def application(scope, receive, send):
        await anyio.sleep_forever()

    log.deadline_at = time.monotonic() + DEADLINE_S
    async with async_client_of(lib, transport=lib.ASGITransport(app=application)) as client:
        with pytest.raises(lib.ReadTimeout):
            await client.post("http://crm.example/tickets")
    assert time.monotonic() - log.deadline_at < SLACK_S
    assert log.trace().left


def test_req_F10_a_transport_around_ours_is_counted_send_by_send(lib, server, log):
    class Retrying(lib.BaseTransport):
        def __init__(self):
            self.inner = lib.HTTPTransport(verify=TRUSTS_NONE)

        def handle_request(self, request):
            with contextlib.suppress(lib.TransportError):
                return self.inner.handle_request(request)
            request.url = request.url.copy_with(path="/ok")
            return self.inner.handle_request(request)

        def close(self):
            self.inner.close()

    with client_of(lib, transport=Retrying()) as client:
        assert client.post(server.url("/effect_fin")).status_code == 200
    assert len(server.settle().heads) == 2
    trace = log.trace()
    assert (trace.sends, trace.left, trace.http_status) == (2, True, 200)


def test_req_F10_a_transport_that_asks_again_on_the_same_connection_is_counted(lib, server, log):
    class Insisting(lib.HTTPTransport):
        def handle_request(self, request):
            response = super().handle_request(request)
            while response.status_code == 503:
                response.read()
                response.close()
                response = super().handle_request(request)
            return response

    with client_of(lib, transport=Insisting(verify=TRUSTS_NONE)) as client:
        assert client.post(server.url("/flaky?fail=2&code=503")).status_code == 200
    ledger = server.settle()
    assert (ledger.connections, len(ledger.heads)) == (1, 3)
    assert log.trace().sends == 3
    assert log.trace().complete is True


def test_req_U11_a_transport_around_ours_ends_in_time_too(lib, server, log):
    class Around(lib.BaseTransport):
        def __init__(self):
            self.inner = lib.HTTPTransport(verify=TRUSTS_NONE)

        def handle_request(self, request):
            return self.inner.handle_request(request)

        def close(self):
            self.inner.close()

    log.deadline_at = time.monotonic() + DEADLINE_S
    with client_of(lib, transport=Around()) as client, pytest.raises(lib.TimeoutException):
        client.post(server.url("/drip_head"))
    assert time.monotonic() - log.deadline_at < SLACK_S


def test_req_F10_a_patched_transport_is_not_taken_for_the_real_one(lib, log, monkeypatch):
    def patched(self, request):
        raise lib.ConnectError("a mock of the whole library", request=request)

    monkeypatch.setattr(lib.HTTPTransport, "handle_request", patched)
    with client_of(lib) as client, pytest.raises(lib.ConnectError):
        client.post("https://crm.example/tickets")
    assert log.trace().left


def test_req_F10_mounts_are_watched_also_when_they_come_later(lib, server, log):
    mounts = {"http://gone.example": lib.HTTPTransport()}
    with refusing() as port, client_of(lib, mounts=mounts) as client:
        client._mounts = {
            lib._utils.URLPattern("http://127.0.0.1"): lib.HTTPTransport(),
        }
        assert client.post(server.url("/ok")).status_code == 200
        with pytest.raises(lib.ConnectError):
            client.post(f"http://127.0.0.1:{port}/ok")
    assert [send.left for send in log.sends] == [True, False]


def test_req_U11_a_transport_that_was_mounted_later_ends_in_time_too(lib, server, log):
    with client_of(lib) as client:
        client._mounts = {lib._utils.URLPattern("http://127.0.0.1"): lib.HTTPTransport()}
        log.deadline_at = time.monotonic() + DEADLINE_S
        with pytest.raises(lib.ReadTimeout):
            client.post(server.url("/drip_head"))
    assert time.monotonic() - log.deadline_at < SLACK_S


def test_req_U11_a_transport_we_do_not_know_is_not_entered_after_the_deadline(lib, log):
    entered = []
    log.deadline_at = time.monotonic()
    with (
        client_of(lib, transport=lib.MockTransport(entered.append)) as client,
        pytest.raises(lib.ReadTimeout),
    ):
        client.post("https://crm.example/tickets")
    assert entered == []


def test_req_U11_a_deadline_that_passes_while_connecting_lets_nothing_leave(lib, server, log):
    def trace(name, info):
        if name == "connection.connect_tcp.complete":
            log.deadline_at = time.monotonic()

    with client_of(lib) as client, pytest.raises(lib.ReadTimeout):
        client.post(server.url("/ok"), extensions={"trace": trace})
    assert not log.trace().left
    ledger = server.settle()
    assert (ledger.connections, ledger.heads) == (1, [])
