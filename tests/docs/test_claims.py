"""What the README says happens: a test for each row of its table, and for its figures."""

import asyncio
import os
import re
import signal
import time
from contextlib import closing
from dataclasses import replace

import httpx
import pytest
from temporalio.testing import ActivityEnvironment

from ascertain import (
    Absent,
    Ascertain,
    Budget,
    Found,
    IntentConflict,
    Items,
    Receipt,
    RefusalRule,
    Refused,
    State,
    Undone,
    key,
)
from ascertain.errors import LedgerFull
from ascertain.runtime.recent import Recent
from ascertain.store.ledger import Filter, Take
from ascertain.temporal import acting, told
from ascertain.testing.world import Behaviour, Provider, World
from tests.docs.pages import text_of
from tests.doors.drivers import langgraph
from tests.doors.script import DONE, Call, calls
from tests.doors.shop import Shop
from tests.postgres import hands
from tests.postgres.server import Server

QUICK = Budget(turn_s=2.0, send_deadline_s=0.5, backoff_s=0.02, backoff_max_s=0.2)
SETTLING_S = 0.3
PROVIDERS = {
    "tickets": Provider(),
    "listed": Provider(honours_key=False),
    "blind": Provider(honours_key=False, lookup=False),
    "keyed": Provider(lookup=False),
}
REFUSALS = [
    RefusalRule(code=code, kind="already_exists", related_path="error.ref")
    for code in ("OPEN_TICKET_EXISTS", "ALREADY_EXISTS")
]
SHOWN = {}


def shows(row):
    """This test shows what the row says that begins so."""

    def keep(test):
        SHOWN.setdefault(row, []).append(test.__name__)
        return test

    return keep


class Desk:
    """One app, and one tool for each kind of provider."""

    def __init__(self, world, folder):
        self.world = world
        self.app = Ascertain(f"sqlite:///{folder}/ledger.db", worker="none", lease_s=0.3)
        self.client = self.app.watch(httpx.Client(base_url=world.url))
        self.die = False

    def tool(self, collection="tickets", **said):
        provider = PROVIDERS[collection]
        promises = {"key_lifetime": "24h"} if provider.honours_key else {}
        promises |= {"identity": ["order_id"], "wording": ["issue"], "budget": QUICK, **said}

        @self.app.tool(**promises)
        def create_ticket(order_id: str, issue: str = "", amount: int = 1) -> dict:
            body = {"order": order_id, "issue": issue, "amount": amount}
            headers = {"Idempotency-Key": key()}
            reply = self.client.post(f"/{collection}", json=body, headers=headers)
            if self.die:
                os.kill(os.getpid(), signal.SIGKILL)
            return reply.raise_for_status().json()

        @create_ticket.check_related
        def is_theirs(action):
            return action.principal == "u7"

        if provider.lookup:

            @create_ticket.lookup(absence_final_after=SETTLING_S)
            def find_ticket(action):
                reply = self.client.get(f"/{collection}", params={"request": action.key})
                rows = reply.raise_for_status().json()
                return Found(rows[0]["ref"], count=len(rows)) if rows else Absent

        return create_ticket

    def session(self, id="chat-42", principal="u7"):
        return self.app.session(id, principal=principal)

    def posts(self, order):
        return self.world.arrivals(method="POST", order=order)

    def only(self):
        (record,) = self.app.ledger.find(Filter())
        return record

    def recover(self, within_s=8.0):
        """Let a worker pass until the only action is settled or waits for a person."""
        give_up_at = time.monotonic() + within_s
        while True:
            self.app.recover()
            record = self.only()
            if record.terminal or record.review is not None:
                return record
            assert time.monotonic() < give_up_at, f"still {record.state} ({record.reason})"


@pytest.fixture(scope="module")
def world():
    with World(dict(PROVIDERS)) as world:
        yield world


@pytest.fixture
def desk(world, tmp_path):
    desk = Desk(world, tmp_path)
    yield desk
    desk.app.close()
    desk.client.close()


@pytest.fixture
def order(request):
    return f"A-{request.node.name}-{time.monotonic_ns()}"


@shows("the reply is lost after the provider did it")
def test_it_asks_by_the_same_key_and_finds_it(desk, world, order):
    world.script("tickets", {"order": order}, ["reply_lost"])
    create = desk.tool()
    with desk.session():
        ticket = create(order_id=order)
    (effect,) = world.effects(order=order)
    assert (ticket.state, ticket.provider_ref) == (State.CONFIRMED, effect.ref)
    assert len(desk.posts(order)) == 1
    assert world.arrivals(method="GET", key=ticket.key)


@shows("the request is lost")
def test_it_asks_and_sends_again_with_the_same_key(desk, world, order):
    world.script("tickets", {"order": order}, ["request_lost"])
    create = desk.tool()
    with desk.session():
        ticket = create(order_id=order)
    assert ticket.state is State.CONFIRMED
    assert [post.key for post in desk.posts(order)] == [ticket.key] * 2
    asked, sent = world.arrivals(method="GET", key=ticket.key)[0], desk.posts(order)[1]
    assert asked.number < sent.number


@shows("the process dies between send and record")
@pytest.mark.parametrize("collection, ends", [("listed", "confirmed"), ("blind", "unknown")])
def test_another_process_asks_and_never_runs_it_again(desk, world, order, collection, ends):
    create = desk.tool(collection)
    child = os.fork()
    if child == 0:
        desk.die = True
        with desk.session():
            create(order_id=order)
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert desk.only().state is State.SENT
    record = desk.recover()
    assert record.state == ends
    assert [event.event for event in desk.app.ledger.events(record.id)][:3] == [
        "prepare", "send", "lose",
    ]  # fmt: skip
    assert len(desk.posts(order)) == world.count(order=order) == 1


@shows("the provider can neither be asked nor safely be sent the same again")
def test_a_case_is_opened_and_nothing_is_sent_twice(desk, world, order):
    world.script("blind", {"order": order}, ["reply_lost"])
    create = desk.tool("blind")
    with desk.session():
        ticket = create(order_id=order)
        assert create(order_id=order).id == ticket.id
    assert (ticket.state, ticket.record.review) == (State.UNKNOWN, "cannot_ask")
    assert "a person will check it" in ticket.say()
    assert desk.app.ledger.events(ticket.id)
    assert desk.app.recover() == 0
    assert len(desk.posts(order)) == 1


@shows("the request is lost, there is only a key")
@pytest.mark.parametrize("promised, state", [("0.3s", State.REJECTED), (None, State.UNKNOWN)])
def test_a_refusal_of_a_late_repeat_speaks_for_all_where_that_is_promised(
    desk, world, order, promised, state
):
    """Refused at once it says nothing of the attempt before; refused later it says all."""
    world.script("keyed", {"order": order}, ["request_lost", *["business_refusal"] * 4])
    create = desk.tool("keyed", refusal_final_after=promised, refusals=REFUSALS)
    with desk.session():
        assert create(order_id=order).state is State.UNKNOWN
    record = desk.recover()
    assert (record.state, world.count("keyed", order=order)) == (state, 0)
    assert (record.review is None) is (state is State.REJECTED), "else a person decides"


@shows("429 or 503 with a wait beyond the budget")
@pytest.mark.parametrize("refusal", ["throttled", "unavailable_503_before"])
def test_the_turn_ends_honestly_and_the_background_goes_on(desk, world, order, refusal):
    world.script("tickets", {"order": order}, [Behaviour(refusal, retry_after_s=1)])
    create = desk.tool(budget=Budget(turn_s=0.5, send_deadline_s=0.4, backoff_s=0.02))
    with desk.session():
        ticket = create(order_id=order)
    assert ticket.state is State.UNKNOWN
    assert "Not confirmed as submitted yet" in ticket.say()
    assert ticket.say("zh-CN") == "暂未确认提交"
    assert len(desk.posts(order)) == 1
    assert desk.recover().state is State.CONFIRMED
    assert [post.key for post in desk.posts(order)] == [ticket.key] * 2


@shows("401, 403")
@pytest.mark.parametrize("refusal", ["unauthorised_401", "forbidden_403"])
def test_it_stops_and_the_person_has_to_log_in(desk, world, order, refusal):
    world.script("tickets", {"order": order}, [refusal])
    create = desk.tool()
    with desk.session():
        ticket = create(order_id=order)
    assert (ticket.state, ticket.kind, ticket.record.final) == (State.REJECTED, "auth", 1)
    assert "log in or be authorised" in ticket.say()
    assert ticket.facts()["next_allowed"] == ["ask_person"]
    assert len(desk.posts(order)) == 1


@shows('"already exists"')
@pytest.mark.parametrize("who, told", [("u7", "T850"), ("u8", None)])
def test_the_existing_one_is_told_to_whom_it_belongs(desk, world, order, who, told):
    world.script("tickets", {"order": order}, ["business_refusal"])
    create = desk.tool(refusals=REFUSALS)
    with desk.session(principal=who):
        ticket = create(order_id=order)
    assert (ticket.state, ticket.kind) == (State.REJECTED, "already_exists")
    assert ticket.related_ref == told


@shows('"already exists"')
def test_the_existing_one_may_be_our_own(desk, world, order):
    world.script("listed", {"order": order}, ["reply_lost", "already_exists"], lookup=["miss"] * 2)
    create = desk.tool("listed", refusals=REFUSALS)
    with desk.session():
        create(order_id=order)
    record = desk.recover()
    assert (record.state, world.count(order=order)) == (State.CONFIRMED, 1)


@shows("a 2xx whose body says error")
def test_the_body_is_read_before_the_status_is_believed(desk, world, order):
    world.script("tickets", {"order": order}, ["error_body_2xx"])
    create = desk.tool()
    with desk.session():
        ticket = create(order_id=order)
    assert (ticket.state, ticket.record.code) == (State.REJECTED, "REFUSED_BY_POLICY")
    assert desk.posts(order)[0].answered == "200"


@shows('the effect lands after the look-up said "absent"')
def test_absence_counts_only_when_it_is_final(desk, world, order):
    world.script("listed", {"order": order}, [Behaviour("late_execution", seconds=SETTLING_S / 2)])
    create = desk.tool("listed")
    with desk.session():
        create(order_id=order)
    record = desk.recover()
    assert "absent" in [event.reason for event in desk.app.ledger.events(record.id)]
    assert (record.state, record.attempt) == (State.CONFIRMED, 1)
    assert world.count(order=order) == 1


@shows("the model rewords its text or the framework gives a new call id")
def test_it_is_the_same_action(desk, order):
    create = desk.tool()
    with desk.session():
        first = create.options(call_id="call-1")(order_id=order, issue="noise on the left")
        again = create.options(call_id="call-2")(order_id=order, issue="the left side crackles")
    assert (first.id, again.how) == (again.id, "replayed")
    assert [post.args["issue"] for post in desk.posts(order)] == ["noise on the left"]


@shows("two tabs, two agents, two processes")
@pytest.mark.parametrize(
    "once_per, sessions",
    [
        ("session", [("chat-42", "u7"), ("chat-42", "u7")]),
        ("principal", [("tab-1", "u7"), ("tab-2", "u7")]),
        ("tenant", [("phone", "agent-1"), ("chat", "agent-2")]),
    ],
)
def test_it_is_one_action(desk, world, order, once_per, sessions):
    create = desk.tool(once_per=once_per)
    children = []
    for session, principal in sessions:
        child = os.fork()
        if child == 0:
            with desk.session(session, principal):
                state = create(order_id=order).state
            os._exit(0 if state is State.CONFIRMED else 1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert world.count(order=order) == 1
    assert desk.only().state is State.CONFIRMED


@shows("Temporal runs an activity again, after the effect")
def test_it_finds_its_action_and_sends_nothing(desk, world, order):
    create = desk.tool()
    environment = ActivityEnvironment()  # one activity of one workflow run

    def open_ticket():
        with acting(desk.app, principal="u7") as here:
            ticket = here(create)(order_id=order)
        return told(ticket)

    first = environment.run(open_ticket)
    environment.info = replace(environment.info, attempt=2)
    again = environment.run(open_ticket)
    assert (first["state"], first["settled"]) == ("confirmed", True)
    assert again == first
    assert len(desk.posts(order)) == world.count(order=order) == 1


@shows("an agent of LangChain is killed after the effect, resumed, and plans anew")
def test_a_resumed_agent_that_plans_anew_finds_its_action(world, order, tmp_path):
    issue, other = {"issue": "it buzzes"}, {"issue": "a noise"}
    first = calls(Call("c1", "create_ticket", {"order": order, **issue}))
    second = calls(Call("x9", "create_ticket", {"order": order, **other}))
    agent = langgraph.Graph("langchain", langgraph.agent)
    with closing(Shop(world, tmp_path)) as shop:
        shop.after_send = shop.die
        killed = agent.play(shop, [first])
    with closing(Shop(world, tmp_path)) as shop:
        played = agent.play(shop, [second, DONE], saved=killed.saved)
    assert [told.state for told in played.told] == ["confirmed", "confirmed"]
    assert len(world.arrivals(method="POST", order=order)) == world.count(order=order) == 1


@shows("the model refunds while the order it has just looked up is still being written")
async def test_a_refund_waits_for_the_order_that_is_being_written(desk, order):
    create = desk.tool(context={"order_id": "order_id"}, wording=[])
    looked_up = asyncio.Event()

    @desk.app.read(provides={"order_id": "id"})
    async def query_order(phone: str) -> dict:
        await looked_up.wait()
        return {"id": order if phone == "2" else "an earlier one"}

    async with desk.session() as session:
        looked_up.set()
        await query_order("1")
        looked_up.clear()
        query = asyncio.create_task(query_order("2"))
        await asyncio.sleep(0)
        made = asyncio.create_task(session.call_async(create.name, {}))
        await asyncio.sleep(0)
        looked_up.set()
        action = await made
        await query
    assert action.state is State.CONFIRMED
    assert len(desk.posts(order)) == 1
    assert desk.posts("an earlier one") == []


@shows("the same intent with another amount")
def test_another_amount_is_a_conflict(desk, order):
    create = desk.tool()
    with desk.session():
        create(order_id=order, amount=5)
        with pytest.raises(IntentConflict, match="amount"):
            create(order_id=order, amount=50)
    assert len(desk.posts(order)) == 1


def refused(desk):
    return httpx.Client(base_url="http://127.0.0.1:9"), None


def no_such_name(desk):
    return httpx.Client(base_url="http://nobody.invalid"), None


def pool_is_taken(desk):
    limits, timeout = httpx.Limits(max_connections=1), httpx.Timeout(1, pool=0.05)
    client = httpx.Client(base_url=desk.world.url, limits=limits, timeout=timeout)
    return client, client.stream("GET", "/tickets")


@shows("a later step of the same wish is refused")
def test_what_is_confirmed_is_undone_in_reverse(desk, world, order):
    create, undone = desk.tool(), []

    @create.compensate()
    def close_ticket(ticket: Undone) -> dict:
        undone.append(ticket.provider_ref)
        return {"id": "C1"}

    @desk.app.tool(identity=["order_id"])
    def send_parcel(order_id: str) -> dict:
        raise Refused("NO_STOCK")

    with desk.session() as session, session.chain(order) as chain:
        ticket = create(order_id=order)
        send_parcel(order_id=order)
    assert chain.state == "compensating"
    desk.app.recover()
    assert chain.state == "compensated"
    assert undone == [ticket.provider_ref]


@shows("connection refused, DNS, pool timeout")
@pytest.mark.parametrize("nowhere", [refused, no_such_name, pool_is_taken])
def test_what_never_left_is_withdrawn_and_may_be_called_again(desk, order, nowhere):
    client, held = nowhere(desk)
    desk.app.watch(client)
    if held is not None:
        held.__enter__()

    @desk.app.tool(identity=["order_id"], budget=QUICK)
    def create_ticket(order_id: str) -> dict:
        return client.post("/tickets", json={"order": order_id}).json()

    with desk.session():
        ticket = create_ticket(order_id=order)
    events = [event.event for event in desk.app.ledger.events(ticket.id)]
    assert (ticket.state, ticket.kind) == (State.REJECTED, "withdrawn")
    assert events == ["prepare", "send", "unsend", "send", "unsend", "withdraw"]
    assert ticket.facts()["next_allowed"] == ["call_again", "ask_person"]
    assert desk.posts(order) == []
    if held is not None:
        held.__exit__(None, None, None)
    client.close()


@shows("a call that a person has to approve")
def test_exactly_what_was_approved_is_sent_once(desk, order):
    create = desk.tool(approval=True)
    with desk.session():
        action = create(order_id=order)
        assert (action.state, desk.posts(order)) == (State.PREPARED, [])
        assert "waits for approval; nothing has been sent" in action.say()
        desk.app.approve(action.id, by="li", digest=desk.app.approval_digest(action.id))
        assert create(order_id=order).state is State.CONFIRMED
        assert create(order_id=order).replayed
    assert len(desk.posts(order)) == 1


@shows("the provider keeps giving no answer")
def test_the_tool_is_closed_for_automatic_sends(desk, world, order):
    """Five times no answer in a row; the sixth call is not sent, and says so."""
    create = desk.tool("blind")
    for n in range(5):
        world.script("blind", {"order": f"{order}-{n}"}, ["request_lost"])
        with desk.session(f"chat-{n}"):
            create(order_id=f"{order}-{n}")
    with desk.session("chat-6"):
        action = create(order_id=order)
    assert (action.state, desk.posts(order)) == (State.PREPARED, [])
    assert "left to a person, nothing has been sent" in action.say()


@shows("ten thousand actions of one tenant")
def test_one_of_each_tenant_and_tool_is_taken_in_turn(desk, world, order):
    """The others' look-ups come first or second, and not after the many."""
    create = desk.tool("listed")
    for tenant, count in (("a-big", 20), ("b-small", 2)):
        with desk.app.session(tenant, principal="u7", tenant=tenant):
            for n in range(count):
                world.script("listed", {"order": f"{order}-{tenant}-{n}"}, ["reply_lost"])
                create.options(deadline=0.05)(order_id=f"{order}-{tenant}-{n}")
    ledger, now = desk.app.ledger, desk.app.hands.clock() + 60
    take = Take(owner="somebody", now=now, lease_until=now + 9, limit=4)
    (taken,) = ledger.submit([take])
    assert [record.tenant for record in taken.records] == ["a-big", "b-small"] * 2


@shows("the provider allows 50 requests a second")
def test_all_share_the_rate_and_who_cannot_go_in_time_is_told_so(desk, world, order):
    """Two an hour: the third is refused before anything is sent, and may be called again."""
    create = desk.tool("blind", rate="2/h")
    with desk.session():
        assert create(order_id=order).confirmed
        assert create(order_id=f"{order}-2").confirmed
        refused = create(order_id=f"{order}-3")
    assert (refused.state, refused.reason) == (State.REJECTED, "rate_used_up")
    assert "call_again" in refused.facts()["next_allowed"]
    assert desk.posts(f"{order}-3") == []


@shows("some items of a batch are declined")
def test_each_item_has_its_facts(desk):
    @desk.app.tool(items="orders")
    def cancel(orders: list[str]) -> Items:
        return Items({"A1": Receipt("T1"), "A2": Refused("SHIPPED")})

    with desk.session():
        action = cancel(orders=["A1", "A2"])
    facts = action.facts()
    assert facts["workflow_state"] == "partially_completed"
    states = [item["state"] for item in facts["actions"][0]["items"]]
    assert states == ["confirmed", "rejected"]


@shows("the database server restarts in the middle of a commit")
@pytest.mark.parametrize("after_it", [True, False])
def test_a_server_that_restarts_takes_no_answer_with_it(monkeypatch, after_it):
    """As after a crash, before and after the commit that brings the answer was done."""
    server = Server().make().start()
    app = Ascertain(f"{server.url()}&schema=shop", secret=b"a secret of this test", worker="none")
    sent = []

    @app.tool(identity=["order_id"])
    def create_ticket(order_id: str) -> dict:
        sent.append(key())
        hands.cut(monkeypatch, "together", after_it=after_it, by=lambda _pid: server.crash())
        return {"id": "T900"}

    try:
        with app.session("chat-1", principal="u7"):
            create_ticket(order_id="A122")  # its contract is known from here on
            sent.clear()
            ticket = create_ticket(order_id="A123")
        assert (ticket.state, ticket.provider_ref, len(sent)) == (State.CONFIRMED, "T900", 1)
        assert app.ledger.get(ticket.id) == ticket.record
        assert list(app.ledger.verify()) == []
    finally:
        app.close()
        server.remove()


@shows("the disk is full before the send")
def test_a_full_disk_means_that_nothing_is_called(desk, order):
    create = desk.tool()
    desk.app.ledger._floor_bytes, desk.app.ledger._space_known_until = 1 << 62, 0.0
    with desk.session(), pytest.raises(LedgerFull):
        create(order_id=order)
    assert desk.posts(order) == []
    assert desk.app.ledger.find(Filter()) == []


@shows("the disk is full after the answer")
def test_an_answer_that_cannot_be_written_is_found_by_its_key(desk, order, caplog):
    runs = []

    @desk.app.tool(identity=["order_id"], budget=QUICK)
    def create_ticket(order_id: str) -> dict:
        runs.append(order_id)
        space(desk.app.ledger, 0)
        return {"id": "T900", "text": "x" * 50_000}

    @create_ticket.lookup()
    def find_ticket(action):
        return Found("T900") if runs else Absent

    with desk.session():
        ticket = create_ticket(order_id=order)
    assert (ticket.state, ticket.reason) == (State.UNKNOWN, "answer_not_recorded")
    (line,) = [r.getMessage() for r in caplog.records if "answer_not_recorded" in r.getMessage()]
    assert ticket.key in line
    assert "T900" in line
    assert desk.only().state is State.SENT
    space(desk.app.ledger, 10_000)
    give_up_at = time.monotonic() + 5
    while (record := desk.only()).state is not State.CONFIRMED and time.monotonic() < give_up_at:
        desk.app.recover()
    assert (record.state, record.provider_ref, runs) == (State.CONFIRMED, "T900", [order])


def space(ledger, pages):
    """Let the ledger's file grow by so many pages and no more."""
    with ledger._file.writing() as db:
        (now,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {now + pages}")


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_every_row_has_its_test(readme):
    table = re.search(r"\n\|---\|---\|---\|\n(.*?)\n\n", text_of(readme), re.DOTALL)[1]
    rows = [line.strip("| ").split(" | ")[0] for line in table.splitlines()]
    assert len(rows) == len(SHOWN)
    if readme == "README.md":
        assert all(row.startswith(shown) for row, shown in zip(rows, SHOWN, strict=True))


# --------------------------------------------------------------------------------- "How fast"


@pytest.fixture
def written(desk):
    """How many operations each transaction of the ledger had."""
    sizes, submit = [], desk.app.ledger.submit

    def counting(operations, **how):
        sizes.append(len(operations))
        return submit(operations, **how)

    desk.app.ledger.submit = counting
    return sizes


def test_a_guarded_write_is_exactly_two_durable_commits(desk, order, written):
    create = desk.tool()
    with desk.session():
        create(order_id=order)
    assert written == [1, 1]


def test_a_guarded_read_writes_nothing(desk, written):
    @desk.app.read()
    def read_order(order_id: str) -> dict:
        return {"id": order_id}

    with desk.session():
        assert read_order("A123").state is State.CONFIRMED
    assert written == []


def test_a_write_in_its_sessions_context_is_two_commits_and_a_read_that_provides_is_one(
    desk, order, written
):
    create = desk.tool(context={"order_id": "order_id"}, wording=[], provides={"ticket": "ref"})
    sent = []

    @desk.app.read(provides={"order_id": "id"})
    def query_order() -> dict:
        sent.append(list(written))
        return {"id": order}

    with desk.session() as session:
        assert query_order().state is State.CONFIRMED
        assert (sent, written) == ([[]], [1]), "none before the wire, one after it"
        assert create().state is State.CONFIRMED
        ref = session.context()["ticket"].value
        assert create().provider_ref == ref
        assert written == [1, 1, 1, 1, 1], "the last two for one that was answered from the record"
        desk.app.contexts.recent = Recent()
        assert create().provider_ref == ref
    assert written == [1] * 6, "one, where it looked at the session first"


async def test_concurrent_callers_share_commits(desk, written):
    @desk.app.tool(identity=["order_id"])
    async def create_ticket(order_id: str) -> dict:
        return {"id": order_id}

    async def one(order):
        async with desk.session(f"chat-{order}"):
            return await create_ticket(order_id=order)

    made = await asyncio.gather(*(one(str(number)) for number in range(40)))
    assert all(action.state is State.CONFIRMED for action in made)
    assert sum(written) == 80
    assert len(written) < 40
