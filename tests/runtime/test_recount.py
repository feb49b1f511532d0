"""A recount: what the person is told, the ledger and the provider's own record, side by side."""

import asyncio
import threading

import pytest

from ascertain import Absent, Ascertain, Budget, Found, Refused, key
from ascertain.errors import ContractError, UnknownTool
from ascertain.model.operations import Take
from ascertain.rules.recount import SENTENCES, Difference, Said
from tests.ledgers import ledger_url

pytestmark = pytest.mark.every_ledger

QUICK = Budget(turn_sends=1, turn_s=1.0, send_deadline_s=0.5, backoff_s=3000.0, backoff_max_s=3000)


class Crm:
    """Keeps its records by key; what it holds can be changed behind the library's back."""

    def __init__(self):
        self.records = {}
        self.asked = 0
        self.silent = False
        self.slow = None

    def make(self, request, order_id):
        if order_id == "REFUSED":
            raise Refused("OUT_OF_POLICY")
        if order_id == "UNSEEN":
            raise TimeoutError
        ref = f"T{900 + len(self.records)}"
        self.records.setdefault(request, []).append(ref)
        if order_id == "LOST":
            raise TimeoutError
        return {"ticket_id": ref}

    def find(self, request):
        self.asked += 1
        if self.silent:
            raise TimeoutError
        if self.slow is not None:
            self.slow.wait(0.05)
        refs = self.records.get(request, [])
        return Found(refs[0], count=len(refs)) if refs else Absent


@pytest.fixture
def crm():
    return Crm()


@pytest.fixture
def clock():
    class Clock:
        now = 1000.0

        def __call__(self):
            return self.now

    return Clock()


@pytest.fixture
def app(tmp_path, crm, clock):
    app = Ascertain(ledger_url(f"{tmp_path}/ledger.db"), worker="none", clock=clock)

    @app.tool(identity=["order_id"], budget=QUICK)
    def create_ticket(order_id: str) -> dict[str, str]:
        return crm.make(key(), order_id)

    @create_ticket.lookup(absence_final_after="10s")
    def find_ticket(action):
        return crm.find(action.key)

    @app.tool(identity=["order_id"], budget=QUICK)
    async def book_pickup(order_id: str) -> dict[str, str]:
        return crm.make(key(), order_id)

    @book_pickup.lookup(absence_final_after="10s")
    async def find_pickup(action):
        await asyncio.sleep(0)
        return crm.find(action.key)

    @app.tool(budget=QUICK, say={"in_review": "Your mail has been sent."})
    def send_mail(to: str) -> None:
        raise TimeoutError

    yield app
    app.close()


def call(app, order_id, tool="create_ticket"):
    with app.session("s", principal="u7") as session:
        name = "to" if tool == "send_mail" else "order_id"
        if tool == "book_pickup":
            return asyncio.run(session.call_async(tool, {name: order_id}))
        return session.call(tool, {name: order_id})


def lost(app, crm, tool="create_ticket"):
    """An action whose answer is lost, and whose look-up has no answer yet."""
    crm.silent = True
    action = call(app, "LOST", tool)
    crm.silent = False
    return action


def only(found):
    (row,) = found.rows
    return row


def rules(row):
    return [str(rule) for rule in row.differences]


TOOLS = pytest.mark.parametrize("tool", ["create_ticket", "book_pickup"])


@TOOLS
def test_req_P13_three_views_that_agree(app, crm, tool):
    action = call(app, "A123", tool)
    n = action.record.n
    found = app.recount()
    row = only(found)
    assert found.agrees
    assert (row.said, row.provider_ref, row.count) == (Said.FOUND, "T900", 1)
    assert row.told == action.say()
    assert crm.asked == 1
    assert app.action(action.id).record.n == n  # that all is as it was is no news


@TOOLS
def test_req_P13_what_was_unknown_is_settled_by_what_the_provider_says(app, crm, tool):
    action = lost(app, crm, tool)
    assert action.state == "unknown"
    row = only(app.recount())
    assert row.settled
    assert row.agrees
    assert (row.before, row.record.state) == ("unknown", "confirmed")
    assert app.action(action.id).provider_ref == "T900"


@TOOLS
def test_req_P13_extra_effects_at_the_provider_are_found_and_open_a_case(app, crm, tool):
    action = call(app, "A123", tool)
    crm.records[action.key].append("T999")
    found = app.recount()
    assert not found.agrees
    assert rules(only(found)) == ["extra_effects"]
    after = app.action(action.id)
    assert (after.state, after.record.disputed) == ("confirmed", 1)
    assert after.record.review == "duplicate_effect"
    n = after.record.n
    assert rules(only(app.recount())) == ["extra_effects"]
    assert app.action(action.id).record.n == n  # it is on record already


def test_req_P13_another_reference_than_the_ledger_has(app, crm):
    action = call(app, "A123")
    crm.records[action.key] = ["T77"]
    assert rules(only(app.recount())) == ["reference_differs"]


def test_req_P13_confirmed_but_gone_at_the_provider(app, crm, clock):
    action = call(app, "A123")
    crm.records.clear()
    clock.now += 60
    assert rules(only(app.recount())) == ["confirmed_but_absent"]
    assert app.action(action.id).record.review == "confirmed_but_absent"


def test_req_P13_counted_as_not_done_but_there(app, crm):
    action = call(app, "REFUSED")
    assert action.state == "rejected"
    crm.records[action.key] = ["T900"]
    assert rules(only(app.recount())) == ["not_done_but_found"]
    after = app.action(action.id)
    assert after.record.disputed
    assert "contradict" in after.say()


def test_req_F20_a_tool_whose_own_sentence_says_more_than_is_known(app):
    call(app, "ann", "send_mail")
    row = only(app.recount())
    assert rules(row) == ["told_differs"]
    assert row.notes == ("Your mail has been sent.",)
    assert (row.said, row.why) == (Said.NOT_ASKED, "no_lookup")


def test_no_answer_is_no_agreement(app, crm):
    call(app, "A123")
    crm.silent = True
    found = app.recount()
    assert not found.agrees
    assert [row.record.id for row in found.unanswered] == [only(found).record.id]
    assert found.differing == []


def test_what_is_unknown_contradicts_nothing(app):
    call(app, "UNSEEN")
    row = only(app.recount())
    assert (row.said, row.differences) == (Said.ABSENT, ())
    assert row.record.state == "unknown"


def test_an_action_that_somebody_works_on_is_left_to_them(app, crm):
    action = lost(app, crm)
    now = app.hands.clock()
    take = Take(owner="web/boot/n/1/2", now=now, lease_until=now + 60, action_id=action.id)
    app.hands.committer.commit(take)
    row = only(app.recount())
    assert (row.said, row.why) == (Said.NOT_ASKED, "in_hand")


def test_the_look_is_bounded_and_says_what_it_read(app, crm, clock):
    for n in range(4):
        call(app, f"A{n}")
        clock.now += 100
    found = app.recount(limit=2)
    assert (len(found.rows), found.more, found.scanned) == (2, True, 3)
    found = app.recount(since=150)
    assert (len(found.rows), found.more, found.scanned) == (1, False, 1)
    assert app.recount(tool="book_pickup").rows == ()
    assert crm.asked == 3


def test_look_ups_keep_to_the_rate(app):
    for n in range(4):
        call(app, f"A{n}")

    async def timed():
        loop = asyncio.get_running_loop()
        started = loop.time()
        await app.recount_async(rate=20)
        return loop.time() - started

    assert asyncio.run(timed()) >= 3 / 20


def test_more_look_ups_at_once_than_there_are_threads_are_no_silence(app, crm):
    for n in range(60):
        call(app, f"A{n}")
    crm.slow = threading.Event()
    found = app.recount(concurrency=1000, rate=1e6)
    assert (found.asked, found.unanswered) == (60, [])


@pytest.mark.parametrize(
    "said", [{"since": "soon"}, {"since": 0}, {"limit": 0}, {"rate": -1}, {"concurrency": 0}]
)
def test_senseless_bounds_are_refused(app, crm, said):
    call(app, "A123")
    with pytest.raises(ContractError):
        app.recount(**said)
    assert crm.asked == 0


def test_a_tool_that_there_is_not(app):
    with pytest.raises(UnknownTool):
        app.recount(tool="refund")


def test_every_difference_has_its_sentence():
    assert set(SENTENCES) == set(Difference)
