"""F10, U01: what users of httpx do with a client goes on working, and is seen."""

import asyncio
import contextlib
import contextvars
import importlib
import threading
import time

import anyio
import pytest

from ascertain.wire.log import WireLog, current_log
from ascertain.wire.watch import watch
from tests.wire.behaviours import BODY
from tests.wire.callers import KINDS, TRUSTS_NONE
from tests.wire.server import refusing

# Long enough for what has to happen before it, also on a busy machine.
DEADLINE_S = 0.5
SLACK_S = 1.0


@pytest.fixture(params=sorted({library for _, library in KINDS.values()} - {"requests"}))
def lib(request):
    return importlib.import_module(request.param)


@pytest.fixture
def log():
    """The log of one attempt, set for the test."""
    recorder = WireLog(time.monotonic() + 5.0)
    token = current_log.set(recorder)
    yield recorder
    current_log.reset(token)


def client_of(lib, **how):
    return watch(lib.Client(trust_env=False, verify=TRUSTS_NONE, **how), name="crm")


def async_client_of(lib, **how):
    return watch(lib.AsyncClient(trust_env=False, verify=TRUSTS_NONE, **how), name="crm")


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


# ------------------------------------------------------------------------------- bodies, both ways


def test_req_U11_a_body_of_a_transport_we_do_not_know_ends_in_time(lib, log):
    def endless():
        while True:
            yield b"drip"

    log.deadline_at = time.monotonic() + 0.1
    transport = lib.MockTransport(lambda _: lib.Response(200, content=endless()))
    with client_of(lib, transport=transport) as client, pytest.raises(lib.ReadTimeout):
        client.post("https://crm.example/tickets")
    assert time.monotonic() - log.deadline_at < SLACK_S
    assert log.trace().complete is False


async def test_req_U11_an_async_body_of_a_transport_we_do_not_know_ends_in_time(lib, log):
    async def stalled():
        yield b"drip"
        await anyio.sleep_forever()

    log.deadline_at = time.monotonic() + 0.1
    transport = lib.MockTransport(lambda _: lib.Response(200, content=stalled()))
    async with async_client_of(lib, transport=transport) as client:
        with pytest.raises(lib.ReadTimeout):
            await client.post("https://crm.example/tickets")
    assert time.monotonic() - log.deadline_at < SLACK_S
    assert log.trace().complete is False


def test_req_F10_a_stream_that_is_read_to_its_end_is_complete(lib, server, log):
    with client_of(lib) as client, client.stream("POST", server.url("/chunked")) as response:
        assert log.trace().complete is None
        assert b"".join(response.iter_bytes()) == BODY
    assert log.trace().complete is True


def test_req_F10_a_stream_that_is_not_read_is_not_known_to_be_complete(lib, server, log):
    with client_of(lib) as client, client.stream("POST", server.url("/chunked")) as response:
        assert response.status_code == 200
    trace = log.trace()
    assert (trace.http_status, trace.complete) == (200, None)


def test_req_F10_a_stream_that_breaks_is_not_complete(lib, server, log):
    with (
        client_of(lib) as client,
        client.stream("POST", server.url("/half_chunked")) as response,
        pytest.raises(lib.RemoteProtocolError),
    ):
        response.read()
    assert log.trace().complete is False


def test_req_U11_a_stream_ends_at_the_deadline(lib, server, log):
    log.deadline_at = time.monotonic() + DEADLINE_S
    with (
        client_of(lib) as client,
        client.stream("POST", server.url("/drip_body")) as response,
        pytest.raises(lib.ReadTimeout),
    ):
        response.read()
    assert time.monotonic() - log.deadline_at < SLACK_S
    assert log.trace().complete is False


async def test_req_U11_an_async_stream_ends_at_the_deadline(lib, server, log):
    log.deadline_at = time.monotonic() + DEADLINE_S
    async with (
        async_client_of(lib) as client,
        client.stream("POST", server.url("/drip_body")) as response,
    ):
        with pytest.raises(lib.ReadTimeout):
            await response.aread()
    assert time.monotonic() - log.deadline_at < SLACK_S
    assert log.trace().complete is False


async def test_req_F10_an_async_stream_may_be_left_early(lib, server, log):
    async with (
        async_client_of(lib) as client,
        client.stream("POST", server.url("/drip_body")) as response,
    ):
        async for _ in response.aiter_bytes():
            break
    trace = log.trace()
    assert (trace.http_status, trace.complete) == (200, None)


def test_req_F10_an_upload_whose_source_breaks_had_left(lib, server, log):
    def source():
        yield b"first half"
        raise ValueError("the file is damaged")

    with client_of(lib) as client, pytest.raises(ValueError, match="damaged"):
        client.post(server.url("/ok"), content=source())
    ledger = server.settle()
    assert (len(ledger.heads), ledger.effects) == (1, [])
    assert log.trace().left


async def test_req_U11_an_upload_whose_source_stalls_ends_in_time(lib, server, log):
    async def source():
        yield b"first half"
        await anyio.sleep_forever()

    log.deadline_at = time.monotonic() + DEADLINE_S
    async with async_client_of(lib) as client:
        with pytest.raises(lib.TimeoutException):
            await client.post(server.url("/ok"), content=source())
    assert time.monotonic() - log.deadline_at < SLACK_S
    assert log.trace().left


async def test_req_F10_a_cancelled_call_had_left(lib, server, log):
    async with async_client_of(lib) as client:
        task = asyncio.ensure_future(client.post(server.url("/effect_hang")))
        assert await asyncio.to_thread(server.acted.wait, 5.0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    trace = log.trace()
    assert (trace.left, trace.answered, trace.sends) == (True, False, 1)
    assert not log.sends[0].in_flight


# ---------------------------------------------------------------------------------- several at once


async def test_req_F10_requests_gathered_in_one_attempt_are_all_on_its_log(lib, server, log):
    paths = [f"/ok/{number}" for number in range(8)]
    async with async_client_of(lib) as client:
        await asyncio.gather(*(client.post(server.url(path)) for path in paths))
    trace = log.trace()
    assert trace.sends == len(server.settle().heads) == len(paths)
    assert set(trace.targets) == {f"POST {server.address}{path}" for path in paths}
    assert all(send.complete and send.http_status == 200 for send in log.sends)


async def test_req_F10_two_attempts_on_one_client_do_not_mix(lib, server):
    async def attempt(client, count):
        own = WireLog(time.monotonic() + 5.0)
        current_log.set(own)  # each task has a context of its own
        for _ in range(count):
            await client.post(server.url("/ok"))
        return own

    async with async_client_of(lib) as client:
        logs = await asyncio.gather(*(attempt(client, count) for count in (1, 2, 3)))
    assert [own.trace().sends for own in logs] == [1, 2, 3]


def test_req_F10_threads_that_were_given_the_context_record_and_others_do_not(lib, server, log):
    with client_of(lib) as client:
        given = contextvars.copy_context()
        threads = [
            threading.Thread(target=given.run, args=(client.post, server.url("/ok/given"))),
            threading.Thread(target=client.post, args=(server.url("/ok/other"),)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(5.0)
    assert len(server.settle().heads) == 2
    assert log.trace().targets == (f"POST {server.address}/ok/given",)


def test_req_U11_waiting_for_a_connection_of_the_pool_ends_in_time(lib, server, log):
    limits = lib.Limits(max_connections=1)
    with (
        client_of(lib, limits=limits, timeout=None) as client,
        client.stream("POST", server.url("/drip_body")),
    ):
        log.deadline_at = time.monotonic() + DEADLINE_S
        with pytest.raises(lib.PoolTimeout):
            client.post(server.url("/ok"))
    assert time.monotonic() - log.deadline_at < SLACK_S
    assert [send.left for send in log.sends] == [True, False]


async def test_req_U11_waiting_for_an_async_pool_ends_in_time(lib, server, log):
    limits = lib.Limits(max_connections=1)
    async with (
        async_client_of(lib, limits=limits, timeout=None) as client,
        client.stream("POST", server.url("/drip_body")),
    ):
        log.deadline_at = time.monotonic() + DEADLINE_S
        with pytest.raises(lib.TimeoutException):
            await client.post(server.url("/ok"))
    assert time.monotonic() - log.deadline_at < SLACK_S
    assert [send.left for send in log.sends] == [True, False]


def test_req_U01_connections_opened_before_watching_are_seen_too(lib, server, log):
    client = lib.Client(trust_env=False, verify=TRUSTS_NONE)
    with client:
        client.post(server.url("/ok"))
        watch(client, name="crm")
        client.post(server.url("/ok"))
    ledger = server.settle()
    assert (ledger.connections, len(ledger.heads)) == (1, 2)
    assert (log.trace().sends, log.trace().left) == (1, True)
