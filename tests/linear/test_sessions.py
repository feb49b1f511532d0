"""S04, S11: a session served by Valkey reads as one register, whatever is lost on the way.

Four clients read and write one session, while the server is flushed, replies are lost and
projections come late. The truth is the ledger's; here it is a lock in memory, so that histories are
many. What is checked is what a client of the session sees.
"""

import random
import threading
import time

import pytest
import valkey

from ascertain.model.session import Memory, Remembered, SessionRecord
from ascertain.store.sessions import ProjectedContexts
from ascertain.store.sessions_valkey import ValkeySessions
from ascertain.testing.linearize import Op, linearizable
from tests.conformance import valkey_server

HISTORIES, OPERATIONS, CLIENTS = 100, 500, 4
TTL_S = 60.0


class Truth:
    """What a ledger does for one session, without a disk."""

    def __init__(self, name):
        self._lock = threading.Lock()
        self._session = SessionRecord("t", name, "u7", 0, "01", 0.0, 0.0, TTL_S)
        self._values = ()

    def commit(self, value):
        with self._lock:
            version = self._session.version + 1
            self._values = (Remembered("key", version, value, "", "a", "c", 0, 0.0, 0.0),)
            self._session = self._session._replace(version=version)

    def memory(self, tenant, session):
        with self._lock:
            return Memory(self._session, self._values)

    def outline(self, tenant, session):
        with self._lock:
            return Memory(self._session)


class Faulty(ValkeySessions):
    """Some replies are lost after they took effect, some requests before."""

    def __init__(self, url, dice):
        super().__init__(url)
        self._dice = dice

    def _run(self, script, session, said):
        fate = self._dice.random()
        if fate < 0.02:
            raise_lost()
        result = super()._run(script, session, said)
        if fate < 0.04:
            raise_lost()
        return result


def raise_lost():
    from ascertain.store.sessions import SessionStoreDown

    raise SessionStoreDown("lost")


class Patient(ProjectedContexts):
    """Asks the store again at once, instead of leaving it alone for a while."""

    def _tell(self, error):
        """Nothing is said, and nothing waited for."""


class Projected:
    """The session as it is built: the ledger first, the projection after it, reads by version."""

    def __init__(self, name, url, dice):
        self.truth = Truth(name)
        self.name = name
        self._contexts = Patient(self.truth, Faulty(url, dice))

    def write(self, value, dice):
        self.truth.commit(value)
        seen = self.truth.memory("t", self.name)
        if dice.random() < 0.7:  # now and then the projection never comes
            self._contexts.keep(seen)

    def read(self):
        values = self._contexts.memory("t", self.name).values
        return values[0].value if values else None


class GetThenSet:
    """What one writes first: look whether it is newer, then set; and serve whatever is there."""

    def __init__(self, name, url, dice):
        self.name = name
        self.truth = Truth(name)
        self._client = valkey.Valkey.from_url(url)

    def write(self, value, dice):
        self.truth.commit(value)
        self._keep(self.truth.memory("t", self.name))

    def read(self):
        held = self._client.get(self.name)
        if held is not None:
            return held.split(b":")[1].decode()
        seen = self.truth.memory("t", self.name)
        self._keep(seen)
        return seen.values[0].value if seen.values else None

    def _keep(self, seen):
        held = self._client.get(self.name)
        if seen.values and (held is None or int(held.split(b":")[0]) < seen.session.version):
            self._client.set(self.name, f"{seen.session.version}:{seen.values[0].value}")


def play(kind, name, url, seed):
    """One history: clients at work together, flushes between."""
    dice = random.Random(seed)
    sessions = kind(name, url, dice)
    flusher = valkey.Valkey.from_url(url)
    history, failed = [], []
    start = threading.Barrier(CLIENTS)

    def client(number):
        mine = random.Random(f"{seed}-{number}")
        start.wait()
        for serial in range(OPERATIONS // CLIENTS):
            began = time.monotonic()
            if mine.random() < 0.3:
                value = f"{number}.{serial}"
                sessions.write(value, mine)
                history.append(Op("write", value, began, time.monotonic()))
            else:
                value = sessions.read()
                history.append(Op("read", value, began, time.monotonic()))
            if mine.random() < 0.01:
                flusher.flushall()

    def watched(number):
        try:
            client(number)
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=watched, args=(n,)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed, failed
    return history


@pytest.fixture(scope="module")
def url():
    with valkey_server.running() as (url, _):
        yield url


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_req_S04_a_projected_session_is_linearizable_under_flushes_and_lost_replies(url):
    """100 histories of 500 operations."""
    for seed in range(HISTORIES):
        history = play(Projected, f"chat-{seed}", url, seed)
        assert len(history) == OPERATIONS
        assert linearizable(history), f"seed {seed}"


def test_req_S04_the_variant_that_gets_and_then_sets_is_caught(url):
    """Between the look and the set something newer comes; the checker sees it."""
    caught = [not linearizable(play(GetThenSet, f"naive-{seed}", url, seed)) for seed in range(10)]
    assert any(caught)
