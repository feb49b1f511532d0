"""F10, U11: bodies in both directions, and several requests at once, with httpx."""

import asyncio
import contextvars
import threading
import time

import anyio
import pytest

from ascertain.wire.log import WireLog, current_log
from ascertain.wire.watch import watch
from tests.wire.behaviours import BODY
from tests.wire.callers import DEADLINE_S, SLACK_S, TRUSTS_NONE, async_client_of, client_of

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
