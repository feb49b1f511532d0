"""S: what a session remembers, and calls that need it. Sync and async, by the same gate."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, replace
from typing import TypedDict

import pytest

from ascertain import Ascertain, Found, NotSent
from ascertain.errors import (
    ContextTooLarge,
    ContractError,
    ForeignSession,
    IntentConflict,
    InvalidArguments,
    NotShown,
    SessionExpired,
)
from ascertain.model.session import SessionState
from ascertain.rules.gate import Tiers
from ascertain.runtime.recent import Recent
from ascertain.store.ledger import Filter
from tests.requirements.remembering import QUICK, WAIT_S, Beside, Shop, until

pytestmark = pytest.mark.every_ledger

# ---------------------------------------------------------------------------------------- S01, S12


def test_req_S01_a_dependent_tool_runs_only_once_the_earlier_result_is_committed(shop):
    """The refund is asked for while the query runs; it waits, and takes what was written."""
    query, refund = shop.query(), shop.refund()
    shop.slow.clear()
    shop.once_a_call_waits(shop.slow.set)
    states: list[SessionState] = []
    with shop.session() as session:
        assert session.state is SessionState.IDLE
        with Beside(lambda: query(phone="1")):
            until(lambda: shop.asked)
            states.append(session.state)
            action = refund()
        states.append(session.state)
    assert action.confirmed
    assert shop.refunded == ["A123"]
    assert states == [SessionState.TOOL_EXECUTING, SessionState.CONTEXT_READY]
    assert [tier[0] for tier in shop.first(action)["tiers"]] == ["wait"]


def test_req_S01_an_answer_whose_commit_is_under_way_is_pending(shop):
    """In hand is not written: the session says so, and the refund waits for the commit."""
    query, refund = shop.query(), shop.refund()
    seen: list[SessionState] = []
    with shop.session() as session:
        submit = shop.app.ledger.submit

        def slow_commit(operations, **how):
            if any(op.__class__.__name__ == "Reserve" and op.beside for op in operations):
                seen.append(session.state)
            return submit(operations, **how)

        shop.app.ledger.submit = slow_commit
        assert query().confirmed
        assert refund().confirmed
    assert seen[0] is SessionState.TOOL_RESULT_PENDING


async def test_req_S12_parallel_calls_wait_for_exactly_what_they_need(shop):
    """Four calls at once: two need the order and wait for it, one needs nothing and does not."""
    query, refund = shop.query_async(), shop.refund()
    ended: list[str] = []

    @shop.app.tool(identity=["text"], budget=QUICK)
    async def leave_note(text: str) -> dict:
        ended.append("note")
        shop.slow.set()  # only now does the query get its answer
        return {"id": "N1"}

    @shop.app.tool(identity=["order_state"], context={"order_state": "order_state"}, budget=QUICK)
    async def mark(order_state: str) -> dict:
        ended.append(f"mark {order_state}")
        return {"id": "M1"}

    shop.slow.clear()
    async with shop.session():
        calls = [query(phone="1"), mark(), leave_note(text="x"), shop.app.guarded_async(
            refund._entry, (), {}, refund._options
        )]  # fmt: skip
        asked, marked, noted, refunded = await asyncio.gather(*calls)
    assert all(action.confirmed for action in (asked, marked, noted, refunded))
    assert ended[0] == "note"
    assert ended[1:] == ["mark paid"]
    assert shop.refunded == ["A123"]
    assert len(shop.asked) == 1, "nobody asked again for what was on its way"


def test_req_S12_calls_in_threads_wait_too(shop):
    """The same for threads, with contexts copied into them: the answer comes once both wait."""
    query, refund = shop.query(), shop.refund()

    @shop.app.tool(identity=["order_state"], context={"order_state": "order_state"}, budget=QUICK)
    def mark(order_state: str) -> dict:
        return {"id": order_state}

    shop.slow.clear()
    waiting = set()

    def one_more():
        waiting.add(threading.get_ident())
        if len(waiting) == 2:
            shop.slow.set()

    shop.once_a_call_waits(one_more)
    with shop.session(), Beside(query):
        until(lambda: shop.asked)
        with Beside(refund), Beside(mark):
            assert shop.refunded == []
    assert len(waiting) == 2
    assert shop.refunded == ["A123"]
    (marked,) = shop.app.ledger.find(Filter(tool="mark"))
    assert marked.provider_ref == "paid"
    assert len(shop.asked) == 1


# --------------------------------------------------------------------------------------------- S02


class Order(TypedDict):
    id: str
    status: str


@dataclass
class Customer:
    name: str


@pytest.mark.parametrize(
    "said, words",
    [
        ({"context": {"order": "order_id"}}, "no parameter"),
        ({"context": {"order_id": "Order-{n}"}}, "never computed"),
        ({"context": {"order_id": "a"}, "either": {"order_id": "b"}}, "two sources"),
        ({"context": {"order_id": "a"}, "optional_context": ["a"]}, "has no default"),
        ({"optional_context": ["a"]}, "does not use"),
        ({"provides": {"a": "x..y"}}, "no dotted path"),
        ({"provides": "order_id"}, "must be a list"),
        ({"fresh": {"a": "soon"}}, "not a duration"),
    ],
)
def test_req_S02_a_declaration_that_cannot_be_kept_is_refused_at_registration(shop, said, words):
    with pytest.raises(ContractError, match=words):

        @shop.app.tool(**said)
        def refund(order_id: str) -> dict:
            return {}


class Line(TypedDict):
    sku: str


class Basket(TypedDict):
    lines: list[Line]


@pytest.mark.parametrize(
    "kind, path", [(Order, "total"), (Customer, "id"), (Basket, "lines.*.price"), (Basket, "x")]
)
def test_req_S02_an_output_that_the_annotation_does_not_have_is_refused(shop, kind, path):
    def query(phone: str):
        return {}

    query.__annotations__["return"] = kind
    with pytest.raises(ContractError, match="return annotation does not have"):
        shop.app.read(provides={"x": path})(query)


@pytest.mark.parametrize(
    "kind, path", [(Order, "id"), (Basket, "lines.*.sku"), (Basket, ""), (dict, "anything.at.all")]
)
def test_req_S02_an_output_that_it_has_or_may_have_is_taken(shop, kind, path):
    def query(phone: str):
        return {}

    query.__annotations__["return"] = kind
    assert shop.app.read(provides={"x": path})(query).contract.provides == {"x": path}


def test_req_S02_a_key_that_nobody_provides_is_refused_before_anything_is_sent(shop):
    refund = shop.refund()
    with shop.session(), pytest.raises(ContractError, match="'order_id', which no tool provides"):
        refund()
    with pytest.raises(ContractError, match="which no tool provides"):
        shop.app.open()
    assert shop.refunded == []
    shop.query()
    with shop.session():
        assert refund().confirmed


# --------------------------------------------------------------------------------------- S03, F05


def test_req_S03_a_missing_key_is_read_by_the_tool_that_provides_it(shop):
    query, refund = shop.query(), shop.refund()
    with shop.session():
        action = refund()
    assert action.confirmed
    assert shop.refunded == ["A123"]
    assert shop.first(action)["tiers"] == [["read", "order_id", query.name, True]]


async def test_req_S03_so_does_an_async_call(shop):
    shop.query_async()
    refund = shop.refund()
    async with shop.session() as session:
        action = await session.call_async("refund", {})
    assert action.confirmed
    assert refund.name == "refund"
    assert shop.refunded == ["A123"]


def test_req_S03_what_nobody_can_provide_is_asked_of_the_person(shop):
    """A read that needs something of the caller is not run; the call is recorded, not made."""

    @shop.app.read(provides={"order_id": "id"})
    def query_order(phone: str) -> dict:
        return {"id": "A123"}

    refund = shop.refund(say={"order_id": "your order number"}, say_zh={"order_id": "订单号"})
    with shop.session():
        action = refund()
        assert (action.state, action.reason) == ("rejected", "context_missing")
        assert action.facts()["next_allowed"] == ["ask_person", "call_again"]
        assert action.say() == "To go on with the refund, I need to know: your order number."
        assert "订单号" in action.say("zh-CN")
        assert shop.refunded == []
        query_order(phone="555")
        again = refund()
    assert again.confirmed
    assert again.id != action.id, "a call that was held is never taken for a later one"
    assert shop.refunded == ["A123"]


def test_req_S03_an_optional_key_is_not_waited_for(shop):
    shop.query()

    @shop.app.tool(
        identity=["text"], context={"order_id": "order_id"}, optional_context=["order_id"]
    )
    def complain(text: str, order_id: str = "none") -> dict:
        return {"id": f"C-{order_id}"}

    with shop.session():
        assert complain(text="x").provider_ref == "C-none"


def test_req_F05_a_caller_never_fills_what_the_session_fills(shop):
    """Not in the model's schema; and refused where somebody passes it all the same."""
    shop.query()
    refund = shop.refund()
    assert list(refund.schema()["properties"]) == ["note"]
    with shop.session() as session:
        for call in (
            lambda: refund(order_id="B2"),
            lambda: session.call("refund", {"order_id": "B2"}),
        ):
            with pytest.raises(InvalidArguments, match="comes from the session"):
                call()
        with pytest.raises(InvalidArguments, match="at most 1 positional"):
            refund("note", "B2")
        assert refund("a note").confirmed, "positions are those of what a caller fills"
    assert shop.refunded == ["A123"]


def test_req_F05_either_takes_only_what_was_shown_in_this_session(shop):
    shop.query()
    refund = shop.refund(context={}, either={"order_id": "order_id"})
    assert refund.schema()["required"] == []
    with shop.session():
        with pytest.raises(NotShown, match="order_id was not shown"):
            refund(order_id="B2")
        shop.app.registry.get("query_order")
        with pytest.raises(NotShown):
            refund(order_id="A123")  # true, and not shown yet
        assert refund().confirmed
        shop.order = {"id": "B2", "status": "paid"}
        shop.app.guarded(shop.app.registry.get("query_order"), (), {"phone": "2"}, refund._options)
        assert refund(order_id="A123").confirmed, "shown before, and still"
        assert refund(order_id="B2").confirmed
    assert shop.refunded == ["A123", "B2"]
    with shop.session("chat-43"), pytest.raises(NotShown):
        refund(order_id="A123")


def test_req_F05_of_several_that_were_shown_the_person_says_which(shop):
    """A list fills no single value; each of its items may be named."""

    @shop.app.read(provides={"order_id": "orders.*.id"})
    def list_orders() -> dict:
        return {"orders": [{"id": "A1"}, {"id": "B2"}]}

    refund = shop.refund(context={}, either={"order_id": "order_id"})
    with shop.session():
        list_orders()
        action = refund()
        assert action.reason == "context_missing"
        assert refund(order_id="B2").confirmed
    assert shop.refunded == ["B2"]


def test_req_F05_a_live_intent_with_other_exact_arguments_is_a_conflict_here_too(shop):
    """Fields are named, filled ones as well."""
    shop.query()

    @shop.app.tool(identity=["order_id"], context={"order_id": "order_id"}, budget=QUICK)
    def refund(order_id: str, amount: int) -> dict:
        return {"id": "R1"}

    with shop.session():
        assert refund(amount=1).confirmed
        with pytest.raises(IntentConflict) as conflict:
            refund(amount=2)
    assert conflict.value.context["fields"] == ["amount"]


# ------------------------------------------------------------------------------ S04, S15: versions


@pytest.mark.parametrize("known", ["looked up", "known here of a moment ago"])
def test_req_S04_what_is_stale_by_the_time_of_the_send_is_refused_and_gated_again(shop, known):
    """Between the gate and the reservation somebody writes a newer order: the newer one counts."""
    query, refund = shop.query(), shop.refund()
    contexts = shop.app.contexts
    with shop.session():
        query()
        if known == "looked up":
            contexts.recent = Recent()
        where = contexts.store if known == "looked up" else contexts.recent
        memory = where.memory
        raced = []

        def race(*asked):
            seen = memory(*asked)
            if not raced:
                raced.append(seen)
                shop.order = {"id": "B2", "status": "paid"}
                query(phone="2")
            return seen

        where.memory = race
        action = refund()
    assert action.confirmed
    assert '"A123"' in [value.value for value in raced[0].values], "it was seen before the race"
    assert shop.refunded == ["B2"]
    assert shop.first(action)["tiers"] == [["again", "stale_context"]]


def test_req_S04_a_late_first_send_looks_again(tmp_path):
    """Proved not sent; before it is sent, the order changes: withdrawn, and nothing is sent."""
    shop = Shop(tmp_path, clock=None)
    query = shop.query()
    tries = []
    once = replace(QUICK, turn_sends=1)

    @shop.app.tool(
        identity=["order_id"], context={"order_id": "order_id"}, budget=once, send_by="1h"
    )
    def refund(order_id: str) -> dict:
        tries.append(order_id)
        shop.order = {"id": "B2", "status": "paid"}
        query(phone="2")
        raise NotSent("pool_busy")

    with shop.session():
        query()
        action = refund()
    assert action.state == "prepared"
    until(shop.app.recover)
    action = action.refresh()
    assert tries == ["A123"]
    assert (action.state, action.reason) == ("rejected", "context_stale")
    shop.app.close()


def test_req_S04_a_slow_provider_does_not_overwrite_a_newer_value(shop):
    query, refund = shop.query(), shop.refund()
    shop.slow.clear()
    with shop.session() as session:
        with Beside(lambda: query(phone="slow")):
            until(lambda: shop.asked)
            # the slow one has read A123; B2 is asked for later, and written first
            submit = shop.app.ledger.submit
            second = threading.Event()

            def hold_back(operations, **how):
                mine = [
                    op for op in operations if getattr(op, "arguments", "") == '{"phone":"slow"}'
                ]
                if mine:
                    assert second.wait(2.0)
                return submit(operations, **how)

            shop.app.ledger.submit = hold_back
            shop.order = {"id": "B2", "status": "paid"}
            shop.slow.set()
            other = Ascertain(shop.app.url, worker="none", clock=shop.clock)
            _declare_query(shop, other)
            with other.session("chat-42", principal="u7") as theirs:
                theirs.call("query_order", {"phone": "quick"})
            second.set()
        assert session.context()["order_id"].value == "B2"
        late = [
            (value.value, value.superseded) for value in session.shown() if value.key == "order_id"
        ]
        assert late == [('"B2"', 0), ('"A123"', 1)]
        assert refund().provider_ref == "R-B2"
        other.close()


def test_req_S15_what_is_older_than_its_use_allows_is_read_anew(shop):
    """With the arguments of the read that wrote it; nothing older is served."""
    query = shop.query()
    refund = shop.refund(fresh={"order_state": "60s"})
    with shop.session():
        query(phone="777")
        shop.clock.now += 59
        assert refund().confirmed
        assert shop.asked == ["777"]
        shop.clock.now += 2
        shop.order["status"] = "shipped"
        again = refund.options(ordinal=2)()
    assert shop.asked == ["777", "777"]
    assert shop.first(again)["tiers"] == [["read", "order_state", "query_order", True]]


def test_req_S15_where_it_cannot_be_read_anew_it_is_not_used(shop):
    query = shop.query()
    refund = shop.refund(fresh={"order_state": "60s"})
    with shop.session():
        query()
        shop.clock.now += 61
        shop.app.registry.get("query_order").body = _broken
        action = refund()
    assert (action.state, action.reason) == ("rejected", "context_stale")
    assert shop.refunded == []


# ---------------------------------------------------------------------------------- S05: the chain


def test_req_S05_who_consumes_a_key_joins_the_chain_of_its_writer(shop):
    """Across turns and processes, by the chain column."""
    query, refund = shop.query(), shop.refund()
    with shop.session(turn="1"):
        asked = query()
    other = Ascertain(shop.app.url, worker="none", clock=shop.clock)
    _declare_query(shop, other)
    entry = shop.app.registry.get("refund")
    other.registry.add(entry)
    with other.session("chat-42", principal="u7", turn="2") as session:
        refunded = session.call("refund", {})
    assert asked.record.chain
    assert refunded.record.chain == asked.record.chain
    chain = shop.app.ledger.find(Filter(chain=asked.record.chain))
    assert [record.tool for record in chain] == ["refund", "query_order"]
    assert refund.name == "refund"
    other.close()


def test_req_S05_a_chain_goes_along_into_threads_and_recovery_and_stands_in_every_line(
    tmp_path, caplog
):
    """The ticket is opened in a thread and lost; recovery finds it; the log has one chain only."""
    shop = Shop(tmp_path, clock=None)
    found = []

    @shop.app.tool(identity=["y"], provides={"ticket": "id"}, budget=replace(QUICK, turn_s=0.2))
    def open_ticket(y: str) -> dict:
        raise TimeoutError

    @open_ticket.lookup()
    def find_ticket(action):
        if not found:
            raise TimeoutError
        return Found("T900")

    @shop.app.tool(identity=["x"], context={"x": "ticket"}, budget=QUICK)
    def close_case(x: str) -> dict:
        return {"id": x}

    caplog.set_level("INFO", "ascertain")
    with shop.session() as session, session.chain("help") as chain:
        with Beside(lambda: open_ticket(y="1")):
            found.append("the provider answers again")
        until(lambda: shop.app.recover() or session.context()["ticket"].state == "ready")
        assert close_case().provider_ref == "T900"
    records = shop.app.ledger.find(Filter(chain=chain.id))
    assert sorted(record.tool for record in records) == ["close_case", "open_ticket"]
    lines = [json.loads(line.message) for line in caplog.records if line.message[0] == "{"]
    assert {line.get("chain") for line in lines} == {chain.id}
    told = {(line["tool"], line["event"]) for line in lines}
    assert {
        ("open_ticket", "reserve"),
        ("open_ticket", "confirm"),
        ("close_case", "confirm"),
    } <= told
    shop.app.close()


# ------------------------------------------------------------------------------------ S06, S09, S16


def test_req_S06_a_late_result_is_waited_for_in_tiers_and_then_said(shop):
    """Three waits, each recorded; then the person hears that it is being prepared."""
    query, refund = shop.query(), shop.refund()
    shop.slow.clear()
    with shop.session():
        with Beside(query):
            until(lambda: shop.asked)
            held = refund()
            shop.slow.set()
        assert held.reason == "context_pending"
        assert refund().confirmed
    tiers = shop.first(held)["tiers"]
    assert [tier[:2] for tier in tiers] == [["wait", "order_id"]] * 3
    assert all(tier[2] >= WAIT_S * 1000 * 0.9 for tier in tiers)
    assert shop.first(held)["held"] == {"reason": "context_pending", "keys": ["order_id"]}
    assert shop.refunded == ["A123"]


def test_req_S06_the_tiers_are_configured(tmp_path):
    shop = Shop(tmp_path, tiers=Tiers(wait_s=0.01, waits=1, reads=False))
    shop.query()
    refund = shop.refund()
    with shop.session():
        held = refund()
    assert held.reason == "context_missing"
    assert shop.asked == [], "reads are switched off"
    assert [tier[0] for tier in shop.first(held)["tiers"]] == ["wait"]
    shop.app.close()


def test_req_S09_a_blocked_call_tells_the_person_in_plain_words(shop):
    query, refund = shop.query(), shop.refund()
    shop.slow.clear()
    with shop.session() as session:
        with Beside(query):
            until(lambda: shop.asked)
            held = refund()
            shop.slow.set()
        assert held.say() == "Preparing your data; one moment, please."
        assert held.say("zh-CN") == "请稍等，正在准备数据"
        assert held.facts()["next_allowed"] == ["wait", "call_again"]
        assert session.facts()["workflow_state"] == "not_started"


def test_req_S16_every_blocked_and_repaired_call_is_on_record_with_its_cause(shop, caplog):
    shop.query()
    refund = shop.refund()

    @shop.app.tool(identity=["x"], context={"x": "ticket"}, budget=QUICK)
    def close_case(x: str) -> dict:
        return {"id": x}

    @shop.app.tool(identity=["y"], provides={"ticket": "id"}, budget=QUICK)
    def open_ticket(y: str) -> dict:
        raise TimeoutError

    caplog.set_level("INFO", "ascertain")
    with shop.session() as session:
        assert open_ticket(y="1").state == "unknown"
        blocked, repaired = close_case(), refund()
        assert session.context()["ticket"].state == "in_doubt"
    assert blocked.reason == "context_in_doubt"
    assert "not confirmed yet" in blocked.say()
    assert "tiers" not in shop.first(blocked), "a doubt is told, not waited for"
    assert shop.first(repaired)["tiers"][0][0] == "read"
    stored = {record.reason for record in shop.app.ledger.find(Filter(tool="close_case"))}
    assert stored == {"context_in_doubt"}
    assert any("context_in_doubt" in line.message for line in caplog.records)


def test_req_S16_evidence_ends_the_doubt_and_brings_the_value(tmp_path):
    """The worker's look-up finds the ticket: its reference is what the session gets to know."""
    shop = Shop(tmp_path, clock=None)
    brief = replace(QUICK, turn_s=0.3)

    @shop.app.tool(identity=["y"], provides={"ticket": "id"}, budget=brief)
    def open_ticket(y: str) -> dict:
        raise TimeoutError

    @open_ticket.lookup()
    def find_ticket(action):
        if not shop.refunded:
            raise TimeoutError
        return Found("T900")

    @shop.app.tool(identity=["x"], context={"x": "ticket"}, budget=QUICK)
    def close_case(x: str) -> dict:
        return {"id": x}

    with shop.session():
        assert open_ticket(y="1").state == "unknown"
        assert close_case().reason == "context_in_doubt"
        shop.refunded.append("the provider answers again")
        until(shop.app.recover)
        assert close_case().provider_ref == "T900"
    shop.app.close()


# --------------------------------------------------------------------------------------------- S07


def test_req_S07_an_ended_session_is_refused_before_anything_is_sent(tmp_path):
    shop = Shop(tmp_path, session_ttl="1h")
    query, refund = shop.query(), shop.refund()
    with shop.session() as session:
        query()
        shop.clock.now += 3601
        for call in (refund, query):
            with pytest.raises(SessionExpired):
                call()
        assert len(shop.asked) == 1
        assert shop.refunded == []
        session.renew()
        assert session.context() == {}, "nothing of before is taken for current"
        assert refund().confirmed
    shop.app.close()


def test_req_S07_a_provider_in_an_ended_session_sends_nothing(tmp_path):
    """It reads nothing, so its session is checked as its intent is stored."""
    shop = Shop(tmp_path, session_ttl="1h")
    sent = []

    @shop.app.tool(identity=["y"], provides={"ticket": "id"})
    def open_ticket(y: str) -> dict:
        sent.append(y)
        return {"id": "T1"}

    with shop.session():
        assert open_ticket(y="1").confirmed
        shop.clock.now += 3601
        with pytest.raises(SessionExpired):
            open_ticket(y="2")
    with shop.session(principal="u8"), pytest.raises(ForeignSession):
        open_ticket(y="3")
    assert sent == ["1"]
    shop.app.close()


def test_req_S07_a_call_that_was_made_is_answered_from_the_record_when_the_context_is_gone(shop):
    """The session begins anew; the framework repeats its call by the id that it had."""
    query = shop.query(context={"phone": "phone"}, either={})
    refund = shop.refund()

    @shop.app.tool(context={"order_id": "order_id"})
    def cancel(order_id: str) -> dict:
        raise AssertionError("nothing is known to be cancelled")

    assert query.name == "query_order"
    shop.app.contexts.session_keys = frozenset({"phone"})
    with shop.session() as session:
        session.remember(phone="555")
        first = session.call("refund", {}, call_id="call-1")
        session.renew()
        again = session.call("refund", {}, call_id="call-1")
        other = session.call("refund", {}, call_id="call-2")
        cancelled = session.call("cancel", {}, call_id="call-1")
    assert first.confirmed
    assert (again.id, again.how) == (first.id, "replayed")
    assert other.reason == cancelled.reason == "context_missing", "the id is another tool's"
    assert refund.name == "refund"
    assert shop.refunded == ["A123"]


def test_req_S07_a_held_call_with_an_id_of_another_wish_is_not_told_that_ones_record(shop):
    """Its context is gone, so it is not made; and what its id names is another amount's receipt."""
    sent = []

    @shop.app.tool(identity=["item"], context={"order_id": "order_id"})
    def give_back(order_id: str, item: str, amount: int = 1) -> dict:
        sent.append((order_id, item, amount))
        return {"id": f"G{len(sent)}"}

    shop.app.contexts.session_keys = frozenset({"order_id"})
    with shop.session() as session:
        session.remember(order_id="A123")
        first = session.call("give_back", {"item": "left"}, call_id="call-1")
        session.renew()
        again = session.call("give_back", {"item": "left"}, call_id="call-1")
        spelt = session.call("give_back", {"item": " left ", "amount": 1}, call_id="call-1")
        for other in ({"item": "right"}, {"item": "left", "amount": 2}):
            with pytest.raises(IntentConflict, match=first.id):
                session.call("give_back", other, call_id="call-1")
    assert first.confirmed
    assert {(one.id, one.how) for one in (again, spelt)} == {(first.id, "replayed")}
    assert sent == [("A123", "left", 1)]


def test_req_S07_another_principals_session_is_refused(shop):
    query, refund = shop.query(), shop.refund()
    with shop.session():
        query()
    with shop.session(principal="u8") as foreign:
        for call in (refund, query, foreign.context, lambda: foreign.state, foreign.renew):
            with pytest.raises(ForeignSession):
                call()
    assert shop.refunded == []


def test_req_S07_a_result_above_the_limit_stays_confirmed(tmp_path):
    """The action is; only the key is missing, and why is known."""
    shop = Shop(tmp_path, context_limit_bytes=100)
    shop.order = {"id": "A" * 200, "status": "paid"}
    query, refund = shop.query(), shop.refund()
    with shop.session() as session:
        assert query().confirmed
        assert session.context()["order_id"].why == "too_large"
        assert session.context()["order_state"].value == "paid"
        assert refund().reason == "context_missing"
    shop.app.close()


def test_req_S07_what_the_application_says_is_bounded_and_declared(tmp_path):
    shop = Shop(tmp_path, context_limit_bytes=100, session_keys=["customer_id"])

    @shop.app.tool(identity=["who"], context={"who": "customer_id"})
    def greet(who: str) -> dict:
        return {"id": who}

    with shop.session() as session:
        with pytest.raises(ContractError, match="session_keys"):
            session.remember(other="x")
        with pytest.raises(ContextTooLarge):
            session.remember(customer_id="x" * 200)
        assert greet().reason == "context_missing"
        session.remember(customer_id="c7")
        assert greet().provider_ref == "c7"
    shop.app.close()


def test_req_S07_clearing_never_touches_an_action(tmp_path):
    shop = Shop(tmp_path, session_ttl="1h")
    query = shop.query()

    @shop.app.tool(identity=["y"], provides={"ticket": "id"}, budget=QUICK)
    def open_ticket(y: str) -> dict:
        raise TimeoutError

    with shop.session():
        query()
    with shop.session("chat-43"):
        unresolved = open_ticket(y="1")
    shop.clock.now += 3601
    assert shop.app.clear_expired() == 1, "the one with an open action keeps what it knows"
    assert unresolved.refresh().state == "unknown"
    assert len(shop.app.ledger.find(Filter())) == 2
    assert list(shop.app.ledger.verify()) == []
    shop.app.close()


async def test_req_S07_a_worker_clears_what_ended_sessions_remember(tmp_path):
    """By itself; the session stays known as ended, its actions stay, and what is open keeps all."""
    shop = Shop(tmp_path, session_ttl="1h")
    query, refund = shop.query_async(), shop.refund()

    @shop.app.tool(identity=["y"], provides={"ticket": "id"}, budget=QUICK)
    def open_ticket(y: str) -> dict:
        raise TimeoutError

    async with shop.session() as session:
        await query(phone="1")
        assert (await session.call_async("refund", {})).confirmed
    async with shop.session("chat-43") as other:
        await query(phone="2")
        unresolved = await other.call_async("open_ticket", {"y": "1"})
    shop.clock.now += 3601
    await shop.app.make_worker().drain()
    contexts = shop.app.ledger.contexts
    assert contexts.history("default", "chat-42") == []
    assert contexts.session("default", "chat-42").version == 2
    assert [value.key for value in contexts.history("default", "chat-43")] == [
        "order_id", "order_state",
    ]  # fmt: skip
    assert unresolved.refresh().state == "unknown"
    (refunded,) = shop.app.ledger.find(Filter(tool="refund"))
    assert (refunded.state, refund.name) == ("confirmed", "refund")
    with pytest.raises(SessionExpired):
        await shop.session().call_async("refund", {})
    shop.app.close()


# ------------------------------------------------------------------------------------------- parts


def _broken(phone: str = "555") -> dict:
    raise TimeoutError


def _declare_query(shop: Shop, app: Ascertain) -> None:
    @app.read(provides={"order_id": "id", "order_state": "status"}, budget=QUICK)
    def query_order(phone: str = "555") -> dict:
        return dict(shop.order)
