"""S02, S07, S16: what a session refuses is a typed error, on record; nothing is sent or lost."""

from __future__ import annotations

import asyncio
import json

import pytest

from ascertain.errors import AscertainError, ContractError
from ascertain.store.ledger import Filter
from tests.requirements.remembering import Shop


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
