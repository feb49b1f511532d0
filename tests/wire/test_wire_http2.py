"""F10, F18: HTTP/2 can promise that a request was not processed; nothing else can."""

import asyncio
import contextlib
import select
import socket
import threading
import time

import h2.config
import h2.connection
import h2.events
import h2.settings
import pytest

from ascertain.wire.log import WireLog, current_log
from ascertain.wire.watch import watch
from tests.wire.callers import TRUSTS_NONE

REFUSED_STREAM = 7
OTHER_ERRORS = [1, 2, 8, 11, 13]


class Http2Server:
    """Speaks HTTP/2 from the first byte; ``act`` decides about each request by its number."""

    def __init__(self, act, on_head=None):
        self.act = act
        self.on_head = on_head
        self.heads = []
        self.effects = []
        self.connections = 0
        self.broken = []
        self.going = False
        self.stopping = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    def _accept(self):
        while not self.stopping.is_set():
            if select.select([self.listener], [], [], 0.01)[0]:
                sock, _ = self.listener.accept()
                self.connections += 1
                thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
                self.threads.append(thread)
                thread.start()

    def _serve(self, sock):
        try:
            with sock:
                self._speak(sock)
        except OSError:
            return
        except Exception as exc:  # told at the end
            self.broken.append(exc)

    def _speak(self, sock):
        talk = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        talk.initiate_connection()
        sock.sendall(talk.data_to_send())
        while not self.stopping.is_set():
            if not select.select([sock], [], [], 0.01)[0]:
                continue
            data = sock.recv(65536)
            if not data:
                return
            if self.going:  # away: what still comes is dropped
                continue
            for event in talk.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    self.heads.append(dict(event.headers)[b":path"].decode())
                    if self.on_head is not None:
                        self.on_head(self, talk, event.stream_id)
                if isinstance(event, h2.events.StreamEnded):
                    ended = self.act(self, talk, event.stream_id, len(self.heads)) == "close"
                    if ended:
                        sock.sendall(talk.data_to_send())
                        return
            sock.sendall(talk.data_to_send())

    def answer(self, talk, stream_id, body=b"T900"):
        self.effects.append(stream_id)
        talk.send_headers(stream_id, [(":status", "200"), ("x-request-id", "h2-1")])
        talk.send_data(stream_id, body, end_stream=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join(5.0)
        self.listener.close()
        assert not self.broken
        assert not any(thread.is_alive() for thread in self.threads)


@pytest.fixture(params=["sync", "async"])
def post(request, lib):
    """Posts some times over one client, each time in an attempt of its own: (logs, errors)."""
    how = {"http1": False, "http2": True, "trust_env": False, "verify": TRUSTS_NONE, "timeout": 3}

    def sync(url, times=1, deadline_s=5.0):
        seen = []
        with watch(lib.Client(**how), name="crm") as client:
            for _ in range(times):
                log = WireLog(time.monotonic() + deadline_s)
                token = current_log.set(log)
                error = None
                try:
                    client.post(url, json={"a": 1})
                except lib.TransportError as exc:
                    error = exc
                current_log.reset(token)
                seen.append((log, error))
        return seen

    async def asynchronous(url, times=1, deadline_s=5.0):
        seen = []
        async with watch(lib.AsyncClient(**how), name="crm") as client:
            for _ in range(times):
                log = WireLog(time.monotonic() + deadline_s)
                current_log.set(log)
                error = None
                try:
                    await client.post(url, json={"a": 1})
                except lib.TransportError as exc:
                    error = exc
                seen.append((log, error))
        return seen

    if request.param == "sync":
        return sync
    return lambda *args, **kwargs: asyncio.run(asynchronous(*args, **kwargs))


def test_req_F10_an_answer_over_http2_is_seen(post):
    with Http2Server(lambda server, talk, stream, _: server.answer(talk, stream)) as server:
        [(log, error)] = post(f"http://{server.address}/tickets")
    assert error is None
    trace = log.trace()
    assert (trace.sends, trace.left, trace.http_status) == (1, True, 200)
    assert (trace.complete, trace.request_id) == (True, "h2-1")
    assert server.heads == ["/tickets"]


def test_req_F10_a_refused_stream_is_proof_of_not_processed(post):
    def act(server, talk, stream, _):
        talk.reset_stream(stream, error_code=REFUSED_STREAM)

    with Http2Server(act) as server:
        [(log, error)] = post(f"http://{server.address}/tickets")
    assert error is not None
    assert (server.heads, server.effects) == (["/tickets"], [])
    assert log.sends[0].left
    assert log.sends[0].refused_unprocessed
    assert not log.trace().left


def test_req_F10_a_refusal_below_a_transport_we_do_not_know_proves_nothing(lib):
    """What else it may have done with the request, nobody knows."""

    class Around(lib.HTTPTransport):
        def handle_request(self, request):
            return super().handle_request(request)

    def act(server, talk, stream, _):
        talk.reset_stream(stream, error_code=REFUSED_STREAM)

    transport = Around(http1=False, http2=True, verify=TRUSTS_NONE)
    log = WireLog(time.monotonic() + 5.0)
    token = current_log.set(log)
    with Http2Server(act) as server:
        client = watch(lib.Client(transport=transport, trust_env=False), name="crm")
        with client, pytest.raises(lib.RemoteProtocolError):
            client.post(f"http://{server.address}/tickets")
    current_log.reset(token)
    assert log.trace().left


async def test_req_F10_going_away_during_an_upload_is_proof_of_not_processed(lib):
    """The upload meets a connection that another request has seen going away."""
    first_done = asyncio.Event()
    streams = []

    def act_on_head(server, talk, stream):
        streams.append(stream)
        if len(streams) == 2:
            server.answer(talk, streams[0])
            talk.close_connection(error_code=0, last_stream_id=streams[0])
            server.going = True

    async def source():
        yield b"first half"
        await first_done.wait()
        yield b"second half"

    async def upload(client, url):
        log = WireLog(time.monotonic() + 5.0)
        current_log.set(log)
        with pytest.raises(lib.RemoteProtocolError):
            await client.post(url, content=source(), headers={"content-length": "21"})
        return log

    async def ask(client, url):
        current_log.set(WireLog(time.monotonic() + 5.0))
        await client.post(url, content=b"")
        return first_done.set()

    how = {"http1": False, "http2": True, "trust_env": False, "verify": TRUSTS_NONE}
    with Http2Server(lambda *_: None, on_head=act_on_head) as server:
        async with watch(lib.AsyncClient(**how), name="crm") as client:
            url = f"http://{server.address}"
            _, log = await asyncio.gather(ask(client, f"{url}/a"), upload(client, f"{url}/b"))
    assert server.heads == ["/a", "/b"]
    assert log.sends[0].left
    assert log.sends[0].refused_unprocessed
    assert not log.trace().left


@pytest.mark.parametrize("code", OTHER_ERRORS)
def test_req_F10_any_other_reset_proves_nothing(post, code):
    def act(server, talk, stream, _):
        server.effects.append(stream)
        talk.reset_stream(stream, error_code=code)

    with Http2Server(act) as server:
        [(log, error)] = post(f"http://{server.address}/tickets")
    assert error is not None
    assert len(server.effects) == 1
    assert log.trace().left


def test_req_F10_a_refusal_after_the_head_proves_nothing(post):
    def act(server, talk, stream, _):
        server.effects.append(stream)
        talk.send_headers(stream, [(":status", "200")])
        talk.reset_stream(stream, error_code=REFUSED_STREAM)

    with Http2Server(act) as server:
        [(log, error)] = post(f"http://{server.address}/tickets")
    assert error is not None
    trace = log.trace()
    assert (trace.left, trace.http_status, trace.complete) == (True, 200, False)


def test_req_F10_going_away_before_this_stream_is_proof_of_not_processed(post):
    def act(server, talk, stream, _):
        talk.close_connection(error_code=0, last_stream_id=0)
        return "close"

    with Http2Server(act) as server:
        [(log, error)] = post(f"http://{server.address}/tickets")
    assert error is not None
    assert server.effects == []
    assert log.sends[0].left
    assert not log.trace().left


def test_req_F10_going_away_after_this_stream_proves_nothing(post):
    def act(server, talk, stream, _):
        server.effects.append(stream)
        talk.close_connection(error_code=0, last_stream_id=stream)
        return "close"

    with Http2Server(act) as server:
        [(log, error)] = post(f"http://{server.address}/tickets")
    assert error is not None
    assert log.trace().left


def test_req_F18_a_post_that_httpcore_sends_again_on_going_away_is_two_sends(post):
    def act(server, talk, stream, number):
        if number == 2:
            talk.close_connection(error_code=0, last_stream_id=stream - 2)
            return "close"
        return server.answer(talk, stream)

    with Http2Server(act) as server:
        [_, (log, error)] = post(f"http://{server.address}/tickets", times=2)
    assert error is None
    assert (len(server.heads), len(server.effects), server.connections) == (3, 2, 2)
    assert [send.refused_unprocessed for send in log.sends] == [True, False]
    trace = log.trace()
    assert (trace.sends, trace.left, trace.http_status) == (2, True, 200)


def test_req_F10_a_connection_that_closes_after_the_effect_proves_nothing(post):
    def act(server, talk, stream, _):
        server.effects.append(stream)
        return "close"

    with Http2Server(act) as server:
        [(log, error)] = post(f"http://{server.address}/tickets")
    assert error is not None
    trace = log.trace()
    assert (trace.sends, trace.left, trace.answered) == (1, True, False)


def test_req_F10_half_a_body_over_http2_is_not_complete(post):
    def act(server, talk, stream, _):
        server.effects.append(stream)
        talk.send_headers(stream, [(":status", "200")])
        talk.send_data(stream, b"T9")
        return "close"

    with Http2Server(act) as server:
        [(log, error)] = post(f"http://{server.address}/tickets")
    assert error is not None
    trace = log.trace()
    assert (trace.http_status, trace.complete) == (200, False)


def test_req_U11_a_stream_without_an_answer_ends_at_the_deadline(post):
    with Http2Server(lambda *_: None) as server:
        started = time.monotonic()
        [(log, error)] = post(f"http://{server.address}/tickets", deadline_s=0.5)
        assert time.monotonic() - started < 1.5
    assert error is not None
    assert log.trace().left


async def test_req_F10_streams_of_two_attempts_on_one_connection_do_not_mix(lib):
    waiting = []

    def act(server, talk, stream, number):
        waiting.append(stream)
        if len(waiting) == 2:
            refused, answered = waiting
            talk.reset_stream(refused, error_code=REFUSED_STREAM)
            server.answer(talk, answered)

    async def attempt(client, url):
        log = WireLog(time.monotonic() + 5.0)
        current_log.set(log)
        with contextlib.suppress(lib.TransportError):
            await client.post(url, json={"a": 1})
        return log

    how = {"http1": False, "http2": True, "trust_env": False, "verify": TRUSTS_NONE}
    with Http2Server(act) as server:
        async with watch(lib.AsyncClient(**how), name="crm") as client:
            first, second = await asyncio.gather(
                attempt(client, f"http://{server.address}/a"),
                attempt(client, f"http://{server.address}/b"),
            )
    assert server.connections == 1
    assert sorted([first.trace().left, second.trace().left]) == [False, True]
