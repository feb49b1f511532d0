"""Sessions in a cluster: each lies in one slot, and a client that knows slots finds it there."""

import threading
import time

import pytest
import valkey
from valkey.cluster import ValkeyCluster

from ascertain.store.sessions_valkey import ValkeySessions, key_of
from ascertain.testing.conformance.sessions import SessionStoreConformance, session, values
from tests import ports
from tests.conformance.valkey_server import KINDS, Server

SLOTS = 16_384
NAMES = [("t", "chat"), ("", "chat"), ("t", "a}b{c"), ("{", "}"), ("大", "聊天 42"), ("t", "")]


def slot_of(key: str) -> int:
    """As the cluster specification has it: CRC16 (XMODEM) of what stands in the first braces."""
    text = key.encode()
    begin = text.find(b"{")
    end = text.find(b"}", begin + 1)
    if begin >= 0 and end > begin + 1:
        text = text[begin + 1 : end]
    crc = 0
    for byte in text:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ (0x1021 if crc & 0x8000 else 0)
        crc &= 0xFFFF
    return crc % SLOTS


@pytest.fixture(scope="module", params=KINDS)
def nodes(request, tmp_path_factory):
    """Two nodes with half of the slots each."""
    servers = [
        Server(
            tmp_path_factory.mktemp("node"), request.param,
            cluster_enabled="yes", cluster_port=ports.claim(),
        ).start()
        for _ in range(2)
    ]  # fmt: skip
    lines = [valkey.Valkey(port=server.port) for server in servers]
    for line, first in zip(lines, (0, SLOTS // 2), strict=True):
        line.execute_command("CLUSTER", "ADDSLOTSRANGE", first, first + SLOTS // 2 - 1)
    other = servers[1]
    bus = other.options["cluster-port"]
    lines[0].execute_command("CLUSTER", "MEET", "127.0.0.1", other.port, bus)
    deadline = time.monotonic() + 20
    while not all(_knows_all(line) for line in lines):
        assert time.monotonic() < deadline, "the nodes do not find each other"
        threading.Event().wait(0.02)
    yield lines
    for line, server in zip(lines, servers, strict=True):
        line.close()
        server.kill()


def _knows_all(line):
    said = line.execute_command("CLUSTER", "INFO")
    return b"cluster_state:ok" in said and b"cluster_known_nodes:2" in said


@pytest.mark.parametrize("tenant, name", NAMES)
def test_the_key_of_a_session_lies_where_its_tag_does(nodes, tenant, name):
    """Whatever a tenant and a session are called, the tag is all of both and nothing else."""
    key = key_of(tenant, name)
    tag = key.removeprefix("ascertain:{").removesuffix("}:context")
    assert tag
    assert "{" not in tag
    assert "}" not in tag
    assert slot_of(key) == slot_of(tag)
    assert nodes[0].execute_command("CLUSTER", "KEYSLOT", key) == slot_of(key)
    assert slot_of(f"ascertain:{{{tag}}}:something-else") == slot_of(key)


def test_sessions_spread_over_the_slots():
    """One busy tenant does not lie on one node."""
    slots = {slot_of(key_of("t", f"chat-{n}")) for n in range(1000)}
    assert len(slots) > 900
    assert 400 < sum(slot < SLOTS // 2 for slot in slots) < 600


class TestCluster(SessionStoreConformance):
    """The same suite; the tests' sessions lie on both nodes."""

    @pytest.fixture
    def store(self, nodes):
        port = nodes[0].connection_pool.connection_kwargs["port"]
        cluster = ValkeyCluster(host="127.0.0.1", port=port)
        cluster.flushall()
        store = ValkeySessions(f"valkey://127.0.0.1:{port}/0", client=cluster)
        yield store
        store.close()

    def test_both_nodes_keep_some_of_them(self, store, nodes):
        for n in range(20):
            assert store.project(session(1, id=f"chat-{n}"), values('"x"'), 60.0)
            assert store.serve(session(1, id=f"chat-{n}")) is not None
        assert all(line.dbsize() > 0 for line in nodes)
        assert sum(line.dbsize() for line in nodes) == 20

    def test_nodes_that_evict_are_told_of(self, store, nodes):
        assert store.findings() == []
        for line in nodes:
            line.config_set("maxmemory-policy", "allkeys-lru")
        try:
            (sentence,) = store.findings()
        finally:
            for line in nodes:
                line.config_set("maxmemory-policy", "noeviction")
        assert "allkeys-lru" in sentence
