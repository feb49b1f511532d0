"""U01, F10: watching a client changes nothing but what is known of it."""

import contextvars
import importlib
import time

import pytest

from ascertain.errors import ContractError
from ascertain.wire.log import WireLog, current_log
from ascertain.wire.watch import exit_name, watch
from tests.wire.callers import KINDS, open_caller

CLASSES = {
    f"{library}.{name}": (library, name)
    for library, name in sorted(
        {(library, "Client") for _, library in KINDS.values() if library != "requests"}
        | {(library, "AsyncClient") for _, library in KINDS.values() if library != "requests"}
        | {("requests", "Session")}
    )
}


@pytest.fixture(params=list(CLASSES))
def client_class(request):
    library, name = CLASSES[request.param]
    return getattr(importlib.import_module(library), name)


def test_req_U01_watch_gives_back_the_very_same_client(client_class):
    client = client_class()
    assert watch(client, name="crm") is client
    assert type(client) is client_class
    assert exit_name(client) == "crm"


def test_req_U01_a_client_without_a_name_gets_one_of_its_own(client_class):
    names = {exit_name(watch(client_class())) for _ in range(3)}
    assert len(names) == 3
    assert all(client_class.__name__ in name for name in names)


def test_req_U01_subclasses_are_known_by_their_bases(client_class):
    class Own(client_class):
        pass

    assert exit_name(watch(Own(), name="own")) == "own"


def test_req_U01_watched_twice_is_watched_once_under_its_first_name(kind, server):
    with open_caller(kind) as caller:
        assert watch(caller.client, name="other") is caller.client
        seen = caller.call("POST", server.url("/ok"))
    assert len(server.settle().heads) == 1
    assert seen.trace.sends == 1
    assert seen.trace.exits == {"crm"}


@pytest.mark.parametrize("other", [object(), "https://crm.example", importlib, int])
def test_req_U01_an_unknown_client_is_told_what_is_known_and_what_it_means(other):
    with pytest.raises(ContractError) as caught:
        watch(other)
    told = str(caught.value)
    for known in ("httpx.Client", "httpx.AsyncClient", "requests.Session"):
        assert known in told
    assert "judged by exception class" in told
    assert type(other).__qualname__ in told


def test_req_U01_a_client_class_is_not_a_client(client_class):
    with pytest.raises(ContractError):
        watch(client_class)


def test_req_F10_outside_an_attempt_nothing_is_recorded_and_no_limit_is_set(kind, server):
    log = WireLog(time.monotonic() - 1.0)  # would let nothing through, if it were looked at
    with open_caller(kind) as caller:
        empty = contextvars.copy_context()
        empty.run(current_log.set, None)
        answer = caller.run(empty, "POST", server.url("/ok"), b"{}", {})
    assert answer[0] == 200
    assert len(server.settle().heads) == 1
    assert log.sends == []


def test_req_U11_a_connection_opened_outside_an_attempt_keeps_its_deadline_inside(kind, server):
    with open_caller(kind, timeout_s=20.0) as caller:
        outside = contextvars.copy_context()
        outside.run(current_log.set, None)
        assert caller.run(outside, "POST", server.url("/ok"), b"{}", {})[0] == 200
        seen = caller.call("POST", server.url("/drip_head"), deadline_s=0.5)
    assert isinstance(seen.error, caller.timeouts)
    assert seen.took_s < 1.5
    assert server.settle().connections == 1


def test_req_F10_the_log_of_the_attempt_gets_the_send_and_no_other(kind, server):
    with open_caller(kind) as caller:
        logs = [caller.call("POST", server.url("/ok")).log for _ in range(2)]
    assert [len(log.sends) for log in logs] == [1, 1]


def test_req_F10_the_query_is_not_part_of_a_target(kind, server):
    with open_caller(kind) as caller:
        seen = caller.call("POST", server.url("/ok?token=secret"))
    assert seen.trace.targets == (f"POST {server.address}/ok",)


def test_req_U11_a_request_begun_after_the_deadline_does_not_leave(kind, server):
    with open_caller(kind) as caller:
        seen = caller.call("POST", server.url("/ok"), deadline_s=-0.001)
    ledger = server.settle()
    assert (ledger.connections, ledger.heads) == (0, [])
    assert isinstance(seen.error, caller.timeouts)
    assert (seen.trace.sends, seen.trace.left) == (1, False)


def test_req_U11_nothing_new_leaves_after_the_deadline_on_a_kept_connection(kind, server):
    with open_caller(kind) as caller:
        assert caller.call("POST", server.url("/ok")).http_status == 200
        seen = caller.call("POST", server.url("/ok"), deadline_s=-0.001)
    assert len(server.settle().heads) == 1
    assert not seen.trace.left


def test_req_U11_the_clients_own_shorter_limit_holds(kind, server):
    with open_caller(kind, timeout_s=0.5) as caller:
        seen = caller.call("POST", server.url("/effect_hang"), deadline_s=30.0)
    assert isinstance(seen.error, caller.timeouts)
    assert seen.took_s < 3.0
    assert seen.trace.left
    assert server.settle().effects == ["/effect_hang"]


def test_req_U11_a_client_without_any_limit_gets_the_attempts(kind, server):
    with open_caller(kind, timeout_s=None) as caller:
        seen = caller.call("POST", server.url("/effect_hang"), deadline_s=0.5)
    assert isinstance(seen.error, caller.timeouts)
    assert seen.took_s < 1.5


def test_req_U11_a_second_call_inside_the_attempt_has_only_what_is_left(kind, server):
    log = WireLog(time.monotonic() + 0.6)
    with open_caller(kind) as caller:
        first = caller.call("POST", server.url("/ok"), log=log)
        second = caller.call("POST", server.url("/read_hang"), log=log)
    assert first.http_status == 200
    assert isinstance(second.error, caller.timeouts)
    assert first.took_s + second.took_s < 1.5
    assert (log.trace().sends, log.trace().left) == (2, True)


def test_req_F10_what_is_still_in_flight_is_not_proof_of_unsent():
    log = WireLog()
    send = log.begin("crm", "POST", "crm.example/tickets")
    send.in_flight = True
    assert log.trace().left
    send.in_flight = False
    assert not log.trace().left
