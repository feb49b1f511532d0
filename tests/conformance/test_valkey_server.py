"""The tests' own servers: two of them never get into each other's way."""

import multiprocessing
import socket

import pytest
import valkey

from tests import ports
from tests.conformance.valkey_server import KINDS, Server


def test_a_port_that_is_claimed_is_given_to_nobody_else(monkeypatch):
    """Although nobody listens there: its server may just be down for a moment."""
    mine = ports.claim()
    monkeypatch.setattr(ports, "_dice", Dice(mine, mine, mine + 1, mine, mine + 2, mine + 3))
    other = ports.claim()
    assert other > mine
    ports.release(mine)
    ports.release(other)


def test_nor_to_another_process(monkeypatch):
    mine = ports.claim()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(is_to_be_had, (mine,)) is False
        ports.release(mine)
        assert pool.apply(is_to_be_had, (mine,)) is True


def is_to_be_had(port):
    ports._dice = Dice(port, *range(port + 1, port + 100))
    return ports.claim() == port


class Dice:
    def __init__(self, *numbers):
        self._numbers = iter(numbers)

    def randrange(self, *_):
        return next(self._numbers)


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_whose_port_was_taken_in_between_begins_on_another(tmp_path, kind):
    """And what answers on the first one is not taken for it."""
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    one, other = Server(tmp_path / "one", kind), Server(tmp_path / "other", kind)
    one.port = one.options["port"] = other.port  # as one does who claims nothing
    one.start()
    other.start()
    assert other.port != one.port
    for server in (one, other):
        with valkey.Valkey(port=server.port) as client:
            assert client.info("server")["process_id"] == server._process.pid
    one.kill()
    other.kill()
    assert other.start().port == other.options["port"], "once it is known it stays where it was"
    other.kill()


def test_one_that_was_known_says_who_took_its_place(tmp_path):
    server = Server(tmp_path).start()
    server.kill()
    with socket.socket() as taker:
        taker.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taker.bind(("127.0.0.1", server.port))
        taker.listen()
        with pytest.raises(AssertionError, match=f"has taken port {server.port} meanwhile"):
            server.start()
