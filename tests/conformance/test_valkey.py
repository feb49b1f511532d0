"""Valkey and Redis as session stores: against everything that one must do, and beside a ledger."""

import json
import sys

import pytest
import redis
import valkey

from ascertain.runtime.contexts import DEFAULT_LIMIT_BYTES
from ascertain.store.sessions import ProjectedContexts, SessionStoreDown
from ascertain.store.sessions_valkey import ValkeySessions, key_of
from ascertain.testing.conformance.contexts import ContextRules
from ascertain.testing.conformance.sessions import SessionStoreConformance, session, values
from tests.conformance import valkey_server
from tests.conformance.sqlite_place import SqlitePlace


@pytest.fixture(scope="module", params=valkey_server.KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def server_url(kind):
    with valkey_server.running(kind) as (url, _):
        yield url


@pytest.fixture
def client(server_url):
    with valkey.Valkey.from_url(server_url) as client:
        client.flushall()
        yield client


def test_what_is_tested_is_a_valkey_9_and_a_redis_7(kind, client, capsys):
    """Or newer ones; which, the report of the tests says."""
    about = client.info("server")
    name = about.get("server_name", "redis")
    version = about[f"{name}_version"]
    with capsys.disabled():
        print(f" [{name} {version}] ", end="")
    assert name == kind
    assert int(version.partition(".")[0]) >= {"valkey": 9, "redis": 7}[name]


class TestServer(SessionStoreConformance):
    @pytest.fixture
    def store(self, server_url, client):
        store = ValkeySessions(server_url)
        yield store
        store.close()

    def test_each_verb_is_one_round_trip_to_one_key(self, store, client):
        """By the server's own count: a script, what it calls itself, and nothing else."""
        store.project(session(1), values('"x"'), 60.0)  # loads the scripts
        store.serve(session(1))
        with valkey_server.commands(client) as asked:
            store.project(session(2), values('"y"'), 60.0)
        assert asked == {"evalsha": 1, "hmget": 1, "hset": 1, "pexpire": 1}
        with valkey_server.commands(client) as asked:
            store.serve(session(2))
        assert asked == {"evalsha": 1, "hmget": 1}
        assert client.keys() == [b"ascertain:{t:chat}:context"]

    def test_what_is_kept_ends_by_itself(self, store, client):
        store.project(session(1), values('"x"'), 7.0)
        assert 6000 < client.pttl(key_of("t", "chat")) <= 7000

    def test_scripts_take_less_than_5_ms_at_the_size_limit(self, store, client):
        """By the server's own clock, every one of a hundred; a round in which the server had to
        wait for its processor says nothing about the scripts.
        """
        big = values(json.dumps("x" * (DEFAULT_LIMIT_BYTES - 2)))  # and two quotation marks
        client.config_set("slowlog-log-slower-than", 5000)
        slow = []
        for begin in range(1, 501, 100):
            client.slowlog_reset()
            for version in range(begin, begin + 100):
                assert store.project(session(version), big, 60.0)
                assert store.serve(session(version)) is not None
            slow.append(client.slowlog_len())
            if not slow[-1]:
                break
        assert slow[-1] == 0, f"slow scripts in rounds of 200: {slow}"

    def test_an_evicting_server_is_told_of(self, store, client):
        assert store.findings() == []
        client.config_set("maxmemory-policy", "allkeys-lru")
        try:
            (sentence,) = store.findings()
        finally:
            client.config_set("maxmemory-policy", "noeviction")
        assert "allkeys-lru" in sentence
        assert "noeviction" in sentence

    def test_foreign_content_is_no_answer(self, store, client):
        key = key_of("t", "chat")
        client.hset(key, mapping={"epoch": "01a0", "version": "3", "values": "no JSON"})
        with pytest.raises(SessionStoreDown, match="foreign"):
            store.serve(session(1))
        client.delete(key)
        client.set(key, "a text")
        with pytest.raises(SessionStoreDown, match="WRONGTYPE"):
            store.project(session(1), (), 60.0)


def test_a_server_that_is_not_there_is_down_and_has_a_url_without_password():
    store = ValkeySessions("valkey://user:secret@127.0.0.1:1/0")
    assert store.url == "valkey://127.0.0.1:1/0"
    with pytest.raises(SessionStoreDown):
        store.serve(session(1))
    (sentence,) = store.findings()
    assert "cannot be seen" in sentence
    assert "secret" not in sentence


class TestRedisPy(SessionStoreConformance):
    """The client that is taken where it is what is installed."""

    @pytest.fixture
    def store(self, server_url, client, monkeypatch):
        monkeypatch.setitem(sys.modules, "valkey", None)  # as if it were not there
        store = ValkeySessions(server_url)
        assert isinstance(store._client, redis.Redis)
        yield store
        store.close()


class ProjectedPlace(SqlitePlace):
    """A ledger whose sessions are served by Valkey."""

    def open(self, **options):
        ledger = super().open(**options)
        ledger.contexts = ProjectedContexts(ledger.contexts, ValkeySessions(URL[0]))
        return ledger


URL: list[str] = []


class TestSqliteWithValkey(ContextRules):
    @pytest.fixture
    def place(self, tmp_path, server_url, client):
        URL[:] = [server_url]
        return ProjectedPlace(tmp_path)

    @pytest.fixture
    def ledger(self, place):
        ledger = place.open()
        yield ledger
        ledger.close()

    def test_two_processes_write_one_key_and_one_of_them_is_late(self, place):
        """Other processes open the ledger as it is; the projection sees what they wrote."""
        plain = SqlitePlace(place.folder)
        ContextRules.test_two_processes_write_one_key_and_one_of_them_is_late(self, plain)
        memory = place.open().contexts.memory("", "chat-42")
        assert [value.version for value in memory.values] == [1]


def test_what_is_flushed_is_built_anew_at_the_ledgers_version(tmp_path, server_url, client):
    """And the version never begins at 0 again."""
    from ascertain.testing.conformance.contexts import begun, done

    URL[:] = [server_url]
    ledger = ProjectedPlace(tmp_path).open()
    for serial in range(3):
        done(ledger, begun(ledger, f"i{serial}", "order_id"), order_id=f"A{serial}")
    first = ledger.contexts.memory("", "chat-42")
    client.flushall()
    assert ledger.contexts.memory("", "chat-42") == first
    kept = client.hgetall(key_of("", "chat-42"))
    assert kept[b"version"] == b"3"
    assert ledger.contexts.memory("", "chat-42") == first, "and served from there"
    ledger.close()
