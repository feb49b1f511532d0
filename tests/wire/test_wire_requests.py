"""F10, F18, U01: what users of requests do with a session goes on working, and is seen."""

import io
import time

import pytest
import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3 import HTTPConnectionPool
from urllib3.util import Retry, Timeout, connection

from ascertain.model.outcome import Effect
from ascertain.wire.watch import watch
from tests.pure.stand_ins import BY_CRM, judge
from tests.wire.behaviours import BODY, never_read
from tests.wire.callers import DEADLINE_S, SLACK_S
from tests.wire.server import Server, blackhole, refusing


@pytest.fixture
def session():
    with requests.Session() as made:
        made.trust_env = False
        yield watch(made, name="crm")


def retrying(session, **policy):
    session.mount("http://", HTTPAdapter(max_retries=Retry(**policy)))


# ------------------------------------------------------------------------------------------ retries


def test_req_F18_answers_that_are_retried_are_counted(session, server, log):
    retrying(session, total=5, status_forcelist=[503], allowed_methods=None)
    assert session.post(server.url("/flaky?fail=2&code=503")).content == BODY
    ledger = server.settle()
    assert (len(ledger.heads), len(ledger.effects)) == (3, 1)
    assert [send.http_status for send in log.sends] == [503, 503, 200]
    assert log.trace().complete is True


def test_req_F18_reads_that_broke_and_are_retried_are_counted(session, server, log):
    retrying(session, total=2, allowed_methods=None)
    with pytest.raises(requests.ConnectionError):
        session.post(server.url("/effect_fin"))
    assert len(server.settle().effects) == 3
    trace = log.trace()
    assert (trace.sends, trace.left, trace.answered) == (3, True, False)


def test_req_F10_the_last_exception_does_not_speak_for_the_first_send(session, server, log):
    """The server acts once and dies: requests then reports a refused connection."""
    retrying(session, total=2, allowed_methods=None)
    session.hooks["response"] = []
    act = server.behave

    def once(connection):
        server.close_listener()
        act(connection)

    server.behave = once
    with pytest.raises(requests.ConnectionError, match="refused") as caught:
        session.post(server.url("/effect_fin"))
    assert len(server.settle().effects) == 1
    trace = log.trace()
    assert trace.left
    assert [send.left for send in log.sends] == [True, False, False]
    assert judge(caught.value, contract=BY_CRM, trace=trace).effect is Effect.UNKNOWN


def test_req_U11_a_retry_after_beyond_the_deadline_is_not_slept_through(session, server, log):
    retrying(session, total=3, status_forcelist=[503], allowed_methods=None)
    started = time.monotonic()
    with pytest.raises(requests.exceptions.ReadTimeout):
        session.post(server.url("/flaky?fail=2&code=503&wait=100"))
    assert time.monotonic() - started < 2.0, "it slept, although the end was known"
    trace = log.trace()
    assert (trace.sends, trace.http_status, trace.retry_after) == (1, 503, "100")
    assert len(server.settle().heads) == 1


def test_req_F18_a_retry_after_within_the_deadline_is_waited_for(session, server, log):
    retrying(session, total=3, status_forcelist=[503], allowed_methods=None)
    started = time.monotonic()
    assert session.post(server.url("/flaky?fail=1&code=503&wait=1")).status_code == 200
    assert time.monotonic() - started >= 1.0
    assert log.trace().sends == len(server.settle().heads) == 2


def test_req_U01_a_retry_policy_of_ones_own_keeps_its_kind_and_its_memory(session, server, log):
    class Own(Retry):
        pass

    session.mount("http://", HTTPAdapter(max_retries=Own(total=3, status_forcelist=[503])))
    response = session.get(server.url("/flaky?fail=1&code=503"))
    assert isinstance(response.raw.retries, Own)
    assert [entry.status for entry in response.raw.retries.history] == [503]
    assert type(session.adapters["http://"].max_retries) is Own


# ----------------------------------------------------------------------------------------- adapters


def test_req_U01_mounted_adapters_stay_the_same_objects(server, log):
    adapter = HTTPAdapter(max_retries=1)
    with requests.Session() as session:
        session.mount("http://", adapter)
        watch(session, name="crm")
        assert session.adapters["http://"] is adapter
        assert session.post(server.url("/ok")).status_code == 200
    assert log.trace().sends == 1


def test_req_U01_error_texts_keep_the_librarys_own_names(session, log):
    with refusing() as port, pytest.raises(requests.ConnectionError) as caught:
        session.post(f"http://127.0.0.1:{port}/ok")
    assert str(caught.value).startswith("HTTPConnectionPool(host='127.0.0.1'")
    assert not log.trace().left


def test_req_F10_an_adapter_that_does_not_use_our_pools_counts_as_left(session, log):
    class Fake(BaseAdapter):
        def send(self, request, **_):
            raise requests.ConnectionError("it says that it could not connect")

        def close(self):
            """Nothing is open."""

    session.mount("fake://", Fake())
    with pytest.raises(requests.ConnectionError):
        session.post("fake://crm.example/tickets")
    assert log.trace().left
    assert log.trace().targets == ("POST crm.example/tickets",)


def test_req_F10_an_adapter_with_a_send_of_its_own_counts_as_left(session, log):
    class WithDefault(HTTPAdapter):
        def send(self, request, **how):
            return super().send(request, **how | {"timeout": how["timeout"] or 2})

    session.mount("http://", WithDefault())
    with refusing() as port, pytest.raises(requests.ConnectionError):
        session.post(f"http://127.0.0.1:{port}/ok")
    assert log.trace().left


def test_req_F10_an_adapter_with_pools_of_its_own_counts_as_left(session, log):
    class OwnPool(HTTPAdapter):
        def get_connection_with_tls_context(self, request, verify, proxies=None, cert=None):
            return HTTPConnectionPool("127.0.0.1", port)

        def get_connection(self, url, proxies=None):  # its name before 2.32
            return HTTPConnectionPool("127.0.0.1", port)

    session.mount("http://", OwnPool())
    with refusing() as port, pytest.raises(requests.ConnectionError):
        session.post(f"http://127.0.0.1:{port}/ok")
    assert log.trace().left


def test_req_F10_a_patched_adapter_is_not_taken_for_the_real_one(session, log, monkeypatch):
    def patched(self, request, **_):
        raise requests.ConnectionError("a mock of the whole library")

    monkeypatch.setattr(HTTPAdapter, "send", patched)
    with pytest.raises(requests.ConnectionError):
        session.post("http://crm.example/tickets")
    assert log.trace().left


def test_req_F10_connections_that_are_replaced_below_us_count_as_left(session, log, monkeypatch):
    class Recorded:
        """As a recorder of HTTP traffic does it: no connection of http.client at all."""

        proxy = None
        is_closed = False
        has_connected_to_proxy = False

        def __init__(self, **_):
            self.timeout = None

        def request(self, *_, **__):
            raise ConnectionRefusedError

        def close(self):
            """Nothing is open."""

    monkeypatch.setattr(HTTPConnectionPool, "ConnectionCls", Recorded)
    with pytest.raises(requests.ConnectionError):
        session.post("http://crm.example/tickets")
    assert log.trace().left


def test_req_F10_a_send_around_the_session_is_seen(session, server, log):
    request = session.prepare_request(requests.Request("POST", server.url("/ok?a=1")))
    assert session.adapters["http://"].send(request).status_code == 200
    assert log.trace().left
    assert log.trace().targets == (f"POST {server.address}/ok",)


def test_req_U01_asking_for_the_adapter_inside_an_attempt_gives_its_settings(session, log):
    adapter = session.get_adapter("http://crm.example")
    assert adapter.max_retries is session.adapters["http://"].max_retries


def test_req_F10_connections_opened_before_watching_are_not_left_unseen(server, log):
    with requests.Session() as session:
        session.trust_env = False
        session.post(server.url("/ok"))
        watch(session, name="crm")
        session.post(server.url("/ok"))
        session.post(server.url("/ok"))
    ledger = server.settle()
    assert (ledger.connections, len(ledger.heads)) == (2, 3)
    assert (log.trace().sends, log.trace().left) == (2, True)


def test_req_U01_outside_an_attempt_the_adapter_is_the_mounted_one(session):
    assert session.get_adapter("http://crm.example") is session.adapters["http://"]


def test_req_U11_an_adapter_we_do_not_know_is_not_entered_after_the_deadline(session, log):
    entered = []

    class Fake(BaseAdapter):
        def send(self, request, **_):
            entered.append(request)

        def close(self):
            """Nothing is open."""

    session.mount("fake://", Fake())
    log.deadline_at = time.monotonic()
    with pytest.raises(requests.exceptions.ReadTimeout):
        session.post("fake://crm.example/tickets")
    assert entered == []
    assert (log.trace().sends, log.trace().exits) == (1, {"crm"})


def test_req_U11_a_deadline_that_passes_while_connecting_lets_nothing_leave(
    session, server, log, monkeypatch
):
    connect = connection.create_connection

    def slow(*args, **kwargs):
        log.deadline_at = time.monotonic()
        return connect(*args, **kwargs)

    monkeypatch.setattr(connection, "create_connection", slow)
    with pytest.raises(requests.exceptions.Timeout):
        session.post(server.url("/ok"))
    assert not log.trace().left
    ledger = server.settle()
    assert (ledger.connections, ledger.heads) == (1, [])


def test_req_U11_a_handshake_gets_only_what_the_connect_has_left_over(session, log, monkeypatch):
    connect = connection.create_connection

    def slow(*args, **kwargs):
        log.deadline_at -= 3.9  # as if it had taken so long
        return connect(*args, **kwargs)

    monkeypatch.setattr(connection, "create_connection", slow)
    log.deadline_at = time.monotonic() + 4.0
    started = time.monotonic()
    with Server(never_read) as server, pytest.raises(requests.exceptions.Timeout):
        session.post(server.url("/ok", "https"))
    assert time.monotonic() - started < 2.0
    assert not log.trace().left


def test_req_U11_a_connect_that_hangs_ends_in_time_with_any_form_of_timeout(session, log):
    with blackhole() as port:
        log.deadline_at = time.monotonic() + DEADLINE_S
        with pytest.raises(requests.exceptions.ConnectTimeout):
            session.post(f"http://127.0.0.1:{port}/ok", timeout=Timeout(connect=30, read=30))
    assert time.monotonic() - log.deadline_at < SLACK_S
    assert not log.trace().left


# -------------------------------------------------------------------------------- bodies, both ways


def test_req_U11_a_body_of_an_adapter_we_do_not_know_ends_in_time(session, log):
    class Endless:
        def stream(self, *_, **__):
            while True:
                yield b"drip"

        def release_conn(self):
            """Nothing is open."""

        close = release_conn

    class Fake(BaseAdapter):
        def send(self, request, **_):
            response = requests.Response()
            response.status_code, response.raw, response.request = 200, Endless(), request
            return response

        def close(self):
            """Nothing is open."""

    session.mount("fake://", Fake())
    log.deadline_at = time.monotonic() + 0.1
    with pytest.raises(requests.exceptions.ReadTimeout):
        session.post("fake://crm.example/tickets", stream=True).content  # noqa: B018
    assert time.monotonic() - log.deadline_at < SLACK_S
    assert log.trace().complete is False


def test_req_F10_a_stream_is_complete_when_it_was_read_to_its_end(session, server, log):
    response = session.post(server.url("/chunked"), stream=True)
    assert (log.trace().http_status, log.trace().complete) == (200, None)
    assert b"".join(response.iter_content(5)) == BODY
    assert log.trace().complete is True


def test_req_F10_a_stream_that_is_left_early_is_not_known_to_be_complete(session, server, log):
    with session.post(server.url("/drip_body"), stream=True) as response:
        next(response.iter_content(1))
    assert (log.trace().http_status, log.trace().complete) == (200, None)


def test_req_U11_a_stream_ends_at_the_deadline_with_the_clients_own_exception(session, server, log):
    log.deadline_at = time.monotonic() + DEADLINE_S
    response = session.post(server.url("/drip_body"), stream=True)
    with pytest.raises(requests.exceptions.ReadTimeout):
        list(response.iter_lines())
    assert time.monotonic() - log.deadline_at < SLACK_S
    assert log.trace().complete is False


def test_req_U11_a_raw_read_ends_at_the_deadline(session, server, log):
    log.deadline_at = time.monotonic() + DEADLINE_S
    response = session.post(server.url("/drip_body"), stream=True)
    with pytest.raises(Exception, match="timed out"):
        response.raw.read()
    assert time.monotonic() - log.deadline_at < SLACK_S


def test_req_F10_an_upload_whose_source_breaks_had_left(session, server, log):
    def source():
        yield b"first half"
        raise ValueError("the file is damaged")

    with pytest.raises(ValueError, match="damaged"):
        session.post(server.url("/ok"), data=source())
    ledger = server.settle()
    assert (len(ledger.heads), ledger.effects) == (1, [])
    assert log.trace().left


def test_req_F10_a_file_is_uploaded_whole(session, server, log):
    session.post(server.url("/ok"), data=io.BytesIO(b"x" * 300_000))
    assert [len(head.body) for head in server.settle().heads] == [300_000]
    assert log.trace().complete is True


def test_req_U11_waiting_for_a_connection_of_the_pool_ends_in_time(session, server, log):
    session.mount("http://", HTTPAdapter(pool_maxsize=1, pool_block=True))
    with session.post(server.url("/drip_body"), stream=True):
        log.deadline_at = time.monotonic() + DEADLINE_S
        with pytest.raises(requests.exceptions.Timeout):
            session.post(server.url("/ok"))
    assert time.monotonic() - log.deadline_at < SLACK_S
    assert [send.left for send in log.sends] == [True, False]


@pytest.mark.parametrize("timeout", [30, (30, 30), None, Timeout(connect=30, read=30)])
def test_req_U11_every_form_of_timeout_is_bounded_by_the_deadline(session, server, log, timeout):
    log.deadline_at = time.monotonic() + DEADLINE_S
    with pytest.raises(requests.exceptions.ReadTimeout):
        session.post(server.url("/read_hang"), timeout=timeout)
    assert time.monotonic() - log.deadline_at < SLACK_S


def test_req_U01_a_shorter_timeout_of_ones_own_stays_ones_own(session, server, log):
    with pytest.raises(requests.exceptions.ReadTimeout, match=r"read timeout=0\.2"):
        session.post(server.url("/read_hang"), timeout=0.2)
    assert log.trace().left
