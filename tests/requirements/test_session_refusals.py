"""S02, S07, S16: what a session refuses is a typed error, on record; nothing is sent or lost."""

from __future__ import annotations

import asyncio
import json

import pytest

from ascertain.errors import (
    AscertainError,
    ContextTooLarge,
    ContractError,
    ForeignSession,
    SessionExpired,
)
from ascertain.store.ledger import Filter
from tests.requirements.remembering import Shop

pytestmark = pytest.mark.every_ledger


@pytest.mark.parametrize("kinds", [("read", "read"), ("write", "write"), ("read", "write")])
def test_req_S02_tools_of_which_each_needs_the_other_are_refused(shop, kinds):
    """At start-up, and where somebody calls one of them all the same; nothing runs."""
    ran = []

    def declare(name, needs, kind):
        def body(given: str) -> dict:
            ran.append(name)
            return {name: given}

        said = {"name": name, "provides": [name], "context": {"given": needs}}
        if kind == "read":
            return shop.app.read(**said)(body)
        return shop.app.tool(identity=["given"], **said)(body)

    one, two = declare("one", "two", kinds[0]), declare("two", "one", kinds[1])
    with pytest.raises(ContractError, match="can never run: one needs two needs one"):
        shop.app.open()
    with shop.session():
        for tool in (one, two):
            with pytest.raises(ContractError, match="can never run"):
                tool()
    assert ran == []
    assert shop.app.ledger.find(Filter()) == []


@pytest.mark.parametrize(
    "code, spoil, given",
    [
        ("foreign_session", lambda shop: {"principal": "u8"}, {}),
        ("session_expired", lambda shop: shop.later(3601), {}),
        ("not_shown", lambda shop: {}, {"ticket": "my secret"}),
        ("invalid_arguments", lambda shop: {}, {"order_id": "my secret"}),
        ("intent_conflict", lambda shop: {}, {"amount": "my secret"}),
    ],
)
@pytest.mark.parametrize("by_async", [False, True], ids=["sync", "async"])
def test_req_S16_a_refused_call_is_logged_with_its_cause(
    tmp_path, caplog, code, spoil, given, by_async
):
    """One line, with the code and where it was; no argument and no text of the error."""
    shop = Shop(tmp_path, session_ttl="1h")
    shop.query(provides={"order_id": "id", "ticket": "status"})
    ran = []

    @shop.app.tool(
        identity=["order_id"], context={"order_id": "order_id"}, either={"ticket": "ticket"}
    )
    def refund(order_id: str, ticket: str, amount: str = "1") -> dict:
        ran.append(order_id)
        return {"id": "R1"}

    with shop.session():
        assert refund().confirmed
    more = spoil(shop)
    caplog.set_level("INFO", "ascertain")
    caplog.clear()
    with shop.session(**more) as session:

        def call():
            if by_async:
                return asyncio.run(session.call_async("refund", given))
            return session.call("refund", given)

        with pytest.raises(AscertainError) as refused:
            call()
    assert refused.value.code == code
    told = [json.loads(line.message) for line in caplog.records]
    (line,) = [line for line in told if line["event"] == "refuse"]
    assert line == {
        "event": "refuse", "tool": "refund", "reason": code, "session": "chat-42",
    }  # fmt: skip
    assert "secret" not in caplog.text
    assert ran == ["A123"], "nothing was sent"
    shop.app.close()


def needs_what_nobody_brings(shop):
    @shop.app.tool(identity=["coupon"], context={"coupon": "coupon"})
    def redeem(coupon: str) -> dict:
        return {"id": "never"}


def needs_what_needs_it(shop):
    @shop.app.tool(identity=["a"], context={"a": "a"}, provides={"b": "id"})
    def one(a: str) -> dict:
        return {"id": "never"}

    @shop.app.read(context={"b": "b"}, provides={"a": "id"})
    def two(b: str) -> dict:
        return {"id": "never"}


@pytest.mark.parametrize(
    "kind, words, who, spoil, call",
    [
        (
            ContractError,
            "'coupon', which no tool provides",
            "u7",
            needs_what_nobody_brings,
            "refund",
        ),
        (
            ContractError,
            "can never run: one needs two needs one",
            "u7",
            needs_what_needs_it,
            "refund",
        ),
        (ForeignSession, "belongs to another principal than 'u8'", "u8", None, "refund"),
        (ForeignSession, "belongs to another principal", "u8", None, "query_order"),
        (ForeignSession, "belongs to another principal", "u8", None, "remember"),
        (SessionExpired, "has ended", "u7", lambda shop: shop.later(3601), "refund"),
        (SessionExpired, "has ended", "u7", lambda shop: shop.later(3601), "query_order"),
        (SessionExpired, "has ended", "u7", lambda shop: shop.later(3601), "remember"),
        (ContextTooLarge, "may remember", "u7", None, "remember too much"),
    ],
)
@pytest.mark.parametrize("by_async", [False, True], ids=["sync", "async"])
def test_req_S07_what_is_refused_sends_nothing_and_loses_nothing(
    tmp_path, kind, words, who, spoil, call, by_async
):
    """Every row of the ledger is as it was, and so is what the session remembers."""
    shop = Shop(tmp_path, session_ttl="1h", session_keys=["customer"], context_limit_bytes=200)
    query, refund = shop.query(), shop.refund()
    with shop.session() as session:
        query()
        session.remember(customer="c7")
        assert refund().confirmed
    before = everything(shop)
    assert all(before)
    assert {record.tool for record in before[0]} == {"query_order", "refund"}
    if spoil is not None:
        spoil(shop)

    def refused():
        with shop.session(principal=who) as session:
            if call.startswith("remember"):
                session.remember(customer="x" * (300 if "much" in call else 3))
            elif by_async:
                asyncio.run(session.call_async(call, {}))
            else:
                session.call(call, {})

    with pytest.raises(kind, match=words) as error:
        refused()
    assert error.value.next_step
    assert everything(shop) == before
    assert (shop.asked, shop.refunded) == (["555"], ["A123"])
    shop.app.close()


def everything(shop):
    """What the ledger holds: actions, their events, the session, and what it remembers."""
    ledger = shop.app.ledger
    records = ledger.find(Filter(limit=100))
    events = [ledger.events(record.id) for record in records]
    contexts = ledger.contexts
    return [
        records, events, contexts.session("default", "chat-42"),
        contexts.history("default", "chat-42"),
    ]  # fmt: skip
