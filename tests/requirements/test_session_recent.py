"""S04, S13: what a process knows of a session of a moment ago is used, and is never the last word.

Processes share a ledger: what one of them has learned, another may have changed since. Most of them
are apps here, each with connections of its own; one is a process.
"""

from __future__ import annotations

import json
import multiprocessing

import pytest

from ascertain import Ascertain
from ascertain.errors import ForeignSession
from ascertain.model.session import Memory, Needs, Remembered, SessionRecord
from ascertain.rules.context import falls_due
from ascertain.runtime import recent
from ascertain.runtime.recent import Recent
from ascertain.store.ledger import Filter
from tests.flow.stage import prepared
from tests.ledgers import ledger_url

SESSION = "chat-42"
pytestmark = pytest.mark.every_ledger


class Clock:
    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


class Shop:
    """One process: a query for the last order and a refund of it. It counts its looks."""

    def __init__(self, url, clock):
        self.clock = clock
        self.app = app = Ascertain(url, worker="none", clock=clock)
        self.order = "A1"
        self.refunded = []

        @app.read(provides={"order_id": "id"})
        def query():
            return {"id": self.order}

        @app.tool(identity=["order_id"], context={"order_id": "order_id"}, key_lifetime="24h")
        def refund(order_id: str):
            self.refunded.append(order_id)
            return {"id": f"R-{order_id}"}

        self.query, self.refund = query, refund
        self.looks = 0
        contexts = app.ledger.contexts
        memory = contexts.memory

        def counted(tenant, session):
            self.looks += 1
            return memory(tenant, session)

        contexts.memory = counted

    def session(self, **more):
        return self.app.session(SESSION, **({"principal": "u7"} | more))

    def says(self, order):
        """The query is asked, and finds this order."""
        self.order = order
        with self.session():
            assert self.query().confirmed

    def refunds(self):
        with self.session():
            return self.refund()

    def first(self, action):
        """What the first event of an action tells."""
        return json.loads(self.app.ledger.events(action.id)[0].detail)


def finds_another(url, now, order):
    """What the other process does."""
    shop = Shop(url, Clock(now))
    shop.says(order)
    shop.app.close()


@pytest.fixture
def clock():
    return Clock(1_000_000.0)


@pytest.fixture
def url(tmp_path):
    return ledger_url(f"{tmp_path}/ledger.db")


@pytest.fixture
def shop(url, clock):
    shop = Shop(url, clock)
    yield shop
    shop.app.close()


@pytest.fixture
def other(url, clock):
    other = Shop(url, clock)
    yield other
    other.app.close()


def test_req_S04_what_was_written_here_a_moment_ago_needs_no_look(shop, clock):
    shop.says("A1")
    assert shop.refunds().confirmed
    assert (shop.refunded, shop.looks) == (["A1"], 0)
    clock.now += recent.KNOWN_FOR_S + 0.1
    shop.says("A2")
    clock.now += recent.KNOWN_FOR_S + 0.1
    assert shop.refunds().confirmed
    assert (shop.refunded, shop.looks) == (["A1", "A2"], 1), "it was too long ago"


def test_req_S04_S13_another_process_changed_it_and_the_transaction_refuses_what_is_stale(
    shop, url
):
    """Refused inside the transaction, looked up again, and made with what is current."""
    shop.says("A1")
    spawn = multiprocessing.get_context("spawn")
    process = spawn.Process(target=finds_another, args=(url, shop.clock.now, "B2"))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    action = shop.refunds()
    assert (action.state, shop.refunded, shop.looks) == ("confirmed", ["B2"], 1)
    assert shop.first(action)["tiers"] == [["again", "stale_context"]]
    refunds = shop.app.ledger.find(Filter(tool="refund"))
    assert [record.id for record in refunds] == [action.id], "the stale one left no trace"
    assert list(shop.app.ledger.verify()) == []


def test_req_S04_an_action_that_is_stored_is_no_answer_to_a_call_for_another_order(shop, other):
    """The intent of a moment ago is known to the ledger, which then checks no versions."""
    shop.says("A1")
    first = shop.refunds()
    other.says("B2")
    second = shop.refunds()
    assert shop.refunded == ["A1", "B2"]
    assert (first.how, second.how) == ("new", "new")


def test_req_S04_where_nothing_has_changed_the_same_call_is_answered_from_the_record(shop):
    shop.says("A1")
    first, again = shop.refunds(), shop.refunds()
    assert shop.refunded == ["A1"]
    assert (again.id, again.how) == (first.id, "replayed")


def test_req_S04_a_session_that_began_anew_elsewhere_remembers_nothing_here(shop, other):
    shop.says("A1")
    with other.session() as session:
        session.renew()
    shop.order = "C3"
    action = shop.refunds()
    assert shop.refunded == ["C3"], "the gate has asked again, and not taken what was forgotten"
    assert shop.first(action)["tiers"][0] == ["again", "stale_context"]


def test_req_S11_what_is_known_of_one_principals_session_is_nobody_elses(shop):
    shop.says("A1")
    with shop.session(principal="u8"), pytest.raises(ForeignSession):
        shop.refund()
    assert shop.refunded == []


@pytest.mark.one_ledger
def test_req_S12_a_session_that_has_ended_is_looked_at_again(shop, clock):
    """Another process may have put its end off."""
    known = Recent()
    session = SessionRecord("t", "s", "u7", 1, "e", 0.0, 0.0, 10.0)
    known.looked(Memory(session, (VALUE,)), 9.5, whole=True)
    assert known.memory(PLACE, "u7", ["order_id"], 9.9) is not None
    assert known.memory(PLACE, "u7", ["order_id"], 10.0) is None


# ------------------------------------------------------------------------------- what is known

PLACE = ("t", "s")
VALUE = Remembered("order_id", 1, '"A1"', "", "a1", "a1", 0, 0.0, 0.0, 0, "query")
OPEN = SessionRecord("t", "s", "u7", 1, "e", 0.0, 0.0, 1000.0)
RECORD = prepared(tenant="t", session="s", principal="u7")


def values(known, *keys, now=0.0):
    memory = known.memory(PLACE, "u7", keys, now)
    return None if memory is None else [value.value for value in memory.values]


@pytest.mark.one_ledger
def test_a_call_that_needs_one_key_more_than_is_known_has_to_look():
    known = Recent()
    known.looked(Memory(OPEN, (VALUE,)), 0.0, whole=True)
    assert values(known, "order_id") == ['"A1"']
    assert values(known, "order_id", "phone") is None
    assert values(known, "order_id", now=-5.0) is None, "a clock that was set back"


@pytest.mark.one_ledger
@pytest.mark.parametrize(
    "value",
    [
        VALUE._replace(value=None, why="too_large"),
        VALUE._replace(reversed=1),
        VALUE._replace(value="x" * (recent.CHARACTERS + 1)),
    ],
    ids=["no value", "taken back", "long"],
)
def test_what_no_call_can_be_filled_from_is_not_known(value):
    known = Recent()
    known.looked(Memory(OPEN, (value,)), 0.0, whole=True)
    assert values(known, "order_id") is None


@pytest.mark.one_ledger
def test_a_late_value_and_an_older_look_do_not_bring_back_what_was_before():
    known = Recent()
    known.looked(Memory(OPEN, (VALUE,)), 0.0, whole=True)
    known.wrote(RECORD, None, [VALUE._replace(version=3, value='"C3"')], 0.0)
    known.looked(Memory(OPEN._replace(version=2), (VALUE,)), 0.0, whole=True)
    assert values(known, "order_id") == ['"C3"']
    known.wrote(RECORD, None, [VALUE._replace(version=4, superseded=1)], 0.0)
    assert values(known, "order_id") is None


@pytest.mark.one_ledger
def test_a_session_that_somebody_else_wrote_to_is_known_without_its_values():
    known = Recent()
    known.looked(Memory(OPEN, (VALUE,)), 0.0, whole=True)
    known.looked(Memory(OPEN), 0.0, whole=False)
    assert values(known, "order_id") == ['"A1"'], "nothing was written since"
    known.looked(Memory(OPEN._replace(version=2)), 0.0, whole=False)
    assert values(known, "order_id") is None


@pytest.mark.one_ledger
def test_what_is_known_is_bounded():
    known = Recent()
    for serial in range(3 * recent.SESSIONS):
        session = OPEN._replace(id=f"s{serial}")
        known.looked(Memory(session, (VALUE,)), 0.0, whole=True)
    held = [
        known.memory(("t", f"s{n}"), "u7", ["order_id"], 0.0) for n in range(3 * recent.SESSIONS)
    ]
    assert held[-1] is not None
    assert recent.SESSIONS <= sum(one is not None for one in held) <= 2 * recent.SESSIONS
    many = [VALUE._replace(key=f"k{n}") for n in range(recent.KEYS + 1)]
    known.looked(Memory(OPEN, tuple(many)), 0.0, whole=True)
    assert values(known, "k0") is None


@pytest.mark.one_ledger
def test_a_session_that_was_made_by_the_read_is_known_from_then_on():
    known = Recent()
    needs = Needs(now=5.0, expires_at=1000.0, epoch="e")
    known.wrote(RECORD, needs, [VALUE], 5.0)
    memory = known.memory(PLACE, "u7", ["order_id"], 5.0)
    assert memory is not None
    assert memory.session == SessionRecord("t", "s", "u7", 0, "e", 5.0, 5.0, 1000.0)
    unknown = Recent()
    unknown.wrote(RECORD, Needs(now=5.0, expires_at=9.0, epoch="", opens=False), [VALUE], 5.0)
    assert values(unknown, "order_id", now=5.0) is None, "nobody here knows how long it lives"


@pytest.mark.parametrize(
    "life_s, after_s, due",
    [(3600, 59, False), (3600, 60, True), (100, 4.9, False), (100, 5.1, True)],
)
def test_a_use_prolongs_a_session_once_a_minute_or_a_twentieth_of_its_life(
    shop, life_s, after_s, due
):
    """The rule of the gate is that of the ledger, which has the last word."""
    contexts = shop.app.contexts
    contexts.ttl_s = life_s
    shop.says("A1")
    store = shop.app.ledger.contexts
    before = store.session("default", SESSION)
    now = before.seen_at + after_s
    assert falls_due(before, now=now, expires_at=now + life_s) is due
    shop.clock.now = now
    shop.says("A1")
    assert (store.session("default", SESSION).seen_at == now) is due
    assert falls_due(None, now=now, expires_at=now + life_s)
