"""The same with the real exceptions of the clients, raised by real sockets on this host."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import urllib.request

import httpx
import pytest
import requests
import urllib3
from botocore.exceptions import ClientError
from requests.adapters import HTTPAdapter

from ascertain.model.outcome import Effect, Kind
from tests.pure.stand_ins import judge

TIMEOUT_S = 2.0


def reply(line, body=b"", *headers):
    head = [f"HTTP/1.1 {line}".encode(), b"Content-Length: %d" % len(body), b"Connection: close"]
    return b"\r\n".join([*head, *headers, b"", body])


@pytest.fixture
def closed():
    """A port that refuses connections."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return f"http://127.0.0.1:{port}"


@pytest.fixture
def full():
    """A port whose queue is full: connecting there takes for ever."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                waiting.connect(server.getsockname())
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def says():
    """Starts a server that reads a request, says these bytes, and hangs up; for each its URL."""
    servers = []

    def start(*answers):
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def serve():
            with contextlib.suppress(OSError):
                for answer in answers:
                    there, _ = server.accept()
                    with there:
                        there.settimeout(TIMEOUT_S)
                        there.recv(65536)
                        there.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        threads.append(thread)
        return f"http://127.0.0.1:{server.getsockname()[1]}"

    threads = []
    yield start
    for server in servers:
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()
    for thread in threads:
        thread.join(TIMEOUT_S)


def by_httpx(url, **more):
    return httpx.post(url, **{"timeout": TIMEOUT_S, **more}).raise_for_status().json()


def by_async_httpx(url, **more):
    async def post():
        async with httpx.AsyncClient(**{"timeout": TIMEOUT_S, **more}) as client:
            return (await client.post(url)).raise_for_status().json()

    return asyncio.run(post())


def by_requests(url, **more):
    answer = requests.post(url, **{"timeout": TIMEOUT_S, **more})
    answer.raise_for_status()
    return answer.json()


def by_urllib(url, timeout=TIMEOUT_S):
    request = urllib.request.Request(url, data=b"{}")
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return answer.read()


def outcome_of(call, *args, **more):
    with pytest.raises(Exception) as caught:  # which one it is, is the question
        call(*args, **more)
    return judge(caught.value)


HTTP = [by_httpx, by_async_httpx, by_requests]


@pytest.mark.parametrize("client", [*HTTP, by_urllib])
def test_a_refused_connection(client, closed):
    outcome = outcome_of(client, closed)

    assert (outcome.effect, outcome.reason) == (Effect.NOT_SENT, "never_connected")


@pytest.mark.parametrize("client", [*HTTP, by_urllib])
def test_a_name_that_nobody_has(client):
    assert outcome_of(client, "http://nobody.invalid/").effect is Effect.NOT_SENT


@pytest.mark.parametrize("client", HTTP)
def test_a_connection_that_takes_for_ever(client, full):
    assert outcome_of(client, full, timeout=0.2).effect is Effect.NOT_SENT


def test_urllib_does_not_tell_a_slow_connection_from_a_slow_answer(full):
    assert outcome_of(by_urllib, full, timeout=0.2).effect is Effect.UNKNOWN


@pytest.mark.parametrize("client", [*HTTP, by_urllib])
def test_a_server_that_hangs_up_without_an_answer(client, says):
    assert outcome_of(client, says(b"")).effect is Effect.UNKNOWN


@pytest.mark.parametrize("client", HTTP)
def test_half_a_body(client, says):
    cut = b'HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n{"id": "T9'

    assert outcome_of(client, says(cut)).effect is Effect.UNKNOWN


@pytest.mark.parametrize("client", HTTP)
def test_an_answer_that_does_not_come(client):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        outcome = outcome_of(client, url, timeout=0.2)

    assert (outcome.effect, outcome.reason) == (Effect.UNKNOWN, "timeout")


@pytest.mark.parametrize("client", HTTP)
def test_statuses_and_codes(client, says):
    refused = outcome_of(client, says(reply("403 No", b'{"error": {"code": "FORBIDDEN"}}')))
    assert (refused.effect, refused.kind) == (Effect.REFUSED, Kind.AUTH)
    assert (refused.code, refused.http_status) == ("FORBIDDEN", 403)

    busy = outcome_of(client, says(reply("503 Busy", b"for people", b"Retry-After: 7")))
    assert (busy.effect, busy.code, busy.retry_after_s) == (Effect.UNKNOWN, None, 7.0)
    exists = outcome_of(client, says(reply("409 Conflict", b"{}")))
    assert (exists.effect, exists.reason) == (Effect.UNKNOWN, "duplicate_refusal")


def test_urllib_keeps_the_status_as_a_code(says):
    with pytest.raises(urllib.error.HTTPError) as caught:
        by_urllib(says(reply("403 No", b"", b"Retry-After: 7")))
    with caught.value:
        outcome = judge(caught.value)

    assert (outcome.http_status, outcome.retry_after_s) == (403, 7.0)


@pytest.mark.parametrize("client", [httpx.post, requests.post])
def test_a_response_returned_as_it_is(client, says):
    made = judge(value=client(says(reply("201 Created", b'{"ticket_id": "T900"}'))))
    assert (made.effect, made.provider_ref) == (Effect.CONFIRMED, "T900")
    refused = judge(value=client(says(reply("403 No"))))
    assert (refused.effect, refused.reason) == (Effect.REFUSED, "swallowed_error")


def test_a_body_that_requests_has_not_read_stays_unread(says):
    url = says(reply("422 Wrong", b'{"error": {"code": "X"}}'))
    with requests.post(url, stream=True, timeout=TIMEOUT_S) as answer:
        with pytest.raises(requests.HTTPError) as caught:
            answer.raise_for_status()
        assert judge(caught.value).code is None
        assert answer._content_consumed is False


def test_a_redirect_that_requests_followed_had_sent_the_post_before(says, closed):
    url = says(reply("307 Elsewhere", b"", f"Location: {closed}/".encode()))

    outcome = outcome_of(by_requests, url)
    assert outcome.effect is Effect.UNKNOWN, "the second POST was refused, the first one arrived"
    there = says(reply("422 Wrong"))
    url = says(reply("307 Elsewhere", b"", f"Location: {there}/".encode()))
    assert outcome_of(by_requests, url).reason == "refused_after_resend"


def test_a_redirect_that_urllib_followed(says, closed):
    url = says(reply("302 Elsewhere", b"", f"Location: {closed}/".encode()))

    assert outcome_of(by_urllib, url).effect is Effect.UNKNOWN


def test_tries_of_urllib3_beneath_requests_are_seen(says):
    url = says(reply("503 Busy"), reply("422 Wrong"))
    again = urllib3.Retry(2, status_forcelist=[503], allowed_methods=None, backoff_factor=0)
    with requests.Session() as session:
        session.mount("http://", HTTPAdapter(max_retries=again))
        answer = session.post(url, timeout=TIMEOUT_S)
        with pytest.raises(requests.HTTPError) as caught:
            answer.raise_for_status()

    assert judge(caught.value).reason == "refused_after_resend"


def test_urllib3_alone(closed):
    pool = urllib3.PoolManager()
    with pytest.raises(urllib3.exceptions.MaxRetryError) as caught:
        pool.request("POST", closed, timeout=TIMEOUT_S)
    assert judge(caught.value).effect is Effect.UNKNOWN
    with pytest.raises(urllib3.exceptions.NewConnectionError) as caught:
        pool.request("POST", closed, timeout=TIMEOUT_S, retries=False)
    assert judge(caught.value).effect is Effect.NOT_SENT


def test_a_proxy_that_refuses_the_tunnel(says, closed):
    url = "https://shop.invalid/"
    for client in (httpx.post, requests.post):
        for proxy in (says(reply("403 No")), closed):
            setting = {"proxy": proxy} if client is httpx.post else {"proxies": {"https": proxy}}
            assert outcome_of(client, url, timeout=TIMEOUT_S, **setting).effect is Effect.NOT_SENT


def test_a_proxy_that_takes_the_post_and_hangs_up(says):
    proxy = says(b"")

    outcome = outcome_of(requests.post, "http://shop.invalid/", proxies={"http": proxy})
    assert outcome.effect is Effect.UNKNOWN


def test_a_handshake_that_broke(says):
    url = says(b"", b"", b"").replace("http:", "https:")

    assert outcome_of(by_httpx, url).effect is Effect.NOT_SENT
    assert outcome_of(by_async_httpx, url).effect is Effect.NOT_SENT
    broken = outcome_of(by_requests, url)
    assert (broken.effect, broken.reason) == (Effect.UNKNOWN, "tls_lost"), "before or after"


def test_a_second_try_inside_the_body(says, closed):
    def body(post):
        try:
            post(says(b""))
        except Exception:
            post(closed)

    for client in HTTP:
        outcome = outcome_of(body, client)
        assert outcome.effect is Effect.UNKNOWN, "the first one may have been carried out"


def test_an_error_of_botocore():
    answer = {
        "Error": {"Code": "FileSystemAlreadyExists"},
        "ResponseMetadata": {"HTTPStatusCode": 409, "RetryAttempts": 0, "HTTPHeaders": {}},
    }
    outcome = judge(ClientError(answer, "CreateFileSystem"))

    assert (outcome.effect, outcome.code) == (Effect.UNKNOWN, "FileSystemAlreadyExists")
