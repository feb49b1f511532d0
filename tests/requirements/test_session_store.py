"""S11: whatever a session store loses, no fact is lost; sessions are built anew from the ledger."""

from __future__ import annotations

import functools
import logging
import threading
import time

import pytest
import valkey

from ascertain import Ascertain
from ascertain.errors import LedgerError
from ascertain.runtime.recent import Recent
from ascertain.store.sessions_valkey import key_of
from tests.conformance import valkey_server
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger


@pytest.fixture(params=valkey_server.KINDS)
def server(tmp_path, request):
    """A server of the test's own, which may be killed."""
    server = valkey_server.Server(tmp_path, request.param).start()
    yield server
    server.kill()


class Desk:
    def __init__(self, url: str, sessions: str) -> None:
        self.app = Ascertain(url, worker="none", sessions=sessions)
        self.asked: list[str] = []
        self.refunded: list[str] = []

        @self.app.read(provides={"order_id": "id"})
        def query_order(phone: str) -> dict:
            self.asked.append(phone)
            return {"id": f"order-of-{phone}"}

        @self.app.tool(context={"order_id": "order_id"}, identity=["order_id"], key_lifetime="24h")
        def refund(order_id: str) -> dict:
            self.refunded.append(order_id)
            return {"id": f"R-{order_id}"}

        self.query, self.refund = query_order, refund


@pytest.fixture
def desk(server, tmp_path):
    desk = Desk(ledger_url(f"{tmp_path}/ledger.db"), server.url)
    yield desk
    desk.app.close()


def until(true, within_s=5.0):
    """Wait for what follows beside the call."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it never came to that"
        threading.Event().wait(0.002)


def evict(server):
    """The server has no room any more, and makes some; nor has it any for what comes after."""
    with valkey.Valkey.from_url(server.url) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.config_set("maxmemory", 1)
        with pytest.raises(valkey.exceptions.OutOfMemoryError):
            client.set("filler", "x")
        assert client.info("stats")["evicted_keys"] == 1
    assert kept(server) is None


def kept(server):
    """What the server keeps of the session: its version, once the projection has followed."""
    with valkey.Valkey.from_url(server.url) as client:
        return client.hget(key_of("default", "chat-42"), "version")


def test_req_S11_what_is_committed_is_projected_beside_the_call(desk, server):
    with desk.app.session("chat-42", principal="u7") as session:
        desk.query(phone="1")
        assert session.context()["order_id"].value == "order-of-1"
        assert kept(server) == b"1"


def test_req_S04_a_context_commit_is_one_script_and_one_round_trip(desk, server):
    """By the server's own count, scripts' own commands included; so is each look."""
    with (
        valkey.Valkey.from_url(server.url) as client,
        desk.app.session("chat-42", principal="u7") as session,
    ):
        version = functools.partial(client.hget, key_of("default", "chat-42"), "version")
        desk.query(phone="1")  # a server that has just begun is sent the scripts
        until(lambda: version() == b"1")
        session.context()
        with valkey_server.commands(client) as asked:
            desk.query(phone="2")
            until(lambda: version() == b"2")
        del asked["hget"]  # the test's own look at it
        assert asked == {"evalsha": 1, "hmget": 1, "hset": 1, "pexpire": 1}
        with valkey_server.commands(client) as asked:
            assert desk.refund().confirmed
        assert asked == {}, "it was known here of a moment ago, and the ledger checked it"
        desk.query(phone="3")
        until(lambda: version() == b"3")
        desk.app.contexts.recent = Recent()  # as in another process
        with valkey_server.commands(client) as asked:
            assert desk.refund().confirmed
        assert asked == {"evalsha": 1, "hmget": 1}
    assert desk.refunded == ["order-of-2", "order-of-3"]


@pytest.mark.parametrize("loss", ["flush", "evict", "kill", "kill and start"])
def test_req_S11_nothing_that_is_lost_is_a_fact(desk, server, loss, caplog):
    """The refund finds its order, at its version, without asking the provider again."""
    with desk.app.session("chat-42", principal="u7") as session:
        desk.query(phone="1")
        before = session.context()["order_id"]
        if loss == "flush":
            with valkey.Valkey.from_url(server.url) as client:
                client.flushall()
        elif loss == "evict":
            evict(server)
        else:
            server.kill()
        if loss == "kill and start":
            server.start()
        desk.app.contexts.recent = Recent()  # as in another process
        assert desk.refund().confirmed
        assert session.context()["order_id"] == before
    assert desk.refunded == ["order-of-1"]
    assert desk.asked == ["1"]
    if loss == "kill":
        assert any("did not answer" in line.message for line in caplog.records)
        server.start()


def test_req_S11_a_projection_that_was_put_back_is_not_served(desk, server):
    """Somebody restores yesterday's dump: it is below what the ledger needs."""
    with (
        valkey.Valkey.from_url(server.url) as client,
        desk.app.session("chat-42", principal="u7") as session,
    ):
        desk.query(phone="1")
        session.context()
        yesterday = client.dump(key_of("default", "chat-42"))
        desk.query(phone="2")
        session.context()
        client.restore(key_of("default", "chat-42"), 0, yesterday, replace=True)
        assert desk.refund().confirmed
    assert desk.refunded == ["order-of-2"]


def test_req_S11_a_server_that_evicts_is_warned_of_at_start_up(desk, server, caplog):
    caplog.set_level(logging.WARNING, "ascertain")
    desk.app.open()
    assert caplog.records == []
    with valkey.Valkey.from_url(server.url) as client:
        client.config_set("maxmemory-policy", "volatile-lru")
    desk.app.open()
    (line,) = caplog.records
    assert "volatile-lru" in line.message


def test_req_S11_a_url_that_names_no_session_store_is_refused(tmp_path):
    with pytest.raises(LedgerError, match="names no session store"):
        Ascertain(ledger_url(f"{tmp_path}/ledger.db"), sessions="memcached://x")
